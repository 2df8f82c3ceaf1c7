/* SPDX-License-Identifier: Apache-2.0
 * Weights of a run as a part of it. A sample of burst n are the weights when n
 * bursts are done, n a multiple of the interval, as with fields
 * (run_sample.c); the table has the last burst done. It is written by the burst
 * loop itself: a sample needs the net anyway.
 */
#include "tools/run/run_weights.h"

#include <volley/record.h>

#include <inttypes.h>
#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "base/random.h"
#include "base/thread.h"
#include "checkpoint/checkpoint.h"
#include "genome/genome.h"
#include "tools/cli/output_room.h"
#include "tools/run/run_checkpoint.h"
#include "tools/run/run_job.h"
#include "tools/run/run_part.h"

static const uint64_t flush_ns = 1000000000;

static const tool_option options[] = {
    {"weights", 0, false, TOOL_TEXT, "FILE",
     "write all weights of the maps that learn at the end: a table (.csv) for "
     "rule = \"file\", or SONATA edges (.h5)",
     0, 0},
    {"record-weights", 0, false, TOOL_TEXT, "FILE",
     "write the weights of [[record]] as a table (.csv); default with -o: "
     "FOLDER/weights.csv",
     0, 0},
    {NULL, 0, false, TOOL_FLAG, NULL, NULL, 0, 0}};

static vly_status read_options(run_job *job, const tool_args *args,
                               vly_error *error)
{
    weights_part *part = run_weights_state(job);
    (void)error;
    part->final = tool_text(args, "weights");
    part->record = tool_text(args, "record-weights");
    return VLY_OK;
}

static const char *output(const run_job *job, uint32_t k)
{
    const weights_part *part = run_weights_state(job);
    const char *const paths[] = {part->record, part->final};
    uint32_t n = 0;
    for (uint32_t i = 0; i < 2; i++)
        if (paths[i] && n++ == k)
            return paths[i];
    return NULL;
}

/* ---- names -------------------------------------------------------------- */

static bool learns(const vly_genome *genome)
{
    for (uint32_t p = 0; p < genome->n_pairs; p++)
        if (genome->pairs[p].plasticity)
            return true;
    return false;
}

/* Recorded weights are a table, those of the end also SONATA edges; a stream
 * has spikes and fields. */
static vly_status check_format(const weights_part *part, vly_error *error)
{
    if (part->record && vly_recording_format(part->record) != VLY_RECORDING_CSV)
        return vly_fail(error, VLY_E_INVALID,
                        "--record-weights %s: weights are recorded as a table, "
                        "wanted the ending .csv",
                        part->record);
    if (part->final &&
        vly_recording_format(part->final) == VLY_RECORDING_STREAM)
        return vly_fail(error, VLY_E_INVALID,
                        "--weights %s: a stream has no weights, wanted the "
                        "ending .csv or .h5",
                        part->final);
    return VLY_OK;
}

static vly_status choose(run_job *job, vly_error *error)
{
    weights_part *part = run_weights_state(job);
    const vly_genome *genome = job->build.genome;
    vly_status status = VLY_OK;
    VLY_TRY(check_format(part, error));
    if (part->final && !learns(genome))
        return vly_fail(error, VLY_E_INVALID,
                        "--weights %s: no map of %s learns, wanted one with "
                        "plasticity",
                        part->final, job->plan.path);
    if (part->record && genome->n_weight_records == 0)
        return vly_fail(error, VLY_E_INVALID,
                        "--record-weights %s: %s has no [[record]] with what = "
                        "\"weights\", wanted one",
                        part->record, job->plan.path);
    if (part->record)
        part->path = vly_strdup(part->record);
    else if (job->plan.folder && genome->n_weight_records > 0)
        part->path = vly_format("%s/weights.csv", job->plan.folder);
    else
        return part->final ? vly_recording_check(part->final, error) : VLY_OK;
    if (!part->path)
        return vly_fail_nomem(error, 4096, "a file name");
    if (part->final)
        status = vly_recording_check(part->final, error);
out:
    return status;
}

