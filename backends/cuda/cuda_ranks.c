/* SPDX-License-Identifier: Apache-2.0
 * The windows of ranks: see cuda_ranks.h.
 */
#include "cuda_ranks.h"

#include <string.h>

#include "cuda_device.h"
#include "cuda_error.h"
#include "cuda_history.h"
#include "cuda_memory.h"
#include "cuda_modulator.h"
#include "cuda_run.h"

vly_status vly_cuda_ranks_create(vly_backend_net *net,
                                 const vly_snapshot *snapshot, vly_error *error)
{
    vly_cuda_rank_net *r = &net->ranks;
    vly_cuda_shard *shard = &net->shards[0];
    const uint64_t first = snapshot->burst - snapshot->n_fired_bursts;
    vly_status status = VLY_OK;
    VLY_TRY(vly_common_ranks_create(&r->all, &net->heap, net->desc, error));
    if (!r->all.to)
        return VLY_OK;
    const uint64_t n = vly_common_power_of_two((uint64_t)net->desc->max_delay +
                                               r->all.most + 1);
    VLY_TRY(
        vly_common_alloc(&net->heap, n, sizeof *r->starts, &r->starts, error));
    VLY_TRY(vly_common_alloc(&net->heap, r->all.most, sizeof *r->digests,
                             &r->digests, error));
    VLY_TRY(vly_common_alloc(&net->heap, r->all.most, sizeof *r->counts,
                             &r->counts, error));
    VLY_TRY(vly_cuda_pinned_alloc(shard, r->all.most, sizeof *r->records,
                                  &r->records, error));
    r->mask = (uint32_t)(n - 1);
    for (uint32_t j = 0; j < snapshot->n_fired_bursts; j++)
        r->starts[(first + j) & r->mask] = snapshot->fired_row[j];
out:
    return status;
}

/* ---- this rank's part of a window --------------------------------------- */

/* The host's input of the window's bursts to this rank's neurons. */
static vly_status find_inputs(vly_backend_net *net, const vly_run *run,
                              vly_run *own, vly_error *error)
{
    vly_cuda_rank_net *r = &net->ranks;
    const vly_cuda_view *view = &net->shards[0].view;
    uint64_t from = r->input_from;
    uint64_t end;
    uint64_t n = 0;
    vly_status status = VLY_OK;
    while (from < run->n_inputs && run->inputs[from].burst < net->burst)
        from++;
    for (end = from; end < run->n_inputs; end++) {
        if (run->inputs[end].burst >= r->all.end)
            break;
        n += run->inputs[end].neuron - view->own_first < view->n_own;
    }
    r->input_from = from;
    if (n > r->input_room) {
        vly_common_release(&net->heap, r->inputs);
        r->inputs = NULL;
        r->input_room = 0;
        VLY_TRY(vly_common_alloc(&net->heap, 2 * n, sizeof *r->inputs,
                                 &r->inputs, error));
        r->input_room = 2 * n;
    }
    own->inputs = r->inputs;
    own->n_inputs = n;
    for (n = 0; from < end; from++)
        if (run->inputs[from].neuron - view->own_first < view->n_own)
            r->inputs[n++] = run->inputs[from];
out:
    return status;
}

/* Bursts up to the end of the window, or fewer where there is no room for their
 * spikes; they are kept. */
static vly_status run_some(vly_backend_net *net, const vly_run *run,
                           vly_run *own, vly_error *error)
{
    vly_cuda_rank_net *r = &net->ranks;
    vly_common_rank_net *all = &r->all;
    const uint32_t done = all->n_kept;
    vly_status status = VLY_OK;
    VLY_TRY(vly_common_ranks_reserve(all, all->n_ids + net->desc->n_neurons,
                                     error));
    VLY_TRY(find_inputs(net, run, own, error));
    own->flags = VLY_RUN_RECORD;
    own->modulations = run->modulations;
    own->n_modulations = run->n_modulations;
    own->n_bursts = all->end - net->burst;
    own->digests = r->digests + done;
    own->spike_counts = r->counts + done;
    own->spikes = all->ids + all->n_ids;
    own->spike_gains = all->has_gains ? all->gains + all->n_ids : NULL;
    own->spikes_capacity = all->capacity - all->n_ids;
    VLY_TRY(vly_cuda_run_bursts(net, own, error));
    for (uint64_t k = 0; k < own->n_bursts_done; k++) {
        uint32_t *ids;
        uint32_t *gains;
        VLY_TRY(vly_common_ranks_keep(all, r->counts[done + k],
                                      r->digests[done + k], &ids, &gains,
                                      error));
    }
out:
    return status;
}

static vly_status run_own(vly_backend_net *net, vly_run *run,
                          vly_common_rank_work *work, vly_error *error)
{
    vly_status status = VLY_OK;
    while (net->burst < net->ranks.all.end && status == VLY_OK) {
        vly_run own = {.struct_size = sizeof own};
        /* what ran before a failure counts */
        status = run_some(net, run, &own, error);
        work->n_events += own.n_events;
        work->n_candidates += own.n_candidates;
        run->delivery_ns += own.delivery_ns;
        run->dynamics_ns += own.dynamics_ns;
        run->exchange_ns += own.exchange_ns;
        run->drain_ns += own.drain_ns;
    }
    return status;
}

