/* SPDX-License-Identifier: Apache-2.0
 * Two sums of 16 bits in a word of 32, for nets in which provably no sum
 * exceeds 16 bits: then the partitioned plan keeps twice as many accumulators
 * in shared memory. C and CUDA C++, so that it can be tested without a device.
 *
 * A weight is divided by the common divisor of all weights of its target's
 * area. Additions to the low half may carry into the high half; reading both,
 * low half first, corrects this. In any order of additions the final word is
 * low + high * 2^16 modulo 2^32, and so is the sum of several such words.
 */
#ifndef VOLLEY_CUDA_NARROW_SUMS_H
#define VOLLEY_CUDA_NARROW_SUMS_H

#include <stdint.h>

#if defined(__CUDACC__)
#define VLY_NARROW_FN static __host__ __device__ __forceinline__
#else
#define VLY_NARROW_FN static inline
#endif

#define VLY_NARROW_MOST 32767u /* of the magnitude of a sum, divided */
#define VLY_NARROW_PAIR 64u    /* places in 32 adjacent words */
/* A synapse has a place of 17 bits and a weight of 15, divided: on two H100 a
 * slice of 4 M neurons has 66,667 places in clusters of four blocks. */
#define VLY_NARROW_BITS 17u
#define VLY_NARROW_PLACES (1u << VLY_NARROW_BITS) /* of a slice */
#define VLY_NARROW_WEIGHT 16383u /* greatest magnitude of a weight, divided */

/* Place of neuron i of a tile: a lane with neurons i and i + 32 has both in one
 * word, and the words of 32 lanes are adjacent. */
VLY_NARROW_FN uint32_t vly_narrow_place(uint32_t i)
{
    return (i & ~(VLY_NARROW_PAIR - 1)) | (i & 31u) << 1 | (i >> 5 & 1u);
}

/* A synapse: the divided weight in its high bits, and the place, whose word is
 * number place / 2 of the slice's. */
VLY_NARROW_FN uint32_t vly_narrow_synapse(int32_t weight, uint32_t place)
{
    return (uint32_t)weight << VLY_NARROW_BITS | place;
}

/* Bytes from the slice's first word to that of a synapse. */
VLY_NARROW_FN uint32_t vly_narrow_offset(uint32_t synapse)
{
    return (synapse & (VLY_NARROW_PLACES - 2)) << 1;
}

/* The value that a synapse adds to its word: the shift is 16 where the place is
 * odd. */
VLY_NARROW_FN uint32_t vly_narrow_event(uint32_t synapse)
{
    const uint32_t weight = (uint32_t)((int32_t)synapse >> VLY_NARROW_BITS);
#if defined(__CUDA_ARCH__)
    return __funnelshift_l(0u, weight, synapse << 4); /* by its low 5 bits */
#else
    return weight << (synapse << 4 & 31u);
#endif
}

/* The sum of an even place, and that of the odd one after it. */
VLY_NARROW_FN int32_t vly_narrow_low(uint32_t word)
{
    return (int32_t)(word << 16) >> 16;
}

VLY_NARROW_FN int32_t vly_narrow_high(uint32_t word)
{
    return (int32_t)(word - (uint32_t)vly_narrow_low(word)) >> 16;
}

/* The greatest divisor of both; 0: of nothing so far. */
VLY_NARROW_FN uint32_t vly_narrow_divisor(uint32_t a, uint32_t b)
{
    while (b != 0) {
        const uint32_t rest = a % b;
        a = b;
        b = rest;
    }
    return a;
}

/* Whether no sum of any subset of the weights exceeds 16 bits: load is the sum
 * of their magnitudes, which are all multiples of divisor. */
VLY_NARROW_FN int vly_narrow_fits(uint32_t load, uint32_t divisor)
{
    return divisor == 0 ? load == 0 : load / divisor <= VLY_NARROW_MOST;
}

/* Whether a weight of this magnitude fits into a synapse. */
VLY_NARROW_FN int vly_narrow_holds(uint32_t magnitude, uint32_t divisor)
{
    return divisor == 0 || magnitude / divisor <= VLY_NARROW_WEIGHT;
}

#endif
