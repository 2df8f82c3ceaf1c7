/* SPDX-License-Identifier: Apache-2.0
 * Any bytes as a file of spikes: refused with a sentence, or spikes in order
 * and in range; nothing left in memory. The reader of SONATA spikes is that of
 * recordings, which fuzz_plot and test_sonata_crash try.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "genome/spike_file.h"

#define N_NEURONS 12

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Not assert(), which is off in release builds. */
static void demand(bool holds, const char *what)
{
    if (holds)
        return;
    fprintf(stderr, "fuzz_spikes: %s\n", what);
    abort();
}

static void check(const vly_spike_list *list)
{
    for (uint64_t i = 0; i < list->n; i++) {
        const vly_file_spike *at = &list->spikes[i];
        demand(at->neuron < N_NEURONS, "neuron");
        demand(at->burst <= (uint64_t)1 << 53, "burst");
        demand(at->weight >= -1e9 && at->weight <= 1e9, "weight");
        demand(
            i == 0 || at[-1].weight < at->weight ||
                (at[-1].weight == at->weight &&
                 (at[-1].burst < at->burst ||
                  (at[-1].burst == at->burst && at[-1].neuron <= at->neuron))),
            "order");
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const uint64_t before = vly_memory_live();
    char *copy = malloc(size + 1); /* fmemopen takes no empty memory */
    demand(copy != NULL, "no memory");
    if (size > 0)
        memcpy(copy, data, size);
    copy[size] = '\n';
    for (int weight = 0; weight < 2; weight++) {
        vly_spike_list list = {0};
        vly_error error = VLY_ERROR_INIT;
        const vly_spike_file_spec spec = {.n_neurons = N_NEURONS,
                                          .weight_suffix = "mv",
                                          .own_weight = weight == 0,
                                          .at_begin = weight == 1,
                                          .dt_ms = 0.1};
        FILE *file = fmemopen(copy, size + 1, "r");
        demand(file != NULL, "no file");
        vly_status status =
            vly_spikes_from_text(file, "fuzz", &spec, &list, &error);
        fclose(file);
        if (status == VLY_OK)
            check(&list);
        else
            demand(status == VLY_E_PARSE && strlen(error.message) > 10,
                   "refused without a sentence");
        vly_spike_list_deinit(&list);
        demand(vly_memory_live() == before, "memory is left");
    }
    free(copy);
    return 0;
}
