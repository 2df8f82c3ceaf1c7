/* SPDX-License-Identifier: Apache-2.0
 * Rule distance: pairs drawn by a kernel over the distance, within a mask.
 *
 * pairwise_bernoulli: pair (s, t) has word t of the source's own sequence (c1 =
 * s) and connects if it is not above the kernel's. fixed_in_degree: target t
 * draws from its own sequence (c1 = t) among the sources in reach, in the order
 * of their ids, each with a share as the kernel says; without multiple
 * connections, drawn sources are removed. fixed_out_degree: the same from the
 * source. Shares are whole numbers, so the sums over them (Fenwick 1994,
 * doi:10.1002/spe.4380240306) are exact. Nothing depends on the order of work.
 */
#include <inttypes.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "connectome/near_neurons.h"
#include "connectome/synapse_rules.h"

#define SEEKERS_PER_TASK 32
#define NOBODY UINT64_MAX

typedef struct distance_work {
    const vly_rule_job *job;
    const vly_near *near;
    uint64_t *row;
    uint32_t *targets;     /* of the rows; NULL: count */
    uint32_t *drawn;       /* degrees: [n_seek][degree] ids */
    uint64_t *lists;       /* [slots][room] */
    uint64_t *trees;       /* [slots][room + 1]: sums, scratch of sorting */
    _Atomic uint64_t poor; /* first neuron with too few others in reach */
} distance_work;

/* By id: digits of 8 bits of the high word, as many as n_found needs. Ids are
 * different, so the order is theirs alone. A build took a fifth less time than
 * with qsort. scratch has room for n. */
static void sort_list(uint64_t *list, uint32_t n, uint32_t n_found,
                      uint64_t *scratch)
{
    uint64_t *from = list;
    uint64_t *to = scratch;
    for (uint32_t shift = 0; shift < 32 && (n_found - 1) >> shift; shift += 8) {
        uint32_t at[256] = {0};
        uint32_t sum = 0;
        for (uint32_t i = 0; i < n; i++)
            at[from[i] >> (32 + shift) & 255]++;
        for (int digit = 0; digit < 256; digit++) {
            uint32_t count = at[digit];
            at[digit] = sum;
            sum += count;
        }
        for (uint32_t i = 0; i < n; i++)
            to[at[from[i] >> (32 + shift) & 255]++] = from[i];
        uint64_t *swap = from;
        from = to;
        to = swap;
    }
    if (from != list)
        memcpy(list, from, n * sizeof(*list));
}

static int id_compare(const void *a, const void *b)
{
    const uint32_t *x = a;
    const uint32_t *y = b;
    return (*x > *y) - (*x < *y);
}

/* ---- Bernoulli ---------------------------------------------------------- */

static void bernoulli_row(distance_work *work, uint32_t source, uint64_t *list,
                          uint64_t *scratch)
{
    const vly_draws *draws = &work->job->source_draws;
    uint32_t first = work->job->first;
    uint32_t n = vly_near_list(work->near, source, list);
    uint32_t hits = 0;
    uint64_t before = UINT64_MAX;
    vly_philox block = {{0}};
    for (uint32_t i = 0; i < n; i++) {
        uint32_t target = (uint32_t)(list[i] >> 32);
        uint64_t at = (uint64_t)source << 32 | target >> 2;
        if (at != before)
            block = vly_draws_block(draws, at);
        before = at;
        if (block.w[target & 3] <= (uint32_t)list[i])
            list[hits++] = list[i];
    }
    if (!work->targets) {
        work->row[source + (size_t)1] = hits;
        return;
    }
    sort_list(list, hits, work->near->n_found, scratch);
    for (uint32_t i = 0; i < hits; i++)
        work->targets[work->row[source] + i] =
            first + (uint32_t)(list[i] >> 32);
}

/* ---- degrees ------------------------------------------------------------ */

/* tree[i], i from 1: sum of the shares of the last (i & -i) up to i */
static uint64_t tree_fill(const uint64_t *list, uint32_t n, uint64_t *tree)
{
    uint64_t sum = 0;
    for (uint32_t i = 1; i <= n; i++) {
        tree[i] = (list[i - 1] & UINT32_MAX) + 1;
        sum += tree[i];
    }
    for (uint32_t i = 1; i <= n; i++)
        if (i + (i & -i) <= n)
            tree[i + (i & -i)] += tree[i];
    return sum;
}

