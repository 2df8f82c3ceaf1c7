/* SPDX-License-Identifier: Apache-2.0
 * The two functions every backend needs for stimuli and digests, in plain C:
 * Philox4x32-10 (Salmon et al. 2011, doi:10.1145/2063384.2063405) and the
 * finaliser of splitmix64.
 */
#ifndef VOLLEY_TEMPLATE_RANDOM_H
#define VOLLEY_TEMPLATE_RANDOM_H

#include <stdint.h>

static inline uint64_t template_mix(uint64_t x)
{
    x = (x ^ (x >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    x = (x ^ (x >> 27)) * UINT64_C(0x94d049bb133111eb);
    return x ^ (x >> 31);
}

/* The draw of one neuron in burst t: plugin.h, vly_stimulus_desc. */
static inline uint32_t template_draw(uint64_t seed, uint64_t t, uint32_t neuron,
                                     uint32_t stream)
{
    uint32_t c[4] = {(uint32_t)(t >> 2), (uint32_t)(t >> 34), neuron, stream};
    uint32_t k0 = (uint32_t)seed, k1 = (uint32_t)(seed >> 32);
    for (int round = 0; round < 10; round++) {
        uint64_t a = (uint64_t)0xD2511F53u * c[0];
        uint64_t b = (uint64_t)0xCD9E8D57u * c[2];
        c[0] = (uint32_t)(b >> 32) ^ c[1] ^ k0;
        c[1] = (uint32_t)b;
        c[2] = (uint32_t)(a >> 32) ^ c[3] ^ k1;
        c[3] = (uint32_t)a;
        k0 += 0x9E3779B9u;
        k1 += 0xBB67AE85u;
    }
    return c[t & 3];
}

#endif
