/* SPDX-License-Identifier: Apache-2.0
 * Maps with short-term plasticity by one rule (RULE_<id>), shared by
 * short_rows.comp and short_states.comp. The gain of a spike follows from the
 * state of its source alone. The order of a burst is that of
 * kernels/cuda/short_term.cuh.
 */
#ifndef VOLLEY_VULKAN_SHORT_TERM_GLSL
#define VOLLEY_VULKAN_SHORT_TERM_GLSL

#include "kernels/vulkan/burst_begin.glsl"
#include "kernels/vulkan/row_blocks.glsl"

#include "kernels/rules/shader_short.glsl"

layout(buffer_reference, std430, buffer_reference_align = 8) buffer short_at
{
    vly_vulkan_short v;
};

/* size as in C: a test of the backend compares them */
#define SHORT_BYTES 96ul

/* The projection at hand, read once. */
vly_vulkan_short map;
RULE_PART(_coef) coefs;

#define VLY_LOAD_F32(word) VLY_FLOAT(word)
#define VLY_LOAD_U32(word) (word)

void load_short(uint p)
{
    uint k = 0u;
    map = short_at(VIEW.shorts + SHORT_BYTES * uint64_t(p)).v;
#define VLY_COEF(name, type, expression)                                       \
    coefs.name = VLY_LOAD_##type(map.coefs[k]);                                \
    k++;
#include "kernels/rules/shader_short_table.glsl"
}

/* sources: address of the states of all sources of the map */
quad_at source_of(uint64_t sources, uint k)
{
    return quad_at(sources + 16ul * uint64_t(k));
}

/* The state of source k after a spike in `burst`. */
vly_short_term after_spike(uint64_t sources, uint k, uint burst)
{
    uvec4 words = source_of(sources, k).v; /* vly_vulkan_source */
    uint h = burst - words.w;
    vly_short_term state;
    state.x = VLY_FLOAT(words.x);
    state.u = VLY_FLOAT(words.y);
    state.y = VLY_FLOAT(words.z);
    state.gain = 0u;
    return RULE_PART(_spike)(vly_short_term_known(state, h, map.bursts), coefs,
                             h);
}

#endif
