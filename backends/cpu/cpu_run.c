/* SPDX-License-Identifier: Apache-2.0
 * The burst loop. Every thread runs it over its own slices, one of them if all
 * threads run; the last one at the barrier joins the fired sets and decides
 * whether another burst follows.
 */
#include "cpu_net.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "cpu_barrier.h"
#include "cpu_learning.h"
#include "cpu_ranks.h"
#include "cpu_short_term.h"

#define SPINS 4000u /* some 50 us */

typedef struct run_job {
    vly_backend_net *net;
    vly_run *run;
    vly_error *error;
    uint64_t input_low; /* inputs of the burst to come */
    uint64_t input_high;
    uint64_t until;     /* n_bursts_done at which the threads return */
    uint32_t n_threads; /* that run */
    vly_status status;
    uint32_t go; /* 1: another burst */
    vly_cpu_barrier barrier;
} run_job;

static void find_inputs(run_job *job)
{
    const vly_run *run = job->run;
    uint64_t i = job->input_high;
    while (i < run->n_inputs && run->inputs[i].burst < job->net->burst)
        i++;
    job->input_low = i;
    while (i < run->n_inputs && run->inputs[i].burst == job->net->burst)
        i++;
    job->input_high = i;
}

/* Whether one more burst may run: a burst that was begun is finished, so
 * there must be room for all its spikes. */
static uint32_t may_go_on(const run_job *job)
{
    const vly_run *run = job->run;
    if (job->status != VLY_OK || run->n_bursts_done == job->until)
        return 0;
    if (run->n_bursts_done > 0 && job->net->ranks.all.to)
        return vly_common_ranks_go_on(&job->net->ranks.all, job->net->burst,
                                      run);
    if (run->n_bursts_done > 0 && vly_common_run_stopped(run))
        return 0;
    return (uint32_t)vly_common_run_has_room(job->net->desc, run);
}

void vly_cpu_give(const vly_backend_net *net, const vly_cpu_fired *fired,
                  uint64_t digest, uint64_t at, vly_run *run)
{
    uint64_t *areas = vly_common_run_areas(run);
    const size_t bytes = fired->total * sizeof *fired->ids;
    for (uint32_t a = 0; areas && a < net->n_areas; a++)
        areas[a] += fired->row[a + 1] - fired->row[a];
    if (run->digests)
        run->digests[at] = digest;
    if (run->spike_counts)
        run->spike_counts[at] = fired->total;
    if ((run->flags & VLY_RUN_RECORD) == 0)
        return;
    memcpy(run->spikes + run->n_spikes, fired->ids, bytes);
    if (run->spike_gains)
        memcpy(run->spike_gains + run->n_spikes, fired->gains, bytes);
    run->n_spikes += fired->total;
}

/* Joins the parts of all threads, which ascend with the threads. */
static vly_status join_fired(vly_backend_net *net, vly_run *run,
                             vly_error *error)
{
    vly_cpu_fired all = {.total = 0};
    uint64_t digest = 0;
    uint32_t at = 0;
    vly_status status = VLY_OK;
    for (uint32_t j = 0; j < net->n_threads; j++) {
        all.total += net->threads[j].n_fired;
        digest += net->threads[j].digest;
    }
    VLY_TRY(vly_cpu_history_push(net, all.total, &all.ids, &all.gains, &all.row,
                                 error));
    memset(all.row, 0, (net->n_areas + 1) * sizeof *all.row);
    for (uint32_t j = 0; j < net->n_threads; j++) {
        const vly_cpu_thread *thread = &net->threads[j];
        size_t bytes = thread->n_fired * sizeof *all.ids;
        memcpy(all.ids + at, thread->fired, bytes);
        memcpy(all.gains + at, thread->gains, bytes);
        at += thread->n_fired;
        for (uint32_t a = 0; a < net->n_areas; a++)
            all.row[a + 1] += thread->area_end[a];
    }
    vly_cpu_give(net, &all, digest, run->n_bursts_done, run);
out:
    return status;
}

static void end_burst(void *arg)
{
    run_job *job = arg;
    vly_backend_net *net = job->net;
    vly_run *run = job->run;
    vly_cpu_learning_arrived(net);
    job->status = net->ranks.all.to
                      ? vly_cpu_ranks_end_burst(net, run, job->error)
                      : join_fired(net, run, job->error);
    vly_cpu_modulators_end(net, run);
    run->n_bursts_done++;
    net->burst++;
    vly_cpu_windows_fired(net);
    for (uint32_t a = 0; a < net->n_areas; a++) {
        vly_cpu_area *area = &net->areas[a];
        area->now = area->now + 1 < area->ring ? area->now + 1 : 0;
    }
    vly_cpu_short_term_next(net);
    find_inputs(job);
    job->go = may_go_on(job);
}

/* Input of the burst to one slice. */
static void deliver(const run_job *job, vly_cpu_thread *slice)
{
    vly_backend_net *net = job->net;
    vly_cpu_learning_begin(net, slice);
    vly_cpu_short_term_begin(net, slice);
    vly_cpu_deliver(net, slice);
    if (job->input_low < job->input_high)
        vly_cpu_deliver_inputs(net, slice, job->run->inputs + job->input_low,
                               job->input_high - job->input_low);
}

