/* SPDX-License-Identifier: Apache-2.0
 * Philox4x32-10 in the common subset of C11, CUDA C++ and GLSL. A draw is a
 * function of key and counter only, so no order of work can change it. One
 * block holds the words of four consecutive bursts of one neuron.
 * Source: Salmon et al. 2011, doi:10.1145/2063384.2063405
 */
#ifndef VOLLEY_MODELS_PHILOX_H
#define VOLLEY_MODELS_PHILOX_H

#include "model.h"

#define VLY_PHILOX_M0 0xD2511F53u
#define VLY_PHILOX_M1 0xCD9E8D57u
#define VLY_PHILOX_W0 0x9E3779B9u
#define VLY_PHILOX_W1 0xBB67AE85u
#define VLY_PHILOX_ROUNDS 10

VLY_STRUCT(vly_philox_words)
{
    VLY_U32 w0;
    VLY_U32 w1;
    VLY_U32 w2;
    VLY_U32 w3;
};

/* high 32 bits of the product */
VLY_FN VLY_U32 vly_philox_high(VLY_U32 a, VLY_U32 b)
{
#if defined(VLY_GLSL)
    uint high;
    uint low;
    umulExtended(a, b, high, low);
    return high;
#elif defined(__CUDA_ARCH__)
    return __umulhi(a, b);
#else
    return (uint32_t)(((uint64_t)a * b) >> 32);
#endif
}

VLY_FN vly_philox_words vly_philox_draw(VLY_U32 key_low, VLY_U32 key_high,
                                        VLY_U32 c0, VLY_U32 c1, VLY_U32 c2,
                                        VLY_U32 c3)
{
    vly_philox_words c;
    c.w0 = c0;
    c.w1 = c1;
    c.w2 = c2;
    c.w3 = c3;
    for (VLY_I32 i = 0; i < VLY_PHILOX_ROUNDS; i++) {
        VLY_U32 h0 = vly_philox_high(VLY_PHILOX_M0, c.w0);
        VLY_U32 l0 = VLY_PHILOX_M0 * c.w0;
        VLY_U32 h1 = vly_philox_high(VLY_PHILOX_M1, c.w2);
        VLY_U32 l1 = VLY_PHILOX_M1 * c.w2;
        c.w0 = h1 ^ c.w1 ^ key_low;
        c.w1 = l1;
        c.w2 = h0 ^ c.w3 ^ key_high;
        c.w3 = l0;
        key_low = key_low + VLY_PHILOX_W0;
        key_high = key_high + VLY_PHILOX_W1;
    }
    return c;
}

/* The word of burst t (low and high half) among the four of its block. */
VLY_FN VLY_U32 vly_philox_pick(vly_philox_words c, VLY_U32 t)
{
    VLY_U32 i = t & 3u;
    return i == 0u ? c.w0 : (i == 1u ? c.w1 : (i == 2u ? c.w2 : c.w3));
}

/* Run-time draw of neuron id in burst t: counter (t >> 2, id, stream). */
VLY_FN VLY_U32 vly_philox_burst(VLY_U32 key_low, VLY_U32 key_high,
                                VLY_U32 t_low, VLY_U32 t_high, VLY_U32 id,
                                VLY_U32 stream)
{
    VLY_U32 c0 = (t_low >> 2) | (t_high << 30);
    VLY_U32 c1 = t_high >> 2;
    return vly_philox_pick(
        vly_philox_draw(key_low, key_high, c0, c1, id, stream), t_low);
}

#endif
