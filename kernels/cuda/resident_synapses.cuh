/* SPDX-License-Identifier: Apache-2.0
 * The synapses of a block that learn, in the resident plan: what the block
 * knows of their sources and targets, and the visit of the synapses of some
 * sources, for arrivals or for a flush. resident_learning.cuh says when.
 */
#ifndef VOLLEY_CUDA_RESIDENT_SYNAPSES_CUH
#define VOLLEY_CUDA_RESIDENT_SYNAPSES_CUH

#include "learner_kernels.h"
#include "resident_block.cuh"

#define LEARNING_FAR __forceinline__
#include "learning_rows.cuh"

#define NO_INPUT 0xffffffffu

/* Shared memory behind the counts. Functions that are not inlined get places in
 * it, not pointers, so that the compiler knows what memory it is. */
struct resident_learner {
    const vly_cuda_learners *maps;
    uint32_t place;    /* of this, in bytes */
    uint32_t ring;     /* place of the accumulators, in words */
    uint32_t near;     /* place of `newest`, in 16 bytes */
    uint32_t known;    /* and of what warps know of their sources */
    uint32_t done;     /* place of `flushed`, in words */
    uint32_t size;     /* of what is known of a target, in 16 bytes */
    uint32_t *starts;  /* [max_delay] of the spikes of a burst in the log */
    uint32_t *full;    /* [2] by parity of the burst: a ring is full */
    uint32_t *flushed; /* [1] */
    /* [targets][size]: bursts of the newest spikes, newest first; last the
     * traces and how many spikes there were */
    uint4 *newest;
    uint32_t *log; /* of the block */
};

static_assert(sizeof(vly_cuda_learners) + sizeof(resident_learner) <=
                  VLY_CUDA_LEARNER_BYTES,
              "room of a block");

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
    return learner.newest + learner.size * (part.newest_at + number - part.low);
}

/* ---- synapses ----------------------------------------------------------- */

/* What a synapse needs of its source. Bursts are compared by the sign of their
 * difference, since they wrap. */
struct learner_row {
    uint32_t arrived; /* burst of the last arrival */
    /* spikes of targets in bursts [lowest, latest] are to be folded in */
    uint32_t lowest;
    uint32_t latest;
    float before[2]; /* traces before the last arrival ... */
    float after[2];
    float x[2]; /* ... and before this one */
};

/* A target as a synapse sees it: its number in the block, and the place of what
 * is in shared memory, in 16 bytes, of `size`. */
struct learner_target {
    uint32_t number;
    uint32_t near;
    uint32_t size;
};

static __device__ __forceinline__ uint32_t n_near(const learner_target &target)
{
    return 4 * (target.size - 1);
}

static __device__ __forceinline__ uint4 tail_of(const learner_target &target)
{
    extern __shared__ uint4 dynamic[];
    return dynamic[target.near + target.size - 1];
}

/* The place of its spike number n, the last one first, among the rings, which
 * no other block writes: reads may be cached. */
static __device__ __forceinline__ uint64_t
ring_place(const vly_cuda_learning &l, const learner_target &target, uint32_t n)
{
    return (uint64_t)target_index(l, target.number) * (l.mask + 1) +
           ((tail_of(target).z - 1 - n) & l.mask);
}

/* The burst of that spike. */
static __device__ __forceinline__ uint32_t
burst_of(const vly_cuda_learning &l, const learner_target &target, uint32_t n)
{
    extern __shared__ uint4 dynamic[];
    return n < n_near(target) ? ((const uint32_t *)(dynamic + target.near))[n]
                              : l.post[ring_place(l, target, n)];
}

/* A trace of number t, which was x so many bursts ago. ONE: tables of the first
 * traces of the only map are in shared memory, this one from place `at` on. */
template <bool ONE>
static __device__ __forceinline__ float
learner_decay(const vly_cuda_trace &trace, int t, uint32_t at, float x,
              uint32_t age)
{
    extern __shared__ uint4 dynamic[];
    if (!ONE || t > 0)
        return learning_decay(trace, x, age);
    return x * ((const float *)dynamic)[at + min(age, trace.last)];
}

