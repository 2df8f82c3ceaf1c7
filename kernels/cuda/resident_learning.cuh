/* SPDX-License-Identifier: Apache-2.0
 * Maps that learn in the resident plan, where RESIDENT_LEARNS is 1.
 *
 * The arrivals of a burst are delivered one exchange earlier, while mail is in
 * flight: what they need is known when the block's neurons have been updated. A
 * block keeps the ids of the last bursts itself. What most synapses need of a
 * target, its last four spikes and its traces, is in shared memory.
 *
 * Blocks flush by themselves, since no synapse has two blocks. A block that
 * flushes writes the burst, and the others follow, so that they wait together.
 */
#ifndef VOLLEY_CUDA_RESIDENT_LEARNING_CUH
#define VOLLEY_CUDA_RESIDENT_LEARNING_CUH

#include "learner_kernels.h"
#include "resident_block.cuh"

#define NOTHING_LEARNS 0xffffffffu

/* Words of the ring, of two counts for each burst and of a learner, rounded up
 * to 16 bytes. */
static __host__ __device__ __forceinline__ uint32_t
learner_words(uint32_t ring_words, uint32_t max_delay)
{
    return (ring_words + 2 * max_delay + VLY_CUDA_LEARNER_WORDS + 3) / 4 * 4;
}

#if RESIDENT_LEARNS

#include "learning_rows.cuh"

/* A block need not flush again if its last flush is less than this many bursts
 * older than that of another block. */
#define FOLLOW_BURSTS 64

/* Shared memory behind the counts. */
struct resident_learner {
    const vly_cuda_learners *maps;
    uint32_t *starts;  /* [max_delay] of the spikes of a burst in the log */
    uint32_t *full;    /* [2] by parity of the burst: a ring is full */
    uint32_t *flushed; /* [1] */
    uint4 *newest;     /* [targets][2]: four bursts; traces, count */
    uint32_t *log;     /* of the block */
};

static_assert(sizeof(vly_cuda_learners) + sizeof(resident_learner) <=
                  VLY_CUDA_LEARNER_BYTES,
              "room of a block");

/* With a copy of the maps, in shared memory: reads cost little there, and
 * registers are few. All threads; ready after the next barrier. */
static __device__ __forceinline__ const resident_learner &
make_learner(const vly_cuda_view &view, const vly_cuda_learners &learners,
             const vly_cuda_resident &resident, const resident_block &block)
{
    uint4 *newest =
        (uint4 *)(block.ring + learner_words(block.ring_words, view.max_delay));
    const uint64_t *from = (const uint64_t *)&learners;
    uint64_t *maps = (uint64_t *)(newest + 2 * resident.n_newest);
    resident_learner *made =
        (resident_learner *)((uint8_t *)maps + sizeof learners);
    for (uint32_t i = threadIdx.x; i < sizeof learners / sizeof *maps;
         i += blockDim.x)
        maps[i] = from[i];
    if (threadIdx.x == 0) {
        made->maps = (const vly_cuda_learners *)maps;
        made->starts = block.counts + view.max_delay;
        made->full = made->starts + view.max_delay;
        made->flushed = made->full + 2;
        made->newest = newest;
        made->log =
            learners.log + blockIdx.x * ((uint64_t)learners.log_mask + 1);
    }
    return *made;
}

/* The index of a target among those of its projection. */
static __device__ __forceinline__ uint32_t
target_index(const vly_cuda_learning &l, uint32_t number)
{
    return number * gridDim.x + blockIdx.x - l.target_first;
}

static __device__ __forceinline__ uint4 *
near_of(const resident_learner &learner, const vly_cuda_learner &part,
        uint32_t number)
{
    return learner.newest + 2 * (part.newest_at + number - part.low);
}

/* ---- before and after a launch ------------------------------------------ */

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
            to[0] = __ldcg(from);
            to[1] = __ldcg(from + 3);
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
            to[0] = from[0];
            to[3] = from[1];
        }
    }
    if (threadIdx.x == 0) {
        learner.maps->flushed[blockIdx.x] = learner.flushed[0];
        learner.maps->full[blockIdx.x] = learner.full[(k + 1) & 1];
    }
}

