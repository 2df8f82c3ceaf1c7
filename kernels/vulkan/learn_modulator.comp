/* SPDX-License-Identifier: Apache-2.0
 * The end of a burst of maps that learn by one rule (RULE_<id>) with an
 * eligibility: spikes of the modulator's area, which learn_events.comp has
 * counted, and values of the host change the modulator. An invocation takes a
 * map. A rule without a modulator does nothing.
 */
#version 460
#extension GL_GOOGLE_include_directive : require
#include "kernels/vulkan/contract.glsl"

#include "kernels/vulkan/learning.glsl"
#include "kernels/vulkan/rule_coefs.glsl"

layout(local_size_x_id = 0) in;

float changed(float d, uint n_spikes, int given)
{
#define VLY_MODULATOR(tau, interval)                                           \
    d = RULE_PART(_modulator)(d, coefs, n_spikes, given);
#include "kernels/rules/shader_rule_table.glsl"
    return d;
}

/* The value that the host gave to projection p for burst push.k. */
uint given_value(uint p)
{
    if (LAUNCH.given == 0ul)
        return VLY_VULKAN_NOT_GIVEN;
    return word_of(LAUNCH.given, VLY_VULKAN_LAUNCH_BURSTS * p + push.k).v;
}

void end_burst(modulator_at at, uint p)
{
    vly_vulkan_modulator m = at.v;
    uint given = given_value(p);
    bool is_given = given != VLY_VULKAN_NOT_GIVEN;
    if (m.n_spikes != 0u || is_given) {
        m.value =
            changed(modulator_value(m), m.n_spikes, is_given ? int(given) : 0);
        m.age = 0u;
    }
    m.age += m.age != 0xffffffffu ? 1u : 0u;
    if (m.age >= map.modulator_trace.bursts) {
        m.value = 0.0f;
        m.age = 0xffffffffu;
    }
    m.n_spikes = 0u;
    at.v = m;
}

void main()
{
    uint p = push.first + INVOCATION;
    if (push.k >= LAUNCH.n_bursts || p >= push.first + push.count ||
        record_of(LAUNCH.burst + uint64_t(push.k)).v.ran == 0u)
        return;
    load_learning(p);
    load_coefs();
    if (map.modulator != 0ul)
        end_burst(modulator_at(map.modulator), p);
}
