/* SPDX-License-Identifier: Apache-2.0
 * Sorts spikes that are copied from the device by id, burst by burst, with a
 * bitmap in shared memory (window by window of ids, if the net is larger). One
 * work group a burst.
 */
#version 460
#extension GL_GOOGLE_include_directive : require
#include "kernels/vulkan/contract.glsl"

#include "kernels/vulkan/burst_view.glsl"

layout(local_size_x_id = 0) in;
layout(constant_id = 2) const uint WORDS = 2048u; /* of bitmap */

shared uint bits[WORDS];
shared uint before[WORDS]; /* ids in earlier words */
shared uint total[gl_WorkGroupSize.x];

/* before[] from bits[]; returns the number of ids in the window. */
uint sum_window()
{
    const uint t = gl_LocalInvocationIndex;
    const uint each = WORDS / gl_WorkGroupSize.x;
    uint sum = 0u;
    for (uint i = t * each; i < (t + 1u) * each; i++) {
        before[i] = sum;
        sum += uint(bitCount(bits[i]));
    }
    total[t] = sum;
    barrier();
    for (uint d = 1u; d < gl_WorkGroupSize.x; d *= 2u) {
        uint more = t >= d ? total[t - d] : 0u;
        barrier();
        total[t] += more;
        barrier();
    }
    uint low = t > 0u ? total[t - 1u] : 0u;
    for (uint i = t * each; i < (t + 1u) * each; i++)
        before[i] += low;
    barrier();
    return total[gl_WorkGroupSize.x - 1u];
}

/* Position of spike i of the burst and its id within the window; false if it
 * belongs to another window. */
bool in_window(vly_vulkan_record record, uint i, uint low, out uint at,
               out uint id)
{
    at = (uint(record.start) + i) & VIEW.log_mask;
    id = word_of(VIEW.log_ids, at).v - low;
    return id < WORDS * 32u;
}

void place_spikes(vly_vulkan_record record, uint64_t to, uint low)
{
    uint at;
    uint id;
    for (uint i = gl_LocalInvocationIndex; i < record.count;
         i += gl_WorkGroupSize.x) {
        if (!in_window(record, i, low, at, id))
            continue;
        uint below = bits[id >> 5] & ((1u << (id & 31u)) - 1u);
        uint rank = before[id >> 5] + uint(bitCount(below));
        uint64_t place = 4ul * (to + uint64_t(rank));
        word_at(LAUNCH.sorted_ids + place).v = low + id;
        if (LAUNCH.sorted_gains != 0ul)
            word_at(LAUNCH.sorted_gains + place).v =
                word_of(VIEW.log_gains, at).v;
    }
}

void main()
{
    if (push.first + gl_WorkGroupID.x >= LAUNCH.n_bursts)
        return;
    uint64_t burst = LAUNCH.burst + uint64_t(push.first + gl_WorkGroupID.x);
    vly_vulkan_record record = record_of(burst).v;
    if (record.ran == 0u)
        return;
    uint64_t to = record.start - record_of(LAUNCH.burst).v.start;
    uint placed = 0u;
    uint at;
    uint id;
    for (uint low = 0u; placed < record.count; low += WORDS * 32u) {
        for (uint i = gl_LocalInvocationIndex; i < WORDS;
             i += gl_WorkGroupSize.x)
            bits[i] = 0u;
        barrier();
        for (uint i = gl_LocalInvocationIndex; i < record.count;
             i += gl_WorkGroupSize.x)
            if (in_window(record, i, low, at, id))
                atomicOr(bits[id >> 5], 1u << (id & 31u));
        barrier();
        uint n = sum_window();
        place_spikes(record, to + uint64_t(placed), low);
        placed += n;
        barrier();
    }
}
