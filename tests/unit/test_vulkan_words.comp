#version 460
/* SPDX-License-Identifier: Apache-2.0
 * The parts that steps, stimuli and digests are made of, on one element's words
 * each, for test_vulkan_words.c, where the same stands in C.
 */
#extension GL_GOOGLE_include_directive : require
#include "kernels/vulkan/contract.glsl"

#include "kernels/models/digest.h"
#include "kernels/models/exponential.h"
#include "kernels/models/feagi.h"
#include "kernels/models/philox.h"
#include "kernels/rules/tsodyks.h"

#define WORDS_IN 8u
#define WORDS_OUT 20u

layout(local_size_x = 64) in;
layout(set = 0, binding = 0, std430) readonly buffer Given { uint given[]; };
layout(set = 0, binding = 1, std430) buffer Made { uint made[]; };

void main()
{
    uint at = gl_GlobalInvocationID.x * WORDS_IN;
    uint w0 = given[at];
    uint w1 = given[at + 1u];
    uint w2 = given[at + 2u];
    uint w3 = given[at + 3u];
    float x = uintBitsToFloat(given[at + 4u]);
    float y = uintBitsToFloat(given[at + 5u]);
    float z = uintBitsToFloat(given[at + 6u]);
    float e = uintBitsToFloat(given[at + 7u]);
    uint64_t mixed = vly_digest_mix(uint64_t(w0) << 32 | uint64_t(w1));
    uint64_t hash = vly_digest_pair(mixed, w2, w3);
    uint to = gl_GlobalInvocationID.x * WORDS_OUT;
    made[to] = vly_philox_burst(w0, w1, w2, w3, w1 ^ w2, w0 ^ w3);
    made[to + 1u] = uint(hash);
    made[to + 2u] = uint(hash >> 32);
    made[to + 3u] = floatBitsToUint(float(int(w0)));
    made[to + 4u] = floatBitsToUint(float(w0));
    made[to + 5u] = floatBitsToUint(vly_exp_f32(e));
    made[to + 6u] = floatBitsToUint(vly_decay_mean_f32(e));
    made[to + 7u] = floatBitsToUint(vly_store(x, -16384.0, 16384.0));
    made[to + 8u] = vly_feagi_gain(w0 & 255u, w1 & 1u, w2 & 15u, w3 & 1023u);
    made[to + 9u] = vly_feagi_driven_psp(e * 3.0);
    /* a fused multiply-add would keep what the product rounds off */
    made[to + 10u] = floatBitsToUint(vly_store(x * y + z, -1e12, 1e12));
    made[to + 11u] =
        floatBitsToUint(vly_store(x * y - vly_store(x * y, -1e12, 1e12),
                                  -1e12, 1e12));
    /* real numbers would give z and x */
    made[to + 12u] = floatBitsToUint(vly_store((x + z) - x, -1e12, 1e12));
    made[to + 13u] = floatBitsToUint(vly_store(x * 0.1 + x * 0.9, -1e12, 1e12));
    made[to + 14u] = floatBitsToUint(vly_u32_f32(w0));
    made[to + 15u] = floatBitsToUint(vly_i32_f32(int(w0 >> 1) - 0x40000000));
    made[to + 16u] = uint(vly_short_term_event(bitfieldExtract(int(w0), 0, 16),
                                               w1 % 65537u, 6u * (w2 % 3u)));
    vly_short_term s;
    s.x = float(w0 >> 16) * 1.52587890625e-5;
    s.u = float(w1 >> 16) * 1.52587890625e-5;
    s.y = (1.0 - s.x) * 0.5;
    s.gain = 0u;
    vly_tsodyks_coef c;
    c.U = float(w2 >> 16) * 1.52587890625e-5;
    c.rec = 2e-7;
    c.fac = 3e-8;
    c.psc = 0.1;
    c.by_rec = -1.25;
    c.by_psc = -0.25;
    s = vly_tsodyks_spike(s, c, w3 & 0x03ffffffu);
    made[to + 17u] = floatBitsToUint(s.x);
    made[to + 18u] = floatBitsToUint(s.u);
    made[to + 19u] = s.gain;
}
