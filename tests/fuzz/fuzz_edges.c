/* SPDX-License-Identifier: Apache-2.0
 * Any bytes as a file of synapses: refused with a sentence, or a list in order
 * and in range; nothing left in memory. Built twice: comma-separated text, and
 * with FUZZ_SONATA SONATA edges by way of a file.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/error.h"
#include "base/memory.h"
#include "genome/edge_list.h"

#define N_FROM 12
#define N_TO 16

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Not assert(), which is off in release builds. */
static void demand(bool holds, const char *what)
{
    if (holds)
        return;
    fprintf(stderr, "fuzz_edges: %s\n", what);
    abort();
}

static void check(const vly_edge_list *list)
{
    for (uint64_t i = 0; i < list->n; i++) {
        demand(list->source[i] < N_FROM && list->target[i] < N_TO, "range");
        demand(!list->delay || (list->delay[i] >= 1 && list->delay[i] <= 65535),
               "delay");
        demand(!list->weight ||
                   (list->weight[i] >= -1e9 && list->weight[i] <= 1e9),
               "weight");
        if (i == 0)
            continue;
        bool after = list->source[i] > list->source[i - 1] ||
                     (list->source[i] == list->source[i - 1] &&
                      list->target[i] > list->target[i - 1]);
        demand(after, "order");
    }
}

#ifdef FUZZ_SONATA

static vly_status read_bytes(const uint8_t *data, size_t size,
                             const vly_edge_spec *spec, vly_edge_list **list,
                             vly_error *error)
{
    char path[] = "/tmp/fuzz_sonata_XXXXXX";
    int file = mkstemp(path);
    demand(file >= 0 && write(file, data, size) == (ssize_t)size, "no file");
    close(file);
    vly_status status = vly_edges_from_sonata(path, "fuzz", spec, list, error);
    unlink(path);
    return status;
}

#else

static vly_status read_bytes(const uint8_t *data, size_t size,
                             const vly_edge_spec *spec, vly_edge_list **list,
                             vly_error *error)
{
    char *copy = malloc(size + 1); /* fmemopen takes no empty memory */
    demand(copy != NULL, "no memory");
    if (size > 0)
        memcpy(copy, data, size);
    copy[size] = '\n';
    FILE *file = fmemopen(copy, size + 1, "r");
    demand(file != NULL, "no file");
    vly_status status = vly_edges_from_table(file, "fuzz", spec, list, error);
    fclose(file);
    free(copy);
    return status;
}

#endif

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    uint64_t before = vly_memory_live();
    vly_area from = {.n_neurons = N_FROM};
    vly_area to = {.n_neurons = N_TO};
    vly_edge_list *list = NULL;
    vly_error error = VLY_ERROR_INIT;
    from.model = to.model = vly_model_find("lif_psc_delta");
    const vly_edge_spec spec = {
        .from = &from, .to = &to, .weight_suffix = "mv", .dt_ms = 0.1};
    vly_status status = read_bytes(data, size, &spec, &list, &error);
    if (status == VLY_OK)
        check(list);
    else
        demand(status == VLY_E_PARSE && strlen(error.message) > 10,
               "refused without a sentence");
    vly_edges_destroy(list);
    demand(vly_memory_live() == before, "memory is left");
    return 0;
}
