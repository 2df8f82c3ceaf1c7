/* SPDX-License-Identifier: Apache-2.0
 * Maps that learn in the resident plan, where RESIDENT_LEARNS is 1.
 *
 * The arrivals of a burst are delivered one exchange earlier, while mail is in
 * flight: what they need is known when the block's neurons have been updated. A
 * block keeps the ids of the last bursts itself. What most synapses need of a
 * target, its last four or eight spikes and its traces, is in shared memory.
 *
 * Blocks flush by themselves, since no synapse has two blocks. A block that
 * flushes writes the burst, and the others follow, so that they wait together.
 */
#ifndef VOLLEY_CUDA_RESIDENT_LEARNING_CUH
#define VOLLEY_CUDA_RESIDENT_LEARNING_CUH

#include "learner_kernels.h"
#include "resident_block.cuh"

#define NOTHING_LEARNS 0xffffffffu
/* A kernel is for nets with any maps that learn, or for those with one, by one
 * rule. Such a map is an argument that instructions read without a register,
 * where the other kernels wait for shared memory: a burst of 100,000 neurons
 * with 1,000 synapses takes a sixth less (bench/results/plastic.csv). */
#define ANY_RULE (-1)

#if RESIDENT_LEARNS

#include "resident_synapses.cuh"

/* A block need not flush again if its last flush is less than this many bursts
 * older than that of another block. */
#define FOLLOW_BURSTS 64

/* With a copy of the maps, in shared memory: reads cost little there, and
 * registers are few. All threads; ready after the next barrier. */
static __device__ __forceinline__ const resident_learner &
make_learner(const vly_cuda_view &view, const vly_cuda_learners &learners,
             const vly_cuda_resident &resident, const resident_block &block)
{
    extern __shared__ uint4 dynamic[];
    uint4 *newest =
        (uint4 *)(block.ring + learner_words(block.ring_words, view.max_delay));
    const uint64_t *from = (const uint64_t *)&learners;
    uint4 *known = newest + (resident.near + 1) * resident.n_newest;
    uint64_t *maps = (uint64_t *)(known + VLY_CUDA_THREADS);
    resident_learner *made =
        (resident_learner *)((uint8_t *)maps + sizeof learners);
    for (uint32_t i = threadIdx.x; i < sizeof learners / sizeof *maps;
         i += blockDim.x)
        maps[i] = from[i];
    if (threadIdx.x == 0) {
        made->maps = (const vly_cuda_learners *)maps;
        made->place = (uint32_t)((uint8_t *)made - (uint8_t *)dynamic);
        made->ring = (uint32_t)(block.ring - (uint32_t *)dynamic);
        made->near = (uint32_t)(newest - dynamic);
        made->known = (uint32_t)(known - dynamic);
        made->size = resident.near + 1;
        made->starts = block.counts + view.max_delay;
        made->full = made->starts + view.max_delay;
        made->flushed = made->full + 2;
        made->done = (uint32_t)(made->flushed - (uint32_t *)dynamic);
        made->newest = newest;
        made->log =
            learners.log + blockIdx.x * ((uint64_t)learners.log_mask + 1);
    }
    return *made;
}

/* ---- before and after a launch ------------------------------------------ */

/* Ready after the next barrier. All threads. */
static __device__ __forceinline__ void load_factors(const vly_cuda_learning &l)
{
    extern __shared__ uint4 dynamic[];
    float *to = (float *)dynamic;
    for (uint32_t k = threadIdx.x; k <= l.source[0].last; k += blockDim.x)
        to[k] = __ldg(l.source[0].factor + k);
    to += l.source[0].last + 1;
    for (uint32_t k = threadIdx.x; k <= l.target_trace[0].last; k += blockDim.x)
        to[k] = __ldg(l.target_trace[0].factor + k);
}

static __device__ __forceinline__ void
learner_load_newest(const resident_learner &learner)
{
    for (uint32_t p = 0; p < learner.maps->n; p++) {
        const vly_cuda_learning &l = learner.maps->list[p];
        const vly_cuda_learner &part = learner.maps->blocks[p];
        for (uint32_t q = threadIdx.x; q < part.n_newest; q += blockDim.x) {
            const uint32_t i = target_index(l, part.low + q);
            if (i >= l.n_targets)
                continue;
            const uint4 *from = (const uint4 *)(l.newest + i);
            uint4 *to = near_of(learner, part, part.low + q);
            for (uint32_t w = 0; w < learner.size - 1; w++)
                to[w] = __ldcg(from + w);
            to[learner.size - 1] = __ldcg(from + VLY_CUDA_NEWEST / 4);
        }
    }
}

