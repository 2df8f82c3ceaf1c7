/* SPDX-License-Identifier: Apache-2.0
 * The policy of device memory: reuse, admission, eviction.
 *
 * One lock guards every account. It is released around each call of a plugin's
 * allocator and of drop. The block of such a call is removed from all lists
 * before, so that no other thread finds it, and values that the call may change
 * are read again afterwards. Memory is charged before the allocator is called,
 * so that two threads cannot both use the rest of a quota. A thread that finds
 * no memory while another thread returns some waits for it instead of failing.
 */
#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "plugin/device_blocks.h"
#include "plugin/host_log.h"

/* 1 while this thread is in a call of drop */
static _Thread_local uint32_t in_drop;

static uint64_t less(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

/* ---- how much may be in use --------------------------------------------- */

/* Bytes of the account that may be in use after an allocation of this class:
 * less important classes are refused before a device is full. */
static uint64_t ceiling(const vly_account *account, uint32_t qos)
{
    uint64_t all = account->quota;
    if (qos == VLY_QOS_GUARANTEED)
        return all;
    if (account->total > 0)
        all = less(all, account->total);
    if (all == UINT64_MAX)
        return all;
    return qos == VLY_QOS_BURSTABLE ? all - all / 16 : all - all / 8;
}

/* Bytes that may be dropped for an allocation of this class. */
static uint64_t evictable(const vly_account *account, uint32_t qos)
{
    uint64_t bytes = 0;
    for (uint32_t c = qos; c < VLY_DEVICE_CLASSES; c++)
        for (const vly_device_block *block = account->reloadable[c].oldest;
             block; block = block->newer)
            bytes += block->bytes;
    return bytes;
}

static vly_device_block *victim_of(const vly_account *account, uint32_t qos)
{
    for (uint32_t c = VLY_DEVICE_CLASSES; c-- > qos;)
        if (account->reloadable[c].oldest)
            return account->reloadable[c].oldest;
    return NULL;
}

static void uncharge(vly_account *account, const vly_device_block *block)
{
    account->used -= block->bytes;
    account->usage.used_by[block->qos] -= block->bytes;
}

/* The lock is released meanwhile. */
static void evict(vly_device_block *block)
{
    vly_device_client *client = block->client;
    vly_account *account = client->account;
    vly_blocks_remove(&account->reloadable[block->qos], block);
    block->state = VLY_BLOCK_DROPPING;
    block->dropper = pthread_self();
    account->n_dropping++;
    client->n_busy++;
    pthread_mutex_unlock(&vly_account_lock);
    in_drop = 1;
    block->drop(block->drop_arg);
    in_drop = 0;
    pthread_mutex_lock(&vly_account_lock);
    block->state = VLY_BLOCK_GONE;
    vly_blocks_take(block);
    uncharge(account, block);
    account->usage.n_blocks--;
    account->usage.evictions++;
    account->usage.evicted_bytes += block->bytes;
    account->n_dropping--;
    account->n_leaving++;
    pthread_cond_broadcast(&vly_account_changed);
    pthread_mutex_unlock(&vly_account_lock);
    client->allocator.free(client->allocator.context, block->kind,
                           block->memory);
    pthread_mutex_lock(&vly_account_lock);
    while (block->n_waiting > 0)
        pthread_cond_wait(&vly_account_changed, &vly_account_lock);
    account->n_leaving--;
    client->n_busy--;
    pthread_cond_broadcast(&vly_account_changed);
    vly_free(block);
}

void vly_account_evict(vly_account *account)
{
    vly_device_block *victim;
    while ((victim = victim_of(account, VLY_QOS_GUARANTEED)))
        evict(victim);
}

/* ---- admission ---------------------------------------------------------- */

static vly_status refuse(vly_account *account, uint32_t qos, uint64_t bytes,
                         vly_error *error)
{
    static const char *const names[] = {"guaranteed", "burstable",
                                        "best effort"};
    const uint64_t *by = account->usage.used_by;
    uint64_t top = ceiling(account, qos);
    uint64_t taken = account->used - evictable(account, qos);
    uint64_t available = taken < top ? top - taken : 0;
    vly_fail(error, VLY_E_NOMEM,
             "out of memory: %s: %llu bytes requested, %llu available: %s "
             "memory may fill it up to %llu, in use are %llu guaranteed, %llu "
             "burstable, %llu best effort (volley --device-memory)",
             account->device, (unsigned long long)bytes,
             (unsigned long long)available, names[qos], (unsigned long long)top,
             (unsigned long long)by[0], (unsigned long long)by[1],
             (unsigned long long)by[2]);
    error->bytes_requested = bytes;
    error->bytes_available = available;
    return VLY_E_NOMEM;
}

/* Charges the account, if necessary after dropping blocks. Drops no block if
 * that would not be enough. */
static vly_status admit(vly_account *account, uint32_t qos, uint64_t bytes,
                        vly_error *error)
{
    for (;;) {
        uint64_t top = ceiling(account, qos);
        uint64_t used = account->used;
        if (bytes <= top && used <= top - bytes) {
            /* now used + bytes <= quota; kept blocks count too */
            if (!account->kept_list.oldest ||
                account->kept <= account->quota - used - bytes)
                break;
            vly_account_shrink(account->kept_list.oldest);
            continue;
        }
        vly_device_block *victim = victim_of(account, qos);
        if (victim && bytes <= top &&
            used - evictable(account, qos) <= top - bytes)
            evict(victim);
        else if (account->n_dropping > 0)
            pthread_cond_wait(&vly_account_changed, &vly_account_lock);
        else
            return refuse(account, qos, bytes, error);
    }
    account->used += bytes;
    account->usage.used_by[qos] += bytes;
    return VLY_OK;
}

/* Returns one block to an allocator, or waits for one that is being returned.
 * false: there is none. */
static bool make_room(vly_account *account, uint32_t qos)
{
    vly_device_block *victim = victim_of(account, qos);
    if (account->n_leaving > 0) {
        pthread_cond_wait(&vly_account_changed, &vly_account_lock);
    } else if (account->kept_list.oldest) {
        while (account->kept_list.oldest)
            vly_account_shrink(account->kept_list.oldest);
    } else if (victim) {
        evict(victim);
    } else if (account->n_dropping > 0) {
        pthread_cond_wait(&vly_account_changed, &vly_account_lock);
    } else {
        return false;
    }
    return true;
}

/* ---- alloc -------------------------------------------------------------- */

/* The newest block of the class, which is most likely still cached. */
static vly_device_block *kept_find(const vly_device_client *client,
                                   uint32_t kind, uint64_t bytes)
{
    vly_device_block *block = client->account->kept_list.newest;
    while (block && (block->client != client || block->kind != kind ||
                     block->bytes != bytes))
        block = block->older;
    return block;
}

/* A kept block, if its class of memory may be used; NULL: none. */
static vly_device_block *reuse(vly_device_client *client, uint32_t kind,
                               uint64_t bytes, uint32_t qos)
{
    vly_account *account = client->account;
    vly_device_block *block = kept_find(client, kind, bytes);
    uint64_t top = ceiling(account, qos);
    if (!block || bytes > top || account->used > top - bytes)
        return NULL;
    vly_blocks_remove(&account->kept_list, block);
    account->kept -= bytes;
    account->n_kept--;
    account->used += bytes;
    account->usage.used_by[qos] += bytes;
    account->usage.reuses++;
    block->qos = qos;
    return block;
}

/* The account is charged; the lock is held and released around the call. */
static vly_status call_alloc(vly_device_client *client, vly_device_block *block,
                             vly_error *error)
{
    const vly_device_allocator *allocator = &client->allocator;
    for (;;) {
        void *memory = NULL;
        pthread_mutex_unlock(&vly_account_lock);
        vly_status status = allocator->alloc(allocator->context, block->kind,
                                             block->bytes, &memory, error);
        pthread_mutex_lock(&vly_account_lock);
        if (status == VLY_OK) {
            block->memory = memory;
            return VLY_OK;
        }
        if (status != VLY_E_NOMEM || !make_room(client->account, block->qos))
            return status;
    }
}

/* A new block, charged and allocated. */
static vly_status make_block(vly_device_client *client,
                             const vly_device_block *wanted,
                             vly_device_block **block, vly_error *error)
{
    vly_account *account = client->account;
    vly_device_block *made = vly_calloc(1, sizeof(*made));
    if (!made)
        return vly_fail_nomem(error, sizeof(*made), "device memory");
    *made = *wanted;
    vly_status status = admit(account, made->qos, made->bytes, error);
    if (status == VLY_OK) {
        status = call_alloc(client, made, error);
        if (status != VLY_OK)
            uncharge(account, made);
    }
    if (status == VLY_E_NOMEM)
        account->usage.refusals++;
    if (status != VLY_OK) {
        /* wakes threads that wait for memory: the charge is released */
        pthread_cond_broadcast(&vly_account_changed);
        vly_free(made);
        return status;
    }
    *block = made;
    return VLY_OK;
}

static vly_status alloc_check(const vly_device_client *client, uint32_t qos,
                              const void *memory, vly_error *error)
{
    if (!client || !memory || qos >= VLY_DEVICE_CLASSES)
        return vly_fail(error, VLY_E_INVALID,
                        "device memory: wanted a client, where to put memory, "
                        "and a class of 0 to 2, which is %u",
                        qos);
    if (in_drop)
        return vly_fail(error, VLY_E_INVALID,
                        "device memory: alloc was called by a drop, which may "
                        "only free");
    return VLY_OK;
}

/* Once, at the first allocation: the query of a driver may be slow. */
static void ask_total(vly_device_client *client)
{
    const vly_device_allocator *allocator = &client->allocator;
    vly_account *account = client->account;
    pthread_mutex_lock(&vly_account_lock);
    bool ask = !account->is_asked && allocator->total;
    if (ask)
        account->is_asked = true;
    pthread_mutex_unlock(&vly_account_lock);
    if (!ask)
        return;
    uint64_t total = allocator->total(allocator->context);
    pthread_mutex_lock(&vly_account_lock);
    account->total = total;
    pthread_mutex_unlock(&vly_account_lock);
}

vly_status vly_account_alloc(vly_device_client *client, uint32_t kind,
                             uint64_t bytes, uint32_t qos, void **memory,
                             vly_error *error)
{
    vly_error said = VLY_ERROR_INIT;
    vly_status status = VLY_OK;
    VLY_TRY(alloc_check(client, qos, memory, error));
    ask_total(client);
    vly_account *account = client->account;
    const vly_device_block wanted = {.client = client,
                                     .bytes = vly_account_class(bytes),
                                     .kind = kind,
                                     .qos = qos};
    pthread_mutex_lock(&vly_account_lock);
    vly_device_block *block = NULL;
    if (wanted.bytes == 0) {
        status = refuse(account, qos, bytes, &said);
        account->usage.refusals++;
    } else {
        block = reuse(client, kind, wanted.bytes, qos);
        if (!block)
            status = make_block(client, &wanted, &block, &said);
    }
    if (status == VLY_OK) {
        vly_blocks_put(block);
        account->usage.n_blocks++;
        if (account->used > account->usage.peak_bytes)
            account->usage.peak_bytes = account->used;
        *memory = block->memory;
    }
    pthread_mutex_unlock(&vly_account_lock);
    if (status != VLY_OK && error) {
        said.message[sizeof(said.message) - 1] = 0;
        vly_fail(error, status, "%s", said.message);
        error->bytes_requested =
            status == VLY_E_NOMEM && said.bytes_requested == 0
                ? bytes
                : said.bytes_requested;
        error->bytes_available = said.bytes_available;
    }
out:
    return status;
}

/* ---- free --------------------------------------------------------------- */

/* The block is no longer in use: keeps it, or returns it. */
static void keep(vly_device_block *block)
{
    vly_account *account = block->client->account;
    block->token = 0;
    block->n_holds = 0;
    block->drop = NULL;
    vly_blocks_push(&account->kept_list, block);
    account->kept += block->bytes;
    account->n_kept++;
    if (block->bytes > vly_account_keep)
        vly_account_shrink(block); /* returned alone, before the smaller ones */
    vly_account_trim(account);
}

void vly_account_free(vly_device_client *client, void *memory)
{
    if (!client || !memory)
        return;
    pthread_mutex_lock(&vly_account_lock);
    vly_device_block *block = vly_blocks_find(client, memory);
    if (block && block->state == VLY_BLOCK_DROPPING) {
        /* called inside its drop: freed after drop returns */
        if (!in_drop || !pthread_equal(block->dropper, pthread_self())) {
            block->n_waiting++;
            while (block->state == VLY_BLOCK_DROPPING)
                pthread_cond_wait(&vly_account_changed, &vly_account_lock);
            block->n_waiting--;
            pthread_cond_broadcast(&vly_account_changed);
        }
    } else if (block) {
        vly_account *account = client->account;
        if (block->token != 0 && block->n_holds == 0)
            vly_blocks_remove(&account->reloadable[block->qos], block);
        vly_blocks_take(block);
        uncharge(account, block);
        account->usage.n_blocks--;
        keep(block);
        pthread_cond_broadcast(&vly_account_changed);
    }
    pthread_mutex_unlock(&vly_account_lock);
    if (!block)
        vly_log_write(VLY_LOG_ERROR, client->user,
                      "%s: free of memory that it has not: %p",
                      client->account->device, memory);
}

/* ---- reloadable blocks -------------------------------------------------- */

vly_status vly_account_reloadable(vly_device_client *client, void *memory,
                                  void (*drop)(void *arg), void *arg,
                                  uint64_t *token, vly_error *error)
{
    static uint64_t last_token; /* under the lock */
    vly_device_block *block = NULL;
    pthread_mutex_lock(&vly_account_lock);
    if (client && drop && token)
        block = vly_blocks_find(client, memory);
    if (block && block->token == 0) {
        block->token = *token = ++last_token;
        block->drop = drop;
        block->drop_arg = arg;
        vly_blocks_push(&client->account->reloadable[block->qos], block);
        pthread_cond_broadcast(&vly_account_changed);
    } else {
        block = NULL;
    }
    pthread_mutex_unlock(&vly_account_lock);
    if (block)
        return VLY_OK;
    return vly_fail(error, VLY_E_INVALID,
                    "device memory: %p cannot be made reloadable, wanted "
                    "memory in use, which is not yet, drop and token",
                    memory);
}

/* The block, if the token matches and it is not being dropped. */
static vly_device_block *token_find(const vly_device_client *client,
                                    const void *memory, uint64_t token)
{
    vly_device_block *block =
        client && token != 0 ? vly_blocks_find(client, memory) : NULL;
    if (!block || block->token != token || block->state != VLY_BLOCK_USED)
        return NULL;
    return block;
}

uint32_t vly_account_hold(vly_device_client *client, void *memory,
                          uint64_t token)
{
    pthread_mutex_lock(&vly_account_lock);
    vly_device_block *block = token_find(client, memory, token);
    if (block && block->n_holds++ == 0)
        vly_blocks_remove(&client->account->reloadable[block->qos], block);
    pthread_mutex_unlock(&vly_account_lock);
    return block != NULL;
}

void vly_account_release(vly_device_client *client, void *memory,
                         uint64_t token)
{
    pthread_mutex_lock(&vly_account_lock);
    vly_device_block *block = token_find(client, memory, token);
    if (block && block->n_holds > 0 && --block->n_holds == 0) {
        vly_blocks_push(&client->account->reloadable[block->qos], block);
        pthread_cond_broadcast(&vly_account_changed);
    }
    pthread_mutex_unlock(&vly_account_lock);
}