/* Index (from 0) of the entry in which `at` falls. */
static uint32_t tree_find(const uint64_t *tree, uint32_t n, uint64_t at)
{
    uint32_t found = 0;
    uint32_t step = 1;
    while (step <= n / 2)
        step *= 2;
    for (; step > 0; step /= 2)
        if (found + step <= n && tree[found + step] <= at) {
            found += step;
            at -= tree[found];
        }
    return found;
}

static void tree_take(uint64_t *tree, uint32_t n, uint32_t index,
                      uint64_t share)
{
    for (uint32_t i = index + 1; i <= n; i += i & -i)
        tree[i] -= share;
}

static void note_poor(distance_work *work, uint32_t seeker)
{
    uint64_t seen = atomic_load(&work->poor);
    while (seeker < seen &&
           !atomic_compare_exchange_weak(&work->poor, &seen, seeker))
        ;
}

static void degree_draw(distance_work *work, uint32_t seeker, uint64_t *list,
                        uint64_t *tree)
{
    const vly_pair *pair = work->job->pair;
    uint32_t degree = pair->space.degree;
    uint32_t *drawn = work->drawn + (size_t)seeker * degree;
    vly_run_of_words words = {.draws = &work->job->source_draws,
                              .index = seeker};
    if (degree == 0) /* no draw, so no neuron has to be in reach */
        return;
    uint32_t n = vly_near_list(work->near, seeker, list);
    if (n < (pair->multiple ? 1 : degree)) {
        note_poor(work, seeker);
        return;
    }
    sort_list(list, n, work->near->n_found, tree);
    uint64_t sum = tree_fill(list, n, tree);
    for (uint32_t i = 0; i < degree; i++) {
        uint32_t high = vly_next_word(&words);
        uint32_t low = vly_next_word(&words);
        uint32_t k = tree_find(tree, n, vly_below_64(high, low, sum));
        drawn[i] = (uint32_t)(list[k] >> 32);
        if (pair->multiple)
            continue;
        uint64_t share = (list[k] & UINT32_MAX) + 1;
        tree_take(tree, n, k, share);
        sum -= share;
    }
    qsort(drawn, degree, sizeof(*drawn), id_compare);
}

/* ---- tasks -------------------------------------------------------------- */

static void seek_task(void *arg, uint32_t slot, uint64_t task)
{
    distance_work *work = arg;
    size_t room = work->near->room;
    uint64_t *list = work->lists + slot * room;
    uint64_t *tree = work->trees + slot * (room + 1);
    uint64_t last = (task + 1) * SEEKERS_PER_TASK;
    if (last > work->near->n_seek)
        last = work->near->n_seek;
    for (uint64_t k = task * SEEKERS_PER_TASK; k < last; k++) {
        if (work->drawn)
            degree_draw(work, (uint32_t)k, list, tree);
        else
            bernoulli_row(work, (uint32_t)k, list, tree);
    }
}

static void seek_all(distance_work *work, uint32_t n_slots)
{
    uint64_t n = work->near->n_seek;
    vly_slot_loop(n_slots, (n + SEEKERS_PER_TASK - 1) / SEEKERS_PER_TASK,
                  seek_task, work);
}

static vly_status targets_alloc(distance_work *work, uint64_t n,
                                vly_storage *storage, vly_error *error)
{
    work->targets =
        vly_storage_alloc(storage, (size_t)n, sizeof(*work->targets), false);
    return work->targets ? VLY_OK
                         : vly_fail_nomem(error, n * sizeof(*work->targets),
                                          "targets of a map");
}

static vly_status bernoulli_build(distance_work *work, uint32_t n_slots,
                                  vly_storage *storage, vly_error *error)
{
    seek_all(work, n_slots);
    for (uint32_t k = 0; k < work->job->n_from; k++)
        work->row[k + (size_t)1] += work->row[k];
    vly_status status = VLY_OK;
    VLY_TRY(targets_alloc(work, work->row[work->job->n_from], storage, error));
    seek_all(work, n_slots);
out:
    return status;
}

/* Builds rows by source from the draws of the targets, which come in ascending
 * order. */