/* counts are loaded */
static __device__ void learner_load(const vly_cuda_view &view,
                                    const vly_cuda_launch &launch,
                                    const resident_block &block,
                                    const resident_learner &learner)
{
    learner_load_newest(learner);
    if (threadIdx.x == 0) {
        learner.full[0] = 0;
        learner.full[1] = __ldcg(learner.maps->full + blockIdx.x);
        learner.flushed[0] = __ldcg(learner.maps->flushed + blockIdx.x);
        uint32_t at = (uint32_t)launch.head;
        for (uint32_t age = 1; age <= view.max_delay; age++) {
            const uint32_t slot =
                (uint32_t)((launch.burst + view.max_delay - age) %
                           view.max_delay);
            at -= block.counts[slot];
            learner.starts[slot] = at;
        }
    }
    __syncthreads();
    for (uint32_t age = 1; age <= view.max_delay && age <= launch.burst;
         age++) {
        const uint64_t burst = launch.burst - age;
        const uint32_t slot = (uint32_t)(burst % view.max_delay);
        const uint64_t start =
            view.records[(uint32_t)burst & view.record_mask].start;
        for (uint32_t i = threadIdx.x; i < block.counts[slot]; i += blockDim.x)
            learner.log[(learner.starts[slot] + i) & learner.maps->log_mask] =
                view.log_ids[(start + i) & view.log_mask];
    }
    __syncthreads();
}

static __device__ void learner_store(const resident_learner &learner,
                                     uint32_t k)
{
    for (uint32_t p = 0; p < learner.maps->n; p++) {
        const vly_cuda_learning &l = learner.maps->list[p];
        const vly_cuda_learner &part = learner.maps->blocks[p];
        for (uint32_t q = threadIdx.x; q < part.n_newest; q += blockDim.x) {
            const uint32_t i = target_index(l, part.low + q);
            if (i >= l.n_targets)
                continue;
            uint4 *to = (uint4 *)(l.newest + i);
            const uint4 *from = near_of(learner, part, part.low + q);
            for (uint32_t w = 0; w < learner.size - 1; w++)
                to[w] = from[w];
            to[VLY_CUDA_NEWEST / 4] = from[learner.size - 1];
        }
    }
    if (threadIdx.x == 0) {
        learner.maps->flushed[blockIdx.x] = learner.flushed[0];
        learner.maps->full[blockIdx.x] = learner.full[(k + 1) & 1];
    }
}

/* ---- a burst ------------------------------------------------------------ */

/* All synapses of the block, before the arrivals of `burst`. All threads. */
template <int RULE>
static __device__ void learner_flush(const resident_learner &learner,
                                     uint32_t burst)
{
    for (uint32_t p = 0; p < learner.maps->n; p++) {
        const vly_cuda_learning &l = learner.maps->list[p];
        if ((l.flags & VLY_CUDA_LEARNING_FROZEN) == 0)
            learner_visit<RULE>({learner.place, p, burst, 0, l.n_sources,
                                 threadIdx.x / 32, blockDim.x / 32, NO_INPUT,
                                 nullptr, 0});
    }
}

/* What arrives in `burst`, whose accumulators are those of `slot`. late: by
 * all threads, not while mail is in flight; list: the first n_list spikes of
 * the burst before. CALLS: by a call of a function, which costs little once a
 * launch. */
template <int RULE, bool CALLS = RULE == ANY_RULE>
static __device__ __forceinline__ void
learner_deliver(const vly_cuda_view &view, const vly_cuda_learners &learners,
                const vly_cuda_resident &resident, const resident_block &block,
                const resident_learner &learner, uint64_t burst, uint32_t slot,
                bool keep, bool late, const uint32_t *list, uint32_t n_list)
{
    const uint32_t n = CALLS ? learner.maps->n : 1;
    for (uint32_t p = 0; p < n; p++) {
        const vly_cuda_learning &l =
            CALLS ? learner.maps->list[p] : learners.list[0];
        const uint32_t delay = l.base_delay;
        if (burst < delay)
            continue;
        const uint32_t from =
            slot < delay ? slot + view.max_delay - delay : slot - delay;
        const list_groups warps = late ? make_groups(5, threadIdx.x, blockDim.x)
                                       : later_groups(resident, keep, 5);
        if (warps.group >= block.counts[from])
            continue; /* most have nothing to do */
        const learner_task task = {learner.place,
                                   p,
                                   (uint32_t)burst,
                                   learner.starts[from],
                                   block.counts[from],
                                   warps.group,
                                   warps.n_groups,
                                   learner.ring + slot * resident.slice,
                                   list,
                                   delay == 1 ? n_list : 0};
        if constexpr (CALLS)
            learner_visit<RULE>(task);
        else
            learner_rows<RULE, true, true>(l, learners.blocks[0], learner,
                                           resident.near + 1, task);
    }
}

/* Neuron id, this number of the block, fired. */
static __device__ __forceinline__ void
learner_fired(const resident_learner &learner, uint64_t burst, uint32_t id,
              uint32_t number)
{
    for (uint32_t p = 0; p < learner.maps->n; p++) {
        const vly_cuda_learning &l = learner.maps->list[p];
        const uint32_t i = id - l.target_first;
        if (i >= l.n_targets)
            continue;
        uint4 *near = near_of(learner, learner.maps->blocks[p], number);
        uint32_t *bursts = (uint32_t *)near;
        const uint4 tail = near[learner.size - 1];
        const uint32_t seen = (uint32_t)burst + l.lag;
        const uint64_t at = (uint64_t)i * (l.mask + 1) + (tail.z & l.mask);
        float after[2] = {vly_float(tail.x), vly_float(tail.y)};
        for (int t = 0; t < 2; t++) {
            if (l.post_before[t] == nullptr)
                continue;
            const float y =
                learning_decay(l.target_trace[t], after[t], seen - bursts[0]);
            l.post_before[t][at] = y;
            after[t] = learning_after(l, y);
        }
        l.post[at] = seen;
        for (uint32_t n = 4 * (learner.size - 1) - 1; n > 0; n--)
            bursts[n] = bursts[n - 1];
        bursts[0] = seen;
        near[learner.size - 1] =
            make_uint4(vly_bits(after[0]), vly_bits(after[1]), tail.z + 1, 0);
    }
}

