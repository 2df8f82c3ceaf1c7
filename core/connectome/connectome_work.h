/* SPDX-License-Identifier: Apache-2.0
 * Declarations shared by the files of this folder: memory that a connectome
 * owns, keyed draws, loops over tasks with scratch per slot, places in the
 * genome for messages.
 */
#ifndef VOLLEY_CONNECTOME_CONNECTOME_WORK_H
#define VOLLEY_CONNECTOME_CONNECTOME_WORK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/random.h"
#include "connectome/connectome.h"

#define VLY_BOUND (UINT64_C(1) << 30) /* of an accumulator, design 1.1 */
#define VLY_Q_MIN (-16)
#define VLY_Q_MAX 24
#define VLY_Q_EMPTY 12 /* port without synapses and stimuli */
#define VLY_FEAGI_Q_MAX 16
/* Of a genome with associations: 64 of the strongest synapses, 255 * 255 each,
 * are within the bound; what more of them add is cut there. */
#define VLY_ASSOCIATION_Q_MAX 8
#define VLY_DELAY_MAX (UINT32_C(1) << 24) /* bursts, of one synapse */

static inline uint32_t vly_feagi_q_most(const vly_genome *genome)
{
    return genome->n_associations ? VLY_ASSOCIATION_Q_MAX : VLY_FEAGI_Q_MAX;
}

/* Everything a connectome owns: heap blocks, and maybe one mapped file. */
typedef struct vly_storage {
    void **blocks;
    size_t n_blocks;
    size_t capacity;
    uint64_t n_bytes;
    void *mapped;
    size_t n_mapped;
    const struct vly_model_info **models; /* users' models, each held */
    size_t n_models;
    const vly_plasticity_info **rules; /* users' rules, each held */
    size_t n_rules;
    vly_hash digest; /* vly_connectome_digest's, once has_digest is set */
    _Atomic bool has_digest;
} vly_storage;

/* NULL without memory. Cleared if clear. Freed with the storage. */
void *vly_storage_alloc(vly_storage *storage, size_t count, size_t size,
                        bool clear);
/* Holds a model until the storage ends; false without memory. */
bool vly_storage_model(vly_storage *storage,
                       const struct vly_model_info *model);
/* The same of a rule of plasticity. */
bool vly_storage_rule(vly_storage *storage, const vly_plasticity_info *rule);
/* Takes ownership of a block; false without memory: the caller still owns it.
 */
bool vly_storage_adopt(vly_storage *storage, void *block, uint64_t bytes);
/* Frees a block before the storage; NULL is legal. */
void vly_storage_release(vly_storage *storage, const void *block,
                         uint64_t bytes);
char *vly_storage_text(vly_storage *storage, const char *text);
void vly_storage_deinit(vly_storage *storage);

/* The numbers of projections that learn, at burst 0; nothing without any.
 * Errors  E_NOMEM */
vly_status vly_learning_start_make(vly_storage *storage,
                                   const vly_net_desc *desc,
                                   const vly_connectome_projection *projections,
                                   vly_snapshot *start, vly_error *error);

/* Whether there are memories or associations. */
static inline bool vly_connectome_remembers(const vly_connectome *connectome)
{
    return connectome->n_memories || connectome->n_associations;
}
/* memory_views.c: the memories of a genome, copied; those of a loaded
 * connectome, read from its resolved genome.
 * Errors  E_PARSE (of load) with path; E_NOMEM */
vly_status vly_memories_view(vly_storage *storage, const vly_genome *genome,
                             vly_connectome *connectome, vly_error *error);
vly_status vly_memories_load(vly_storage *storage, const char *path,
                             vly_connectome *connectome, vly_error *error);

/* A sequence of words: word n of Philox with counter (n >> 2 low, c1, lane 1,
 * lane 0 of the name's hash), where c1 is n >> 34 or an index of the caller's.
 */
typedef struct vly_draws {
    uint64_t seed;
    uint32_t name[2];
} vly_draws;

/* name: the four texts in a row. Errors E_NOMEM */
vly_status vly_draws_init(vly_draws *draws, uint64_t seed, const char *prefix,
                          const char *name, const char *separator,
                          const char *suffix);
static inline vly_philox vly_draws_block(const vly_draws *draws, uint64_t block)
{
    return vly_philox_block(draws->seed, (uint32_t)block,
                            (uint32_t)(block >> 32), draws->name[1],
                            draws->name[0]);
}
static inline uint32_t vly_draws_word(const vly_draws *draws, uint64_t n)
{
    return vly_draws_block(draws, n >> 2).w[n & 3];
}

/* A run of words; each index has its own sequence (c1 = index). */
typedef struct vly_run_of_words {
    const vly_draws *draws;
    uint32_t index;
    uint32_t n;
    vly_philox block;
} vly_run_of_words;

static inline uint32_t vly_next_word(vly_run_of_words *run)
{
    if ((run->n & 3) == 0)
        run->block = vly_draws_block(run->draws,
                                     (uint64_t)run->index << 32 | run->n >> 2);
    return run->block.w[run->n++ & 3];
}

/* Runs body(arg, slot, task) for all tasks; a slot is used by one thread at a
 * time, so that scratch memory is one a slot. */
void vly_slot_loop(uint32_t n_slots, uint64_t n_tasks,
                   void (*body)(void *arg, uint32_t slot, uint64_t task),
                   void *arg);
/* Slots to use when each needs bytes of scratch: at most n_threads, at most
 * 64 MiB in all, at least 1. */
uint32_t vly_slots_for(uint32_t n_threads, uint64_t bytes);
/* The same with a larger limit: scratch may also take a quarter of the `result`
 * bytes that are allocated anyway. With 64 MiB alone, 16 M neurons would be
 * connected by one thread. */
uint32_t vly_slots_beside(uint32_t n_threads, uint64_t bytes, uint64_t result);

/* Successive loops would each wait for their slowest task; this runs the tasks
 * of all of them as one loop. */
typedef struct vly_item {
    void (*body)(void *arg, uint32_t slot, uint64_t task);
    void *arg;
    uint64_t n_tasks;
    uint64_t first; /* set by vly_items_loop */
} vly_item;
void vly_items_loop(uint32_t n_slots, vly_item *items, uint32_t n_items);
/* An item that touches a new block of vly_malloc, which is overwritten later,
 * once in each large page. The system clears a page for every thread that waits
 * for its first use and keeps one of them: threads that wrote to neighbouring
 * places of a new block would have it cleared as often as there are threads. */
vly_item vly_touch_item(void *block, uint64_t bytes);

/* "file:line:column: " or "file: " into text */
#define VLY_PLACE_BYTES 300
void vly_place_print(const vly_genome *genome, const vly_origin *origin,
                     char text[VLY_PLACE_BYTES]);

/* 2^n, -1000 < n < 1000 */
double vly_power_of_two(int32_t n);

#endif
