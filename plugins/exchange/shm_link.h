/* SPDX-License-Identifier: Apache-2.0
 * What the ranks of one host have in shared memory, and what each has for
 * itself.
 *
 * One file in shared memory has everything: a header, a record of each rank,
 * two buffers of each rank, and after them the room of larger pieces, which
 * grows. A file of zeros is its initial state, so whichever rank comes first
 * makes it. Its name is removed once all ranks have opened it: the memory is
 * then freed with the last process, however that ends.
 *
 * A rank writes gather g into its buffer g % 2. Two are enough: the rank begins
 * gather g after gather g - 1 has returned, so all ranks have begun g - 1 and
 * read nothing of g - 2 any more.
 *
 * Each rank locks the byte of the file that has its number (a lock of the open
 * file, F_OFD_SETLK). The kernel drops the lock when the process ends, even one
 * that its parent has not waited for: so others see the end of a rank, in other
 * namespaces too.
 */
#ifndef VOLLEY_SHM_LINK_H
#define VOLLEY_SHM_LINK_H

#include <stdatomic.h>
#include <sys/types.h>

#include "exchange_common.h"

enum {
    SHM_LAYOUT = 1, /* of this file: other layouts are refused */
    SHM_PAGE = 4096,
    SHM_INLINE = SHM_PAGE - 64,
    SHM_NAME = 200,
    SHM_TEXT = 904,
};

/* The same in all layouts. */
typedef struct shm_header {
    _Atomic uint64_t claim; /* layout << 32 | n_ranks; 0: no rank has come */
    _Atomic uint32_t n_joined;
    _Atomic uint32_t aborting; /* 1: a rank writes, or wrote, the text */
    _Atomic uint32_t aborted;  /* 1: the text is there */
    uint32_t aborted_by;
    _Atomic uint64_t end; /* of the file: room that was taken */
    unsigned char reserved[88];
    char text[SHM_TEXT];
} shm_header;

typedef struct shm_rank {
    _Atomic uint32_t joined; /* a futex */
    _Atomic uint32_t closed;
    _Atomic uint32_t sleepers; /* on its futexes */
    int32_t process;
    uint32_t abi_version; /* of the engine */
    char version[32];     /* of the plugin */
    unsigned char reserved[76];
} shm_rank;
VLY_SEAL(shm_rank, 128);

typedef struct shm_buffer {
    _Atomic uint32_t sequence; /* of the gather, from 1; a futex */
    uint32_t reserved;
    uint64_t tag;
    uint64_t n_bytes;
    uint64_t offset; /* of the bytes in the file; 0: they are here */
    uint64_t capacity;
    unsigned char gap[24];
    unsigned char bytes[SHM_INLINE];
} shm_buffer;
VLY_SEAL(shm_buffer, SHM_PAGE);

/* Room in the file as this process sees it. */
typedef struct shm_room {
    uint64_t offset; /* 0: none */
    uint64_t capacity;
    void *memory;
} shm_room;

struct vly_exchange_link {
    int file;
    uint32_t rank;
    uint32_t n_ranks;
    bool failed;
    uint64_t timeout_ns;
    uint64_t spin_ns; /* 0: there are more ranks than cores */
    uint64_t spin_now_ns;
    uint64_t n_waits;
    uint64_t n_gathers;
    uint64_t n_bytes;
    uint64_t waited_ns;
    uint64_t tag; /* of this gather */
    void *memory; /* the file up to the room of larger pieces */
    uint64_t memory_bytes;
    shm_header *header;
    shm_rank *ranks;     /* [n_ranks] */
    shm_buffer *buffers; /* [n_ranks * 2] */
    shm_room *rooms;     /* [n_ranks * 2] */
    vly_piece *pieces;   /* [n_ranks] */
    char name[SHM_NAME + 2];
};

/* ---- shm_file: the file ---------------------------------------------------
 */

/* Opens the file, or makes it. It is no longer than a page.
 * Errors  E_IO, E_DEVICE, E_NOMEM */
vly_status shm_file_open(vly_exchange_link *link, vly_error *error);
/* Closes it and unmaps everything. */
void shm_file_close(vly_exchange_link *link);
/* One rank at a time decides whether it joins the file or replaces it. False:
 * time is over. */
bool shm_file_guard(const vly_exchange_link *link);
void shm_file_unguard(const vly_exchange_link *link);
bool shm_file_is_named(const vly_exchange_link *link);
/* Removes the name, if it is still that of this file; under the guard. */
void shm_file_unlink(const vly_exchange_link *link);
/* Gives the file room; it never becomes shorter.
 * Errors  E_NOMEM, E_IO */
vly_status shm_file_reserve(const vly_exchange_link *link, uint64_t offset,
                            uint64_t n_bytes, vly_error *error);
void *shm_file_map(const vly_exchange_link *link, uint64_t offset,
                   uint64_t n_bytes, vly_error *error);
/* False: another process has this rank. */
bool shm_file_lock(const vly_exchange_link *link);
/* Whether the process of the rank has ended. */
bool shm_file_is_dead(const vly_exchange_link *link, uint32_t rank);

/* ---- shm_meet: all ranks come together ------------------------------------
 */

vly_status shm_meet(vly_exchange_link *link, vly_error *error);

/* ---- shm_wait: futexes ----------------------------------------------------
 */

/* Waits until *word, a futex of the rank, has this value.
 * deadline_ns   (in, out) what is left of the time
 * Errors  E_DEVICE  as in exchange.h; the link has then failed */
typedef struct shm_wait {
    _Atomic uint32_t *word;
    uint32_t wanted;
    uint32_t rank;
    vly_exchange_missing_fn is_missing; /* for the message */
    bool has_tag; /* a gather; otherwise the rank is to come */
} shm_wait;
vly_status shm_wait_for(vly_exchange_link *link, const shm_wait *wait,
                        uint64_t *left_ns, vly_error *error);
/* Sets a word and wakes the ranks that wait for it. */
void shm_wake(vly_exchange_link *link, _Atomic uint32_t *word, uint32_t value);
void shm_wake_all(vly_exchange_link *link, uint32_t rank);
void shm_abort(vly_exchange_link *link, const char *text);
/* Fails the link, and all others with the same sentence. */
vly_status shm_fail(vly_exchange_link *link, vly_status status,
                    vly_error *error, const char *format, ...)
    __attribute__((format(printf, 4, 5)));
bool shm_is_aborted(const vly_exchange_link *link);
vly_status shm_say_aborted(vly_exchange_link *link, vly_error *error);

/* ---- shm_gather -----------------------------------------------------------
 */

vly_status shm_gather(vly_exchange_link *link, uint64_t tag, const void *mine,
                      uint64_t n_bytes, const vly_piece **pieces,
                      vly_error *error);

#endif
