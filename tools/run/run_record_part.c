/* SPDX-License-Identifier: Apache-2.0
 * What a run records, as a part of it: spikes, samples of fields, a digest a
 * burst.
 */
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "base/error.h"
#include "base/memory.h"
#include "checkpoint/checkpoint.h"
#include "tools/run/run_checkpoint.h"
#include "tools/run/run_job.h"
#include "tools/run/run_output.h"
#include "tools/run/run_part.h"

static const tool_option options[] = {
    {"record", 0, false, TOOL_TEXT, "FILE",
     "write spikes: .csv, .h5 (SONATA) or .vls (stream); of the areas of "
     "[[record]], otherwise of all",
     0, 0},
    {"record-format", 0, false, TOOL_TEXT, "FORMAT",
     "csv, sonata or stream, in place of the format by name; default for -o: "
     "csv",
     0, 0},
    {"record-memory", 0, false, TOOL_COUNT, "MIB",
     "buffer for spikes not yet in the file; the run waits if it is full; "
     "default 1024",
     1, 1e9},
    {"statistics", 0, false, TOOL_FLAG, NULL,
     "irregularity and synchrony of areas, even if no spikes are recorded", 0,
     0},
    {"digest-log", 0, false, TOOL_TEXT, "FILE",
     "write one digest per burst, for volley compare", 0, 0},
    {NULL, 0, false, TOOL_FLAG, NULL, NULL, 0, 0}};

static vly_status read_options(run_job *job, const tool_args *args,
                               vly_error *error)
{
    record_part *part = run_output_state(job);
    (void)error;
    part->file = tool_text(args, "record");
    part->format = tool_text(args, "record-format");
    part->memory = tool_count(args, "record-memory", RUN_RECORD_MEMORY >> 20)
                   << 20;
    part->statistics = tool_has(args, "statistics");
    part->digest_log = tool_text(args, "digest-log");
    return VLY_OK;
}

static const char *output(const run_job *job, uint32_t k)
{
    const char *const paths[] = {run_output_state(job)->file,
                                 run_output_state(job)->digest_log};
    uint32_t n = 0;
    for (uint32_t i = 0; i < 2; i++)
        if (paths[i] && n++ == k)
            return paths[i];
    return NULL;
}

/* ---- open --------------------------------------------------------------- */

static vly_status open_digests(run_job *job, vly_error *error)
{
    record_part *part = run_output_state(job);
    const vly_connectome_info info =
        tool_connectome_info(job->build.connectome);
    const vly_recording *from =
        run_resume_recording(job, VLY_RECORDING_DIGESTS);
    if (from) {
        vly_digest_place place = {from->n_bytes, vly_net_digest(job->net)};
        return vly_digest_log_resume(part->digest_log, &place, &part->digests,
                                     error);
    }
    vly_digest_header header = {
        .genome_hash = {{info.genome_hash[0], info.genome_hash[1]}},
        .connectome_hash = {{info.hash[0], info.hash[1]}},
        .dt_ms = info.dt_ms,
        .n_neurons = info.n_neurons,
        .n_synapses = info.n_synapses,
    };
    snprintf(header.backend, sizeof header.backend, "%s",
             job->result.stats.backend);
    return vly_digest_log_open(part->digest_log, &header, &part->digests,
                               error);
}

/* Opening a pipe waits until a process reads it; a signal must end that
 * wait. */
static bool is_pipe(const char *path)
{
    struct stat info;
    return path && stat(path, &info) == 0 && S_ISFIFO(info.st_mode);
}

static vly_status claim(run_job *job, vly_error *error)
{
    const record_part *part = run_output_state(job);
    vly_status status = VLY_OK;
    if (!is_pipe(part->output.growing) && !is_pipe(part->digest_log))
        tool_signals_defer(true);
    VLY_TRY(run_output_open(job, error));
    if (part->digest_log)
        status = open_digests(job, error);
out:
    return status;
}

static vly_status flush(run_job *job, vly_error *error)
{
    const record_part *part = run_output_state(job);
    vly_digest_place place = {0};
    vly_status status = VLY_OK;
    VLY_TRY(run_output_begin(job, error));
    if (part->digests)
        status = vly_digest_log_flush(part->digests, &place, error);
out:
    return status;
}

/* ---- the loop ----------------------------------------------------------- */

/* Called for every burst of which something is written; ids is NULL without
 * recording. */
static vly_status on_burst(void *arg, uint64_t burst, const uint32_t *ids,
                           uint32_t n_ids, uint64_t digest)
{
    run_job *job = arg;
    const record_part *part = run_output_state(job);
    vly_error *error = &job->result.error;
    vly_status status = VLY_OK;
    if (part->output.direct)
        vly_spike_stats_add(part->output.sink.stats, burst, ids, n_ids);
    if (part->output.rates)
        VLY_TRY(run_rates_burst(job, burst, ids, n_ids, error));
    if (part->output.spikes && !part->output.direct)
        VLY_TRY(run_record_add(part->record, burst, ids, n_ids, error));
    if (part->digests)
        VLY_TRY(vly_digest_log_add(part->digests, burst, digest, n_ids, error));
    run_job_progress(job, burst + 1);
out:
    return status;
}

