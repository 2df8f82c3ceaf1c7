/* SPDX-License-Identifier: Apache-2.0
 * Checkpoints of a run: when one is due, and the thread that writes it. A state
 * is copied between two calls of vly_net_run, at a burst at which everything
 * recorded so far belongs to it: spikes are marked in their queue, the digest
 * log is flushed. The thread then waits until the marked spikes are in their
 * file, syncs the recordings, and only then writes the checkpoint: a checkpoint
 * on disk never speaks of bytes that are not.
 */
#include "tools/run/run_checkpoint.h"

#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/error.h"
#include "base/memory.h"
#include "base/temporary.h"
#include "base/thread.h"
#include "checkpoint/checkpoint.h"
#include "tools/run/run_job.h"
#include "tools/run/run_output.h"
#include "tools/run/run_weights.h"

typedef struct checkpoint_counts {
    uint64_t n_written;
    uint64_t n_skipped;
    uint64_t n_failed;
    uint64_t last_burst; /* of the last checkpoint written */
    uint64_t n_bytes;    /* of it */
    uint64_t copy_ns;    /* the longest time that the loop waited */
    uint64_t write_ns;   /* time of the last one until it was on disk */
} checkpoint_counts;

struct run_checkpoint {
    run_checkpoint_plan plan;
    run_record *record;  /* NULL: no spikes are recorded */
    uint64_t next_burst; /* at which the next is due; UINT64_MAX: never */
    uint64_t next_ns;

    vly_checkpoint given; /* used by the thread while busy */
    vly_recording recordings[VLY_RECORDINGS];
    uint64_t begin_ns; /* time at which the copy was requested */
    uint64_t taken_burst;
    bool failing;        /* the last one failed, which has been reported */
    vly_temporary claim; /* while it is open, no other run writes there */

    checkpoint_counts counts;
    bool busy;       /* the thread is writing a checkpoint */
    bool told;       /* the result of the last one was read */
    bool ended;      /* no more will come */
    vly_error error; /* of the last one; status VLY_OK: success */
    pthread_t thread;
    pthread_mutex_t lock; /* of counts, busy, told, ended, error */
    pthread_cond_t changed;
};

/* ---- the thread -------------------------------------------------------- */

static vly_status finish_recordings(run_checkpoint *checkpoint,
                                    vly_error *error)
{
    vly_status status = VLY_OK;
    for (uint32_t r = 0; r < checkpoint->given.n_recordings; r++) {
        vly_recording *recording = &checkpoint->recordings[r];
        if (recording->kind == VLY_RECORDING_SPIKES) {
            vly_spike_place place = {0};
            VLY_TRY(run_record_marked(checkpoint->record, &place, error));
            recording->n_bytes = place.n_bytes;
            recording->n_entries = place.n_spikes;
        }
        VLY_TRY(vly_recording_read_tail(recording->path, recording->n_bytes,
                                        true, &recording->tail, error));
    }
out:
    return status;
}

static void write_given(run_checkpoint *checkpoint)
{
    vly_error error = VLY_ERROR_INIT;
    uint64_t n_bytes = 0;
    vly_state_info info = {.struct_size = sizeof info};
    vly_status status = finish_recordings(checkpoint, &error);
    if (status == VLY_OK)
        status = vly_checkpoint_save(&checkpoint->given, checkpoint->plan.path,
                                     checkpoint->plan.keep, &n_bytes, &error);
    uint64_t spent = vly_clock_ns() - checkpoint->begin_ns;
    vly_state_get_info(checkpoint->given.state, &info, NULL);
    vly_state_destroy(checkpoint->given.state);
    checkpoint->given.state = NULL;
    pthread_mutex_lock(&checkpoint->lock);
    checkpoint->error = error;
    checkpoint->error.status = status;
    if (status == VLY_OK) {
        checkpoint->counts.n_written++;
        checkpoint->counts.last_burst = info.bursts;
        checkpoint->counts.n_bytes = n_bytes;
        checkpoint->counts.write_ns = spent;
    }
    checkpoint->busy = false;
    checkpoint->told = false;
    pthread_cond_broadcast(&checkpoint->changed);
    pthread_mutex_unlock(&checkpoint->lock);
}

static void *write_all(void *arg)
{
    run_checkpoint *checkpoint = arg;
    for (;;) {
        pthread_mutex_lock(&checkpoint->lock);
        while (!checkpoint->busy && !checkpoint->ended)
            pthread_cond_wait(&checkpoint->changed, &checkpoint->lock);
        bool busy = checkpoint->busy;
        pthread_mutex_unlock(&checkpoint->lock);
        if (!busy)
            return NULL;
        write_given(checkpoint);
    }
}

