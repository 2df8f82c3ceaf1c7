/* SPDX-License-Identifier: Apache-2.0
 * Sources of the maps with short-term plasticity by one rule (RULE_<id>), after
 * delivery: their states after the spikes that arrived (head), and after those
 * without an event under way (tail), which a snapshot holds.
 *
 * Between launches it advances the head by one earlier burst's spikes (AGAIN),
 * makes it the tail (RESET) or gives old spikes an age that does not grow
 * beyond 31 bits (RENEW).
 */
#version 460
#extension GL_GOOGLE_include_directive : require
#include "kernels/vulkan/contract.glsl"

#include "kernels/vulkan/short_term.glsl"

layout(local_size_x_id = 0) in;

/* By the spikes of burst `fired`. */
void advance(uint64_t sources, uint64_t fired)
{
    vly_vulkan_record record = record_of(fired).v;
    for (uint n = INVOCATION; n < record.count; n += INVOCATIONS) {
        uint k =
            word_of(VIEW.log_ids, place_of(record, n)).v - map.source_first;
        if (k >= map.n_sources)
            continue;
        vly_short_term state = after_spike(sources, k, uint(fired));
        source_of(sources, k).v = uvec4(VLY_BITS(state.x), VLY_BITS(state.u),
                                        VLY_BITS(state.y), uint(fired));
    }
}

void reset_head()
{
    for (uint k = INVOCATION; k < map.n_sources; k += INVOCATIONS)
        source_of(map.head, k).v = source_of(map.tail, k).v;
}

void renew(uint64_t sources, uint now)
{
    for (uint k = INVOCATION; k < map.n_sources; k += INVOCATIONS) {
        word_at last = word_at(sources + 16ul * uint64_t(k) + 12ul);
        if (now - last.v > VLY_VULKAN_AGE_PERIOD)
            last.v = now - VLY_VULKAN_AGE_NEVER;
    }
}

void between_launches()
{
    load_short(push.first);
    if (push.all == VLY_VULKAN_SHORT_RESET)
        reset_head();
    if (push.all == VLY_VULKAN_SHORT_AGAIN)
        advance(map.head,
                LAUNCH.burst - uint64_t(push.k) - uint64_t(map.base_delay));
    if (push.all == VLY_VULKAN_SHORT_RENEW) {
        renew(map.head, uint(LAUNCH.burst));
        renew(map.tail, uint(LAUNCH.burst));
    }
}

void main()
{
    if (push.all != VLY_VULKAN_SHORT_BURST) {
        between_launches();
        return;
    }
    uint64_t burst = LAUNCH.burst + uint64_t(push.k);
    if (push.k >= LAUNCH.n_bursts || record_of(burst).v.ran == 0u)
        return;
    for (uint p = push.first; p < push.first + push.count; p++) {
        load_short(p);
        if (burst >= uint64_t(map.base_delay))
            advance(map.head, burst - uint64_t(map.base_delay));
        if (burst >= uint64_t(map.reach))
            advance(map.tail, burst - uint64_t(map.reach));
    }
}
