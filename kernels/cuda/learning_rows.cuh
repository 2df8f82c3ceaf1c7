/* SPDX-License-Identifier: Apache-2.0
 * Maps that learn. A synapse is brought up to date when a spike of its source
 * arrives: the spikes of its target since the last arrival are folded in, then
 * the arrival, then its weight is delivered. A warp takes a row or a part of
 * it.
 *
 * Each target has its last spikes in a ring. If one is full, the next burst
 * begins with a flush: all rows are brought up to date. That changes no result.
 * Bursts are counted modulo 2^32; nothing is 2^31 bursts ago (renew_all).
 *
 * With VLY_CUDA_USERS_RULES, maps may learn by rules of users; the kernels of
 * other nets have no instruction for them.
 */
#ifndef VOLLEY_CUDA_LEARNING_ROWS_CUH
#define VOLLEY_CUDA_LEARNING_ROWS_CUH

#include <string.h>

#include "learning_needs.cuh"

#include "kernels/rules/plasticity_rules.h"

template <int RULE> struct plastic_rule;
#define VLY_PLASTICITY_READ "kernels/cuda/learning_rule.cuh"
#include "kernels/rules/each_plasticity.h"
static_assert(VLY_PLASTICITY_MAX_COEFS <= VLY_CUDA_RULE_COEFS,
              "coefficients of a rule");
#if VLY_CUDA_USERS_RULES
#include "users_rule.cuh"
#endif

/* A row in one burst. */
struct learning_row {
    uint32_t arrived; /* age of the last arrival */
    /* spikes of targets with ages in [youngest, oldest] are not folded in */
    int32_t youngest;
    int32_t oldest;
    float before[2]; /* traces before the last arrival */
    float after[2];
    float x[2]; /* and before this one */
};

/* Beyond the table. A call keeps the code short where many rules and models use
 * it; inlined it costs no registers around it. */
#if !defined(LEARNING_FAR)
#define LEARNING_FAR __noinline__
#endif
static __device__ LEARNING_FAR float
learning_decay_far(float x, uint32_t age, float rate, uint32_t bursts)
{
    return vly_trace_at(x, age, rate, bursts);
}

static __device__ __forceinline__ float
learning_decay(const vly_cuda_trace &trace, float x, uint32_t age)
{
    const uint32_t last = trace.last;
    if (last < trace.bursts && age > last) /* uniform test first */
        return learning_decay_far(x, age, trace.rate, trace.bursts);
    return x * __ldg(trace.factor + (age < last ? age : last));
}

static __device__ __forceinline__ float
learning_after(const vly_cuda_learning &l, float before)
{
    return (l.flags & VLY_CUDA_LEARNING_NEAREST) != 0 ? 1.0f : before + 1.0f;
}

/* Which spikes of targets are to be folded in, of those with ages in [youngest,
 * oldest]: arrived is known. */
static __device__ __forceinline__ void
learning_bounds(const vly_cuda_learning &l, learning_row *row, int32_t youngest,
                int32_t oldest)
{
    const uint32_t dendritic = (l.flags & VLY_CUDA_LEARNING_DENDRITIC) != 0;
    const int32_t since = (int32_t)(row->arrived - dendritic);
    /* later spikes of targets meet no trace of this source */
    const int32_t least = (int32_t)row->arrived - (int32_t)l.reach + 1;
    row->youngest = youngest > least ? youngest : least;
    row->oldest = oldest < since ? oldest : since;
}

/* The row of a source whose last arrival was in burst `arrived`, with these
 * traces before it. */
static __device__ __forceinline__ learning_row learning_row_from(
    const vly_cuda_learning &l, uint32_t arrived, float before0, float before1,
    uint32_t burst, uint32_t flushed, int32_t youngest)
{
    learning_row row;
    row.arrived = burst - arrived;
    learning_bounds(l, &row, youngest, (int32_t)(burst - flushed));
    row.before[0] = before0;
    row.before[1] = before1;
    for (int t = 0; t < 2; t++) {
        row.after[t] = learning_after(l, row.before[t]);
        row.x[t] = learning_decay(l.source[t], row.after[t], row.arrived);
    }
    return row;
}

