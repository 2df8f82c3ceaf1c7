/* SPDX-License-Identifier: Apache-2.0
 * The burst loop: calls of the backend for a chunk of bursts each. A chunk ends
 * where dc changes, where the record buffer is full, and when a stop is
 * requested; results do not depend on its length.
 */
#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "base/random.h"
#include "base/thread.h"
#include "engine/engine.h"
#include "kernels/rules/rank_window.h"
#include "plugin/host_log.h"

/* ---- dc ---------------------------------------------------------------- */

/* Sums dc for the next burst and writes the columns that differ to the backend.
 */
static vly_status update_dc(vly_net *net, vly_error *error)
{
    const vly_connectome *connectome = net->connectome;
    vly_live change = {0};
    vly_error why = VLY_ERROR_INIT;
    bool lost = false;
    vly_status status = VLY_OK;
    VLY_TRY(vly_live_init(&change, connectome, error));
    for (uint32_t a = 0; a < connectome->desc.n_areas; a++)
        if (vly_live_has_dc(connectome, a))
            VLY_TRY(vly_live_make_columns(
                &change, connectome, net->live.overlay, a, net->burst, error));
    status = vly_live_apply(&change, &net->live, connectome,
                            net->device.backend, net->device.net, &lost, &why);
    if (status != VLY_OK) {
        status = vly_net_failed(net, status, lost, &why, error);
        goto out;
    }
    vly_live_commit(&change, &net->live);
    net->dc_next = vly_live_dc_next(connectome, net->burst);
out:
    vly_live_deinit(&change);
    return status;
}

/* ---- one chunk --------------------------------------------------------- */

/* Only spikes of FEAGI areas have gains of their own. */
static bool has_gains(const vly_net *net)
{
    const vly_net_desc *desc = &net->connectome->desc;
    for (uint32_t a = 0; a < desc->n_areas; a++)
        if ((desc->areas[a].flags & VLY_AREA_FEAGI) != 0)
            return true;
    return false;
}

static uint32_t window_of(const vly_net_desc *desc, uint32_t projection)
{
    const vly_projection_desc *p = &desc->projections[projection];
    const vly_learning_desc *learning = p->learning;
    const vly_area_desc *source = &desc->areas[p->source_area];
    const vly_area_desc *target = &desc->areas[p->target_area];
    const vly_ranks *to = desc->ranks;
    const uint32_t rank =
        vly_rank_of(to->first, to->n_ranks, source->first, source->n_neurons);
    const vly_rank_map map = {
        .base_delay = p->base_delay,
        .of_windows = learning && (learning->flags & VLY_LEARNING_WINDOW) != 0,
        .modulated = learning && learning->modulator.bursts != 0 &&
                     learning->modulator_area < desc->n_areas,
        .learns = learning != NULL,
        .short_term = p->short_term != NULL,
        .inside = rank < to->n_ranks &&
                  rank == vly_rank_of(to->first, to->n_ranks, target->first,
                                      target->n_neurons)};
    const char *why;
    return vly_rank_window(&map, &why);
}

/* Bursts for which a backend wants room at the same time: ranks do not exchange
 * spikes before they are needed. */
static uint64_t bursts_at_once(const vly_net_desc *desc)
{
    uint32_t n = desc->ranks ? VLY_RANK_WINDOW : 1;
    for (uint32_t p = 0; p < desc->n_projections && n > 1; p++) {
        const uint32_t window = window_of(desc, p);
        n = window < n ? window : n;
    }
    return n;
}

/* Room for the bursts of a window, in each of which all neurons may fire. It is
 * mapped only: a page takes memory once spikes come there. Where the system
 * refuses so much (a limit of addresses, no overcommit), windows are shorter,
 * with the same spikes. */