/* Number n of the target's spikes, of this burst. */
template <int RULE, bool ONE>
static __device__ __forceinline__ int32_t
learner_post(const vly_cuda_learning &l, const plastic_rule<RULE> &rule,
             const learner_row &row, const learner_target &target,
             uint32_t burst, uint32_t n, int32_t m)
{
    const uint32_t k = burst - row.arrived;
    float x[2];
    for (int t = 0; t < 2; t++)
        x[t] = k == 0 ? row.before[t]
                      : learner_decay<ONE>(l.source[t], t, 0, row.after[t], k);
    const uint64_t slot = ring_place(l, target, n);
    return rule.post(m, x[0], x[1], learning_before(l, 0, slot),
                     learning_before(l, 1, slot));
}

/* Spikes that are not in shared memory, if the last of those that are is to be
 * folded in. The first one is found by steps of eight, since all blocks wait
 * for the synapse with the most. */
template <int RULE, bool ONE>
static __device__ __forceinline__ int32_t learner_fold_ring(
    const vly_cuda_learning &l, const plastic_rule<RULE> &rule,
    const learner_row &row, const learner_target &target, int32_t m)
{
    uint32_t n = n_near(target);
    /* one spike that is not to be folded is always there */
    while (n + 8 <= l.mask &&
           (int32_t)(l.post[ring_place(l, target, n + 7)] - row.lowest) >= 0)
        n += 8;
    while ((int32_t)(l.post[ring_place(l, target, n)] - row.lowest) >= 0)
        n++;
#pragma unroll 1
    while (n-- > n_near(target)) {
        const uint32_t burst = l.post[ring_place(l, target, n)];
        if ((int32_t)(row.latest - burst) < 0)
            break; /* and all later ones */
        m = learner_post<RULE, ONE>(l, rule, row, target, burst, n, m);
    }
    return m;
}

/* Of four spikes, the last one first, how many are not before `lowest`: by
 * their signs, without a branch. */
static __device__ __forceinline__ uint32_t count_four(uint4 four,
                                                      uint32_t lowest)
{
    return 4u + (uint32_t)((int32_t)(four.x - lowest) >> 31) +
           (uint32_t)((int32_t)(four.y - lowest) >> 31) +
           (uint32_t)((int32_t)(four.z - lowest) >> 31) +
           (uint32_t)((int32_t)(four.w - lowest) >> 31);
}

/* As learning_fold; four: the last spikes. Those to be folded in are counted
 * first, then one loop folds them in, since a burst runs each instruction once
 * or twice: what costs is to fetch it. */
template <int RULE, bool ONE>
static __device__ __forceinline__ int32_t learner_fold(
    const vly_cuda_learning &l, const plastic_rule<RULE> &rule,
    const learner_row &row, const learner_target &target, uint4 four, int32_t m)
{
    extern __shared__ uint4 dynamic[];
    uint32_t n = count_four(four, row.lowest);
    if (n == 4) {
        uint32_t place = 1;
#pragma unroll 1
        for (; n == 4 * place && place < target.size - 1; place++)
            n += count_four(dynamic[target.near + place], row.lowest);
        if (n == n_near(target))
            m = learner_fold_ring<RULE, ONE>(l, rule, row, target, m);
    }
    uint32_t until = 0; /* the spikes before it are later than `latest` */
    if ((int32_t)(row.latest - four.x) < 0)
        while (until < n &&
               (int32_t)(row.latest - burst_of(l, target, until)) < 0)
            until++;
    const uint32_t *bursts = (const uint32_t *)(dynamic + target.near);
#pragma unroll 1
    while (n > until) {
        n--;
        m = learner_post<RULE, ONE>(l, rule, row, target, bursts[n], n, m);
    }
    return m;
}

/* As learning_target; last: burst of its newest spike. */
template <bool ONE>
static __device__ __forceinline__ void
learner_traces(const vly_cuda_learning &l, const learner_target &target,
               uint32_t last, uint32_t burst, float *y)
{
    const uint4 tail = tail_of(target);
    float after[2] = {vly_float(tail.x), vly_float(tail.y)};
    if ((int32_t)(burst - last) < 1) {
        uint32_t n = 0;
        do {
            n++;
            last = burst_of(l, target, n);
        } while ((int32_t)(burst - last) < 1);
        const uint64_t at = ring_place(l, target, n);
        for (int t = 0; t < 2; t++)
            after[t] = learning_after(l, learning_before(l, t, at));
    }
    for (int t = 0; t < 2; t++)
        y[t] = learner_decay<ONE>(l.target_trace[t], t, l.source[0].last + 1,
                                  after[t], burst - last);
}

