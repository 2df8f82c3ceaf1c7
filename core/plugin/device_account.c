/* SPDX-License-Identifier: Apache-2.0
 * Accounts of devices: clients, limits, statistics. They are slots of a fixed
 * array, like host tables: statistics outlive the plugins, and only open
 * clients are on the heap.
 */
#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "plugin/device_blocks.h"
#include "plugin/host_log.h"

#define N_ACCOUNTS 64
#define N_DEVICE sizeof(((vly_account *)0)->device)

pthread_mutex_t vly_account_lock = PTHREAD_MUTEX_INITIALIZER;
pthread_cond_t vly_account_changed = PTHREAD_COND_INITIALIZER;
uint64_t vly_account_keep = UINT64_C(256) << 20;

static vly_account accounts[N_ACCOUNTS];
static uint32_t n_accounts;
static uint64_t usual_quota = UINT64_MAX; /* of all but the host */

static bool is_host(const char *device)
{
    return strcmp(device, "host") == 0;
}

/* The lock is held. NULL: the name is invalid, or there are too many. */
static vly_account *account_get(const char *device)
{
    size_t n = device ? strnlen(device, N_DEVICE) : 0;
    if (n == 0 || n == N_DEVICE)
        return NULL;
    for (uint32_t i = 0; i < n_accounts; i++)
        if (strcmp(accounts[i].device, device) == 0)
            return &accounts[i];
    if (n_accounts == N_ACCOUNTS)
        return NULL;
    vly_account *account = &accounts[n_accounts++];
    memcpy(account->device, device, n + 1);
    account->quota = is_host(device) ? UINT64_MAX : usual_quota;
    return account;
}

static vly_status no_account(const char *device, vly_error *error)
{
    return vly_fail(error, VLY_E_INVALID,
                    "device memory: device \"%.40s\", wanted a name of 1 to "
                    "%zu characters, and at most %d of them",
                    device ? device : "", N_DEVICE - 1, N_ACCOUNTS);
}

/* ---- clients ------------------------------------------------------------ */

static vly_status allocator_check(const vly_device_allocator *allocator,
                                  vly_device_client **client, vly_error *error)
{
    if (allocator && client &&
        allocator->struct_size >= sizeof(vly_device_allocator) &&
        allocator->alloc && allocator->free)
        return VLY_OK;
    return vly_fail(error, VLY_E_INVALID,
                    "device memory: wanted an allocator of %zu bytes with "
                    "alloc and free, and where to put the client",
                    sizeof(vly_device_allocator));
}

vly_status vly_account_open(const char *user,
                            const vly_device_allocator *allocator,
                            vly_device_client **client, vly_error *error)
{
    vly_status status = VLY_OK;
    VLY_TRY(allocator_check(allocator, client, error));
    vly_device_client *made = vly_calloc(1, sizeof(*made));
    if (!made)
        return vly_fail_nomem(error, sizeof(*made), "device memory");
    pthread_mutex_lock(&vly_account_lock);
    made->account = account_get(allocator->device);
    if (made->account)
        made->account->is_opened = true;
    pthread_mutex_unlock(&vly_account_lock);
    if (!made->account) {
        vly_free(made);
        return no_account(allocator->device, error);
    }
    made->allocator = *allocator;
    made->allocator.device = made->account->device;
    strncpy(made->user, user, sizeof(made->user) - 1);
    *client = made;
out:
    return status;
}

/* The lock is held. Blocks in use that their plugin did not free: they stay
 * allocated, since the plugin may still use them, but no longer count in an
 * account. */
static uint64_t blocks_forget(vly_device_client *client)
{
    vly_account *account = client->account;
    uint64_t n = 0;
    vly_device_block *block;
    while ((block = vly_blocks_of(client))) {
        if (block->state == VLY_BLOCK_DROPPING) {
            pthread_cond_wait(&vly_account_changed, &vly_account_lock);
            continue;
        }
        if (block->token != 0 && block->n_holds == 0)
            vly_blocks_remove(&account->reloadable[block->qos], block);
        vly_blocks_take(block);
        account->used -= block->bytes;
        account->usage.used_by[block->qos] -= block->bytes;
        account->usage.n_blocks--;
        vly_free(block);
        n++;
    }
    return n;
}

