/* SPDX-License-Identifier: Apache-2.0
 * Figures of memory areas and associations. They are on the host, so a net
 * whose device failed has them too.
 */
#include "engine/engine.h"

#include <string.h>

/* As much of a struct as the caller's struct_size covers. */
static vly_status copy_sized(void *to, const void *from, size_t size)
{
    uint32_t theirs = 0;
    memcpy(&theirs, to, sizeof theirs);
    if (theirs < sizeof theirs)
        return VLY_E_INVALID;
    size_t n = theirs < size ? theirs : size;
    memcpy((char *)to + sizeof theirs, (const char *)from + sizeof theirs,
           n - sizeof theirs);
    return VLY_OK;
}

vly_status vly_net_memory_stats(const vly_net *net, uint32_t index,
                                vly_memory_stats *stats)
{
    if (!stats || !net->memory || index >= net->memory->n_areas)
        return VLY_E_INVALID;
    const vly_memory_area *area = &net->memory->areas[index];
    const vly_memory_stats made = {
        .n_neurons = area->table.most,
        .n_known = area->table.n_known,
        .n_longterm = area->table.n_longterm,
        .n_made = area->n_made,
        .n_seen = area->n_seen,
        .n_forgotten = area->n_forgotten,
        .n_dropped = area->n_dropped,
        .area = net->connectome->areas[area->memory->area].name};
    return copy_sized(stats, &made, sizeof made);
}

vly_status vly_net_association_stats(const vly_net *net, uint32_t index,
                                     vly_association_stats *stats)
{
    if (!stats || !net->memory || index >= net->memory->n_associations)
        return VLY_E_INVALID;
    const vly_association_net *of = &net->memory->associations[index];
    const vly_connectome_area *areas = net->connectome->areas;
    const vly_association_stats made = {.n_synapses = of->n_synapses,
                                        .name = of->association->name,
                                        .from =
                                            areas[of->association->from].name,
                                        .to = areas[of->association->to].name};
    return copy_sized(stats, &made, sizeof made);
}
