/* SPDX-License-Identifier: Apache-2.0
 * All weights of the maps that learn, in one file: a table that `rule = "file"`
 * reads, or SONATA edges.
 */
#include "tools/run/run_weights.h"

#include <volley/record.h>

#include <inttypes.h>
#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "tools/run/run_job.h"

vly_status run_weights_block_make(run_weights_block *block, vly_error *error)
{
    if (block->weights)
        return VLY_OK;
    block->weights = vly_malloc(RUN_WEIGHTS_BLOCK, sizeof *block->weights);
    block->sources = vly_malloc(RUN_WEIGHTS_BLOCK, sizeof *block->sources);
    block->targets = vly_malloc(RUN_WEIGHTS_BLOCK, sizeof *block->targets);
    if (block->weights && block->sources && block->targets)
        return VLY_OK;
    run_weights_block_deinit(block);
    return vly_fail_nomem(error, 16 * RUN_WEIGHTS_BLOCK, "weights");
}

void run_weights_block_deinit(run_weights_block *block)
{
    vly_free(block->weights);
    vly_free(block->sources);
    vly_free(block->targets);
    *block = (run_weights_block){NULL, NULL, NULL};
}

/* Where the synapses of one projection go; NULL: the other kind of file. */
typedef struct saved_file {
    vly_writer *table;
    vly_sonata_edges *edges;
} saved_file;

static vly_status put_block(const run_weights_block *block,
                            const vly_net_projection_info *info, uint64_t n,
                            const saved_file *file, vly_error *error)
{
    vly_status status = VLY_OK;
    if (file->edges)
        return vly_sonata_edges_add(file->edges, block->sources, block->targets,
                                    block->weights, NULL, n, error);
    for (uint64_t i = 0; i < n && status == VLY_OK; i++)
        status = vly_writer_print(
            file->table, error, "%s,%s,%" PRIu32 ",%s,%" PRIu32 ",%.17g\n",
            info->map, info->source, block->sources[i], info->target,
            block->targets[i], block->weights[i]);
    return status;
}

static vly_status put_map(run_job *job, const vly_net_projection_info *info,
                          const saved_file *file, vly_error *error)
{
    const run_weights_block *block = &run_weights_state(job)->block;
    vly_status status = VLY_OK;
    for (uint64_t at = 0; at < info->n_synapses; at += RUN_WEIGHTS_BLOCK) {
        uint64_t left = info->n_synapses - at;
        uint64_t n = left < RUN_WEIGHTS_BLOCK ? left : RUN_WEIGHTS_BLOCK;
        VLY_TRY(vly_net_weights_read(job->net, NULL, info->index, at, n,
                                     block->weights, block->sources,
                                     block->targets, error));
        VLY_TRY(put_block(block, info, n, file, error));
    }
out:
    return status;
}

/* "MAP", or "MAP.FROM.TO" if the map connects several pairs of areas. */
static char *population_of(const weights_part *part, uint32_t m)
{
    const vly_net_projection_info *info = &part->maps[m].info;
    uint32_t n = 0;
    for (uint32_t k = 0; k < part->n_maps; k++)
        n += strcmp(part->maps[k].info.map, info->map) == 0;
    return n == 1
               ? vly_strdup(info->map)
               : vly_format("%s.%s.%s", info->map, info->source, info->target);
}

static vly_status save_sonata(run_job *job, vly_error *error)
{
    const weights_part *part = run_weights_state(job);
    saved_file file = {NULL, NULL};
    char *name = NULL;
    vly_status status = VLY_OK;
    VLY_TRY(vly_sonata_edges_open(part->final, &file.edges, error));
    for (uint32_t m = 0; m < part->n_maps; m++) {
        const vly_net_projection_info *info = &part->maps[m].info;
        name = population_of(part, m);
        if (!name) {
            status = vly_fail_nomem(error, 4096, "a name");
            goto out;
        }
        VLY_TRY(vly_sonata_edges_begin(file.edges, name, info->n_synapses,
                                       false, error));
        VLY_TRY(put_map(job, info, &file, error));
        VLY_TRY(vly_sonata_edges_end(file.edges, error));
        vly_free(name);
        name = NULL;
    }
    status = vly_sonata_edges_close(file.edges, error);
    file.edges = NULL;
out:
    vly_free(name);
    vly_sonata_edges_abandon(file.edges);
    return status;
}

/* The unit that all weights have; "" none, or several. */
static const char *common_suffix(const weights_part *part)
{
    const char *suffix = part->maps[0].info.weight_suffix;
    for (uint32_t m = 1; m < part->n_maps; m++)
        if (strcmp(part->maps[m].info.weight_suffix, suffix) != 0)
            return "";
    return suffix;
}

static vly_status save_table(run_job *job, vly_error *error)
{
    weights_part *part = run_weights_state(job);
    saved_file file = {.table = part->saved};
    const char *suffix = common_suffix(part);
    vly_status status = VLY_OK;
    part->saved = NULL;
    if (!file.table) /* a pipe or a device */
        VLY_TRY(vly_writer_open(part->final, true, &file.table, error));
    VLY_TRY(vly_writer_print(file.table, error,
                             "map,from,source,to,target,weight%s%s\n",
                             *suffix ? "_" : "", suffix));
    for (uint32_t m = 0; m < part->n_maps; m++)
        VLY_TRY(put_map(job, &part->maps[m].info, &file, error));
    status = vly_writer_close(file.table, error);
    file.table = NULL;
out:
    vly_writer_abandon(file.table);
    return status;
}

uint64_t run_weights_bytes(const run_job *job)
{
    const weights_part *part = run_weights_state(job);
    uint64_t n_bytes = 0;
    for (uint32_t m = 0; part->final && m < part->n_maps; m++) {
        const vly_net_projection_info *info = &part->maps[m].info;
        /* two ids and a weight of 8 bytes each, or the shortest line */
        const uint64_t each =
            vly_recording_format(part->final) == VLY_RECORDING_SONATA
                ? 24
                : strlen(info->map) + strlen(info->source) +
                      strlen(info->target) + sizeof ",,0,,0,0";
        n_bytes += info->n_synapses * each;
    }
    return n_bytes;
}

vly_status run_weights_save(run_job *job, vly_error *error)
{
    weights_part *part = run_weights_state(job);
    vly_status status = VLY_OK;
    if (!part->final)
        return VLY_OK;
    VLY_TRY(run_weights_block_make(&part->block, error));
    status = vly_recording_format(part->final) == VLY_RECORDING_SONATA
                 ? save_sonata(job, error)
                 : save_table(job, error);
out:
    return status;
}