static __device__ __forceinline__ learning_row
learning_row_of(const vly_cuda_learning &l, uint32_t k, uint32_t burst,
                uint32_t flushed, int32_t youngest)
{
    return learning_row_from(
        l, __ldcg(l.arrived + k),
        l.before[0] != nullptr ? __ldcg(l.before[0] + k) : 0.0f,
        l.before[1] != nullptr ? __ldcg(l.before[1] + k) : 0.0f, burst, flushed,
        youngest);
}

static __device__ __forceinline__ float
learning_before(const vly_cuda_learning &l, int t, uint64_t at)
{
    return l.post_before[t] != nullptr ? __ldcg(l.post_before[t] + at) : 0.0f;
}

/* ---- synapses ---------------------------------------------------------- */

/* One spike of a target, of this age; slot: its place among the rings. */
template <int RULE>
static __device__ __forceinline__ int32_t
learning_post(const vly_cuda_learning &l, const plastic_rule<RULE> &rule,
              const learning_row &row, int32_t age, uint64_t slot, int32_t m)
{
    const uint32_t k = row.arrived - (uint32_t)age;
    const float x0 =
        k == 0 ? row.before[0] : learning_decay(l.source[0], row.after[0], k);
    const float x1 =
        k == 0 ? row.before[1] : learning_decay(l.source[1], row.after[1], k);
    return rule.post(m, x0, x1, learning_before(l, 0, slot),
                     learning_before(l, 1, slot));
}

/* Spikes of target i that are in its ring, oldest first. */
template <int RULE>
static __device__ __noinline__ int32_t
learning_fold_ring(const vly_cuda_learning &l, const plastic_rule<RULE> &rule,
                   const learning_row &row, uint32_t burst, uint32_t i,
                   uint32_t count, int32_t m)
{
    const uint64_t first = (uint64_t)i * (l.mask + 1);
    const uint32_t *ring = l.post + first;
    uint32_t at = count - VLY_CUDA_NEWEST; /* those are known to be */
    /* one spike that is not to be folded is always there; by steps of eight,
     * since each is a read that waits */
    while (count - at + 8 <= l.mask &&
           (int32_t)(burst - __ldcg(ring + ((at - 8) & l.mask))) <= row.oldest)
        at -= 8;
    while ((int32_t)(burst - __ldcg(ring + ((at - 1) & l.mask))) <= row.oldest)
        at--;
    uint32_t next = __ldcg(ring + (at & l.mask));
    for (; at != count; at++) {
        const int32_t age = (int32_t)(burst - next);
        next = __ldcg(ring + ((at + 1) & l.mask));
        if (age < row.youngest)
            break;
        m = learning_post<RULE>(l, rule, row, age, first + (at & l.mask), m);
    }
    return m;
}

/* Four spikes, newest first; first: number of the newest of them. */
template <int RULE>
static __device__ __forceinline__ int32_t
learning_fold_four(const vly_cuda_learning &l, const plastic_rule<RULE> &rule,
                   const learning_row &row, uint32_t burst, uint32_t i,
                   uint32_t count, uint4 four, uint32_t first, int32_t m)
{
    const uint32_t bursts[4] = {four.x, four.y, four.z, four.w};
    const uint64_t ring = (uint64_t)i * (l.mask + 1);
#pragma unroll
    for (int n = 3; n >= 0; n--) {
        const int32_t age = (int32_t)(burst - bursts[n]);
        if (age > row.oldest || age < row.youngest)
            continue;
        const uint32_t slot = (count - 1 - first - (uint32_t)n) & l.mask;
        m = learning_post<RULE>(l, rule, row, age, ring + slot, m);
    }
    return m;
}

/* Spikes of target i since the last arrival: nearly always fewer than those
 * that are at hand, so that its ring is not read. */
template <int RULE>
static __device__ __forceinline__ int32_t
learning_fold(const vly_cuda_learning &l, const plastic_rule<RULE> &rule,
              const learning_row &row, uint4 newest, uint32_t burst, uint32_t i,
              uint32_t count, int32_t m)
{
    if ((int32_t)(burst - newest.w) <= row.oldest) {
        const uint4 *at = (const uint4 *)(l.newest + i);
        const uint4 second = __ldcg(at + 1);
        const uint4 third = __ldcg(at + 2);
        if ((int32_t)(burst - third.w) <= row.oldest)
            return learning_fold_ring<RULE>(l, rule, row, burst, i, count, m);
        m = learning_fold_four<RULE>(l, rule, row, burst, i, count, third, 8,
                                     m);
        m = learning_fold_four<RULE>(l, rule, row, burst, i, count, second, 4,
                                     m);
    }
    return learning_fold_four<RULE>(l, rule, row, burst, i, count, newest, 0,
                                    m);
}

