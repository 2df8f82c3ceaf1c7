/* SPDX-License-Identifier: Apache-2.0
 * One gather: this rank's bytes into its buffer, then those of all others.
 */
#define _GNU_SOURCE /* fallocate */
#include "shm_link.h"

#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>

#define ROOM_STEP UINT64_C(65536)

/* The buffer of this gather. */
static shm_buffer *buffer_of(const vly_exchange_link *link, uint32_t rank)
{
    return &link->buffers[2 * rank + (link->n_gathers & 1)];
}

static uint32_t sequence_of(const vly_exchange_link *link)
{
    return (uint32_t)(link->n_gathers + 1);
}

/* The bytes of a buffer as this process sees them; NULL: an error. What was
 * mapped before was of gather g - 2, which no rank reads any more. */
static unsigned char *bytes_of(vly_exchange_link *link, uint32_t rank,
                               vly_error *error)
{
    shm_buffer *buffer = buffer_of(link, rank);
    shm_room *room = &link->rooms[2 * rank + (link->n_gathers & 1)];
    if (buffer->offset == 0)
        return buffer->bytes;
    if (room->offset == buffer->offset && room->capacity == buffer->capacity)
        return room->memory;
    if (room->memory)
        munmap(room->memory, room->capacity);
    *room = (shm_room){0, 0, NULL};
    void *memory = shm_file_map(link, buffer->offset, buffer->capacity, error);
    if (memory)
        *room = (shm_room){buffer->offset, buffer->capacity, memory};
    return memory;
}

/* Room for n_bytes, and for as much again as was needed before, so that a
 * piece that grows byte by byte does not move each time. */
static vly_status grow(vly_exchange_link *link, uint64_t n_bytes,
                       vly_error *error)
{
    shm_buffer *own = buffer_of(link, link->rank);
    vly_status status = VLY_OK;
    uint64_t wanted = n_bytes < 2 * own->capacity ? 2 * own->capacity : n_bytes;
    if (wanted > INT64_MAX - ROOM_STEP)
        return vly_support_fail_memory(n_bytes, 0, " of shared memory", error);
    wanted = (wanted + ROOM_STEP - 1) / ROOM_STEP * ROOM_STEP;
    const uint64_t offset = atomic_fetch_add(&link->header->end, wanted);
    VLY_TRY(shm_file_reserve(link, offset, wanted, error));
    /* the old room is given back; should that fail, it stays unused */
    if (own->offset != 0)
        (void)fallocate(link->file, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE,
                        (off_t)own->offset, (off_t)own->capacity);
    own->offset = offset;
    own->capacity = wanted;
out:
    return status;
}

static vly_status put(vly_exchange_link *link, const void *mine,
                      uint64_t n_bytes, vly_error *error)
{
    shm_buffer *own = buffer_of(link, link->rank);
    vly_status status = VLY_OK;
    if (n_bytes > own->capacity)
        VLY_TRY(grow(link, n_bytes, error));
    unsigned char *bytes = bytes_of(link, link->rank, error);
    if (!bytes)
        return VLY_E_NOMEM;
    if (n_bytes != 0)
        memcpy(bytes, mine, n_bytes);
    own->n_bytes = n_bytes;
    own->tag = link->tag;
    shm_wake(link, &own->sequence, sequence_of(link));
out:
    return status;
}

static bool is_missing(const void *context, uint32_t rank)
{
    const vly_exchange_link *link = context;
    return atomic_load(&buffer_of(link, rank)->sequence) != sequence_of(link);
}

static vly_status get(vly_exchange_link *link, vly_error *error)
{
    vly_status status = VLY_OK;
    uint64_t idle_ns = UINT64_MAX;
    uint64_t left_ns = vly_exchange_limit_ns(link->tag, link->timeout_ns);
    uint32_t differs = 0;
    for (uint32_t r = 0; r < link->n_ranks; r++) {
        const shm_wait wait = {&buffer_of(link, r)->sequence, sequence_of(link),
                               r, is_missing, true};
        const bool idles =
            r == 0 && (link->tag & VLY_EXCHANGE_RANK_0_IDLES) != 0;
        VLY_TRY(shm_wait_for(link, &wait, idles ? &idle_ns : &left_ns, error));
    }
    for (uint32_t r = 1; r < link->n_ranks && differs == 0; r++)
        if (buffer_of(link, r)->tag != buffer_of(link, 0)->tag)
            differs = r;
    if (differs != 0) {
        link->failed = true;
        return vly_exchange_tags_differ(differs, buffer_of(link, differs)->tag,
                                        buffer_of(link, 0)->tag, error);
    }
    for (uint32_t r = 0; r < link->n_ranks; r++) {
        const unsigned char *bytes = bytes_of(link, r, error);
        if (!bytes)
            return VLY_E_NOMEM;
        link->pieces[r] = (vly_piece){bytes, buffer_of(link, r)->n_bytes};
    }
out:
    return status;
}

vly_status shm_gather(vly_exchange_link *link, uint64_t tag, const void *mine,
                      uint64_t n_bytes, const vly_piece **pieces,
                      vly_error *error)
{
    vly_status status = VLY_OK;
    vly_error own = {.struct_size = sizeof own};
    VLY_TRY(vly_exchange_gather_check(link, link && link->failed, mine, n_bytes,
                                      pieces, error));
    if (shm_is_aborted(link))
        return shm_say_aborted(link, error);
    link->tag = tag;
    status = put(link, mine, n_bytes, &own);
    if (status == VLY_OK)
        status = get(link, &own);
    if (status != VLY_OK) {
        /* others wait for this rank: tell them, unless they know */
        if (!link->failed)
            shm_abort(link, own.message);
        link->failed = true;
        if (error)
            *error = own;
        goto out;
    }
    link->n_gathers++;
    link->n_bytes += n_bytes;
    *pieces = link->pieces;
out:
    return status;
}
