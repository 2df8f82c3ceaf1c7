/* SPDX-License-Identifier: Apache-2.0
 * fp16 and bf16 from and to fp32.
 */
#include "monitor/small_float.h"

#include "base/number.h"

enum { SINGLE_FRACTION = 23, FRACTION_GAP = 13 };

/* x >> shift, to nearest, ties to even; 0 < shift < 32 */
static uint32_t shift_nearest(uint32_t x, uint32_t shift)
{
    const uint32_t half = 1u << (shift - 1);
    const uint32_t rest = x & ((half << 1) - 1);
    const uint32_t down = x >> shift;
    return down + (rest > half || (rest == half && (down & 1)));
}

uint16_t vly_half_from_float(float x)
{
    const uint32_t bits = vly_float_bits(x);
    const uint32_t sign = bits >> 16 & 0x8000u;
    const uint32_t size = bits & 0x7fffffffu;
    if (size > 0x7f800000u)
        return (uint16_t)(sign | 0x7e00u);
    if (size >= 0x47800000u) /* 2^16 and more */
        return (uint16_t)(sign | 0x7c00u);
    if (size >= 0x38800000u) /* 2^-14: a carry goes on into the exponent */
        return (uint16_t)(sign |
                          shift_nearest(size - 0x38000000u, FRACTION_GAP));
    if (size < 0x33000000u) /* 2^-25 itself is a tie, to 0 */
        return (uint16_t)sign;
    /* in units of 2^-24: the fraction with its leading one, shifted so far */
    const uint32_t exponent = size >> SINGLE_FRACTION;
    const uint32_t fraction = (size & 0x7fffffu) | 0x800000u;
    return (uint16_t)(sign | shift_nearest(fraction, 126u - exponent));
}

uint16_t vly_bfloat_from_float(float x)
{
    const uint32_t bits = vly_float_bits(x);
    if ((bits & 0x7fffffffu) > 0x7f800000u)
        return (uint16_t)((bits >> 16 & 0x8000u) | 0x7fc0u);
    return (uint16_t)shift_nearest(bits, 16);
}
