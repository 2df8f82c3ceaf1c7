/* SPDX-License-Identifier: Apache-2.0
 * What ranks send each other at the end of a window: the spikes of its bursts,
 * each burst as ids or as a bit for each neuron of the rank, whichever is
 * shorter. See common_ranks.h.
 */
#include "common_ranks.h"

#include <string.h>

/* Begins the message of a rank; then its bursts, one after the other. Events
 * and candidates: of the run so far. */
typedef struct message_head {
    uint64_t n_events;
    uint64_t n_candidates;
    uint64_t room; /* spikes that the caller can still take; all ones: any */
    uint32_t n_bursts;
    uint32_t stop;
    int32_t status;
    uint32_t reserved;
} message_head;

/* Begins a burst; then ids or bits, and gains if an area has gains of its own.
 */
typedef struct burst_head {
    uint64_t digest;
    uint32_t n_fired;
    uint32_t as_bits; /* 0: ids */
} burst_head;

static uint64_t bit_words(const vly_ranks *to, uint32_t rank)
{
    return ((uint64_t)to->first[rank + 1] - to->first[rank] + 31) / 32;
}

/* ---- this rank's message ------------------------------------------------ */

static uint8_t *put(uint8_t *at, const void *data, uint64_t n_bytes)
{
    if (n_bytes > 0)
        memcpy(at, data, (size_t)n_bytes);
    return at + n_bytes;
}

static uint64_t message_bytes(const vly_common_rank_net *r)
{
    uint64_t n = sizeof(message_head);
    const uint64_t bits = bit_words(r->to, r->to->rank);
    for (uint32_t k = 0; k < r->n_kept; k++)
        n += sizeof(burst_head) +
             sizeof(uint32_t) * ((r->kept[k].n < bits ? r->kept[k].n : bits) +
                                 (r->has_gains ? r->kept[k].n : 0));
    return n;
}

static uint8_t *put_bits(uint8_t *at, const uint32_t *ids, uint32_t n,
                         uint32_t first, uint64_t n_words)
{
    uint32_t *words = (uint32_t *)at;
    memset(words, 0, (size_t)n_words * sizeof *words);
    for (uint32_t i = 0; i < n; i++)
        words[(ids[i] - first) / 32] |= UINT32_C(1) << ((ids[i] - first) & 31);
    return at + n_words * sizeof *words;
}

static void put_bursts(const vly_common_rank_net *r, uint8_t *at)
{
    const uint64_t bits = bit_words(r->to, r->to->rank);
    for (uint32_t k = 0; k < r->n_kept; k++) {
        const vly_common_kept *kept = &r->kept[k];
        const uint64_t bytes = kept->n * sizeof(uint32_t);
        const burst_head head = {.digest = kept->digest,
                                 .n_fired = kept->n,
                                 .as_bits = kept->n > bits};
        at = put(at, &head, sizeof head);
        if (head.as_bits)
            at = put_bits(at, r->ids + kept->first, kept->n,
                          r->to->first[r->to->rank], bits);
        else
            at = put(at, r->ids + kept->first, bytes);
        if (r->has_gains)
            at = put(at, r->gains + kept->first, bytes);
    }
}

static vly_status fill_message(vly_common_rank_net *r, const vly_run *run,
                               const vly_common_rank_work *work,
                               uint64_t *n_bytes, vly_error *error)
{
    const message_head head = {
        .n_events = work->n_events,
        .n_candidates = work->n_candidates,
        .n_bursts = r->n_kept,
        .stop = vly_common_run_stopped(run),
        .room = run->spikes_capacity > 0 ? run->spikes_capacity - run->n_spikes
                                         : UINT64_MAX};
    vly_status status = VLY_OK;
    *n_bytes = message_bytes(r);
    if (*n_bytes > r->message_bytes) {
        vly_common_release(r->heap, r->message);
        r->message = NULL;
        r->message_bytes = 0;
        VLY_TRY(vly_common_alloc(r->heap, 2 * *n_bytes, 1, &r->message, error));
        r->message_bytes = 2 * *n_bytes;
    }
    put_bursts(r, put(r->message, &head, sizeof head));
out:
    return status;
}

/* ---- messages of all ranks ---------------------------------------------- */

static vly_status wrong_message(uint32_t rank, vly_error *error)
{
    return vly_support_fail(error, VLY_E_DEVICE,
                            "%s: rank %u sent spikes that are not of its "
                            "neurons, or not in order",
                            vly_support_plugin, rank);
}

/* NULL: the message is too short. */
static const void *take(vly_common_rank_reader *reader, uint64_t n_bytes)
{
    const uint8_t *data = reader->at;
    if (n_bytes > reader->n_bytes)
        return NULL;
    reader->at += n_bytes;
    reader->n_bytes -= n_bytes;
    return data;
}

