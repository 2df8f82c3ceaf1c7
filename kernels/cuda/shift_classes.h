/* SPDX-License-Identifier: Apache-2.0
 * Shifts of weights in synapses of 32 bits, weight (16) and place (16): a class
 * of a synapse stands for a shift of class * step, and the place says which
 * class it is. The partitioned plan has a set of accumulators for each class.
 * The resident plan has one set: places of class c begin at c times the
 * accumulators, as far as 16 bits reach. What is shifted by more than its class
 * says becomes several synapses, whose weights sum to the same modulo 2^32. C
 * and CUDA C++, so that it is tested where there is no device.
 */
#ifndef VOLLEY_CUDA_SHIFT_CLASSES_H
#define VOLLEY_CUDA_SHIFT_CLASSES_H

#include <stdint.h>

#if defined(__CUDACC__)
#define VLY_SHIFT_FN static __host__ __device__ __forceinline__
#else
#define VLY_SHIFT_FN static inline
#endif

#define VLY_SHIFT_PLACES 65536u
#define VLY_SHIFT_WORD 32767 /* magnitude of a weight at most */

/* The class of a synapse in the resident plan. later: bursts after the next
 * one; max_delay bursts of slice accumulators. */
VLY_SHIFT_FN uint32_t vly_shift_class(uint32_t shift, uint32_t step,
                                      uint32_t later, uint32_t max_delay,
                                      uint32_t slice)
{
    uint32_t c = step != 0 ? shift / step : 0;
    while (c > 0 &&
           ((uint64_t)c * max_delay + later + 1) * slice > VLY_SHIFT_PLACES)
        c--;
    return c;
}

/* Number of synapses that stand for a weight with `rest` more bits of shift
 * than its class has; 0 for a weight of 0. */
VLY_SHIFT_FN uint32_t vly_shift_words(int32_t weight, uint32_t rest)
{
    const uint32_t size = (uint32_t)(weight < 0 ? -weight : weight) << rest;
    return rest == 0 ? weight != 0
                     : (size + VLY_SHIFT_WORD - 1) / VLY_SHIFT_WORD;
}

/* The weight of number i of them. */
VLY_SHIFT_FN int32_t vly_shift_word(int32_t weight, uint32_t rest, uint32_t i)
{
    const int32_t size = (weight < 0 ? -weight : weight) * (1 << rest);
    const int32_t left = size - (int32_t)i * VLY_SHIFT_WORD;
    const int32_t part = left < VLY_SHIFT_WORD ? left : VLY_SHIFT_WORD;
    if (rest == 0)
        return weight;
    return weight < 0 ? -part : part;
}

#endif
