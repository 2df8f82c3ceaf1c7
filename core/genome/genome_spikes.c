/* SPDX-License-Identifier: Apache-2.0
 * Stimuli of kind "spikes": lists of times, one a neuron or one for all. A time
 * in ms is that at which its burst begins, or, with times_at = "end", that at
 * which its burst ends, as spikes are stamped that are recorded.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "genome/genome_stimulus.h"
#include "genome/genome_value.h"

typedef enum times_kind {
    TIMES_BURSTS,
    TIMES_BEGIN, /* ms */
    TIMES_END
} times_kind;

/* times_at, which says what is meant by times_ms */
static vly_status read_kind(vly_reader *reader, const vly_stimulus_entry *entry,
                            bool in_ms, times_kind *kind)
{
    const vly_toml_node *node = vly_toml_get(entry->node, "times_at");
    *kind = in_ms ? TIMES_BEGIN : TIMES_BURSTS;
    if (!node)
        return VLY_OK;
    if (!in_ms)
        return vly_reader_fail_key(reader, node,
                                   "times_at, but no times_ms, wanted both: it "
                                   "says at which end of its burst a time is");
    bool text = node->kind == VLY_TOML_STRING;
    if (text && strcmp(node->u.string, "end") == 0)
        *kind = TIMES_END;
    else if (!text || strcmp(node->u.string, "begin") != 0)
        return vly_reader_wrong(reader, node, "times_at",
                                "\"begin\" or \"end\"");
    return VLY_OK;
}

static vly_status read_time(vly_reader *reader, const vly_toml_node *node,
                            const char *what, times_kind kind, uint64_t *burst)
{
    char wanted[80];
    char dt[VLY_NUMBER_SIZE];
    if (kind == TIMES_BURSTS)
        return vly_value_whole(reader, node, what, 0, (uint64_t)1 << 53, burst);
    vly_status status = vly_value_bursts(reader, node, what, burst);
    if (status != VLY_OK || kind == TIMES_BEGIN)
        return status;
    if (*burst == 0) {
        snprintf(wanted, sizeof(wanted), "%s ms or more, the end of burst 0",
                 vly_toml_print_number(reader->genome->dt_ms, dt));
        return vly_reader_wrong(reader, node, what, wanted);
    }
    (*burst)--;
    return VLY_OK;
}

static vly_status read_list(vly_reader *reader, const vly_toml_node *node,
                            const char *what, times_kind kind,
                            vly_burst_list *list)
{
    vly_status status;
    VLY_TRY(vly_reader_alloc(reader, node->n_children, sizeof(uint64_t),
                             &list->bursts));
    for (uint32_t i = 0; i < node->n_children; i++)
        VLY_TRY(read_time(reader, &node->u.children[i], what, kind,
                          &list->bursts[i]));
    list->n = node->n_children;
out:
    return status;
}

static vly_status read_neurons(vly_reader *reader, const vly_toml_node *node,
                               vly_stimulus_entry *entry)
{
    vly_status status;
    uint64_t number = 0;
    if (node->kind != VLY_TOML_ARRAY || node->n_children == 0)
        return vly_reader_wrong(reader, node, "neurons",
                                "a list of indexes in the area");
    VLY_TRY(vly_reader_alloc(reader, node->n_children, sizeof(uint32_t),
                             &entry->neurons));
    for (uint32_t i = 0; i < node->n_children; i++) {
        const vly_toml_node *item = &node->u.children[i];
        VLY_TRY(vly_value_whole(reader, item, "neurons", 0, VLY_NEURONS_MAX - 1,
                                &number));
        for (uint32_t j = 0; j < entry->to.n; j++) {
            const vly_area *area = &reader->genome->areas[entry->to.areas[j]];
            if (number >= area->n_neurons)
                return vly_reader_fail(reader, item,
                                       "neuron %" PRIu64 ", wanted 0 to %u of "
                                       "area %s",
                                       number, area->n_neurons - 1, area->name);
        }
        entry->neurons[i] = (uint32_t)number;
    }
    entry->n_neurons = node->n_children;
out:
    return status;
}

vly_status vly_times_read(vly_reader *reader, vly_stimulus_entry *entry,
                          uint32_t n, const char *of)
{
    vly_status status;
    const vly_toml_node *times = vly_toml_get(entry->node, "times_ms");
    const vly_toml_node *bursts = vly_toml_get(entry->node, "bursts");
    const vly_toml_node *node = times ? times : bursts;
    const char *what = times ? "times_ms" : "bursts";
    times_kind kind;
    if (!times == !bursts)
        return vly_reader_fail_key(reader, entry->node,
                                   "%s has %s, wanted times_ms or bursts",
                                   entry->label, times ? "both" : "no times");
    VLY_TRY(read_kind(reader, entry, times != NULL, &kind));
    if (node->kind != VLY_TOML_ARRAY)
        return vly_reader_wrong(reader, node, what,
                                "a list, or one list a neuron");
    entry->flat =
        node->n_children == 0 || node->u.children[0].kind != VLY_TOML_ARRAY;
    entry->n_lists = entry->flat ? 1 : node->n_children;
    VLY_TRY(vly_reader_alloc(reader, entry->n_lists, sizeof(vly_burst_list),
                             &entry->lists));
    if (entry->flat)
        return read_list(reader, node, what, kind, &entry->lists[0]);
    if (entry->n_lists != n)
        return vly_reader_fail(reader, node,
                               "%s has %u lists for %u in %s, wanted one a "
                               "%s",
                               what, entry->n_lists, n, of,
                               *of == 'v' ? "voxel" : "neuron");
    for (uint32_t i = 0; i < entry->n_lists; i++) {
        const vly_toml_node *item = &node->u.children[i];
        if (item->kind != VLY_TOML_ARRAY)
            return vly_reader_wrong(reader, item, what, "a list a neuron");
        VLY_TRY(read_list(reader, item, what, kind, &entry->lists[i]));
    }
out:
    return status;
}

