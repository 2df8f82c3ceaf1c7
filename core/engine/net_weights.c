/* SPDX-License-Identifier: Apache-2.0
 * Weights of synapses, read and written between two bursts in the unit of the
 * target's port. Those of a projection that learns are the backend's, in units
 * of 2^-16 of the stored unit; others do not change and are the connectome's.
 */
#include <math.h>
#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "base/number.h"
#include "engine/engine.h"
#include "genome/foreign_names.h"

/* Synapses that are counted at once. */
#define STATS_BLOCK (UINT64_C(1) << 24)

/* ---- projections -------------------------------------------------------- */

static vly_status no_map(const vly_net *net, const char *map, vly_error *error)
{
    const vly_connectome *connectome = net->connectome;
    vly_suggest near = {0};
    char text[160];
    for (uint32_t p = 0; p < connectome->desc.n_projections; p++)
        vly_foreign_offer(&near, map, connectome->projections[p].map);
    return vly_fail(error, VLY_E_INVALID, "no map %s has synapses%s", map,
                    vly_suggest_text(&near, text, sizeof text));
}

static vly_status find_part(const vly_net *net, const char *map, uint32_t part,
                            uint32_t *projection, vly_error *error)
{
    const vly_connectome *connectome = net->connectome;
    uint32_t n = 0;
    for (uint32_t p = 0; p < connectome->desc.n_projections; p++) {
        if (map && strcmp(connectome->projections[p].map, map) != 0)
            continue;
        if (n++ != part)
            continue;
        *projection = p;
        return VLY_OK;
    }
    if (map && n == 0)
        return no_map(net, map, error);
    return vly_fail(error, VLY_E_INVALID,
                    "part %u of %s%s, which has %u (from 0)", part,
                    map ? "map " : "the net", map ? map : "", n);
}

const vly_port_info *vly_projection_port(const vly_connectome *connectome,
                                         uint32_t p)
{
    const vly_projection_desc *desc = &connectome->desc.projections[p];
    const vly_model_info *model = connectome->areas[desc->target_area].model;
    return &model->ports[desc->port < model->n_ports ? desc->port : 0];
}

vly_status vly_net_projection(const vly_net *net, const char *map,
                              uint32_t part, vly_net_projection_info *info,
                              vly_error *error)
{
    const vly_connectome *connectome = net->connectome;
    uint32_t p = 0;
    vly_status status = VLY_OK;
    VLY_TRY(vly_struct_check(info, sizeof *info, "info", error));
    VLY_TRY(find_part(net, map, part, &p, error));
    const vly_projection_desc *desc = &connectome->desc.projections[p];
    const vly_connectome_projection *from = &connectome->projections[p];
    const vly_connectome_learning *given = from->learning;
    const vly_connectome_learning *rule = vly_connectome_rule(from);
    const vly_port_info *port = vly_projection_port(connectome, p);
    vly_net_projection_info made = {
        .index = p,
        .source_area = desc->source_area,
        .target_area = desc->target_area,
        .learns = given ? 1 : 0,
        .n_synapses = from->n_synapses,
        .unit = from->unit,
        .w_max = given ? given->w_max : 0.0,
        .delay_ms = desc->base_delay * connectome->desc.dt_ms,
        .map = from->map,
        .source = connectome->areas[desc->source_area].name,
        .target = connectome->areas[desc->target_area].name,
        .plasticity = rule ? rule->name : "",
        .rule = rule ? rule->info->id : "",
        .weight_unit = port->unit,
        .weight_suffix = port->suffix};
    if (given)
        made.frozen = (vly_live_learning(&net->live, connectome, p)->flags &
                       VLY_LEARNING_FROZEN) != 0;
    (void)vly_struct_fill(info, &made, sizeof made);
out:
    return status;
}

/* ---- reading ------------------------------------------------------------ */

static vly_status check_range(const vly_net *net, uint32_t p, uint64_t first,
                              uint64_t count, vly_error *error)
{
    const vly_connectome_projection *from = &net->connectome->projections[p];
    if (first <= from->n_synapses && count <= from->n_synapses - first)
        return VLY_OK;
    return vly_fail(
        error, VLY_E_INVALID,
        "synapses %llu to %llu of map %s (%s), which has %llu",
        (unsigned long long)first, (unsigned long long)first + count, from->map,
        net->connectome->areas[net->connectome->desc.projections[p].target_area]
            .name,
        (unsigned long long)from->n_synapses);
}

