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

static inline float vly_float_from_half(uint16_t bits)
{
    const uint32_t sign = (uint32_t)(bits & 0x8000u) << 16;
    const uint32_t size = (uint32_t)(bits & 0x7fffu) << 13;
    uint32_t word = size + 0x38000000u; /* bias 127 for 15 */
    float x;
    if (size >= 0x0f800000u)
        word = size | 0x7f800000u; /* infinity, NaN */
    else if (size < 0x00800000u)
        word = 0x38800000u + size; /* a subnormal: 2^-14 too much */
    memcpy(&x, &word, sizeof x);
    if (size < 0x00800000u) {
        x -= 0x1p-14f; /* exact */
        memcpy(&word, &x, sizeof word);
    }
    word |= sign;
    memcpy(&x, &word, sizeof x);
    return x;
}

/* Ties to even; what is too large becomes infinite, NaN a quiet one. */
uint16_t vly_half_from_float(float x);
uint16_t vly_bfloat_from_float(float x);

#endif
