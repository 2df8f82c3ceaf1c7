/* SPDX-License-Identifier: Apache-2.0
 * Traces of a projection that learns, shared by the shaders learn_*.comp. The
 * order of a burst is that of kernels/cuda/learning_rows.cuh. Bursts are
 * counted modulo 2^32; nothing is 2^31 bursts ago (learn_renew.comp).
 */
#ifndef VOLLEY_VULKAN_LEARNING_GLSL
#define VOLLEY_VULKAN_LEARNING_GLSL

#include "kernels/vulkan/row_blocks.glsl"

#include "kernels/rules/rule.h"

layout(buffer_reference, std430, buffer_reference_align = 8) buffer learning_at
{
    vly_vulkan_learning v;
};

layout(buffer_reference, std430, buffer_reference_align = 8) buffer modulator_at
{
    vly_vulkan_modulator v;
};

/* size as in C: a test of the backend compares them */
#define LEARNING_BYTES 256ul

/* The projection at hand, read once: a compiler would read it again after every
 * store. */
vly_vulkan_learning map;

void load_learning(uint p)
{
    map = learning_at(VIEW.learnings + LEARNING_BYTES * uint64_t(p)).v;
}

bool has_flag(uint flag)
{
    return (map.flags & flag) != 0u;
}

float float_of(uint64_t base, uint64_t i)
{
    return VLY_FLOAT(word_at(base + 4ul * i).v);
}

void store_float(uint64_t base, uint64_t i, float x)
{
    word_at(base + 4ul * i).v = VLY_BITS(x);
}

float decayed(vly_vulkan_trace trace, float x, uint age)
{
    if (trace.bursts == 0u) /* nearly every rule has one trace a side */
        return 0.0f;
    return vly_trace_at(x, age, trace.rate, trace.bursts);
}

/* The modulator in the burst to come. */
float modulator_value(vly_vulkan_modulator m)
{
    return vly_trace_at(m.value, m.age, map.modulator_trace.rate,
                        map.modulator_trace.bursts);
}

/* A trace after an event, from the one before it. */
float after(float before)
{
    return has_flag(VLY_VULKAN_LEARNING_NEAREST) ? 1.0f : before + 1.0f;
}

/* A trace before spike `slot` of all rings; 0 if the rule does not have it. */
float post_before(uint64_t base, uint64_t slot)
{
    return base != 0ul ? float_of(base, slot) : 0.0f;
}

/* The number of a target's first slot. */
uint64_t ring_of_target(uint i)
{
    return uint64_t(i) * (uint64_t(map.mask) + 1ul);
}

#endif