uint32_t vly_projection_source(const vly_net_desc *desc, uint32_t p,
                               uint64_t synapse)
{
    const vly_projection_desc *map = &desc->projections[p];
    uint32_t low = 0;
    uint32_t n = desc->areas[map->source_area].n_neurons;
    while (n - low > 1) {
        uint32_t middle = low + (n - low) / 2;
        if (map->row[middle] <= synapse)
            low = middle;
        else
            n = middle;
    }
    return low;
}

/* Synapses [first, first + count), in numbers of their areas; either may be
 * NULL. */
static void read_ends(const vly_connectome *connectome, uint32_t p,
                      uint64_t first, uint64_t count, uint32_t *sources,
                      uint32_t *targets)
{
    const vly_projection_desc *desc = &connectome->desc.projections[p];
    uint32_t base = connectome->desc.areas[desc->target_area].first;
    uint32_t lo = vly_projection_source(&connectome->desc, p, first);
    for (uint64_t i = 0; i < count; i++) {
        while (desc->row[lo + 1] <= first + i)
            lo++;
        if (sources)
            sources[i] = lo;
        if (targets)
            targets[i] = desc->target[first + i] - base;
    }
}

static vly_status masters_get(vly_net *net, uint32_t p, uint64_t first,
                              uint64_t count, int32_t *masters,
                              vly_error *error)
{
    vly_error why = VLY_ERROR_INIT;
    vly_status status = net->device.backend->learning_read(
        net->device.net, p, first, count, masters, &why);
    const vly_learning_desc *learning =
        net->connectome->desc.projections[p].learning;
    for (uint64_t i = 0; status == VLY_OK && i < count; i++)
        if (masters[i] < 0 || (uint32_t)masters[i] > learning->most)
            status = vly_fail(
                &why, VLY_E_DEVICE,
                "backend %s: weight %d of synapse %llu of map "
                "%s, wanted 0 to %u",
                net->device.name, masters[i], (unsigned long long)(first + i),
                net->connectome->projections[p].map, learning->most);
    if (status != VLY_OK)
        return vly_net_failed(net, status, false, &why, error);
    return VLY_OK;
}

/* Repeated on another backend after a failure. */
static vly_status masters_read(vly_net *net, uint32_t p, uint64_t first,
                               uint64_t count, int32_t **masters,
                               vly_error *error)
{
    vly_status status = VLY_OK;
    int32_t *made = vly_malloc((size_t)count, sizeof *made);
    if (!made)
        return vly_fail_nomem(error, count * sizeof *made, "weights");
    do
        status = count == 0 ? VLY_OK
                            : masters_get(net, p, first, count, made, error);
    while (vly_failover_again(net, &status, error));
    if (status == VLY_OK)
        *masters = made;
    else
        vly_free(made);
    return status;
}

/* What one unit of a master weight is, with the sign of the projection. */
static double master_unit(const vly_connectome *connectome, uint32_t p)
{
    double unit = connectome->projections[p].unit * 0x1p-16;
    bool negative = (connectome->desc.projections[p].learning->flags &
                     VLY_LEARNING_NEGATIVE) != 0;
    return negative ? -unit : unit;
}

/* The bound in 2^-16 of the unit may be above w_max by less than half of that:
 * a weight at the bound is w_max. */
static double weight_of(const vly_connectome *connectome, uint32_t p, int32_t m)
{
    if (m == 0)
        return 0.0;
    if ((uint32_t)m == connectome->desc.projections[p].learning->most)
        return connectome->projections[p].learning->w_max;
    return m * master_unit(connectome, p);
}

