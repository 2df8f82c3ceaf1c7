/* SPDX-License-Identifier: Apache-2.0
 * fp16 and bf16 (IEEE 754 binary16, the upper half of binary32) from and to
 * fp32, by integers: the same bits on every machine, nearest even.
 */
#ifndef VOLLEY_MONITOR_SMALL_FLOAT_H
#define VOLLEY_MONITOR_SMALL_FLOAT_H

#include <stdint.h>
#include <string.h>

/* Exact; NaN stays NaN. Inline: billions of weights pass here. */
static inline float vly_float_from_bfloat(uint16_t bits)
{
    const uint32_t word = (uint32_t)bits << 16;
    float x;
    memcpy(&x, &word, sizeof x);
    return x;
}

/* Masks, since gcc makes a branch of a selection beside float arithmetic, and
 * vectors only of loops without one. */
static inline float vly_float_from_half(uint16_t bits)
{
    const uint32_t size = (uint32_t)(bits & 0x7fffu) << 13;
    const uint32_t is_special = 0u - ((size + 0x70800000u) >> 31);
    const uint32_t is_small = 0u - ((size - 0x00800000u) >> 31);
    /* a subnormal as 2^-14 more than it is, less 2^-14, which is exact */
    const uint32_t more = size + 0x38800000u;
    uint32_t word;
    float x;
    memcpy(&x, &more, sizeof x);
    x -= 0x1p-14f;
    memcpy(&word, &x, sizeof word);
    /* bias 127 for 15, and once more for infinity and NaN */
    word = (word & is_small) |
           ((size + 0x38000000u + (is_special & 0x38000000u)) & ~is_small);
    word |= (uint32_t)(bits & 0x8000u) << 16;
    memcpy(&x, &word, sizeof x);
    return x;
}

/* Ties to even; what is too large becomes infinite, NaN a quiet one. */
uint16_t vly_half_from_float(float x);
uint16_t vly_bfloat_from_float(float x);

#endif
