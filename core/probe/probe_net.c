/* SPDX-License-Identifier: Apache-2.0
 * A call of net_run through the probe.
 *
 * Areas, maps, checks of lists and lost spikes need the ids of spikes. If the
 * host does not request them, the probe does, into its own memory, and passes
 * on what the host requested.
 */
#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "base/thread.h"
#include "probe/probe_parts.h"

/* Ids of one call beside room for a burst of all neurons, as the engine has. */
static const uint64_t call_spikes = UINT64_C(1) << 20;

static bool wants_ids(const probe_net *net)
{
    const vly_probe *probe = net->slot->probe;
    return probe->watch || probe->check || probe->drops || net->counts_areas;
}

static vly_status reserve(probe_net *net, vly_error *error)
{
    const uint64_t n = net->desc->n_neurons + call_spikes;
    if (!net->spikes)
        net->spikes = vly_malloc((size_t)n, sizeof *net->spikes);
    if (!net->gains && net->has_gains)
        net->gains = vly_malloc((size_t)n, sizeof *net->gains);
    if (!net->spikes || (net->has_gains && !net->gains))
        return vly_fail_nomem(error, n * sizeof *net->spikes,
                              "the probe's record of spikes");
    net->capacity = n;
    return VLY_OK;
}

/* Whether its lists can be read. If not, the engine ends the net. */
static bool is_whole(const vly_run *run)
{
    uint64_t n_spikes = 0;
    if (run->n_bursts_done > run->n_bursts)
        return false;
    if (!probe_has_lists(run))
        return true;
    for (uint64_t t = 0; t < run->n_bursts_done; t++)
        n_spikes += run->spike_counts[t];
    return (run->flags & VLY_RUN_RECORD) == 0 ||
           (n_spikes == run->n_spikes && n_spikes <= run->spikes_capacity);
}

/* Restores the host's pointers. */
static void give_back(const vly_run *asked, vly_run *run)
{
    run->n_bursts = asked->n_bursts;
    run->n_inputs = asked->n_inputs;
    if ((asked->flags & VLY_RUN_RECORD) != 0)
        return;
    run->flags = asked->flags;
    run->spikes = asked->spikes;
    run->spike_gains = asked->spike_gains;
    run->spikes_capacity = asked->spikes_capacity;
    run->n_spikes = 0;
}

/* ---- areas and maps ---------------------------------------------------- */

static uint32_t lower_bound(const uint32_t *ids, uint32_t n, uint32_t id)
{
    uint32_t low = 0;
    while (low < n) {
        const uint32_t middle = low + (n - low) / 2;
        if (ids[middle] < id)
            low = middle + 1;
        else
            n = middle;
    }
    return low;
}

static uint64_t events_of(const vly_projection_desc *map, uint32_t first,
                          uint32_t n_neurons, const uint32_t *ids, uint32_t n)
{
    uint64_t events = 0;
    for (uint32_t i = 0; i < n; i++) {
        const uint32_t k = ids[i] - first;
        if (k < n_neurons) /* a list that is out of order may hold any */
            events += map->row[k + 1] - map->row[k];
    }
    return events;
}

/* Every series of the net gets one value a burst, also for a map of several
 * projections. */
static void settle(probe_series *const *series, uint32_t n, uint64_t burst)
{
    for (uint32_t i = 0; i < n; i++)
        if (series[i] && series[i]->pending != UINT64_MAX) {
            vly_probe_add(&series[i]->seen, series[i]->pending, 1, burst);
            series[i]->pending = UINT64_MAX;
        }
    for (uint32_t i = 0; i < n; i++)
        if (series[i])
            series[i]->pending = 0;
}

static void watch_burst(const probe_net *net, const uint32_t *ids, uint32_t n,
                        uint64_t burst)
{
    const vly_net_desc *desc = net->desc;
    for (uint32_t a = 0; a < desc->n_areas; a++) {
        const uint32_t from = probe_area(desc, a)->first;
        if (net->areas[a])
            net->areas[a]->pending +=
                lower_bound(ids, n, from + probe_area(desc, a)->n_neurons) -
                lower_bound(ids, n, from);
    }
    for (uint32_t p = 0; p < desc->n_projections; p++) {
        const vly_projection_desc *map = probe_projection(desc, p);
        const vly_area_desc *area = probe_area(desc, map->source_area);
        if (!net->maps[p])
            continue;
        const uint32_t from = lower_bound(ids, n, area->first);
        const uint32_t to = lower_bound(ids, n, area->first + area->n_neurons);
        net->maps[p]->pending +=
            events_of(map, area->first, area->n_neurons, ids + from, to - from);
    }
    settle(net->areas, desc->n_areas, burst);
    settle(net->maps, desc->n_projections, burst);
}

/* The checks have reported invalid ids; here they would be read beyond the end.
 */
