/* SPDX-License-Identifier: Apache-2.0
 * Memory of the processor by the host's policy, in the account "host", which
 * also has the pinned memory of devices; and memory that may be reclaimed.
 */
#include <pthread.h>

#include "accel_common.h"
#include "plugins/support/support_account.h"

enum { ALIGN = 256 };

static vly_support_account account; /* all 0 before start and after stop */

/* ---- the allocator ------------------------------------------------------ */

static vly_status raw_alloc(void *context, uint32_t kind, uint64_t bytes,
                            void **memory, vly_error *error)
{
    (void)context;
    (void)kind;
    void *made = vly_support_host->alloc(vly_support_host->context,
                                         bytes > 0 ? bytes : 1, ALIGN);
    if (!made)
        return vly_support_fail_memory(bytes, vly_support_available(), "",
                                       error);
    *memory = made;
    return VLY_OK;
}

static void raw_free(void *context, uint32_t kind, void *memory)
{
    (void)context;
    (void)kind;
    vly_support_host->free(vly_support_host->context, memory);
}

static uint64_t raw_total(void *context)
{
    (void)context;
    return vly_support_total();
}

/* ---- the account -------------------------------------------------------- */

vly_status vly_accel_host_start(const vly_host *host, vly_error *error)
{
    static const vly_device_allocator raw = {.struct_size = sizeof raw,
                                             .device = "host",
                                             .alloc = raw_alloc,
                                             .free = raw_free,
                                             .total = raw_total};
    vly_status status = VLY_OK;
    VLY_TRY(vly_support_start(host, error));
    status = vly_support_account_open(&account, &raw, 0, error);
    if (status != VLY_OK)
        vly_support_stop();
out:
    return status;
}

void vly_accel_host_stop(void)
{
    vly_support_account_close(&account);
    vly_support_stop();
}

vly_status vly_accel_take(uint64_t bytes, uint32_t qos, void **memory,
                          vly_error *error)
{
    bytes = bytes > 0 ? bytes : 1;
    return account.policy ? vly_support_account_take(&account, 0, bytes, qos,
                                                     memory, error)
                          : raw_alloc(NULL, 0, bytes, memory, error);
}

void vly_accel_give(void *memory)
{
    if (!memory)
        return;
    if (account.policy)
        vly_support_account_give(&account, 0, memory);
    else
        raw_free(NULL, 0, memory);
}

/* ---- shared data --------------------------------------------------------- */

/* The lock of all vly_accel_shared; `dropped` does not take it. */
static pthread_mutex_t shared_lock = PTHREAD_MUTEX_INITIALIZER;

/* Nothing to do: the host frees the memory, and the token shows that it is
 * gone. */
static void dropped(void *arg)
{
    (void)arg;
}

/* With the lock held: the shared memory with one more holder; NULL: none, taken
 * back, or too small. */
static void *hold_there(vly_accel_shared *shared, uint64_t bytes)
{
    if (!shared->memory || shared->bytes < bytes)
        return NULL;
    if (account.policy->hold(account.client, shared->memory, shared->token) !=
        0) {
        shared->users++;
        return shared->memory;
    }
    shared->memory = NULL;
    return NULL;
}

vly_status
vly_accel_shared_hold(vly_accel_shared *shared, uint64_t bytes,
                      void (*make)(void *arg, void *memory, uint64_t bytes),
                      void *arg, const void **memory, vly_error *error)
{
    vly_status status = VLY_OK;
    void *block = NULL;
    if (account.policy) {
        pthread_mutex_lock(&shared_lock);
        block = hold_there(shared, bytes);
        pthread_mutex_unlock(&shared_lock);
    }
    if (!block) {
        VLY_TRY(vly_accel_take(bytes, VLY_QOS_BEST_EFFORT, &block, error));
        make(arg, block, bytes);
    }
    *memory = block;
out:
    return status;
}

/* With the lock held: makes the block of this holder the shared one; returns
 * the block that is no longer needed. */
static void *share(vly_accel_shared *shared, void *block, uint64_t bytes)
{
    void *old = shared->memory;
    /* held, so that it is not taken back while it is released */
    if (old && account.policy->hold(account.client, old, shared->token) == 0)
        old = NULL;
    if (old && (shared->users > 0 || shared->bytes >= bytes)) {
        account.policy->release(account.client, old, shared->token);
        return block;
    }
    shared->memory = NULL;
    if (account.policy->reloadable(account.client, block, dropped, NULL,
                                   &shared->token, NULL) != VLY_OK) {
        account.policy->free(account.client, old);
        return block;
    }
    shared->memory = block;
    shared->bytes = bytes;
    return old;
}

void vly_accel_shared_release(vly_accel_shared *shared, const void *memory,
                              uint64_t bytes)
{
    void *block = (void *)(uintptr_t)memory; /* const only for the holder */
    void *unused = block;
    if (!block)
        return;
    if (account.policy) {
        pthread_mutex_lock(&shared_lock);
        if (block == shared->memory && shared->users > 0) {
            shared->users--;
            account.policy->release(account.client, block, shared->token);
            unused = NULL;
        } else {
            unused = share(shared, block, bytes);
        }
        pthread_mutex_unlock(&shared_lock);
    }
    vly_accel_give(unused);
}

void vly_accel_shared_forget(vly_accel_shared *shared)
{
    if (account.policy && shared->memory &&
        account.policy->hold(account.client, shared->memory, shared->token) !=
            0)
        account.policy->free(account.client, shared->memory);
    shared->memory = NULL;
}
