/* SPDX-License-Identifier: Apache-2.0
 * Synapses of a file between ends that are not whole areas: ids count the
 * neurons of the end, and each pair of parts gets the synapses between them,
 * with the ids of its areas.
 */
#include <inttypes.h>

#include "base/memory.h"
#include "genome/edge_list.h"
#include "genome/genome_file.h"

static bool within(uint32_t id, uint32_t offset, const vly_part *part)
{
    return id >= offset && id - offset < part->n;
}

static bool alloc_list(const vly_edge_list *all, uint64_t n,
                       vly_edge_list *list)
{
    list->source = vly_malloc((size_t)n, sizeof(*list->source));
    list->target = vly_malloc((size_t)n, sizeof(*list->target));
    if (all->weight)
        list->weight = vly_malloc((size_t)n, sizeof(*list->weight));
    if (all->delay)
        list->delay = vly_malloc((size_t)n, sizeof(*list->delay));
    return list->source && list->target && (list->weight || !all->weight) &&
           (list->delay || !all->delay);
}

vly_status vly_edges_between(vly_reader *reader, const vly_map_entry *map,
                             const vly_map_cell *cell, uint32_t f, uint32_t t,
                             const vly_edge_list **edges)
{
    const vly_edge_list *all = map->edges;
    const vly_part *from = &cell->source->parts[f];
    const vly_part *to = &cell->target->parts[t];
    const uint32_t sources = vly_end_place(cell->source, f);
    const uint32_t targets = vly_end_place(cell->target, t);
    uint64_t n = 0;
    for (uint64_t i = 0; i < all->n; i++)
        n += within(all->source[i], sources, from) &&
             within(all->target[i], targets, to);
    *edges = NULL;
    if (n == 0)
        return VLY_OK;
    vly_edge_list *list = vly_calloc(1, sizeof(*list));
    if (!list || !alloc_list(all, n, list)) {
        vly_edges_destroy(list);
        return vly_reader_nomem(reader, n * 20, "the synapses of a file");
    }
    for (uint64_t i = 0; i < all->n; i++) {
        if (!within(all->source[i], sources, from) ||
            !within(all->target[i], targets, to))
            continue;
        const uint64_t k = list->n++;
        list->source[k] = all->source[i] - sources + from->first;
        list->target[k] = all->target[i] - targets + to->first;
        if (all->weight)
            list->weight[k] = all->weight[i];
        if (all->delay)
            list->delay[k] = all->delay[i];
    }
    for (uint64_t k = 0; from->area == to->area && !map->self && k < n; k++)
        if (list->source[k] == list->target[k]) {
            const uint32_t neuron = list->source[k];
            vly_edges_destroy(list);
            return vly_reader_fail_key(
                reader, map->node,
                "%s: the file connects neuron %" PRIu32 " of area %s to "
                "itself, wanted no such synapse: self is false",
                map->label, neuron, reader->genome->areas[from->area].name);
        }
    *edges = list;
    return vly_edges_keep(reader, list);
}