static vly_status start_thread(run_checkpoint *checkpoint, vly_error *error)
{
    return vly_thread_start(&checkpoint->thread, write_all, checkpoint,
                            "checkpoints", error);
}

static void set_next(run_checkpoint *checkpoint, uint64_t burst)
{
    const run_checkpoint_plan *plan = &checkpoint->plan;
    checkpoint->next_burst = UINT64_MAX;
    checkpoint->next_ns = UINT64_MAX;
    if (plan->every_bursts != 0 && burst < UINT64_MAX - plan->every_bursts)
        checkpoint->next_burst =
            burst - burst % plan->every_bursts + plan->every_bursts;
    if (plan->every_ns != 0)
        checkpoint->next_ns = vly_clock_ns() + plan->every_ns;
}

/* Checkpoints are written at intervals, but the temporary file beside them is
 * locked all the time. */
static vly_status claim_path(run_checkpoint *checkpoint, vly_error *error)
{
    const char *path = checkpoint->plan.path;
    char *real = realpath(path, NULL);
    vly_status status =
        vly_temporary_open(real ? real : path, path, &checkpoint->claim, error);
    free(real);
    return status;
}

vly_status run_checkpoint_open(run_job *job, vly_error *error)
{
    if (!run_checkpoint_state(job)->plan.path)
        return VLY_OK;
    run_checkpoint *made = vly_calloc(1, sizeof *made);
    if (!made)
        return vly_fail_nomem(error, sizeof *made, "checkpoints");
    made->plan = run_checkpoint_state(job)->plan;
    made->record = run_output_state(job)->record;
    made->told = true;
    made->counts.last_burst = UINT64_MAX;
    made->error.struct_size = sizeof made->error;
    vly_status status = claim_path(made, error);
    if (status != VLY_OK) {
        vly_free(made);
        return status;
    }
    /* done once here: otherwise the loop would wait for it at the first
     * snapshot */
    uint64_t digest[2];
    vly_connectome_get_digest(job->build.connectome, job->plan.n_threads,
                              digest);
    set_next(made, vly_net_burst(job->net));
    pthread_mutex_init(&made->lock, NULL);
    pthread_cond_init(&made->changed, NULL);
    status = start_thread(made, error);
    if (status != VLY_OK) {
        vly_temporary_drop(&made->claim);
        vly_free(made);
        return status;
    }
    run_checkpoint_state(job)->checkpoint = made;
    return VLY_OK;
}

void run_checkpoint_close(run_checkpoint *checkpoint)
{
    if (!checkpoint)
        return;
    pthread_mutex_lock(&checkpoint->lock);
    checkpoint->ended = true;
    pthread_cond_broadcast(&checkpoint->changed);
    pthread_mutex_unlock(&checkpoint->lock);
    pthread_join(checkpoint->thread, NULL);
    pthread_mutex_destroy(&checkpoint->lock);
    pthread_cond_destroy(&checkpoint->changed);
    vly_temporary_drop(&checkpoint->claim);
    vly_free(checkpoint);
}

/* ---- one checkpoint ---------------------------------------------------- */

/* State of the files at this burst; the position in the spikes is known when
 * the writing thread has reached the mark. */
static vly_status mark_recordings(run_job *job, vly_error *error)
{
    run_checkpoint *checkpoint = run_checkpoint_state(job)->checkpoint;
    uint32_t n = 0;
    vly_status status = VLY_OK;
    if (run_output_state(job)->output.path) {
        VLY_TRY(run_record_mark(run_output_state(job)->record, error));
        checkpoint->recordings[n++] =
            (vly_recording){.kind = VLY_RECORDING_SPIKES,
                            .path = run_output_state(job)->output.growing,
                            .selection = run_resume_selection(job)};
    }
    checkpoint->given.n_counts = run_output_state(job)->counts.n;
    checkpoint->given.counts = run_counts_save(&run_output_state(job)->counts);
    if (run_output_state(job)->digests) {
        vly_digest_place place = {0};
        VLY_TRY(vly_digest_log_flush(run_output_state(job)->digests, &place,
                                     error));
        checkpoint->recordings[n++] =
            (vly_recording){.kind = VLY_RECORDING_DIGESTS,
                            .path = run_output_state(job)->digest_log,
                            .n_bytes = place.n_bytes,
                            .n_entries = vly_net_burst(job->net)};
    }
    if (run_weights_place(job, &checkpoint->recordings[n], &status, error)) {
        VLY_TRY(status);
        n++;
    }
    checkpoint->given.recordings = checkpoint->recordings;
    checkpoint->given.n_recordings = n;
    checkpoint->given.n_resumes = run_checkpoint_state(job)->n_resumes;
out:
    return status;
}

