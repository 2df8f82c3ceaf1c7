/* SPDX-License-Identifier: Apache-2.0
 * One update of one neuron of any model, on words, and the input it draws
 * from its stimuli. MODEL is a constant: VLY_CUDA_N_MODELS means that the
 * model is looked up for each neuron. Models with two ports are there if
 * VLY_CUDA_TWO_PORT_MODELS is defined. Kernels for users' models of more ports
 * define VLY_CUDA_PROGRAM_PORTS.
 */
#ifndef VOLLEY_CUDA_UPDATE_NEURON_CUH
#define VOLLEY_CUDA_UPDATE_NEURON_CUH

#include <stddef.h>

#include "cuda_kernels.h"

#include "kernels/models/model_steps.h"
#include "kernels/models/philox.h"

#if !defined(VLY_CUDA_PROGRAM_PORTS)
#define VLY_CUDA_PROGRAM_PORTS 2
#endif

#define VLY_CUDA_LOAD_F32(word) __uint_as_float(word)
#define VLY_CUDA_LOAD_U32(word) (word)
#define VLY_CUDA_COUNTS_F32 0u
#define VLY_CUDA_COUNTS_U32 1u
#define VLY_CUDA_STORE_F32(x) __float_as_uint(x)
#define VLY_CUDA_STORE_U32(x) (x)

/* State and coefficients of one neuron, in registers. */
struct vly_cuda_words {
    uint32_t s[VLY_CUDA_MAX_FIELDS];
    uint32_t c[VLY_CUDA_MAX_COEFS];
};

#define VLY_MODEL_READ "kernels/cuda/model_words.cuh"
#include "kernels/models/each_model.h"

#define VLY_CUDA_EACH_ONE_PORT VLY_ONE_PORT_MODELS
/* Kernels that look a model up for each neuron hold the registers of them all:
 * those of plans for one port only leave these out. */
#if defined(VLY_CUDA_TWO_PORT_MODELS)
#define VLY_CUDA_EACH_TWO_PORTS VLY_TWO_PORT_MODELS
#else
#define VLY_CUDA_EACH_TWO_PORTS(X)
#endif
#define VLY_CUDA_EACH_TIME_DRIVEN(X)                                           \
    VLY_CUDA_EACH_ONE_PORT(X)                                                  \
    VLY_CUDA_EACH_TWO_PORTS(X)

template <int MODEL>
static __device__ __forceinline__ uint32_t pick_model(const vly_cuda_area *area)
{
    return MODEL == VLY_CUDA_N_MODELS ? area->model : (uint32_t)MODEL;
}

template <int MODEL>
static __device__ __forceinline__ void load_coefs(const vly_cuda_area *area,
                                                  uint32_t i, vly_cuda_words *w)
{
    switch (pick_model<MODEL>(area)) {
    case VLY_CUDA_MODEL_feagi:
        load_coefs_feagi(area, i, w);
        break;
#define VLY_CUDA_CASE(name)                                                    \
    case VLY_CUDA_MODEL_##name:                                                \
        load_coefs_##name(area, i, w);                                         \
        break;
        VLY_CUDA_EACH_TIME_DRIVEN(VLY_CUDA_CASE)
#undef VLY_CUDA_CASE
    }
}

template <int MODEL>
static __device__ __forceinline__ void load_state(const vly_cuda_area *area,
                                                  uint32_t i, vly_cuda_words *w)
{
    switch (pick_model<MODEL>(area)) {
    case VLY_CUDA_MODEL_feagi:
        load_state_feagi(area, i, w);
        break;
#define VLY_CUDA_CASE(name)                                                    \
    case VLY_CUDA_MODEL_##name:                                                \
        load_state_##name(area, i, w);                                         \
        break;
        VLY_CUDA_EACH_TIME_DRIVEN(VLY_CUDA_CASE)
#undef VLY_CUDA_CASE
    }
}

template <int MODEL>
static __device__ __forceinline__ void
store_state(const vly_cuda_area *area, uint32_t i, const vly_cuda_words *w)
{
    switch (pick_model<MODEL>(area)) {
    case VLY_CUDA_MODEL_feagi:
        store_state_feagi(area, i, w);
        break;
#define VLY_CUDA_CASE(name)                                                    \
    case VLY_CUDA_MODEL_##name:                                                \
        store_state_##name(area, i, w);                                        \
        break;
        VLY_CUDA_EACH_TIME_DRIVEN(VLY_CUDA_CASE)
#undef VLY_CUDA_CASE
    }
}

