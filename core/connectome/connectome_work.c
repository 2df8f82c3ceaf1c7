/* SPDX-License-Identifier: Apache-2.0
 * Memory that a connectome owns, keyed draws, loops with slots, places.
 */
#include "connectome/connectome_work.h"

#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

#include "base/error.h"
#include "base/memory.h"
#include "base/thread.h"
#include "connectome/learning_layout.h"

#define SCRATCH_BYTES (UINT64_C(64) << 20)

static bool storage_grow(vly_storage *storage)
{
    if (storage->n_blocks < storage->capacity)
        return true;
    size_t capacity = storage->capacity ? storage->capacity * 2 : 64;
    void **blocks =
        vly_realloc(storage->blocks, capacity, sizeof(*storage->blocks));
    if (!blocks)
        return false;
    storage->blocks = blocks;
    storage->capacity = capacity;
    return true;
}

void *vly_storage_alloc(vly_storage *storage, size_t count, size_t size,
                        bool clear)
{
    if (!storage_grow(storage))
        return NULL;
    void *block = clear ? vly_calloc(count, size) : vly_malloc(count, size);
    if (!block)
        return NULL;
    storage->blocks[storage->n_blocks++] = block;
    storage->n_bytes += (uint64_t)count * size;
    return block;
}

bool vly_storage_adopt(vly_storage *storage, void *block, uint64_t bytes)
{
    if (!storage_grow(storage))
        return false;
    storage->blocks[storage->n_blocks++] = block;
    storage->n_bytes += bytes;
    return true;
}

vly_status vly_learning_start_make(vly_storage *storage,
                                   const vly_net_desc *desc,
                                   const vly_connectome_projection *projections,
                                   vly_snapshot *start, vly_error *error)
{
    uint64_t n = vly_learning_words_all(desc);
    if (n == 0)
        return VLY_OK;
    uint32_t *words =
        vly_storage_alloc(storage, (size_t)n, sizeof(*words), false);
    if (!words)
        return vly_fail_nomem(error, n * sizeof(*words), "synapses that learn");
    vly_learning_start(desc, projections, words);
    start->weights = words;
    start->n_weight_bytes = n * sizeof(*words);
    return VLY_OK;
}

char *vly_storage_text(vly_storage *storage, const char *text)
{
    size_t bytes = strlen(text) + 1;
    char *copy = vly_storage_alloc(storage, bytes, 1, false);
    if (copy)
        memcpy(copy, text, bytes);
    return copy;
}

void vly_storage_release(vly_storage *storage, const void *block,
                         uint64_t bytes)
{
    size_t i = 0;
    if (!block)
        return;
    while (i < storage->n_blocks && storage->blocks[i] != block)
        i++;
    if (i == storage->n_blocks) /* not of the storage: left alone */
        return;
    vly_free(storage->blocks[i]);
    storage->blocks[i] = storage->blocks[--storage->n_blocks];
    storage->n_bytes -= bytes;
}

bool vly_storage_model(vly_storage *storage, const vly_model_info *model)
{
    if (!model->user)
        return true;
    for (size_t i = 0; i < storage->n_models; i++)
        if (storage->models[i] == model)
            return true;
    const vly_model_info **grown =
        vly_realloc(storage->models, storage->n_models + 1, sizeof(*grown));
    if (!grown)
        return false;
    vly_model_hold(model);
    storage->models = grown;
    storage->models[storage->n_models++] = model;
    return true;
}

bool vly_storage_rule(vly_storage *storage, const vly_plasticity_info *rule)
{
    if (!rule->user)
        return true;
    for (size_t i = 0; i < storage->n_rules; i++)
        if (storage->rules[i] == rule)
            return true;
    const vly_plasticity_info **grown =
        vly_realloc(storage->rules, storage->n_rules + 1, sizeof(*grown));
    if (!grown)
        return false;
    vly_plasticity_hold(rule);
    storage->rules = grown;
    storage->rules[storage->n_rules++] = rule;
    return true;
}

void vly_storage_deinit(vly_storage *storage)
{
    for (size_t i = 0; i < storage->n_models; i++)
        vly_model_drop(storage->models[i]);
    vly_free(storage->models);
    for (size_t i = 0; i < storage->n_rules; i++)
        vly_plasticity_drop(storage->rules[i]);
    vly_free(storage->rules);
    for (size_t i = 0; i < storage->n_blocks; i++)
        vly_free(storage->blocks[i]);
    vly_free(storage->blocks);
    if (storage->mapped)
        munmap(storage->mapped, storage->n_mapped);
    memset(storage, 0, sizeof(*storage));
}