static vly_status turn(distance_work *work, uint64_t n, vly_error *error)
{
    uint32_t first = work->job->first;
    uint32_t degree = work->job->pair->space.degree;
    uint32_t n_from = work->job->n_from;
    uint64_t *at = vly_malloc(n_from, sizeof(*at));
    if (!at)
        return vly_fail_nomem(error, (uint64_t)n_from * 8, "rows of a map");
    for (uint64_t i = 0; i < n; i++)
        work->row[work->drawn[i] + (size_t)1]++;
    for (uint32_t k = 0; k < n_from; k++) {
        at[k] = work->row[k];
        work->row[k + (size_t)1] += work->row[k];
    }
    for (uint64_t i = 0; i < n; i++)
        work->targets[at[work->drawn[i]]++] = first + (uint32_t)(i / degree);
    vly_free(at);
    return VLY_OK;
}

static vly_status fail_poor(const distance_work *work, uint32_t seeker,
                            vly_error *error)
{
    const vly_pair *pair = work->job->pair;
    const vly_near *near = work->near;
    char place[VLY_PLACE_BYTES];
    vly_place_print(near->genome, &pair->origin, place);
    uint32_t n = vly_near_list(near, seeker, work->lists);
    return vly_fail(error, VLY_E_PARSE,
                    "%smap %s (%s -> %s): neuron %" PRIu32 " of %s has %" PRIu32
                    " %s in reach, wanted at least %" PRIu32,
                    place, pair->map, work->job->from_name, work->job->to_name,
                    seeker,
                    near->backwards ? work->job->to_name : work->job->from_name,
                    n, near->backwards ? "sources" : "targets",
                    pair->multiple ? 1 : pair->space.degree);
}

static vly_status degree_build(distance_work *work, uint32_t n_slots,
                               vly_storage *storage, vly_error *error)
{
    vly_status status;
    uint32_t degree = work->job->pair->space.degree;
    uint64_t n = (uint64_t)work->near->n_seek * degree;
    seek_all(work, n_slots);
    uint64_t poor = atomic_load(&work->poor);
    if (poor != NOBODY)
        return fail_poor(work, (uint32_t)poor, error);
    VLY_TRY(targets_alloc(work, n, storage, error));
    if (work->near->backwards) {
        VLY_TRY(turn(work, n, error));
        goto out;
    }
    for (uint32_t k = 0; k <= work->job->n_from; k++)
        work->row[k] = (uint64_t)k * degree;
    for (uint64_t i = 0; i < n; i++)
        work->targets[i] = work->job->first + work->drawn[i];
out:
    return status;
}

vly_status vly_distance_build(vly_rows *rows, uint32_t n_threads,
                              vly_storage *storage, vly_error *error)
{
    vly_status status = VLY_E_NOMEM;
    const vly_near *near = rows->job.near;
    bool degrees = near->space->draw != VLY_SPACE_BERNOULLI;
    distance_work work = {.job = &rows->job, .near = near, .row = rows->row};
    size_t n_drawn = 0;
    size_t room = near->room;
    uint32_t n_slots = vly_slots_for(n_threads, room * 16);
    atomic_init(&work.poor, NOBODY);
    work.lists = vly_malloc(n_slots * room, sizeof(*work.lists));
    work.trees = vly_malloc(n_slots * (room + 1), sizeof(*work.trees));
    if (degrees && vly_size_mul(near->n_seek, near->space->degree, &n_drawn))
        work.drawn = vly_malloc(n_drawn, sizeof(*work.drawn));
    if (!work.lists || !work.trees || (degrees && !work.drawn)) {
        status = vly_fail_nomem(error, n_slots * room * 16 + n_drawn * 4,
                                "draws by distance");
        goto out;
    }
    VLY_TRY(degrees ? degree_build(&work, n_slots, storage, error)
                    : bernoulli_build(&work, n_slots, storage, error));
    rows->targets = work.targets;
out:
    vly_free(work.lists);
    vly_free(work.trees);
    vly_free(work.drawn);
    return status;
}

vly_status vly_distance_init(vly_rule_job *job, const vly_genome *genome,
                             vly_error *error)
{
    vly_near_own own = {.same = job->no_self,
                        .target = job->shared.target,
                        .source = job->shared.source};
    return vly_near_create(&job->near, genome, job->pair, &own, error);
}
