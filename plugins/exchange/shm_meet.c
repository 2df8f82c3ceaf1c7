/* SPDX-License-Identifier: Apache-2.0
 * All ranks come together: each opens the file, which may be one that an
 * earlier job left, enters its record, and waits for the others.
 */
#include "shm_link.h"

#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "plugins/support/support_version.h"

enum { MOST_OLD_FILES = 100 };

static uint64_t pages(uint64_t bytes)
{
    return (bytes + SHM_PAGE - 1) / SHM_PAGE * SHM_PAGE;
}

static uint64_t claim_of(const vly_exchange_link *link)
{
    return (uint64_t)SHM_LAYOUT << 32 | link->n_ranks;
}

static void remove_name(const vly_exchange_link *link)
{
    if (!shm_file_guard(link))
        return;
    shm_file_unlink(link);
    shm_file_unguard(link);
}

/* The header alone: another layout, or number of ranks, has another rest. */
static vly_status claim(vly_exchange_link *link, vly_error *error)
{
    uint64_t found = 0;
    vly_status status = VLY_OK;
    VLY_TRY(shm_file_reserve(link, 0, SHM_PAGE, error));
    link->memory_bytes = SHM_PAGE;
    link->memory = shm_file_map(link, 0, SHM_PAGE, error);
    if (!link->memory)
        return VLY_E_DEVICE;
    link->header = link->memory;
    if (shm_is_aborted(link)) {
        remove_name(link);
        return shm_say_aborted(link, error);
    }
    if (atomic_compare_exchange_strong(&link->header->claim, &found,
                                       claim_of(link)) ||
        found == claim_of(link))
        return VLY_OK;
    if (found >> 32 != SHM_LAYOUT)
        return shm_fail(link, VLY_E_DEVICE, error,
                        "rank %u has version " VLY_SUPPORT_VERSION
                        " of the plugin, which has layout %d of the shared "
                        "memory; that of the other ranks has layout %u",
                        link->rank, SHM_LAYOUT, (uint32_t)(found >> 32));
    return shm_fail(link, VLY_E_DEVICE, error,
                    "rank %u was started as one of %u ranks, others as one of "
                    "%u",
                    link->rank, link->n_ranks, (uint32_t)found);
out:
    return status;
}

static vly_status map_all(vly_exchange_link *link, vly_error *error)
{
    const uint64_t ranks_at = SHM_PAGE;
    const uint64_t buffers_at =
        ranks_at + pages(link->n_ranks * sizeof(shm_rank));
    const uint64_t bytes = buffers_at + 2 * link->n_ranks * sizeof(shm_buffer);
    uint64_t none = 0;
    vly_status status = VLY_OK;
    VLY_TRY(shm_file_reserve(link, 0, bytes, error));
    unsigned char *memory = shm_file_map(link, 0, bytes, error);
    if (!memory)
        return VLY_E_NOMEM;
    munmap(link->memory, link->memory_bytes);
    link->memory = memory;
    link->memory_bytes = bytes;
    link->header = link->memory;
    link->ranks = (void *)(memory + ranks_at);
    link->buffers = (void *)(memory + buffers_at);
    (void)atomic_compare_exchange_strong(&link->header->end, &none, bytes);
out:
    return status;
}

static void leave_file(vly_exchange_link *link)
{
    shm_file_close(link);
    link->header = NULL;
    link->ranks = NULL;
    link->buffers = NULL;
}

/* An earlier job left the file: one of its ranks has ended. */
static bool is_old(const vly_exchange_link *link)
{
    if (atomic_load(&link->ranks[link->rank].joined) != 0)
        return true; /* and this process has the lock */
    for (uint32_t r = 0; r < link->n_ranks; r++)
        if (atomic_load(&link->ranks[r].joined) != 0 &&
            shm_file_is_dead(link, r))
            return true;
    return false;
}

