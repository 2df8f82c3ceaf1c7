/* SPDX-License-Identifier: Apache-2.0
 * A run: launches of many bursts, and the results read after each of them. A
 * launch has as many bursts as take LAUNCH_NS, so that a stop is seen soon.
 */
#include "cuda_run.h"

#include <string.h>

#include "cuda_done.h"
#include "cuda_error.h"
#include "cuda_history.h"
#include "cuda_input.h"
#include "cuda_linger.h"
#include "cuda_memory.h"
#include "cuda_modulator.h"
#include "cuda_net.h"
#include "cuda_plans.h"
#include "cuda_range.h"
#include "cuda_short.h"
#include "cuda_span.h"

#define FIRST_BURSTS 64u      /* before a launch has been timed */
#define LAUNCH_NS 50000000.0f /* 50 ms */
/* Ids of a recorded launch, in addition to room for a burst of all neurons: ids
 * of one launch are copied to the caller while the next one runs. Each launch
 * costs a gap of some 40 us, and the run waits for the copy of the last one. So
 * launches are long, except a short one at the end of a run. */
#define RECORD_LEAST (UINT64_C(1) << 19)
#ifndef RECORD_MOST
#define RECORD_MOST (UINT64_C(1) << 20)
#endif

/* ---- one launch -------------------------------------------------------- */

static vly_status reserve_areas(vly_cuda_shard *shard, vly_error *error)
{
    uint32_t n = shard->view.n_areas;
    vly_status status = VLY_OK;
    if (!shard->area_spikes)
        status = vly_cuda_device_alloc(shard, n, sizeof *shard->area_spikes,
                                       &shard->area_spikes, error);
    if (status == VLY_OK && !shard->area_spikes_at)
        status = vly_cuda_pinned_alloc(shard, n, sizeof *shard->area_spikes_at,
                                       &shard->area_spikes_at, error);
    if (status == VLY_OK && !shard->area_spikes_told)
        status = vly_cuda_alloc(shard, n, sizeof *shard->area_spikes_told,
                                &shard->area_spikes_told, error);
    return status;
}

/* Enqueues what comes before the bursts. */
static vly_status make_ready(vly_cuda_shard *shard, const vly_run *run,
                             uint64_t *input_from, vly_cuda_launch *launch,
                             vly_error *error)
{
    vly_status status =
        vly_cuda_inputs_send(shard, run, input_from, launch, error);
    if (status == VLY_OK)
        status = vly_cuda_history_clear(shard, launch->n_bursts, error);
    if (status == VLY_OK)
        status = vly_cuda_learning_prepare(shard, error);
    if (status == VLY_OK)
        status = vly_cuda_modulator_begin(shard, error);
    if (status == VLY_OK)
        status = vly_cuda_done_next(shard, error);
    if (status != VLY_OK)
        return status;
    launch->done = shard->done;
    if (shard->net->wanted.fault ==
        1) /* no memory has this address: the kernel fails */
        launch->done = (vly_cuda_done *)(uintptr_t)64;
    return VLY_OK;
}

/* The other devices of a span, and then all of them. */
static vly_status launch_span(vly_backend_net *net, const vly_run *run,
                              uint64_t input_from, vly_cuda_launch launch,
                              vly_error *error)
{
    vly_cuda_launch launches[VLY_CUDA_SPAN_DEVICES];
    vly_status status = VLY_OK;
    launches[0] = launch;
    for (uint32_t i = 1; i < net->n_shards && status == VLY_OK; i++) {
        uint64_t from = input_from;
        launches[i] = launch;
        status = vly_cuda_enter(net->shards[i].device, error);
        if (status == VLY_OK)
            status =
                make_ready(&net->shards[i], run, &from, &launches[i], error);
    }
    return status == VLY_OK ? vly_cuda_span_launch(net, launches, error)
                            : status;
}

