/* SPDX-License-Identifier: Apache-2.0
 * A whole burst in one dispatch, for nets whose events all arrive base_delay
 * bursts after their spike: each work group owns a slice of the neurons of one
 * model (MODEL_<id>), adds what arrives there in shared memory and updates
 * them. Rows are cut by slice, so that a work group reads its part of each.
 *
 * Global atomics took 116 us for 10 million events on an H200 whatever else was
 * done; those in shared memory are some 17 times as fast there.
 */
#version 460
#extension GL_GOOGLE_include_directive : require
#extension GL_EXT_control_flow_attributes : require
#include "kernels/vulkan/contract.glsl"

#include "kernels/vulkan/burst_begin.glsl"
#include "kernels/vulkan/burst_update.glsl"

layout(local_size_x_id = 0) in;
layout(constant_id = 1) const uint LANES = 4u; /* that share a segment */
layout(constant_id = 4) const uint SUMS = 8192u;

#define AHEAD 4 /* segments of a team under way */
#define LIST (2u * gl_WorkGroupSize.x)

shared uint sums[SUMS]; /* [port][neuron] what arrives */
shared uint spike_ids[LIST];
shared uint n_spikes; /* in the list */
shared uint n_written;
shared uint base; /* of the list in the burst's part of the log */
shared uint digest[2];
shared uint events[2];

/* ---- delivery ---------------------------------------------------------- */

void add_synapse(uint word, uint n)
{
    uint at = (word & 0x7fffu) + ((word & 0x8000u) != 0u ? n : 0u);
    atomicAdd(sums[at], uint(int(word) >> 16));
}

/* All spikes of one burst along the part of one group that is in the slice. */
void deliver_set(vly_vulkan_segments part, uint64_t burst, uint n)
{
    uint count = record_of(burst).v.count;
    uint64_t start = record_of(burst).v.start;
    uint64_t log_ids = VIEW.log_ids;
    uint64_t log_mask = VIEW.log_mask;
    uint lane = gl_LocalInvocationIndex % LANES;
    uint n_teams = gl_WorkGroupSize.x / LANES;
    for (uint q = gl_LocalInvocationIndex / LANES; q < count;
         q += AHEAD * n_teams) {
        uint from[AHEAD];
        uint to[AHEAD];
        [[unroll]] for (uint u = 0u; u < AHEAD; u++) {
            uint i = q + u * n_teams;
            from[u] = to[u] = 0u;
            if (i < count) {
                uint at = uint((start + uint64_t(i)) & log_mask);
                uint id = word_of(log_ids, at).v;
                from[u] = word_of(part.offsets, id).v;
                to[u] = word_of(part.offsets + 4ul, id).v;
            }
        }
        [[unroll]] for (uint u = 0u; u < AHEAD; u++)
            for (uint j = from[u] + lane; j < to[u]; j += LANES)
                add_synapse(word_of(part.synapses, j).v, n);
    }
}

/* Of all inputs of the burst those of neurons from `first` on. */
void deliver_inputs(uint first, uint n)
{
    uint end = word_of(LAUNCH.input_row, push.k + 1u).v;
    uint i = word_of(LAUNCH.input_row, push.k).v + gl_LocalInvocationIndex;
    for (; i < end; i += gl_WorkGroupSize.x) {
        vly_vulkan_input given = input_at(LAUNCH.inputs + 16ul * uint64_t(i)).v;
        uint at = given.neuron - first;
        if (at < n)
            atomicAdd(sums[given.port * n + at], given.value);
    }
}

void deliver_burst(uint64_t burst, uint s, uint first, uint n)
{
    if (LAUNCH.input_row != 0ul)
        deliver_inputs(first, n);
    for (uint g = 0u; g < VIEW.n_groups; g++) {
        uint64_t delay = uint64_t(
            group_at(VIEW.groups + 24ul * uint64_t(g)).v.base_delay);
        uint64_t at = uint64_t(g) * uint64_t(VIEW.n_slices) + uint64_t(s);
        if (burst >= delay)
            deliver_set(segments_at(VIEW.segments + 16ul * at).v, burst - delay,
                        n);
    }
}

/* ---- update ------------------------------------------------------------ */

