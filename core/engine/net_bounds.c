/* SPDX-License-Identifier: Apache-2.0
 * Fields that are at a bound of their range: storing a value clamps it, which
 * would hide that a model diverges. Counted from the values between two bursts,
 * so that bursts cost nothing and all backends count alike.
 */
#include "base/error.h"
#include "base/memory.h"
#include "engine/engine.h"

#define PIECE 65536u /* neurons read at a time */

static void count(vly_bound_stats *stats, const double *values, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++) {
        stats->n_lower += stats->lower < 0.0 || stats->lower > 0.0
                              ? values[i] <= stats->lower
                              : 0;
        stats->n_upper += stats->upper < 0.0 || stats->upper > 0.0
                              ? values[i] >= stats->upper
                              : 0;
    }
}

static vly_status count_field(vly_net *net, vly_bound_stats *stats,
                              vly_error *error)
{
    double *values = NULL;
    vly_status status = VLY_OK;
    uint32_t room = stats->n_neurons < PIECE ? stats->n_neurons : PIECE;
    values = vly_malloc(room, sizeof *values);
    if (!values)
        return vly_fail_nomem(error, room * sizeof *values, "a field");
    for (uint32_t first = 0; first < stats->n_neurons; first += room) {
        uint32_t left = stats->n_neurons - first;
        uint32_t n = left < room ? left : room;
        VLY_TRY(vly_net_read(net, stats->area, stats->field, first, n, values,
                             error));
        count(stats, values, n);
    }
out:
    vly_free(values);
    return status;
}

/* Field `index` of real numbers; false: there are not so many. Goes on in the
 * area of the last call: indices mostly ascend. */
static bool find(vly_net *net, uint32_t index, vly_bound_stats *stats)
{
    const vly_connectome *connectome = net->connectome;
    if (index < net->bounds_first)
        net->bounds_area = net->bounds_first = 0;
    for (; net->bounds_area < connectome->desc.n_areas; net->bounds_area++) {
        const vly_connectome_area *area = &connectome->areas[net->bounds_area];
        uint32_t at = net->bounds_first;
        for (uint32_t f = 0; f < area->model->n_fields; f++) {
            const vly_field_info *field = &area->model->fields[f];
            if (field->type != VLY_TYPE_F32 || at++ < index)
                continue;
            *stats = (vly_bound_stats){.n_neurons = area->n_neurons,
                                       .declared = field->declared,
                                       .lower = field->lo,
                                       .upper = field->hi,
                                       .area = area->name,
                                       .field = field->name,
                                       .unit = field->unit};
            return true;
        }
        net->bounds_first = at;
    }
    return false;
}

vly_status vly_net_bound_stats(vly_net *net, uint32_t index,
                               vly_bound_stats *stats, vly_error *error)
{
    vly_bound_stats made;
    vly_status status = VLY_OK;
    VLY_TRY(vly_struct_check(stats, sizeof *stats, "stats", error));
    if (!find(net, index, &made))
        return vly_fail(error, VLY_E_INVALID,
                        "field %u of the net, which has fewer", index);
    VLY_TRY(count_field(net, &made, error));
    (void)vly_struct_fill(stats, &made, sizeof made);
out:
    return status;
}
