/* SPDX-License-Identifier: Apache-2.0
 * The state of other ranks' neurons: see common_ranks.h.
 */
#include <string.h>

#include "common_ranks.h"

/* In the tag of an exchange of state: if another rank exchanges spikes
 * meanwhile, the tags differ, which is an error. */
#define TAG_STATE (UINT64_C(1) << 60)

void vly_common_move_words(vly_common_words *w, uint32_t *own, uint64_t n)
{
    if (w->in && w->n + n > w->end)
        w->bad = true;
    if (w->in && !w->bad && n > 0)
        memcpy(own, w->in + w->n, n * sizeof *own);
    if (w->out && n > 0)
        memcpy(w->out + w->n, own, n * sizeof *own);
    w->n += n;
}

void vly_common_move_synapses(const vly_projection_desc *map,
                              uint32_t n_sources, uint32_t first, uint32_t end,
                              int32_t *master, int32_t *eligibility,
                              vly_common_words *w)
{
    for (uint32_t k = 0; k < n_sources; k++) {
        uint64_t low;
        uint64_t high;
        vly_common_row_piece(map, k, first, end, &low, &high);
        vly_common_move_words(w, (uint32_t *)master + low, high - low);
        if (eligibility)
            vly_common_move_words(w, (uint32_t *)eligibility + low, high - low);
    }
}

void vly_common_move_state(const vly_common_rank_net *r, uint32_t rank,
                           uint32_t *state, vly_common_words *w)
{
    for (uint32_t a = 0; a < r->desc->n_areas; a++) {
        const vly_area_desc *area = vly_common_area_desc(r->desc, a);
        uint32_t low;
        uint32_t high;
        if (vly_common_ranks_part(r->to, rank, area, &low, &high))
            for (uint32_t f = 0; f < area->n_fields; f++)
                vly_common_move_words(w,
                                      state + (uint64_t)f * area->n_neurons +
                                          (low - area->first),
                                      high - low);
        state += (uint64_t)area->n_fields * area->n_neurons;
    }
}

vly_status vly_common_ranks_refresh(vly_common_rank_net *r, uint64_t burst,
                                    void (*move)(void *arg, uint32_t rank,
                                                 vly_common_words *w),
                                    void *arg, vly_error *error)
{
    const vly_ranks *to = r->to;
    const vly_piece *pieces = NULL;
    vly_common_heap heap = {.bytes = 0};
    vly_common_words mine = {.n = 0};
    vly_status status = VLY_OK;
    if (!to || !r->stale)
        return VLY_OK;
    move(arg, to->rank, &mine);
    VLY_TRY(
        vly_common_alloc(&heap, mine.n, sizeof *mine.out, &mine.out, error));
    mine.n = 0;
    move(arg, to->rank, &mine);
    VLY_TRY(to->gather(to->context, TAG_STATE | burst, mine.out,
                       mine.n * sizeof *mine.out, &pieces, error));
    for (uint32_t rank = 0; rank < to->n_ranks; rank++) {
        vly_common_words others = {.in = pieces[rank].data,
                                   .end = pieces[rank].n_bytes /
                                          sizeof *others.in};
        if (rank == to->rank)
            continue;
        move(arg, rank, &others);
        if (others.bad || others.n != others.end)
            VLY_TRY(vly_support_fail(error, VLY_E_DEVICE,
                                     "%s: rank %u sent a state of another size",
                                     vly_support_plugin, rank));
    }
    r->stale = 0;
out:
    vly_common_release_all(&heap);
    return status;
}