/* What is known of a source, in shared memory: at is the place of its first
 * synapse in the map, less its number. */
struct learner_source {
    uint32_t at;
    uint32_t arrived; /* burst of the last arrival */
    float before;     /* the first trace before it ... */
    float other;      /* ... and x, or the second trace if there is one */
};

#define FAR (1u << 31)

/* Up to 32 sources whose synapses a warp takes together: thread r has the r-th
 * of them. Their synapses are numbered one after the other. */
struct learner_sources {
    uint32_t start; /* number of the thread's first synapse; FAR: none */
    uint32_t total; /* synapses; the same for all threads */
};

/* The place of the sources of the thread's warp, in 16 bytes. */
static __device__ __forceinline__ uint32_t
known_sources(const resident_learner &learner)
{
    return learner.known + (threadIdx.x & ~31u);
}

/* The place of the n-th bit that is set, from 0 on; any if there is none. */
static __device__ __forceinline__ uint32_t nth_bit(uint32_t bits, uint32_t n)
{
    uint32_t at = 0;
#pragma unroll
    for (uint32_t width = 16; width > 0; width /= 2) {
        const uint32_t below =
            (uint32_t)__popc(bits >> at & ((1u << width) - 1));
        const bool above = n >= below;
        n -= above ? below : 0;
        at += above ? width : 0;
    }
    return at;
}

/* The numbers of the threads, those with the largest keys (27 bits) first. */
static __device__ __forceinline__ uint32_t sort_threads(uint32_t key)
{
    const uint32_t lane = threadIdx.x % 32;
    key = key << 5 | lane;
#pragma unroll
    for (uint32_t size = 2; size <= 32; size *= 2)
#pragma unroll
        for (uint32_t d = size / 2; d > 0; d /= 2) {
            const uint32_t other = __shfl_xor_sync(0xffffffffu, key, d);
            const bool larger = ((lane & d) == 0) == ((lane & size) == 0);
            key = larger ? max(key, other) : min(key, other);
        }
    return key % 32;
}

/* Each thread has a source with this number of synapses, or 0, and spikes of
 * targets in so many bursts are to be folded into them. Sources without
 * synapses are left out, the others numbered and written down. If a warp takes
 * its synapses in several groups, those with the most bursts come first: a
 * group waits for the synapse that folds most, so synapses with like numbers of
 * spikes should be together. */
static __device__ __forceinline__ learner_sources number_synapses(
    uint32_t place, learner_source mine, uint32_t n_synapses, int32_t n_bursts)
{
    extern __shared__ uint4 dynamic[];
    const uint32_t all = 0xffffffffu;
    const uint32_t lane = threadIdx.x % 32;
    const uint32_t filled = __ballot_sync(all, n_synapses != 0);
    uint32_t from = 0;
    if (__reduce_add_sync(all, n_synapses) > 32) {
        const uint32_t key = (uint32_t)min(max(n_bursts, 0), (1 << 27) - 2) + 1;
        from = sort_threads(n_synapses != 0 ? key : 0);
    } else {
        from = nth_bit(filled, lane) % 32;
    }
    n_synapses = __shfl_sync(all, n_synapses, from);
    n_synapses = lane < (uint32_t)__popc(filled) ? n_synapses : 0;
    uint32_t sum = n_synapses;
#pragma unroll
    for (uint32_t d = 1; d < 32; d *= 2) {
        const uint32_t other = __shfl_up_sync(all, sum, d);
        sum += lane >= d ? other : 0;
    }
    learner_sources sources;
    sources.total = __shfl_sync(all, sum, 31);
    sources.start = sum - n_synapses;
    mine.at = __shfl_sync(all, mine.at, from) - sources.start;
    mine.arrived = __shfl_sync(all, mine.arrived, from);
    mine.before = __shfl_sync(all, mine.before, from);
    mine.other = __shfl_sync(all, mine.other, from);
    dynamic[place + lane] = make_uint4(
        mine.at, mine.arrived, vly_bits(mine.before), vly_bits(mine.other));
    if (n_synapses == 0)
        sources.start = FAR;
    __syncwarp();
    return sources;
}

