/* SPDX-License-Identifier: Apache-2.0
 * What ranks send each other at the end of a window: the spikes of its bursts,
 * each burst as ids or as a bit for each neuron of the rank, whichever is
 * shorter. See cpu_ranks.h.
 */
#include "cpu_ranks.h"

#include <string.h>

#include "cpu_learning.h"

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

vly_status vly_cpu_ranks_create(vly_backend_net *net, vly_error *error)
{
    vly_cpu_ranks *r = &net->ranks;
    vly_status status = VLY_OK;
    r->to = vly_common_ranks(net->desc);
    if (!r->to)
        return VLY_OK;
    for (uint32_t a = 0; a < net->n_areas; a++)
        if ((net->areas[a].model->flags & VLY_AREA_FEAGI) != 0)
            r->has_gains = true;
    vly_cpu_ranks_find_window(net);
    VLY_TRY(vly_common_alloc(&net->heap, r->most, sizeof *r->kept, &r->kept,
                             error));
    VLY_TRY(vly_common_alloc(&net->heap, (uint64_t)r->most * (net->n_areas + 1),
                             sizeof *r->row, &r->row, error));
    VLY_TRY(vly_common_alloc(&net->heap, r->to->n_ranks, sizeof *r->reader,
                             &r->reader, error));
out:
    return status;
}

/* ---- this rank's message ------------------------------------------------ */

static uint8_t *put(uint8_t *at, const void *data, uint64_t n_bytes)
{
    if (n_bytes > 0)
        memcpy(at, data, (size_t)n_bytes);
    return at + n_bytes;
}