static void watch(const probe_net *net, const vly_run *run)
{
    const uint32_t *ids = run->spikes;
    uint64_t left = run->n_spikes < run->spikes_capacity ? run->n_spikes
                                                         : run->spikes_capacity;
    for (uint64_t t = 0; t < run->n_bursts_done; t++) {
        const uint32_t n = run->spike_counts[t];
        if (n > left || (n > 0 && ids[n - 1] >= net->desc->n_neurons))
            return;
        watch_burst(net, ids, n, net->burst + t);
        ids += n;
        left -= n;
    }
}

/* The answer of the requested backend. */
static void count_areas(const probe_net *net, vly_run *run)
{
    const vly_net_desc *desc = net->desc;
    uint64_t *area_spikes = probe_area_spikes(run);
    for (uint64_t i = 0; area_spikes && i < run->n_spikes; i++)
        for (uint32_t a = 0; a < desc->n_areas; a++)
            if (run->spikes[i] - probe_area(desc, a)->first <
                probe_area(desc, a)->n_neurons)
                area_spikes[a]++;
}

/* ---- the call ---------------------------------------------------------- */

/* Stores the results of a call, under the lock. */
static void look(probe_net *net, const vly_run *asked, const vly_run *run,
                 uint64_t ns, vly_status status, const vly_error *error)
{
    probe_slot *slot = net->slot;
    vly_probe *probe = slot->probe;
    const bool done = status == VLY_OK && run->n_bursts_done <= run->n_bursts;
    const uint64_t n = done ? run->n_bursts_done : 0;
    pthread_mutex_lock(&probe->lock);
    if (probe->timed[CALL_net_run]) {
        vly_probe_add(&slot->calls[CALL_net_run], ns, 1, net->burst);
        slot->calls[CALL_net_run].failed += status != VLY_OK;
    }
    if (probe->timed[CALL_burst] && n > 0)
        vly_probe_add(&slot->calls[CALL_burst], ns / n, n, net->burst);
    if (probe->check && status == VLY_OK)
        vly_probe_check_run(net, asked, run);
    if (probe->check)
        vly_probe_check_failure(probe, net->burst, status, error, "net_run");
    if (probe->watch && done && probe_has_lists(run))
        watch(net, run);
    pthread_mutex_unlock(&probe->lock);
}

static vly_status run_inner(probe_net *net, const vly_run *asked, vly_run *run,
                            bool skip, vly_error *error)
{
    vly_status status = VLY_OK;
    if (wants_ids(net) && probe_has_lists(run) &&
        (run->flags & VLY_RUN_RECORD) == 0) {
        VLY_TRY(reserve(net, error));
        run->flags |= VLY_RUN_RECORD;
        run->spikes = net->spikes;
        run->spike_gains = net->gains;
        run->spikes_capacity = net->capacity;
    }
    if (skip) {
        run->n_bursts_done = 0;
        run->n_spikes = 0;
        run->n_events = 0;
        run->n_candidates = 0;
        return VLY_OK;
    }
    const uint64_t begin = vly_clock_ns();
    VLY_TRY(net->inner->net_run(net->net, run, error));
    const uint64_t ns = vly_clock_ns() - begin;
    if (!is_whole(run))
        return VLY_OK;
    if (net->counts_areas)
        count_areas(net, run);
    status = vly_probe_after(net, asked, run, ns, error);
out:
    return status;
}

vly_status vly_probe_net_run(vly_backend_net *net, vly_run *run,
                             vly_error *error)
{
    vly_run asked = {0};
    /* the backend refuses it, or it is of another major version */
    if (run->struct_size < VLY_RUN_BYTES_1_0)
        return net->inner->net_run(net->net, run, error);
    memcpy(&asked, run,
           run->struct_size < sizeof asked ? run->struct_size : sizeof asked);
    vly_probe *probe = net->slot->probe;
    bool skip = false;
    if (probe->check) {
        pthread_mutex_lock(&probe->lock);
        vly_probe_check_inputs(net, run);
        pthread_mutex_unlock(&probe->lock);
    }
    const uint64_t begin = vly_clock_ns();
    vly_status status = VLY_OK;
    VLY_TRY(vly_probe_before(net, run, &skip, error));
    VLY_TRY(run_inner(net, &asked, run, skip, error));
out:
    look(net, &asked, run, vly_clock_ns() - begin, status, error);
    /* more than the call was cut to is still more than was asked for */
    if (status == VLY_OK && run->n_bursts_done > run->n_bursts)
        run->n_bursts_done = asked.n_bursts + 1;
    give_back(&asked, run);
    if (status == VLY_OK)
        net->burst += run->n_bursts_done;
    return status;
}

void vly_probe_net_free(probe_net *net)
{
    if (!net)
        return;
    vly_free(net->areas);
    vly_free(net->maps);
    vly_free(net->spikes);
    vly_free(net->gains);
    vly_free(net->own_desc);
    vly_free(net);
}