/* A synapse of the warp's sources, and what is read of it before anything else
 * is known. */
struct learner_synapse {
    uint32_t source; /* place of what is known of it */
    uint32_t number; /* of its target */
    int32_t m;
};

/* That of the thread, its number being `mine`, of those from `first` on; *seen:
 * place of the last source before them. All threads of the warp. */
static __device__ __forceinline__ learner_synapse
take_synapse(const learner_sources &sources, uint32_t first, uint32_t mine,
             uint32_t *seen, const uint16_t *number, const int32_t *master)
{
    extern __shared__ uint4 dynamic[];
    const uint32_t all = 0xffffffffu;
    const uint32_t ahead = sources.start - first; /* wraps if it is before */
    const uint32_t heads = __reduce_or_sync(all, ahead < 32 ? 1u << ahead : 0);
    const uint32_t upto = 0xffffffffu >> (31 - threadIdx.x % 32);
    learner_synapse synapse = {*seen + (uint32_t)__popc(heads & upto), 0, 0};
    *seen += (uint32_t)__popc(heads);
    if (mine < sources.total) {
        const uint32_t at = dynamic[synapse.source].x + mine;
        synapse.number = __ldcg(number + at);
        synapse.m = __ldcg(master + at);
    }
    return synapse;
}

/* The bursts whose spikes of targets are to be folded in: row->arrived is
 * known. flushed: the burst of the last flush. */
static __device__ __forceinline__ void
find_bursts(const vly_cuda_learning &l, uint32_t burst, uint32_t flushed,
            uint32_t youngest, learner_row *row)
{
    const uint32_t dendritic = (l.flags & VLY_CUDA_LEARNING_DENDRITIC) != 0;
    row->lowest = row->arrived + dendritic;
    if ((int32_t)(flushed - row->lowest) > 0)
        row->lowest = flushed;
    /* later spikes of targets meet no trace of this source */
    row->latest = row->arrived + l.reach - 1;
    if ((int32_t)(burst - youngest - row->latest) < 0)
        row->latest = burst - youngest;
}

/* What a synapse needs of its source, whose words are `known`. */
template <int RULE, bool ONE>
static __device__ __forceinline__ learner_row
row_of_source(const vly_cuda_learning &l, uint4 known, uint32_t burst,
              uint32_t flushed, uint32_t youngest)
{
    const bool one = plastic_rule<RULE>::n_source < 2;
    learner_row row;
    row.arrived = known.y;
    row.before[0] = vly_float(known.z);
    row.before[1] = one ? 0.0f : vly_float(known.w);
    row.x[1] = 0.0f;
    for (int t = 0; t < 2; t++)
        row.after[t] = learning_after(l, row.before[t]);
    if (one)
        row.x[0] = vly_float(known.w);
    else
        for (int t = 0; t < 2; t++)
            row.x[t] = learner_decay<ONE>(l.source[t], t, 0, row.after[t],
                                          burst - row.arrived);
    find_bursts(l, burst, flushed, youngest, &row);
    return row;
}

/* ---- the visit ---------------------------------------------------------- */

/* What learner_visit does; places instead of pointers. */
struct learner_task {
    uint32_t learner; /* resident_learner.place */
    uint32_t p;       /* projection */
    uint32_t burst;
    uint32_t start; /* of the spikes in the log */
    uint32_t count; /* of spikes, or of sources in a flush */
    uint32_t warp;  /* of those that share the work ... */
    uint32_t n_warps;
    uint32_t input; /* accumulators of the burst, or NO_INPUT: a flush */
    /* Entries of the first spikes, in shared memory: the log is farther away. A
     * pointer, which is read once a spike. */
    const uint32_t *list;
    uint32_t n_list;
};

