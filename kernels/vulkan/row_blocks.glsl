/* SPDX-License-Identifier: Apache-2.0
 * Rows of maps with plasticity, whose synapses are in blocks, and the
 * invocations that share their spikes. Included after contract.glsl, by shaders
 * with the constant LANES where they use teams.
 */
#ifndef VOLLEY_VULKAN_ROW_BLOCKS_GLSL
#define VOLLEY_VULKAN_ROW_BLOCKS_GLSL

#include "kernels/vulkan/burst_view.glsl"

/* An invocation's teams: LANES that work together. */
#define TEAMS (gl_NumWorkGroups.x * (gl_WorkGroupSize.x / LANES))
#define TEAM                                                                   \
    (gl_LocalInvocationIndex / LANES * gl_NumWorkGroups.x + gl_WorkGroupID.x)
#define LANE (gl_LocalInvocationIndex % LANES)

/* Invocations of the dispatch. */
#define INVOCATIONS (gl_NumWorkGroups.x * gl_WorkGroupSize.x)
#define INVOCATION                                                             \
    (gl_WorkGroupID.x * gl_WorkGroupSize.x + gl_LocalInvocationIndex)

/* On its way along a row: synapse j of `last` in the block at hand. */
struct row_walk {
    uint64_t j;
    uint64_t last;
    uint64_t end;
    vly_vulkan_block block; /* addresses as if it began with synapse 0 */
};

/* row: address of the first synapse of a source, followed by its end. */
row_walk walk_from(uint64_t row, uint from)
{
    row_walk walk;
    walk.j = long_at(row).v + uint64_t(from);
    walk.end = long_at(row + 8ul).v;
    return walk;
}

/* Goes to the block of synapse j; false: the row is at its end. */
bool walk_block(inout row_walk walk, uint64_t blocks, uint shift)
{
    uint64_t size = 1ul << shift;
    uint64_t block = walk.j >> shift;
    uint64_t first = block << shift;
    if (walk.j >= walk.end)
        return false;
    walk.block = block_at(blocks + 24ul * block).v;
    walk.block.targets -= 4ul * first;
    walk.block.weights -= 4ul * first;
    walk.block.eligibilities -= 4ul * first;
    walk.last = first + size < walk.end ? first + size : walk.end;
    return true;
}

/* The log's place of a spike of a burst. */
uint place_of(vly_vulkan_record record, uint spike)
{
    return (uint(record.start) + spike) & VIEW.log_mask;
}

/* 2^this parts of a row at least, where few spikes arrive. */
uint parts_shift(uint count, uint teams)
{
    uint shift = 0u;
    while (shift < 5u && count < teams >> (shift + 1u))
        shift++;
    return shift;
}

#endif