static vly_status reserve_spikes(vly_net *net, vly_error *error)
{
    vly_engine_buffers *buffers = &net->buffers;
    const vly_net_desc *desc = &net->connectome->desc;
    uint32_t *gains = NULL;
    if (buffers->spikes)
        return VLY_OK;
    for (uint64_t bursts = bursts_at_once(desc);; bursts /= 2) {
        const uint64_t n = bursts * desc->n_neurons + VLY_CHUNK_SPIKES;
        if (has_gains(net))
            gains = vly_malloc((size_t)n, sizeof *gains);
        if (gains || !has_gains(net))
            buffers->spikes = vly_malloc((size_t)n, sizeof *buffers->spikes);
        if (buffers->spikes) {
            buffers->spike_gains = gains;
            buffers->spikes_capacity = n;
            return VLY_OK;
        }
        vly_free(gains);
        gains = NULL;
        if (bursts == 1)
            return vly_fail_nomem(error, n * sizeof *buffers->spikes,
                                  "the record of spikes");
        vly_log_write(
            VLY_LOG_INFO, "volley",
            "no memory for the spikes of %llu bursts between exchanges of "
            "ranks: room for half as many is tried",
            (unsigned long long)bursts);
    }
}

/* Processes the results of the backend burst by burst. A callback that fails is
 * not called again; the net still processes the whole chunk, which has been
 * run. */
static vly_status account(vly_net *net, const vly_run *run, vly_error *error)
{
    const uint32_t *ids = run->spikes;
    vly_status status = VLY_OK;
    for (uint32_t a = 0; run->area_spikes && a < net->connectome->desc.n_areas;
         a++)
        net->area_spikes[a] += run->area_spikes[a];
    for (uint64_t t = 0; t < run->n_bursts_done; t++) {
        uint64_t burst = net->burst;
        uint32_t n_ids = run->spike_counts[t];
        uint64_t digest = run->digests[t];
        net->digest = vly_mix64(net->digest ^ digest);
        net->counters.spikes += n_ids;
        net->counters.squares += (uint64_t)n_ids * n_ids;
        net->burst++;
        if (ids && !run->area_spikes)
            vly_count_areas(&net->connectome->desc, ids, n_ids,
                            net->area_spikes);
        if (status == VLY_OK && net->on_spikes && !net->muted)
            status =
                net->on_spikes(net->on_spikes_arg, burst, ids, n_ids, digest);
        if (status == VLY_OK && net->on_bursts && !net->muted)
            status =
                net->on_bursts(net->on_bursts_arg, burst, NULL, n_ids, digest);
        if (ids && t + 1 == run->n_bursts_done) {
            net->fired = ids;
            net->n_fired = n_ids;
            net->fired_burst = net->burst;
        }
        if (ids)
            ids += n_ids;
    }
    if (status != VLY_OK)
        return vly_fail(error, status,
                        "a function called for every burst ended the run");
    return VLY_OK;
}

/* Memories look at every burst before the next one begins. If an allocation
 * fails there, the input that follows from the burst is lost: the net ends. */
static vly_status remember(vly_net *net, const vly_run *run, vly_error *error)
{
    vly_error why = VLY_ERROR_INIT;
    if (!net->memory || run->n_bursts_done == 0)
        return VLY_OK;
    const vly_memory_spikes spikes = {.ids = run->spikes,
                                      .gains = run->spike_gains,
                                      .n_ids = run->spike_counts[0],
                                      .burst = net->burst};
    vly_status status =
        vly_memory_net_step(net->memory, &spikes, &net->pending, &why);
    if (status != VLY_OK)
        status = vly_net_failed(net, status, true, &why, error);
    return status;
}

/* Whether spikes by area are wanted and the backend counts them. */
static bool counts_areas(const vly_net *net)
{
    return (net->count_areas || net->on_spikes) &&
           (net->device.backend->flags & VLY_BACKEND_AREA_SPIKES) != 0;
}

/* Chooses the number of bursts, and whether ids are requested: for a callback,
 * to count them if the backend does not, or to check its counts in its first
 * bursts.
 */