/* The traces of target i that the synapse sees: those after its newest spike
 * (tail, of burst `last`), unless that is on its way in a dendrite. */
static __device__ __forceinline__ void
learning_target(const vly_cuda_learning &l, uint32_t last, uint4 tail,
                uint32_t burst, uint32_t i, float *y)
{
    float after[2] = {vly_float(tail.x), vly_float(tail.y)};
    if ((int32_t)(burst - last) < 1) {
        const uint64_t ring = (uint64_t)i * (l.mask + 1);
        uint32_t at = tail.z - 1;
        do {
            at--;
            last = __ldcg(l.post + ring + (at & l.mask));
        } while ((int32_t)(burst - last) < 1);
        for (int t = 0; t < 2; t++)
            after[t] =
                learning_after(l, learning_before(l, t, ring + (at & l.mask)));
    }
    for (int t = 0; t < 2; t++)
        y[t] = learning_decay(l.target_trace[t], after[t], burst - last);
}

/* In a text for the driver a row is a call: each rule is compiled once, not
 * where rows are delivered and where they are flushed. */
#if VLY_CUDA_SPLICED
#define LEARNING_ROW __noinline__
#else
#define LEARNING_ROW __forceinline__
#endif

/* Part `part` of n_parts of row k, by one warp. input: NULL, or accumulators of
 * this burst and port, to which the arrival is delivered. */
template <int RULE>
static __device__ LEARNING_ROW void
learning_part(const vly_cuda_learning &l, const learning_row &row,
              uint32_t burst, uint32_t k, uint32_t part, uint32_t n_parts,
              uint32_t *input)
{
    const plastic_rule<RULE> rule(l.coefs);
    int32_t *const changed =
        plastic_rule<RULE>::eligible ? l.eligibility : l.master;
    const bool folds = row.youngest <= row.oldest;
    const uint64_t end = l.row[k + 1];
    uint64_t j = l.row[k] + 32ull * part + threadIdx.x % 32;
    for (; j < end; j += 32ull * n_parts) {
        const uint32_t target = __ldg(l.target + j);
        const uint32_t i = target - l.target_first;
        int32_t m = __ldcg(changed + j);
        const int32_t was = m;
        if ((l.flags & VLY_CUDA_LEARNING_FROZEN) == 0) {
            const uint4 *at = (const uint4 *)(l.newest + i);
            const uint4 newest = __ldcg(at);
            const uint4 tail = __ldcg(at + 3); /* traces, count */
            if (folds && (int32_t)(burst - newest.x) <= row.oldest)
                m = learning_fold<RULE>(l, rule, row, newest, burst, i, tail.z,
                                        m);
            if (input != nullptr) {
                float y[2];
                learning_target(l, newest.x, tail, burst, i, y);
                m = rule.pre(m, row.x, y[0], y[1]);
            }
        }
        if (m != was)
            changed[j] = m;
        if (plastic_rule<RULE>::eligible && input != nullptr)
            m = __ldcg(l.master + j);
        if (input != nullptr)
            atomicAdd(input + target, ((uint32_t)((m + 0x8000) >> 16) * l.sign)
                                          << l.shift);
    }
}

static __device__ __forceinline__ void
learning_visit(const vly_cuda_learning &l, const learning_row &row,
               uint32_t burst, uint32_t k, uint32_t part, uint32_t n_parts,
               uint32_t *input)
{
    switch (l.rule) {
#define VLY_EACH_PLASTICITY(id)                                                \
    case VLY_CUDA_RULE_##id:                                                   \
        learning_needs<VLY_CUDA_RULE_##id>();                                  \
        learning_part<VLY_CUDA_RULE_##id>(l, row, burst, k, part, n_parts,     \
                                          input);                              \
        break;
#include "kernels/rules/plasticity.def"
#if VLY_CUDA_USERS_RULES
    case VLY_CUDA_RULE_USERS:
        learning_needs<VLY_CUDA_RULE_USERS>();
        learning_part<VLY_CUDA_RULE_USERS>(l, row, burst, k, part, n_parts,
                                           input);
        break;
#endif
    }
}

