/* SPDX-License-Identifier: Apache-2.0
 * Checks of the results of a backend. A backend is foreign code: an error in it
 * must end its net with a message, not this process.
 */
#include <inttypes.h>
#include <string.h>

#include "base/error.h"
#include "base/random.h"
#include "base/thread.h"
#include "connectome/learning_layout.h"
#include "engine/engine.h"

/* Threads that check lists while a device waits for its next call, and the
 * number of spikes from which waking them pays off. */
#define LIST_THREADS 8u
#define LIST_SPIKES (UINT64_C(1) << 17)

vly_status vly_backend_said(const char *backend, vly_status status,
                            vly_error *why)
{
    if (status == VLY_OK)
        return VLY_OK;
    why->struct_size = sizeof *why;
    why->message[sizeof why->message - 1] = 0;
    /* stopped is not a failure: a run that is stopped returns VLY_OK */
    if (status > VLY_OK || status <= VLY_E_STOPPED)
        return vly_fail(why, VLY_E_DEVICE,
                        "backend %s returned status %d (%s), which no backend "
                        "may: %.800s",
                        backend, (int)status, vly_status_text(status),
                        why->message[0] != 0 ? why->message
                                             : "no reason given");
    if (why->message[0] == 0)
        return vly_fail(why, status, "backend %s: %s, no reason given", backend,
                        vly_status_text(status));
    why->status = status;
    return status;
}

/* ---- a run ------------------------------------------------------------- */

static vly_status bad_run(const vly_net *net, uint64_t burst, const char *what,
                          vly_error *error)
{
    return vly_fail(error, VLY_E_DEVICE,
                    "backend %s: burst %" PRIu64 " with %s", net->device.name,
                    burst, what);
}

/* The area of id, at or after area `from`. */
static uint32_t area_of(const vly_net_desc *desc, uint32_t from, uint32_t id)
{
    uint32_t low = from;
    uint32_t high = desc->n_areas - 1;
    while (low < high) {
        uint32_t middle = low + (high - low + 1) / 2;
        if (desc->areas[middle].first <= id)
            low = middle;
        else
            high = middle - 1;
    }
    return low;
}

void vly_count_areas(const vly_net_desc *desc, const uint32_t *ids,
                     uint32_t n_ids, uint64_t *counts)
{
    uint32_t area = 0;
    for (uint32_t i = 0; i < n_ids; i++) {
        const vly_area_desc *here = &desc->areas[area];
        if (ids[i] - here->first >= here->n_neurons)
            area = area_of(desc, area, ids[i]);
        counts[area]++;
    }
}

/* Hashing every list cost 6% of a burst of the microcircuit on a GPU and 18% of
 * a busier net's: a backend that numbers its spikes wrongly does so in its
 * first bursts, so afterwards checking one burst in 64 is enough. */
static bool digest_is_checked(const vly_net *net, uint64_t t)
{
    return net->device.n_checked + t < VLY_CHECK_BURSTS ||
           (net->burst + t) % 64 == 0;
}

static vly_status check_list(const vly_net *net, const vly_run *run, uint64_t t,
                             uint64_t first, vly_error *error)
{
    const vly_net_desc *desc = &net->connectome->desc;
    const uint32_t *ids = run->spikes + first;
    const uint32_t *gains = run->spike_gains ? run->spike_gains + first : NULL;
    uint64_t burst = net->burst + t;
    uint32_t n = run->spike_counts[t];
    uint32_t bad = 0;
    uint64_t digest = 0;
    for (uint32_t i = 1; i < n; i++) /* without branches: a vector at a time */
        bad |= ids[i] <= ids[i - 1];
    if (n != 0 && bad == 0 && ids[n - 1] >= desc->n_neurons)
        return bad_run(net, burst, "the spike of a neuron that does not exist",
                       error);
    if (bad != 0)
        return bad_run(net, burst, "spikes that do not ascend", error);
    if (!digest_is_checked(net, t))
        return VLY_OK;
    for (uint32_t i = 0; i < n; i++)
        digest += vly_spike_hash(
            ids[i], gains ? gains[i] : UINT32_C(1) << desc->feagi_q, burst);
    if (digest != run->digests[t])
        return bad_run(net, burst, "a digest that is not that of its spikes",
                       error);
    return VLY_OK;
}

