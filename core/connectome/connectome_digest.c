/* SPDX-License-Identifier: Apache-2.0
 * The digest of a connectome: mix64 of every term, summed mod 2^64 in two
 * lanes. A hash that chains blocks of a file (connectome_checksum.c) needs the
 * whole connectome; a sum can be computed in parts.
 *
 * A sum has two weak points. Equal terms: m equal synapses would add the same
 * term m times, and an even m would lose low bits. So each term contains the
 * number of equal synapses before it (its nth), which does not depend on any
 * order. Colliding terms: two synapses of one source and projection never
 * collide in both lanes at once, since the multipliers differ by an odd
 * multiple of 2; other terms collide with a probability of 2^-128.
 *
 * One synapse costs a multiplication and a mix64 a lane; the key of its row is
 * computed once a row. On one of two busy threads of a core (AMD EPYC) this
 * takes 5 ns a synapse, 6 to 8% of the time that one thread takes to compile
 * it. So the digest is computed on request and not for every connectome.
 */
#include "connectome/connectome_digest.h"

#include <pthread.h>
#include <stdlib.h>

#include "base/memory.h"
#include "base/thread.h"
#include "connectome/digest_terms.h"

enum { TOGETHER = 64, RUN_FEW = 64 };

/* ---- synapses ---------------------------------------------------------- */

static inline uint64_t place_of(const vly_projection_desc *desc, uint64_t i)
{
    return desc->target[i] | (uint64_t)vly_projection_delay(desc, i) << 32;
}

typedef struct alike {
    int64_t weight;
    uint64_t place;
} alike;

static int alike_compare(const void *a, const void *b)
{
    const alike *x = a;
    const alike *y = b;
    if (x->place != y->place)
        return x->place < y->place ? -1 : 1;
    return x->weight == y->weight ? 0 : x->weight < y->weight ? -1 : 1;
}

/* Synapses [first, last) of one source to one target: compares each with the
 * earlier ones. */
static void run_look(const vly_projection_desc *desc, key row, uint64_t first,
                     uint64_t last, key *sum)
{
    for (uint64_t i = first; i < last; i++) {
        int64_t weight = vly_projection_weight(desc, i);
        uint64_t nth = 0;
        for (uint64_t k = first; k < i; k++)
            nth += vly_projection_weight(desc, k) == weight &&
                   place_of(desc, k) == place_of(desc, i);
        sum_add(sum, row, place_of(desc, i), value_of(weight, nth));
    }
}

/* The same for many synapses: sorts them, since comparing is quadratic. Without
 * memory for sorting it is slow but correct. */
static void run_sort(const vly_projection_desc *desc, key row, uint64_t first,
                     uint64_t last, key *sum)
{
    uint64_t n = last - first;
    uint64_t nth = 0;
    alike *all = vly_malloc((size_t)n, sizeof *all);
    if (!all) {
        run_look(desc, row, first, last, sum);
        return;
    }
    for (uint64_t i = 0; i < n; i++)
        all[i] = (alike){vly_projection_weight(desc, first + i),
                         place_of(desc, first + i)};
    qsort(all, (size_t)n, sizeof *all, alike_compare);
    for (uint64_t i = 0; i < n; i++) {
        nth = i > 0 && alike_compare(&all[i - 1], &all[i]) == 0 ? nth + 1 : 0;
        sum_add(sum, row, all[i].place, value_of(all[i].weight, nth));
    }
    vly_free(all);
}

/* Every synapse as if none were equal to another. */
static void plain_add(const vly_projection_desc *desc, key row, uint64_t first,
                      uint64_t last, key *total)
{
    key sum = {{0, 0}};
    for (uint64_t i = first; i < last; i++)
        sum_add(&sum, row, place_of(desc, i),
                value_of(vly_projection_weight(desc, i), 0));
    sum_add_key(total, sum);
}

/* Equal synapses are rare, so their terms are corrected afterwards and the loop
 * over all synapses stays in registers. */
static void row_add(const vly_projection_desc *desc, key row, uint64_t first,
                    uint64_t last, key *total)
{
    const uint32_t *target = desc->target;
    plain_add(desc, row, first, last, total);
    for (uint64_t i = first; i + 1 < last; i++) {
        key plain = {{0, 0}};
        uint64_t end = i + 1;
        if (target[i + 1] != target[i])
            continue;
        while (end < last && target[end] == target[i])
            end++;
        plain_add(desc, row, i, end, &plain);
        total->lane[0] -= plain.lane[0];
        total->lane[1] -= plain.lane[1];
        if (end - i <= RUN_FEW)
            run_look(desc, row, i, end, total);
        else
            run_sort(desc, row, i, end, total);
        i = end - 1;
    }
}

/* Sources of a task, so that it has some 65,536 synapses. */
static uint32_t rows_together(uint32_t n_rows, uint64_t n_synapses)
{
    uint64_t mean = n_synapses / n_rows + 1;
    uint64_t n = TASK_TERMS / mean + 1;
    return n < n_rows ? (uint32_t)n : n_rows;
}

