/* SPDX-License-Identifier: Apache-2.0
 * Which neurons are this rank's, the spikes of all ranks, and the state of
 * neurons that are not this rank's: see cpu_ranks.h.
 */
#include "cpu_ranks.h"

#include <string.h>

#include "cpu_learning.h"

uint32_t vly_cpu_ranks_before(const vly_net_desc *desc)
{
    const vly_ranks *ranks = vly_common_ranks(desc);
    return ranks && ranks->rank > 0;
}

uint32_t vly_cpu_ranks_after(const vly_net_desc *desc)
{
    const vly_ranks *ranks = vly_common_ranks(desc);
    return ranks && ranks->rank + 1 < ranks->n_ranks;
}

vly_status vly_cpu_ranks_create(vly_backend_net *net, vly_error *error)
{
    vly_cpu_ranks *r = &net->ranks;
    vly_status status = VLY_OK;
    VLY_TRY(vly_common_ranks_create(&r->all, &net->heap, net->desc, error));
    if (r->all.to)
        VLY_TRY(vly_common_alloc(&net->heap,
                                 (uint64_t)r->all.most * (net->n_areas + 1),
                                 sizeof *r->row, &r->row, error));
out:
    return status;
}

/* ---- state -------------------------------------------------------------- */

static void move_fields(vly_backend_net *net, uint32_t rank,
                        vly_common_words *w)
{
    for (uint32_t a = 0; a < net->n_areas; a++) {
        vly_cpu_area *area = &net->areas[a];
        uint32_t low;
        uint32_t high;
        if (vly_common_ranks_part(net->ranks.all.to, rank,
                                  vly_common_area_desc(net->desc, a), &low,
                                  &high))
            for (uint32_t f = 0; f < area->model->n_fields; f++)
                vly_common_move_words(w, area->field[f] + (low - area->first),
                                      high - low);
    }
}

static void move_rank(void *arg, uint32_t rank, vly_common_words *w)
{
    vly_backend_net *net = arg;
    move_fields(net, rank, w);
    const uint32_t *first = net->ranks.all.to->first;
    for (uint32_t n = 0; n < net->n_learning; n++) {
        const vly_cpu_learning *l = &net->learning[n];
        vly_common_move_synapses(l->t.projection, l->t.n_sources, first[rank],
                                 first[rank + 1], l->master, l->eligibility, w);
    }
}

vly_status vly_cpu_ranks_refresh(vly_backend_net *net, vly_error *error)
{
    if (!net->ranks.all.to || !net->ranks.all.stale)
        return VLY_OK;
    vly_cpu_learning_flush(net);
    return vly_common_ranks_refresh(&net->ranks.all, net->burst, move_rank, net,
                                    error);
}

/* ---- own spikes --------------------------------------------------------- */

static vly_status keep(vly_backend_net *net, vly_error *error)
{
    vly_cpu_ranks *r = &net->ranks;
    const vly_cpu_thread *slices = net->threads + net->first_own;
    uint32_t *row = r->row + (uint64_t)r->all.n_kept * (net->n_areas + 1);
    uint32_t *ids = NULL;
    uint32_t *gains = NULL;
    uint32_t n = 0;
    uint64_t digest = 0;
    vly_status status = VLY_OK;
    for (uint32_t j = 0; j < net->n_own; j++) {
        n += slices[j].n_fired;
        digest += slices[j].digest;
    }
    VLY_TRY(vly_common_ranks_keep(&r->all, n, digest, &ids, &gains, error));
    memset(row, 0, (net->n_areas + 1) * sizeof *row);
    for (uint32_t j = 0; j < net->n_own; j++) {
        const size_t bytes = slices[j].n_fired * sizeof *ids;
        if (bytes > 0) { /* otherwise there may be no memory yet */
            memcpy(ids, slices[j].fired, bytes);
            memcpy(gains, slices[j].gains, bytes);
            ids += slices[j].n_fired;
            gains += slices[j].n_fired;
        }
        for (uint32_t a = 0; a < net->n_areas; a++)
            row[a + 1] += slices[j].area_end[a];
    }
out:
    return status;
}

