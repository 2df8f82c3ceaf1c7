/* SPDX-License-Identifier: Apache-2.0
 * One gather: the slots of all ranks, and what did not fit into them.
 */
#include "mpi_link.h"

#include <limits.h>
#include <string.h>

/* Up to here in one MPI_Iallgatherv, whose sizes and places are ints; above,
 * rank after rank, where such a call gains nothing. */
#define REST_AT_ONCE UINT64_C(8388608)
#define BROADCAST_MOST UINT64_C(67108864)
enum { SMALL_IN_TURN = 256, PIECE_ALIGN = 64 };

static mpi_head head_of(const vly_exchange_link *link, uint32_t rank)
{
    mpi_head head;
    memcpy(&head, link->slots + (size_t)rank * link->slot, sizeof head);
    return head;
}

static bool fits(const vly_exchange_link *link, uint64_t n_bytes)
{
    return n_bytes <= link->slot - MPI_HEAD;
}

static uint64_t aligned(uint64_t bytes)
{
    return (bytes + PIECE_ALIGN - 1) / PIECE_ALIGN * PIECE_ALIGN;
}

static vly_status gather_slots(vly_exchange_link *link, const void *mine,
                               uint64_t n_bytes, uint64_t *left_ns,
                               vly_error *error)
{
    mpi_handle request;
    const mpi_head head = {link->tag, n_bytes};
    unsigned char *own = link->slots + (size_t)link->rank * link->slot;
    vly_status status = VLY_OK;
    memcpy(own, &head, sizeof head);
    if (n_bytes != 0 && fits(link, n_bytes))
        memcpy(own + MPI_HEAD, mine, n_bytes);
    VLY_TRY(mpi_check(
        link,
        link->calls->gather(link->slots, (int)link->slot, link->data, &request),
        "MPI_Iallgather", error));
    status = mpi_wait(link, &request, left_ns, error);
out:
    return status;
}

/* Errors  E_DEVICE a rank has closed its link; E_INVALID tags differ */
static vly_status check_tags(vly_exchange_link *link, vly_error *error)
{
    const uint64_t first = head_of(link, 0).tag;
    char text[VLY_EXCHANGE_TAG_TEXT];
    for (uint32_t r = 0; r < link->n_ranks; r++)
        if (head_of(link, r).tag == MPI_TAG_CLOSE) {
            link->failed = true;
            link->lost = true;
            return vly_support_fail(error, VLY_E_DEVICE,
                                    "exchange mpi: rank %u closed its link "
                                    "before %s",
                                    r, vly_exchange_tag_text(link->tag, text));
        }
    for (uint32_t r = 1; r < link->n_ranks; r++)
        if (head_of(link, r).tag != first) {
            link->failed = true;
            return vly_exchange_tags_differ(r, head_of(link, r).tag, first,
                                            error);
        }
    return VLY_OK;
}

/* Places of the pieces that did not fit; *total: 0, all did. */
static vly_status place_rest(vly_exchange_link *link, uint64_t *total,
                             vly_error *error)
{
    uint64_t bytes = 0;
    for (uint32_t r = 0; r < link->n_ranks; r++) {
        const uint64_t n = head_of(link, r).n_bytes;
        if (n > INT64_MAX - PIECE_ALIGN || bytes > INT64_MAX - aligned(n))
            return vly_support_fail_memory(n, 0, "", error);
        if (!fits(link, n))
            bytes += aligned(n);
    }
    if (bytes > link->rest_bytes) {
        vly_exchange_free(link->rest);
        link->rest_bytes = 0;
        link->rest = vly_exchange_alloc(bytes + bytes / 4, 1, error);
        if (!link->rest)
            return VLY_E_NOMEM;
        link->rest_bytes = bytes + bytes / 4;
    }
    *total = bytes;
    return VLY_OK;
}

/* Fills pieces; they point into the slots or the rest. */
static void set_pieces(vly_exchange_link *link)
{
    uint64_t at = 0;
    for (uint32_t r = 0; r < link->n_ranks; r++) {
        const uint64_t n = head_of(link, r).n_bytes;
        const bool inside = fits(link, n);
        link->pieces[r] =
            (vly_piece){inside ? link->slots + (size_t)r * link->slot + MPI_HEAD
                               : link->rest + at,
                        n};
        at += inside ? 0 : aligned(n);
    }
}

static vly_status gather_at_once(vly_exchange_link *link, uint64_t *left_ns,
                                 vly_error *error)
{
    mpi_handle request;
    vly_status status = VLY_OK;
    int at = 0;
    for (uint32_t r = 0; r < link->n_ranks; r++) {
        const uint64_t n = link->pieces[r].n_bytes;
        link->counts[r] = fits(link, n) ? 0 : (int)n;
        link->offsets[r] = at;
        at += fits(link, n) ? 0 : (int)aligned(n);
    }
    VLY_TRY(mpi_check(link,
                      link->calls->gather_sizes(link->rest, link->counts,
                                                link->offsets, link->data,
                                                &request),
                      "MPI_Iallgatherv", error));
    status = mpi_wait(link, &request, left_ns, error);
out:
    return status;
}