static uint64_t chunk_length(const vly_net *net, uint64_t left, bool *record)
{
    uint64_t n = left < VLY_CHUNK_BURSTS ? left : VLY_CHUNK_BURSTS;
    uint64_t dc = net->dc_next - net->burst;
    uint64_t unchecked = VLY_CHECK_BURSTS - net->device.n_checked;
    uint64_t keep = vly_failover_left(net);
    n = n < dc ? n : dc;
    n = n < keep || keep == 0 ? n : keep;
    if (net->memory) {
        *record = true;
        return 1;
    }
    *record = net->on_spikes || (net->count_areas && !counts_areas(net));
    if (!*record && net->count_areas && unchecked > 0) {
        *record = true;
        n = n < unchecked ? n : unchecked;
    }
    if (*record || !net->fired_asked || n < left)
        return n;
    /* the fired list will be read: the last burst alone is recorded */
    *record = n == 1;
    return n == 1 ? 1 : n - 1;
}

static vly_status run_device(vly_net *net, vly_run *run, vly_error *error)
{
    vly_error why = VLY_ERROR_INIT;
    vly_status status =
        net->device.backend->net_run(net->device.net, run, &why);
    if (status == VLY_OK)
        status = vly_backend_run_check(net, run, &why);
    if (status == VLY_OK && run->n_bursts_done == 0 &&
        (net->rerunning || __atomic_load_n(&net->stop, __ATOMIC_ACQUIRE) == 0))
        status = vly_fail(&why, VLY_E_DEVICE,
                          "backend %s did no burst and gave no reason",
                          net->device.name);
    if (status != VLY_OK)
        return vly_net_failed(net, status, true, &why, error);
    return VLY_OK;
}

static vly_status give_memory(vly_net *net, bool record, vly_run *run,
                              vly_error *error)
{
    vly_engine_buffers *buffers = &net->buffers;
    vly_status status = VLY_OK;
    if (record)
        VLY_TRY(reserve_spikes(net, error));
    run->inputs = buffers->inputs;
    run->modulations = buffers->modulations;
    run->n_modulations = buffers->n_modulations;
    run->stop = net->rerunning ? NULL : &net->stop;
    run->digests = buffers->digests;
    run->spike_counts = buffers->spike_counts;
    if (record) {
        run->flags = VLY_RUN_RECORD;
        run->spikes = buffers->spikes;
        run->spike_gains = buffers->spike_gains;
        run->spikes_capacity = buffers->spikes_capacity;
    }
    if (counts_areas(net)) {
        memset(buffers->area_spikes, 0,
               net->connectome->desc.n_areas * sizeof *buffers->area_spikes);
        run->area_spikes = buffers->area_spikes;
    }
out:
    return status;
}

static vly_status run_chunk(vly_net *net, uint64_t left, uint64_t *done,
                            vly_error *error)
{
    vly_run run = {.struct_size = sizeof run};
    bool record = false;
    vly_status status = VLY_OK;
    if (net->burst >= net->dc_next)
        VLY_TRY(update_dc(net, error));
    run.n_bursts = chunk_length(net, left, &record);
    VLY_TRY(vly_net_inputs(net, run.n_bursts, &run.n_inputs, error));
    VLY_TRY(give_memory(net, record, &run, error));
    VLY_TRY(run_device(net, &run, error));
    net->counters.events += run.n_events;
    net->counters.candidates += run.n_candidates;
    net->delivery_ns += run.delivery_ns;
    net->dynamics_ns += run.dynamics_ns;
    net->exchange_ns += run.exchange_ns;
    net->drain_ns += run.drain_ns;
    if (record && net->device.n_checked < VLY_CHECK_BURSTS) {
        uint64_t checked = net->device.n_checked + run.n_bursts_done;
        net->device.n_checked =
            checked < VLY_CHECK_BURSTS ? (uint32_t)checked : VLY_CHECK_BURSTS;
    }
    VLY_TRY(remember(net, &run, error));
    *done = run.n_bursts_done; /* a fail-over does the others again */
    status = account(net, &run, error);
    vly_pending_drop(&net->pending, net->burst);
out:
    return status;
}

