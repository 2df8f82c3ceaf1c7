/* SPDX-License-Identifier: Apache-2.0
 * Lists and the table of blocks, and size classes.
 */
#include "plugin/device_blocks.h"

#include "base/memory.h"

/* A class wastes at most 1/64 to 1/32; small blocks have CUDA's granularity,
 * large ones waste less than a page of a device (2 MiB), so a net that fills a
 * device fits as well as without classes. */
static const uint64_t step_least = 512;
static const uint64_t step_most = UINT64_C(2) << 20;

uint64_t vly_account_class(uint64_t bytes)
{
    uint64_t step = step_least;
    while (step < step_most && step * 2 <= bytes / 32)
        step *= 2;
    if (bytes > UINT64_MAX - step)
        return 0;
    return bytes == 0 ? step : (bytes + step - 1) / step * step;
}

/* ---- lists -------------------------------------------------------------- */

void vly_blocks_push(vly_block_list *list, vly_device_block *block)
{
    block->newer = NULL;
    block->older = list->newest;
    if (list->newest)
        list->newest->newer = block;
    else
        list->oldest = block;
    list->newest = block;
}

void vly_blocks_remove(vly_block_list *list, vly_device_block *block)
{
    if (block->older)
        block->older->newer = block->newer;
    else
        list->oldest = block->newer;
    if (block->newer)
        block->newer->older = block->older;
    else
        list->newest = block->older;
    block->older = block->newer = NULL;
}

/* ---- table -------------------------------------------------------------- */

enum { N_BUCKETS = 1024 };
static vly_device_block *buckets[N_BUCKETS];

/* Pointers of one allocator differ in few bits, so all bits are mixed. No
 * result depends on the order in a bucket. */
static vly_device_block **bucket_of(const void *memory)
{
    uint64_t word = (uintptr_t)memory;
    word *= UINT64_C(0x9e3779b97f4a7c15);
    return &buckets[word >> 54];
}

void vly_blocks_put(vly_device_block *block)
{
    vly_device_block **bucket = bucket_of(block->memory);
    block->next = *bucket;
    *bucket = block;
}

void vly_blocks_take(vly_device_block *block)
{
    vly_device_block **at = bucket_of(block->memory);
    while (*at != block)
        at = &(*at)->next;
    *at = block->next;
    block->next = NULL;
}

vly_device_block *vly_blocks_find(const vly_device_client *client,
                                  const void *memory)
{
    vly_device_block *block = *bucket_of(memory);
    while (block && (block->client != client || block->memory != memory))
        block = block->next;
    return block;
}

vly_device_block *vly_blocks_of(const vly_device_client *client)
{
    for (uint32_t i = 0; i < N_BUCKETS; i++)
        for (vly_device_block *block = buckets[i]; block; block = block->next)
            if (block->client == client)
                return block;
    return NULL;
}

/* ---- kept blocks -------------------------------------------------------- */

void vly_account_shrink(vly_device_block *block)
{
    vly_device_client *client = block->client;
    vly_account *account = client->account;
    vly_blocks_remove(&account->kept_list, block);
    account->kept -= block->bytes;
    account->n_kept--;
    account->n_leaving++;
    client->n_busy++;
    pthread_mutex_unlock(&vly_account_lock);
    client->allocator.free(client->allocator.context, block->kind,
                           block->memory);
    pthread_mutex_lock(&vly_account_lock);
    account->n_leaving--;
    client->n_busy--;
    pthread_cond_broadcast(&vly_account_changed);
    vly_free(block);
}

void vly_account_trim(vly_account *account)
{
    /* a block of Vulkan is an object, of which 4096 may exist */
    enum { MOST_KEPT = 256 };
    while (account->kept_list.oldest &&
           (account->kept > vly_account_keep || account->n_kept > MOST_KEPT ||
            account->used >= account->quota ||
            account->kept > account->quota - account->used))
        vly_account_shrink(account->kept_list.oldest);
}
