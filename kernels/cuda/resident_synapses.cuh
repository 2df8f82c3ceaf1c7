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

/* Of the ring of target i, which no other block writes: reads may be cached. */
static __device__ __forceinline__ const uint32_t *
ring_of(const vly_cuda_learning &l, uint32_t i)
{
    return l.post + (uint64_t)i * (l.mask + 1);
}

/* Of spikes of target i, the last one first, the burst of number n. */
static __device__ __forceinline__ uint32_t
ring_burst(const vly_cuda_learning &l, uint32_t i, uint32_t count, uint32_t n)
{
    return ring_of(l, i)[(count - 1 - n) & l.mask];
}

/* The same for one that is in shared memory; near: place of what is known of
 * the target, in 16 bytes. */
static __device__ __forceinline__ uint32_t near_burst(uint32_t near, uint32_t n)
{
    extern __shared__ uint4 dynamic[];
    return ((const uint32_t *)(dynamic + near))[n];
}

/* Number n of the spikes of target i. */
template <int RULE>
static __device__ __forceinline__ int32_t
learner_post(const vly_cuda_learning &l, const plastic_rule<RULE> &rule,
             const learning_row &row, int32_t age, uint32_t i, uint32_t count,
             uint32_t n, int32_t m)
{
    return learning_post<RULE>(
        l, rule, row, age,
        (uint64_t)i * (l.mask + 1) + ((count - 1 - n) & l.mask), m);
}

/* Those that are not in shared memory, if the last of those that are is to be
 * folded in. The first one is found by steps of eight, since all blocks wait
 * for the synapse with the most. */
template <int RULE>
static __device__ __forceinline__ int32_t
learner_fold_ring(const vly_cuda_learning &l, const plastic_rule<RULE> &rule,
                  const learning_row &row, uint32_t n_near, uint32_t burst,
                  uint32_t i, uint32_t count, int32_t m)
{
    uint32_t n = n_near;
    /* one spike that is not to be folded is always there */
    while (n + 8 <= l.mask &&
           (int32_t)(burst - ring_burst(l, i, count, n + 7)) <= row.oldest)
        n += 8;
    while ((int32_t)(burst - ring_burst(l, i, count, n)) <= row.oldest)
        n++;
#pragma unroll 1
    while (n-- > n_near) {
        const int32_t age = (int32_t)(burst - ring_burst(l, i, count, n));
        if (age < row.youngest)
            break; /* and all later ones */
        m = learner_post<RULE>(l, rule, row, age, i, count, n, m);
    }
    return m;
}

/* As learning_fold; four: the last spikes, of which the newest is to be folded
 * in. The last four are counted without a branch, then one loop folds them in,
 * since a burst runs each instruction once or twice: what costs is to fetch it.
 */
template <int RULE>
static __device__ __forceinline__ int32_t
learner_fold(const vly_cuda_learning &l, const plastic_rule<RULE> &rule,
             const learning_row &row, uint32_t near, uint32_t n_near,
             uint4 four, uint32_t burst, uint32_t i, uint32_t count, int32_t m)
{
    uint32_t n = 1;
    n += (int32_t)(burst - four.y) <= row.oldest;
    n += (int32_t)(burst - four.z) <= row.oldest;
    n += (int32_t)(burst - four.w) <= row.oldest;
    if (n == 4) {
#pragma unroll 1
        while (n < n_near &&
               (int32_t)(burst - near_burst(near, n)) <= row.oldest)
            n++;
        if (n == n_near)
            m = learner_fold_ring<RULE>(l, rule, row, n_near, burst, i, count,
                                        m);
    }
#pragma unroll 1
    while (n-- > 0) {
        const int32_t age = (int32_t)(burst - near_burst(near, n));
        if (age < row.youngest)
            break; /* and all later ones */
        m = learner_post<RULE>(l, rule, row, age, i, count, n, m);
    }
    return m;
}

/* As learning_target. */
static __device__ __forceinline__ void
learner_target(const vly_cuda_learning &l, uint32_t last, uint4 tail,
               uint32_t near, uint32_t n_near, uint32_t burst, uint32_t i,
               float *y)
{
    float after[2] = {vly_float(tail.x), vly_float(tail.y)};
    if ((int32_t)(burst - last) < 1) {
        uint32_t n = 0;
        do {
            n++;
            last =
                n < n_near ? near_burst(near, n) : ring_burst(l, i, tail.z, n);
        } while ((int32_t)(burst - last) < 1);
        const uint64_t at =
            (uint64_t)i * (l.mask + 1) + ((tail.z - 1 - n) & l.mask);
        for (int t = 0; t < 2; t++)
            after[t] = learning_after(l, learning_before(l, t, at));
    }
    for (int t = 0; t < 2; t++)
        y[t] = learning_decay(l.target_trace[t], after[t], burst - last);
}

