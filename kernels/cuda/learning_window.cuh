/* SPDX-License-Identifier: Apache-2.0
 * Maps that learn by a rule of windows (FEAGI's). Every burst begins with a
 * sweep, in place of the flush of other rules: the runs of both ends change
 * each synapse of which an end fired in the last D bursts. Then arrivals are
 * delivered by row. Included by learning_rows.cuh.
 */
#ifndef VOLLEY_CUDA_LEARNING_WINDOW_CUH
#define VOLLEY_CUDA_LEARNING_WINDOW_CUH

static __device__ __forceinline__ bool
learning_has_window(const vly_cuda_learning &l)
{
    return (l.flags & VLY_CUDA_LEARNING_WINDOW) != 0;
}

/* State of neuron i of a side after the burst before `burst`. */
static __device__ __forceinline__ float
window_state(const vly_cuda_learning &l, int side, uint32_t i, uint32_t burst)
{
    const uint2 at = __ldcg((const uint2 *)l.runs[side] + i);
    return at.x != 0 ? vly_window_state(at.x, burst - at.y, l.window) : 0.0f;
}

/* Whether a neuron of the side may have a state that is not 0. */
static __device__ __forceinline__ bool
window_is_active(const vly_cuda_learning &l, int side, uint32_t burst)
{
    return burst - __ldcg(l.recent + side) <= l.window;
}

/* A row whose source has state x, by one warp. */
template <int RULE>
static __device__ __forceinline__ void
window_row(const vly_cuda_learning &l, float x, uint32_t burst, uint32_t k)
{
    const plastic_rule<RULE> rule(l.coefs);
    const uint64_t end = l.row[k + 1];
    for (uint64_t j = l.row[k] + threadIdx.x % 32; j < end; j += 32) {
        const uint32_t i = __ldg(l.target + j) - l.target_first;
        const float y = window_state(l, 1, i, burst);
        if (x + y == 0.0f)
            continue;
        const int32_t was = __ldcg(l.master + j);
        const int32_t m = rule.post(was, x, 0.0f, y, 0.0f);
        if (m != was)
            l.master[j] = m;
    }
}

static __device__ __forceinline__ void
window_visit(const vly_cuda_learning &l, float x, uint32_t burst, uint32_t k)
{
    switch (l.rule) {
#define VLY_EACH_PLASTICITY(id)                                                \
    case VLY_CUDA_RULE_##id:                                                   \
        learning_needs<VLY_CUDA_RULE_##id>();                                  \
        window_row<VLY_CUDA_RULE_##id>(l, x, burst, k);                        \
        break;
#include "kernels/rules/plasticity.def"
    }
}

/* What the burst before this one changes, unless that is done already. */
static __device__ void window_sweep(const vly_cuda_learning &l, uint64_t burst,
                                    uint32_t warp, uint32_t n_warps)
{
    const uint32_t now = (uint32_t)burst;
    if (__ldcg(l.flushed) == now || burst < l.window ||
        (l.flags & VLY_CUDA_LEARNING_FROZEN) != 0)
        return;
    const bool targets = window_is_active(l, 1, now);
    if (!targets && !window_is_active(l, 0, now))
        return;
    for (uint32_t k = warp; k < l.n_sources; k += n_warps) {
        const float x = window_state(l, 0, k, now);
        if (x > 0.0f || targets)
            window_visit(l, x, now, k);
    }
}

/* count spikes from `start` of the log on arrive. */
static __device__ void window_deliver(const vly_cuda_view &view,
                                      const vly_cuda_learning &l,
                                      uint64_t burst, uint64_t start,
                                      uint32_t count)
{
    const uint32_t n_warps = gridDim.x * (blockDim.x / 32);
    const uint32_t warp = threadIdx.x / 32 * gridDim.x + blockIdx.x;
    const uint64_t slot = burst % view.ring;
    uint32_t *input =
        view.input + (slot * view.n_ports + l.port) * view.n_neurons;
    const bool gained = (l.flags & VLY_CUDA_LEARNING_GAIN) != 0;
    /* read by no thread before the next barrier */
    if (blockIdx.x == 0 && threadIdx.x == 0)
        *l.flushed = (uint32_t)burst;
    for (uint32_t q = warp; q < count; q += n_warps) {
        const uint64_t at = (start + q) & view.log_mask;
        const uint32_t k = __ldcg(view.log_ids + at) - l.source_first;
        if (k >= l.n_sources)
            continue;
        const uint32_t gain = gained ? __ldcg(view.log_gains + at) : 1u;
        const uint64_t end = l.row[k + 1];
        for (uint64_t j = l.row[k] + threadIdx.x % 32; j < end; j += 32) {
            const uint32_t target = __ldg(l.target + j);
            const int32_t m = __ldcg(l.master + j);
            const uint32_t value = (uint32_t)((m + 0x8000) >> 16) * l.sign;
            atomicAdd(input + target, (value * gain) << l.shift);
            if (gained)
                view.mark[slot * view.n_neurons + target] = 1;
        }
    }
}

/* Neuron id fired: by one thread. */
static __device__ __forceinline__ void window_fired(const vly_cuda_learning &l,
                                                    uint64_t burst, uint32_t id)
{
    const uint32_t now = (uint32_t)burst;
    for (int side = 0; side < 2; side++) {
        const uint32_t i = id - (side == 0 ? l.source_first : l.target_first);
        if (i >= (side == 0 ? l.n_sources : l.n_targets))
            continue;
        uint2 at = __ldcg((const uint2 *)l.runs[side] + i);
        const uint32_t longer = at.x < l.window ? at.x + 1 : l.window;
        at.x = at.x != 0 && at.y + 1 == now ? longer : 1;
        at.y = now;
        ((uint2 *)l.runs[side])[i] = at;
        l.recent[side] = now;
    }
}

/* Before `now`: forgets the runs whose last spike is no longer in the window,
 * so that no age grows beyond 31 bits. */
static __device__ void window_renew(const vly_cuda_learning &l, uint32_t now,
                                    uint32_t from, uint32_t step)
{
    for (int side = 0; side < 2; side++) {
        const uint32_t n = side == 0 ? l.n_sources : l.n_targets;
        for (uint32_t i = from; i < n; i += step)
            if (now - __ldcg(l.runs[side] + 2 * (uint64_t)i + 1) > l.window)
                l.runs[side][2 * (uint64_t)i] = 0;
        if (from == 0 && !window_is_active(l, side, now))
            l.recent[side] = now - VLY_CUDA_AGE_NEVER;
    }
}

#endif