/* The source of spike number i, or in a flush source i, less the first one. */
static __device__ __forceinline__ uint32_t
source_of(const resident_learner &learner, const learner_task &task,
          uint32_t first, uint32_t i)
{
    if (task.input == NO_INPUT)
        return i;
    if (i < task.n_list)
        return (task.list[i] & ID_MASK) - first;
    return learner.log[(task.start + i) & learner.maps->log_mask] - first;
}

/* The warp takes n spikes from number `first` on. Each thread reads the source
 * of its spike and writes down the arrival. All threads of the warp. */
template <int RULE, bool ONE>
static __device__ __forceinline__ learner_sources take_sources(
    const vly_cuda_learning &l, const vly_cuda_learner &part,
    const resident_learner &learner, const learner_task &task, uint32_t first,
    uint32_t n, const uint32_t &flushed, uint32_t youngest)
{
    const uint32_t lane = threadIdx.x % 32;
    uint32_t k = 0xffffffffu;
    if (lane < n)
        k = source_of(learner, task, l.source_first, first + lane);
    learner_source known;
    memset(&known, 0, sizeof known);
    uint32_t n_synapses = 0;
    int32_t n_bursts = 0;
    if (k < l.n_sources) {
        /* the next one says where it ends */
        vly_cuda_arrival *source =
            part.source + (uint64_t)k * (gridDim.x + 1) + blockIdx.x;
        const uint32_t end = __ldcg(&source[1].at);
        const uint4 s = __ldcg((const uint4 *)source);
        n_synapses = end - s.w;
        known.at = s.w;
        known.arrived = s.x;
        known.before = vly_float(s.y);
        known.other = vly_float(s.z);
        float x[2] = {0.0f, 0.0f};
        for (int t = 0; t < plastic_rule<RULE>::n_source; t++)
            x[t] = learner_decay<ONE>(
                l.source[t], t, 0,
                learning_after(l, t == 0 ? known.before : known.other),
                task.burst - known.arrived);
        if (plastic_rule<RULE>::n_source < 2)
            known.other = x[0];
        if (task.input != NO_INPUT)
            __stcg((uint4 *)source,
                   make_uint4(task.burst, vly_bits(x[0]), vly_bits(x[1]), s.w));
        learner_row row;
        row.arrived = known.arrived;
        find_bursts(l, task.burst, flushed, youngest, &row);
        n_bursts = (int32_t)(row.latest - row.lowest) + 1;
        if (task.input == NO_INPUT && n_bursts <= 0)
            n_synapses = 0;
    }
    return number_synapses(known_sources(learner), known, n_synapses, n_bursts);
}

/* One synapse: the spikes of its target since the last arrival are folded in,
 * then the arrival, whose weight is delivered. master: its own. */
template <int RULE, bool DELIVERS, bool ONE>
static __device__ __forceinline__ void
learner_arrival(const vly_cuda_learning &l, const plastic_rule<RULE> &rule,
                uint32_t near, const uint32_t &size, const learner_row &row,
                uint32_t burst, const learner_synapse &synapse, int32_t *master,
                uint32_t input)
{
    extern __shared__ uint4 dynamic[];
    int32_t m = synapse.m;
    if ((l.flags & VLY_CUDA_LEARNING_FROZEN) == 0) {
        const learner_target target = {synapse.number,
                                       near + size * synapse.number, size};
        const uint4 four = dynamic[target.near]; /* newest spikes */
        if ((int32_t)(row.latest - row.lowest) >= 0)
            m = learner_fold<RULE, ONE>(l, rule, row, target, four, m);
        if (DELIVERS) {
            float y[2];
            learner_traces<ONE>(l, target, four.x, burst, y);
            m = rule.pre(m, row.x, y[0], y[1]);
        }
        if (m != synapse.m)
            __stcg(master, m);
    }
    if (DELIVERS)
        atomicAdd((uint32_t *)dynamic + input + synapse.number,
                  ((uint32_t)((m + 0x8000) >> 16) * l.sign) << l.shift);
}

/* One projection. A warp takes at most 32 spikes at a time; what is left after
 * that is shared evenly. size: of what is known of a target, read where it is
 * used, since registers are few. */