/* Checked after the folder is made, since the file may be in it. */
static vly_status check_final(run_job *job, vly_error *error)
{
    return output_probe(run_weights_state(job)->final, error);
}

/* ---- open --------------------------------------------------------------- */

/* Synapses of a map, over all its pairs of areas. */
static uint64_t synapses_of(const run_job *job, const char *map)
{
    const weights_part *part = run_weights_state(job);
    uint64_t n = 0;
    for (uint32_t m = 0; m < part->n_maps; m++)
        if (strcmp(part->maps[m].info.map, map) == 0)
            n += part->maps[m].info.n_synapses;
    return n;
}

static vly_status check_records(const run_job *job, vly_error *error)
{
    const vly_genome *genome = job->build.genome;
    for (uint32_t r = 0; r < genome->n_weight_records; r++) {
        const vly_weight_record *record = &genome->weight_records[r];
        uint64_t n = synapses_of(job, record->map);
        uint64_t last = record->n == UINT64_MAX ? record->first
                                                : record->first + record->n - 1;
        if (last >= n)
            return vly_fail(error, VLY_E_INVALID,
                            "%s: a [[record]] of weights has synapse %" PRIu64
                            " of map %s, which has %" PRIu64,
                            job->plan.path, last, record->map, n);
    }
    return VLY_OK;
}

/* The unit that all recorded weights have; "" none, or several. */
static const char *recorded_suffix(const run_job *job)
{
    const vly_genome *genome = job->build.genome;
    const weights_part *part = run_weights_state(job);
    const char *suffix = NULL;
    for (uint32_t r = 0; r < genome->n_weight_records; r++)
        for (uint32_t m = 0; m < part->n_maps; m++) {
            const vly_net_projection_info *info = &part->maps[m].info;
            if (strcmp(info->map, genome->weight_records[r].map) != 0)
                continue;
            if (suffix && strcmp(suffix, info->weight_suffix) != 0)
                return "";
            suffix = info->weight_suffix;
        }
    return suffix ? suffix : "";
}

static vly_status open_samples(run_job *job, vly_error *error)
{
    weights_part *part = run_weights_state(job);
    const vly_recording *from =
        run_resume_recording(job, VLY_RECORDING_WEIGHTS);
    vly_status status = VLY_OK;
    VLY_TRY(check_records(job, error));
    VLY_TRY(run_weights_block_make(&part->block, error));
    part->last = job->first_burst;
    part->flush_ns = vly_clock_ns();
    if (from) {
        part->n_lines = from->n_entries;
        VLY_TRY(
            vly_writer_resume(part->path, from->n_bytes, &part->writer, error));
        vly_writer_set_lines(part->writer);
        return VLY_OK;
    }
    VLY_TRY(vly_writer_open(part->path, false, &part->writer, error));
    vly_writer_set_lines(part->writer);
    const char *suffix = recorded_suffix(job);
    status = vly_writer_print(part->writer, error,
                              "burst,time_ms,map,from,source,to,target,"
                              "weight%s%s\n",
                              *suffix ? "_" : "", suffix);
out:
    return status;
}

static vly_status claim(run_job *job, vly_error *error)
{
    weights_part *part = run_weights_state(job);
    vly_status status = VLY_OK;
    VLY_TRY(run_weights_list(job, error));
    if (part->path)
        VLY_TRY(open_samples(job, error));
    VLY_TRY(output_room(part->final, run_weights_bytes(job), error));
    if (part->final &&
        vly_recording_format(part->final) != VLY_RECORDING_SONATA)
        status = run_files_claim(part->final, &part->saved, error);
out:
    return status;
}

static vly_status flush(run_job *job, vly_error *error)
{
    vly_writer *writer = run_weights_state(job)->writer;
    return writer ? vly_writer_flush(writer, error) : VLY_OK;
}

/* ---- samples ------------------------------------------------------------ */

static uint64_t due(const run_job *job)
{
    const vly_genome *genome = job->build.genome;
    const uint64_t burst = vly_net_burst(job->net);
    uint64_t first = UINT64_MAX;
    if (!run_weights_state(job)->writer)
        return UINT64_MAX;
    for (uint32_t r = 0; r < genome->n_weight_records; r++) {
        const uint64_t interval = genome->weight_records[r].interval;
        const uint64_t next = burst + interval - burst % interval;
        first = next < first ? next : first;
    }
    return first;
}

