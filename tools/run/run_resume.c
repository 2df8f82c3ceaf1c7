/* SPDX-License-Identifier: Apache-2.0
 * A run that goes on from a checkpoint. Everything that does not go together is
 * refused before anything is touched: the checkpoint itself, the genome, the
 * length, and each recording, whose last bytes before the place at which it
 * goes on must be those that the checkpoint was written with.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"
#include "base/memory.h"
#include "checkpoint/checkpoint.h"
#include "tools/cli/json_reader.h"
#include "tools/run/run_checkpoint.h"
#include "tools/run/run_job.h"
#include "tools/run/run_output.h"
#include "tools/run/run_weights.h"

const vly_recording *run_resume_recording(const run_job *job, uint32_t kind)
{
    const vly_checkpoint *from = run_checkpoint_state(job)->resumed;
    for (uint32_t r = 0; from && r < from->n_recordings; r++) {
        if (from->recordings[r].kind == kind)
            return &from->recordings[r];
    }
    return NULL;
}

vly_hash run_resume_selection(const run_job *job)
{
    const vly_genome *genome = job->build.genome;
    vly_hash sum = {{genome->n_records, 0}};
    for (uint32_t r = 0; r < genome->n_records; r++) {
        const vly_record *record = &genome->records[r];
        const uint64_t more[] = {(uint64_t)record->kind, record->field,
                                 record->interval, record->n_neurons};
        const uint64_t by_neuron = record->by_neuron;
        sum = vly_hash_bytes(sum, &record->area, sizeof record->area);
        if (record->kind == VLY_RECORD_SPIKES && !record->neurons &&
            record->start == 0 && record->stop == UINT64_MAX)
            continue;
        sum = vly_hash_bytes(sum, more, sizeof more);
        if (by_neuron)
            sum = vly_hash_bytes(sum, &by_neuron, sizeof by_neuron);
        if (record->offset || record->start || record->stop != UINT64_MAX) {
            const uint64_t window[] = {record->offset, record->start,
                                       record->stop};
            sum = vly_hash_bytes(sum, window, sizeof window);
        }
        if (record->neurons)
            sum = vly_hash_bytes(sum, record->neurons,
                                 record->n_neurons * sizeof(uint32_t));
    }
    return sum;
}

/* ---- checks -------------------------------------------------------------- */

static vly_status check_genome(const run_job *job, vly_error *error)
{
    const char *path = run_checkpoint_state(job)->plan.resume;
    const vly_genome *genome = job->build.genome;
    vly_state_info info = {.struct_size = sizeof info};
    vly_status status = VLY_OK;
    VLY_TRY(vly_state_get_info(run_checkpoint_state(job)->resumed->state, &info,
                               error));
    vly_hash theirs = {{info.genome_hash[0], info.genome_hash[1]}};
    if (memcmp(&theirs, &genome->hash, sizeof theirs) != 0)
        return vly_fail(error, VLY_E_INVALID,
                        "%s: checkpoint of another genome: its hash is %s, "
                        "that of %s with its seeds and --set is %s",
                        path, tool_hash_text(theirs.lane), job->plan.path,
                        tool_hash_text(genome->hash.lane));
    if (info.bursts > job->plan.n_bursts)
        return vly_fail(error, VLY_E_INVALID,
                        "%s: checkpoint after burst %" PRIu64
                        ", and the run has %" PRIu64
                        "; wanted --bursts N with at least as many",
                        path, info.bursts, job->plan.n_bursts);
out:
    return status;
}

/* The file is the recording of the checkpoint, perhaps with later bytes. */
static vly_status check_file(const run_job *job, const vly_recording *recording,
                             const char *path, vly_error *error)
{
    vly_hash tail;
    vly_status status = VLY_OK;
    VLY_TRY(
        vly_recording_read_tail(path, recording->n_bytes, false, &tail, error));
    if (memcmp(&tail, &recording->tail, sizeof tail) != 0)
        return vly_fail(error, VLY_E_PARSE,
                        "%s: not the file of %s: the bytes before %" PRIu64
                        ", where it continues, differ",
                        path, run_checkpoint_state(job)->plan.resume,
                        recording->n_bytes);
    if (access(path, W_OK) != 0) /* all are checked before one is cut */
        return vly_fail(error, VLY_E_IO, "%s: cannot be written: %s", path,
                        strerror(errno));
out:
    return status;
}

static bool is_empty(const char *path)
{
    struct stat info;
    return stat(path, &info) != 0 || info.st_size == 0;
}