/* The lock is held. */
static vly_device_block *kept_of(const vly_device_client *client)
{
    vly_device_block *block = client->account->kept_list.oldest;
    while (block && block->client != client)
        block = block->newer;
    return block;
}

void vly_account_close(vly_device_client *client)
{
    if (!client)
        return;
    vly_account *account = client->account;
    vly_device_block *block;
    pthread_mutex_lock(&vly_account_lock);
    uint64_t n = blocks_forget(client);
    while ((block = kept_of(client)))
        vly_account_shrink(block);
    while (client->n_busy > 0)
        pthread_cond_wait(&vly_account_changed, &vly_account_lock);
    pthread_mutex_unlock(&vly_account_lock);
    if (n > 0)
        vly_log_write(VLY_LOG_WARN, client->user,
                      "%llu blocks of memory of %s were not freed",
                      (unsigned long long)n, account->device);
    vly_free(client);
}

/* ---- limits ------------------------------------------------------------- */

vly_status vly_device_memory_limit(const char *device, uint64_t bytes,
                                   vly_error *error)
{
    vly_status status = VLY_OK;
    pthread_mutex_lock(&vly_account_lock);
    if (!device) {
        usual_quota = bytes;
        for (uint32_t i = 0; i < n_accounts; i++) {
            if (accounts[i].has_quota || is_host(accounts[i].device))
                continue;
            accounts[i].quota = bytes;
            vly_account_trim(&accounts[i]);
        }
    } else {
        vly_account *account = account_get(device);
        if (account) {
            account->quota = bytes;
            account->has_quota = true;
            vly_account_trim(account);
        } else {
            status = no_account(device, error);
        }
    }
    pthread_mutex_unlock(&vly_account_lock);
    return status;
}

uint64_t vly_device_memory_keep(uint64_t bytes)
{
    pthread_mutex_lock(&vly_account_lock);
    uint64_t before = vly_account_keep;
    vly_account_keep = bytes;
    for (uint32_t i = 0; i < n_accounts; i++)
        vly_account_trim(&accounts[i]);
    pthread_mutex_unlock(&vly_account_lock);
    return before;
}

void vly_account_drop_all(void)
{
    pthread_mutex_lock(&vly_account_lock);
    for (uint32_t i = 0; i < n_accounts; i++)
        vly_account_evict(&accounts[i]);
    pthread_mutex_unlock(&vly_account_lock);
}

/* ---- statistics --------------------------------------------------------- */

/* Those that only have a quota are not counted. The lock is held. */
static const vly_account *opened_at(uint32_t index, uint32_t *count)
{
    const vly_account *found = NULL;
    *count = 0;
    for (uint32_t i = 0; i < n_accounts; i++) {
        if (!accounts[i].is_opened)
            continue;
        if (*count == index)
            found = &accounts[i];
        (*count)++;
    }
    return found;
}

uint32_t vly_device_memory_count(void)
{
    uint32_t count;
    pthread_mutex_lock(&vly_account_lock);
    (void)opened_at(0, &count);
    pthread_mutex_unlock(&vly_account_lock);
    return count;
}

vly_status vly_device_memory_usage(uint32_t index, vly_device_usage *usage)
{
    uint32_t count;
    pthread_mutex_lock(&vly_account_lock);
    const vly_account *account = opened_at(index, &count);
    vly_device_usage full = {0};
    if (account) {
        full = account->usage;
        memcpy(full.device, account->device, sizeof(full.device));
        full.quota_bytes = account->quota;
        full.used_bytes = account->used;
        full.kept_bytes = account->kept;
    }
    pthread_mutex_unlock(&vly_account_lock);
    return account ? vly_struct_fill(usage, &full, sizeof(full))
                   : VLY_E_INVALID;
}