template <int RULE, bool DELIVERS, bool ONE>
static __device__ __forceinline__ void
learner_rows(const vly_cuda_learning &l, const vly_cuda_learner &part,
             const resident_learner &learner, const uint32_t &size,
             const learner_task &task)
{
    const plastic_rule<RULE> rule(l.coefs);
    const uint16_t *number = part.number;
    int32_t *master = part.master;
    extern __shared__ uint4 dynamic[];
    const uint32_t &flushed = ((const uint32_t *)dynamic)[learner.done];
    const uint32_t near = learner.near + size * (part.newest_at - part.low);
    const bool dendritic = (l.flags & VLY_CUDA_LEARNING_DENDRITIC) != 0;
    const uint32_t youngest = dendritic && DELIVERS ? 0 : 1;
    for (uint32_t done = 0; done < task.count; done += 32 * task.n_warps) {
        const uint32_t left = task.count - done;
        const uint32_t n = left < 32 * task.n_warps
                               ? (left + task.n_warps - 1) / task.n_warps
                               : 32;
        const uint32_t first = task.warp * n;
        if (first >= left)
            break;
        const learner_sources sources =
            take_sources<RULE, ONE>(l, part, learner, task, done + first,
                                    min(n, left - first), flushed, youngest);
        uint32_t seen = known_sources(learner) - 1;
        uint32_t mine = threadIdx.x % 32;
        learner_synapse next =
            take_synapse(sources, 0, mine, &seen, number, master);
        for (uint32_t s = 0; s < sources.total; s += 32, mine += 32) {
            const learner_synapse synapse = next;
            if (s + 32 < sources.total)
                next = take_synapse(sources, s + 32, mine + 32, &seen, number,
                                    master);
            if (mine < sources.total) {
                const uint4 known = dynamic[synapse.source];
                learner_arrival<RULE, DELIVERS, ONE>(
                    l, rule, near, size,
                    row_of_source<RULE, ONE>(l, known, task.burst, flushed,
                                             youngest),
                    task.burst, synapse, master + (known.x + mine), task.input);
            }
        }
        __syncwarp(); /* before what is known of sources is overwritten */
    }
}

/* Nets with other rules have plan global (vly_cuda_learners_unfit). */
template <int RULE>
static __device__ __forceinline__ void
learner_visit_by(const vly_cuda_learning &l, const vly_cuda_learner &part,
                 const resident_learner &learner, const learner_task &task)
{
    if constexpr (plastic_rule<RULE>::eligible == 0 &&
                  plastic_rule<RULE>::window == 0) {
        learning_needs<RULE>();
        if (task.input != NO_INPUT)
            learner_rows<RULE, true, false>(l, part, learner, learner.size,
                                            task);
        else
            learner_rows<RULE, false, false>(l, part, learner, learner.size,
                                             task);
    } else {
        asm volatile("trap;"); /* the host has refused the net */
    }
}

/* A function of its own, called from several places: what all rules need does
 * not fit into the cache of instructions several times. RULE: ANY_RULE, or that
 * of the only map. */
template <int RULE>
static __device__ __noinline__ void learner_visit(const learner_task task)
{
    extern __shared__ uint4 dynamic[];
    const resident_learner &learner =
        *(const resident_learner *)((uint8_t *)dynamic + task.learner);
    const vly_cuda_learners &maps =
        *(const vly_cuda_learners *)((uint8_t *)dynamic + task.learner -
                                     sizeof(vly_cuda_learners));
    const vly_cuda_learning &l = maps.list[task.p];
    const vly_cuda_learner &part = maps.blocks[task.p];
    if (task.count == 0)
        return;
    if constexpr (RULE != ANY_RULE) {
        learner_visit_by<RULE>(l, part, learner, task);
        return;
    }
    switch (l.rule) {
#define VLY_EACH_PLASTICITY(id)                                                \
    case VLY_CUDA_RULE_##id:                                                   \
        learner_visit_by<VLY_CUDA_RULE_##id>(l, part, learner, task);          \
        break;
#include "kernels/rules/plasticity.def"
#if VLY_CUDA_USERS_RULES
    case VLY_CUDA_RULE_USERS:
        learner_visit_by<VLY_CUDA_RULE_USERS>(l, part, learner, task);
        break;
#endif
    }
}

#endif