/* The neurons [first, first + n) of an area; without n up to its last. */
static uint32_t n_in_range(const vly_reader *reader,
                           const vly_stimulus_entry *entry, uint32_t i)
{
    const vly_area *area = &reader->genome->areas[entry->to.areas[i]];
    return entry->n ? entry->n : area->n_neurons - entry->first;
}

vly_status vly_spikes_read(vly_reader *reader, vly_stimulus_entry *entry)
{
    const vly_toml_node *neurons = vly_toml_get(entry->node, "neurons");
    uint32_t n = n_in_range(reader, entry, 0);
    vly_status status = VLY_OK;
    if (neurons) {
        VLY_TRY(read_neurons(reader, neurons, entry));
        return vly_times_read(reader, entry, entry->n_neurons, "neurons");
    }
    VLY_TRY(vly_times_read(reader, entry, n, "its range"));
    for (uint32_t i = 1; !entry->flat && i < entry->to.n; i++)
        if (n_in_range(reader, entry, i) != n)
            return vly_reader_fail_key(
                reader, entry->node,
                "%s has %u lists for %u neurons of area %s, wanted one a "
                "neuron",
                entry->label, n, n_in_range(reader, entry, i),
                reader->genome->areas[entry->to.areas[i]].name);
out:
    return status;
}

typedef struct spike {
    uint64_t burst;
    uint32_t neuron;
} spike;

static int compare_spikes(const void *a, const void *b)
{
    const spike *x = a;
    const spike *y = b;
    if (x->burst != y->burst)
        return x->burst < y->burst ? -1 : 1;
    return (x->neuron > y->neuron) - (x->neuron < y->neuron);
}

/* The i-th neuron that a stimulus is for, and its list. A voxel has several
 * neurons; they are in a row, x outermost. */
static uint32_t target_of(const vly_stimulus_entry *entry, const vly_area *area,
                          uint32_t first, uint32_t i, uint32_t *list)
{
    uint32_t n = area->neurons_per_voxel;
    *list = entry->flat ? 0 : entry->voxels ? i / n : i;
    if (entry->neurons)
        return entry->neurons[i];
    if (!entry->voxels)
        return first + i;
    const uint32_t *at = entry->voxels[i / n];
    return ((at[0] * area->voxels[1] + at[1]) * area->voxels[2] + at[2]) * n +
           i % n;
}

static uint64_t count_spikes(const vly_stimulus_entry *entry,
                             const vly_area *area, uint64_t n)
{
    uint64_t total = 0;
    if (entry->flat)
        return n * entry->lists[0].n;
    for (uint32_t i = 0; i < entry->n_lists; i++)
        total += entry->lists[i].n;
    return entry->voxels ? total * area->neurons_per_voxel : total;
}

static void collect_spikes(const vly_stimulus_entry *entry,
                           const vly_area *area, uint32_t first, uint64_t n,
                           spike *spikes)
{
    for (uint32_t i = 0; i < n; i++) {
        uint32_t k = 0;
        uint32_t neuron = target_of(entry, area, first, i, &k);
        const vly_burst_list *list = &entry->lists[k];
        for (uint32_t j = 0; j < list->n; j++) {
            spikes->burst = list->bursts[j];
            spikes->neuron = neuron;
            spikes++;
        }
    }
}

vly_status vly_spikes_make(vly_reader *reader, const vly_stimulus_entry *entry,
                           vly_stimulus *stimulus)
{
    const vly_area *area = &reader->genome->areas[stimulus->to];
    uint64_t n = entry->voxels
                     ? (uint64_t)entry->n_voxels * area->neurons_per_voxel
                 : entry->neurons ? entry->n_neurons
                                  : stimulus->n_neurons;
    uint64_t total = count_spikes(entry, area, n);
    reader->n_spikes += total;
    if (reader->n_spikes > VLY_SPIKES_MAX || n > VLY_NEURONS_MAX)
        return vly_reader_fail_key(reader, entry->node,
                                   "%" PRIu64 " given spikes in all stimuli, "
                                   "wanted at most 2^28",
                                   reader->n_spikes);
    spike *spikes = vly_malloc((size_t)total, sizeof(spike));
    stimulus->bursts = vly_malloc((size_t)total, sizeof(uint64_t));
    stimulus->neurons = vly_malloc((size_t)total, sizeof(uint32_t));
    if (!spikes || !stimulus->bursts || !stimulus->neurons) {
        vly_free(spikes);
        return vly_reader_nomem(reader, total * (sizeof(spike) + 12),
                                "the spikes of a stimulus");
    }
    collect_spikes(entry, area, stimulus->first, n, spikes);
    qsort(spikes, (size_t)total, sizeof(spike), compare_spikes);
    for (uint64_t i = 0; i < total; i++) {
        stimulus->bursts[i] = spikes[i].burst;
        stimulus->neurons[i] = spikes[i].neuron;
    }
    stimulus->n_spikes = total;
    vly_free(spikes);
    return VLY_OK;
}
