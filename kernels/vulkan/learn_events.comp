/* SPDX-License-Identifier: Apache-2.0
 * The last part of a burst of projections that learn, after the update.
 * Arrivals change the traces of sources. Spikes go into the rings of targets,
 * or with a rule of windows into the runs of both areas, and are counted for
 * modulators. All rules share this shader. A ring that is full asks for a flush
 * at the begin of the next burst.
 */
#version 460
#extension GL_GOOGLE_include_directive : require
#include "kernels/vulkan/contract.glsl"

#include "kernels/vulkan/learning.glsl"

layout(local_size_x_id = 0) in;

uint id_of(vly_vulkan_record record, uint spike)
{
    return word_of(VIEW.log_ids, place_of(record, spike)).v;
}

/* A trace of source k before the arrival of now. */
void arrive_trace(uint64_t base, vly_vulkan_trace trace, uint k, uint age)
{
    if (base == 0ul)
        return;
    float x = after(float_of(base, uint64_t(k)));
    store_float(base, uint64_t(k), decayed(trace, x, age));
}

void arrivals(uint64_t burst)
{
    vly_vulkan_record record =
        record_of(burst - uint64_t(map.base_delay)).v;
    for (uint n = INVOCATION; n < record.count; n += INVOCATIONS) {
        uint k = id_of(record, n) - map.source_first;
        if (k >= map.n_sources)
            continue;
        uint age = uint(burst) - word_of(map.arrived, k).v;
        arrive_trace(map.before[0], map.source[0], k, age);
        arrive_trace(map.before[1], map.source[1], k, age);
        word_of(map.arrived, k).v = uint(burst);
    }
}

/* A trace of a target after a spike `age` bursts after the last one; what it
 * was before goes to its ring. */
uint fire_trace(uint64_t base, vly_vulkan_trace trace, uint word, uint age,
                uint64_t slot)
{
    if (base == 0ul)
        return word;
    float y = decayed(trace, VLY_FLOAT(word), age);
    store_float(base, slot, y);
    return VLY_BITS(after(y));
}

/* Target i fired. */
void fire(uint i, uint burst)
{
    quad_at newest = quad_at(map.newest + 16ul * uint64_t(i));
    uvec4 words = newest.v; /* vly_vulkan_newest */
    uint seen = burst + map.lag;
    uint count = words.y;
    uint age = seen - words.x;
    uint64_t ring = ring_of_target(i);
    uint64_t slot = ring + uint64_t(count & map.mask);
    /* The next spike overwrites the oldest entry. One that all rows have seen
     * must remain. */
    uint old = word_at(map.post +
                       4ul * (ring + uint64_t((count + 3u) & map.mask)))
                   .v;
    words.z = fire_trace(map.post_before[0], map.target[0], words.z, age, slot);
    words.w = fire_trace(map.post_before[1], map.target[1], words.w, age, slot);
    word_at(map.post + 4ul * slot).v = seen;
    newest.v = uvec4(seen, count + 1u, words.z, words.w);
    if (int(old - word_of(map.flushed, 0u).v) >= 0)
        word_of(map.flushed, 1u).v = burst + 1u;
}

/* Neuron i of a side fired: its run of bursts in a row with a spike. */
void lengthen_run(uint side, uint i, uint burst)
{
    pair_at run = pair_at(map.runs[side] + 8ul * uint64_t(i));
    uvec2 was = run.v; /* run, last burst */
    uint longer = was.x < map.window ? was.x + 1u : map.window;
    run.v = uvec2(was.x != 0u && was.y + 1u == burst ? longer : 1u, burst);
    word_of(map.recent, side).v = burst;
}

/* Neuron id fired. */
void neuron_fired(uint id, uint burst)
{
    uint source = id - map.source_first;
    uint target = id - map.target_first;
    if (has_flag(VLY_VULKAN_LEARNING_WINDOW)) {
        if (source < map.n_sources)
            lengthen_run(0u, source, burst);
        if (target < map.n_targets)
            lengthen_run(1u, target, burst);
        return;
    }
    if (target < map.n_targets)
        fire(target, burst);
    if (id - map.modulator_first < map.n_modulator)
        atomicAdd(modulator_at(map.modulator).v.n_spikes, 1u);
}

void main()
{
    if (push.k >= LAUNCH.n_bursts)
        return;
    uint64_t burst = LAUNCH.burst + uint64_t(push.k);
    vly_vulkan_record record = record_of(burst).v;
    if (record.ran == 0u)
        return;
    for (uint p = push.first; p < push.first + push.count; p++) {
        load_learning(p);
        if (burst >= uint64_t(map.base_delay) &&
            !has_flag(VLY_VULKAN_LEARNING_WINDOW))
            arrivals(burst);
        for (uint n = INVOCATION; n < record.count; n += INVOCATIONS)
            neuron_fired(id_of(record, n), uint(burst));
    }
}
