/* SPDX-License-Identifier: Apache-2.0
 * The list that spikes of files are read into: see spike_list.h.
 */
#include "genome/spike_list.h"

#include <stdlib.h>

#include "base/memory.h"
#include "base/number.h"
#include "genome/genome_value.h"

void vly_spike_list_deinit(vly_spike_list *list)
{
    vly_free(list->spikes);
    vly_spike_areas_deinit(&list->areas);
    *list = (vly_spike_list){0};
}

vly_status vly_spike_list_add(vly_spike_list *list, const vly_file_spike *spike,
                              const char *name, vly_error *error)
{
    if (list->n == VLY_SPIKES_MAX)
        return vly_fail(error, VLY_E_PARSE,
                        "%.300s has more than 2^28 spikes, wanted fewer", name);
    if (list->n == list->capacity) {
        const uint64_t room = list->capacity ? list->capacity * 2 : 1024;
        vly_file_spike *grown =
            vly_realloc(list->spikes, (size_t)room, sizeof(*grown));
        if (!grown)
            return vly_fail_nomem(error, room * sizeof(*grown),
                                  "the spikes of a file");
        list->spikes = grown;
        list->capacity = room;
    }
    list->spikes[list->n++] = *spike;
    return VLY_OK;
}

bool vly_spike_burst(const vly_spike_file_spec *spec, double ms,
                     vly_spike_list *list, uint64_t *burst,
                     char sentence[VLY_SPIKE_SENTENCE])
{
    char found[VLY_NUMBER_SIZE], dt[VLY_NUMBER_SIZE];
    const bool fits = vly_bursts_from_ms(ms, spec->dt_ms, burst);
    if (fits && (spec->at_begin || *burst > 0)) {
        list->n_rounded += vly_value_off_grid(ms, spec->dt_ms);
        *burst -= !spec->at_begin;
        return true;
    }
    vly_toml_print_number(ms, found);
    if (fits)
        snprintf(sentence, VLY_SPIKE_SENTENCE,
                 "%s ms, wanted %s or more, the end of burst 0, or times_at = "
                 "\"begin\" in the genome",
                 found, vly_toml_print_number(spec->dt_ms, dt));
    else
        snprintf(sentence, VLY_SPIKE_SENTENCE,
                 "%s ms, wanted a time of 0 or more%s", found,
                 ms > 0 ? " and fewer than 2^53 bursts" : "");
    return false;
}

bool vly_spike_weight_fits(double weight, char sentence[VLY_SPIKE_SENTENCE])
{
    char found[VLY_NUMBER_SIZE];
    if (weight >= -VLY_WEIGHT_MAX && weight <= VLY_WEIGHT_MAX)
        return true;
    snprintf(sentence, VLY_SPIKE_SENTENCE, "weight is %s, wanted -%.0f to %.0f",
             vly_toml_print_number(weight, found), VLY_WEIGHT_MAX,
             VLY_WEIGHT_MAX);
    return false;
}

static int compare_spikes(const void *a, const void *b)
{
    const vly_file_spike *x = a;
    const vly_file_spike *y = b;
    if (x->weight != y->weight)
        return x->weight < y->weight ? -1 : 1;
    if (x->burst != y->burst)
        return x->burst < y->burst ? -1 : 1;
    if (x->neuron != y->neuron)
        return x->neuron < y->neuron ? -1 : 1;
    return (x->place > y->place) - (x->place < y->place);
}

/* Recordings are sorted already. */
void vly_spike_list_sort(vly_spike_list *list)
{
    for (uint64_t i = 1; i < list->n; i++)
        if (compare_spikes(&list->spikes[i - 1], &list->spikes[i]) > 0) {
            qsort(list->spikes, (size_t)list->n, sizeof(*list->spikes),
                  compare_spikes);
            return;
        }
}