static vly_status broadcast_each(vly_exchange_link *link, uint64_t *left_ns,
                                 vly_error *error)
{
    vly_status status = VLY_OK;
    uint64_t base = 0;
    for (uint32_t r = 0; r < link->n_ranks; r++) {
        const uint64_t n = link->pieces[r].n_bytes;
        if (fits(link, n))
            continue;
        for (uint64_t at = 0; at < n; at += BROADCAST_MOST) {
            mpi_handle request;
            const uint64_t part =
                n - at < BROADCAST_MOST ? n - at : BROADCAST_MOST;
            VLY_TRY(mpi_check(link,
                              link->calls->broadcast(link->rest + base + at,
                                                     (int)part, (int)r,
                                                     link->data, &request),
                              "MPI_Ibcast", error));
            VLY_TRY(mpi_wait(link, &request, left_ns, error));
            /* all were there for this part */
            *left_ns = vly_exchange_limit_ns(link->tag, link->timeout_ns);
        }
        base += aligned(n);
    }
out:
    return status;
}

static vly_status gather_rest(vly_exchange_link *link, const void *mine,
                              uint64_t n_bytes, uint64_t *left_ns,
                              vly_error *error)
{
    uint64_t total = 0;
    vly_status status = VLY_OK;
    VLY_TRY(place_rest(link, &total, error));
    set_pieces(link);
    if (total == 0)
        goto out;
    if (!fits(link, n_bytes)) {
        /* in the rest, which this link owns */
        const unsigned char *own = link->pieces[link->rank].data;
        memcpy(link->rest + (own - link->rest), mine, n_bytes);
    }
    status = total <= REST_AT_ONCE ? gather_at_once(link, left_ns, error)
                                   : broadcast_each(link, left_ns, error);
out:
    return status;
}

/* The next slot: large enough for what came now; half as large once nothing
 * has needed a quarter of it for a while. All ranks see the same sizes. */
static void adapt(vly_exchange_link *link)
{
    uint64_t most = 0;
    for (uint32_t r = 0; r < link->n_ranks; r++)
        if (link->pieces[r].n_bytes > most)
            most = link->pieces[r].n_bytes;
    const uint64_t needed = most + MPI_HEAD;
    if (needed > link->slot) {
        while (link->slot < needed && link->slot < link->slot_most)
            link->slot *= 2;
        link->n_small = 0;
        return;
    }
    link->n_small = needed <= link->slot / 4 ? link->n_small + 1 : 0;
    if (link->n_small >= SMALL_IN_TURN && link->slot > MPI_SLOT_FIRST) {
        link->slot /= 2;
        link->n_small = 0;
    }
}

/* While rank 0 idles the others wait without a limit; once it comes, its own
 * wait has one. */
static uint64_t limit_of(const vly_exchange_link *link)
{
    if ((link->tag & VLY_EXCHANGE_RANK_0_IDLES) != 0 && link->rank != 0)
        return UINT64_MAX;
    return vly_exchange_limit_ns(link->tag, link->timeout_ns);
}

static vly_status gather_locked(vly_exchange_link *link, const void *mine,
                                uint64_t n_bytes, vly_error *error)
{
    uint64_t left_ns = limit_of(link);
    vly_status status = VLY_OK;
    VLY_TRY(gather_slots(link, mine, n_bytes, &left_ns, error));
    VLY_TRY(check_tags(link, error));
    VLY_TRY(gather_rest(link, mine, n_bytes, &left_ns, error));
    adapt(link); /* for the next gather; the pieces stay where they are */
out:
    return status;
}

vly_status mpi_gather(vly_exchange_link *link, uint64_t tag, const void *mine,
                      uint64_t n_bytes, const vly_piece **pieces,
                      vly_error *error)
{
    vly_status status = VLY_OK;
    vly_error own = {.struct_size = sizeof own};
    VLY_TRY(vly_exchange_gather_check(link, link && link->failed, mine, n_bytes,
                                      pieces, error));
    if (link->one_thread && !pthread_equal(pthread_self(), link->thread))
        return vly_support_fail(error, VLY_E_UNSUPPORTED,
                                "exchange mpi: %s allows calls of the thread "
                                "that opened it only",
                                link->library);
    if (tag == MPI_TAG_CLOSE)
        return vly_support_fail(error, VLY_E_INVALID,
                                "exchange mpi: tag %llu is that of the end",
                                (unsigned long long)tag);
    pthread_mutex_lock(&link->calling);
    link->tag = tag;
    status = gather_locked(link, mine, n_bytes, &own);
    if (status == VLY_OK) {
        link->n_gathers++;
        link->n_bytes += n_bytes;
        *pieces = link->pieces;
    } else if (!link->failed) {
        /* no memory: others wait for this rank */
        mpi_abort(link, own.message);
        link->failed = true;
    }
    mpi_tell_abort(link);
    pthread_mutex_unlock(&link->calling);
    if (status != VLY_OK && error)
        *error = own;
out:
    return status;
}

bool mpi_gather_last(vly_exchange_link *link)
{
    uint64_t left_ns = link->timeout_ns;
    bool all = true;
    link->tag = MPI_TAG_CLOSE;
    if (gather_slots(link, NULL, 0, &left_ns, NULL) != VLY_OK)
        return false;
    for (uint32_t r = 0; r < link->n_ranks; r++)
        all = all && head_of(link, r).tag == MPI_TAG_CLOSE;
    return all;
}