/* Enqueues everything up to the end of the bursts; does not wait. */
static vly_status enqueue(vly_backend_net *net, const vly_run *run,
                          uint64_t *input_from, vly_cuda_launch *launch,
                          bool timed, vly_error *error)
{
    vly_cuda_shard *shard = &net->shards[0];
    cudaStream_t stream = (cudaStream_t)shard->stream;
    uint64_t from = *input_from;
    vly_status status = VLY_OK;
    VLY_TRY(make_ready(shard, run, input_from, launch, error));
    cudaError_t code = cudaSuccess;
    if (timed)
        code = cudaEventRecord((cudaEvent_t)shard->events[0], stream);
    if (net->n_shards > 1 && code == cudaSuccess)
        status = launch_span(net, run, from, *launch, error);
    else if (code == cudaSuccess)
        code = (cudaError_t)shard->plan->launch(shard, launch);
    if (status != VLY_OK)
        goto out;
    if (code == cudaSuccess && timed)
        code = cudaEventRecord((cudaEvent_t)shard->events[1], stream);
    if (code == cudaSuccess && vly_cuda_run_areas(run))
        code = vly_cuda_launch_count_areas(&shard->view, launch,
                                           shard->area_spikes, stream);
    status = vly_cuda_check((int)code, "running bursts", error);
    if (status == VLY_OK && vly_cuda_modulates(shard) &&
        !vly_cuda_ranks_wait(net))
        status = vly_cuda_modulator_end(shard, run, launch, error);
out:
    return status;
}

/* Copies done, records and spikes by area to the host; the device sorts spikes
 * while the host reads them. */
static vly_status finish_long(vly_cuda_shard *shard, const vly_run *run,
                              const vly_cuda_launch *launch, float *ms,
                              vly_error *error)
{
    cudaStream_t stream = (cudaStream_t)shard->stream;
    cudaEvent_t copied = (cudaEvent_t)shard->events[2];
    vly_status status = VLY_OK;
    cudaError_t code =
        cudaMemcpyAsync(shard->done_at, shard->done, sizeof *shard->done_at,
                        cudaMemcpyDeviceToHost, stream);
    if (code == cudaSuccess)
        code = (cudaError_t)vly_cuda_history_fetch(
            shard, launch->burst, launch->n_bursts, shard->records);
    if (code == cudaSuccess && vly_cuda_run_areas(run))
        code =
            cudaMemcpyAsync(shard->area_spikes_at, shard->area_spikes,
                            shard->view.n_areas * sizeof *shard->area_spikes_at,
                            cudaMemcpyDeviceToHost, stream);
    if (code == cudaSuccess)
        code = cudaEventRecord(copied, stream);
    if (code == cudaSuccess && (run->flags & VLY_RUN_RECORD) != 0)
        status = vly_cuda_history_sort(shard, launch->burst, launch->n_bursts,
                                       launch->head_limit - launch->head,
                                       run->spike_gains != NULL, error);
    if (status != VLY_OK)
        return status;
    if (code == cudaSuccess)
        code = cudaEventSynchronize(copied);
    if (code == cudaSuccess)
        code = cudaEventElapsedTime(ms, (cudaEvent_t)shard->events[0],
                                    (cudaEvent_t)shard->events[1]);
    return vly_cuda_check((int)code, "running bursts", error);
}

/* A launch and its results without spikes. *ms: its time; for a short launch as
 * measured by the host. */
static vly_status launch_bursts(vly_backend_net *net, const vly_run *run,
                                uint64_t *input_from, vly_cuda_launch *launch,
                                bool is_short, float *ms, vly_error *error)
{
    vly_cuda_shard *shard = &net->shards[0];
    uint64_t begin = vly_cuda_host->clock_ns(vly_cuda_host->context);
    vly_cuda_range_begin("volley launch");
    vly_cuda_short_forget(shard);
    vly_status status = VLY_OK;
    bool stays =
        is_short && vly_cuda_linger_fits(shard, run, *input_from, launch);
    if (!stays)
        status = enqueue(net, run, input_from, launch, !is_short, error);
    if (status == VLY_OK) /* spikes of the previous launch, while this one
                           * runs */
        status = vly_cuda_history_receive(shard, error);
    if (status == VLY_OK && stays)
        status = vly_cuda_linger_run(shard, run, input_from, launch, error);
    if (status == VLY_OK && is_short && !stays)
        status = vly_cuda_short_finish(shard, run, launch, error);
    else if (status == VLY_OK && !stays)
        status = finish_long(shard, run, launch, ms, error);
    if (status == VLY_OK && net->n_shards > 1)
        status = vly_cuda_span_collect(net, launch, error);
    if (is_short)
        *ms = (float)(vly_cuda_host->clock_ns(vly_cuda_host->context) - begin) *
              1e-6f;
    vly_cuda_range_end();
    return status;
}

static void choose_length(vly_backend_net *net, uint32_t n_bursts, float ms)
{
    if (net->wanted.n_bursts != 0)
        return;
    float wanted = LAUNCH_NS / (ms * 1e6f / (float)n_bursts + 1.0f);
    net->launch_bursts = wanted < (float)VLY_CUDA_LAUNCH_BURSTS
                             ? (uint32_t)wanted + 1
                             : VLY_CUDA_LAUNCH_BURSTS;
}