/* Is the thread idle? */
static vly_status take(run_job *job, vly_error *error)
{
    run_checkpoint *checkpoint = run_checkpoint_state(job)->checkpoint;
    vly_state *state = NULL;
    vly_status status = VLY_OK;
    checkpoint->begin_ns = vly_clock_ns();
    checkpoint->taken_burst = vly_net_burst(job->net);
    VLY_TRY(vly_net_snapshot(job->net, &state, error));
    status = mark_recordings(job, error);
    if (status != VLY_OK) {
        vly_state_destroy(state);
        goto out;
    }
    checkpoint->given.state = state;
    uint64_t spent = vly_clock_ns() - checkpoint->begin_ns;
    pthread_mutex_lock(&checkpoint->lock);
    if (checkpoint->counts.copy_ns < spent)
        checkpoint->counts.copy_ns = spent;
    checkpoint->busy = true;
    pthread_cond_broadcast(&checkpoint->changed);
    pthread_mutex_unlock(&checkpoint->lock);
out:
    return status;
}

/* Every failure is a line of the log; on stderr only the first of a series is
 * printed.
 */
static void tell_failure(run_job *job, const vly_error *error)
{
    run_checkpoint *checkpoint = run_checkpoint_state(job)->checkpoint;
    checkpoint->counts.n_failed++;
    if (!checkpoint->failing)
        tool_message("no checkpoint of burst %" PRIu64
                     ", the run continues: %s",
                     checkpoint->taken_burst, error->message);
    checkpoint->failing = true;
    run_folder_event(job, "no checkpoint", error->message);
}

static void tell_success(run_job *job, const checkpoint_counts *counts)
{
    char text[160];
    run_checkpoint_state(job)->checkpoint->failing = false;
    snprintf(
        text, sizeof text, "of burst %" PRIu64 ", %" PRIu64 " bytes, %.3g s",
        counts->last_burst, counts->n_bytes, (double)counts->write_ns * 1e-9);
    run_folder_event(job, "checkpoint", text);
}

/* Reads the result of the last checkpoint once; status VLY_OK also without one.
 * The thread's counts do not change meanwhile. */
static vly_status outcome(run_job *job, vly_error *error)
{
    run_checkpoint *checkpoint = run_checkpoint_state(job)->checkpoint;
    pthread_mutex_lock(&checkpoint->lock);
    bool news = !checkpoint->busy && !checkpoint->told;
    vly_error found = checkpoint->error;
    checkpoint_counts counts = checkpoint->counts;
    if (news)
        checkpoint->told = true;
    pthread_mutex_unlock(&checkpoint->lock);
    if (!news)
        return VLY_OK;
    if (found.status == VLY_OK)
        tell_success(job, &counts);
    else if (error)
        *error = found;
    return found.status;
}

static void wait_for_thread(run_checkpoint *checkpoint)
{
    pthread_mutex_lock(&checkpoint->lock);
    while (checkpoint->busy)
        pthread_cond_wait(&checkpoint->changed, &checkpoint->lock);
    pthread_mutex_unlock(&checkpoint->lock);
}

static bool is_busy(run_checkpoint *checkpoint)
{
    pthread_mutex_lock(&checkpoint->lock);
    bool busy = checkpoint->busy;
    pthread_mutex_unlock(&checkpoint->lock);
    return busy;
}

/* ---- in the loop ------------------------------------------------------- */

/* An overdue checkpoint, as after a fail-over, is taken after the next call. */
uint64_t run_checkpoint_due(const run_job *job)
{
    const run_checkpoint *checkpoint = run_checkpoint_state(job)->checkpoint;
    if (!checkpoint || checkpoint->next_burst <= vly_net_burst(job->net))
        return UINT64_MAX;
    return checkpoint->next_burst;
}

void run_checkpoint_look(run_job *job)
{
    run_checkpoint *checkpoint = run_checkpoint_state(job)->checkpoint;
    vly_error error = VLY_ERROR_INIT;
    if (!checkpoint)
        return;
    if (outcome(job, &error) != VLY_OK)
        tell_failure(job, &error);
    uint64_t burst = vly_net_burst(job->net);
    bool by_time =
        checkpoint->plan.every_ns != 0 && vly_clock_ns() >= checkpoint->next_ns;
    if (burst < checkpoint->next_burst && !by_time)
        return;
    set_next(checkpoint, burst);
    if (is_busy(checkpoint))
        checkpoint->counts.n_skipped++;
    else if (take(job, &error) != VLY_OK)
        tell_failure(job, &error);
}

