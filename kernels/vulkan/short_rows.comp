/* SPDX-License-Identifier: Apache-2.0
 * Rows of the maps with short-term plasticity by one rule (RULE_<id>): beside
 * deliver.comp and as it does, the spikes that arrive, each with its gain. The
 * states of the sources stay as they are (short_states.comp).
 *
 * Between launches (AGAIN, AWAY) it adds the events of one earlier burst's
 * spikes that are under way, or takes them away.
 */
#version 460
#extension GL_GOOGLE_include_directive : require
#include "kernels/vulkan/contract.glsl"

#include "kernels/vulkan/short_term.glsl"

layout(local_size_x_id = 0) in;
layout(constant_id = 1) const uint LANES = 32u; /* that share a row */

/* Destination of the events of a burst's spikes. */
struct slot_ring {
    uint now;       /* slot in which delay 0 arrives */
    uint delay_min; /* smaller delays have been delivered */
    uint sign;      /* 1, or -1 modulo 2^32 */
};

void deliver_synapse(slot_ring to, uint target, uint word, uint gain)
{
    int weight = bitfieldExtract(int(word), 0, 16);
    uint delay = bitfieldExtract(word, 16, 8);
    uint port = (word >> 24) & VLY_VULKAN_SYNAPSE_PORT;
    if (delay < to.delay_min)
        return;
    uint slot = to.now + delay;
    slot = slot >= VIEW.ring ? slot - VIEW.ring : slot;
    uint value = uint(vly_short_term_event(weight, gain, map.shift)) * to.sign;
    atomicAdd(
        word_of(slot_row(VIEW.inputs, slot * VIEW.n_ports + port), target).v,
        value);
}

/* Synapses from, from + step, ... of row k. */
void deliver_row(slot_ring to, uint k, uint from, uint step, uint gain)
{
    row_walk walk = walk_from(map.row + 8ul * uint64_t(k), from);
    while (walk_block(walk, map.blocks, map.block_shift))
        for (; walk.j < walk.last; walk.j += uint64_t(step))
            deliver_synapse(to, word_at(walk.block.targets + 4ul * walk.j).v,
                            word_at(walk.block.weights + 4ul * walk.j).v, gain);
}

/* The spikes of burst `fired`. */
void deliver_spikes(slot_ring to, uint64_t fired)
{
    vly_vulkan_record record = record_of(fired).v;
    uint n_parts = max(map.n_parts, 1u << parts_shift(record.count, TEAMS));
    uint64_t items = uint64_t(record.count) * uint64_t(n_parts);
    for (uint64_t q = uint64_t(TEAM); q < items; q += uint64_t(TEAMS)) {
        uint part = uint(q % uint64_t(n_parts));
        uint spike = uint(q / uint64_t(n_parts));
        uint k =
            word_of(VIEW.log_ids, place_of(record, spike)).v - map.source_first;
        if (k >= map.n_sources)
            continue;
        deliver_row(to, k, LANES * part + LANE, LANES * n_parts,
                    after_spike(map.head, k, uint(fired)).gain);
    }
}

void deliver_again()
{
    uint64_t burst = LAUNCH.burst - uint64_t(push.k);
    uint sign = push.all == VLY_VULKAN_SHORT_AWAY ? 0xffffffffu : 1u;
    load_short(push.first);
    deliver_spikes(slot_ring(uint(burst % uint64_t(VIEW.ring)), push.k, sign),
                   burst - uint64_t(map.base_delay));
}

void main()
{
    if (push.all != VLY_VULKAN_SHORT_BURST) {
        deliver_again();
        return;
    }
    uint64_t burst = LAUNCH.burst + uint64_t(push.k);
    uint64_t head;
    if (push.k >= LAUNCH.n_bursts || !begin_burst(burst, head))
        return;
    slot_ring to = slot_ring(uint(burst % uint64_t(VIEW.ring)), 0u, 1u);
    for (uint p = push.first; p < push.first + push.count; p++) {
        load_short(p);
        if (burst >= uint64_t(map.base_delay))
            deliver_spikes(to, burst - uint64_t(map.base_delay));
    }
}