static void share_time(const vly_cuda_done *done, float ms, vly_run *run)
{
    float total = (float)(done->cycles[0] + done->cycles[1] + done->cycles[2]);
    float ns = total > 0.0f ? ms * 1e6f / total : 0.0f;
    run->delivery_ns += (uint64_t)(ns * (float)done->cycles[0]);
    run->dynamics_ns += (uint64_t)(ns * (float)done->cycles[1]);
    run->exchange_ns += (uint64_t)(ns * (float)done->cycles[2]);
}

static void add_areas(vly_cuda_shard *shard, const vly_run *run)
{
    uint64_t *area_spikes = vly_cuda_run_areas(run);
    for (uint32_t a = 0; area_spikes && a < shard->view.n_areas; a++) {
        area_spikes[a] += shard->area_spikes_at[a] - shard->area_spikes_told[a];
        shard->area_spikes_told[a] = shard->area_spikes_at[a];
    }
}

/* Stores the results of the bursts of a launch. */
static vly_status drain(vly_backend_net *net, uint32_t n_bursts, bool is_short,
                        vly_run *run, vly_error *error)
{
    vly_cuda_shard *shard = &net->shards[0];
    uint64_t n_spikes = 0;
    uint32_t *gains = run->spike_gains;
    vly_status status = VLY_OK;
    for (uint32_t i = 0; i < n_bursts; i++) {
        const vly_cuda_record *record = &shard->records[i];
        n_spikes += record->count;
        if (run->digests)
            run->digests[run->n_bursts_done + i] = record->digest;
        if (run->spike_counts)
            run->spike_counts[run->n_bursts_done + i] = record->count;
    }
    net->mean_spikes = (float)n_spikes / (float)n_bursts;
    add_areas(shard, run);
    if ((run->flags & VLY_RUN_RECORD) == 0)
        return VLY_OK;
    gains = gains ? gains + run->n_spikes : NULL;
    if (is_short && n_spikes > 0) {
        size_t bytes = (size_t)n_spikes * sizeof *gains;
        memcpy(run->spikes + run->n_spikes, shard->host.ids, bytes);
        if (gains)
            memcpy(gains, shard->host.ids + shard->host.room, bytes);
    } else {
        status = vly_cuda_history_send(
            shard, n_spikes, run->spikes + run->n_spikes, gains, error);
    }
    run->n_spikes += n_spikes;
    return status;
}

/* Number of spikes that the next launch of a recorded run may have: three
 * quarters of those expected in the remaining bursts. */
static uint64_t record_room(const vly_cuda_shard *shard, const vly_run *run,
                            uint64_t left)
{
    uint64_t room = run->spikes_capacity - run->n_spikes;
    double spikes = (double)shard->net->mean_spikes * (double)left;
    uint64_t most = spikes < (double)room ? (uint64_t)spikes : room;
    most -= most / 4;
    most = most > RECORD_LEAST ? most : RECORD_LEAST;
    most = most < RECORD_MOST ? most : RECORD_MOST;
    most += shard->net->desc->n_neurons;
    return most < room ? most : room;
}

static vly_cuda_launch next_launch(const vly_cuda_shard *shard,
                                   const vly_run *run)
{
    uint64_t left = run->n_bursts - run->n_bursts_done;
    bool record = (run->flags & VLY_RUN_RECORD) != 0;
    vly_cuda_launch launch = {
        .burst = shard->net->burst,
        .head = shard->head,
        .head_limit =
            record ? shard->head + record_room(shard, run, left) : UINT64_MAX,
        .n_bursts = left < shard->net->launch_bursts
                        ? (uint32_t)left
                        : shard->net->launch_bursts,
        .keep = record || vly_cuda_run_areas(run) || vly_cuda_modulates(shard),
    };
    launch.n_bursts = vly_cuda_modulator_bursts(shard, launch.n_bursts);
    if (run->stop && __atomic_load_n(run->stop, __ATOMIC_RELAXED) != 0)
        launch.n_bursts = 1;
    return launch;
}

/* The log was full too early: a larger log allows longer launches. */
static vly_status make_room_on(vly_cuda_shard *shard,
                               const vly_cuda_launch *launch, uint32_t n_bursts,
                               vly_error *error)
{
    uint32_t delay = shard->net->desc->max_delay;
    if (n_bursts > 0 &&
        (n_bursts == launch->n_bursts || !launch->keep ||
         shard->head + shard->net->desc->n_neurons > launch->head_limit))
        return VLY_OK;
    vly_cuda_settle(shard);
    if (n_bursts == 0)
        return vly_cuda_history_reserve(
            shard, shard->net->burst > delay ? shard->net->burst - delay : 0,
            shard->net->desc->n_neurons, error);
    vly_status status = vly_cuda_history_grow(shard, error);
    return status == VLY_E_NOMEM ? VLY_OK : status; /* the run continues with
                                                     * the present log */
}

