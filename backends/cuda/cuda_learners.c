/* SPDX-License-Identifier: Apache-2.0
 * Maps that learn in the plan with accumulators in shared memory: memory, and
 * moves between the order of a projection and that of the blocks. Masters are
 * in one array, 4 bytes a synapse, whose rows have one of the two orders;
 * targets, in the order of the projection, are freed once the blocks have
 * their numbers of 2 bytes.
 */
#include "cuda_learners.h"

#include <assert.h>
#include <string.h>

#include "cuda_error.h"
#include "cuda_memory.h"
#include "cuda_net.h"
#include "cuda_program.h"

/* Warps that sort rows, at most: as many as wait for memory at a time. */
#define MOST_WARPS 8192u

/* Numbers in tables of traces that shared memory may have: 64 KiB, which leaves
 * room for what other choices put there. With a burst of 0.1 ms both time
 * constants may be 78 ms. */
#define MOST_FACTORS 16384u

static_assert(sizeof(vly_cuda_arrival) == 16, "one read");

/* Numbers of the neurons [first, first + n) in the blocks, from first /
 * n_blocks on. */
static uint32_t span_of(uint32_t first, uint32_t n, uint32_t n_blocks)
{
    uint32_t last = n > 0 ? first + n - 1 : first;
    return last / n_blocks - first / n_blocks + 1;
}

/* The place of a synapse has 32 bits. */
static bool has_too_many(const vly_net_desc *desc, uint32_t p)
{
    const vly_projection_desc *map = vly_cuda_projection_desc(desc, p);
    uint32_t n = vly_cuda_area_desc(desc, map->source_area)->n_neurons;
    return map->row[n] >= UINT32_MAX;
}

const char *vly_cuda_learners_unfit(const vly_cuda_shard *shard)
{
    const vly_net_desc *desc = shard->net->desc;
    uint32_t n = 0;
    for (uint32_t p = 0; p < desc->n_projections; p++) {
        const vly_learning_desc *learning = vly_common_learning(desc, p);
        n += learning ? 1 : 0;
        if (learning && (learning->flags & VLY_LEARNING_WINDOW) != 0)
            return "maps learn by a rule of windows: only plan global can run "
                   "them";
        if (learning && vly_common_modulated(learning))
            return "maps learn by a modulator: only plan global can run them";
        if (learning && has_too_many(desc, p))
            return "a map that learns has 2^32 synapses or more";
        if (vly_common_short_term_of(desc, p))
            return "maps have short-term plasticity: only plan global can run "
                   "them";
    }
    return n > VLY_CUDA_LEARNERS ? "more than 8 maps learn" : NULL;
}

uint32_t vly_cuda_learners_newest(const vly_cuda_shard *shard,
                                  uint32_t n_blocks)
{
    const vly_net_desc *desc = shard->net->desc;
    uint32_t n = 0;
    for (uint32_t p = 0; p < desc->n_projections; p++) {
        if (!vly_common_learning(desc, p))
            continue;
        const vly_area_desc *target = vly_cuda_area_desc(
            desc, vly_cuda_projection_desc(desc, p)->target_area);
        n += span_of(target->first, target->n_neurons, n_blocks);
    }
    return n;
}

uint32_t vly_cuda_learners_factors(const vly_cuda_shard *shard)
{
    const vly_net_desc *desc = shard->net->desc;
    const vly_learning_desc *only = NULL;
    for (uint32_t p = 0; p < desc->n_projections; p++) {
        const vly_learning_desc *learning = vly_common_learning(desc, p);
        if (learning && only)
            return 0;
        only = learning ? learning : only;
    }
    if (!only ||
        (strcmp(only->rule, "stdp") != 0 &&
         strcmp(only->rule, "stdp_power") != 0) ||
        vly_cuda_has_programs(shard))
        return 0;
    uint64_t n = UINT64_C(2) + only->source[0].bursts + only->target[0].bursts;
    return n <= MOST_FACTORS ? (uint32_t)(n + 3) / 4 * 4 : 0;
}

/* Log2 of the threads that the synapses of a source keep busy: a mean of them.
 */
static uint32_t choose_shift(uint64_t n_synapses, uint64_t n_rows)
{
    uint64_t mean = n_rows > 0 ? n_synapses / n_rows : 0;
    uint32_t shift = 2;
    while (shift < 5 && (UINT64_C(1) << shift) < mean)
        shift++;
    return shift;
}

