/* SPDX-License-Identifier: Apache-2.0
 * The windows of ranks: how long they are (kernels/rules/rank_window.h), when
 * one begins, and the spikes of this rank that it keeps until its end.
 */
#include "common_ranks.h"

#include <stdio.h>
#include <string.h>

#include "kernels/rules/rank_window.h"

void vly_common_ranks_own(const vly_net_desc *desc, uint32_t *low,
                          uint32_t *high)
{
    const vly_ranks *ranks = vly_common_ranks(desc);
    *low = ranks ? ranks->first[ranks->rank] : 0;
    *high = ranks ? ranks->first[ranks->rank + 1] : desc->n_neurons;
}

uint64_t vly_common_lower_bound(const uint32_t *target, uint64_t n,
                                uint32_t bound)
{
    uint64_t low = 0;
    while (n > 0) {
        uint64_t half = n / 2;
        if (target[low + half] < bound) {
            low += half + 1;
            n -= half + 1;
        } else {
            n = half;
        }
    }
    return low;
}

void vly_common_row_piece(const vly_projection_desc *map, uint32_t k,
                          uint32_t first, uint32_t end, uint64_t *low,
                          uint64_t *high)
{
    const uint32_t *target = map->target + map->row[k];
    const uint64_t n = map->row[k + 1] - map->row[k];
    *low = map->row[k] + vly_common_lower_bound(target, n, first);
    *high = map->row[k] + vly_common_lower_bound(target, n, end);
}

bool vly_common_ranks_part(const vly_ranks *to, uint32_t rank,
                           const vly_area_desc *area, uint32_t *low,
                           uint32_t *high)
{
    const uint32_t end = area->first + area->n_neurons;
    *low = to->first[rank] > area->first ? to->first[rank] : area->first;
    *high = to->first[rank + 1] < end ? to->first[rank + 1] : end;
    return *low < *high;
}

void vly_common_own_part(const vly_net_desc *desc, uint32_t a, uint32_t *low,
                         uint32_t *high)
{
    const vly_ranks *ranks = vly_common_ranks(desc);
    const vly_area_desc *area = vly_common_area_desc(desc, a);
    *low = 0;
    *high = area->n_neurons;
    if (!ranks)
        return;
    if (!vly_common_ranks_part(ranks, ranks->rank, area, low, high))
        *low = *high = area->first;
    *low -= area->first;
    *high -= area->first;
}

/* ---- windows ------------------------------------------------------------ */

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

static void find_window(vly_common_rank_net *r)
{
    r->most = VLY_RANK_WINDOW;
    r->why = NULL;
    for (uint32_t i = 0; i < r->desc->n_projections; i++) {
        const char *why;
        const uint32_t bursts = window_of(r->desc, i, &why);
        if (bursts >= r->most)
            continue;
        r->most = bursts;
        r->limits = i;
        r->why = why;
    }
}

uint32_t vly_common_ranks_window(const vly_net_desc *desc)
{
    vly_common_rank_net r = {.to = vly_common_ranks(desc), .desc = desc};
    if (r.to)
        find_window(&r);
    return r.most;
}

vly_status vly_common_ranks_create(vly_common_rank_net *r,
                                   vly_common_heap *heap,
                                   const vly_net_desc *desc, vly_error *error)
{
    vly_status status = VLY_OK;
    *r = (vly_common_rank_net){
        .to = vly_common_ranks(desc), .desc = desc, .heap = heap};
    if (!r->to)
        return VLY_OK;
    for (uint32_t a = 0; a < desc->n_areas; a++)
        if ((vly_common_area_desc(desc, a)->flags & VLY_AREA_FEAGI) != 0)
            r->has_gains = 1;
    find_window(r);
    VLY_TRY(vly_common_alloc(heap, r->most, sizeof *r->kept, &r->kept, error));
    VLY_TRY(vly_common_alloc(heap, r->to->n_ranks, sizeof *r->reader,
                             &r->reader, error));
out:
    return status;
}