static vly_status make_room(vly_backend_net *net, const vly_cuda_launch *launch,
                            uint32_t n_bursts, vly_error *error)
{
    vly_status status = VLY_OK;
    if (net->n_shards == 1)
        return make_room_on(&net->shards[0], launch, n_bursts, error);
    for (uint32_t i = net->n_shards; i-- > 0 && status == VLY_OK;) {
        status = vly_cuda_enter(net->shards[i].device, error);
        if (status == VLY_OK)
            status = make_room_on(&net->shards[i], launch, n_bursts, error);
    }
    return status;
}

/* *more: 0 if the record is full */
static vly_status run_launch(vly_backend_net *net, vly_run *run,
                             uint64_t *input_from, bool *more, vly_error *error)
{
    vly_cuda_shard *shard = &net->shards[0];
    vly_cuda_launch launch = next_launch(shard, run);
    float ms = 0.0f;
    *more = (run->flags & VLY_RUN_RECORD) == 0 ||
            run->spikes_capacity - run->n_spikes >= net->desc->n_neurons;
    if (!*more)
        return VLY_OK;
    vly_status status = VLY_OK;
    VLY_TRY(vly_cuda_run_areas(run) ? reserve_areas(shard, error) : VLY_OK);
    bool is_short = net->n_shards == 1 && !vly_cuda_modulates(shard) &&
                    vly_cuda_short_fits(shard, run, &launch);
    if (!is_short)
        vly_cuda_settle(shard);
    VLY_TRY(launch_bursts(net, run, input_from, &launch, is_short, &ms, error));
    const vly_cuda_done done = *shard->done_at;
    uint64_t time = vly_cuda_host->clock_ns(vly_cuda_host->context);
    if (done.n_bursts > 0) {
        vly_cuda_range_begin("volley drain");
        if (!is_short || launch.n_bursts == net->launch_bursts)
            choose_length(net, done.n_bursts, ms);
        share_time(&done, ms, run);
        run->n_events += done.n_events;
        run->n_candidates += done.n_candidates;
        status = drain(net, done.n_bursts, is_short, run, error);
        net->burst += done.n_bursts;
        for (uint32_t i = 0; i < net->n_shards; i++)
            net->shards[i].head = done.head;
        if (shard->plan->ran)
            shard->plan->ran(shard, done.n_bursts);
        run->n_bursts_done += done.n_bursts;
        vly_cuda_range_end();
    }
    if (status == VLY_OK)
        status = make_room(net, &launch, done.n_bursts, error);
    if (status == VLY_OK &&
        vly_cuda_plan_review(shard, done.n_bursts, done.n_events)) {
        vly_cuda_settle(shard);
        status = vly_cuda_plan_change(shard, error);
    }
    shard->linger.ended_ns = vly_cuda_host->clock_ns(vly_cuda_host->context);
    run->drain_ns += shard->linger.ended_ns - time;
out:
    return status;
}

vly_status vly_cuda_run_bursts(vly_backend_net *net, vly_run *run,
                               vly_error *error)
{
    vly_status status = VLY_OK;
    uint64_t input_from = 0;
    bool more = true;
    vly_common_run_begin(run);
    if (net->launch_bursts == 0)
        net->launch_bursts = FIRST_BURSTS;
    if (net->wanted.n_bursts != 0)
        net->launch_bursts = net->wanted.n_bursts < VLY_CUDA_LAUNCH_BURSTS
                                 ? net->wanted.n_bursts
                                 : VLY_CUDA_LAUNCH_BURSTS;
    while (status == VLY_OK && more && run->n_bursts_done < run->n_bursts) {
        status = run_launch(net, run, &input_from, &more, error);
        if (run->stop && run->n_bursts_done > 0 &&
            __atomic_load_n(run->stop, __ATOMIC_RELAXED) != 0)
            break;
    }
    uint64_t time = vly_cuda_host->clock_ns(vly_cuda_host->context);
    if (status == VLY_OK)
        status = vly_cuda_history_receive(&net->shards[0], error);
    run->drain_ns += vly_cuda_host->clock_ns(vly_cuda_host->context) - time;
    return status;
}