/* Bytes of rows, of all maps, that may wait in the second-level cache (50 MB on
 * an H100) until their spikes arrive. */
#define FETCHED_BYTES (UINT64_C(16) << 20)

static uint32_t choose_fetched(const vly_cuda_shard *shard, uint32_t p,
                               uint64_t n_synapses)
{
    const vly_cuda_learning *l = &shard->plastic.list[p];
    const vly_cuda_learner *made = &shard->learners.view.blocks[p];
    uint64_t n_rows = l->n_sources > 0 ? l->n_sources : 1;
    uint64_t bytes =
        n_synapses / n_rows * (sizeof *made->number + sizeof *made->master) +
        (shard->resident.n_blocks + UINT64_C(1)) * sizeof *made->source;
    return (uint32_t)(FETCHED_BYTES /
                      (bytes * l->base_delay * shard->plastic.view.n));
}

static vly_status check(cudaError_t code, vly_error *error)
{
    return vly_cuda_check((int)code, "synapses that learn", error);
}

/* ---- create ------------------------------------------------------------ */

static uint64_t rows_of(const vly_cuda_shard *shard, uint32_t p)
{
    return (uint64_t)shard->resident.n_blocks *
           shard->plastic.list[p].n_sources;
}

/* Words in which a warp can sort any row of the map. */
static uint64_t words_of(const vly_cuda_shard *shard, uint32_t p)
{
    const vly_cuda_learner *made = &shard->learners.view.blocks[p];
    const vly_projection_desc *map = vly_cuda_projection_desc(
        shard->net->desc, shard->plastic.projection[p]);
    const uint32_t n_blocks = shard->resident.n_blocks;
    uint64_t longest = 0;
    for (uint32_t k = 0; k < shard->plastic.list[p].n_sources; k++)
        if (map->row[k + 1] - map->row[k] > longest)
            longest = map->row[k + 1] - map->row[k];
    return longest + (made->n_newest > n_blocks ? made->n_newest : n_blocks);
}

static vly_status create_one(vly_cuda_shard *shard, uint32_t p,
                             uint32_t newest_at, vly_error *error)
{
    const vly_cuda_learning *l = &shard->plastic.list[p];
    vly_cuda_learner *made = &shard->learners.view.blocks[p];
    uint32_t n_blocks = shard->resident.n_blocks;
    uint64_t n = vly_cuda_learning_synapses(shard, p);
    uint64_t n_entries = rows_of(shard, p) + l->n_sources;
    vly_status status = VLY_OK;
    made->low = l->target_first / n_blocks;
    made->n_newest = span_of(l->target_first, l->n_targets, n_blocks);
    made->newest_at = newest_at;
    made->shift = choose_shift(n, rows_of(shard, p));
    made->most_fetched = choose_fetched(shard, p, n);
    made->master = l->master;
    VLY_TRY(vly_cuda_device_alloc(shard, n, sizeof *made->number, &made->number,
                                  error));
    VLY_TRY(vly_cuda_device_alloc(shard, n_entries, sizeof *made->source,
                                  &made->source, error));
    shard->learners.bytes += n * (sizeof *made->number + sizeof *made->master) +
                             n_entries * sizeof *made->source +
                             (l->n_sources + UINT64_C(1)) * sizeof *l->row;
out:
    return status;
}

/* Ids of the last bursts in each block: those of all neurons for max_delay
 * bursts and one more. Each launch fills them from the start; between launches
 * rows are sorted there, each in `least` words. */
static vly_status create_log(vly_cuda_shard *shard, uint64_t least,
                             vly_error *error)
{
    vly_cuda_learner_set *set = &shard->learners;
    uint64_t n_blocks = shard->resident.n_blocks;
    uint64_t wanted =
        (uint64_t)shard->net->desc->n_neurons * (shard->view.max_delay + 1);
    uint64_t room = 1;
    vly_status status = VLY_OK;
    while (room < wanted)
        room *= 2;
    if (room > UINT32_MAX || least > UINT32_MAX)
        return vly_cuda_fail(error, VLY_E_UNSUPPORTED,
                             "too many neurons for plan resident");
    set->view.log_mask = (uint32_t)(room - 1);
    set->n_words = n_blocks * room > least ? n_blocks * room : least;
    VLY_TRY(vly_cuda_device_alloc(shard, set->n_words, sizeof *set->view.log,
                                  &set->view.log, error));
    VLY_TRY(vly_cuda_device_alloc(shard, 2 * n_blocks + 1,
                                  sizeof *set->view.flushed, &set->view.flushed,
                                  error));
    set->view.full = set->view.flushed + n_blocks;
    set->view.wanted = set->view.full + n_blocks;
out:
    return status;
}

