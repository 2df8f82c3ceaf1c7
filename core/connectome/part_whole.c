/* SPDX-License-Identifier: Apache-2.0
 * What a rank must know of the synapses of others: their numbers, the longest
 * delay, the largest input. With a gather the ranks tell each other; alone a
 * rank repeats the draws of the others, or finds a bound.
 */
#include "connectome/part_make.h"

#include <inttypes.h>
#include <stdatomic.h>
#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "connectome/draw_words.h"

/* Words of a task of a scan. */
#define CHUNK (UINT64_C(64) * VLY_WORDS)
/* Counts of all ranks in one gather: 16 MB */
#define GATHER_COUNTS (UINT32_C(1) << 22)

/* ---- gathers ------------------------------------------------------------ */

static vly_status gather_any(vly_maker *maker, const void *mine,
                             uint64_t n_bytes, const vly_piece **pieces)
{
    vly_rank_part *part = maker->part;
    return part->ranks->gather(part->ranks->context, part->tag++, mine, n_bytes,
                               pieces, maker->error);
}

static vly_status size_check(const vly_maker *maker, const vly_piece *pieces,
                             uint32_t rank, uint64_t n_bytes)
{
    if (pieces[rank].n_bytes == n_bytes)
        return VLY_OK;
    return vly_fail(maker->error, VLY_E_INVALID,
                    "rank %" PRIu32 " builds another network: it sent %" PRIu64
                    " bytes, wanted %" PRIu64,
                    rank, pieces[rank].n_bytes, n_bytes);
}

/* The same number of bytes from each rank. */
static vly_status gather(vly_maker *maker, const void *mine, uint64_t n_bytes,
                         const vly_piece **pieces)
{
    vly_status status = VLY_OK;
    VLY_TRY(gather_any(maker, mine, n_bytes, pieces));
    for (uint32_t r = 0; r < maker->part->ranks->n_ranks; r++)
        VLY_TRY(size_check(maker, *pieces, r, n_bytes));
out:
    return status;
}

vly_status vly_part_gather_largest(vly_maker *maker, uint64_t *values,
                                   uint32_t n)
{
    const vly_piece *pieces;
    vly_status status = VLY_OK;
    VLY_TRY(gather(maker, values, n * sizeof(*values), &pieces));
    for (uint32_t r = 0; r < maker->part->ranks->n_ranks; r++) {
        const uint64_t *theirs = pieces[r].data;
        for (uint32_t i = 0; i < n; i++)
            values[i] = theirs[i] > values[i] ? theirs[i] : values[i];
    }
out:
    return status;
}

vly_status vly_part_count(vly_maker *maker, vly_made_pair *made,
                          uint32_t *before)
{
    const vly_ranks *ranks = maker->part->ranks;
    const uint32_t n = made->n_from;
    const uint32_t together = GATHER_COUNTS / ranks->n_ranks + 1;
    vly_status status = VLY_OK;
    uint32_t *mine = vly_malloc(together, sizeof(*mine));
    if (!mine)
        return vly_fail_nomem(maker->error, together * UINT64_C(4),
                              "counts of a map");
    for (uint32_t at = 0; at < n; at += together) {
        const uint32_t take = n - at < together ? n - at : together;
        const vly_piece *pieces;
        for (uint32_t k = 0; k < take; k++)
            mine[k] = (uint32_t)(made->row[at + (size_t)k + 1] -
                                 made->row[at + (size_t)k]);
        VLY_TRY(gather(maker, mine, take * sizeof(*mine), &pieces));
        memset(made->total + at, 0, take * sizeof(*made->total));
        for (uint32_t r = 0; r < ranks->n_ranks; r++) {
            const uint32_t *theirs = pieces[r].data;
            if (r == ranks->rank)
                memcpy(before + at, made->total + at, take * sizeof(*before));
            for (uint32_t k = 0; k < take; k++)
                made->total[at + (size_t)k] += theirs[k];
        }
    }
out:
    vly_free(mine);
    return status;
}

/* ---- the longest delay -------------------------------------------------- */

typedef struct scan_work {
    const vly_draws *draws;
    const vly_discrete *table;
    uint64_t n;
    _Atomic uint32_t largest;
} scan_work;

/* Ends early once the largest value of the table was drawn. */
static void scan_task(void *arg, uint32_t slot, uint64_t task)
{
    scan_work *work = arg;
    const vly_discrete table = *work->table;
    uint32_t words[VLY_WORDS];
    uint32_t most = 0;
    uint64_t last = (task + 1) * CHUNK;
    (void)slot;
    last = last < work->n ? last : work->n;
    for (uint64_t i = task * CHUNK; i < last; i += VLY_WORDS) {
        const uint32_t n =
            last - i < VLY_WORDS ? (uint32_t)(last - i) : VLY_WORDS;
        if (atomic_load_explicit(&work->largest, memory_order_relaxed) >=
            table.n_thresholds)
            return;
        vly_draws_fill(work->draws, i, n, words);
        for (uint32_t j = 0; j < n; j++) {
            const uint32_t k = vly_discrete_look(&table, words[j]);
            most = k > most ? k : most;
        }
        if (most >= table.n_thresholds)
            break;
    }
    most = most < table.n_thresholds ? most : table.n_thresholds;
    uint32_t seen = atomic_load(&work->largest);
    while (most > seen &&
           !atomic_compare_exchange_weak(&work->largest, &seen, most))
        ;
}