vly_status vly_draws_init(vly_draws *draws, uint64_t seed, const char *prefix,
                          const char *name, const char *separator,
                          const char *suffix)
{
    char *text = vly_format("%s%s%s%s", prefix, name, separator, suffix);
    if (!text)
        return VLY_E_NOMEM;
    vly_hash hash = vly_hash_text(text);
    vly_free(text);
    draws->seed = seed;
    draws->name[0] = (uint32_t)hash.lane[0];
    draws->name[1] = (uint32_t)hash.lane[1];
    return VLY_OK;
}

typedef struct slot_work {
    _Atomic uint64_t next;
    uint64_t n_tasks;
    void (*body)(void *arg, uint32_t slot, uint64_t task);
    void *arg;
} slot_work;

static void slot_run(void *arg, uint64_t slot)
{
    slot_work *work = arg;
    for (;;) {
        uint64_t task =
            atomic_fetch_add_explicit(&work->next, 1, memory_order_relaxed);
        if (task >= work->n_tasks)
            return;
        work->body(work->arg, (uint32_t)slot, task);
    }
}

void vly_slot_loop(uint32_t n_slots, uint64_t n_tasks,
                   void (*body)(void *arg, uint32_t slot, uint64_t task),
                   void *arg)
{
    slot_work work = {.n_tasks = n_tasks, .body = body, .arg = arg};
    uint32_t used = n_tasks < n_slots ? (uint32_t)n_tasks : n_slots;
    vly_thread_loop(used, used, slot_run, &work);
}

uint32_t vly_slots_for(uint32_t n_threads, uint64_t bytes)
{
    return vly_slots_beside(n_threads, bytes, 0);
}

uint32_t vly_slots_beside(uint32_t n_threads, uint64_t bytes, uint64_t result)
{
    uint64_t most = result / 4 > SCRATCH_BYTES ? result / 4 : SCRATCH_BYTES;
    uint64_t n = bytes ? most / bytes : n_threads;
    if (n > n_threads)
        n = n_threads;
    return n ? (uint32_t)n : 1;
}

typedef struct items_work {
    vly_item *items;
    uint32_t n;
} items_work;

static void items_task(void *arg, uint32_t slot, uint64_t task)
{
    const items_work *work = arg;
    uint32_t low = 0; /* the last item that begins at or before the task */
    uint32_t high = work->n;
    while (high - low > 1) {
        uint32_t middle = low + (high - low) / 2;
        if (work->items[middle].first <= task)
            low = middle;
        else
            high = middle;
    }
    const vly_item *item = &work->items[low];
    item->body(item->arg, slot, task - item->first);
}

void vly_items_loop(uint32_t n_slots, vly_item *items, uint32_t n_items)
{
    items_work work = {items, n_items};
    uint64_t n = 0;
    for (uint32_t i = 0; i < n_items; i++) {
        items[i].first = n;
        n += items[i].n_tasks;
    }
    vly_slot_loop(n_slots, n, items_task, &work);
}

static void touch_task(void *arg, uint32_t slot, uint64_t task)
{
    volatile unsigned char *block = arg;
    (void)slot;
    block[task * VLY_LARGE_PAGE] = 0;
}

vly_item vly_touch_item(void *block, uint64_t bytes)
{
    const uint64_t n = bytes / VLY_LARGE_PAGE;
    return (vly_item){
        .body = touch_task, .arg = block, .n_tasks = n > 1 ? n : 0};
}

void vly_place_print(const vly_genome *genome, const vly_origin *origin,
                     char text[VLY_PLACE_BYTES])
{
    const char *path = genome->path ? genome->path : "genome";
    if (origin->file)
        path = genome->files[origin->file - 1];
    if (origin->line)
        snprintf(text, VLY_PLACE_BYTES, "%.200s:%u:%u: ", path, origin->line,
                 origin->column);
    else
        snprintf(text, VLY_PLACE_BYTES, "%.200s: ", path);
}

double vly_power_of_two(int32_t n)
{
    double x = 1.0;
    double factor = n < 0 ? 0.5 : 2.0;
    if (n > -1023 && n < 1024) { /* its exponent: the loop takes a third of the
                                  * time of a map of given weights */
        const uint64_t bits = (uint64_t)(n + 1023) << 52;
        memcpy(&x, &bits, sizeof x);
        return x;
    }
    for (int32_t i = n < 0 ? -n : n; i > 0; i--)
        x *= factor;
    return x;
}