/* Enters the record of this rank; the last one removes the name. */
static void join(vly_exchange_link *link)
{
    shm_rank *own = &link->ranks[link->rank];
    own->process = getpid();
    own->abi_version = vly_support_host->abi_version;
    snprintf(own->version, sizeof own->version, "%s", VLY_SUPPORT_VERSION);
    for (uint32_t i = 0; i < 2; i++)
        link->buffers[2 * link->rank + i].capacity = SHM_INLINE;
    shm_wake(link, &own->joined, 1);
    if (atomic_fetch_add(&link->header->n_joined, 1) + 1 == link->n_ranks)
        shm_file_unlink(link);
}

/* Joins the file, or replaces that of an earlier job; under the guard, since
 * each looks at the locks of the others. */
static vly_status join_or_replace(vly_exchange_link *link, bool *has_joined,
                                  vly_error *error)
{
    if (!shm_file_is_named(link)) {
        /* another rank has replaced it */
    } else if (!shm_file_lock(link)) {
        return vly_support_fail(
            error, VLY_E_DEVICE,
            "exchange shm: there is a rank %u in %s already, process %d",
            link->rank, link->name, (int)link->ranks[link->rank].process);
    } else if (is_old(link)) {
        shm_file_unlink(link);
    } else {
        join(link);
        *has_joined = true;
    }
    return VLY_OK;
}

static vly_status try_file(vly_exchange_link *link, bool *has_joined,
                           vly_error *error)
{
    vly_status status = VLY_OK;
    VLY_TRY(shm_file_open(link, error));
    VLY_TRY(claim(link, error));
    VLY_TRY(map_all(link, error));
    if (!shm_file_guard(link))
        return vly_support_fail(error, VLY_E_DEVICE,
                                "exchange shm: a rank that opens %s stopped "
                                "there for %llu ms",
                                link->name,
                                (unsigned long long)link->timeout_ns / 1000000);
    VLY_TRY(join_or_replace(link, has_joined, error));
    shm_file_unguard(link);
    if (!*has_joined)
        leave_file(link);
out:
    return status;
}

static bool is_absent(const void *context, uint32_t rank)
{
    const vly_exchange_link *link = context;
    return atomic_load(&link->ranks[rank].joined) == 0;
}

static vly_status wait_all(vly_exchange_link *link, vly_error *error)
{
    vly_status status = VLY_OK;
    uint64_t left_ns = link->timeout_ns;
    for (uint32_t r = 0; r < link->n_ranks; r++) {
        const shm_wait wait = {&link->ranks[r].joined, 1, r, is_absent, false};
        VLY_TRY(shm_wait_for(link, &wait, &left_ns, error));
    }
out:
    return status;
}

static vly_status compare_versions(vly_exchange_link *link, vly_error *error)
{
    const shm_rank *first = &link->ranks[0];
    for (uint32_t r = 1; r < link->n_ranks; r++) {
        const shm_rank *other = &link->ranks[r];
        if (other->abi_version != first->abi_version ||
            strncmp(other->version, first->version, sizeof first->version) != 0)
            return shm_fail(
                link, VLY_E_DEVICE, error,
                "rank %u runs version %.31s (ABI 1.%u), rank 0 version %.31s "
                "(ABI 1.%u)",
                r, other->version, other->abi_version & 0xffffu, first->version,
                first->abi_version & 0xffffu);
    }
    return VLY_OK;
}

vly_status shm_meet(vly_exchange_link *link, vly_error *error)
{
    vly_status status = VLY_OK;
    bool has_joined = false;
    for (int i = 0; i < MOST_OLD_FILES && !has_joined; i++)
        VLY_TRY(try_file(link, &has_joined, error));
    if (!has_joined)
        return vly_support_fail(error, VLY_E_DEVICE,
                                "exchange shm: %s is used by ranks that end "
                                "again and again; wanted a name of this job's "
                                "own",
                                link->name);
    status = wait_all(link, error);
    if (status != VLY_OK) {
        remove_name(link);
        return status;
    }
    status = compare_versions(link, error);
out:
    return status;
}