/* n bytes from `from` on, into the second-level cache: a hint. */
static __device__ __forceinline__ void fetch_bytes(const void *from, uint64_t n)
{
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
    const uint64_t at = __cvta_generic_to_global(from);
    const uint64_t low = at & ~(uint64_t)15;
    asm volatile("cp.async.bulk.prefetch.L2.global [%0], %1;" ::"l"(low),
                 "r"((uint32_t)((at + n + 15 - low) & ~(uint64_t)15)));
#else
    (void)from;
    (void)n;
#endif
}

#define NO_FETCH 0xffffffffu

/* After learner_fired, in burst k of a launch; n_spikes neurons fired in the
 * burst before, or NO_FETCH. A spike may overwrite an entry of a ring only if
 * all synapses have seen the one after it; the flush comes after the next
 * burst's spikes. What all blocks will read when the spike arrives comes out of
 * memory while it is on its way, unless there is too much. All that is read
 * here is asked for at once, since the block waits for these threads. */
static __device__ __forceinline__ void
learner_follow_up(const resident_learner &learner, uint32_t k, uint32_t id,
                  uint32_t number, uint32_t n_spikes)
{
    for (uint32_t p = 0; p < learner.maps->n; p++) {
        const vly_cuda_learning &l = learner.maps->list[p];
        const vly_cuda_learner &part = learner.maps->blocks[p];
        const uint32_t i = id - l.target_first;
        const uint32_t s = id - l.source_first;
        const bool fetches = n_spikes != NO_FETCH && s < l.n_sources &&
                             n_spikes <= part.most_fetched;
        uint64_t row = 0;
        uint64_t end = 0;
        uint32_t old = 0;
        if (fetches) {
            row = __ldg(l.row + s);
            end = __ldg(l.row + s + 1);
        }
        if (i < l.n_targets) {
            const uint32_t count =
                near_of(learner, part, number)[learner.size - 1].z;
            old = __ldcg(l.post + (uint64_t)i * (l.mask + 1) +
                         ((count + 2) & l.mask));
        }
        if (end > row) { /* no bytes are no hint */
            fetch_bytes(part.source + (uint64_t)s * (gridDim.x + 1),
                        (gridDim.x + 1) * sizeof *part.source);
            fetch_bytes(part.number + row, (end - row) * sizeof *part.number);
            fetch_bytes(part.master + row, (end - row) * sizeof *part.master);
        }
        if (i < l.n_targets && (int32_t)(old - learner.flushed[0]) >= 0)
            learner.full[k & 1] = 1;
    }
}

/* Whether to flush in burst k of a launch: the same for all threads, if read
 * before the barrier that follows the update. */
static __device__ __forceinline__ bool
learner_is_full(const resident_learner &learner, uint32_t k)
{
    return learner.full[(k + 1) & 1] != 0;
}

/* In burst k, which is `burst`, after that barrier. All threads. */
template <int RULE>
static __device__ __forceinline__ void
learner_make_room(const resident_learner &learner, uint64_t burst, uint32_t k,
                  bool is_full)
{
    if (is_full) {
        learner_flush<RULE>(learner, (uint32_t)burst + 1);
        __syncthreads();
        if (threadIdx.x == 0) {
            learner.full[(k + 1) & 1] = 0;
            learner.flushed[0] = (uint32_t)burst + 1;
            word_write(learner.maps->wanted, (uint32_t)burst + 1);
        }
        __syncthreads();
    }
}

/* By one thread: whether another block has flushed, and this one not of its own
 * accord a little earlier. */
static __device__ __forceinline__ void
learner_follow(const resident_learner &learner, uint32_t k)
{
    if ((int32_t)(word_read(learner.maps->wanted) - learner.flushed[0]) >
        FOLLOW_BURSTS)
        learner.full[k & 1] = 1;
}

/* The slot of the next burst, if its arrivals are delivered while mail is in
 * flight: it is certain that there is a next burst, and its ids are here. */
static __device__ __forceinline__ uint32_t learner_slot(
    const vly_cuda_view &view, const vly_cuda_launch &launch,
    const resident_learner &learner, uint32_t k, uint32_t room, uint32_t slot)
{
    if (learner.maps->base_delay == 1 || k + 1 >= launch.n_bursts ||
        room / 2 < view.n_neurons)
        return NOTHING_LEARNS;
    return slot + 1 < view.max_delay ? slot + 1 : 0;
}

#else

struct resident_learner {
};

#endif
#endif