static vly_status put_range(run_job *job, const vly_net_projection_info *info,
                            uint64_t first, uint64_t n, vly_error *error)
{
    weights_part *part = run_weights_state(job);
    const run_weights_block *block = &part->block;
    const uint64_t burst = vly_net_burst(job->net);
    const double time = vly_recording_time(job->result.stats.dt_ms, burst);
    vly_status status = VLY_OK;
    VLY_TRY(vly_net_weights_read(job->net, NULL, info->index, first, n,
                                 block->weights, block->sources, block->targets,
                                 error));
    for (uint64_t i = 0; i < n; i++)
        VLY_TRY(vly_writer_print(
            part->writer, error,
            "%" PRIu64 ",%.15g,%s,%s,%" PRIu32 ",%s,%" PRIu32 ",%.17g\n",
            burst - 1, time, info->map, info->source, block->sources[i],
            info->target, block->targets[i], block->weights[i]));
    part->n_lines += n;
out:
    return status;
}

/* The synapses of the record that are of this projection, which has the
 * synapses from `base` on of its map. */
static vly_status put_part(run_job *job, const vly_weight_record *record,
                           const vly_net_projection_info *info, uint64_t base,
                           vly_error *error)
{
    const uint64_t end =
        record->n == UINT64_MAX ? UINT64_MAX : record->first + record->n;
    const uint64_t stop = base + info->n_synapses;
    uint64_t at = record->first > base ? record->first : base;
    const uint64_t until = end < stop ? end : stop;
    vly_status status = VLY_OK;
    while (at < until && status == VLY_OK) {
        uint64_t n = until - at;
        n = n < RUN_WEIGHTS_BLOCK ? n : RUN_WEIGHTS_BLOCK;
        status = put_range(job, info, at - base, n, error);
        at += n;
    }
    return status;
}

static vly_status put_record(run_job *job, const vly_weight_record *record,
                             vly_error *error)
{
    const weights_part *part = run_weights_state(job);
    uint64_t base = 0;
    vly_status status = VLY_OK;
    for (uint32_t m = 0; m < part->n_maps; m++) {
        const vly_net_projection_info *info = &part->maps[m].info;
        if (strcmp(info->map, record->map) != 0)
            continue;
        VLY_TRY(put_part(job, record, info, base, error));
        base += info->n_synapses;
    }
out:
    return status;
}

static vly_status take(run_job *job, vly_error *error)
{
    weights_part *part = run_weights_state(job);
    const vly_genome *genome = job->build.genome;
    const uint64_t burst = vly_net_burst(job->net);
    const uint64_t now = vly_clock_ns();
    vly_status status = VLY_OK;
    if (!part->writer || burst == part->last)
        return VLY_OK;
    for (uint32_t r = 0; r < genome->n_weight_records; r++)
        if (burst % genome->weight_records[r].interval == 0) {
            VLY_TRY(put_record(job, &genome->weight_records[r], error));
            part->last = burst;
        }
    /* a killed run loses at most a second */
    if (now - part->flush_ns >= flush_ns) {
        part->flush_ns = now;
        status = vly_writer_flush(part->writer, error);
    }
out:
    return status;
}

/* ---- places ------------------------------------------------------------- */

/* Of what is recorded: a file of other samples cannot be continued. */
static vly_hash selection(const run_job *job)
{
    const vly_genome *genome = job->build.genome;
    vly_hash sum = {{genome->n_weight_records, 0}};
    for (uint32_t r = 0; r < genome->n_weight_records; r++) {
        const vly_weight_record *record = &genome->weight_records[r];
        const uint64_t words[] = {record->first, record->n, record->interval};
        sum = vly_hash_bytes(sum, record->map, strlen(record->map));
        sum = vly_hash_bytes(sum, words, sizeof words);
    }
    return sum;
}

