/* SPDX-License-Identifier: Apache-2.0
 * Maps that learn by a rule of windows (FEAGI's), part of learn_rows.comp.
 * Every burst begins with a sweep, in place of the flush of other rules: the
 * runs of both ends change each synapse of which an end fired in the last D
 * bursts. Then arrivals are delivered by row.
 */
#ifndef VOLLEY_VULKAN_LEARN_WINDOW_GLSL
#define VOLLEY_VULKAN_LEARN_WINDOW_GLSL

#if defined(FLUSH)

/* State of neuron i of a side after the burst before this one. */
float window_state(uint side, uint i)
{
    uvec2 run = pair_at(map.runs[side] + 8ul * uint64_t(i)).v;
    return run.x != 0u ? vly_window_state(run.x, now - run.y, map.window)
                       : 0.0f;
}

/* Whether a neuron of the side may have a state that is not 0. */
bool is_active(uint side)
{
    return now - word_of(map.recent, side).v <= map.window;
}

/* The row of source k, whose state is x. */
void change_row(uint k, float x, uint from, uint step)
{
    row_walk walk = walk_from(map.row + 8ul * uint64_t(k), from);
    while (walk_block(walk, map.blocks, map.block_shift))
        for (; walk.j < walk.last; walk.j += uint64_t(step)) {
            uint target = word_at(walk.block.targets + 4ul * walk.j).v;
            float y = window_state(1u, target - map.target_first);
            word_at weight = word_at(walk.block.weights + 4ul * walk.j);
            int was = int(weight.v);
            int m = post(was, x, 0.0f, y, 0.0f);
            if (m != was)
                weight.v = uint(m);
        }
}

/* What the burst before this one changes, unless that is done already. */
void change_windows(uint64_t burst)
{
    bool targets = is_active(1u);
    if (word_of(map.flushed, 0u).v == now || burst < uint64_t(map.window) ||
        (!targets && !is_active(0u)))
        return;
    uint64_t items = uint64_t(map.n_sources) * uint64_t(map.n_parts);
    for (uint64_t q = uint64_t(TEAM); q < items; q += uint64_t(TEAMS)) {
        uint k = uint(q / uint64_t(map.n_parts));
        uint part = uint(q % uint64_t(map.n_parts));
        float x = window_state(0u, k);
        if (targets || x > 0.0f)
            change_row(k, x, LANES * part + LANE, LANES * map.n_parts);
    }
}

#else

/* The row of source k as it is, for the spike at place `at` of the log. */
void deliver_unchanged(uint k, uint from, uint step, uint64_t inputs, uint at)
{
    bool gained = has_flag(VLY_VULKAN_LEARNING_GAIN);
    uint gain = gained ? word_of(VIEW.log_gains, at).v : 1u;
    uint64_t marks = slot_row(VIEW.marks, now_slot);
    row_walk walk = walk_from(map.row + 8ul * uint64_t(k), from);
    while (walk_block(walk, map.blocks, map.block_shift))
        for (; walk.j < walk.last; walk.j += uint64_t(step)) {
            uint target = word_at(walk.block.targets + 4ul * walk.j).v;
            int m = int(word_at(walk.block.weights + 4ul * walk.j).v);
            uint value = uint((m + 0x8000) >> 16) * map.sign * gain;
            if (gained)
                atomicOr(word_of(marks, target).v, 1u);
            atomicAdd(word_of(inputs, target).v, value << map.shift);
        }
}

#endif

#endif
