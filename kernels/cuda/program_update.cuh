/* SPDX-License-Identifier: Apache-2.0
 * The update of a neuron of a user's model: an interpreter of its program. All
 * neurons of a warp are of one area, so that they take the same branches. Each
 * operation is that of kernels/models/program.h and of the other backends.
 */
#ifndef VOLLEY_CUDA_PROGRAM_UPDATE_CUH
#define VOLLEY_CUDA_PROGRAM_UPDATE_CUH

#include <volley/plugin.h>

#include "program_kernels.h"
#include "update_neuron.cuh"
#if VLY_CUDA_SPLICED
#include "program_splice.cuh"
#endif

#include "kernels/models/program.h"

/* What the steps of one neuron read and write. */
struct program_thread {
    vly_cuda_program program;
    uint32_t *values; /* slot k: values[k * VLY_CUDA_THREADS] */
    uint64_t i;       /* within the area */
    uint32_t neuron;
    float in[VLY_CUDA_PROGRAM_PORTS];
};

static __device__ __forceinline__ uint32_t program_word(const program_thread &t,
                                                        uint32_t place)
{
    const uint32_t k = place & VLY_CUDA_PLACE_MASK;
    switch (place >> VLY_CUDA_PLACE_BITS) {
    case VLY_CUDA_PLACE_SLOT:
        return t.values[k * VLY_CUDA_THREADS];
    case VLY_CUDA_PLACE_NUMBER:
        return t.program.numbers[k];
    case VLY_CUDA_PLACE_FIELD:
        return t.program.state[k * t.program.n + t.i];
    default: {
        const vly_cuda_column column = t.program.coefs[k];
        return column.words[t.i & column.mask];
    }
    }
}

/* Operations that make a float of floats. */
static __device__ __forceinline__ float program_float(const vly_cuda_step &step,
                                                      float x, float y)
{
    switch (step.code) {
    case VLY_PROGRAM_ADD:
        return x + y;
    case VLY_PROGRAM_SUBTRACT:
        return x - y;
    case VLY_PROGRAM_MULTIPLY:
        return x * y;
    case VLY_PROGRAM_INVERSE:
        return vly_inverse_f32(x);
    case VLY_PROGRAM_ROOT:
        return vly_root_f32(x);
    case VLY_PROGRAM_EXP:
        return vly_exp_f32(x);
    case VLY_PROGRAM_DECAY_MEAN:
        return vly_decay_mean_f32(x);
    default:
        return vly_store(x, vly_float(step.lo), vly_float(step.hi));
    }
}

static __device__ __forceinline__ float
program_uniform(const vly_cuda_view &view, uint64_t burst, uint32_t neuron,
                uint32_t stream)
{
    const uint32_t u =
        vly_philox_burst(view.key_low, view.key_high, (uint32_t)burst,
                         (uint32_t)(burst >> 32), neuron, stream);
    return (float)(int32_t)(u >> 8) * 5.9604644775390625e-8f;
}

static __device__ __forceinline__ uint32_t
program_step(const vly_cuda_view &view, const program_thread &t, uint64_t burst,
             const vly_cuda_step &step)
{
    const uint32_t a = program_word(t, step.a);
    const uint32_t b = program_word(t, step.b);
    const float x = vly_float(a);
    const float y = vly_float(b);
    switch (step.code) {
    case VLY_PROGRAM_INPUT:
#if VLY_CUDA_PROGRAM_PORTS > 2
        return vly_bits(t.in[step.lo]);
#else
        return vly_bits(step.lo == 0 ? t.in[0] : t.in[1]);
#endif
    case VLY_PROGRAM_UNIFORM:
        return vly_bits(program_uniform(view, burst, t.neuron, step.lo));
    case VLY_PROGRAM_NEGATE:
        return a ^ 0x80000000u;
    case VLY_PROGRAM_ABSOLUTE:
        return a & 0x7fffffffu;
    case VLY_PROGRAM_LESS:
        return x < y ? 1u : 0u;
    case VLY_PROGRAM_AT_MOST:
        return x <= y ? 1u : 0u;
    case VLY_PROGRAM_AND:
        return a & b;
    case VLY_PROGRAM_OR:
        return a | b;
    case VLY_PROGRAM_NOT:
        return a ^ 1u;
    case VLY_PROGRAM_IS_ZERO:
        return a == 0 ? 1u : 0u;
    case VLY_PROGRAM_COUNT_DOWN:
        return a == 0 ? 0u : a - 1u;
    case VLY_PROGRAM_SELECT:
        return a != 0 ? b : program_word(t, step.lo);
    case VLY_PROGRAM_CODES: /* a copy */
        return a;
    default:
        return vly_bits(program_float(step, x, y));
    }
}

