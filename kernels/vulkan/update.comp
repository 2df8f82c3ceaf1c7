/* SPDX-License-Identifier: Apache-2.0
 * The second half of a burst, of the areas of one model (MODEL_<id>): stimuli,
 * the step, and the spikes into the log with their digest. A work group takes
 * one tile after the other and keeps its spikes in shared memory until it knows
 * how many there are. Without TOGETHER it logs every spike separately: on
 * processors a barrier is implemented with coroutines, 12 us for a work group
 * of 64 on lavapipe, a third of the update.
 */
#version 460
#extension GL_GOOGLE_include_directive : require
#include "kernels/vulkan/contract.glsl"

#include "kernels/vulkan/burst_view.glsl"

layout(local_size_x_id = 0) in;
layout(constant_id = 3) const bool TOGETHER = true;

#define LIST (VLY_VULKAN_TILE_ROUNDS * gl_WorkGroupSize.x)
shared uint spike_ids[LIST];
#if defined(MODEL_feagi)
shared uint spike_gains[LIST];
#define GAIN_OF(at) spike_gains[at]
#else
#define GAIN_OF(at) (1u << VIEW.feagi_q)
#endif
#define ID_OF(at) spike_ids[at]
shared uint n_candidates;

#include "kernels/vulkan/burst_update.glsl"
#include "kernels/vulkan/tile_spikes.glsl"

/* Of the burst at hand, read once: see load_area. */
uint64_t inputs_at; /* of port 0 of the slot, or of the first copy */
uint64_t row_bytes; /* one word a neuron */
uint64_t copy_bytes;
uint n_copies;

void load_inputs(uint slot)
{
    n_copies = VIEW.n_copies;
    row_bytes = 4ul * uint64_t(VIEW.n_neurons);
    copy_bytes = row_bytes * uint64_t(VIEW.n_ports);
    inputs_at = VIEW.inputs;
    if (n_copies == 0u)
        inputs_at += copy_bytes * uint64_t(slot);
}

#define READ_COPY(i)                                                           \
    uint word##i = 0u;                                                         \
    if (copy + uint(i) < n_copies)                                             \
        word##i = word_at(at + copy_bytes * uint64_t(copy + uint(i))).v;

/* Sums of the copies of plan sliced for a port: several copies are read at the
 * same time. */
uint add_copies(uint64_t at)
{
    uint sum = 0u;
    for (uint copy = 0u; copy < n_copies; copy += 4u) {
        READ_COPY(0)
        READ_COPY(1)
        READ_COPY(2)
        READ_COPY(3)
        sum += word0 + word1 + word2 + word3;
    }
    return sum;
}

/* The input of a port, which is then cleared; with plan sliced the work groups
 * overwrite all of it. */
uint arrived(uint port, uint neuron)
{
    uint64_t row = inputs_at + row_bytes * uint64_t(port);
    if (n_copies != 0u)
        return add_copies(row + 4ul * uint64_t(neuron));
    uint sum = word_of(row, neuron).v;
    if (sum != 0u)
        word_of(row, neuron).v = 0u;
    return sum;
}

/* 1 if an event of another neuron arrived; the mark is cleared. */
uint take_mark(uint slot, uint neuron)
{
    uint64_t row = slot_row(VIEW.marks, slot);
    uint v = word_of(row, neuron).v;
    if (v != 0u)
        word_of(row, neuron).v = 0u;
    return v;
}

/* 1 if the neuron fired */
uint update_one(vly_burst burst, uint slot, uint i, out uint gain)
{
    uint neuron = area_first + i;
    uint sum0 = 0u;
    uint sum1 = 0u;
    gain = 0u;
#if defined(MODEL_CANDIDATES)
    uint any =
        draw_stimuli(burst, neuron, read_kept(neuron), sum0, sum1);
    any |= take_mark(slot, neuron);
    if (any == 0u)
        return 0u;
    if (TOGETHER)
        atomicAdd(n_candidates, 1u);
    else
        atomicAdd(record_of(burst.t).v.candidates, 1u);
    sum0 += arrived(0u, neuron);
#else
    uint kept = read_kept(neuron);
    sum0 = arrived(0u, neuron);
#if MODEL_PORTS > 1
    sum1 = arrived(1u, neuron);
#endif
#if MODEL_PORTS > 2
    sum2 = arrived(2u, neuron);
    sum3 = 0u;
#endif
#if MODEL_PORTS > 3
    sum3 = arrived(3u, neuron);
#endif
    draw_stimuli(burst, neuron, kept, sum0, sum1);
#endif
    return vly_update_neuron(burst, i, neuron, sum0, sum1, area_scale0,
                             area_scale1, gain);
}

/* One spike, kept for write_spikes or written at once. */
void keep_spike(uint64_t burst, uint64_t mixed, uint area, uint id, uint gain)
{
    if (TOGETHER) {
        uint at = atomicAdd(n_spikes, 1u);
        spike_ids[at] = id;
#if defined(MODEL_feagi)
        spike_gains[at] = gain;
#endif
        return;
    }
    record_at record = record_of(burst);
    write_spike(record.v.start, atomicAdd(record.v.count, 1u), id, gain);
    add_sums(record, area, 1u, vly_digest_pair(mixed, id, gain),
             uint64_t(word_of(VIEW.out_degree, id).v));
}

void update_neurons(vly_burst burst, uint64_t mixed, uint slot,
                    vly_vulkan_tile tile)
{
    for (uint at = gl_LocalInvocationIndex; at < tile.n;
         at += gl_WorkGroupSize.x) {
        uint gain;
        uint i = tile.first + at;
        if (update_one(burst, slot, i, gain) != 0u)
            keep_spike(burst.t, mixed, tile.area, area_first + i, gain);
    }
}

void update_tile(vly_burst burst, uint64_t mixed, uint slot, uint t)
{
    uint lane = gl_LocalInvocationIndex;
    vly_vulkan_tile tile = tile_at(VIEW.tiles + 12ul * uint64_t(t)).v;
    load_area(tile.area, burst.t);
    if (TOGETHER) {
        if (lane == 0u)
            n_candidates = 0u;
        start_spikes();
    }
    update_neurons(burst, mixed, slot, tile);
    if (TOGETHER) {
        barrier();
        if (lane == 0u && n_candidates != 0u)
            atomicAdd(record_of(burst.t).v.candidates, n_candidates);
        write_spikes(burst.t, mixed, tile.area, record_of(burst.t).v.start);
    }
}

void main()
{
    if (push.k >= LAUNCH.n_bursts)
        return;
    uint64_t t = LAUNCH.burst + uint64_t(push.k);
    if (record_of(t).v.ran == 0u)
        return;
    vly_burst burst =
        vly_burst(t, VIEW.key_low, VIEW.key_high, VIEW.feagi_q);
    uint64_t mixed = vly_digest_mix(t);
    uint slot = uint(t % uint64_t(VIEW.ring));
    load_inputs(slot);
    for (uint i = gl_WorkGroupID.x; i < push.count; i += gl_NumWorkGroups.x)
        update_tile(burst, mixed, slot, push.first + i);
}