static void synapses_task(void *arg, uint32_t slot, uint64_t task)
{
    const digest_item *item = arg;
    digest_work *work = item->work;
    const vly_connectome *connectome = work->connectome;
    const vly_projection_desc *desc =
        &connectome->desc.projections[item->index];
    const vly_connectome_area *from = &connectome->areas[desc->source_area];
    const vly_connectome_area *to = &connectome->areas[desc->target_area];
    bool clip = to->first < work->first ||
                (uint64_t)to->first + to->n_neurons > work->last;
    uint32_t together =
        rows_together(from->n_neurons, desc->row[from->n_neurons]);
    uint64_t end = (task + 1) * together;
    key projection = key_of(TERM_SYNAPSE, item->index);
    key sum = {{0, 0}};
    (void)slot;
    end = end < from->n_neurons ? end : from->n_neurons;
    for (uint64_t k = task * together; k < end; k++) {
        uint64_t first = desc->row[k];
        uint64_t last = desc->row[k + 1];
        if (clip) {
            first = vly_targets_find(desc->target, first, last, work->first);
            last = vly_targets_find(desc->target, first, last, work->last);
        }
        if (first < last)
            row_add(desc, key_add(projection, from->first + k), first, last,
                    &sum);
    }
    work_add(work, sum);
}

static void synapses_item(digest_work *work, digest_item *made, vly_item *item)
{
    const vly_connectome *connectome = work->connectome;
    const vly_projection_desc *desc =
        &connectome->desc.projections[made->index];
    const vly_connectome_area *to = &connectome->areas[desc->target_area];
    uint32_t n_rows = connectome->areas[desc->source_area].n_neurons;
    uint64_t n = n_rows > 0 ? desc->row[n_rows] : 0;
    bool apart = to->first >= work->last ||
                 (uint64_t)to->first + to->n_neurons <= work->first;
    uint32_t together = n > 0 ? rows_together(n_rows, n) : 1;
    *item = (vly_item){.body = synapses_task, .arg = made};
    if (n > 0 && !apart)
        item->n_tasks = ((uint64_t)n_rows + together - 1) / together;
}

/* ---- all --------------------------------------------------------------- */

/* Areas or projections, so many together that threads wait for each other a
 * few times in all. */
static void items_add(digest_work *work, uint32_t n_threads, uint32_t n,
                      void (*make)(digest_work *work, digest_item *made,
                                   vly_item *item))
{
    digest_item made[TOGETHER];
    vly_item items[TOGETHER];
    for (uint32_t at = 0; at < n; at += TOGETHER) {
        uint32_t count = n - at < TOGETHER ? n - at : TOGETHER;
        for (uint32_t i = 0; i < count; i++) {
            made[i] = (digest_item){.work = work, .index = at + i};
            make(work, &made[i], &items[i]);
        }
        vly_items_loop(n_threads, items, count);
    }
}

vly_hash vly_connectome_digest_part(const vly_connectome *connectome,
                                    uint32_t first, uint32_t last,
                                    uint32_t n_threads)
{
    digest_work work = {.connectome = connectome, .first = first, .last = last};
    uint32_t threads = n_threads ? n_threads : vly_thread_cores();
    atomic_init(&work.sum[0], 0);
    atomic_init(&work.sum[1], 0);
    vly_digest_records(&work);
    items_add(&work, threads, connectome->desc.n_areas, vly_digest_columns);
    items_add(&work, threads, connectome->desc.n_projections, synapses_item);
    return (vly_hash){{atomic_load(&work.sum[0]), atomic_load(&work.sum[1])}};
}

vly_hash vly_digest_add(vly_hash a, vly_hash b)
{
    return (vly_hash){{a.lane[0] + b.lane[0], a.lane[1] + b.lane[1]}};
}

vly_hash vly_connectome_digest(const vly_connectome *connectome,
                               uint32_t n_threads)
{
    /* of the digests that storages keep, until has_digest is set */
    static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    vly_storage *storage = connectome->storage;
    if (atomic_load_explicit(&storage->has_digest, memory_order_acquire))
        return storage->digest;
    pthread_mutex_lock(&lock);
    if (!atomic_load_explicit(&storage->has_digest, memory_order_relaxed)) {
        storage->digest =
            connectome->part
                ? vly_connectome_digest_part(connectome, connectome->own_first,
                                             connectome->own_last, n_threads)
                : vly_connectome_digest_part(
                      connectome, 0, connectome->desc.n_neurons, n_threads);
        atomic_store_explicit(&storage->has_digest, true, memory_order_release);
    }
    vly_hash digest = storage->digest;
    pthread_mutex_unlock(&lock);
    return digest;
}

void vly_connectome_digest_know(vly_connectome *connectome, vly_hash digest)
{
    vly_storage *storage = connectome->storage;
    storage->digest = digest;
    atomic_store_explicit(&storage->has_digest, true, memory_order_release);
}
