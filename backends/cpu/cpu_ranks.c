/* SPDX-License-Identifier: Apache-2.0
 * What ranks send each other: see cpu_ranks.h.
 */
#include "cpu_ranks.h"

#include <string.h>

#include "cpu_learning.h"

/* In the tag of an exchange of state: if another rank exchanges spikes
 * meanwhile, the tags differ, which is an error. */
#define TAG_STATE (UINT64_C(1) << 60)

/* Begins the message of a rank at the end of a burst; then ids, and gains if an
 * area has gains of its own. Events and candidates: of the run so far. */
typedef struct burst_message {
    uint64_t digest;
    uint64_t n_events;
    uint64_t n_candidates;
    uint64_t room; /* spikes that the caller can still take; all ones: any */
    uint32_t n_fired;
    uint32_t stop;
    int32_t status;
    uint32_t reserved;
} burst_message;

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

vly_status vly_cpu_ranks_create(vly_backend_net *net, vly_error *error)
{
    vly_cpu_ranks *r = &net->ranks;
    uint32_t low;
    uint32_t high;
    r->to = vly_common_ranks(net->desc);
    if (!r->to)
        return VLY_OK;
    vly_cpu_ranks_own(net->desc, &low, &high);
    for (uint32_t a = 0; a < net->n_areas; a++)
        if ((net->areas[a].model->flags & VLY_AREA_FEAGI) != 0)
            r->gains = true;
    return vly_common_alloc(&net->heap,
                            sizeof(burst_message) +
                                (uint64_t)(high - low) * 2 * sizeof(uint32_t),
                            1, &r->message, error);
}

/* ---- bursts ------------------------------------------------------------- */

static uint64_t fill_message(vly_backend_net *net, const vly_run *run,
                             vly_status own)
{
    burst_message head = {
        .status = own, .stop = vly_common_run_stopped(run), .room = UINT64_MAX};
    uint32_t *ids = (uint32_t *)(net->ranks.message + sizeof head);
    if ((run->flags & VLY_RUN_RECORD) != 0)
        head.room = run->spikes_capacity - run->n_spikes;
    const vly_cpu_thread *slices = net->threads + net->first_own;
    for (uint32_t j = 0; j < net->n_own; j++) {
        memcpy(ids + head.n_fired, slices[j].fired,
               slices[j].n_fired * sizeof *ids);
        head.n_fired += slices[j].n_fired;
        head.digest += slices[j].digest;
        head.n_events += slices[j].n_events;
        head.n_candidates += slices[j].n_candidates;
    }
    uint32_t *gains = ids + head.n_fired;
    for (uint32_t j = 0; net->ranks.gains && j < net->n_own; j++) {
        memcpy(gains, slices[j].gains, slices[j].n_fired * sizeof *gains);
        gains += slices[j].n_fired;
    }
    memcpy(net->ranks.message, &head, sizeof head);
    /* the same numbers as the other ranks see: the flag may change meanwhile */
    net->ranks.stop = head.stop;
    net->ranks.room = head.room;
    return sizeof head +
           (uint64_t)head.n_fired * sizeof *ids * (net->ranks.gains ? 2 : 1);
}

static vly_status wrong_message(uint32_t rank, vly_error *error)
{
    return vly_support_fail(error, VLY_E_DEVICE,
                            "cpu: rank %u sent spikes that are not of its "
                            "neurons, or not in order",
                            rank);
}

/* Appends the spikes of a rank to the slice that stands for it. */
static vly_status take_message(vly_backend_net *net, uint32_t rank,
                               const vly_piece *piece, vly_error *error)
{
    const vly_ranks *to = net->ranks.to;
    vly_cpu_thread *slice = rank < to->rank
                                ? &net->threads[0]
                                : &net->threads[net->first_own + net->n_own];
    burst_message head;
    if (piece->n_bytes < sizeof head)
        return wrong_message(rank, error);
    memcpy(&head, piece->data, sizeof head);
    if (piece->n_bytes != sizeof head + (uint64_t)head.n_fired *
                                            sizeof(uint32_t) *
                                            (net->ranks.gains ? 2 : 1))
        return wrong_message(rank, error);
    if (head.status != VLY_OK)
        return vly_support_fail(error, VLY_E_DEVICE,
                                "cpu: rank %u failed in burst %llu", rank,
                                (unsigned long long)net->burst);
    const uint32_t *ids =
        (const uint32_t *)((const char *)piece->data + sizeof head);
    uint32_t least = to->first[rank];
    for (uint32_t i = 0; i < head.n_fired; i++) {
        if (ids[i] < least || ids[i] >= to->first[rank + 1])
            return wrong_message(rank, error);
        least = ids[i] + 1;
        slice->fired[slice->n_fired + i] = ids[i];
        slice->gains[slice->n_fired + i] =
            net->ranks.gains ? ids[head.n_fired + i]
                             : UINT32_C(1) << net->desc->feagi_q;
    }
    slice->n_fired += head.n_fired;
    slice->digest += head.digest;
    slice->n_events += head.n_events;
    slice->n_candidates += head.n_candidates;
    net->ranks.stop |= head.stop;
    if (head.room < net->ranks.room)
        net->ranks.room = head.room;
    return VLY_OK;
}

static void clear_slice(vly_cpu_thread *slice)
{
    slice->n_fired = 0;
    slice->digest = 0;
    slice->n_events = 0;
    slice->n_candidates = 0;
}

static void end_slice(vly_backend_net *net, vly_cpu_thread *slice)
{
    uint32_t i = 0;
    for (uint32_t a = 0; a < net->n_areas; a++) {
        uint32_t end = net->areas[a].first + net->areas[a].n;
        while (i < slice->n_fired && slice->fired[i] < end)
            i++;
        slice->area_end[a] = i;
    }
    vly_cpu_learning_fired(net, slice);
}

vly_status vly_cpu_ranks_exchange(vly_backend_net *net, const vly_run *run,
                                  vly_status own, vly_error *error)
{
    const vly_ranks *to = net->ranks.to;
    const vly_piece *pieces = NULL;
    vly_status status = VLY_OK;
    uint64_t n_bytes = fill_message(net, run, own);
    net->ranks.stale = true;
    for (uint32_t j = 0; j < net->n_threads; j++)
        if (!vly_cpu_is_own(net, j))
            clear_slice(&net->threads[j]);
    VLY_TRY(to->gather(to->context, net->burst, net->ranks.message, n_bytes,
                       &pieces, error));
    for (uint32_t r = 0; r < to->n_ranks; r++)
        if (r != to->rank)
            VLY_TRY(take_message(net, r, &pieces[r], error));
    for (uint32_t j = 0; j < net->n_threads; j++)
        if (!vly_cpu_is_own(net, j))
            end_slice(net, &net->threads[j]);
    if (net->ranks.room == UINT64_MAX)
        return own;
    for (uint32_t j = 0; j < net->n_threads; j++)
        net->ranks.room -= net->threads[j].n_fired;
    status = own;
out:
    return status;
}

bool vly_cpu_ranks_go_on(const vly_backend_net *net)
{
    return net->ranks.stop == 0 && net->ranks.room >= net->desc->n_neurons;
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
            status = vly_support_fail(
                error, VLY_E_DEVICE,
                "cpu: rank %u sent a state of another size", r);
        if (status != VLY_OK)
            goto out;
    }
    net->ranks.stale = false;
out:
    vly_common_release_all(&heap);
    return status;
}