/* ---- the run ----------------------------------------------------------- */

static vly_status run_all(vly_net *net, uint64_t n_bursts, vly_error *error)
{
    uint64_t left = n_bursts;
    for (;;) {
        uint64_t done = 0;
        vly_status status = VLY_OK;
        /* reset here only, so that a stop between two runs is not lost */
        if (__atomic_exchange_n(&net->stop, 0u, __ATOMIC_ACQ_REL) != 0)
            return vly_fail(error, VLY_E_STOPPED,
                            "stopped with %llu bursts done, %llu of this run "
                            "left",
                            (unsigned long long)net->burst,
                            (unsigned long long)left);
        if (left == 0)
            return VLY_OK;
        if (vly_failover_left(net) == 0)
            status = vly_failover_keep(net, error);
        if (status == VLY_OK)
            status = run_chunk(net, left, &done, error);
        if (status != VLY_OK && !vly_failover_again(net, &status, error))
            return status;
        left -= done;
    }
}

vly_status vly_net_rerun(vly_net *net, uint64_t until, vly_error *error)
{
    vly_status status = VLY_OK;
    net->running = true;
    net->rerunning = true;
    while (net->burst < until) {
        uint64_t done = 0;
        VLY_TRY(run_chunk(net, until - net->burst, &done, error));
    }
out:
    net->rerunning = false;
    net->running = false;
    return status;
}

vly_status vly_net_run(vly_net *net, uint64_t n_bursts, vly_error *error)
{
    vly_status status = VLY_OK;
    VLY_TRY(vly_net_alive(net, error));
    if (n_bursts > UINT64_MAX - 1 - net->burst)
        return vly_fail(error, VLY_E_INVALID,
                        "%llu bursts after burst %llu do not fit in 64 bits",
                        (unsigned long long)n_bursts,
                        (unsigned long long)net->burst);
    uint64_t start = vly_clock_ns();
    net->running = true;
    status = run_all(net, n_bursts, error);
    net->running = false;
    net->run_ns += vly_clock_ns() - start;
out:
    return status;
}

/* ---- the last burst ---------------------------------------------------- */

static vly_status read_fired(vly_net *net, const uint32_t **ids,
                             uint32_t *n_ids, vly_error *error)
{
    static const uint32_t none[1] = {0};
    vly_snapshot snapshot = {0};
    vly_error why = VLY_ERROR_INIT;
    vly_status status = vly_net_alive(net, error);
    if (status != VLY_OK)
        goto out;
    if (net->burst != 0 && net->fired_burst != net->burst) {
        status = vly_snapshot_take(net, &snapshot, &why);
        if (status != VLY_OK) {
            status = vly_net_failed(net, status, false, &why, error);
            goto out;
        }
        uint64_t first = snapshot.n_fired_bursts == 0
                             ? snapshot.n_fired
                             : snapshot.fired_row[snapshot.n_fired_bursts - 1];
        uint32_t n = (uint32_t)(snapshot.n_fired - first);
        memmove(snapshot.fired, snapshot.fired + first,
                n * sizeof *snapshot.fired);
        vly_free(net->fired_own);
        net->fired_own = snapshot.fired;
        snapshot.fired = NULL;
        net->fired = net->fired_own;
        net->n_fired = n;
        net->fired_burst = net->burst;
    }
    /* the next runs record their last burst: no snapshot is needed then */
    net->fired_asked = true;
    *ids = net->burst != 0 ? net->fired : none;
    *n_ids = net->burst != 0 ? net->n_fired : 0;
out:
    vly_snapshot_release(&snapshot);
    return status;
}

vly_status vly_net_fired(vly_net *net, const uint32_t **ids, uint32_t *n_ids,
                         vly_error *error)
{
    vly_status status = VLY_OK;
    do
        status = read_fired(net, ids, n_ids, error);
    while (vly_failover_again(net, &status, error));
    return status;
}