/* Up to 32 sources whose synapses a warp takes together: thread r knows the
 * r-th of them. Their synapses are numbered one after the other. */
struct learner_sources {
    uint32_t start;   /* number of the first synapse; FAR: none */
    uint32_t at;      /* its place in the map, less start */
    uint32_t arrived; /* age of the last arrival */
    float before[2];  /* traces before the last arrival */
    uint32_t n;       /* sources; the same for all threads */
    uint32_t total;   /* synapses; the same for all threads */
};

#define FAR (1u << 31)

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
 * synapses are left out, the others numbered. If a warp takes its synapses in
 * several groups, those with the most bursts come first: a group waits for the
 * synapse that folds most, so synapses with like numbers of spikes should be
 * together. */
template <int RULE>
static __device__ __forceinline__ void
number_synapses(learner_sources *sources, uint32_t at, uint32_t n_synapses,
                int32_t n_bursts)
{
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
    sources->n = (uint32_t)__popc(filled);
    n_synapses = __shfl_sync(all, n_synapses, from);
    n_synapses = lane < sources->n ? n_synapses : 0;
    sources->at = __shfl_sync(all, at, from);
    sources->arrived = __shfl_sync(all, sources->arrived, from);
    for (int t = 0; t < plastic_rule<RULE>::n_source; t++)
        sources->before[t] = __shfl_sync(all, sources->before[t], from);
    uint32_t sum = n_synapses;
#pragma unroll
    for (uint32_t d = 1; d < 32; d *= 2) {
        const uint32_t other = __shfl_up_sync(all, sum, d);
        sum += lane >= d ? other : 0;
    }
    sources->total = __shfl_sync(all, sum, 31);
    sources->start = sum - n_synapses;
    sources->at -= sources->start;
    if (lane >= sources->n)
        sources->start = FAR;
}

/* A synapse of the warp's sources, and what is read of it before anything else
 * is known. */
struct learner_synapse {
    uint32_t source;
    uint32_t at; /* place in the map */
    uint32_t number;
    int32_t m;
};

/* That of the thread, its number being `mine`, of those from `first` on; *seen:
 * sources before them. All threads of the warp. */
static __device__ __forceinline__ learner_synapse
take_synapse(const learner_sources &sources, uint32_t first, uint32_t mine,
             uint32_t *seen, const uint16_t *number, const int32_t *master)
{
    const uint32_t all = 0xffffffffu;
    const uint32_t ahead = sources.start - first; /* wraps if it is before */
    const uint32_t heads = __reduce_or_sync(all, ahead < 32 ? 1u << ahead : 0);
    const uint32_t upto = 0xffffffffu >> (31 - threadIdx.x % 32);
    learner_synapse synapse = {0, 0, 0, 0};
    synapse.source = *seen + (uint32_t)__popc(heads & upto) - 1;
    *seen += (uint32_t)__popc(heads);
    synapse.at = __shfl_sync(all, sources.at, synapse.source) + mine;
    if (mine < sources.total) {
        synapse.number = __ldcg(number + synapse.at);
        synapse.m = __ldcg(master + synapse.at);
    }
    return synapse;
}