const uint32_t *vly_cpu_ranks_set(const vly_backend_net *net, uint32_t age,
                                  const uint32_t **ids, const uint32_t **gains)
{
    const vly_common_rank_net *r = &net->ranks.all;
    const uint32_t at = r->n_kept - age;
    *ids = r->ids + r->kept[at].first;
    *gains = r->gains + r->kept[at].first;
    return net->ranks.row + (uint64_t)at * (net->n_areas + 1);
}

/* ---- the bursts of a window --------------------------------------------- */

/* Where the spikes of each area end in ids[n]. */
static void find_area_ends(const vly_backend_net *net, const uint32_t *ids,
                           uint32_t n, uint32_t *area_end)
{
    uint32_t i = 0;
    for (uint32_t a = 0; a < net->n_areas; a++) {
        const uint32_t end = net->areas[a].first + net->areas[a].n;
        while (i < n && ids[i] < end)
            i++;
        area_end[a] = i;
    }
}

/* What a slice of other ranks fired: ids[n], in the history. */
static void end_slice(vly_backend_net *net, uint32_t slice, uint32_t *ids,
                      uint32_t n, uint64_t burst)
{
    vly_cpu_thread fired = net->threads[slice];
    fired.fired = ids;
    fired.n_fired = n;
    find_area_ends(net, ids, n, fired.area_end);
    vly_cpu_learning_fired(net, &fired, burst);
}

/* One burst of all ranks, which is number `at` of the run. */
static vly_status end_one(vly_backend_net *net, uint64_t burst, uint64_t at,
                          vly_run *run, vly_error *error)
{
    vly_common_rank_net *r = &net->ranks.all;
    const uint32_t rank = r->to->rank;
    vly_cpu_fired set = {.total = 0};
    uint64_t digest = 0;
    uint32_t before = 0;
    uint32_t after = 0;
    vly_status status = VLY_OK;
    VLY_TRY(vly_common_ranks_open(r, &set.total, &digest, error));
    VLY_TRY(vly_cpu_history_push(net, set.total, &set.ids, &set.gains, &set.row,
                                 error));
    for (uint32_t k = 0; k < r->to->n_ranks; k++) {
        VLY_TRY(vly_common_ranks_take(r, k, set.ids + before + after,
                                      set.gains + before + after, error));
        if (k <= rank)
            before +=
                r->reader[k].n_fired; /* at last, those of this rank too */
        else
            after += r->reader[k].n_fired;
    }
    set.row[0] = 0;
    find_area_ends(net, set.ids, set.total, set.row + 1);
    if (net->first_own > 0)
        end_slice(net, 0, set.ids, before - r->reader[rank].n_fired, burst);
    if (net->first_own + net->n_own < net->n_threads)
        end_slice(net, net->n_threads - 1, set.ids + before, after, burst);
    vly_cpu_give(net, &set, digest, at, run);
out:
    return status;
}

static vly_status exchange(vly_backend_net *net, vly_run *run, vly_error *error)
{
    vly_common_rank_net *r = &net->ranks.all;
    const uint32_t n = r->n_kept;
    vly_common_rank_work work = {.n_events = 0};
    vly_status status = VLY_OK;
    for (uint32_t j = 0; j < net->n_own; j++) {
        work.n_events += net->threads[net->first_own + j].n_events;
        work.n_candidates += net->threads[net->first_own + j].n_candidates;
    }
    VLY_TRY(vly_common_ranks_exchange(r, run, &work, error));
    for (uint32_t k = 0; k < n; k++)
        VLY_TRY(end_one(net, net->burst + 1 - n + k,
                        run->n_bursts_done + 1 - n + k, run, error));
    VLY_TRY(vly_common_ranks_close(r, error));
out:
    return status;
}

vly_status vly_cpu_ranks_end_burst(vly_backend_net *net, vly_run *run,
                                   vly_error *error)
{
    vly_status status = keep(net, error);
    if (status != VLY_OK)
        vly_common_ranks_fail(&net->ranks.all, status);
    else if (net->burst + 1 == net->ranks.all.end)
        status = exchange(net, run, error);
    return status;
}
