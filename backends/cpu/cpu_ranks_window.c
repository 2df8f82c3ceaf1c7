/* SPDX-License-Identifier: Apache-2.0
 * The windows of ranks: how long they are (kernels/rules/rank_window.h), when
 * one begins, and the spikes of this rank that it keeps until its end.
 */
#include "cpu_ranks.h"

#include <stdio.h>
#include <string.h>

#include "kernels/rules/rank_window.h"

static bool is_inside(const vly_net_desc *desc, const vly_projection_desc *p)
{
    const vly_ranks *to = vly_common_ranks(desc);
    const vly_area_desc *source = vly_common_area_desc(desc, p->source_area);
    const vly_area_desc *target = vly_common_area_desc(desc, p->target_area);
    const uint32_t rank =
        vly_rank_of(to->first, to->n_ranks, source->first, source->n_neurons);
    return rank < to->n_ranks &&
           rank == vly_rank_of(to->first, to->n_ranks, target->first,
                               target->n_neurons);
}

static uint32_t window_of(const vly_net_desc *desc, uint32_t projection,
                          const char **why)
{
    const vly_projection_desc *p = vly_common_projection_desc(desc, projection);
    const vly_learning_desc *learning = vly_common_learning(desc, projection);
    const vly_rank_map map = {
        .base_delay = p->base_delay,
        .of_windows = learning && (learning->flags & VLY_LEARNING_WINDOW) != 0,
        .modulated = learning && vly_common_modulated(learning) &&
                     learning->modulator_area < desc->n_areas,
        .learns = learning != NULL,
        .short_term = vly_common_short_term_of(desc, projection) != NULL,
        .inside = is_inside(desc, p)};
    return vly_rank_window(&map, why);
}

void vly_cpu_ranks_find_window(vly_backend_net *net)
{
    vly_cpu_ranks *r = &net->ranks;
    r->most = VLY_RANK_WINDOW;
    r->why = NULL;
    for (uint32_t i = 0; i < net->n_projections; i++) {
        const char *why;
        const uint32_t bursts = window_of(net->desc, i, &why);
        if (bursts >= r->most)
            continue;
        r->most = bursts;
        r->limits = i;
        r->why = why;
    }
}

void vly_cpu_ranks_print(const vly_backend_net *net, char *text, size_t size)
{
    const vly_cpu_ranks *r = &net->ranks;
    char bursts[24] = "burst";
    text[0] = '\0';
    if (!r->to)
        return;
    if (r->most > 1)
        snprintf(bursts, sizeof bursts, "%u bursts", r->most);
    if (r->why)
        snprintf(text, size, "ranks exchange every %s (%s of %.40s); ", bursts,
                 r->why, vly_common_projection_desc(net->desc, r->limits)->map);
    else
        snprintf(text, size, "ranks exchange every %s; ", bursts);
}

/* Bursts of a window at most, as the caller's room allows when it is empty:
 * each burst of a window is begun, so there must be room for each. */
static uint64_t longest(const vly_backend_net *net, const vly_run *run)
{
    const vly_cpu_ranks *r = &net->ranks;
    const uint64_t left = run->n_bursts - run->n_bursts_done;
    const uint64_t n = r->most < left ? r->most : left;
    const uint64_t room = run->spikes_capacity > 0 && net->desc->n_neurons > 0
                              ? run->spikes_capacity / net->desc->n_neurons
                              : n;
    const uint64_t most = room < n ? room : n;
    return most > 0 ? most : 1;
}

static void begin_window(vly_backend_net *net, const vly_run *run)
{
    net->ranks.end = net->burst + longest(net, run);
}

void vly_cpu_ranks_begin(vly_backend_net *net, const vly_run *run)
{
    if (!net->ranks.to)
        return;
    net->ranks.stop = 0;
    net->ranks.room =
        run->spikes_capacity > 0 ? run->spikes_capacity : UINT64_MAX;
    begin_window(net, run);
}

bool vly_cpu_ranks_go_on(vly_backend_net *net, const vly_run *run)
{
    const vly_cpu_ranks *r = &net->ranks;
    if (r->n_kept > 0)
        return true;
    /* no shorter window in what is left of the room: the caller empties it */
    if (r->stop != 0 ||
        r->room < longest(net, run) * (uint64_t)net->desc->n_neurons)
        return false;
    begin_window(net, run);
    return true;
}

uint64_t vly_cpu_ranks_whole(const vly_backend_net *net, const vly_run *run,
                             uint64_t n_bursts)
{
    const uint64_t left = run->n_bursts - run->n_bursts_done;
    if (!net->ranks.to || n_bursts >= left)
        return n_bursts;
    const uint64_t over = n_bursts % net->ranks.most;
    const uint64_t n = over > 0 ? n_bursts - over + net->ranks.most : n_bursts;
    return n < left ? n : left;
}

/* ---- own spikes --------------------------------------------------------- */

static vly_status make_room(vly_backend_net *net, uint64_t n, vly_error *error)
{
    vly_cpu_ranks *r = &net->ranks;
    const uint64_t capacity = 2 * n;
    uint32_t *ids = NULL;
    uint32_t *gains = NULL;
    vly_status status = VLY_OK;
    if (n <= r->capacity)
        return VLY_OK;
    VLY_TRY(vly_cpu_spikes_alloc(net, capacity, &ids, &gains, error));
    if (r->n_ids > 0) {
        memcpy(ids, r->ids, (size_t)r->n_ids * sizeof *ids);
        memcpy(gains, r->gains, (size_t)r->n_ids * sizeof *gains);
    }
    vly_common_release(&net->heap, r->ids);
    vly_common_release(&net->heap, r->gains);
    r->ids = ids;
    r->gains = gains;
    r->capacity = capacity;
out:
    return status;
}

vly_status vly_cpu_ranks_keep(vly_backend_net *net, vly_error *error)
{
    vly_cpu_ranks *r = &net->ranks;
    const vly_cpu_thread *slices = net->threads + net->first_own;
    vly_cpu_kept *kept = &r->kept[r->n_kept];
    uint32_t *row = r->row + (uint64_t)r->n_kept * (net->n_areas + 1);
    uint64_t n = 0;
    vly_status status = VLY_OK;
    for (uint32_t j = 0; j < net->n_own; j++)
        n += slices[j].n_fired;
    VLY_TRY(make_room(net, r->n_ids + n, error));
    *kept = (vly_cpu_kept){.first = r->n_ids, .n = (uint32_t)n};
    memset(row, 0, (net->n_areas + 1) * sizeof *row);
    for (uint32_t j = 0; j < net->n_own; j++) {
        const size_t bytes = slices[j].n_fired * sizeof *r->ids;
        if (bytes > 0) { /* otherwise there may be no memory yet */
            memcpy(r->ids + r->n_ids, slices[j].fired, bytes);
            memcpy(r->gains + r->n_ids, slices[j].gains, bytes);
        }
        r->n_ids += slices[j].n_fired;
        kept->digest += slices[j].digest;
        for (uint32_t a = 0; a < net->n_areas; a++)
            row[a + 1] += slices[j].area_end[a];
    }
    r->n_kept++;
out:
    return status;
}

const uint32_t *vly_cpu_ranks_set(const vly_backend_net *net, uint32_t age,
                                  const uint32_t **ids, const uint32_t **gains)
{
    const vly_cpu_ranks *r = &net->ranks;
    const uint32_t at = r->n_kept - age;
    *ids = r->ids + r->kept[at].first;
    *gains = r->gains + r->kept[at].first;
    return r->row + (uint64_t)at * (net->n_areas + 1);
}
