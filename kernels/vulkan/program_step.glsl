/* SPDX-License-Identifier: Apache-2.0
 * The frame for the step of a user's model. The backend writes the bodies of
 * vly_program_load and vly_program_step from the operations of the model
 * (backends/vulkan/vulkan_splice.c); the bodies here only call what those need,
 * so that the compiler keeps it. Parameters are const: only then are they
 * values in SPIR-V, and not pointers. MODEL_PORTS is defined by the build.
 *
 * The backend adds variables for the words of an area: the address of each
 * field, each coefficient that is uniform, and bits for those that are not.
 */
#ifndef VOLLEY_VULKAN_PROGRAM_STEP_GLSL
#define VOLLEY_VULKAN_PROGRAM_STEP_GLSL

#include "kernels/models/program.h"

#define MODEL_PART(part) vly_program##part

/* A program may compute infinities, NaN and -0 on the way to what it stores
 * (4466 and 4461: SignedZeroInfNanPreserve as capability and as mode). */
spirv_execution_mode(extensions = ["SPV_KHR_float_controls"],
                     capabilities = [4466], 4461, 32);

layout(buffer_reference, std430, buffer_reference_align = 8) buffer program_at
{
    vly_vulkan_program_coefs v;
};

uint64_t program_coefs; /* address, of the area at hand */
vly_burst program_burst;

/* A program reads its state and coefficients by itself. */
struct vly_program_state {
    uint none;
};
struct vly_program_coef {
    uint none;
};

vly_program_state vly_load_state(uint i)
{
    return vly_program_state(0u);
}

vly_program_coef vly_load_coefs(uint i)
{
    return vly_program_coef(0u);
}

/* ---- called by what the backend writes --------------------------------- */

/* The address of field k, of the first neuron: fields follow each other. */
uint64_t vly_program_row(const uint k)
{
    return AREA.field[0] + 4ul * uint64_t(AREA.n) * uint64_t(k);
}

uint vly_program_field(const uint64_t row, const uint i)
{
    return word_of(row, i).v;
}

void vly_program_become(const uint64_t row, const uint i, const uint word)
{
    word_of(row, i).v = word;
}

/* Coefficient k where it is uniform. */
uint vly_program_word(const uint k)
{
    return program_at(program_coefs).v.word[k];
}

/* Bit k mod 32 of word k / 32: coefficient k differs between neurons. */
uint vly_program_vary(const uint at)
{
    return program_at(program_coefs).v.vary[at];
}

/* Coefficient k of neuron i, from its word and the bits of its group. */
uint vly_program_column(const uint vary, const uint k, const uint i,
                        const uint word)
{
    return (vary >> (k & 31u) & 1u) == 0u
               ? word
               : word_of(program_at(program_coefs).v.column[k], i).v;
}

/* In [0, 1). */
float vly_program_uniform(const uint neuron, const uint stream)
{
    uint u = vly_philox_burst(
        program_burst.key_low, program_burst.key_high, uint(program_burst.t),
        uint(program_burst.t >> 32), neuron, stream);
    return VLY_TO_F32(VLY_TO_I32(u >> 8)) * 5.9604644775390625e-8; /* 2^-24 */
}

float vly_program_inverse(const float x)
{
    return vly_inverse_f32(x);
}

float vly_program_root(const float x)
{
    return vly_root_f32(x);
}

float vly_program_exp(const float x)
{
    return vly_exp_f32(x);
}

float vly_program_decay_mean(const float x)
{
    return vly_decay_mean_f32(x);
}

float vly_program_store(const float x, const float lo, const float hi)
{
    return vly_store(x, lo, hi);
}

/* ---- written by the backend -------------------------------------------- */

/* Reads what all neurons of an area share. */
void vly_program_load()
{
    vly_program_row(vly_program_word(vly_program_vary(0u)));
}

/* One burst of neuron i of the area, whose global id is neuron: 1 if it fired.
 * in0, in1, ...: input of the ports */
uint vly_program_step(const uint i, const uint neuron, const float in0,
                      const float in1
#if MODEL_PORTS > 2
                      , const float in2, const float in3
#endif
)
{
    vly_program_become(area_address, i, vly_program_field(area_address, i));
    vly_program_store(
        vly_program_inverse(vly_program_root(
            vly_program_exp(vly_program_decay_mean(in0)))),
        vly_program_uniform(neuron, 0u), in1);
    return vly_program_column(0u, 0u, i, 0u);
}

#endif