/* ---- synapses ----------------------------------------------------------- */

/* Of the ring of target i, which no other block writes: reads may be cached. */
static __device__ __forceinline__ const uint32_t *
ring_of(const vly_cuda_learning &l, uint32_t i)
{
    return l.post + (uint64_t)i * (l.mask + 1);
}

/* As learning_fold. Spikes before the newest four are in the ring. Of 20,000
 * synapses some have a dozen of them in nearly every burst, and all blocks wait
 * for the last: so they are found in a cached line, and the first one to be
 * folded by steps of eight. One loop, since a burst runs each instruction once
 * or twice: what costs is to fetch it. */
template <int RULE>
static __device__ __forceinline__ int32_t
learner_fold(const vly_cuda_learning &l, const plastic_rule<RULE> &rule,
             const learning_row &row, uint4 newest, uint32_t burst, uint32_t i,
             uint32_t count, int32_t m)
{
    const uint32_t *ring = ring_of(l, i);
    uint32_t n = 1; /* the newest is to be folded */
    n += (int32_t)(burst - newest.y) <= row.oldest;
    n += (int32_t)(burst - newest.z) <= row.oldest;
    n += (int32_t)(burst - newest.w) <= row.oldest;
    if (n == 4) {
        /* one spike that is not to be folded is always there */
        while (n + 8 <= l.mask &&
               (int32_t)(burst - ring[(count - 1 - (n + 7)) & l.mask]) <=
                   row.oldest)
            n += 8;
        while ((int32_t)(burst - ring[(count - 1 - n) & l.mask]) <= row.oldest)
            n++;
    }
    uint32_t next = n > 4    ? ring[(count - n) & l.mask]
                    : n == 4 ? newest.w
                    : n == 3 ? newest.z
                    : n == 2 ? newest.y
                             : newest.x;
#pragma unroll 1
    while (n-- > 0) {
        const int32_t age = (int32_t)(burst - next);
        const uint32_t slot = (count - 1 - n) & l.mask;
        next = n == 4   ? newest.w
               : n == 3 ? newest.z
               : n == 2 ? newest.y
                        : newest.x;
        if (n > 4)
            next = ring[(slot + 1) & l.mask];
        if (age < row.youngest)
            break; /* and all later ones */
        m = learning_post<RULE>(l, rule, row, age,
                                (uint64_t)i * (l.mask + 1) + slot, m);
    }
    return m;
}

/* Synapses [begin, end) of a source, and what is read of the thread's first one
 * before anything else is known. */
struct learner_range {
    uint64_t begin;
    uint64_t end;
    uint32_t number;
    int32_t m;
};

/* lane: of the threads that share them. */
static __device__ __forceinline__ learner_range
learner_read(const vly_cuda_learner &part, uint64_t row, uint32_t lane)
{
    learner_range range = {__ldg(part.at + row) + lane,
                           __ldg(part.at + row + 1), 0, 0};
    if (range.begin < range.end) {
        range.number = __ldcs(part.number + range.begin);
        range.m = *(part.master + range.begin);
    }
    return range;
}