static vly_status create_all(vly_cuda_shard *shard, uint32_t n,
                             vly_error *error)
{
    vly_cuda_learner_set *set = &shard->learners;
    uint32_t newest_at = 0;
    uint64_t least = 0;
    vly_status status = VLY_OK;
    set->view.base_delay = UINT32_MAX;
    set->view.n = n;
    for (uint32_t p = 0; p < n; p++) {
        VLY_TRY(create_one(shard, p, newest_at, error));
        newest_at += set->view.blocks[p].n_newest;
        set->words[p] = words_of(shard, p);
        least = set->words[p] > least ? set->words[p] : least;
        if (shard->plastic.list[p].base_delay < set->view.base_delay)
            set->view.base_delay = shard->plastic.list[p].base_delay;
    }
    VLY_TRY(create_log(shard, least, error));
out:
    return status;
}

/* ---- moves ------------------------------------------------------------- */

static vly_cuda_learner_work work_of(const vly_cuda_shard *shard, uint32_t p)
{
    const vly_cuda_learner_set *set = &shard->learners;
    const uint32_t n_rows = shard->plastic.list[p].n_sources;
    uint64_t n = set->words[p] > 0 ? set->n_words / set->words[p] : 1;
    n = n < MOST_WARPS ? n : MOST_WARPS;
    return (vly_cuda_learner_work){.words = set->view.log,
                                   .size = (uint32_t)set->words[p],
                                   .n_warps =
                                       n < n_rows ? (uint32_t)n : n_rows};
}

/* Masters of map p by target (outwards) or by block, if they are not so. */
static vly_status move(vly_cuda_shard *shard, uint32_t p, bool outwards,
                       vly_error *error)
{
    vly_cuda_learner_set *set = &shard->learners;
    const vly_cuda_learner_work work = work_of(shard, p);
    vly_status status = VLY_OK;
    if (set->by_target[p] == outwards)
        return VLY_OK;
    VLY_TRY(check(vly_cuda_launch_learner_move(
                      &shard->plastic.list[p], &set->view.blocks[p], &work,
                      outwards, (cudaStream_t)shard->stream),
                  error));
    set->by_target[p] = outwards;
out:
    return status;
}

static vly_status states(vly_cuda_shard *shard, uint32_t p, bool outwards,
                         vly_error *error)
{
    return check(vly_cuda_launch_learner_states(
                     &shard->plastic.list[p], &shard->learners.view.blocks[p],
                     shard->resident.n_blocks, (uint32_t)shard->net->burst,
                     outwards, (cudaStream_t)shard->stream),
                 error);
}

/* Nothing is to be folded before net->burst, and no ring is full. */
static vly_status begin_flushed(vly_cuda_shard *shard, vly_error *error)
{
    vly_cuda_learners *view = &shard->learners.view;
    uint32_t n = shard->resident.n_blocks;
    uint32_t *words = NULL;
    vly_status status = VLY_OK;
    VLY_TRY(vly_cuda_alloc(shard, UINT64_C(2) * n + 1, sizeof *words, &words,
                           error));
    for (uint32_t b = 0; b < n; b++) {
        words[b] = (uint32_t)shard->net->burst;
        words[n + b] = 0;
    }
    words[2 * n] = (uint32_t)shard->net->burst;
    status = vly_cuda_upload(shard, view->flushed, words,
                             (UINT64_C(2) * n + 1) * sizeof *words, error);
out:
    vly_cuda_release(shard, words);
    return status;
}

vly_status vly_cuda_learners_in(vly_cuda_shard *shard, vly_error *error)
{
    vly_cuda_learner_set *set = &shard->learners;
    vly_status status = VLY_OK;
    if (!set->is_out)
        return VLY_OK;
    memcpy(set->view.list, shard->plastic.list,
           set->view.n * sizeof *set->view.list);
    for (uint32_t p = 0; p < set->view.n; p++) {
        VLY_TRY(move(shard, p, false, error));
        VLY_TRY(states(shard, p, false, error));
    }
    VLY_TRY(begin_flushed(shard, error));
    set->is_out = false;
out:
    return status;
}