/* What the thread's synapse needs of its source. All threads of the warp. */
template <int RULE>
static __device__ __forceinline__ learning_row
row_of_source(const vly_cuda_learning &l, const learner_sources &sources,
              uint32_t source, int32_t youngest, int32_t oldest)
{
    const uint32_t all = 0xffffffffu;
    learning_row row;
    row.arrived = __shfl_sync(all, sources.arrived, source);
    for (int t = 0; t < 2; t++) {
        row.before[t] = t < plastic_rule<RULE>::n_source
                            ? __shfl_sync(all, sources.before[t], source)
                            : 0;
        row.after[t] = learning_after(l, row.before[t]);
        /* computed again: that costs less than to hand it over, and nothing
         * where a rule does not use it */
        row.x[t] = learning_decay(l.source[t], row.after[t], row.arrived);
    }
    learning_bounds(l, &row, youngest, oldest);
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
template <int RULE>
static __device__ __forceinline__ learner_sources take_sources(
    const vly_cuda_learning &l, const vly_cuda_learner &part,
    const resident_learner &learner, const learner_task &task, uint32_t first,
    uint32_t n, const uint32_t &flushed, int32_t youngest)
{
    const uint32_t lane = threadIdx.x % 32;
    uint32_t k = 0xffffffffu;
    if (lane < n)
        k = source_of(learner, task, l.source_first, first + lane);
    learner_sources sources;
    uint32_t at = 0;
    uint32_t n_synapses = 0;
    int32_t n_bursts = 0;
    memset(&sources, 0, sizeof sources);
    if (k < l.n_sources) {
        /* the next one says where it ends */
        vly_cuda_arrival *source =
            part.source + (uint64_t)k * (gridDim.x + 1) + blockIdx.x;
        const uint32_t end = __ldcg(&source[1].at);
        const uint4 s = __ldcg((const uint4 *)source);
        at = s.w;
        n_synapses = end - at;
        const learning_row row =
            learning_row_from(l, s.x, vly_float(s.y), vly_float(s.z),
                              task.burst, flushed, youngest);
        if (task.input != NO_INPUT)
            __stcg((uint4 *)source, make_uint4(task.burst, vly_bits(row.x[0]),
                                               plastic_rule<RULE>::n_source > 1
                                                   ? vly_bits(row.x[1])
                                                   : 0,
                                               at));
        else if (row.youngest > row.oldest)
            n_synapses = 0;
        n_bursts = row.oldest - row.youngest + 1;
        sources.arrived = row.arrived;
        for (int t = 0; t < 2; t++)
            sources.before[t] = row.before[t];
    }
    number_synapses<RULE>(&sources, at, n_synapses, n_bursts);
    return sources;
}

/* One synapse: the spikes of its target since the last arrival are folded in,
 * then the arrival, whose weight is delivered. */
template <int RULE, bool DELIVERS>
static __device__ __forceinline__ void
learner_arrival(const vly_cuda_learning &l, const plastic_rule<RULE> &rule,
                uint32_t near, const uint32_t &size, const learning_row &row,
                uint32_t burst, const learner_synapse &synapse, int32_t *master,
                uint32_t input)
{
    extern __shared__ uint4 dynamic[];
    int32_t m = synapse.m;
    if ((l.flags & VLY_CUDA_LEARNING_FROZEN) == 0) {
        const uint32_t known = near + size * synapse.number;
        const uint4 four = dynamic[known];            /* newest spikes */
        const uint4 tail = dynamic[known + size - 1]; /* traces, count */
        const uint32_t i = target_index(l, synapse.number);
        const uint32_t n_near = 4 * (size - 1);
        if (row.youngest <= row.oldest &&
            (int32_t)(burst - four.x) <= row.oldest)
            m = learner_fold<RULE>(l, rule, row, known, n_near, four, burst, i,
                                   tail.z, m);
        if (DELIVERS) {
            float y[2];
            learner_target(l, four.x, tail, known, n_near, burst, i, y);
            m = rule.pre(m, row.x, y[0], y[1]);
        }
        if (m != synapse.m)
            __stcg(master + synapse.at, m);
    }
    if (DELIVERS)
        atomicAdd((uint32_t *)dynamic + input + synapse.number,
                  ((uint32_t)((m + 0x8000) >> 16) * l.sign) << l.shift);
}

/* One projection. A warp takes at most 32 spikes at a time, and fewer if all
 * warps then have the same number. size: of what is known of a target, read
 * where it is used, since registers are few. */
template <int RULE, bool DELIVERS>
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
    const int32_t youngest = dendritic && DELIVERS ? 0 : 1;
    const uint32_t trips =
        (task.count + 32 * task.n_warps - 1) / (32 * task.n_warps);
    const uint32_t n =
        (task.count + trips * task.n_warps - 1) / (trips * task.n_warps);
    for (uint32_t first = task.warp * n; first < task.count;
         first += task.n_warps * n) {
        const learner_sources sources =
            take_sources<RULE>(l, part, learner, task, first,
                               min(n, task.count - first), flushed, youngest);
        uint32_t seen = 0;
        uint32_t mine = threadIdx.x % 32;
        learner_synapse next =
            take_synapse(sources, 0, mine, &seen, number, master);
        for (uint32_t s = 0; s < sources.total; s += 32, mine += 32) {
            const learner_synapse synapse = next;
            if (s + 32 < sources.total)
                next = take_synapse(sources, s + 32, mine + 32, &seen, number,
                                    master);
            const learning_row row =
                row_of_source<RULE>(l, sources, synapse.source, youngest,
                                    (int32_t)(task.burst - flushed));
            if (mine < sources.total)
                learner_arrival<RULE, DELIVERS>(l, rule, near, size, row,
                                                task.burst, synapse, master,
                                                task.input);
        }
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
            learner_rows<RULE, true>(l, part, learner, learner.size, task);
        else
            learner_rows<RULE, false>(l, part, learner, learner.size, task);
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
