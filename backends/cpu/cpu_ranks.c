/* SPDX-License-Identifier: Apache-2.0
 * Which neurons are this rank's, and the state of those that are not: see
 * cpu_ranks.h.
 */
#include "cpu_ranks.h"

#include <string.h>

#include "cpu_learning.h"

/* In the tag of an exchange of state: if another rank exchanges spikes
 * meanwhile, the tags differ, which is an error. */
#define TAG_STATE (UINT64_C(1) << 60)

void vly_cpu_ranks_own(const vly_net_desc *desc, uint32_t *low, uint32_t *high)
{
    const vly_ranks *ranks = vly_common_ranks(desc);
    *low = ranks ? ranks->first[ranks->rank] : 0;
    *high = ranks ? ranks->first[ranks->rank + 1] : desc->n_neurons;
}

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

/* ---- state -------------------------------------------------------------- */

/* Words of one rank, read or written one after the other. */
typedef struct words {
    uint32_t *out;      /* NULL: counted only, or read */
    const uint32_t *in; /* NULL: written */
    uint64_t n;
    uint64_t end; /* of in */
    bool bad;
} words;

static void move_words(words *w, uint32_t *own, uint64_t n)
{
    if (w->in && w->n + n > w->end)
        w->bad = true;
    if (w->in && !w->bad && n > 0)
        memcpy(own, w->in + w->n, n * sizeof *own);
    if (w->out && n > 0)
        memcpy(w->out + w->n, own, n * sizeof *own);
    w->n += n;
}

static void move_fields(vly_backend_net *net, uint32_t rank, words *w)
{
    const uint32_t *first = net->ranks.to->first;
    for (uint32_t a = 0; a < net->n_areas; a++) {
        vly_cpu_area *area = &net->areas[a];
        uint32_t end = area->first + area->n;
        uint32_t low = first[rank] > area->first ? first[rank] : area->first;
        uint32_t high = first[rank + 1] < end ? first[rank + 1] : end;
        for (uint32_t f = 0; low < high && f < area->model->n_fields; f++)
            move_words(w, area->field[f] + (low - area->first), high - low);
    }
}

/* The synapses of a rank in each row: rows ascend by target. */
static void move_synapses(vly_backend_net *net, const vly_cpu_learning *l,
                          uint32_t rank, words *w)
{
    const uint32_t *first = net->ranks.to->first;
    const vly_projection_desc *map = l->t.projection;
    for (uint32_t k = 0; k < l->t.n_sources; k++) {
        const uint32_t *target = map->target + map->row[k];
        const uint64_t n = map->row[k + 1] - map->row[k];
        const uint64_t low =
            map->row[k] + vly_cpu_lower_bound(target, n, first[rank]);
        const uint64_t high =
            map->row[k] + vly_cpu_lower_bound(target, n, first[rank + 1]);
        move_words(w, (uint32_t *)l->master + low, high - low);
        if (l->eligibility)
            move_words(w, (uint32_t *)l->eligibility + low, high - low);
    }
}

static void move_rank(vly_backend_net *net, uint32_t rank, words *w)
{
    move_fields(net, rank, w);
    for (uint32_t n = 0; n < net->n_learning; n++)
        move_synapses(net, &net->learning[n], rank, w);
}

vly_status vly_cpu_ranks_refresh(vly_backend_net *net, vly_error *error)
{
    const vly_ranks *to = net->ranks.to;
    const vly_piece *pieces = NULL;
    vly_common_heap heap = {.bytes = 0};
    words mine = {.n = 0};
    vly_status status = VLY_OK;
    if (!to || !net->ranks.stale)
        return VLY_OK;
    vly_cpu_learning_flush(net);
    move_rank(net, to->rank, &mine);
    VLY_TRY(
        vly_common_alloc(&heap, mine.n, sizeof *mine.out, &mine.out, error));
    mine.n = 0;
    move_rank(net, to->rank, &mine);
    VLY_TRY(to->gather(to->context, TAG_STATE | net->burst, mine.out,
                       mine.n * sizeof *mine.out, &pieces, error));
    for (uint32_t r = 0; r < to->n_ranks; r++) {
        words others = {.in = pieces[r].data,
                        .end = pieces[r].n_bytes / sizeof *others.in};
        if (r == to->rank)
            continue;
        move_rank(net, r, &others);
        if (others.bad || others.n != others.end)
            VLY_TRY(vly_support_fail(
                error, VLY_E_DEVICE,
                "cpu: rank %u sent a state of another size", r));
    }
    net->ranks.stale = false;
out:
    vly_common_release_all(&heap);
    return status;
}