static vly_status check_recording(const run_job *job, uint32_t kind,
                                  const char *option, const char *path,
                                  vly_error *error)
{
    const vly_recording *recording = run_resume_recording(job, kind);
    const char *checkpoint = run_checkpoint_state(job)->plan.resume;
    if (recording && path)
        return check_file(job, recording, path, error);
    if (recording)
        tool_message("%s: %s was recorded and is not continued: no %s",
                     checkpoint, recording->path, option);
    if (recording || !path)
        return VLY_OK;
    /* spikes and weights can begin at the checkpoint in a file of their own; a
     * digest log needs all bursts */
    if (kind != VLY_RECORDING_DIGESTS && is_empty(path)) {
        tool_message("%s: no %s were recorded; %s begins at the checkpoint",
                     checkpoint,
                     kind == VLY_RECORDING_SPIKES ? "spikes" : "weights", path);
        return VLY_OK;
    }
    return vly_fail(error, VLY_E_INVALID,
                    "%s: was written without %s, so %s cannot be continued",
                    checkpoint, option, path);
}

static vly_status check_selection(const run_job *job, vly_error *error)
{
    const vly_recording *recording =
        run_resume_recording(job, VLY_RECORDING_SPIKES);
    vly_hash ours = run_resume_selection(job);
    if (!recording || !run_output_state(job)->output.growing ||
        memcmp(&recording->selection, &ours, sizeof ours) == 0)
        return VLY_OK;
    return vly_fail(error, VLY_E_INVALID,
                    "%s: was written with another [[record]], so %s cannot "
                    "be continued",
                    run_checkpoint_state(job)->plan.resume,
                    run_output_state(job)->output.growing);
}

vly_status run_resume_load(run_job *job, vly_error *error)
{
    const char *path = run_checkpoint_state(job)->plan.resume;
    vly_status status = VLY_OK;
    if (!path)
        return VLY_OK;
    VLY_TRY(vly_checkpoint_load(path, &run_checkpoint_state(job)->resumed, NULL,
                                error));
    VLY_TRY(vly_checkpoint_can_run(run_checkpoint_state(job)->resumed, path,
                                   error));
    VLY_TRY(check_genome(job, error));
    VLY_TRY(check_selection(job, error));
    VLY_TRY(check_recording(job, VLY_RECORDING_SPIKES, "--record",
                            run_output_state(job)->output.growing, error));
    VLY_TRY(check_recording(job, VLY_RECORDING_DIGESTS, "--digest-log",
                            run_output_state(job)->digest_log, error));
    VLY_TRY(check_recording(job, VLY_RECORDING_WEIGHTS, "--record-weights",
                            run_weights_state(job)->path, error));
    run_checkpoint_state(job)->n_resumes =
        run_checkpoint_state(job)->resumed->n_resumes + 1;
out:
    return status;
}

/* ---- the folder -------------------------------------------------------- */

static vly_status check_manifest(const run_job *job, const char *manifest,
                                 vly_error *error)
{
    json_value root;
    vly_status status = VLY_OK;
    VLY_TRY(json_load(manifest, &root, error));
    const char *theirs = json_find_text(&root, "genome_hash");
    const char *ours = tool_hash_text(job->build.genome->hash.lane);
    if (!theirs || strcmp(theirs, ours) != 0)
        status = vly_fail(error, VLY_E_INVALID,
                          "%s: manifest of another genome, so its folder is "
                          "not that of the resumed run",
                          manifest);
    json_free(&root);
out:
    return status;
}

vly_status run_resume_folder(run_job *job, vly_error *error)
{
    const run_plan *plan = &job->plan;
    bool resumes = run_checkpoint_state(job)->plan.resume != NULL;
    char *manifest = NULL;
    vly_status status = VLY_OK;
    if (resumes && !plan->force) {
        manifest = run_folder_path(plan->folder, "manifest.json");
        if (!manifest)
            return vly_fail_nomem(error, 4096, "a file name");
        resumes = access(manifest, F_OK) == 0;
        if (resumes)
            status = check_manifest(job, manifest, error);
    }
    if (status == VLY_OK)
        status = run_folder_open(plan->folder, plan->force || resumes,
                                 &job->folder_lock, error);
    vly_free(manifest);
    job->folder_fresh = status == VLY_OK && !plan->force && !resumes;
    return status;
}

/* ---- report ------------------------------------------------------------ */

void run_resume_json(const run_job *job, json_writer *json)
{
    if (!run_checkpoint_state(job)->plan.resume) {
        json_text(json, "resumed", NULL);
        return;
    }
    json_object(json, "resumed");
    json_text(json, "file", run_checkpoint_state(job)->plan.resume);
    json_u64(json, "burst", job->first_burst);
    json_u64(json, "times", run_checkpoint_state(job)->n_resumes);
    json_object_end(json);
}
