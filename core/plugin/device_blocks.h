/* SPDX-License-Identifier: Apache-2.0
 * Blocks of device memory, and the accounts of devices: the structures that
 * device_account.c and device_memory.c share. vly_account_lock guards all.
 */
#ifndef VOLLEY_PLUGIN_DEVICE_BLOCKS_H
#define VOLLEY_PLUGIN_DEVICE_BLOCKS_H

#include <pthread.h>
#include <stdbool.h>

#include "plugin/device_memory.h"

enum { VLY_DEVICE_CLASSES = 3 }; /* VLY_QOS_* */

typedef enum vly_block_state {
    VLY_BLOCK_USED,
    VLY_BLOCK_DROPPING, /* drop is being called, by dropper */
    VLY_BLOCK_GONE
} vly_block_state;

typedef struct vly_device_block {
    struct vly_device_block *next;  /* in its bucket, while in use */
    struct vly_device_block *older; /* in a list of the account */
    struct vly_device_block *newer;
    vly_device_client *client;
    void *memory;
    uint64_t bytes; /* of its class */
    uint64_t token; /* 0: not reloadable */
    void (*drop)(void *arg);
    void *drop_arg;
    pthread_t dropper;
    vly_block_state state;
    uint32_t kind;
    uint32_t qos;
    uint32_t n_holds;
    uint32_t n_waiting; /* calls of free that wait for the end of drop */
} vly_device_block;

typedef struct vly_block_list {
    vly_device_block *oldest;
    vly_device_block *newest;
} vly_block_list;

typedef struct vly_account {
    char device[32];
    uint64_t quota;
    bool has_quota;  /* of its own */
    bool is_opened;  /* by a client, at any time */
    bool is_asked;   /* for total */
    uint64_t total;  /* of the device; 0: unknown */
    uint64_t used;   /* including blocks that are being allocated or dropped */
    uint64_t kept;   /* excluding blocks that are being freed */
    uint32_t n_kept; /* blocks */
    uint32_t n_leaving;  /* blocks that are being returned to an allocator */
    uint32_t n_dropping; /* blocks whose drop is being called */
    vly_block_list kept_list;
    vly_block_list reloadable[VLY_DEVICE_CLASSES]; /* reloadable blocks without
                                                    * a hold */
    vly_device_usage
        usage; /* counters; the other members are filled on request */
} vly_account;

struct vly_device_client {
    vly_device_client *next;
    vly_account *account;
    vly_device_allocator allocator;
    char user[32];
    uint32_t n_busy; /* its blocks that are leaving or dropping */
};

extern pthread_mutex_t vly_account_lock;
/* a block was returned or dropped, or its last waiter has gone */
extern pthread_cond_t vly_account_changed;
extern uint64_t vly_account_keep; /* maximum of kept bytes of a device */

/* All with the lock held. */
void vly_blocks_push(vly_block_list *list, vly_device_block *block);
void vly_blocks_remove(vly_block_list *list, vly_device_block *block);
/* The table of blocks in use. */
void vly_blocks_put(vly_device_block *block);
void vly_blocks_take(vly_device_block *block);
vly_device_block *vly_blocks_find(const vly_device_client *client,
                                  const void *memory);
/* Any block of the client; NULL if it has none. */
vly_device_block *vly_blocks_of(const vly_device_client *client);

/* Returns a kept block to its allocator. The lock is released meanwhile. */
void vly_account_shrink(vly_device_block *block);
/* Drops a reloadable block without a hold. The lock is released meanwhile. */
void vly_account_evict(vly_account *account);
/* Returns as many kept blocks as the limits require, the oldest first. */
void vly_account_trim(vly_account *account);

#endif
