/* SPDX-License-Identifier: Apache-2.0
 * Figures of memory areas and associations. They are on the host, so a net
 * whose device failed has them too.
 */
#include "base/error.h"
#include "engine/engine.h"

vly_status vly_net_memory_stats(const vly_net *net, uint32_t index,
                                vly_memory_stats *stats)
{
    if (!net->memory || index >= net->memory->n_areas)
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
    return vly_struct_fill(stats, &made, sizeof made);
}

vly_status vly_net_association_stats(const vly_net *net, uint32_t index,
                                     vly_association_stats *stats)
{
    if (!net->memory || index >= net->memory->n_associations)
        return VLY_E_INVALID;
    const vly_association_net *of = &net->memory->associations[index];
    const vly_connectome_area *areas = net->connectome->areas;
    const vly_association *association = of->association;
    const vly_association_stats made = {.n_synapses = of->n_synapses,
                                        .name = association->name,
                                        .from = areas[association->from].name,
                                        .to = areas[association->to].name};
    return vly_struct_fill(stats, &made, sizeof made);
}

vly_status vly_net_association_read(const vly_net *net, uint32_t index,
                                    uint64_t first, uint64_t count,
                                    uint32_t *from, uint32_t *to,
                                    double *weights, vly_error *error)
{
    const uint32_t n = net->memory ? net->memory->n_associations : 0;
    if (index >= n)
        return vly_fail(error, VLY_E_INVALID,
                        "association %u of the net, which has %u", index, n);
    const vly_association_net *of = &net->memory->associations[index];
    if (first > of->n_synapses || count > of->n_synapses - first)
        return vly_fail(
            error, VLY_E_INVALID,
            "synapses %llu to %llu of association %s, which has "
            "%llu",
            (unsigned long long)first, (unsigned long long)(first + count),
            of->association->name, (unsigned long long)of->n_synapses);
    uint64_t at = 0;
    for (uint32_t i = 0; i < of->sides[0].n && at < first + count; i++) {
        const vly_association_row *row = &of->sides[0].rows[i];
        for (uint32_t e = 0; e < row->n && at < first + count; e++, at++) {
            const double weight = row->ends[e].weight;
            if (at < first)
                continue;
            if (from)
                from[at - first] = i;
            if (to)
                to[at - first] = row->ends[e].other;
            if (weights)
                weights[at - first] =
                    of->association->inhibitory ? -weight : weight;
        }
    }
    return VLY_OK;
}
