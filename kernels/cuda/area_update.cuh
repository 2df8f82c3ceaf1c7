/* SPDX-License-Identifier: Apache-2.0
 * The data of an area for an update, in shared memory, and the input of its
 * stimuli: for plans that read several neurons of an area at once.
 */
#ifndef VOLLEY_CUDA_AREA_UPDATE_CUH
#define VOLLEY_CUDA_AREA_UPDATE_CUH

#include "partition_layout.h"
#include "update_neuron.cuh"

/* By one thread: loads data common to all neurons of an area. */
template <int MODEL>
static __device__ void load_area(const vly_cuda_view &view, uint32_t index,
                                 uint32_t divisor, partition_area *to)
{
    const vly_cuda_area *area = view.areas + index;
    to->scale = area->scale[0];
    to->first = area->first;
    to->n = area->n;
    to->uniform = area->uniform;
    to->model = area->model;
    to->n_stimuli = area->n_stimuli;
    to->packed = 0;
    to->divisor = divisor;
    vly_cuda_words words = {{0}, {0}};
    if (area->n > 0)
        load_coefs<MODEL>(area, 0, &words);
    for (uint32_t i = 0; i < VLY_CUDA_MAX_COEFS; i++)
        to->coefs[i] = words.c[i];
    if (area->n_stimuli == 0)
        return;
    const vly_cuda_stimulus *s = view.stimuli + area->stimulus_first;
    to->packed = s->n_thresholds < 256;
    to->start = s->start;
    to->stop = s->stop;
    to->stimulus_first = s->first;
    to->stimulus_n = s->n;
    to->always = s->always;
    to->base = (uint32_t)s->base;
    to->step = (uint32_t)s->step;
}

/* Counts of thresholds of an area's first stimulus in four bursts, 8 bits
 * each: one Philox block holds the draws of four, so three updates of four
 * read a word instead of drawing. */
static __device__ __noinline__ uint32_t draw_four(const vly_cuda_stimulus *s,
                                                  uint32_t key_low,
                                                  uint32_t key_high,
                                                  uint64_t burst, uint32_t id)
{
    const vly_philox_words w =
        vly_philox_draw(key_low, key_high, (uint32_t)(burst >> 2),
                        (uint32_t)(burst >> 34), id, s->stream);
    const uint32_t n = s->n_thresholds;
    const uint32_t *thresholds = s->thresholds;
    uint32_t counts = 0;
    if (n <= 16) { /* all four in one pass */
        for (uint32_t i = 0; i < n; i++) {
            const uint32_t t = __ldg(thresholds + i);
            counts += (t <= w.w0 ? 1u : 0u) + (t <= w.w1 ? 1u << 8 : 0u) +
                      (t <= w.w2 ? 1u << 16 : 0u) + (t <= w.w3 ? 1u << 24 : 0u);
        }
        return counts;
    }
    return count_thresholds(thresholds, n, w.w0) |
           count_thresholds(thresholds, n, w.w1) << 8 |
           count_thresholds(thresholds, n, w.w2) << 16 |
           count_thresholds(thresholds, n, w.w3) << 24;
}

template <int MODEL>
static __device__ __forceinline__ uint32_t fields_of(uint32_t model)
{
    switch (MODEL == VLY_CUDA_N_MODELS ? model : (uint32_t)MODEL) {
#define VLY_CUDA_CASE(name)                                                    \
    case VLY_CUDA_MODEL_##name:                                                \
        return n_fields_##name;
        VLY_CUDA_EACH_TIME_DRIVEN(VLY_CUDA_CASE)
#undef VLY_CUDA_CASE
    }
    return 0;
}

/* A bit for each field that is worth comparing before it is written. */
template <int MODEL>
static __host__ __device__ constexpr uint32_t make_counters()
{
    switch (MODEL) {
#define VLY_CUDA_CASE(name)                                                    \
    case VLY_CUDA_MODEL_##name:                                                \
        return counters_##name;
        VLY_CUDA_EACH_TIME_DRIVEN(VLY_CUDA_CASE)
#undef VLY_CUDA_CASE
    }
    return 0;
}

/* The input of a neuron from the stimuli of its area. DRAWN: the counts of
 * these four bursts have been drawn. */
template <bool DRAWN = false>
static __device__ __forceinline__ uint32_t
draw_lane(const vly_cuda_view &view, const partition_area *area, uint32_t index,
          uint64_t burst, uint32_t fresh, uint32_t id, uint32_t counts,
          uint32_t *kept)
{
    uint32_t drawn[VLY_CUDA_PROGRAM_PORTS] = {0, 0};
    if (area->n_stimuli == 0)
        return 0;
    const uint32_t packed = area->packed;
    if (packed != 0) {
        if (!DRAWN && (fresh != 0 || (burst & 3) == 0)) {
            counts = draw_four(view.stimuli + view.areas[index].stimulus_first,
                               view.key_low, view.key_high, burst, id);
            *kept = counts;
        }
        const uint32_t k = counts >> (8 * ((uint32_t)burst & 3)) & 0xffu;
        if ((k | area->always) != 0 && burst >= area->start &&
            burst < area->stop && id - area->stimulus_first < area->stimulus_n)
            drawn[0] = area->base + k * area->step;
    }
    if (area->n_stimuli > packed) {
        const vly_cuda_stimulus *s =
            view.stimuli + view.areas[index].stimulus_first;
        for (uint32_t i = packed; i < area->n_stimuli; i++)
            draw_stimulus(view, s + i, burst, id, drawn);
    }
    return drawn[0];
}

#endif
