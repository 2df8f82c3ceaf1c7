/* SPDX-License-Identifier: Apache-2.0
 * The first half of a burst by slices, for nets whose events all arrive
 * base_delay bursts after their spike: a work group sums the events of some of
 * the spikes for one slice of the neurons in its shared memory, and writes the
 * sums to its own copy of the inputs; update.comp adds up the copies. Work
 * groups that share the spikes run at the same time over all slices, so that
 * the part of a row that one reads is in the device's cache for the others.
 *
 * Global atomics took 116 us for 10 million events on an H200 whatever else was
 * done; those in shared memory are some 17 times as fast there.
 */
#version 460
#extension GL_GOOGLE_include_directive : require
#include "kernels/vulkan/contract.glsl"

#include "kernels/vulkan/burst_begin.glsl"

layout(local_size_x_id = 0) in;

#include "kernels/vulkan/slice_sums.glsl"

void write_sums(uint copy, uint first, uint size)
{
    for (uint port = 0u; port < VIEW.n_ports; port++) {
        uint64_t to =
            slot_row(VIEW.inputs, copy * VIEW.n_ports + port) +
            4ul * uint64_t(first);
        for (uint i = gl_LocalInvocationIndex; i < size;
             i += gl_WorkGroupSize.x)
            word_of(to, i).v = sums[port * size + i];
    }
}

void main()
{
    if (push.k >= LAUNCH.n_bursts)
        return;
    uint64_t burst = LAUNCH.burst + uint64_t(push.k);
    uint64_t head;
    bool runs = begin_burst(burst, head);
    if (gl_GlobalInvocationID.x == 0u)
        record_of(burst).v = vly_vulkan_record(
            head, 0u, 0u, uint[2](0u, 0u), uint[2](0u, 0u), runs ? 1u : 0u, 0u);
    if (!runs)
        return;
    uint s = gl_WorkGroupID.x % VIEW.n_slices;
    uint copy = gl_WorkGroupID.x / VIEW.n_slices;
    uint first = s * VIEW.slice_size;
    uint size = slice_neurons(s);
    sum_slice(burst, s, copy, first, size);
    write_sums(copy, first, size);
}