vly_status vly_net_weights_read(vly_net *net, const char *map, uint32_t part,
                                uint64_t first, uint64_t count, double *weights,
                                uint32_t *sources, uint32_t *targets,
                                vly_error *error)
{
    const vly_connectome *connectome = net->connectome;
    uint32_t p = 0;
    int32_t *masters = NULL;
    vly_status status = VLY_OK;
    VLY_TRY(vly_net_alive(net, error));
    VLY_TRY(find_part(net, map, part, &p, error));
    VLY_TRY(check_range(net, p, first, count, error));
    const vly_projection_desc *desc = &connectome->desc.projections[p];
    if (weights && desc->learning) {
        VLY_TRY(masters_read(net, p, first, count, &masters, error));
        for (uint64_t i = 0; i < count; i++)
            weights[i] = weight_of(connectome, p, masters[i]);
    } else if (weights) {
        double unit = connectome->projections[p].unit;
        for (uint64_t i = 0; i < count; i++)
            weights[i] = vly_weight_at(desc, first + i) * unit;
    }
    if (count != 0)
        read_ends(connectome, p, first, count, sources, targets);
out:
    vly_free(masters);
    return status;
}

/* ---- statistics --------------------------------------------------------- */

/* Sums over blocks, so that not all weights are in memory twice. */
typedef struct weight_sums {
    int64_t base; /* the first weight: equal weights have a deviation of 0 */
    double sum;   /* of the differences from it */
    double squares;
    int32_t low;
    int32_t high;
} weight_sums;

static void add_masters(const int32_t *masters, uint64_t n, uint32_t most,
                        weight_sums *sums, vly_weights_stats *stats)
{
    for (uint64_t i = 0; i < n; i++) {
        double off = (double)(masters[i] - sums->base);
        sums->sum += off;
        sums->squares += off * off;
        sums->low = masters[i] < sums->low ? masters[i] : sums->low;
        sums->high = masters[i] > sums->high ? masters[i] : sums->high;
        stats->n_at_zero += masters[i] == 0;
        stats->n_at_most += (uint32_t)masters[i] == most;
    }
}

static void finish_stats(const vly_connectome *connectome, uint32_t p,
                         const weight_sums *sums, vly_weights_stats *stats)
{
    double unit = master_unit(connectome, p);
    double n = (double)stats->n;
    double mean = stats->n != 0 ? sums->sum / n : 0.0;
    double variance = stats->n != 0 ? sums->squares / n - mean * mean : 0.0;
    /* in this order: the sum of whole numbers is exact, as at the start */
    if (stats->n != 0)
        stats->mean = ((double)sums->base * n + sums->sum) / n * unit;
    stats->sd = sqrt(variance > 0.0 ? variance : 0.0) * fabs(unit);
    stats->min = weight_of(connectome, p, unit < 0.0 ? sums->high : sums->low);
    stats->max = weight_of(connectome, p, unit < 0.0 ? sums->low : sums->high);
}

static vly_status count_all(vly_net *net, uint32_t p, vly_weights_stats *stats,
                            vly_error *error)
{
    const vly_learning_desc *learning =
        net->connectome->desc.projections[p].learning;
    weight_sums sums = {0};
    vly_status status = VLY_OK;
    for (uint64_t at = 0; at < stats->n; at += STATS_BLOCK) {
        uint64_t left = stats->n - at;
        uint64_t n = left < STATS_BLOCK ? left : STATS_BLOCK;
        int32_t *masters = NULL;
        VLY_TRY(masters_read(net, p, at, n, &masters, error));
        if (at == 0)
            sums = (weight_sums){
                .base = masters[0], .low = masters[0], .high = masters[0]};
        add_masters(masters, n, learning->most, &sums, stats);
        vly_free(masters);
    }
    finish_stats(net->connectome, p, &sums, stats);
out:
    return status;
}

static double mean_at_start(const vly_connectome *connectome, uint32_t p)
{
    const vly_projection_desc *desc = &connectome->desc.projections[p];
    uint64_t n = connectome->projections[p].n_synapses;
    int64_t sum = 0;
    for (uint64_t i = 0; i < n; i++)
        sum += desc->weight[i];
    return n != 0 ? (double)sum / (double)n * connectome->projections[p].unit
                  : 0.0;
}