bool run_weights_place(run_job *job, vly_recording *place, vly_status *status,
                       vly_error *error)
{
    weights_part *part = run_weights_state(job);
    if (!part->writer)
        return false;
    *status = vly_writer_flush(part->writer, error);
    *place = (vly_recording){.kind = VLY_RECORDING_WEIGHTS,
                             .path = part->path,
                             .n_bytes = vly_writer_tell(part->writer),
                             .n_entries = part->n_lines,
                             .selection = selection(job)};
    return true;
}

/* ---- fail-over ---------------------------------------------------------- */

static vly_status keep(run_job *job, vly_error *error)
{
    weights_part *part = run_weights_state(job);
    if (!part->writer)
        return VLY_OK;
    vly_status status = vly_writer_flush(part->writer, error);
    part->kept = vly_writer_tell(part->writer);
    part->kept_lines = part->n_lines;
    return status;
}

/* As with samples of fields: they are not told again. */
static run_cut can_cut(const run_job *job, uint64_t kept_burst)
{
    const weights_part *part = run_weights_state(job);
    if (!part->path)
        return RUN_CUT_NOTHING;
    return part->writer && part->last <= kept_burst ? RUN_CUT_WHOLE
                                                    : RUN_CUT_NOT;
}

static vly_status cut(run_job *job, uint64_t kept_burst, vly_error *error)
{
    weights_part *part = run_weights_state(job);
    (void)kept_burst;
    if (!part->writer)
        return VLY_OK;
    part->n_lines = part->kept_lines;
    return vly_writer_rewind(part->writer, part->kept, error);
}

static vly_status check_resume(run_job *job, vly_error *error)
{
    const weights_part *part = run_weights_state(job);
    const vly_recording *from =
        run_resume_recording(job, VLY_RECORDING_WEIGHTS);
    vly_hash ours = selection(job);
    if (!from || !part->path ||
        memcmp(&from->selection, &ours, sizeof ours) == 0)
        return VLY_OK;
    return vly_fail(error, VLY_E_INVALID,
                    "%s: was written with another [[record]] of weights, so %s "
                    "cannot be continued",
                    run_checkpoint_state(job)->plan.resume, part->path);
}

/* ---- the end ------------------------------------------------------------ */

/* Also of a run that failed, unless its net did; and of one whose samples could
 * not be written. */
static vly_status finish(run_job *job, vly_error *error)
{
    weights_part *part = run_weights_state(job);
    vly_writer *writer = part->writer;
    part->writer = NULL;
    const vly_status closed = vly_writer_close(writer, error);
    vly_error *next = closed == VLY_OK ? error : NULL;
    vly_status status = VLY_OK;
    VLY_TRY(run_weights_count(job, next));
    part->counted = true;
    status = run_weights_save(job, next);
out:
    return closed != VLY_OK ? closed : status;
}

static void deinit(run_job *job)
{
    weights_part *part = run_weights_state(job);
    vly_writer_abandon(part->writer);
    vly_writer_abandon(part->saved);
    run_weights_block_deinit(&part->block);
    vly_free(part->maps);
    vly_free(part->path);
}

static void print_head(const run_job *job)
{
    if (!job->plan.manifest && job->build.genome->n_weight_records > 0 &&
        !run_weights_state(job)->path)
        tool_message("[[record]] of weights is not written: no -o FOLDER and "
                     "no --record-weights FILE");
}

const run_part run_part_weights = {
    .name = "weights",
    .state_bytes = sizeof(weights_part),
    .help = 9,
    .options = options,
    .read = read_options,
    .output = output,
    .at = {[RUN_CHOOSE] = choose,
           [RUN_LOCK] = check_final,
           [RUN_FIT] = check_resume,
           [RUN_CLAIM] = claim,
           [RUN_FLUSH] = flush,
           [RUN_TAKE] = take},
    .keep = keep,
    .can_cut = can_cut,
    .cut = cut,
    .finish = finish,
    .due = due,
    .print = {[RUN_LINES_HEAD] = print_head, [RUN_LINES] = run_weights_print},
    .json = {[RUN_MEMBERS] = run_weights_json},
    .close = deinit,
};