/* input: NULL, or the accumulators of the burst. */
template <int RULE>
static __device__ __forceinline__ void
learner_synapses(const vly_cuda_learning &l, const vly_cuda_learner &part,
                 const resident_learner &learner, const learning_row &row,
                 uint32_t burst, learner_range range, uint32_t *input)
{
    const plastic_rule<RULE> rule(l.coefs);
    const bool folds = row.youngest <= row.oldest;
    const bool frozen = (l.flags & VLY_CUDA_LEARNING_FROZEN) != 0;
    const uint32_t share = 1u << part.shift;
    while (range.begin < range.end) {
        const uint32_t number = range.number;
        int32_t *master = part.master + range.begin;
        int32_t m = range.m;
        range.begin += share;
        if (range.begin < range.end) {
            range.number = __ldcs(part.number + range.begin);
            range.m = *(part.master + range.begin);
        }
        if (!frozen) {
            const int32_t was = m;
            const uint4 *near = near_of(learner, part, number);
            const uint4 newest = near[0];
            const uint4 tail = near[1]; /* traces, count */
            const uint32_t i = target_index(l, number);
            if (folds && (int32_t)(burst - newest.x) <= row.oldest)
                m = learner_fold<RULE>(l, rule, row, newest, burst, i, tail.z,
                                       m);
            if (input != nullptr) {
                float y[2];
                learning_target(l, newest.x, tail, burst, i, y);
                m = rule.pre(m, row.x, y[0], y[1]);
            }
            if (m != was)
                *master = m;
        }
        if (input != nullptr)
            atomicAdd(input + number, ((uint32_t)((m + 0x8000) >> 16) * l.sign)
                                          << l.shift);
    }
}

static __device__ __forceinline__ learning_row
learner_row(const vly_cuda_learning &l, const vly_cuda_arrival *source,
            uint32_t burst, uint32_t flushed, int32_t youngest)
{
    const uint4 s = *(const uint4 *)source; /* of this block alone */
    return learning_row_from(l, s.x, vly_float(s.y), vly_float(s.z), burst,
                             flushed, youngest);
}

/* ---- a burst ------------------------------------------------------------ */

/* One projection, in `burst`: spikes [groups.group, count) of those from
 * `start` on in the log, every n_groups-th, whose arrivals are delivered to
 * `input`. If that is NULL, a flush: count sources instead. A function of its
 * own, since a kernel of every model calls it. */
template <int RULE>
static __device__ __forceinline__ void
learner_rows(const resident_learner &learner, uint32_t p, uint32_t burst,
             uint32_t start, uint32_t count, const list_groups &groups,
             uint32_t *input)
{
    /* copies: stores to weights do not change them */
    const vly_cuda_learning l = learner.maps->list[p];
    const vly_cuda_learner part = learner.maps->blocks[p];
    const uint64_t first = (uint64_t)blockIdx.x * l.n_sources;
    const uint32_t lane = threadIdx.x & ((1u << part.shift) - 1);
    const uint32_t inside = threadIdx.x % 32 >> part.shift; /* of the warp */
    const uint32_t log_mask = learner.maps->log_mask;
    const uint32_t flushed = learner.flushed[0];
    const bool dendritic = (l.flags & VLY_CUDA_LEARNING_DENDRITIC) != 0;
    const int32_t youngest = dendritic && input != nullptr ? 0 : 1;
    /* whole warps */
    for (uint32_t e = groups.group - inside; e < count; e += groups.n_groups) {
        uint32_t k = 0xffffffffu;
        uint4 next = make_uint4(burst, 0, 0, 0);
        if (e + inside < count)
            k = input == nullptr
                    ? e + inside
                    : learner.log[(start + e + inside) & log_mask] -
                          l.source_first;
        if (k < l.n_sources) {
            const learner_range range = learner_read(part, first + k, lane);
            const learning_row row = learner_row(l, part.source + first + k,
                                                 burst, flushed, youngest);
            next.y = vly_bits(row.x[0]);
            next.z = vly_bits(row.x[1]);
            if (input != nullptr || row.youngest <= row.oldest)
                learner_synapses<RULE>(l, part, learner, row, burst, range,
                                       input);
        }
        __syncwarp(); /* all have read the source */
        if (input != nullptr && k < l.n_sources && lane == 0)
            *(uint4 *)(part.source + first + k) = next;
    }
}

/* A function of its own, called from several places: what all rules need does
 * not fit into the cache of instructions several times. */