int vly_cuda_learners_launch(const vly_cuda_shard *shard,
                             const vly_cuda_launch *launch, const void *spliced)
{
    const vly_cuda_learners *view = &shard->learners.view;
    const cudaStream_t stream = (cudaStream_t)shard->stream;
    assert(!shard->learners.is_out);
    if (shard->plastic.by_users && !spliced)
        return (int)vly_cuda_launch_learner_rules(
            &shard->view, launch, &shard->resident, view, stream);
    return (int)vly_cuda_launch_learners(&shard->view, launch, &shard->resident,
                                         view, spliced, stream);
}

static cudaError_t flush(const vly_cuda_shard *shard)
{
    const vly_cuda_learners *view = &shard->learners.view;
    const cudaStream_t stream = (cudaStream_t)shard->stream;
    return shard->plastic.by_users
               ? vly_cuda_launch_learner_rules_flush(&shard->view,
                                                     &shard->resident, view,
                                                     shard->net->burst, stream)
               : vly_cuda_launch_learners_flush(&shard->view, &shard->resident,
                                                view, shard->net->burst,
                                                stream);
}

vly_status vly_cuda_learners_out(vly_cuda_shard *shard, vly_error *error)
{
    vly_cuda_learner_set *set = &shard->learners;
    vly_status status = VLY_OK;
    if (set->is_out || set->view.n == 0)
        return VLY_OK;
    VLY_TRY(check(flush(shard), error));
    for (uint32_t p = 0; p < set->view.n; p++) {
        VLY_TRY(move(shard, p, true, error));
        VLY_TRY(states(shard, p, true, error));
    }
    set->is_out = true;
out:
    return status;
}

/* ---- create and release ------------------------------------------------- */

/* Synapses of map p by block. */
static vly_status make(vly_cuda_shard *shard, uint32_t p, vly_error *error)
{
    vly_cuda_learner_set *set = &shard->learners;
    const vly_cuda_learner_work work = work_of(shard, p);
    vly_status status = VLY_OK;
    VLY_TRY(check(vly_cuda_launch_learner_make(&shard->plastic.list[p],
                                               &set->view.blocks[p],
                                               shard->resident.n_blocks, &work,
                                               (cudaStream_t)shard->stream),
                  error));
    VLY_TRY(states(shard, p, false, error));
out:
    return status;
}

/* What fails for lack of memory comes first: then another plan takes the rows
 * as they are. */
vly_status vly_cuda_learners_create(vly_cuda_shard *shard, vly_error *error)
{
    uint32_t n = shard->plastic.view.n;
    vly_status status = VLY_OK;
    memset(&shard->learners, 0, sizeof shard->learners);
    if (n == 0)
        return VLY_OK;
    VLY_TRY(create_all(shard, n, error));
    status = begin_flushed(shard, error);
out:
    return status;
}

vly_status vly_cuda_learners_take(vly_cuda_shard *shard, vly_error *error)
{
    vly_cuda_learner_set *set = &shard->learners;
    uint32_t n = set->view.n;
    vly_status status = VLY_OK;
    for (uint32_t p = 0; p < n; p++)
        VLY_TRY(make(shard, p, error));
    for (uint32_t p = 0; p < n; p++) {
        vly_cuda_device_release(shard, shard->plastic.list[p].target);
        shard->plastic.list[p].target = NULL;
    }
    memcpy(set->view.list, shard->plastic.list, n * sizeof *set->view.list);
out:
    return status;
}

/* Of a plan that could not be made: masters and targets belong to the map. */
void vly_cuda_learners_release(vly_cuda_shard *shard)
{
    vly_cuda_learner_set *set = &shard->learners;
    for (uint32_t p = 0; p < set->view.n; p++) {
        vly_cuda_device_release(shard, set->view.blocks[p].number);
        vly_cuda_device_release(shard, set->view.blocks[p].source);
    }
    vly_cuda_device_release(shard, set->view.log);
    vly_cuda_device_release(shard, set->view.flushed); /* and full, wanted */
    memset(set, 0, sizeof *set);
}
