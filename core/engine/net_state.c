/* SPDX-License-Identifier: Apache-2.0
 * The canonical state of a net: taken, restored, moved to another backend. A
 * backend has no slot to restore a state: a new net is made from it with the
 * connectome's parameters, and then receives all changed parameters. The old
 * net is destroyed only after the new one is complete.
 */
#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "base/random.h"
#include "base/thread.h"
#include "connectome/connectome_digest.h"
#include "engine/engine.h"

static vly_status copy_area_spikes(const uint64_t *from, uint32_t n,
                                   uint64_t **to, vly_error *error)
{
    uint64_t *made = vly_calloc(n, sizeof *made);
    if (!made)
        return vly_fail_nomem(error, n * sizeof *made, "spike counts");
    if (n != 0)
        memcpy(made, from, n * sizeof *made);
    *to = made;
    return VLY_OK;
}

static vly_status describe(const vly_connectome *connectome, vly_state *state,
                           vly_error *error)
{
    uint32_t n = connectome->desc.n_areas;
    state->genome_hash = connectome->genome_hash;
    state->connectome_hash = connectome->hash;
    state->n_neurons = connectome->desc.n_neurons;
    state->n_areas = n;
    state->areas = vly_calloc(n, sizeof *state->areas);
    if (!state->areas)
        return vly_fail_nomem(error, n * sizeof *state->areas, "a snapshot");
    for (uint32_t a = 0; a < n; a++) {
        const vly_area_desc *area = &connectome->desc.areas[a];
        state->areas[a] =
            (vly_state_area){.first = area->first,
                             .n_neurons = area->n_neurons,
                             .n_fields = area->n_fields,
                             .n_params = connectome->areas[a].model->n_params};
    }
    return VLY_OK;
}

vly_status vly_state_take(vly_net *net, vly_state **state, vly_error *error)
{
    vly_error why = VLY_ERROR_INIT;
    vly_status status = VLY_OK;
    vly_state *made = vly_calloc(1, sizeof *made);
    if (!made)
        return vly_fail_nomem(error, sizeof *made, "a snapshot");
    VLY_TRY(describe(net->connectome, made, error));
    made->digest = net->digest;
    made->counters = net->counters;
    VLY_TRY(copy_area_spikes(net->area_spikes, made->n_areas,
                             &made->area_spikes, error));
    VLY_TRY(vly_overlay_copy(net->live.overlay, &made->overlay, error));
    VLY_TRY(vly_pending_copy(&net->pending, &made->pending, error));
    VLY_TRY(vly_memory_words_take(net->memory, &made->memory, error));
    status = vly_snapshot_take(net, &made->snapshot, &why);
    if (status != VLY_OK) {
        status = vly_net_failed(net, status, false, &why, error);
        goto out;
    }
    *state = made;
    made = NULL;
out:
    vly_state_destroy(made);
    return status;
}

/* For this process: without the connectome's digest. */
static vly_status take(vly_net *net, vly_state **state, vly_error *error)
{
    vly_status status = VLY_OK;
    VLY_TRY(vly_net_alive(net, error));
    do
        status = vly_state_take(net, state, error);
    while (vly_failover_again(net, &status, error));
out:
    return status;
}

vly_status vly_net_snapshot(vly_net *net, vly_state **state, vly_error *error)
{
    vly_status status = VLY_OK;
    VLY_TRY(take(net, state, error));
    (*state)->connectome_digest = vly_connectome_digest(net->connectome, 0);
out:
    return status;
}

vly_status vly_state_copy(const vly_state *state, vly_state **copy,
                          vly_error *error)
{
    vly_status status = VLY_OK;
    vly_state *made = vly_calloc(1, sizeof *made);
    if (!made)
        return vly_fail_nomem(error, sizeof *made, "a copy of a snapshot");
    made->genome_hash = state->genome_hash;
    made->connectome_hash = state->connectome_hash;
    made->connectome_digest = state->connectome_digest;
    made->n_neurons = state->n_neurons;
    made->digest = state->digest;
    made->counters = state->counters;
    made->n_areas = state->n_areas;
    made->areas = vly_calloc(state->n_areas, sizeof *made->areas);
    if (!made->areas) {
        status = vly_fail_nomem(error, state->n_areas * sizeof *made->areas,
                                "a copy of a snapshot");
        goto out;
    }
    memcpy(made->areas, state->areas, state->n_areas * sizeof *made->areas);
    VLY_TRY(copy_area_spikes(state->area_spikes, state->n_areas,
                             &made->area_spikes, error));
    VLY_TRY(vly_overlay_copy(state->overlay, &made->overlay, error));
    VLY_TRY(vly_pending_copy(&state->pending, &made->pending, error));
    VLY_TRY(vly_memory_words_copy(&state->memory, &made->memory, error));
    VLY_TRY(vly_snapshot_copy(&state->snapshot, &made->snapshot, error));
    *copy = made;
    made = NULL;
out:
    vly_state_destroy(made);
    return status;
}

void vly_state_destroy(vly_state *state)
{
    if (!state)
        return;
    vly_snapshot_release(&state->snapshot);
    vly_overlay_destroy(state->overlay);
    vly_pending_deinit(&state->pending);
    vly_memory_words_release(&state->memory);
    vly_free(state->areas);
    vly_free(state->area_spikes);
    vly_free(state);
}

/* ---- put back ---------------------------------------------------------- */

