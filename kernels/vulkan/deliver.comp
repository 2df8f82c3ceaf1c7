/* SPDX-License-Identifier: Apache-2.0
 * The first half of a burst: input of the host, then along every group of rows
 * the spikes of burst t - base_delay, to accumulators in global memory, by
 * integer atomics. A further delay d goes to slot (t + d) mod ring. The first
 * work group begins the burst's record.
 *
 * Built as `restore`, it restores the events in flight of one earlier burst's
 * spikes along one group.
 */
#version 460
#extension GL_GOOGLE_include_directive : require
#include "kernels/vulkan/contract.glsl"

#include "kernels/vulkan/burst_begin.glsl"

layout(local_size_x_id = 0) in;
layout(constant_id = 1) const uint LANES = 32u; /* that share a row */

/* An invocation has four synapses in flight. Written out, not as loops over
 * arrays, which compilers may place in memory. */
#define EACH_AHEAD(DO) DO(0) DO(1) DO(2) DO(3)
#define AHEAD 4u

/* Destination of the events of a burst. Read once: the compiler would read the
 * view again after every atomic. */
struct slot_ring {
    uint64_t inputs;
    uint64_t marks;
    uint64_t row_bytes; /* one word a neuron */
    uint n_ports;
    uint ring;
    uint now;       /* slot of the burst that delivers the spikes */
    uint delay_min; /* smaller delays have been delivered */
};

slot_ring ring_of(uint64_t burst, uint delay_min)
{
    return slot_ring(VIEW.inputs, VIEW.marks, 4ul * uint64_t(VIEW.n_neurons),
                     VIEW.n_ports, VIEW.ring,
                     uint(burst % uint64_t(VIEW.ring)), delay_min);
}

/* Adds to the input of a neuron; at FEAGI areas it becomes a candidate. */
void add_event(slot_ring to, uint slot, uint port, uint id, uint value,
               bool mark)
{
    uint64_t row = uint64_t(slot * to.n_ports + port);
    if (mark)
        atomicOr(word_of(to.marks + uint64_t(slot) * to.row_bytes, id).v, 1u);
    atomicAdd(word_of(to.inputs + row * to.row_bytes, id).v, value);
}

void deliver_one(slot_ring to, uvec2 synapse, uint gain)
{
    uint value = uint(bitfieldExtract(int(synapse.y), 0, 16));
    uint delay = bitfieldExtract(synapse.y, 16, 8);
    uint flags = synapse.y >> 24;
    if (delay < to.delay_min)
        return;
    uint slot = to.now + delay;
    slot = slot >= to.ring ? slot - to.ring : slot;
    value <<= (flags >> VLY_VULKAN_SYNAPSE_SHIFT) * VLY_VULKAN_SHIFT_STEP;
    bool feagi = (flags & VLY_VULKAN_SYNAPSE_GAIN) != 0u;
    add_event(to, slot, flags & VLY_VULKAN_SYNAPSE_PORT, synapse.x,
              feagi ? value * gain : value, feagi);
}

#define READ_SYNAPSE(u)                                                        \
    uint at##u = j + uint(u) * step;                                           \
    uvec2 synapse##u = uvec2(0u);                                              \
    if (at##u < n)                                                             \
        synapse##u = pair_at(row + 8ul * uint64_t(at##u)).v;
#define DELIVER_SYNAPSE(u)                                                     \
    if (at##u < n)                                                             \
        deliver_one(to, synapse##u, gain);

/* Synapses from, from + step, ... of a row of n. The compiler does not move
 * reads before atomics, so reads come first. */
void deliver_row(slot_ring to, uint64_t row, uint n, uint from, uint step,
                 uint gain)
{
    for (uint j = from; j < n; j += AHEAD * step) {
        EACH_AHEAD(READ_SYNAPSE)
        EACH_AHEAD(DELIVER_SYNAPSE)
    }
}

/* All spikes of one burst along one group of rows, by all work groups: LANES
 * invocations a row, or a part of it where there are few. */
void deliver_set(vly_vulkan_group group, slot_ring to, uint64_t burst)
{
    vly_vulkan_record record = record_of(burst).v;
    uint64_t log_ids = VIEW.log_ids;
    uint64_t log_gains = VIEW.log_gains;
    uint log_mask = VIEW.log_mask;
    uint lane = gl_LocalInvocationIndex % LANES;
    uint each = gl_WorkGroupSize.x / LANES;
    uint n_teams = gl_NumWorkGroups.x * each;
    uint team = gl_LocalInvocationIndex / LANES * gl_NumWorkGroups.x +
                gl_WorkGroupID.x;
    uint shift = 0u; /* 2^shift parts of a row */
    while (shift < 5u && record.count < n_teams >> (shift + 1u))
        shift++;
    uint n_parts = 1u << shift;
    uint64_t items = uint64_t(record.count) << shift;
    for (uint64_t q = uint64_t(team); q < items; q += uint64_t(n_teams)) {
        uint spike = uint(q >> shift);
        uint part = uint(q) & (n_parts - 1u);
        uint at = (uint(record.start) + spike) & log_mask;
        uint id = word_of(log_ids, at).v;
        uint gain = word_of(log_gains, at).v;
        uint n = word_of(group.degree, id).v;
        uint64_t row = long_at(group.row + 8ul * uint64_t(id)).v;
        deliver_row(to, row, n, LANES * part + lane, LANES * n_parts, gain);
    }
}

#if defined(RESTORE)

void main()
{
    uint ago = push.count;
    uint64_t burst = LAUNCH.burst - uint64_t(ago);
    vly_vulkan_group group =
        group_at(VIEW.groups + 24ul * uint64_t(push.first)).v;
    deliver_set(group, ring_of(burst, ago), burst - uint64_t(group.base_delay));
}

#else

void deliver_inputs(slot_ring to)
{
    uint end = word_of(LAUNCH.input_row, push.k + 1u).v;
    uint i = word_of(LAUNCH.input_row, push.k).v +
             gl_WorkGroupID.x * gl_WorkGroupSize.x + gl_LocalInvocationIndex;
    for (; i < end; i += gl_NumWorkGroups.x * gl_WorkGroupSize.x) {
        vly_vulkan_input given = input_at(LAUNCH.inputs + 16ul * uint64_t(i)).v;
        add_event(to, to.now, given.port, given.neuron, given.value,
                  given.feagi != 0u);
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
    slot_ring to = ring_of(burst, 0u);
    if (LAUNCH.input_row != 0ul)
        deliver_inputs(to);
    for (uint g = 0u; g < VIEW.n_groups; g++) {
        vly_vulkan_group group = group_at(VIEW.groups + 24ul * uint64_t(g)).v;
        if (burst >= uint64_t(group.base_delay))
            deliver_set(group, to, burst - uint64_t(group.base_delay));
    }
}

#endif