/* Ids are copied to the host only if they are recorded. */
static vly_status listen_to_net(run_job *job, vly_error *error)
{
    const record_part *part = run_output_state(job);
    (void)error;
    if (part->output.spikes || part->output.rates)
        vly_net_on_spikes(job->net, on_burst, job);
    else if (part->digests)
        vly_net_on_bursts(job->net, on_burst, job);
    return VLY_OK;
}

static vly_status take(run_job *job, vly_error *error)
{
    vly_status status = VLY_OK;
    if (!run_output_state(job)->record)
        return VLY_OK;
    status = run_sample_look(job, error);
    return status == VLY_OK
               ? run_record_tick(run_output_state(job)->record, error)
               : status;
}

/* ---- fail-over ---------------------------------------------------------- */

/* A mark does not wait for the writing thread. Its position is read when it is
 * needed, or before the next mark. */
static vly_status find_place(record_part *part, vly_error *error)
{
    if (!part->kept.marked)
        return VLY_OK;
    part->kept.marked = false;
    return run_record_marked(part->record, &part->kept.spikes, error);
}

static vly_status keep(run_job *job, vly_error *error)
{
    record_part *part = run_output_state(job);
    vly_status status = VLY_OK;
    run_counts_keep(&part->counts);
    if (part->output.path) {
        VLY_TRY(find_place(part, error));
        VLY_TRY(run_record_mark(part->record, error));
        part->kept.marked = true;
    }
    if (part->digests)
        status =
            vly_digest_log_flush(part->digests, &part->kept.digests, error);
out:
    return status;
}

/* A sample is recorded between two calls of the engine and cannot be
 * made again. */
static run_cut can_cut(const run_job *job, uint64_t kept_burst)
{
    const record_part *part = run_output_state(job);
    /* closed at the end of the run */
    if ((part->output.path && !part->record) ||
        (part->digest_log && !part->digests) ||
        (part->sample.n_reports > 0 && part->sample.last > kept_burst))
        return RUN_CUT_NOT;
    return part->record || part->output.direct || part->digests
               ? RUN_CUT_WHOLE
               : RUN_CUT_NOTHING;
}

static vly_status cut(run_job *job, uint64_t kept_burst, vly_error *error)
{
    record_part *part = run_output_state(job);
    vly_status status = VLY_OK;
    run_counts_cut(&part->counts);
    if (part->record) {
        VLY_TRY(find_place(part, error));
        VLY_TRY(run_record_rewind(part->record, &part->kept.spikes, kept_burst,
                                  error));
    }
    if (part->output.direct)
        vly_spike_stats_restart(part->output.sink.stats, kept_burst);
    if (part->digests)
        status =
            vly_digest_log_rewind(part->digests, &part->kept.digests, error);
out:
    return status;
}

static void put_path(const run_job *job, json_writer *json)
{
    /* that path is relative to the folder in which the run was started */
    char *from_folder = run_output_state(job)->output.path
                            ? run_path_from(job->plan.folder,
                                            run_output_state(job)->output.path)
                            : NULL;
    json_text(json, "recording", run_output_state(job)->output.path);
    json_text(json, "recording_from_folder", from_folder);
    vly_free(from_folder);
}

/* ---- the end ------------------------------------------------------------ */

static void keep_first(vly_error *first, const vly_error *next)
{
    if (first->status == VLY_OK && next->status != VLY_OK)
        *first = *next;
}

/* Closes the files that are written burst by burst; returns the first
 * failure. */
static vly_status finish(run_job *job, vly_error *error)
{
    record_part *part = run_output_state(job);
    vly_error first = VLY_ERROR_INIT;
    vly_error next = VLY_ERROR_INIT;
    run_output_close(job, &first);
    vly_digest_log_close(part->digests, &next);
    part->digests = NULL;
    keep_first(&first, &next);
    next.status = VLY_OK;
    run_output_export(job, &next);
    keep_first(&first, &next);
    if (error && first.status != VLY_OK)
        *error = first;
    return first.status;
}

static void deinit(run_job *job)
{
    record_part *part = run_output_state(job);
    run_output_deinit(job);
    if (!job->began)
        vly_digest_log_cancel(part->digests);
    vly_digest_log_close(part->digests, NULL);
    run_sample_deinit(&part->sample);
    run_rates_deinit(&part->rates);
    run_inputs_deinit(&part->inputs);
    run_counts_deinit(&part->counts);
}

static void print_head(const run_job *job)
{
    if (!job->plan.manifest && job->build.genome->n_records > 0 &&
        !run_output_state(job)->output.path)
        tool_message("[[record]] is not written: no -o FOLDER and no "
                     "--record FILE");
}

const run_part run_part_record = {
    .name = "recordings",
    .state_bytes = sizeof(record_part),
    .help = 8,
    .options = options,
    .read = read_options,
    .output = output,
    .at = {[RUN_CHOOSE] = run_output_choose,
           [RUN_CLAIM] = claim,
           [RUN_FLUSH] = flush,
           [RUN_BEGIN] = listen_to_net,
           [RUN_TAKE] = take},
    .keep = keep,
    .can_cut = can_cut,
    .cut = cut,
    .finish = finish,
    .due = run_sample_due,
    .print = {[RUN_LINES_HEAD] = print_head, [RUN_LINES] = run_output_print},
    .json = {[RUN_MEMBERS] = run_output_json, [RUN_MANIFEST] = put_path},
    .close = deinit,
};
