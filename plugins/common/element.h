/* SPDX-License-Identifier: Apache-2.0
 * Element types on the host: fp16, bf16, OCP e4m3 and int4 to and from float.
 * To float is exact. From float rounds to nearest, ties to even; fp16 and bf16
 * overflow to infinity, e4m3 saturates at 448 (infinity too, as CUDA's
 * saturating conversion does); a NaN stays one.
 *
 * The functions for one element are inline and without branches, so that loops
 * over them become vector instructions; they use no subnormal floats, which a
 * process may have told its processor to flush.
 *
 * Source  IEEE 754-2019; OCP 8-bit Floating Point Specification 1.0, table 2
 */
#ifndef VOLLEY_ELEMENT_H
#define VOLLEY_ELEMENT_H

#include <stdint.h>
#include <string.h>

#include <volley/accelerator.h>

#ifdef __cplusplus
extern "C" {
#endif

static inline uint32_t vly_f32_bits(float x)
{
    uint32_t bits;
    memcpy(&bits, &x, sizeof bits);
    return bits;
}

static inline float vly_f32_from_bits(uint32_t bits)
{
    float x;
    memcpy(&x, &bits, sizeof x);
    return x;
}

/* ---- to float --------------------------------------------------------- */

static inline float vly_f16_to_f32(uint16_t h)
{
    const uint32_t sign = (uint32_t)(h & 0x8000u) << 16;
    const uint32_t body = (uint32_t)(h & 0x7fffu) << 13;
    /* biases 15 and 127; a subnormal is what lies above 2^-14 */
    const uint32_t normal = body + (112u << 23);
    const uint32_t tiny =
        vly_f32_bits(vly_f32_from_bits(body + (113u << 23)) - 0x1p-14f);
    const uint32_t special = body + (224u << 23);
    uint32_t bits = body < (1u << 23) ? tiny : normal;
    bits = body >= (31u << 23) ? special : bits;
    return vly_f32_from_bits(bits | sign);
}

static inline float vly_bf16_to_f32(uint16_t b)
{
    return vly_f32_from_bits((uint32_t)b << 16);
}

static inline float vly_e4m3_to_f32(uint8_t e)
{
    const uint32_t sign = (uint32_t)(e & 0x80u) << 24;
    const uint32_t body = (uint32_t)(e & 0x7fu) << 20;
    const uint32_t normal = body + (120u << 23);
    const uint32_t tiny =
        vly_f32_bits(vly_f32_from_bits(body + (121u << 23)) - 0x1p-6f);
    uint32_t bits = body < (1u << 23) ? tiny : normal;
    bits = (e & 0x7fu) == 0x7fu ? 0x7fc00000u : bits;
    return vly_f32_from_bits(bits | sign);
}

/* Element `index` of int4, two in a byte, the even one in the low half. */
static inline int32_t vly_i4_get(const uint8_t *bytes, uint64_t index)
{
    const uint32_t nibble =
        (uint32_t)(bytes[index / 2] >> (index % 2 * 4)) & 15u;
    return (int32_t)(nibble ^ 8u) - 8;
}

/* value is -8 to 7 */
static inline void vly_i4_set(uint8_t *bytes, uint64_t index, int32_t value)
{
    const uint32_t shift = (uint32_t)(index % 2 * 4);
    const uint32_t kept = bytes[index / 2] & ~(15u << shift);
    bytes[index / 2] = (uint8_t)(kept | ((uint32_t)value & 15u) << shift);
}

/* ---- from float ------------------------------------------------------- */

static inline uint16_t vly_f16_from_f32(float x)
{
    const uint32_t all = vly_f32_bits(x);
    const uint32_t sign = (all >> 16) & 0x8000u;
    const uint32_t bits = all & 0x7fffffffu;
    /* ties to even by adding half a unit less one, and one if odd */
    const uint32_t normal =
        (bits - (112u << 23) + 0xfffu + ((bits >> 13) & 1u)) >> 13;
    /* below 2^-14: added to 1/2, whose unit is that of the subnormals */
    const float sum = vly_f32_from_bits(bits < (113u << 23) ? bits : 0u) + 0.5f;
    const uint32_t tiny = vly_f32_bits(sum) - 0x3f000000u;
    uint32_t h = bits < (113u << 23) ? tiny : normal;
    h = bits >= 0x477ff000u ? 0x7c00u : h; /* 65520 and above */
    h = bits > 0x7f800000u ? 0x7e00u : h;
    return (uint16_t)(h | sign);
}

static inline uint16_t vly_bf16_from_f32(float x)
{
    const uint32_t bits = vly_f32_bits(x);
    const uint32_t rounded = (bits + 0x7fffu + ((bits >> 16) & 1u)) >> 16;
    const uint32_t quiet = (bits >> 16) | 0x40u;
    return (uint16_t)((bits & 0x7fffffffu) > 0x7f800000u ? quiet : rounded);
}

static inline uint8_t vly_e4m3_from_f32(float x)
{
    const uint32_t all = vly_f32_bits(x);
    const uint32_t sign = (all >> 24) & 0x80u;
    const uint32_t bits = all & 0x7fffffffu;
    const uint32_t normal =
        (bits - (120u << 23) + 0x7ffffu + ((bits >> 20) & 1u)) >> 20;
    /* below 2^-6 the unit is 2^-9, that of floats from 2^14 on */
    const float sum =
        vly_f32_from_bits(bits < (121u << 23) ? bits : 0u) + 0x1p14f;
    const uint32_t tiny = vly_f32_bits(sum) - 0x46800000u;
    uint32_t e = bits < (121u << 23) ? tiny : normal;
    e = bits > 0x43e00000u ? 0x7eu : e; /* above 448 */
    e = bits > 0x7f800000u ? 0x7fu : e;
    return (uint8_t)(e | sign);
}

/* The float that keeps what later roundings to fewer bits need: cut off
 * towards 0, its last bit set if anything was lost (round to odd; Boldo and
 * Melquiond 2008, doi:10.1109/TC.2007.70819). */
static inline float vly_f32_to_odd(double x)
{
    const float near = (float)x;
    const double back = (double)near;
    uint32_t bits = vly_f32_bits(near);
    if (back == x || x != x)
        return near;
    if (x > 0.0 ? back > x : back < x)
        bits -= 1u;
    return vly_f32_from_bits(bits | 1u);
}

/* ---- element.c: arrays ------------------------------------------------ */

/* Bits of an element, 0 if there is no such type; its name, "?" if not. */
uint32_t vly_element_bits(uint32_t type);
const char *vly_element_name(uint32_t type);

/* Convert elements [first, first + n) of an array of any type but F64 (I32 is
 * rounded). [any-thread] */
void vly_element_to_f32(uint32_t type, const void *from, uint64_t first,
                        float *to, uint64_t n);
void vly_element_to_f64(uint32_t type, const void *from, uint64_t first,
                        double *to, uint64_t n);
/* Rounded to nearest even, once. Integers saturate, NaN is 0 there. */
void vly_element_from_f32(uint32_t type, const float *from, void *to,
                          uint64_t first, uint64_t n);
void vly_element_from_f64(uint32_t type, const double *from, void *to,
                          uint64_t first, uint64_t n);

#ifdef __cplusplus
}
#endif
#endif