/* ---- the spikes of all ranks -------------------------------------------- */

/* Pinned memory for so many spikes; the first n stay. */
static vly_status reserve(vly_backend_net *net, uint64_t n, uint64_t wanted,
                          vly_error *error)
{
    vly_cuda_rank_net *r = &net->ranks;
    vly_cuda_shard *shard = &net->shards[0];
    const uint64_t room = vly_common_power_of_two(wanted + 1024);
    uint32_t *made[2] = {NULL, NULL};
    vly_status status = VLY_OK;
    if (wanted <= r->room)
        return VLY_OK;
    for (uint32_t i = 0; i < 2; i++)
        VLY_TRY(
            vly_cuda_pinned_alloc(shard, room, sizeof **made, &made[i], error));
    for (uint32_t i = 0; i < 2; i++) {
        if (n > 0)
            memcpy(made[i], r->spikes[i], (size_t)n * sizeof **made);
        vly_cuda_device_release(shard, r->spikes[i]);
        r->spikes[i] = made[i];
        made[i] = NULL;
    }
    r->room = room;
out:
    vly_cuda_device_release(shard, made[0]);
    return status;
}

static void count_areas(const vly_backend_net *net, const uint32_t *ids,
                        uint32_t n, uint64_t *area_spikes)
{
    uint32_t i = 0;
    for (uint32_t a = 0; a < net->desc->n_areas && i < n; a++) {
        const vly_area_desc *area = vly_cuda_area_desc(net->desc, a);
        const uint32_t before = i;
        while (i < n && ids[i] - area->first < area->n_neurons)
            i++;
        area_spikes[a] += i - before;
    }
}

/* Gives the caller the spikes of one burst. */
static void give(const vly_backend_net *net, const vly_cuda_record *record,
                 uint64_t at, vly_run *run)
{
    const uint32_t *ids = net->ranks.spikes[0] + at;
    const uint32_t *gains = net->ranks.spikes[1] + at;
    const size_t bytes = record->count * sizeof *ids;
    uint64_t *area_spikes = vly_cuda_run_areas(run);
    if (area_spikes)
        count_areas(net, ids, record->count, area_spikes);
    if (run->digests)
        run->digests[run->n_bursts_done] = record->digest;
    if (run->spike_counts)
        run->spike_counts[run->n_bursts_done] = record->count;
    run->n_bursts_done++;
    if ((run->flags & VLY_RUN_RECORD) == 0 || bytes == 0)
        return;
    memcpy(run->spikes + run->n_spikes, ids, bytes);
    if (run->spike_gains && net->ranks.all.has_gains)
        memcpy(run->spike_gains + run->n_spikes, gains, bytes);
    else if (run->spike_gains)
        for (uint32_t i = 0; i < record->count; i++)
            run->spike_gains[run->n_spikes + i] = UINT32_C(1)
                                                  << net->desc->feagi_q;
    run->n_spikes += record->count;
}

/* Burst k of the window, whose spikes follow the *n of earlier ones. */
static vly_status read_burst(vly_backend_net *net, uint32_t k, uint64_t head,
                             uint64_t *n, vly_run *run, vly_error *error)
{
    vly_cuda_rank_net *r = &net->ranks;
    vly_cuda_record record = {.start = head + *n};
    uint64_t at = *n;
    vly_status status = VLY_OK;
    VLY_TRY(
        vly_common_ranks_open(&r->all, &record.count, &record.digest, error));
    VLY_TRY(reserve(net, at, at + record.count, error));
    for (uint32_t rank = 0; rank < r->all.to->n_ranks; rank++) {
        VLY_TRY(vly_common_ranks_take(
            &r->all, rank, r->spikes[0] + at,
            r->all.has_gains ? r->spikes[1] + at : NULL, error));
        at += r->all.reader[rank].n_fired;
    }
    r->records[k] = record;
    give(net, &record, *n, run);
    *n = at;
out:
    return status;
}

/* What projections that learn make of other ranks' spikes, which are in the
 * log of the device. */
static vly_status learn(vly_backend_net *net, uint32_t n_bursts,
                        const vly_run *run, vly_error *error)
{
    vly_cuda_shard *shard = &net->shards[0];
    const vly_cuda_launch launch = {.burst = net->burst - n_bursts,
                                    .n_bursts = n_bursts,
                                    .done = shard->done};
    vly_status status = VLY_OK;
    if (shard->plastic.view.n == 0)
        return VLY_OK;
    VLY_TRY(vly_cuda_check((int)vly_cuda_launch_taken(
                               &shard->view, &shard->plastic.view, launch.burst,
                               n_bursts, (cudaStream_t)shard->stream),
                           "traces of other ranks", error));
    if (vly_cuda_modulates(shard) && vly_cuda_ranks_wait(net))
        VLY_TRY(vly_cuda_modulator_end(shard, run, &launch, error));
out:
    return status;
}