/* Lists in pieces, a thread each. */
typedef struct list_pieces {
    const vly_net *net;
    const vly_run *run;
    uint64_t burst[LIST_THREADS + 1]; /* first of each piece */
    uint64_t spike[LIST_THREADS];
    vly_status status[LIST_THREADS];
    vly_error errors[LIST_THREADS];
} list_pieces;

static void check_piece(void *arg, uint64_t piece)
{
    list_pieces *pieces = arg;
    uint64_t at = pieces->spike[piece];
    pieces->status[piece] = VLY_OK;
    for (uint64_t t = pieces->burst[piece];
         t < pieces->burst[piece + 1] && pieces->status[piece] == VLY_OK; t++) {
        pieces->status[piece] =
            check_list(pieces->net, pieces->run, t, at, &pieces->errors[piece]);
        at += pieces->run->spike_counts[t];
    }
}

/* Checks all lists; reports the first burst with an error. */
static vly_status check_lists(const vly_net *net, const vly_run *run,
                              vly_error *error)
{
    list_pieces pieces = {.net = net, .run = run};
    uint32_t n = run->n_spikes < LIST_SPIKES ? 1 : LIST_THREADS;
    uint32_t cores = n > 1 ? vly_thread_cores() : 1;
    uint64_t at = 0;
    for (uint32_t k = 0; k < n; k++) {
        pieces.spike[k] = at;
        pieces.errors[k].struct_size = sizeof pieces.errors[k];
        pieces.burst[k + 1] = run->n_bursts_done * (k + 1) / n;
        for (uint64_t t = pieces.burst[k]; t < pieces.burst[k + 1]; t++)
            at += run->spike_counts[t];
    }
    vly_thread_loop(n < cores ? n : cores, n, check_piece, &pieces);
    for (uint32_t k = 0; k < n; k++)
        if (pieces.status[k] != VLY_OK)
            return vly_fail(error, pieces.status[k], "%s",
                            pieces.errors[k].message);
    return VLY_OK;
}

/* Spikes by area must add up to the number of spikes, and must match the ids in
 * the net's first bursts. Either every burst of a call is checked, or none. */
static vly_status check_areas(const vly_net *net, const vly_run *run,
                              uint64_t n_spikes, vly_error *error)
{
    const vly_net_desc *desc = &net->connectome->desc;
    uint64_t sum = 0;
    for (uint32_t a = 0; a < desc->n_areas; a++)
        sum += run->area_spikes[a];
    if (sum != n_spikes)
        return vly_fail(error, VLY_E_DEVICE,
                        "backend %s: %" PRIu64 " spikes by area, which do not "
                        "fit its counts: %" PRIu64,
                        net->device.name, sum, n_spikes);
    if ((run->flags & VLY_RUN_RECORD) == 0 ||
        net->device.n_checked == VLY_CHECK_BURSTS)
        return VLY_OK;
    uint64_t *counts = net->buffers.area_spikes + desc->n_areas;
    memset(counts, 0, desc->n_areas * sizeof *counts);
    for (uint64_t i = 0, t = 0; t < run->n_bursts_done; t++) {
        vly_count_areas(desc, run->spikes + i, run->spike_counts[t], counts);
        i += run->spike_counts[t];
    }
    for (uint32_t a = 0; a < desc->n_areas; a++)
        if (counts[a] != run->area_spikes[a])
            return vly_fail(
                error, VLY_E_DEVICE,
                "backend %s: %" PRIu64 " spikes of area %s after burst %" PRIu64
                ", its ids say %" PRIu64,
                net->device.name, run->area_spikes[a],
                net->connectome->areas[a].name, net->burst, counts[a]);
    return VLY_OK;
}