vly_status vly_net_weights_stats(vly_net *net, const char *map, uint32_t part,
                                 vly_weights_stats *stats, vly_error *error)
{
    const vly_connectome *connectome = net->connectome;
    uint32_t p = 0;
    vly_status status = VLY_OK;
    VLY_TRY(vly_struct_check(stats, sizeof *stats, "stats", error));
    VLY_TRY(vly_net_alive(net, error));
    VLY_TRY(find_part(net, map, part, &p, error));
    const vly_projection_desc *desc = &connectome->desc.projections[p];
    if (!desc->learning) {
        status = vly_fail(error, VLY_E_INVALID,
                          "map %s does not learn: its weights are those of the "
                          "genome",
                          desc->map);
        goto out;
    }
    vly_weights_stats made = {.n = connectome->projections[p].n_synapses,
                              .mean_start = mean_at_start(connectome, p)};
    VLY_TRY(count_all(net, p, &made, error));
    (void)vly_struct_fill(stats, &made, sizeof made);
out:
    return status;
}

/* ---- writing ------------------------------------------------------------ */

/* To the nearest multiple of 2^-16 of the unit; w_max is the bound itself. */
static vly_status to_master(const vly_connectome *connectome, uint32_t p,
                            uint64_t i, double value, int32_t *master,
                            vly_error *error)
{
    const vly_connectome_learning *given = connectome->projections[p].learning;
    uint32_t most = connectome->desc.projections[p].learning->most;
    double w_max = given->w_max;
    if (!(w_max < 0.0 ? value <= 0.0 && value >= w_max
                      : value >= 0.0 && value <= w_max))
        return vly_fail(
            error, VLY_E_INVALID,
            "weight %g of synapse %llu of map %s, wanted %g to %g: "
            "w_max of [plasticity.%s]",
            value, (unsigned long long)i, connectome->projections[p].map,
            w_max < 0.0 ? w_max : 0.0, w_max < 0.0 ? 0.0 : w_max, given->name);
    double whole = vly_floor(value / master_unit(connectome, p) + 0.5);
    *master = whole < most ? (int32_t)whole : (int32_t)most;
    return VLY_OK;
}

static vly_status masters_put(vly_net *net, uint32_t p, uint64_t first,
                              uint64_t count, const int32_t *masters,
                              vly_error *error)
{
    vly_error why = VLY_ERROR_INIT;
    vly_status status = VLY_OK;
    VLY_TRY(vly_net_alive(net, error));
    status = net->device.backend->learning_write(net->device.net, p, first,
                                                 count, masters, &why);
    if (status != VLY_OK)
        status = vly_net_failed(net, status, false, &why, error);
out:
    return status;
}

vly_status vly_net_weights_write(vly_net *net, const char *map, uint32_t part,
                                 uint64_t first, uint64_t count,
                                 const double *weights, vly_error *error)
{
    const vly_connectome *connectome = net->connectome;
    vly_change change = {0};
    uint32_t p = 0;
    int32_t *masters = NULL;
    vly_status status = VLY_OK;
    VLY_TRY(vly_net_alive(net, error));
    VLY_TRY(find_part(net, map, part, &p, error));
    VLY_TRY(check_range(net, p, first, count, error));
    const char *name = connectome->projections[p].map;
    if (!connectome->desc.projections[p].learning)
        return vly_fail(error, VLY_E_INVALID,
                        "map %s does not learn: its weights can be read, but "
                        "not written; wanted a map that learns",
                        name);
    if (count == 0)
        return VLY_OK;
    masters = vly_malloc((size_t)count, sizeof *masters);
    if (!masters || !weights) {
        status =
            masters ? vly_fail(error, VLY_E_INVALID, "weights is NULL")
                    : vly_fail_nomem(error, count * sizeof *masters, "weights");
        goto out;
    }
    for (uint64_t i = 0; i < count; i++)
        VLY_TRY(to_master(connectome, p, first + i, weights[i], &masters[i],
                          error));
    VLY_TRY(vly_failover_note(net, name, NULL, weights, count, &change, error));
    change.projection = p;
    do
        status = masters_put(net, p, first, count, masters, error);
    while (vly_failover_again(net, &status, error));
    vly_failover_noted(net, VLY_CHANGE_WEIGHTS, first, &change, status);
out:
    vly_free(masters);
    return status;
}
