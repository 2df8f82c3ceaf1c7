/* SPDX-License-Identifier: Apache-2.0
 * After a flush of all projections that learn: notes its burst, and gives old
 * spikes an age that does not grow beyond 31 bits.
 */
#version 460
#extension GL_GOOGLE_include_directive : require
#include "kernels/vulkan/contract.glsl"

#include "kernels/vulkan/learning.glsl"

layout(local_size_x_id = 0) in;

/* Of n words, `step` words apart. */
void renew(uint64_t base, uint64_t n, uint64_t step, uint now)
{
    for (uint64_t i = uint64_t(INVOCATION); i < n; i += uint64_t(INVOCATIONS)) {
        word_at at = word_at(base + 4ul * step * i);
        if (int(now - at.v) > int(VLY_VULKAN_AGE_PERIOD))
            at.v = now - VLY_VULKAN_AGE_NEVER;
    }
}

/* Forgets the runs whose last spike is no longer in the window. */
void forget_runs(uint side, uint n, uint now)
{
    word_at recent = word_of(map.recent, side);
    for (uint i = INVOCATION; i < n; i += INVOCATIONS) {
        pair_at run = pair_at(map.runs[side] + 8ul * uint64_t(i));
        if (now - run.v.y > map.window)
            run.v = uvec2(0u);
    }
    if (INVOCATION == 0u && now - recent.v > map.window)
        recent.v = now - VLY_VULKAN_AGE_NEVER;
}

void main()
{
    uint now = uint(LAUNCH.burst);
    for (uint p = push.first; p < push.first + push.count; p++) {
        load_learning(p);
        if (INVOCATION == 0u)
            word_of(map.flushed, 0u).v = now;
        if (has_flag(VLY_VULKAN_LEARNING_WINDOW)) {
            forget_runs(0u, map.n_sources, now);
            forget_runs(1u, map.n_targets, now);
            continue;
        }
        renew(map.arrived, uint64_t(map.n_sources), 1ul, now);
        renew(map.newest, uint64_t(map.n_targets), 4ul, now);
        renew(map.post, ring_of_target(map.n_targets), 1ul, now);
    }
}