/* Everything needed to make a new net; owns its members. */
typedef struct revival {
    vly_engine_device device;
    vly_live live;
    vly_pending pending;
    vly_memory_net *memory;
    uint64_t *area_spikes;
} revival;

static void revival_deinit(revival *made)
{
    vly_device_close(&made->device);
    vly_live_deinit(&made->live);
    vly_pending_deinit(&made->pending);
    vly_memory_net_destroy(made->memory);
    vly_free(made->area_spikes);
}

static vly_status revive(const vly_net *net, const vly_state *state,
                         const char *backend, uint32_t n_threads, revival *made,
                         vly_error *error)
{
    static const vly_live nothing = {0};
    const vly_connectome *connectome = net->connectome;
    vly_error why = VLY_ERROR_INIT;
    bool lost = false;
    vly_status status = VLY_OK;
    VLY_TRY(vly_live_init(&made->live, connectome, error));
    VLY_TRY(vly_overlay_copy(state->overlay, &made->live.overlay, error));
    VLY_TRY(vly_live_make_all(&made->live, connectome, made->live.overlay,
                              state->snapshot.burst, error));
    VLY_TRY(vly_pending_copy(&state->pending, &made->pending, error));
    VLY_TRY(
        vly_memory_net_read(connectome, &state->memory, &made->memory, error));
    VLY_TRY(copy_area_spikes(state->area_spikes, state->n_areas,
                             &made->area_spikes, error));
    VLY_TRY(vly_device_open(connectome, net->registry, backend, n_threads,
                            &state->snapshot, &made->device, error));
    status =
        vly_live_apply(&made->live, &nothing, connectome, made->device.backend,
                       made->device.net, &lost, &why);
    status = vly_backend_said(made->device.name, status, &why);
    if (status != VLY_OK)
        vly_error_copy(&why, error);
out:
    return status;
}

static void take_over(vly_net *net, const vly_state *state, revival *made)
{
    vly_engine_device device = net->device;
    vly_live live = net->live;
    vly_pending pending = net->pending;
    vly_memory_net *memory = net->memory;
    uint64_t *area_spikes = net->area_spikes;
    net->device = made->device;
    net->live = made->live;
    net->pending = made->pending;
    net->memory = made->memory;
    net->area_spikes = made->area_spikes;
    made->device = device;
    made->live = live;
    made->pending = pending;
    made->memory = memory;
    made->area_spikes = area_spikes;
    net->burst = state->snapshot.burst;
    net->digest = state->digest;
    net->counters = state->counters;
    net->dc_next = vly_live_dc_next(net->connectome, net->burst);
    net->fired_burst = 0;
    net->n_fired = 0;
    net->fired = NULL;
}

static vly_status add_pending(vly_pending *pending, const vly_pending *more,
                              vly_error *error)
{
    uint64_t n = more ? more->n : 0;
    vly_status status = VLY_OK;
    VLY_TRY(vly_pending_reserve(pending, n, error));
    for (uint64_t i = 0; i < n; i++)
        vly_pending_append(pending, &more->entries[i]);
out:
    return status;
}

vly_status vly_net_revive(vly_net *net, const vly_state *state,
                          const char *backend, uint32_t n_threads,
                          const vly_pending *more, vly_error *error)
{
    revival made = {0};
    vly_status status = VLY_OK;
    VLY_TRY(revive(net, state, backend, n_threads, &made, error));
    VLY_TRY(add_pending(&made.pending, more, error));
    take_over(net, state, &made);
out:
    revival_deinit(&made);
    return status;
}

vly_status vly_net_resume(const vly_connectome *connectome,
                          vly_registry *registry, const char *backend,
                          uint32_t n_threads, const vly_state *state,
                          vly_net **net, vly_error *error)
{
    vly_net *fresh = NULL;
    revival made = {0};
    vly_status status = VLY_OK;
    VLY_TRY(vly_state_fits(state, connectome, error));
    VLY_TRY(vly_net_alloc(connectome, registry, &fresh, error));
    VLY_TRY(revive(fresh, state, backend, n_threads, &made, error));
    take_over(fresh, state, &made);
    *net = fresh;
    fresh = NULL;
out:
    revival_deinit(&made);
    vly_net_destroy(fresh);
    return status;
}

vly_status vly_net_restore(vly_net *net, const vly_state *state,
                           vly_error *error)
{
    vly_state *kept = NULL;
    vly_status status = VLY_OK;
    VLY_TRY(vly_net_alive(net, error));
    VLY_TRY(vly_state_fits(state, net->connectome, error));
    if (net->failover)
        VLY_TRY(vly_state_copy(state, &kept, error));
    VLY_TRY(vly_net_revive(net, state, net->device.spec, net->device.n_threads,
                           NULL, error));
    if (kept) {
        net->failover->again = false;
        vly_failover_replace(net, kept, net->failover->cost_ns);
        kept = NULL;
    }
out:
    vly_state_destroy(kept);
    return status;
}

vly_status vly_net_swap(vly_net *net, const char *backend, uint32_t n_threads,
                        vly_error *error)
{
    vly_state *state = NULL;
    vly_status status = VLY_OK;
    uint64_t begin = vly_clock_ns();
    VLY_TRY(take(net, &state, error));
    uint64_t cost_ns = vly_clock_ns() - begin;
    VLY_TRY(vly_net_revive(net, state, backend, n_threads, NULL, error));
    if (net->failover) {
        net->failover->again = false;
        vly_failover_replace(net, state, cost_ns);
        state = NULL;
    }
out:
    vly_state_destroy(state);
    return status;
}