static uint64_t message_bytes(const vly_backend_net *net)
{
    const vly_cpu_ranks *r = &net->ranks;
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

static void put_bursts(const vly_backend_net *net, uint8_t *at)
{
    const vly_cpu_ranks *r = &net->ranks;
    const uint64_t bits = bit_words(r->to, r->to->rank);
    for (uint32_t k = 0; k < r->n_kept; k++) {
        const vly_cpu_kept *kept = &r->kept[k];
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

static vly_status fill_message(vly_backend_net *net, const vly_run *run,
                               uint64_t *n_bytes, vly_error *error)
{
    vly_cpu_ranks *r = &net->ranks;
    message_head head = {.n_bursts = r->n_kept,
                         .stop = vly_common_run_stopped(run),
                         .room = UINT64_MAX};
    vly_status status = VLY_OK;
    *n_bytes = message_bytes(net);
    if (*n_bytes > r->message_bytes) {
        vly_common_release(&net->heap, r->message);
        r->message = NULL;
        r->message_bytes = 0;
        VLY_TRY(
            vly_common_alloc(&net->heap, 2 * *n_bytes, 1, &r->message, error));
        r->message_bytes = 2 * *n_bytes;
    }
    if (run->spikes_capacity > 0)
        head.room = run->spikes_capacity - run->n_spikes;
    for (uint32_t j = 0; j < net->n_own; j++) {
        head.n_events += net->threads[net->first_own + j].n_events;
        head.n_candidates += net->threads[net->first_own + j].n_candidates;
    }
    put_bursts(net, put(r->message, &head, sizeof head));
    r->stop = 0;
    r->room = UINT64_MAX;
out:
    return status;
}

/* ---- messages of all ranks ---------------------------------------------- */

static vly_status wrong_message(uint32_t rank, vly_error *error)
{
    return vly_support_fail(error, VLY_E_DEVICE,
                            "cpu: rank %u sent spikes that are not of its "
                            "neurons, or not in order",
                            rank);
}

/* NULL: the message is too short. */
static const void *take(vly_cpu_reader *reader, uint64_t n_bytes)
{
    const uint8_t *data = reader->at;
    if (n_bytes > reader->n_bytes)
        return NULL;
    reader->at += n_bytes;
    reader->n_bytes -= n_bytes;
    return data;
}

/* This rank's own numbers too: the flag of a stop may change meanwhile. */
static vly_status open_message(vly_backend_net *net, uint32_t rank,
                               const vly_piece *piece, vly_error *error)
{
    vly_cpu_ranks *r = &net->ranks;
    vly_cpu_reader *reader = &r->reader[rank];
    message_head head;
    *reader = (vly_cpu_reader){.at = piece->data, .n_bytes = piece->n_bytes};
    const void *data = take(reader, sizeof head);
    if (!data)
        return wrong_message(rank, error);
    memcpy(&head, data, sizeof head);
    if (head.status != VLY_OK)
        return vly_support_fail(error, VLY_E_DEVICE,
                                "cpu: rank %u failed before burst %llu", rank,
                                (unsigned long long)r->end);
    if (head.n_bursts != r->n_kept)
        return vly_support_fail(error, VLY_E_DEVICE,
                                "cpu: rank %u sent spikes of %u bursts, wanted "
                                "%u",
                                rank, head.n_bursts, r->n_kept);
    r->stop |= head.stop;
    r->room = head.room < r->room ? head.room : r->room;
    if (rank == r->to->rank)
        return VLY_OK;
    vly_cpu_thread *slice = rank < r->to->rank
                                ? &net->threads[0]
                                : &net->threads[net->first_own + net->n_own];
    slice->n_events += head.n_events;
    slice->n_candidates += head.n_candidates;
    return VLY_OK;
}

/* The head of the next burst of a rank. */
static vly_status open_burst(vly_backend_net *net, uint32_t rank,
                             uint64_t *digest, vly_error *error)
{
    const vly_ranks *to = net->ranks.to;
    vly_cpu_reader *reader = &net->ranks.reader[rank];
    burst_head head;
    const void *data = take(reader, sizeof head);
    if (!data)
        return wrong_message(rank, error);
    memcpy(&head, data, sizeof head);
    if (head.n_fired > to->first[rank + 1] - to->first[rank])
        return wrong_message(rank, error);
    reader->n_fired = head.n_fired;
    reader->as_bits = head.as_bits != 0;
    *digest += head.digest;
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

/* The spikes of the burst that was opened. */
static vly_status take_burst(vly_backend_net *net, uint32_t rank, uint32_t *ids,
                             uint32_t *gains, vly_error *error)
{
    const vly_ranks *to = net->ranks.to;
    vly_cpu_reader *reader = &net->ranks.reader[rank];
    const uint32_t n = reader->n_fired;
    const uint64_t n_words = reader->as_bits ? bit_words(to, rank) : n;
    const uint32_t *words = take(reader, n_words * sizeof *words);
    const uint32_t *own =
        net->ranks.has_gains ? take(reader, n * sizeof *own) : words;
    if (!words || !own)
        return wrong_message(rank, error);
    if (!reader->as_bits)
        memcpy(ids, words, n * sizeof *ids);
    else if (!take_bits(words, n_words, to->first[rank], n, ids))
        return wrong_message(rank, error);
    uint32_t least = to->first[rank];
    for (uint32_t i = 0; i < n; i++) {
        if (ids[i] < least || ids[i] >= to->first[rank + 1])
            return wrong_message(rank, error);
        least = ids[i] + 1;
        gains[i] =
            net->ranks.has_gains ? own[i] : UINT32_C(1) << net->desc->feagi_q;
    }
    return VLY_OK;
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
    const vly_ranks *to = net->ranks.to;
    vly_cpu_fired set = {.total = 0};
    uint64_t digest = 0;
    uint64_t total = 0;
    uint32_t before = 0;
    uint32_t after = 0;
    vly_status status = VLY_OK;
    for (uint32_t r = 0; r < to->n_ranks; r++) {
        VLY_TRY(open_burst(net, r, &digest, error));
        total += net->ranks.reader[r].n_fired;
    }
    set.total = (uint32_t)total;
    VLY_TRY(vly_cpu_history_push(net, set.total, &set.ids, &set.gains, &set.row,
                                 error));
    for (uint32_t r = 0; r < to->n_ranks; r++) {
        const uint32_t n = net->ranks.reader[r].n_fired;
        VLY_TRY(take_burst(net, r, set.ids + before + after,
                           set.gains + before + after, error));
        if (r <= to->rank)
            before += n; /* at last, those of this rank too */
        else
            after += n;
    }
    set.row[0] = 0;
    find_area_ends(net, set.ids, set.total, set.row + 1);
    if (net->first_own > 0)
        end_slice(net, 0, set.ids, before - net->ranks.reader[to->rank].n_fired,
                  burst);
    if (net->first_own + net->n_own < net->n_threads)
        end_slice(net, net->n_threads - 1, set.ids + before, after, burst);
    vly_cpu_give(net, &set, digest, at, run);
    if (net->ranks.room != UINT64_MAX)
        net->ranks.room -= set.total;
out:
    return status;
}

static vly_status exchange(vly_backend_net *net, vly_run *run, uint64_t n_bytes,
                           vly_error *error)
{
    vly_cpu_ranks *r = &net->ranks;
    const vly_piece *pieces = NULL;
    vly_status status = VLY_OK;
    for (uint32_t j = 0; j < net->n_threads; j++)
        if (!vly_cpu_is_own(net, j)) {
            net->threads[j].n_events = 0;
            net->threads[j].n_candidates = 0;
        }
    r->stale = true;
    VLY_TRY(r->to->gather(r->to->context, net->burst, r->message, n_bytes,
                          &pieces, error));
    for (uint32_t k = 0; k < r->to->n_ranks; k++)
        VLY_TRY(open_message(net, k, &pieces[k], error));
    for (uint32_t k = 0; k < r->n_kept; k++)
        VLY_TRY(end_one(net, net->burst + 1 - r->n_kept + k,
                        run->n_bursts_done + 1 - r->n_kept + k, run, error));
    for (uint32_t k = 0; k < r->to->n_ranks; k++)
        if (r->reader[k].n_bytes != 0)
            return wrong_message(k, error);
    r->n_kept = 0;
    r->n_ids = 0;
out:
    return status;
}

/* The others, which come to the end of the window, hear of the failure. */
static void send_failure(const vly_backend_net *net, vly_status why)
{
    const message_head head = {.status = why};
    const vly_ranks *to = net->ranks.to;
    const vly_piece *pieces = NULL;
    (void)to->gather(to->context, net->ranks.end - 1, &head, sizeof head,
                     &pieces, NULL);
}

vly_status vly_cpu_ranks_end_burst(vly_backend_net *net, vly_run *run,
                                   vly_error *error)
{
    const bool ends = net->burst + 1 == net->ranks.end;
    uint64_t n_bytes = 0;
    vly_status status = vly_cpu_ranks_keep(net, error);
    if (status == VLY_OK && ends)
        status = fill_message(net, run, &n_bytes, error);
    if (status != VLY_OK)
        send_failure(net, status);
    else if (ends)
        status = exchange(net, run, n_bytes, error);
    return status;
}