#include "learning_window.cuh"

/* ---- a burst ----------------------------------------------------------- */

static __device__ __forceinline__ bool
learning_is_full(const vly_cuda_learning &l, uint64_t burst)
{
    return __ldcg(l.full) == (uint32_t)burst;
}

/* By one thread of each block, after the barrier that follows the update; all
 * see the same. */
static __device__ bool learning_must_flush(const vly_cuda_learnings &learnings,
                                           uint64_t burst)
{
    bool must = false;
    for (uint32_t p = 0; p < learnings.n; p++)
        must |= learning_has_window(learnings.list[p]) ||
                learning_is_full(learnings.list[p], burst);
    return must;
}

/* Maps with a full ring, or all of them. */
static __device__ void learning_flush(const vly_cuda_learnings &learnings,
                                      uint64_t burst, bool all)
{
    const uint32_t n_warps = gridDim.x * (blockDim.x / 32);
    const uint32_t warp = threadIdx.x / 32 * gridDim.x + blockIdx.x;
    for (uint32_t p = 0; p < learnings.n; p++) {
        const vly_cuda_learning &l = learnings.list[p];
        if (learning_has_window(l)) {
            learning_needs<VLY_CUDA_NEEDS_WINDOWS>();
            window_sweep(l, burst, warp, n_warps);
            continue;
        }
        if (!all && !learning_is_full(l, burst))
            continue;
        const uint32_t flushed = __ldcg(l.flushed);
        if ((l.flags & VLY_CUDA_LEARNING_FROZEN) != 0)
            continue;
        for (uint32_t k = warp; k < l.n_sources; k += n_warps) {
            const learning_row row =
                learning_row_of(l, k, (uint32_t)burst, flushed, 1);
            if (row.youngest <= row.oldest)
                learning_visit(l, row, (uint32_t)burst, k, 0, 1, nullptr);
        }
    }
}

/* The spikes that arrive at a map in this burst; 0: none. */
static __device__ __forceinline__ uint32_t
learning_set(const vly_cuda_view &view, const vly_cuda_learning &l,
             uint64_t burst, uint64_t *start)
{
    if (burst < l.base_delay)
        return 0;
    const vly_cuda_record *record =
        view.records + ((uint32_t)(burst - l.base_delay) & view.record_mask);
    *start = __ldcg(&record->start);
    return __ldcg(&record->count);
}

static __device__ void learning_deliver(const vly_cuda_view &view,
                                        const vly_cuda_learnings &learnings,
                                        uint64_t burst)
{
    const uint32_t n_warps = gridDim.x * (blockDim.x / 32);
    const uint32_t warp = threadIdx.x / 32 * gridDim.x + blockIdx.x;
    const uint64_t slot = burst % view.ring;
    for (uint32_t p = 0; p < learnings.n; p++) {
        const vly_cuda_learning &l = learnings.list[p];
        uint64_t start = 0;
        const uint32_t count = learning_set(view, l, burst, &start);
        if (learning_has_window(l)) {
            learning_needs<VLY_CUDA_NEEDS_WINDOWS>();
            window_deliver(view, l, burst, start, count);
            continue;
        }
        const uint32_t flushed =
            learning_is_full(l, burst) ? (uint32_t)burst : __ldcg(l.flushed);
        const int32_t youngest =
            (l.flags & VLY_CUDA_LEARNING_DENDRITIC) != 0 ? 0 : 1;
        uint32_t *input =
            view.input + (slot * view.n_ports + l.port) * view.n_neurons;
        /* No thread reads `flushed` before the barrier: all see that the ring
         * is full. */
        if (learning_is_full(l, burst) && blockIdx.x == 0 && threadIdx.x == 0)
            *l.flushed = (uint32_t)burst;
        /* 32 synapses of a row are the least that is worth a warp */
        uint32_t n_parts = count != 0 ? n_warps / count : 1;
        n_parts = n_parts > l.most_parts ? l.most_parts : n_parts;
        n_parts = n_parts < 1 ? 1 : n_parts;

        const uint64_t items = (uint64_t)count * n_parts;
        for (uint64_t q = warp; q < items; q += n_warps) {
            const uint64_t at = (start + q / n_parts) & view.log_mask;
            const uint32_t k = __ldcg(view.log_ids + at) - l.source_first;
            if (k >= l.n_sources)
                continue;
            const learning_row row =
                learning_row_of(l, k, (uint32_t)burst, flushed, youngest);
            learning_visit(l, row, (uint32_t)burst, k, (uint32_t)(q % n_parts),
                           n_parts, input);
        }
    }
}

