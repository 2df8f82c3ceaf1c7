/* SPDX-License-Identifier: Apache-2.0
 * Maps with short-term plasticity, in the plan for every net. A warp takes a
 * row or a part of it, with the gain of the spike, which follows from the state
 * of its source (`head`) alone. States change after the barrier that follows
 * delivery. A second copy of them (`tail`) goes behind the events that are
 * under way, for snapshots.
 */
#ifndef VOLLEY_CUDA_SHORT_TERM_CUH
#define VOLLEY_CUDA_SHORT_TERM_CUH

#include <string.h>

#include "learning_needs.cuh"

#include "kernels/rules/short_term_rules.h"

static_assert(VLY_SHORT_TERM_MAX_COEFS <= VLY_CUDA_RULE_COEFS,
              "coefficients of a rule");

/* A spike of a source in burst `burst`: the state after it. */
static __device__ __forceinline__ vly_short_term
short_term_spike(const vly_cuda_short_term &s, const vly_cuda_source *sources,
                 uint32_t k, uint32_t burst)
{
    const uint4 words = __ldcg((const uint4 *)(sources + k));
    const uint32_t h = burst - words.w;
    vly_short_term state;
    state.x = vly_float(words.x);
    state.u = vly_float(words.y);
    state.y = vly_float(words.z);
    state.gain = 0;
    state = vly_short_term_known(state, h, s.bursts);
    switch (s.rule) {
#define VLY_EACH_SHORT_TERM(id)                                                \
    case VLY_CUDA_SHORT_##id: {                                                \
        vly_##id##_coef c;                                                     \
        memcpy(&c, s.coefs, sizeof c);                                         \
        state = vly_##id##_spike(state, c, h);                                 \
        break;                                                                 \
    }
#include "kernels/rules/short_term.def"
    }
    return state;
}

static __device__ __forceinline__ void
short_term_store(vly_cuda_source *source, const vly_short_term &state,
                 uint32_t burst)
{
    uint4 words;
    words.x = vly_bits(state.x);
    words.y = vly_bits(state.u);
    words.z = vly_bits(state.y);
    words.w = burst;
    *(uint4 *)source = words;
}

/* The spikes of a burst; 0: none. */
static __device__ __forceinline__ uint32_t
short_term_set(const vly_cuda_view &view, uint64_t burst, uint64_t *start)
{
    const vly_cuda_record *record =
        view.records + ((uint32_t)burst & view.record_mask);
    *start = __ldcg(&record->start);
    return __ldcg(&record->count);
}

/* Part `part` of n_parts of row k, by one warp: delay d goes to slot (now + d)
 * mod ring. */
static __device__ __forceinline__ void
short_term_part(const vly_cuda_view &view, const vly_cuda_short_term &s,
                uint32_t now, uint32_t delay_min, uint32_t sign, uint32_t gain,
                uint32_t k, uint32_t part, uint32_t n_parts)
{
    const uint64_t end = s.row[k + 1];
    uint64_t j = s.row[k] + 32ull * part + threadIdx.x % 32;
    for (; j < end; j += 32ull * n_parts) {
        const uint32_t delay = s.delay != nullptr ? s.delay[j] : 0;
        if (delay < delay_min)
            continue;
        const int32_t weight = s.weight != nullptr ? s.weight[j] : s.one_weight;
        const uint32_t value =
            (uint32_t)vly_short_term_event(weight, gain, s.shift) * sign;
        const uint64_t port = s.port < 2 ? s.port : weight < 0 ? 1 : 0;
        uint32_t slot = now + delay;
        slot = slot >= view.ring ? slot - view.ring : slot;
        atomicAdd(view.input +
                      ((uint64_t)slot * view.n_ports + port) * view.n_neurons +
                      s.target[j],
                  value);
    }
}

/* All spikes of one burst along one map, by the whole grid. now: slot of the
 * burst in which delay 0 arrives; sign: 1, or -1 modulo 2^32 to take away. */
static __device__ void short_term_rows(const vly_cuda_view &view,
                                       const vly_cuda_short_term &s,
                                       uint64_t burst, uint32_t now,
                                       uint32_t delay_min, uint32_t sign)
{
    const uint32_t n_warps = gridDim.x * (blockDim.x / 32);
    const uint32_t warp = threadIdx.x / 32 * gridDim.x + blockIdx.x;
    uint64_t start = 0;
    const uint32_t count = short_term_set(view, burst, &start);
    /* 32 synapses of a row are the least that is worth a warp */
    uint32_t n_parts = count != 0 ? n_warps / count : 1;
    n_parts = n_parts > s.most_parts ? s.most_parts : n_parts;
    n_parts = n_parts < 1 ? 1 : n_parts;
    const uint64_t items = (uint64_t)count * n_parts;
    for (uint64_t q = warp; q < items; q += n_warps) {
        const uint64_t at = (start + q / n_parts) & view.log_mask;
        const uint32_t k = __ldcg(view.log_ids + at) - s.source_first;
        if (k >= s.n_sources)
            continue;
        const uint32_t gain =
            short_term_spike(s, s.head, k, (uint32_t)burst).gain;
        short_term_part(view, s, now, delay_min, sign, gain, k,
                        (uint32_t)(q % n_parts), n_parts);
    }
}

static __device__ void short_term_deliver(const vly_cuda_view &view,
                                          const vly_cuda_learnings &learnings,
                                          uint64_t burst)
{
    for (uint32_t p = 0; p < learnings.n_short; p++) {
        const vly_cuda_short_term &s = learnings.short_term[p];
        learning_needs<VLY_CUDA_NEEDS_SHORT_TERM>();
        if (burst >= s.base_delay)
            short_term_rows(view, s, burst - s.base_delay,
                            (uint32_t)(burst % view.ring), 0, 1);
    }
}

/* The states after the spikes of one burst. */
static __device__ void short_term_advance(const vly_cuda_view &view,
                                          const vly_cuda_short_term &s,
                                          vly_cuda_source *sources,
                                          uint64_t burst)
{
    uint64_t start = 0;
    const uint32_t count = short_term_set(view, burst, &start);
    /* the last blocks: the first ones have more neurons to update */
    uint32_t i = (gridDim.x - 1 - blockIdx.x) * blockDim.x + threadIdx.x;
    for (; i < count; i += gridDim.x * blockDim.x) {
        const uint64_t at = (start + i) & view.log_mask;
        const uint32_t k = __ldcg(view.log_ids + at) - s.source_first;
        if (k >= s.n_sources)
            continue;
        short_term_store(sources + k,
                         short_term_spike(s, sources, k, (uint32_t)burst),
                         (uint32_t)burst);
    }
}

/* After the barrier that follows delivery. */
static __device__ void short_term_arrivals(const vly_cuda_view &view,
                                           const vly_cuda_learnings &learnings,
                                           uint64_t burst)
{
    for (uint32_t p = 0; p < learnings.n_short; p++) {
        const vly_cuda_short_term &s = learnings.short_term[p];
        learning_needs<VLY_CUDA_NEEDS_SHORT_TERM>();
        if (burst >= s.base_delay)
            short_term_advance(view, s, s.head, burst - s.base_delay);
        if (burst >= s.reach)
            short_term_advance(view, s, s.tail, burst - s.reach);
    }
}

#endif