vly_status run_checkpoint_now(run_job *job, vly_error *error)
{
    run_checkpoint *checkpoint = run_checkpoint_state(job)->checkpoint;
    vly_error why = VLY_ERROR_INIT;
    if (!checkpoint)
        return vly_fail(error, VLY_E_INVALID,
                        "the run has no file for checkpoints, wanted "
                        "--checkpoint FILE");
    wait_for_thread(checkpoint);
    if (outcome(job, &why) != VLY_OK)
        tell_failure(job, &why);
    vly_status status = take(job, &why);
    if (status == VLY_OK) {
        wait_for_thread(checkpoint);
        status = outcome(job, &why);
    }
    if (status == VLY_OK)
        return VLY_OK;
    checkpoint->counts.n_failed++; /* the client reports it */
    run_folder_event(job, "no checkpoint", why.message);
    return vly_fail(error, status, "%s", why.message);
}

void run_checkpoint_distrust(run_job *job, uint64_t burst, const char *from)
{
    run_checkpoint *checkpoint = run_checkpoint_state(job)->checkpoint;
    vly_error error = VLY_ERROR_INIT;
    if (!checkpoint)
        return;
    wait_for_thread(checkpoint);
    if (outcome(job, &error) != VLY_OK)
        tell_failure(job, &error);
    const checkpoint_counts *counts = &checkpoint->counts;
    if (counts->n_written == 0 || counts->last_burst <= burst)
        return;
    tool_message("%s (burst %" PRIu64 ") and older checkpoints after burst "
                 "%" PRIu64 " contain wrong results of %s: do not resume them",
                 checkpoint->plan.path, counts->last_burst, burst, from);
    /* if the run continues, a correct one replaces it at once */
    checkpoint->counts.last_burst = UINT64_MAX;
    checkpoint->next_burst = 0;
}

void run_checkpoint_end(run_job *job)
{
    run_checkpoint *checkpoint = run_checkpoint_state(job)->checkpoint;
    vly_error error = VLY_ERROR_INIT;
    if (!checkpoint)
        return;
    wait_for_thread(checkpoint);
    if (outcome(job, &error) != VLY_OK)
        tell_failure(job, &error);
    bool there = checkpoint->counts.last_burst == vly_net_burst(job->net);
    if (job->result.error.status != VLY_OK || there)
        return;
    if (run_checkpoint_now(job, &error) != VLY_OK)
        job->result.error = error;
}

/* ---- report ------------------------------------------------------------ */

static void print_written(const run_job *job)
{
    const run_checkpoint *checkpoint = run_checkpoint_state(job)->checkpoint;
    if (!checkpoint)
        return;
    const checkpoint_counts *counts = &checkpoint->counts;
    tool_print("checkpoints       %s written, %s skipped, %s failed",
               tool_thousands(counts->n_written),
               tool_thousands(counts->n_skipped),
               tool_thousands(counts->n_failed));
    if (counts->n_written > 0)
        tool_print("; the last after burst %s, %s, on disk in %s; the run "
                   "stood still for %s at most",
                   tool_thousands(counts->last_burst),
                   tool_bytes(counts->n_bytes),
                   tool_seconds((double)counts->write_ns * 1e-9),
                   tool_seconds((double)counts->copy_ns * 1e-9));
    tool_print("\n");
}

void run_checkpoint_print(const run_job *job)
{
    print_written(job);
    if (run_checkpoint_state(job)->resumed)
        tool_print("resumed           after burst %s from %s, %s\n",
                   tool_thousands(job->first_burst),
                   run_checkpoint_state(job)->plan.resume,
                   run_checkpoint_state(job)->n_resumes == 1 ? "the first time"
                                                             : "again");
}

void run_checkpoint_json(const run_job *job, json_writer *json)
{
    const run_checkpoint *checkpoint = run_checkpoint_state(job)->checkpoint;
    run_resume_json(job, json);
    if (!checkpoint) {
        json_text(json, "checkpoint", NULL);
        return;
    }
    const checkpoint_counts *counts = &checkpoint->counts;
    json_object(json, "checkpoint");
    json_text(json, "file", checkpoint->plan.path);
    json_u64(json, "written", counts->n_written);
    json_u64(json, "skipped", counts->n_skipped);
    json_u64(json, "failed", counts->n_failed);
    if (counts->n_written > 0) {
        json_u64(json, "last_burst", counts->last_burst);
        json_u64(json, "bytes", counts->n_bytes);
        json_number(json, "write_s", (double)counts->write_ns * 1e-9);
        json_number(json, "copy_s", (double)counts->copy_ns * 1e-9);
    }
    json_object_end(json);
}