/* After the barrier that follows delivery: what arrived. */
static __device__ void learning_arrivals(const vly_cuda_view &view,
                                         const vly_cuda_learnings &learnings,
                                         uint64_t burst)
{
    const uint32_t now = (uint32_t)burst;
    for (uint32_t p = 0; p < learnings.n; p++) {
        const vly_cuda_learning &l = learnings.list[p];
        uint64_t start = 0;
        if (learning_has_window(l))
            continue;
        const uint32_t count = learning_set(view, l, burst, &start);
        /* the last blocks: the first ones have more neurons to update */
        uint32_t i = (gridDim.x - 1 - blockIdx.x) * blockDim.x + threadIdx.x;
        for (; i < count; i += gridDim.x * blockDim.x) {
            const uint64_t at = (start + i) & view.log_mask;
            const uint32_t k = __ldcg(view.log_ids + at) - l.source_first;
            if (k >= l.n_sources)
                continue;
            const uint32_t age = now - __ldcg(l.arrived + k);
            for (int t = 0; t < 2; t++)
                if (l.before[t] != nullptr)
                    l.before[t][k] = learning_decay(
                        l.source[t], learning_after(l, __ldcg(l.before[t] + k)),
                        age);
            l.arrived[k] = now;
        }
    }
}

/* Target i fired: by one thread. Returns whether its ring is full. */
static __device__ __forceinline__ bool learning_push(const vly_cuda_learning &l,
                                                     uint64_t burst, uint32_t i)
{
    const uint32_t seen = (uint32_t)burst + l.lag;
    const uint4 *words = (const uint4 *)(l.newest + i);
    uint4 all[4];
    for (int k = 0; k < 4; k++)
        all[k] = __ldcg(words + k);
    vly_cuda_newest newest;
    memcpy(&newest, all, sizeof newest);
    const uint32_t n = newest.count;
    const uint64_t ring = (uint64_t)i * (l.mask + 1);
    const uint64_t at = ring + (n & l.mask);
    /* The next spike overwrites the oldest entry. One that all rows have seen
     * must remain. */
    const uint32_t old = __ldcg(l.post + ring + ((n + 3) & l.mask));
    const uint32_t flushed = __ldcg(l.flushed);

    for (int t = 0; t < 2; t++) {
        if (l.post_before[t] == nullptr)
            continue;
        const float y = learning_decay(l.target_trace[t], newest.after[t],
                                       seen - newest.burst[0]);
        l.post_before[t][at] = y;
        newest.after[t] = learning_after(l, y);
    }
    l.post[at] = seen;
    for (int k = (int)VLY_CUDA_NEWEST - 1; k > 0; k--)
        newest.burst[k] = newest.burst[k - 1];
    newest.burst[0] = seen;
    newest.count = n + 1;
    l.newest[i] = newest;
    return (int32_t)(old - flushed) >= 0;
}

/* Neuron id fired: by one thread. */
static __device__ void learning_fired(const vly_cuda_learnings &learnings,
                                      uint64_t burst, uint32_t id)
{
    for (uint32_t p = 0; p < learnings.n; p++) {
        const vly_cuda_learning &l = learnings.list[p];
        if (learning_has_window(l)) {
            learning_needs<VLY_CUDA_NEEDS_WINDOWS>();
            window_fired(l, burst, id);
            continue;
        }
        const uint32_t i = id - l.target_first;
        if (i < l.n_targets && learning_push(l, burst, i))
            *l.full = (uint32_t)burst + 1;
    }
}

#endif
