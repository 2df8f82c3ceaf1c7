/* SPDX-License-Identifier: Apache-2.0
 * What became of the weights: the summary and JSON.
 */
#include <math.h>

#include "base/error.h"
#include "base/memory.h"
#include "tools/run/run_job.h"
#include "tools/run/run_part.h"
#include "tools/run/run_weights.h"

#define LINES_MAX 12u

vly_status run_weights_list(run_job *job, vly_error *error)
{
    weights_part *part = run_weights_state(job);
    const uint32_t n_projections =
        tool_connectome_info(job->build.connectome).n_projections;
    vly_net_projection_info info = {.struct_size = sizeof info};
    uint32_t n = 0;
    vly_status status = VLY_OK;
    for (uint32_t p = 0; p < n_projections; p++) {
        VLY_TRY(vly_net_projection(job->net, NULL, p, &info, error));
        n += info.learns;
    }
    part->maps = vly_calloc(n, sizeof *part->maps);
    if (!part->maps)
        return vly_fail_nomem(error, n * sizeof *part->maps, "maps");
    for (uint32_t p = 0; p < n_projections; p++) {
        VLY_TRY(vly_net_projection(job->net, NULL, p, &info, error));
        if (info.learns != 0)
            part->maps[part->n_maps++].info = info;
    }
out:
    return status;
}

vly_status run_weights_count(run_job *job, vly_error *error)
{
    weights_part *part = run_weights_state(job);
    vly_status status = VLY_OK;
    for (uint32_t m = 0; m < part->n_maps; m++) {
        run_weights_map *map = &part->maps[m];
        map->stats.struct_size = sizeof map->stats;
        VLY_TRY(vly_net_weights_stats(job->net, NULL, map->info.index,
                                      &map->stats, error));
        /* frozen may have changed */
        VLY_TRY(vly_net_projection(job->net, NULL, map->info.index, &map->info,
                                   error));
    }
out:
    return status;
}

/* ---- text --------------------------------------------------------------- */

static double share(uint64_t n, uint64_t of)
{
    return of != 0 ? (double)n / (double)of : 0.0;
}

static void print_map(const run_weights_map *map, bool first)
{
    const vly_net_projection_info *info = &map->info;
    const vly_weights_stats *stats = &map->stats;
    const char *unit = info->weight_unit;
    tool_print("%-17s map %s (%s -> %s): mean %.4g%s%s (%.4g at the start), "
               "sd %.3g, %.3g%% at 0, %.3g%% at %.4g%s\n",
               first ? "weights" : "", info->map, info->source, info->target,
               stats->mean, *unit ? " " : "", unit, stats->mean_start,
               stats->sd, 100.0 * share(stats->n_at_zero, stats->n),
               100.0 * share(stats->n_at_most, stats->n), info->w_max,
               info->frozen ? "; frozen" : "");
}

void run_weights_print(const run_job *job)
{
    const weights_part *part = run_weights_state(job);
    for (uint32_t m = 0; part->counted && m < part->n_maps; m++) {
        if (m == LINES_MAX) {
            tool_print("%-17s and of %s more pairs of areas\n", "",
                       tool_thousands(part->n_maps - m));
            return;
        }
        print_map(&part->maps[m], m == 0);
    }
}

/* ---- JSON --------------------------------------------------------------- */

static void put_map(const run_weights_map *map, json_writer *json)
{
    const vly_net_projection_info *info = &map->info;
    const vly_weights_stats *stats = &map->stats;
    json_object(json, NULL);
    json_text(json, "map", info->map);
    json_text(json, "from", info->source);
    json_text(json, "to", info->target);
    json_text(json, "plasticity", info->plasticity);
    json_text(json, "rule", info->rule);
    json_bool(json, "frozen", info->frozen != 0);
    json_text(json, "unit", info->weight_unit);
    json_u64(json, "synapses", stats->n);
    json_number(json, "mean", stats->mean);
    json_number(json, "mean_start", stats->mean_start);
    json_number(json, "sd", stats->sd);
    json_number(json, "min", stats->min);
    json_number(json, "max", stats->max);
    json_number(json, "w_max", info->w_max);
    json_number(json, "share_at_zero", share(stats->n_at_zero, stats->n));
    json_number(json, "share_at_w_max", share(stats->n_at_most, stats->n));
    json_object_end(json);
}

void run_weights_put(const weights_part *part, json_writer *json)
{
    json_array(json, "weights");
    for (uint32_t m = 0; m < part->n_maps; m++)
        put_map(&part->maps[m], json);
    json_array_end(json);
}

void run_weights_json(const run_job *job, json_writer *json)
{
    const weights_part *part = run_weights_state(job);
    json_text(json, "weights_file", part->final);
    json_text(json, "weights_recording", part->path);
    if (part->counted)
        run_weights_put(part, json);
}