vly_status vly_backend_run_check(const vly_net *net, const vly_run *run,
                                 vly_error *error)
{
    bool record = (run->flags & VLY_RUN_RECORD) != 0;
    uint64_t n_spikes = 0;
    vly_status status = VLY_OK;
    if (run->n_bursts_done > run->n_bursts)
        return vly_fail(error, VLY_E_DEVICE,
                        "backend %s: %" PRIu64
                        " bursts done, which do not fit: wanted at most "
                        "%" PRIu64,
                        net->device.name, run->n_bursts_done, run->n_bursts);
    for (uint64_t t = 0; t < run->n_bursts_done; t++) {
        if (run->spike_counts[t] > net->connectome->desc.n_neurons)
            return bad_run(net, net->burst + t, "more spikes than neurons",
                           error);
        n_spikes += run->spike_counts[t];
    }
    if (!record)
        return run->area_spikes ? check_areas(net, run, n_spikes, error)
                                : VLY_OK;
    if (n_spikes != run->n_spikes || n_spikes > run->spikes_capacity)
        return vly_fail(error, VLY_E_DEVICE,
                        "backend %s: %" PRIu64 " spikes recorded, which do not "
                        "fit its counts: %" PRIu64 ", wanted the same and at "
                        "most %" PRIu64,
                        net->device.name, run->n_spikes, n_spikes,
                        run->spikes_capacity);
    VLY_TRY(check_lists(net, run, error));
    if (run->area_spikes)
        VLY_TRY(check_areas(net, run, n_spikes, error));
out:
    return status;
}

/* ---- a snapshot -------------------------------------------------------- */

static vly_status bad_count(const vly_net *net, const char *what,
                            uint64_t found, uint64_t wanted, vly_error *error)
{
    return vly_fail(error, VLY_E_DEVICE,
                    "backend %s: snapshot with %s %" PRIu64 ", wanted %" PRIu64,
                    net->device.name, what, found, wanted);
}

vly_status vly_backend_counts_check(const vly_net *net,
                                    const vly_snapshot *snapshot,
                                    vly_error *error)
{
    const vly_net_desc *desc = &net->connectome->desc;
    uint64_t bursts =
        net->burst < desc->max_delay ? net->burst : desc->max_delay;
    uint64_t most = bursts * desc->n_neurons;
    uint64_t words = 0;
    for (uint32_t a = 0; a < desc->n_areas; a++)
        words += (uint64_t)desc->areas[a].n_fields * desc->areas[a].n_neurons;
    if (snapshot->burst != net->burst)
        return bad_count(net, "burst", snapshot->burst, net->burst, error);
    if (snapshot->n_state_words != words)
        return bad_count(net, "n_state_words", snapshot->n_state_words, words,
                         error);
    if (snapshot->n_fired_bursts != bursts)
        return bad_count(net, "n_fired_bursts", snapshot->n_fired_bursts,
                         bursts, error);
    uint64_t weights = 4 * vly_learning_words_all(desc);
    if (snapshot->n_weight_bytes != weights)
        return bad_count(net, "n_weight_bytes", snapshot->n_weight_bytes,
                         weights, error);
    if (snapshot->n_fired > most)
        return bad_count(net, "n_fired", snapshot->n_fired, most, error);
    return VLY_OK;
}

static vly_status bad_set(const vly_net *net, uint32_t set, const char *what,
                          vly_error *error)
{
    return vly_fail(error, VLY_E_DEVICE,
                    "backend %s: snapshot with %s in fired set %u",
                    net->device.name, what, set);
}

vly_status vly_backend_fired_check(const vly_net *net,
                                   const vly_snapshot *snapshot,
                                   vly_error *error)
{
    const uint64_t *row = snapshot->fired_row;
    const uint32_t *ids = snapshot->fired;
    uint32_t n = snapshot->n_fired_bursts;
    if (row[0] != 0)
        return bad_count(net, "fired_row[0]", row[0], 0, error);
    if (row[n] != snapshot->n_fired)
        return bad_count(net, "a last fired_row of", row[n], snapshot->n_fired,
                         error);
    for (uint32_t j = 0; j < n; j++) {
        if (row[j + 1] < row[j] || row[j + 1] > snapshot->n_fired)
            return bad_set(net, j, "a row that does not ascend", error);
        for (uint64_t i = row[j]; i < row[j + 1]; i++) {
            if (ids[i] >= net->connectome->desc.n_neurons)
                return bad_set(net, j, "a neuron that does not exist", error);
            if (i != row[j] && ids[i] <= ids[i - 1])
                return bad_set(net, j, "ids that do not ascend", error);
        }
    }
    return VLY_OK;
}