void vly_common_ranks_print(const vly_common_rank_net *r, char *text,
                            size_t size)
{
    char bursts[24] = "burst";
    text[0] = '\0';
    if (!r->to)
        return;
    if (r->most > 1)
        snprintf(bursts, sizeof bursts, "%u bursts", r->most);
    if (r->why)
        snprintf(text, size, "ranks exchange every %s (%s of %.40s); ", bursts,
                 r->why, vly_common_projection_desc(r->desc, r->limits)->map);
    else
        snprintf(text, size, "ranks exchange every %s; ", bursts);
}

/* Bursts of a window at most, as the caller's room allows when it is empty:
 * each burst of a window is begun, so there must be room for each. */
static uint64_t longest(const vly_common_rank_net *r, const vly_run *run)
{
    const uint64_t left = run->n_bursts - run->n_bursts_done;
    const uint64_t n = r->most < left ? r->most : left;
    const uint64_t room = run->spikes_capacity > 0 && r->desc->n_neurons > 0
                              ? run->spikes_capacity / r->desc->n_neurons
                              : n;
    const uint64_t most = room < n ? room : n;
    return most > 0 ? most : 1;
}

void vly_common_ranks_begin(vly_common_rank_net *r, uint64_t burst,
                            const vly_run *run)
{
    r->stop = 0;
    r->room = run->spikes_capacity > 0 ? run->spikes_capacity : UINT64_MAX;
    r->n_events = 0;
    r->n_candidates = 0;
    r->end = burst + longest(r, run);
}

bool vly_common_ranks_go_on(vly_common_rank_net *r, uint64_t burst,
                            const vly_run *run)
{
    if (r->n_kept > 0)
        return true;
    /* no shorter window in what is left of the room: the caller empties it */
    if (r->stop != 0 ||
        r->room < longest(r, run) * (uint64_t)r->desc->n_neurons)
        return false;
    r->end = burst + longest(r, run);
    return true;
}

uint64_t vly_common_ranks_whole(const vly_common_rank_net *r,
                                const vly_run *run, uint64_t n_bursts)
{
    const uint64_t left = run->n_bursts - run->n_bursts_done;
    if (n_bursts >= left)
        return n_bursts;
    const uint64_t over = n_bursts % r->most;
    const uint64_t n = over > 0 ? n_bursts - over + r->most : n_bursts;
    return n < left ? n : left;
}

/* ---- own spikes --------------------------------------------------------- */

vly_status vly_common_ranks_reserve(vly_common_rank_net *r, uint64_t n,
                                    vly_error *error)
{
    const uint64_t capacity = 2 * n;
    uint32_t *ids = NULL;
    uint32_t *gains = NULL;
    vly_status status = VLY_OK;
    if (n <= r->capacity)
        return VLY_OK;
    VLY_TRY(vly_common_alloc(r->heap, capacity, sizeof *ids, &ids, error));
    status = vly_common_alloc(r->heap, capacity, sizeof *gains, &gains, error);
    if (status != VLY_OK) {
        vly_common_release(r->heap, ids);
        return status;
    }
    if (r->n_ids > 0) {
        memcpy(ids, r->ids, (size_t)r->n_ids * sizeof *ids);
        memcpy(gains, r->gains, (size_t)r->n_ids * sizeof *gains);
    }
    vly_common_release(r->heap, r->ids);
    vly_common_release(r->heap, r->gains);
    r->ids = ids;
    r->gains = gains;
    r->capacity = capacity;
out:
    return status;
}

vly_status vly_common_ranks_keep(vly_common_rank_net *r, uint32_t n,
                                 uint64_t digest, uint32_t **ids,
                                 uint32_t **gains, vly_error *error)
{
    vly_status status = VLY_OK;
    VLY_TRY(vly_common_ranks_reserve(r, r->n_ids + n, error));
    r->kept[r->n_kept++] =
        (vly_common_kept){.first = r->n_ids, .digest = digest, .n = n};
    *ids = r->ids + r->n_ids;
    *gains = r->gains + r->n_ids;
    r->n_ids += n;
out:
    return status;
}