/* The n spikes of the window's n_bursts bursts, for the device. */
static vly_status send(vly_backend_net *net, uint32_t n_bursts, uint64_t head,
                       uint64_t n, vly_error *error)
{
    vly_cuda_rank_net *r = &net->ranks;
    vly_cuda_shard *shard = &net->shards[0];
    const uint64_t first = net->burst - n_bursts;
    const uint32_t delay = net->desc->max_delay;
    const uint64_t oldest = net->burst > delay ? net->burst - delay : 0;
    uint64_t from = head;
    vly_status status = VLY_OK;
    if (oldest < first)
        from = r->starts[oldest & r->mask];
    for (uint32_t k = 0; k < n_bursts; k++)
        r->starts[(first + k) & r->mask] = r->records[k].start;
    shard->head = head; /* this rank's own spikes are on the host */
    if (head + n - from > shard->view.log_mask + 1)
        VLY_TRY(vly_cuda_history_move(shard, from, n, error));
    VLY_TRY(vly_cuda_check(
        (int)vly_cuda_launch_take(&shard->view, first, n_bursts, r->records,
                                  head, n, r->spikes[0],
                                  r->all.has_gains ? r->spikes[1] : NULL,
                                  (cudaStream_t)shard->stream),
        "spikes of other ranks", error));
    shard->head = head + n;
out:
    return status;
}

static vly_status run_window(vly_backend_net *net, vly_run *run,
                             vly_common_rank_work *work, vly_error *error)
{
    vly_common_rank_net *all = &net->ranks.all;
    const uint64_t head = net->shards[0].head;
    const vly_host *host = vly_cuda_host;
    uint64_t n = 0;
    vly_status status = run_own(net, run, work, error);
    const uint64_t begin = host->clock_ns(host->context);
    const uint32_t n_bursts = all->n_kept;
    if (status != VLY_OK)
        vly_common_ranks_fail(all, status);
    VLY_TRY(status);
    VLY_TRY(vly_common_ranks_exchange(all, run, work, error));
    for (uint32_t k = 0; k < n_bursts; k++)
        VLY_TRY(read_burst(net, k, head, &n, run, error));
    VLY_TRY(vly_common_ranks_close(all, error));
    VLY_TRY(send(net, n_bursts, head, n, error));
    VLY_TRY(learn(net, n_bursts, run, error));
    run->exchange_ns += host->clock_ns(host->context) - begin;
out:
    return status;
}

static vly_status run_windows(vly_backend_net *net, vly_run *run,
                              vly_error *error)
{
    vly_common_rank_net *all = &net->ranks.all;
    vly_common_rank_work work = {.n_events = 0};
    vly_status status = VLY_OK;
    vly_common_run_begin(run);
    net->ranks.input_from = 0;
    vly_common_ranks_begin(all, net->burst, run);
    bool more = vly_common_run_has_room(net->desc, run);
    while (status == VLY_OK && more && run->n_bursts_done < run->n_bursts) {
        status = run_window(net, run, &work, error);
        more = run->n_bursts_done < run->n_bursts &&
               vly_common_ranks_go_on(all, net->burst, run);
    }
    run->n_events = work.n_events + all->n_events;
    run->n_candidates = work.n_candidates + all->n_candidates;
    return status;
}

vly_status vly_cuda_net_run(vly_backend_net *net, vly_run *run,
                            vly_error *error)
{
    vly_status status = VLY_OK;
    VLY_TRY(vly_common_check_run(net->desc, net->failed, run, error));
    VLY_TRY(vly_cuda_enter(net->shards[0].device, error));
    status = net->ranks.all.to ? run_windows(net, run, error)
                               : vly_cuda_run_bursts(net, run, error);
    net->failed = status;
out:
    return status;
}

/* ---- state -------------------------------------------------------------- */

typedef struct whole_state {
    const vly_common_rank_net *all;
    const vly_cuda_shard *shard;
    uint32_t *words;
} whole_state;

static void move(void *arg, uint32_t rank, vly_common_words *w)
{
    const whole_state *state = arg;
    vly_common_move_state(state->all, rank, state->words, w);
    vly_cuda_learning_move(state->shard, rank, w);
}

vly_status vly_cuda_ranks_refresh(vly_backend_net *net, vly_error *error)
{
    vly_cuda_shard *shard = &net->shards[0];
    vly_common_rank_net *all = &net->ranks.all;
    const uint64_t bytes = shard->n_state_words * sizeof(uint32_t);
    whole_state state = {.all = all, .shard = shard};
    vly_status status = VLY_OK;
    if (!all->to || !all->stale)
        return VLY_OK;
    VLY_TRY(vly_cuda_learning_flush(shard, error));
    VLY_TRY(vly_cuda_learning_fetch(shard, error));
    VLY_TRY(vly_cuda_alloc(shard, shard->n_state_words, sizeof *state.words,
                           &state.words, error));
    VLY_TRY(vly_cuda_download(shard, state.words, shard->state, bytes, error));
    VLY_TRY(vly_common_ranks_refresh(all, net->burst, move, &state, error));
    VLY_TRY(vly_cuda_upload(shard, shard->state, state.words, bytes, error));
out:
    vly_cuda_release(shard, state.words);
    return status;
}
