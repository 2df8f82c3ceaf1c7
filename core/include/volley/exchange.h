/* SPDX-License-Identifier: Apache-2.0
 * volley.exchange/1: ranks of one network exchange what they have.
 *
 * A rank is one of n_ranks processes (or threads, in tests) that run the same
 * network together, each for its own neurons. All that ranks send each other
 * goes through one operation, `gather`: every rank gives some bytes, every rank
 * gets the bytes of all. A plugin implements it over shared memory, MPI, ...
 */
#ifndef VOLLEY_EXCHANGE_H
#define VOLLEY_EXCHANGE_H

#include <volley/plugin.h>

#ifdef __cplusplus
extern "C" {
#endif

#define VLY_EXCHANGE_INTERFACE "volley.exchange/1"

#define VLY_EXCHANGE_MAX_RANKS 4096u
/* rank and n_ranks are those of the launcher (mpirun, srun) */
#define VLY_EXCHANGE_OF_LAUNCHER UINT32_MAX

/* In a tag: rank 0 may come as late as it likes, if it lives: it may wait for a
 * user, a disk or a clock. */
#define VLY_EXCHANGE_RANK_0_IDLES (UINT64_C(1) << 63)
/* In a tag: ranks build something before this gather; the limit of the wait is
 * 60 times as long. */
#define VLY_EXCHANGE_SLOW (UINT64_C(1) << 62)

typedef struct vly_exchange_link vly_exchange_link; /* the plugin's own */

typedef struct vly_exchange_spec {
    uint32_t struct_size;
    uint32_t rank;    /* or VLY_EXCHANGE_OF_LAUNCHER in both */
    uint32_t n_ranks; /* at least 1 */
    /* a rank that sends nothing for this long is lost; at least 1 */
    uint32_t timeout_ms;
    /* What the ranks meet by: a name in shared memory, a library of MPI (NULL:
     * that of the launcher). */
    const char *name;
} vly_exchange_spec;
VLY_SEAL(vly_exchange_spec, 24);

typedef struct vly_exchange_info {
    uint32_t struct_size;
    uint32_t rank;
    uint32_t n_ranks;
    uint32_t host;    /* of this rank; hosts are numbered by their first rank */
    uint32_t n_hosts; /* at least 1 */
    uint32_t reserved;
    uint64_t n_gathers;
    uint64_t n_bytes;   /* that this rank gave */
    uint64_t waited_ns; /* for others, in all gathers */
    char text[256];     /* "shared memory", "Open MPI v5.0.11" */
} vly_exchange_info;
VLY_SEAL(vly_exchange_info, 304);

/* A link is used by one thread at a time, which may change between two calls.
 * All ranks make the same calls in the same order. */
typedef struct vly_exchange {
    uint32_t struct_size;
    uint32_t reserved_flags; /* 0 */
    /* Returns once all ranks are there. Errors: E_UNSUPPORTED: not available
     * here (no library, no launcher), with the reason; E_DEVICE: a rank did not
     * come in time, or has another version. */
    vly_status (*open)(const vly_exchange_spec *spec, vly_exchange_link **link,
                       vly_error *error);
    /* NULL is legal. Does not wait for other ranks longer than the timeout. */
    void (*close)(vly_exchange_link *link);
    vly_status (*info)(const vly_exchange_link *link, vly_exchange_info *info,
                       vly_error *error);
    /* Gives n_bytes (0 is legal) and gets pieces[n_ranks], that of this rank
     * too, in the order of ranks. They stay as they are until the next gather
     * of this link. tag: the same on all ranks, for example the burst.
     * Errors: E_INVALID: a rank gave another tag (all ranks get this error);
     * E_DEVICE: a rank sent nothing in time, has ended or aborted: the message
     * names the rank, its host if there are several, and the tag; E_NOMEM.
     * After an error the link can only be closed. */
    vly_status (*gather)(vly_exchange_link *link, uint64_t tag,
                         const void *mine, uint64_t n_bytes,
                         const vly_piece **pieces, vly_error *error);
    /* Ends the waits of all other ranks with this sentence, which names why.
     * [any-thread] */
    void (*abort)(vly_exchange_link *link, const char *text);
    void *reserved[4]; /* NULL */
} vly_exchange;
VLY_SEAL(vly_exchange, 80);

#ifdef __cplusplus
}
#endif
#endif