/* The list to the log; all of the work group. */
void write_list(uint64_t burst, uint64_t head)
{
    if (gl_LocalInvocationIndex == 0u) {
        base = atomicAdd(record_of(burst).v.count, n_spikes);
        n_written += n_spikes;
    }
    barrier();
    for (uint i = gl_LocalInvocationIndex; i < n_spikes;
         i += gl_WorkGroupSize.x)
        write_spike(head, base + i, spike_ids[i], 1u << VIEW.feagi_q);
    barrier();
    if (gl_LocalInvocationIndex == 0u)
        n_spikes = 0u;
    barrier();
}

void update_slice(vly_burst burst, uint64_t head, vly_vulkan_slice slice)
{
    uint64_t mixed = vly_digest_mix(burst.t);
    uint64_t hashes = 0ul;
    uint64_t degrees = 0ul;
    for (uint low = 0u; low < slice.n; low += gl_WorkGroupSize.x) {
        uint at = low + gl_LocalInvocationIndex;
        uint fired = 0u;
        uint gain;
        uint i = slice.first + at;
        uint id = AREA.first + i;
        if (at < slice.n) {
            uint sum0 = sums[at];
            uint sum1 = MODEL_PORTS == 2 ? sums[slice.n + at] : 0u;
            draw_stimuli(burst, id, sum0, sum1);
            fired = vly_update_neuron(burst, i, id, sum0, sum1, AREA.scale[0],
                                      AREA.scale[1], gain);
        }
        if (fired != 0u) {
            spike_ids[atomicAdd(n_spikes, 1u)] = id;
            hashes += vly_digest_pair(mixed, id, gain);
            degrees += uint64_t(word_of(VIEW.out_degree, id).v);
        }
        barrier();
        uint held = n_spikes;
        barrier(); /* nobody adds before all have read it */
        if (held > gl_WorkGroupSize.x) /* the next round may not fit */
            write_list(burst.t, head);
    }
    if (n_spikes > 0u)
        write_list(burst.t, head);
    if (degrees != 0ul || hashes != 0ul) {
        ADD_LONG(digest[0], digest[1], hashes);
        ADD_LONG(events[0], events[1], degrees);
    }
    barrier();
    if (gl_LocalInvocationIndex == 0u && n_written != 0u)
        add_sums(record_of(burst.t), slice.area, n_written,
                 (uint64_t(digest[1]) << 32) | uint64_t(digest[0]),
                 (uint64_t(events[1]) << 32) | uint64_t(events[0]));
}

/* ---- the burst --------------------------------------------------------- */

/* Everybody adds to the record of the burst, so it was cleared in the burst
 * before. Nobody reads of it what is written here. */
void keep_record(uint64_t burst, uint64_t head, bool runs)
{
    record_at now = record_of(burst);
    record_at next = record_of(burst + 1ul);
    now.v.start = head;
    now.v.ran = runs ? 1u : 0u;
    if (!runs)
        return;
    next.v.count = next.v.candidates = 0u;
    next.v.digest[0] = next.v.digest[1] = 0u;
    next.v.events[0] = next.v.events[1] = 0u;
}

void main()
{
    if (push.k >= LAUNCH.n_bursts)
        return;
    uint64_t t = LAUNCH.burst + uint64_t(push.k);
    uint64_t head;
    bool runs = begin_burst(t, head);
    if (push.keeps != 0u && gl_GlobalInvocationID.x == 0u)
        keep_record(t, head, runs);
    if (!runs)
        return;
    uint s = push.first + gl_WorkGroupID.x;
    vly_vulkan_slice slice = slice_at(VIEW.slices + 16ul * uint64_t(s)).v;
    area_address = VIEW.areas + AREA_BYTES * uint64_t(slice.area);
    for (uint i = gl_LocalInvocationIndex; i < SUMS; i += gl_WorkGroupSize.x)
        sums[i] = 0u;
    if (gl_LocalInvocationIndex == 0u) {
        n_spikes = n_written = 0u;
        digest[0] = digest[1] = events[0] = events[1] = 0u;
    }
    barrier();
    deliver_burst(t, s, AREA.first + slice.first, slice.n);
    barrier();
    update_slice(vly_burst(t, VIEW.key_low, VIEW.key_high, VIEW.feagi_q), head,
                 slice);
}