/* This rank's own numbers too: the flag of a stop may change meanwhile. */
static vly_status open_message(vly_common_rank_net *r, uint32_t rank,
                               const vly_piece *piece, vly_error *error)
{
    vly_common_rank_reader *reader = &r->reader[rank];
    message_head head;
    *reader =
        (vly_common_rank_reader){.at = piece->data, .n_bytes = piece->n_bytes};
    const void *data = take(reader, sizeof head);
    if (!data)
        return wrong_message(rank, error);
    memcpy(&head, data, sizeof head);
    if (head.status != VLY_OK)
        return vly_support_fail(
            error, VLY_E_DEVICE, "%s: rank %u failed before burst %llu",
            vly_support_plugin, rank, (unsigned long long)r->end);
    if (head.n_bursts != r->n_kept)
        return vly_support_fail(error, VLY_E_DEVICE,
                                "%s: rank %u sent spikes of %u bursts, wanted "
                                "%u",
                                vly_support_plugin, rank, head.n_bursts,
                                r->n_kept);
    r->stop |= head.stop;
    r->room = head.room < r->room ? head.room : r->room;
    if (rank == r->to->rank)
        return VLY_OK;
    r->n_events += head.n_events;
    r->n_candidates += head.n_candidates;
    return VLY_OK;
}

vly_status vly_common_ranks_exchange(vly_common_rank_net *r, const vly_run *run,
                                     const vly_common_rank_work *work,
                                     vly_error *error)
{
    const vly_piece *pieces = NULL;
    uint64_t n_bytes = 0;
    vly_status status = fill_message(r, run, work, &n_bytes, error);
    if (status != VLY_OK) {
        vly_common_ranks_fail(r, status);
        return status;
    }
    r->stop = 0;
    r->room = UINT64_MAX;
    r->n_events = 0;
    r->n_candidates = 0;
    r->stale = 1;
    VLY_TRY(r->to->gather(r->to->context, r->end - 1, r->message, n_bytes,
                          &pieces, error));
    for (uint32_t k = 0; k < r->to->n_ranks; k++)
        VLY_TRY(open_message(r, k, &pieces[k], error));
out:
    return status;
}

vly_status vly_common_ranks_open(vly_common_rank_net *r, uint32_t *n_fired,
                                 uint64_t *digest, vly_error *error)
{
    const vly_ranks *to = r->to;
    uint64_t total = 0;
    uint64_t sum = 0;
    for (uint32_t rank = 0; rank < to->n_ranks; rank++) {
        vly_common_rank_reader *reader = &r->reader[rank];
        burst_head head;
        const void *data = take(reader, sizeof head);
        if (!data)
            return wrong_message(rank, error);
        memcpy(&head, data, sizeof head);
        if (head.n_fired > to->first[rank + 1] - to->first[rank])
            return wrong_message(rank, error);
        reader->n_fired = head.n_fired;
        reader->as_bits = head.as_bits != 0;
        total += head.n_fired;
        sum += head.digest;
    }
    *n_fired = (uint32_t)total;
    *digest = sum;
    if (r->room != UINT64_MAX)
        r->room -= total < r->room ? total : r->room;
    return VLY_OK;
}

/* false: not n bits, or one of another rank's neuron. */
static bool take_bits(const uint32_t *words, uint64_t n_words, uint32_t first,
                      uint32_t n, uint32_t *ids)
{
    uint32_t n_taken = 0;
    for (uint64_t w = 0; w < n_words; w++)
        for (uint32_t word = words[w]; word != 0; word &= word - 1) {
            if (n_taken == n)
                return false;
            ids[n_taken++] =
                first + (uint32_t)(32 * w) + (uint32_t)__builtin_ctz(word);
        }
    return n_taken == n;
}

vly_status vly_common_ranks_take(vly_common_rank_net *r, uint32_t rank,
                                 uint32_t *ids, uint32_t *gains,
                                 vly_error *error)
{
    const vly_ranks *to = r->to;
    vly_common_rank_reader *reader = &r->reader[rank];
    const uint32_t n = reader->n_fired;
    const uint64_t n_words = reader->as_bits ? bit_words(to, rank) : n;
    const uint32_t *words = take(reader, n_words * sizeof *words);
    const uint32_t *own = r->has_gains ? take(reader, n * sizeof *own) : words;
    if (!words || !own)
        return wrong_message(rank, error);
    if (!reader->as_bits && n > 0) /* without spikes there may be no ids yet */
        memcpy(ids, words, n * sizeof *ids);
    if (reader->as_bits && !take_bits(words, n_words, to->first[rank], n, ids))
        return wrong_message(rank, error);
    uint32_t least = to->first[rank];
    for (uint32_t i = 0; i < n; i++) {
        if (ids[i] < least || ids[i] >= to->first[rank + 1])
            return wrong_message(rank, error);
        least = ids[i] + 1;
    }
    for (uint32_t i = 0; gains && i < n; i++)
        gains[i] = r->has_gains ? own[i] : UINT32_C(1) << r->desc->feagi_q;
    return VLY_OK;
}

vly_status vly_common_ranks_close(vly_common_rank_net *r, vly_error *error)
{
    for (uint32_t k = 0; k < r->to->n_ranks; k++)
        if (r->reader[k].n_bytes != 0)
            return wrong_message(k, error);
    r->n_kept = 0;
    r->n_ids = 0;
    return VLY_OK;
}

void vly_common_ranks_fail(const vly_common_rank_net *r, vly_status why)
{
    const message_head head = {.status = why};
    const vly_ranks *to = r->to;
    const vly_piece *pieces = NULL;
    (void)to->gather(to->context, r->end - 1, &head, sizeof head, &pieces,
                     NULL);
}
