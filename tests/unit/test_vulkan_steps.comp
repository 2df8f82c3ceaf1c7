#version 460
/* SPDX-License-Identifier: Apache-2.0
 * Many bursts of neurons that have no synapses, for test_vulkan_models.c: the
 * update of kernels/vulkan over plain arrays, and the digest of each neuron's
 * spikes.
 */
#extension GL_GOOGLE_include_directive : require
#include "kernels/vulkan/neuron_types.glsl"

layout(local_size_x = 64) in;

layout(push_constant) uniform Push
{
    vly_burst first;
    uint n; /* a multiple of 64 */
    uint n_bursts;
    uint n_stimuli;
    float scale0;
    float scale1;
}
push;
layout(set = 0, binding = 0, std430) buffer State { uint state[]; };
layout(set = 0, binding = 1, std430) readonly buffer Coefs { uint coefs[]; };
layout(set = 0, binding = 2, std430) readonly buffer Stimuli
{
    vly_stimulus stimuli[];
};
layout(set = 0, binding = 3, std430) readonly buffer Thresholds
{
    uint thresholds[];
};
layout(set = 0, binding = 4, std430) readonly buffer Degrees
{
    uint out_degree[];
};
layout(set = 0, binding = 5, std430) buffer Digests { uint64_t digests[]; };
layout(set = 0, binding = 6, std430) buffer Counts { uint counts[]; };

#define STATE(k, name, i) state[(k) * push.n + (i)]
#define COEF(k, name, i) coefs[(k) * push.n + (i)]
#define THRESHOLD(at) thresholds[at]
#define OUT_DEGREE(id) out_degree[id]
#include "kernels/models/digest.h"
#include "kernels/vulkan/update_neuron.glsl"

void main()
{
    uint i = gl_GlobalInvocationID.x;
    vly_burst burst = push.first;
    uint64_t digest = 0;
    uint count = 0u;
    for (uint b = 0u; b < push.n_bursts; b++) {
        uint sum0 = 0u;
        uint sum1 = 0u;
        uint any = 0u;
        uint gain;
        for (uint j = 0u; j < push.n_stimuli; j++)
            any |= vly_draw_stimulus(burst, stimuli[j], i, sum0, sum1);
#if !defined(MODEL_CANDIDATES)
        any = 1u;
#endif
        if (any != 0u && vly_update_neuron(burst, i, i, sum0, sum1, push.scale0,
                                           push.scale1, gain) != 0u) {
            digest += vly_digest_pair(vly_digest_mix(burst.t), i, gain);
            count++;
        }
        burst.t += 1;
    }
    digests[i] = digest;
    counts[i] = count;
}