static __device__ __noinline__ void
learner_visit(const resident_learner &learner, uint32_t p, uint32_t burst,
              uint32_t start, uint32_t count, const list_groups groups,
              uint32_t *input)
{
    switch (learner.maps->list[p].rule) {
#define VLY_EACH_PLASTICITY(id)                                                \
    case VLY_CUDA_RULE_##id:                                                   \
        learner_rows<VLY_CUDA_RULE_##id>(learner, p, burst, start, count,      \
                                         groups, input);                       \
        break;
#include "kernels/rules/plasticity.def"
    }
}

/* All synapses of the block, before the arrivals of `burst`. All threads. */
static __device__ void learner_flush(const resident_learner &learner,
                                     uint32_t burst)
{
    for (uint32_t p = 0; p < learner.maps->n; p++) {
        const vly_cuda_learning &l = learner.maps->list[p];
        if ((l.flags & VLY_CUDA_LEARNING_FROZEN) == 0)
            learner_visit(learner, p, burst, 0, l.n_sources,
                          make_groups(learner.maps->blocks[p].shift,
                                      threadIdx.x, blockDim.x),
                          nullptr);
    }
}

/* What arrives in `burst`, whose accumulators are those of `slot`. late: by
 * all threads, not while mail is in flight. */
static __device__ void
learner_deliver(const vly_cuda_view &view, const vly_cuda_resident &resident,
                const resident_block &block, const resident_learner &learner,
                uint64_t burst, uint32_t slot, bool keep, bool late)
{
    for (uint32_t p = 0; p < learner.maps->n; p++) {
        const vly_cuda_learning &l = learner.maps->list[p];
        const uint32_t shift = learner.maps->blocks[p].shift;
        const uint32_t delay = l.base_delay;
        if (burst < delay)
            continue;
        const uint32_t from =
            slot < delay ? slot + view.max_delay - delay : slot - delay;
        const list_groups groups =
            late ? make_groups(shift, threadIdx.x, blockDim.x)
                 : later_groups(resident, keep, shift);
        /* whole warps; most have nothing to do */
        if (groups.group - (threadIdx.x % 32 >> shift) < block.counts[from])
            learner_visit(learner, p, (uint32_t)burst, learner.starts[from],
                          block.counts[from], groups,
                          block.ring + slot * resident.slice);
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
        const uint4 bursts = near[0];
        uint4 tail = near[1];
        const uint32_t seen = (uint32_t)burst + l.lag;
        const uint64_t at = (uint64_t)i * (l.mask + 1) + (tail.z & l.mask);
        float after[2] = {vly_float(tail.x), vly_float(tail.y)};
        for (int t = 0; t < 2; t++) {
            if (l.post_before[t] == nullptr)
                continue;
            const float y =
                learning_decay(l.target_trace[t], after[t], seen - bursts.x);
            l.post_before[t][at] = y;
            after[t] = learning_after(l, y);
        }
        l.post[at] = seen;
        near[0] = make_uint4(seen, bursts.x, bursts.y, bursts.z);
        near[1] =
            make_uint4(vly_bits(after[0]), vly_bits(after[1]), tail.z + 1, 0);
    }
}

/* After learner_fired. A spike may overwrite an entry only if all synapses have
 * seen the one after it; the flush comes after the next burst's spikes. */
static __device__ __forceinline__ void
learner_check(const resident_learner &learner, uint32_t k, uint32_t id,
              uint32_t number)
{
    for (uint32_t p = 0; p < learner.maps->n; p++) {
        const vly_cuda_learning &l = learner.maps->list[p];
        const uint32_t i = id - l.target_first;
        if (i >= l.n_targets)
            continue;
        const uint32_t count =
            near_of(learner, learner.maps->blocks[p], number)[1].z;
        const uint32_t old = __ldcg(l.post + (uint64_t)i * (l.mask + 1) +
                                    ((count + 2) & l.mask));
        if ((int32_t)(old - learner.flushed[0]) >= 0)
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
static __device__ __forceinline__ void
learner_make_room(const resident_learner &learner, uint64_t burst, uint32_t k,
                  bool is_full)
{
    if (is_full) {
        learner_flush(learner, (uint32_t)burst + 1);
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
