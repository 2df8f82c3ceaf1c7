/* SPDX-License-Identifier: Apache-2.0
 * Maps whose synapses have an eligibility: what happens between launches. A
 * launch ends before each burst in which weights change, so that no burst has
 * to look for it.
 */
#include <string.h>

#include "learning_kernels.h"

#include "kernels/rules/plasticity_rules.h"

#define THREADS VLY_CUDA_THREADS

template <int RULE> struct modulated_rule;
#define VLY_PLASTICITY_READ "kernels/cuda/modulator_rule.cuh"
#include "kernels/rules/each_plasticity.h"

/* ---- weights ----------------------------------------------------------- */

template <int RULE>
static __device__ void sweep_rule(const vly_cuda_learning &l, float d)
{
    const modulated_rule<RULE> rule(l.coefs);
    const uint64_t n = l.row[l.n_sources];
    uint64_t j = (uint64_t)blockIdx.x * blockDim.x + threadIdx.x;
    for (; j < n; j += (uint64_t)gridDim.x * blockDim.x) {
        const int32_t e = l.eligibility[j];
        if (e == 0)
            continue; /* it changes nothing */
        l.master[j] = rule.weight(l.master[j], e, d);
        l.eligibility[j] = rule.fade(e);
    }
}

static __device__ __forceinline__ float modulator_at(const vly_cuda_learning &l,
                                                     vly_cuda_modulator m)
{
    return vly_trace_at(m.value, m.age, l.modulator_trace.rate,
                        l.modulator_trace.bursts);
}

/* All spikes of targets before `burst` are folded in. */
static __global__ void __launch_bounds__(THREADS)
    sweep_all(const __grid_constant__ vly_cuda_learnings learnings,
              uint64_t burst)
{
    for (uint32_t p = 0; p < learnings.n; p++) {
        const vly_cuda_learning &l = learnings.list[p];
        if (l.eligibility == nullptr || burst % l.interval != 0 ||
            (l.flags & VLY_CUDA_LEARNING_FROZEN) != 0)
            continue;
        const float d = modulator_at(l, *l.modulator);
        switch (l.rule) {
#define VLY_EACH_PLASTICITY(id)                                                \
    case VLY_CUDA_RULE_##id:                                                   \
        sweep_rule<VLY_CUDA_RULE_##id>(l, d);                                  \
        break;
#include "kernels/rules/plasticity.def"
        }
    }
}

/* ---- modulators -------------------------------------------------------- */

static __device__ float change_modulator(const vly_cuda_learning &l, float d,
                                         uint32_t n_spikes, int32_t given)
{
    switch (l.rule) {
#define VLY_EACH_PLASTICITY(id)                                                \
    case VLY_CUDA_RULE_##id: {                                                 \
        const modulated_rule<VLY_CUDA_RULE_##id> rule(l.coefs);                \
        return rule.modulator(d, n_spikes, given);                             \
    }
#include "kernels/rules/plasticity.def"
    }
    return d;
}

/* The end of a burst, by one thread. */
static __device__ void end_burst(const vly_cuda_learning &l,
                                 vly_cuda_modulator *m, uint32_t n_spikes,
                                 const vly_cuda_given *given)
{
    if (n_spikes != 0 || given != nullptr) {
        m->value = change_modulator(l, modulator_at(l, *m), n_spikes,
                                    given != nullptr ? given->value : 0);
        m->age = 0;
    }
    m->age += m->age != UINT32_MAX ? 1u : 0u;
    if (m->age >= l.modulator_trace.bursts) {
        m->value = 0.0f;
        m->age = UINT32_MAX;
    }
}

/* A block a map: the bursts of a launch, one after the other. given: sorted by
 * burst. */
static __global__ void __launch_bounds__(THREADS)
    advance(const __grid_constant__ vly_cuda_view view,
            const __grid_constant__ vly_cuda_learnings learnings,
            uint64_t burst, const vly_cuda_done *done,
            const vly_cuda_given *given, uint32_t n_given)
{
    __shared__ uint32_t count;
    const vly_cuda_learning &l = learnings.list[blockIdx.x];
    uint32_t at = 0;
    if (l.eligibility == nullptr)
        return;
    vly_cuda_modulator m = *l.modulator;
    for (uint32_t i = 0; i < done->n_bursts; i++) {
        const vly_cuda_record record =
            view.records[(uint32_t)(burst + i) & view.record_mask];
        if (threadIdx.x == 0)
            count = 0;
        __syncthreads();
        for (uint32_t k = threadIdx.x; k < record.count; k += THREADS) {
            const uint32_t id =
                view.log_ids[(record.start + k) & view.log_mask];
            if (id - l.modulator_first < l.n_modulator)
                atomicAdd(&count, 1u);
        }
        __syncthreads();
        if (threadIdx.x == 0) {
            const vly_cuda_given *found = nullptr;
            for (; at < n_given && given[at].burst <= burst + i; at++)
                if (given[at].burst == burst + i &&
                    given[at].number == blockIdx.x)
                    found = &given[at];
            end_burst(l, &m, count, found);
        }
        __syncthreads();
    }
    if (threadIdx.x == 0)
        *l.modulator = m;
}

/* ---- launchers --------------------------------------------------------- */

cudaError_t vly_cuda_launch_sweep(const vly_cuda_learnings *learnings,
                                  uint64_t burst, uint32_t n_blocks,
                                  cudaStream_t stream)
{
    sweep_all<<<n_blocks, THREADS, 0, stream>>>(*learnings, burst);
    return cudaGetLastError();
}

cudaError_t vly_cuda_launch_modulators(const vly_cuda_view *view,
                                       const vly_cuda_learnings *learnings,
                                       const vly_cuda_launch *launch,
                                       const vly_cuda_given *given,
                                       uint32_t n_given, cudaStream_t stream)
{
    advance<<<learnings->n, THREADS, 0, stream>>>(
        *view, *learnings, launch->burst, launch->done, given, n_given);
    return cudaGetLastError();
}