vly_status vly_part_largest(vly_maker *maker, const vly_made_pair *made,
                            const vly_draws *draws, const vly_discrete *table,
                            uint32_t own, uint32_t *largest)
{
    vly_status status = VLY_OK;
    scan_work work = {.draws = draws, .table = table, .n = made->n_whole};
    if (maker->part->ranks->gather) {
        uint64_t value = own;
        VLY_TRY(vly_part_gather_largest(maker, &value, 1));
        *largest = (uint32_t)value;
        return VLY_OK;
    }
    atomic_init(&work.largest, own);
    vly_slot_loop(maker->n_threads, (work.n + CHUNK - 1) / CHUNK, scan_task,
                  &work);
    *largest = atomic_load(&work.largest);
out:
    return status;
}

/* ---- the largest input -------------------------------------------------- */

static vly_status gather_most(vly_maker *maker, uint64_t *most, uint32_t *at)
{
    const uint64_t mine[2] = {*most, *at};
    const vly_piece *pieces;
    vly_status status = VLY_OK;
    VLY_TRY(gather(maker, mine, sizeof(mine), &pieces));
    for (uint32_t r = 0; r < maker->part->ranks->n_ranks; r++) {
        const uint64_t *theirs = pieces[r].data;
        if (theirs[0] < *most || (theirs[0] == *most && theirs[1] > *at))
            continue;
        *most = theirs[0];
        *at = (uint32_t)theirs[1];
    }
out:
    return status;
}

vly_status vly_part_facts(vly_maker *maker, uint32_t area, uint32_t neuron,
                          uint64_t *facts, uint32_t n)
{
    const vly_ranks *ranks = maker->part ? maker->part->ranks : NULL;
    const uint32_t id = maker->genome->areas[area].first + neuron;
    const vly_piece *pieces;
    vly_status status = VLY_OK;
    if (!ranks || !ranks->gather)
        return VLY_OK;
    VLY_TRY(gather(maker, facts, n * sizeof(*facts), &pieces));
    for (uint32_t r = 0; r < ranks->n_ranks; r++)
        if (id >= ranks->first[r] && id < ranks->first[r + 1])
            memcpy(facts, pieces[r].data, n * sizeof(*facts));
out:
    return status;
}

vly_status vly_part_most(vly_maker *maker, uint32_t area, uint64_t others_most,
                         uint64_t *most, uint32_t *at)
{
    const vly_area *of = &maker->genome->areas[area];
    const vly_rank_part *part = maker->part;
    if (part->ranks->gather)
        return gather_most(maker, most, at);
    if (part->first <= of->first && part->last - of->first >= of->n_neurons &&
        part->last > of->first)
        return VLY_OK;
    if (others_most <= VLY_BOUND)
        return VLY_OK;
    return vly_fail(maker->error, VLY_E_UNSUPPORTED,
                    "area %s: its unit depends on the inputs of all its "
                    "neurons, so a rank alone cannot build its part",
                    of->name);
}

static vly_status loads_gather(vly_maker *maker, const vly_area *area,
                               uint32_t *load)
{
    const vly_ranks *ranks = maker->part->ranks;
    const vly_piece *pieces;
    vly_status status = VLY_OK;
    uint32_t first;
    uint32_t last;
    vly_part_of_area(maker->part, area, &first, &last);
    VLY_TRY(
        gather_any(maker, load + first, (last - first) * UINT64_C(4), &pieces));
    for (uint32_t r = 0; r < ranks->n_ranks; r++) {
        const vly_rank_part theirs = {.first = ranks->first[r],
                                      .last = ranks->first[r + 1]};
        vly_part_of_area(&theirs, area, &first, &last);
        VLY_TRY(size_check(maker, pieces, r, (last - first) * UINT64_C(4)));
        if (r != ranks->rank && last > first)
            memcpy(load + first, pieces[r].data,
                   (last - first) * sizeof(*load));
    }
out:
    return status;
}

vly_status vly_part_loads(vly_maker *maker)
{
    vly_status status = VLY_OK;
    const vly_genome *genome = maker->genome;
    for (uint32_t a = 0; a < genome->n_areas; a++)
        for (uint32_t port = 0; port < genome->areas[a].model->n_ports; port++)
            VLY_TRY(loads_gather(maker, &genome->areas[a],
                                 maker->areas[a].load[port]));
out:
    return status;
}
