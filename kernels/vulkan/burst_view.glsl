/* SPDX-License-Identifier: Apache-2.0
 * How a shader of the burst loop reaches its memory: by address, with 64-bit
 * offsets (an index into an array is taken as signed, so it would end at
 * 2^31). Included after contract.glsl.
 */
#ifndef VOLLEY_VULKAN_BURST_VIEW_GLSL
#define VOLLEY_VULKAN_BURST_VIEW_GLSL

#extension GL_EXT_buffer_reference : require
#extension GL_EXT_buffer_reference2 : require

#include "kernels/vulkan/burst_layout.h"
#include "kernels/vulkan/neuron_types.glsl"

layout(buffer_reference, std430, buffer_reference_align = 4) buffer word_at
{
    uint v;
};
layout(buffer_reference, std430, buffer_reference_align = 8) buffer long_at
{
    uint64_t v;
};
layout(buffer_reference, std430, buffer_reference_align = 8) buffer pair_at
{
    uvec2 v;
};
layout(buffer_reference, std430, buffer_reference_align = 8) buffer area_at
{
    vly_vulkan_area v;
};
layout(buffer_reference, std430, buffer_reference_align = 8) buffer stimulus_at
{
    vly_stimulus v;
};
layout(buffer_reference, std430, buffer_reference_align = 8) buffer group_at
{
    vly_vulkan_group v;
};
layout(buffer_reference, std430, buffer_reference_align = 16) buffer quad_at
{
    uvec4 v;
};
layout(buffer_reference, std430, buffer_reference_align = 8) buffer block_at
{
    vly_vulkan_block v;
};
layout(buffer_reference, std430, buffer_reference_align = 4) buffer tile_at
{
    vly_vulkan_tile v;
};
layout(buffer_reference, std430, buffer_reference_align = 8) buffer record_at
{
    vly_vulkan_record v;
};
layout(buffer_reference, std430, buffer_reference_align = 4) buffer input_at
{
    vly_vulkan_input v;
};
layout(buffer_reference, std430, buffer_reference_align = 8) buffer launch_at
{
    vly_vulkan_launch v;
};
layout(buffer_reference, std430, buffer_reference_align = 8) buffer view_at
{
    vly_vulkan_view v;
};

layout(push_constant, std430) uniform push_block
{
    vly_vulkan_push push;
};

/* sizes as in C: a test of the backend compares them */
#define VIEW view_at(push.view).v
#define AREA_BYTES 312ul
#define VIEW_BYTES 192ul
/* computed without reading the view first: after a barrier only the device's
 * cache holds data, and every read of an address costs its latency */
#define LAUNCH launch_at(push.view + VIEW_BYTES).v

word_at word_of(uint64_t base, uint i)
{
    return word_at(base + 4ul * uint64_t(i));
}

record_at record_of(uint64_t burst)
{
    uint i = uint(burst) & VIEW.record_mask;
    return record_at(VIEW.records + 40ul * uint64_t(i));
}

/* Accumulators or marks: row `slot * n_rows + row` of n_neurons words. */
uint64_t slot_row(uint64_t base, uint row)
{
    return base + 4ul * uint64_t(row) * uint64_t(VIEW.n_neurons);
}

/* Adds x to a sum of two words. The addition that overflows 2^32 carries. */
#define ADD_LONG(low_word, high_word, x)                                       \
    {                                                                          \
        uint add_low = uint(x);                                                \
        uint add_old = atomicAdd(low_word, add_low);                           \
        uint add_high =                                                        \
            uint((x) >> 32) + (add_old + add_low < add_low ? 1u : 0u);         \
        if (add_high != 0u)                                                    \
            atomicAdd(high_word, add_high);                                    \
    }

#endif
