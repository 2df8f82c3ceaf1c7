/* SPDX-License-Identifier: Apache-2.0
 * Arrays of elements to and from float and double.
 */
#include "element.h"

#include <math.h>

uint32_t vly_element_bits(uint32_t type)
{
    switch (type) {
#define ELEMENT_BITS(name, value, bits, text)                                  \
    case (value):                                                              \
        return (bits);
        VLY_ELEMENT_TABLE(ELEMENT_BITS)
#undef ELEMENT_BITS
    default:
        return 0;
    }
}

const char *vly_element_name(uint32_t type)
{
    switch (type) {
#define ELEMENT_TEXT(name, value, bits, text)                                  \
    case (value):                                                              \
        return (text);
        VLY_ELEMENT_TABLE(ELEMENT_TEXT)
#undef ELEMENT_TEXT
    default:
        return "?";
    }
}

/* One loop per type: the switch is outside of the loop. */
#define EACH(statement)                                                        \
    do {                                                                       \
        for (uint64_t i = 0; i < n; i++)                                       \
            statement;                                                         \
    } while (0)

void vly_element_to_f32(uint32_t type, const void *from, uint64_t first,
                        float *to, uint64_t n)
{
    const float *f32 = from;
    const uint16_t *u16 = from;
    const uint8_t *u8 = from;
    const int8_t *i8 = from;
    const int32_t *i32 = from;
    switch (type) {
    case VLY_ELEMENT_F32:
        memcpy(to, f32 + first, (size_t)n * sizeof *to);
        break;
    case VLY_ELEMENT_F16:
        EACH(to[i] = vly_f16_to_f32(u16[first + i]));
        break;
    case VLY_ELEMENT_BF16:
        EACH(to[i] = vly_bf16_to_f32(u16[first + i]));
        break;
    case VLY_ELEMENT_E4M3:
        EACH(to[i] = vly_e4m3_to_f32(u8[first + i]));
        break;
    case VLY_ELEMENT_I8:
        EACH(to[i] = (float)i8[first + i]);
        break;
    case VLY_ELEMENT_I4:
        EACH(to[i] = (float)vly_i4_get(u8, first + i));
        break;
    case VLY_ELEMENT_I32:
        EACH(to[i] = (float)i32[first + i]);
        break;
    default:
        break;
    }
}

void vly_element_to_f64(uint32_t type, const void *from, uint64_t first,
                        double *to, uint64_t n)
{
    const double *f64 = from;
    const int32_t *i32 = from;
    float x = 0.0f;
    switch (type) {
    case VLY_ELEMENT_F64:
        memcpy(to, f64 + first, (size_t)n * sizeof *to);
        break;
    case VLY_ELEMENT_I32:
        EACH(to[i] = (double)i32[first + i]);
        break;
    default:
        for (uint64_t i = 0; i < n; i++) {
            vly_element_to_f32(type, from, first + i, &x, 1);
            to[i] = (double)x;
        }
    }
}

/* The whole number nearest to x in [lo, hi], ties to even; NaN: 0 */
static int32_t whole(double x, int32_t lo, int32_t hi)
{
    if (!(x == x))
        return 0;
    if (x <= (double)lo)
        return lo;
    if (x >= (double)hi)
        return hi;
    return (int32_t)nearbyint(x);
}

void vly_element_from_f32(uint32_t type, const float *from, void *to,
                          uint64_t first, uint64_t n)
{
    float *f32 = to;
    double *f64 = to;
    uint16_t *u16 = to;
    uint8_t *u8 = to;
    int8_t *i8 = to;
    int32_t *i32 = to;
    switch (type) {
    case VLY_ELEMENT_F32:
        memcpy(f32 + first, from, (size_t)n * sizeof *from);
        break;
    case VLY_ELEMENT_F64:
        EACH(f64[first + i] = (double)from[i]);
        break;
    case VLY_ELEMENT_F16:
        EACH(u16[first + i] = vly_f16_from_f32(from[i]));
        break;
    case VLY_ELEMENT_BF16:
        EACH(u16[first + i] = vly_bf16_from_f32(from[i]));
        break;
    case VLY_ELEMENT_E4M3:
        EACH(u8[first + i] = vly_e4m3_from_f32(from[i]));
        break;
    case VLY_ELEMENT_I8:
        EACH(i8[first + i] = (int8_t)whole((double)from[i], -128, 127));
        break;
    case VLY_ELEMENT_I4:
        EACH(vly_i4_set(u8, first + i, whole((double)from[i], -8, 7)));
        break;
    case VLY_ELEMENT_I32:
        EACH(i32[first + i] = whole((double)from[i], INT32_MIN, INT32_MAX));
        break;
    default:
        break;
    }
}

void vly_element_from_f64(uint32_t type, const double *from, void *to,
                          uint64_t first, uint64_t n)
{
    float *f32 = to;
    double *f64 = to;
    int32_t *i32 = to;
    switch (type) {
    case VLY_ELEMENT_F64:
        memcpy(f64 + first, from, (size_t)n * sizeof *from);
        break;
    case VLY_ELEMENT_F32:
        EACH(f32[first + i] = (float)from[i]);
        break;
    case VLY_ELEMENT_I32:
        EACH(i32[first + i] = whole(from[i], INT32_MIN, INT32_MAX));
        break;
    case VLY_ELEMENT_I8:
    case VLY_ELEMENT_I4:
        for (uint64_t i = 0; i < n; i++) {
            const float x = (float)whole(from[i], -128, 127);
            vly_element_from_f32(type, &x, to, first + i, 1);
        }
        break;
    default:
        for (uint64_t i = 0; i < n; i++) {
            const float x = vly_f32_to_odd(from[i]);
            vly_element_from_f32(type, &x, to, first + i, 1);
        }
    }
}