static void run_task(void *arg, uint32_t task)
{
    run_job *job = arg;
    vly_backend_net *net = job->net;
    vly_cpu_thread *slices = net->threads + net->first_own;
    /* neighbours: rows of a source are read in one piece */
    const uint32_t first =
        (uint32_t)((uint64_t)net->n_own * task / job->n_threads);
    const uint32_t end =
        (uint32_t)((uint64_t)net->n_own * (task + 1) / job->n_threads);
    void *context = vly_support_host->context;
    uint64_t time = vly_support_host->clock_ns(context);
    do {
        for (uint32_t j = first; j < end; j++)
            deliver(job, &slices[j]);
        uint64_t delivered = vly_support_host->clock_ns(context);
        for (uint32_t j = first; j < end; j++)
            vly_cpu_dynamics(net, &slices[j]);
        uint64_t updated = vly_support_host->clock_ns(context);
        vly_cpu_barrier_wait(&job->barrier, end_burst, job);
        uint64_t after = vly_support_host->clock_ns(context);
        slices[first].delivery_ns += delivered - time;
        slices[first].dynamics_ns += updated - delivered;
        slices[first].exchange_ns += after - updated;
        time = after;
    } while (job->go);
}

static void sum_threads(vly_backend_net *net, vly_run *run)
{
    run->n_events = net->ranks.all.n_events; /* 0 without ranks */
    run->n_candidates = net->ranks.all.n_candidates;
    for (uint32_t j = 0; j < net->n_threads; j++) {
        run->n_events += net->threads[j].n_events;
        run->n_candidates += net->threads[j].n_candidates;
        net->threads[j].n_events = 0;
        net->threads[j].n_candidates = 0;
    }
    /* of one thread: with the waiting they add up to the time of the run */
    vly_cpu_thread *thread = &net->threads[net->first_own];
    run->delivery_ns += thread->delivery_ns;
    run->dynamics_ns += thread->dynamics_ns;
    run->exchange_ns += thread->exchange_ns;
    thread->delivery_ns = 0;
    thread->dynamics_ns = 0;
    thread->exchange_ns = 0;
}

/* Bursts up to job->until, or fewer: room, a stop, an error. */
static vly_status run_threads(run_job *job, uint32_t n_threads)
{
    job->n_threads = n_threads;
    job->barrier.n_threads = n_threads;
    if (n_threads == 1) {
        run_task(job, 0);
        return VLY_OK;
    }
    const long cores = sysconf(_SC_NPROCESSORS_ONLN);
    job->barrier.n_spins = cores >= (long)n_threads ? SPINS : 16;
    return vly_support_host->parallel_for(vly_support_host->context, n_threads,
                                          run_task, job);
}

/* From now on one thread runs all slices. */
static void go_on_alone(vly_backend_net *net, uint32_t n_threads)
{
    char text[96];
    snprintf(text, sizeof text,
             "%u threads could not be started, the net goes on with one",
             n_threads);
    vly_support_host->log(vly_support_host->context, VLY_LOG_WARN, text);
    vly_cpu_tuner_init(&net->tuner, 1);
}

/* A block of bursts, with as many threads as are to be tried. */
static void run_tuned(run_job *job)
{
    vly_backend_net *net = job->net;
    vly_run *run = job->run;
    const uint64_t done = run->n_bursts_done;
    uint64_t n_bursts = run->n_bursts - done;
    const uint32_t n_threads = vly_cpu_tuner_next(&net->tuner, &n_bursts);
    if (net->ranks.all.to)
        n_bursts = vly_common_ranks_whole(&net->ranks.all, run, n_bursts);
    job->until = done + n_bursts;
    uint64_t begin = vly_support_host->clock_ns(vly_support_host->context);
    vly_status status = run_threads(job, n_threads);
    uint64_t end = vly_support_host->clock_ns(vly_support_host->context);
    if (status != VLY_OK)
        go_on_alone(net, n_threads);
    else
        vly_cpu_tuner_took(&net->tuner, run->n_bursts_done - done, end - begin);
}

vly_status vly_cpu_net_run(vly_backend_net *net, vly_run *run, vly_error *error)
{
    vly_status status = VLY_OK;
    VLY_TRY(vly_common_check_run(net->desc, net->failed, run, error));
    run_job job = {
        .net = net, .run = run, .error = error, .until = run->n_bursts};
    run->n_bursts_done = 0;
    run->n_spikes = 0;
    if (net->ranks.all.to)
        vly_common_ranks_begin(&net->ranks.all, net->burst, run);
    find_inputs(&job);
    if (net->tuner.n_choices == 0 && may_go_on(&job))
        status = run_threads(&job, net->n_own);
    while (net->tuner.n_choices != 0 && may_go_on(&job)) {
        run_tuned(&job);
        job.until = run->n_bursts;
    }
    if (status != VLY_OK)
        vly_support_fail(error, status, "%u threads could not be started",
                         net->n_own);
    else
        status = job.status;
    sum_threads(net, run);
    net->failed = status;
out:
    return status;
}