#if VLY_CUDA_PROGRAM_PORTS > 2
/* What has arrived at ports 2 and 3 and was drawn for them. */
static __device__ __forceinline__ void
program_take_more(const vly_cuda_view &view, const vly_cuda_area *area,
                  uint32_t *input, const uint32_t *drawn, float *in)
{
    const uint64_t n = view.n_neurons;
#pragma unroll
    for (uint32_t p = 2; p < VLY_CUDA_PROGRAM_PORTS; p++) {
        in[p] = 0.0f;
        if (p < view.n_ports) {
            in[p] = (float)(int32_t)(__ldcg(input + p * n) + drawn[p]) *
                    vly_float(area->coef_mask[p - 2]);
            input[p * n] = 0;
        }
    }
}
#endif

/* One burst of neuron i of the area; 1 if it fired. values: of the block. Not
 * inline: a step has the registers for itself, and what the kernel keeps
 * meanwhile is not spilled (inline, adex on 9.0 spills 92 bytes instead of
 * none). */
static __device__ __noinline__ uint32_t program_update(
    const vly_cuda_view &view, const vly_cuda_programs &programs,
    uint32_t *values, uint32_t index, uint32_t i, uint64_t burst, uint32_t slot)
{
    const vly_cuda_area *area = view.areas + index;
    const uint64_t n = view.n_neurons;
    program_thread t;
    t.program = programs.list[index];
    t.values = values + threadIdx.x;
    t.i = i;
    t.neuron = area->first + i;
    uint32_t *input = view.input + (uint64_t)slot * view.n_ports * n + t.neuron;
    uint32_t drawn[VLY_CUDA_PROGRAM_PORTS] = {0, 0};
    draw_stimuli(view, area, burst, t.neuron, drawn);
    t.in[0] = (float)(int32_t)(__ldcg(input) + drawn[0]) * area->scale[0];
    t.in[1] = 0.0f;
    *input = 0;
    if (view.n_ports > 1) {
        t.in[1] =
            (float)(int32_t)(__ldcg(input + n) + drawn[1]) * area->scale[1];
        input[n] = 0;
    }
#if VLY_CUDA_PROGRAM_PORTS > 2
    program_take_more(view, area, input, drawn, t.in);
#endif
#if VLY_CUDA_SPLICED && VLY_CUDA_PROGRAM_PORTS > 2
    const program_coefs coefs = {t.program.coefs, (const uint32_t *)(t.in + 2),
                                 1};
#elif VLY_CUDA_SPLICED
    const program_coefs coefs = {t.program.coefs, nullptr, 1};
#endif
#if VLY_CUDA_SPLICED
    return program_spliced<VLY_CUDA_NO_ROW>(
        view, t.program.number, t.program.state + i, t.program.n, coefs, burst,
        i, t.neuron, t.in[0], t.in[1]);
#else
    for (uint32_t k = 0; k < t.program.n_steps; k++) {
        const vly_cuda_step step = t.program.steps[k];
        t.values[step.slot * VLY_CUDA_THREADS] =
            program_step(view, t, burst, step);
    }
    const uint32_t fired = program_word(t, t.program.fired);
    for (uint32_t f = 0; f < t.program.n_fields; f++)
        t.program.state[f * t.program.n + i] =
            program_word(t, t.program.out[f]);
    return fired;
#endif
}

#endif
