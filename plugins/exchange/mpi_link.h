/* SPDX-License-Identifier: Apache-2.0
 * One rank of a job of MPI.
 *
 * A gather is one MPI_Iallgather of a slot of each rank: tag, size, and the
 * bytes if they fit. What does not fit follows by MPI_Iallgatherv. The size of
 * a slot follows what was seen, by the same rule on all ranks.
 *
 * Nonblocking calls, tested in a loop with a clock: a rank that stops would
 * otherwise stop all others for ever. MPI does not say who is missing. So a
 * rank whose time is over sends a note to all others, by a communicator of its
 * own, and so does each rank that gets one; those that send none are the ones
 * that are missing. abort sends notes with its text.
 */
#ifndef VOLLEY_MPI_LINK_H
#define VOLLEY_MPI_LINK_H

#include <pthread.h>
#include <stdatomic.h>

#include "exchange_common.h"
#include "mpi_calls.h"

enum {
    MPI_LAYOUT = 1, /* of slots, notes and hellos */
    MPI_HEAD = 16,  /* bytes of a slot before those of the piece */
    MPI_SLOT_FIRST = 256,
    MPI_SLOT_MOST = 4096,
    MPI_TEXT = 900,
    MPI_HOST = 64,
};
#define MPI_TAG_CLOSE UINT64_MAX

typedef struct mpi_head {
    uint64_t tag;
    uint64_t n_bytes;
} mpi_head;
VLY_SEAL(mpi_head, MPI_HEAD);

typedef struct mpi_note {
    uint64_t tag;
    uint32_t rank;
    uint32_t is_abort; /* 0: its time is over */
    char text[MPI_TEXT];
    uint32_t reserved;
} mpi_note;
VLY_SEAL(mpi_note, 920);

/* What each rank says of itself at first. */
typedef struct mpi_hello {
    uint32_t layout;
    uint32_t abi_version;
    char version[32];
    char host[MPI_HOST];
} mpi_hello;
VLY_SEAL(mpi_hello, 104);

struct vly_exchange_link {
    const mpi_calls *calls;
    mpi_handle data; /* communicators */
    mpi_handle notes;
    uint32_t rank;
    uint32_t n_ranks;
    uint32_t n_hosts;
    bool is_shared;  /* more ranks on this host than cores */
    bool one_thread; /* the library allows no other than that which opened */
    bool failed;
    bool lost; /* ranks are not in the same place: only MPI_Abort is left */
    bool has_noted; /* notes were sent */
    uint64_t timeout_ns;
    uint64_t n_gathers;
    uint64_t n_bytes;
    uint64_t waited_ns;
    uint64_t tag;
    uint32_t slot;            /* bytes */
    uint32_t slot_most;       /* it never becomes larger */
    uint32_t n_small;         /* gathers in turn that needed a quarter of it */
    unsigned char *slots;     /* [n_ranks * slot_most] */
    unsigned char *rest;      /* what did not fit */
    uint64_t rest_bytes;      /* of that memory */
    int *counts;              /* [n_ranks] */
    int *offsets;             /* [n_ranks] */
    vly_piece *pieces;        /* [n_ranks] */
    mpi_hello *hellos;        /* [n_ranks] */
    uint32_t *hosts;          /* [n_ranks] */
    mpi_handle *sends;        /* [n_ranks] of notes */
    unsigned char *was_heard; /* [n_ranks] a note has come */
    mpi_note own_note;
    pthread_t thread;
    pthread_mutex_t calling;       /* one thread at a time calls MPI */
    _Atomic uint32_t aborting;     /* 1: a thread writes, or wrote, the text */
    _Atomic uint32_t abort_wanted; /* 1: the text is there */
    char abort_text[MPI_TEXT];
    char library[200];
};

/* ---- mpi_wait -------------------------------------------------------------
 */

/* A call of MPI that returned this number. */
vly_status mpi_check(vly_exchange_link *link, int code, const char *what,
                     vly_error *error);
/* Waits for a request, at most for what is left of the time.
 * Errors  E_DEVICE  as in exchange.h; the link is then lost */
vly_status mpi_wait(vly_exchange_link *link, mpi_handle *request,
                    uint64_t *left_ns, vly_error *error);
/* Sends the text of abort to all others, if another thread has called it. The
 * caller has the lock. */
void mpi_tell_abort(vly_exchange_link *link);
void mpi_abort(vly_exchange_link *link, const char *text);

/* ---- mpi_gather -----------------------------------------------------------
 */

vly_status mpi_gather(vly_exchange_link *link, uint64_t tag, const void *mine,
                      uint64_t n_bytes, const vly_piece **pieces,
                      vly_error *error);
/* The last gather of all ranks; false: not all ended with it. */
bool mpi_gather_last(vly_exchange_link *link);

#endif
