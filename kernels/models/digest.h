/* SPDX-License-Identifier: Apache-2.0
 * The hashes whose sums are the digests, in the common subset of C11, CUDA C++
 * and GLSL (there with 64-bit integers). A sum mod 2^64 needs no order.
 * Source: splitmix64's finaliser, Steele et al. 2014,
 * doi:10.1145/2714064.2660195
 */
#ifndef VOLLEY_MODELS_DIGEST_H
#define VOLLEY_MODELS_DIGEST_H

#include "model.h"

#if defined(VLY_GLSL)
#define VLY_U64 uint64_t
#define VLY_TO_U64(x) uint64_t(x)
#else
#define VLY_U64 uint64_t
#define VLY_TO_U64(x) ((uint64_t)(x))
#endif
/* Of two halves: GLSL's preprocessor reads no number above 32 bits that has its
 * suffix pasted on. */
#define VLY_U64_OF(high, low) ((VLY_TO_U64(high) << 32) | VLY_TO_U64(low))

VLY_FN VLY_U64 vly_digest_mix(VLY_U64 x)
{
    x = (x ^ (x >> 30)) * VLY_U64_OF(0xbf58476du, 0x1ce4e5b9u);
    x = (x ^ (x >> 27)) * VLY_U64_OF(0x94d049bbu, 0x133111ebu);
    return x ^ (x >> 31);
}

/* mixed: vly_digest_mix(burst) for a spike's (neuron, gain), or
 * vly_digest_mix(field) for a state's (neuron, word) */
VLY_FN VLY_U64 vly_digest_pair(VLY_U64 mixed, VLY_U32 neuron, VLY_U32 word)
{
    return vly_digest_mix(mixed ^
                          ((VLY_TO_U64(neuron) << 32) | VLY_TO_U64(word)));
}

/* Word number `at` of a snapshot's weights. The fields of neurons have numbers
 * below 2^32, so their hashes are other ones. */
VLY_FN VLY_U64 vly_digest_weight(VLY_U64 at, VLY_U32 word)
{
    VLY_U64 mixed = vly_digest_mix(VLY_U64_OF(1u, 0u) + (at >> 32));
    return vly_digest_mix(mixed ^ ((at << 32) | VLY_TO_U64(word)));
}

#endif
