/* SPDX-License-Identifier: Apache-2.0
 * Update of the resident plan: what a thread keeps of its neuron between
 * bursts, its stimuli, its step and the account of its spikes.
 */
#ifndef VOLLEY_CUDA_RESIDENT_UPDATE_CUH
#define VOLLEY_CUDA_RESIDENT_UPDATE_CUH

#include "resident_mail.cuh"
#include "update_neuron.cuh"

#include "kernels/models/digest.h"

/* What a thread knows of its neuron between bursts. */
struct resident_neuron {
    vly_cuda_words words;
    const vly_cuda_area *area;
    const vly_cuda_stimulus *stimulus; /* first of its area, or NULL */
    vly_philox_words draw;             /* of that, for four bursts */
    uint32_t id;                       /* 0xffffffff: none */
    uint32_t drawn;
    uint32_t degree;
    uint32_t fired; /* in this burst */
    float scale;
};

static __device__ const vly_cuda_area *find_area(const vly_cuda_view &view,
                                                 uint32_t id)
{
    uint32_t low = 0;
    uint32_t high = view.n_areas;
    while (high - low > 1) {
        uint32_t middle = (low + high) / 2;
        if (view.areas[middle].first <= id)
            low = middle;
        else
            high = middle;
    }
    return view.areas + low;
}

template <int MODEL>
static __device__ __forceinline__ void
neuron_load(const vly_cuda_view &view, const vly_cuda_resident &resident,
            uint32_t number, resident_neuron *neuron)
{
    neuron->id = 0xffffffffu;
    neuron->stimulus = nullptr;
    uint64_t id = (uint64_t)number * resident.n_blocks + blockIdx.x;
    if (id >= view.n_neurons)
        return;
    neuron->id = (uint32_t)id;
    neuron->area = find_area(view, neuron->id);
    neuron->degree = view.out_degree[neuron->id];
    neuron->scale = neuron->area->scale[0];
    if (neuron->area->n_stimuli > 0)
        neuron->stimulus = view.stimuli + neuron->area->stimulus_first;
    load_state<MODEL>(neuron->area, neuron->id - neuron->area->first,
                      &neuron->words);
    load_coefs<MODEL>(neuron->area, neuron->id - neuron->area->first,
                      &neuron->words);
}

/* What its stimuli give the neuron in a burst. One draw of the first serves
 * four bursts; fresh: there is none yet. */
static __device__ __forceinline__ void neuron_draw(const vly_cuda_view &view,
                                                   uint64_t burst,
                                                   uint32_t fresh,
                                                   resident_neuron *neuron)
{
    neuron->drawn = 0;
    const vly_cuda_stimulus *s = neuron->stimulus;
    if (s == nullptr)
        return;
    if (fresh || (burst & 3) == 0)
        neuron->draw =
            vly_philox_draw(view.key_low, view.key_high, (uint32_t)(burst >> 2),
                            (uint32_t)(burst >> 34), neuron->id, s->stream);
    if (burst >= s->start && burst < s->stop && neuron->id - s->first < s->n) {
        uint32_t k =
            count_thresholds(s->thresholds, s->n_thresholds,
                             vly_philox_pick(neuron->draw, (uint32_t)burst));
        if ((k | s->always) != 0)
            neuron->drawn = (uint32_t)s->base + k * (uint32_t)s->step;
    }
    const uint32_t n = neuron->area->n_stimuli;
    for (uint32_t i = 1; i < n; i++) {
        uint32_t drawn[2] = {0, 0};
        draw_stimulus(view, s + i, burst, neuron->id, drawn);
        neuron->drawn += drawn[0];
    }
}

static __device__ __forceinline__ uint64_t warp_sum(uint64_t x)
{
    for (int d = 16; d > 0; d /= 2)
        x += __shfl_xor_sync(0xffffffffu, x, d);
    return x;
}

/* One burst of the neuron of this thread. */
template <int MODEL>
static __device__ __forceinline__ void
neuron_update(const vly_cuda_view &view, const resident_block &block,
              uint64_t burst, uint32_t number, uint32_t base,
              resident_neuron *neuron)
{
    uint32_t gain = 0;
    neuron->fired = 0;
    if (neuron->id == 0xffffffffu)
        return;
    uint32_t *input = block.ring + base + number;
    uint32_t sum = *input + neuron->drawn;
    *input = 0;
    neuron->fired = step_words<MODEL>(
        view, neuron->area->model, burst, neuron->id,
        (float)(int32_t)sum * neuron->scale, &neuron->words, &gain);
    if (neuron->fired != 0)
        block.fired[atomicAdd(&block.shared->n_fired, 1u)] = number;
}

/* Digest and events of a spike: while the mail is on its way. Whole warps. */
static __device__ __forceinline__ void
neuron_account(const vly_cuda_view &view, uint64_t burst,
               const resident_neuron *neuron, uint64_t *n_events)
{
    if (__ballot_sync(0xffffffffu, neuron->fired != 0) == 0)
        return;
    uint64_t digest = 0;
    if (neuron->fired != 0) {
        digest = vly_digest_pair(vly_digest_mix(burst), neuron->id,
                                 1u << view.feagi_q);
        *n_events += neuron->degree;
    }
    digest = warp_sum(digest);
    uint64_t *sum = &view.records[(uint32_t)burst & view.record_mask].digest;
    if (threadIdx.x % 32 == 0)
        atomicAdd((unsigned long long *)sum, (unsigned long long)digest);
}

#endif