/* One burst of a neuron: 1 if it fired; *gain is what its spike carries. in1 is
 * the input of the second port, which plans for nets of one port do not have.
 */
template <int MODEL>
static __device__ __forceinline__ uint32_t step_words(
    const vly_cuda_view &view, uint32_t model, uint64_t burst, uint32_t neuron,
    float in, vly_cuda_words *w, uint32_t *gain, float in1 = 0.0f)
{
    if (MODEL != VLY_CUDA_N_MODELS)
        model = MODEL;
    *gain = 1u << view.feagi_q;
    if (model == VLY_CUDA_MODEL_feagi) {
        static_assert(offsetof(vly_feagi_coef, excitability) == 6 * 4 &&
                          offsetof(vly_feagi_coef, uniform_psp) == 10 * 4 &&
                          offsetof(vly_feagi_state, refractory_countdown) == 4,
                      "words of feagi");
        const uint32_t excitability = w->c[6];
        uint32_t u = 0;
        if (excitability != 0xffffffffu && w->s[1] == 0)
            u = vly_philox_burst(view.key_low, view.key_high, (uint32_t)burst,
                                 (uint32_t)(burst >> 32), neuron,
                                 VLY_FEAGI_STREAM);
        vly_feagi_out o = step_words_feagi(w, in, u);
        if (o.fired != 0)
            *gain = vly_feagi_gain(o.psp, w->c[10], view.feagi_q,
                                   view.out_degree[neuron]);
        return o.fired;
    }
    switch (model) {
#define VLY_CUDA_CASE(name)                                                    \
    case VLY_CUDA_MODEL_##name:                                                \
        return step_words_##name(w, in).fired;
        VLY_CUDA_EACH_ONE_PORT(VLY_CUDA_CASE)
#undef VLY_CUDA_CASE
#define VLY_CUDA_CASE(name)                                                    \
    case VLY_CUDA_MODEL_##name:                                                \
        return step_words_##name(w, in, in1).fired;
        VLY_CUDA_EACH_TWO_PORTS(VLY_CUDA_CASE)
#undef VLY_CUDA_CASE
    }
    return 0;
}

/* ---- stimuli ----------------------------------------------------------- */

/* number of thresholds not above u */
static __device__ __forceinline__ uint32_t
count_thresholds(const uint32_t *thresholds, uint32_t n, uint32_t u)
{
    uint32_t low = 0;
    uint32_t high = n;
    while (low < high) {
        uint32_t middle = (low + high) / 2;
        if (thresholds[middle] <= u)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* What one stimulus gives a neuron in a burst, added to
 * input[VLY_CUDA_PROGRAM_PORTS]; 1 if it is an event. */
static __device__ __forceinline__ uint32_t
draw_stimulus(const vly_cuda_view &view, const vly_cuda_stimulus *s,
              uint64_t burst, uint32_t neuron, uint32_t *input)
{
    if (burst < s->start || burst >= s->stop || neuron - s->first >= s->n)
        return 0;
    uint32_t u = vly_philox_burst(view.key_low, view.key_high, (uint32_t)burst,
                                  (uint32_t)(burst >> 32), neuron, s->stream);
    uint32_t k = count_thresholds(s->thresholds, s->n_thresholds, u);
    if ((k | s->always) == 0)
        return 0;
    uint32_t value = (uint32_t)s->base + k * (uint32_t)s->step;
    if (s->port == 0)
        input[0] += value;
#if VLY_CUDA_PROGRAM_PORTS > 2
    else if (s->port == 2)
        input[2] += value;
    else if (s->port == 3)
        input[3] += value;
#endif
    else
        input[1] += value;
    return 1;
}

/* The same of all stimuli of its area. */
static __device__ __forceinline__ uint32_t
draw_stimuli(const vly_cuda_view &view, const vly_cuda_area *area,
             uint64_t burst, uint32_t neuron, uint32_t *input)
{
    uint32_t any = 0;
    const vly_cuda_stimulus *s = view.stimuli + area->stimulus_first;
    for (uint32_t i = 0; i < area->n_stimuli; i++)
        any |= draw_stimulus(view, s + i, burst, neuron, input);
    return any;
}

#endif
