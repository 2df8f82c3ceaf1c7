/* SPDX-License-Identifier: Apache-2.0
 * The first half of a burst by slices, for nets whose events all arrive
 * base_delay bursts after their spike: a work group adds what some of the
 * spikes bring to one slice of the neurons, in its shared memory, and writes
 * the sums to its own copy of the inputs; update.comp adds up the copies. Work
 * groups that share the spikes run side by side over all slices, so that what
 * one reads of a row is in the device's cache for the others.
 *
 * Global atomics took 116 us for 10 million events on an H200 whatever else was
 * done; those in shared memory are some 17 times as fast there.
 */
#version 460
#extension GL_GOOGLE_include_directive : require
#include "kernels/vulkan/contract.glsl"

#include "kernels/vulkan/burst_begin.glsl"

layout(local_size_x_id = 0) in;
layout(constant_id = 1) const uint LANES = 4u; /* that share a part */
layout(constant_id = 4) const uint SUMS = 8192u;

/* Four parts of a team are under way, each step of all of them before the next
 * of one. Written out, not as loops over arrays: NVIDIA's compiler keeps those
 * in memory, which took 350 us instead of 89 on an H200. */
#define EACH_AHEAD(DO) DO(0) DO(1) DO(2) DO(3)
#define AHEAD 4u

shared uint sums[SUMS]; /* [port][neuron] what arrives */

void add_synapse(uint word, bool is_of_part, uint size)
{
    uint at = (word & 0x7fffu) + ((word & 0x8000u) != 0u ? size : 0u);
    if (is_of_part)
        atomicAdd(sums[at], uint(int(word) >> 16));
}

/* Of four synapses, from `first` on, those of the part [from, from + n). */
void add_quad(uvec4 quad, uint first, uint from, uint n, uint size)
{
    uint at = first - from; /* wraps for those before */
    add_synapse(quad.x, at < n, size);
    add_synapse(quad.y, at + 1u < n, size);
    add_synapse(quad.z, at + 2u < n, size);
    add_synapse(quad.w, at + 3u < n, size);
}

uvec4 quad_of(uint64_t row, uint first)
{
    return quad_at(row + 4ul * uint64_t(first)).v;
}

#define READ_ID(u)                                                             \
    uint at##u = i + uint(u) * n_teams;                                        \
    uint id##u = word_of(log_ids, (start + (at##u < end ? at##u : i)) &        \
                                      log_mask)                                \
                     .v;
#define READ_ENTRY(u)                                                          \
    uint64_t entry##u = index + stride * uint64_t(id##u);                      \
    uint64_t row##u = long_at(entry##u).v;                                     \
    uint word##u = word_of(entry##u + 8ul, s).v;
#define READ_QUAD(u)                                                           \
    uint from##u = word##u & 0xffffu;                                          \
    uint n##u = at##u < end ? word##u >> 16 : 0u;                              \
    uint first##u = (from##u & ~3u) + 4u * lane;                               \
    uvec4 quad##u = uvec4(0u);                                                 \
    if (first##u < from##u + n##u)                                             \
        quad##u = quad_of(row##u, first##u);
#define ADD_QUAD(u)                                                            \
    add_quad(quad##u, first##u, from##u, n##u, size);                          \
    for (first##u += 4u * LANES; first##u < from##u + n##u;                    \
         first##u += 4u * LANES)                                               \
        add_quad(quad_of(row##u, first##u), first##u, from##u, n##u, size);

/* The parts of spikes [begin, end) of a burst that slice s has. LANES
 * invocations read a part, 16 bytes each. */
void deliver_parts(uint64_t index, uint start, uint begin, uint end, uint s,
                   uint size)
{
    uint64_t log_ids = VIEW.log_ids;
    uint log_mask = VIEW.log_mask;
    uint64_t stride = uint64_t((VIEW.n_slices + 3u) / 2u) * 8ul;
    uint lane = gl_LocalInvocationIndex % LANES;
    uint n_teams = gl_WorkGroupSize.x / LANES;
    for (uint i = begin + gl_LocalInvocationIndex / LANES; i < end;
         i += AHEAD * n_teams) {
        EACH_AHEAD(READ_ID)
        EACH_AHEAD(READ_ENTRY)
        EACH_AHEAD(READ_QUAD)
        EACH_AHEAD(ADD_QUAD)
    }
}

/* Of all inputs of the burst those of neurons from `first` on. */
void deliver_inputs(uint first, uint size)
{
    uint end = word_of(LAUNCH.input_row, push.k + 1u).v;
    uint i = word_of(LAUNCH.input_row, push.k).v + gl_LocalInvocationIndex;
    for (; i < end; i += gl_WorkGroupSize.x) {
        vly_vulkan_input given = input_at(LAUNCH.inputs + 16ul * uint64_t(i)).v;
        uint at = given.neuron - first;
        if (at < size)
            atomicAdd(sums[given.port * size + at], given.value);
    }
}

void deliver_burst(uint64_t burst, uint s, uint copy, uint size)
{
    uint n_groups = VIEW.n_groups;
    uint64_t groups = VIEW.groups;
    for (uint g = 0u; g < n_groups; g++) {
        vly_vulkan_group group = group_at(groups + 24ul * uint64_t(g)).v;
        if (burst < uint64_t(group.base_delay))
            continue;
        vly_vulkan_record record =
            record_of(burst - uint64_t(group.base_delay)).v;
        uint each = (record.count + VIEW.n_copies - 1u) / VIEW.n_copies;
        uint begin = each * copy;
        uint end = begin + each < record.count ? begin + each : record.count;
        deliver_parts(group.row, uint(record.start), begin, end, s, size);
    }
}

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
    uint size = VIEW.n_neurons - first;
    size = size < VIEW.slice_size ? size : VIEW.slice_size;
    for (uint i = gl_LocalInvocationIndex; i < size * VIEW.n_ports;
         i += gl_WorkGroupSize.x)
        sums[i] = 0u;
    barrier();
    if (LAUNCH.input_row != 0ul && copy == 0u)
        deliver_inputs(first, size);
    deliver_burst(burst, s, copy, size);
    barrier();
    write_sums(copy, first, size);
}
