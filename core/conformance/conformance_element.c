/* SPDX-License-Identifier: Apache-2.0
 * Element types by arithmetic on their fields, in double. The code is simple on
 * purpose: a value is a mantissa times a power of two, and rounding is
 * nearbyint of an exact quotient by a power of two.
 */
#include "conformance/conformance_element.h"

#include <math.h>
#include <pthread.h>
#include <stdbool.h>
#include <string.h>

typedef struct layout {
    int exponent_bits; /* 0: an integer */
    int mantissa_bits;
    bool has_inf;
} layout;

/* 2^e for -1022 <= e <= 1023: fields again, since ldexp is slow. */
static double power_of_2(int e)
{
    const uint64_t bits = (uint64_t)(e + 1023) << 52;
    double x;
    memcpy(&x, &bits, sizeof x);
    return x;
}

static layout layout_of(uint32_t type)
{
    switch (type) {
    case VLY_ELEMENT_F16:
        return (layout){5, 10, true};
    case VLY_ELEMENT_BF16:
        return (layout){8, 7, true};
    case VLY_ELEMENT_E4M3:
        return (layout){4, 3, false};
    case VLY_ELEMENT_F32:
        return (layout){8, 23, true};
    case VLY_ELEMENT_F64:
        return (layout){11, 52, true};
    default:
        return (layout){0, 0, false};
    }
}

uint32_t conformance_element_bits(uint32_t type)
{
#define ELEMENT_BITS(name, value, bits, text)                                  \
    if (type == (value))                                                       \
        return (bits);
    VLY_ELEMENT_TABLE(ELEMENT_BITS)
#undef ELEMENT_BITS
    return 0;
}

const char *conformance_element_name(uint32_t type)
{
#define ELEMENT_TEXT(name, value, bits, text)                                  \
    if (type == (value))                                                       \
        return (text);
    VLY_ELEMENT_TABLE(ELEMENT_TEXT)
#undef ELEMENT_TEXT
    return "?";
}

double conformance_element_roundoff(uint32_t type)
{
    layout l = layout_of(type);
    return l.exponent_bits > 0 ? power_of_2(-l.mantissa_bits - 1) : 1.0;
}

static int bias_of(layout l)
{
    return (1 << (l.exponent_bits - 1)) - 1;
}

double conformance_element_least(uint32_t type)
{
    layout l = layout_of(type);
    if (type == VLY_ELEMENT_F64) /* not a normal number */
        return 0x1p-1074;
    return l.exponent_bits > 0 ? power_of_2(1 - bias_of(l) - l.mantissa_bits)
                               : 1.0;
}

static double decode_whole(uint32_t n_bits, uint64_t bits)
{
    const double range = ldexp(1.0, (int)n_bits);
    const double value = (double)bits;
    return value >= range / 2 ? value - range : value;
}

double conformance_decode(uint32_t type, uint64_t bits)
{
    const layout l = layout_of(type);
    const uint32_t n_bits = conformance_element_bits(type);
    if (type == VLY_ELEMENT_F64) {
        double x;
        memcpy(&x, &bits, sizeof x);
        return x;
    }
    if (l.exponent_bits == 0)
        return decode_whole(n_bits, bits);
    const uint64_t one = 1;
    const uint64_t mantissa = bits & ((one << l.mantissa_bits) - 1);
    const int top = (1 << l.exponent_bits) - 1;
    const int exponent = (int)(bits >> l.mantissa_bits) & top;
    const double sign = bits >> (n_bits - 1) & 1 ? -1.0 : 1.0;
    const uint64_t full = (one << l.mantissa_bits) - 1;
    if (exponent == top && l.has_inf)
        return mantissa != 0 ? NAN : sign * INFINITY;
    if (exponent == top && mantissa == full)
        return NAN;
    if (exponent == 0)
        return sign * ldexp((double)mantissa, 1 - bias_of(l) - l.mantissa_bits);
    return sign * ldexp((double)(mantissa + full + 1),
                        exponent - bias_of(l) - l.mantissa_bits);
}

static uint64_t encode_whole(uint32_t n_bits, double x)
{
    const double half = power_of_2((int)n_bits - 1);
    double value = isnan(x) ? 0.0 : nearbyint(x);
    value = value < -half ? -half : value;
    value = value > half - 1 ? half - 1 : value;
    return (uint64_t)(int64_t)value & (((uint64_t)1 << n_bits) - 1);
}

/* The largest finite value of a type with these fields. */
static double largest(layout l)
{
    const int top = (1 << l.exponent_bits) - 1 - l.has_inf;
    const double mantissa = power_of_2(l.mantissa_bits + 1) -
                            (l.has_inf ? 1.0 : 2.0); /* fp8: all ones is NaN */
    return mantissa * power_of_2(top - bias_of(l) - l.mantissa_bits);
}

uint64_t conformance_encode(uint32_t type, double x)
{
    const layout l = layout_of(type);
    const uint32_t n_bits = conformance_element_bits(type);
    uint64_t bits = 0;
    if (type == VLY_ELEMENT_F64) {
        memcpy(&bits, &x, sizeof bits);
        return bits;
    }
    if (l.exponent_bits == 0)
        return encode_whole(n_bits, x);
    const uint64_t one = 1;
    const uint64_t sign = signbit(x) ? one << (n_bits - 1) : 0;
    const uint64_t inf = (((one << l.exponent_bits) - 1) << l.mantissa_bits);
    if (isnan(x))
        return sign | (l.has_inf ? inf | one << (l.mantissa_bits - 1)
                                 : (one << (n_bits - 1)) - 1);
    int exponent = 1 - bias_of(l); /* of subnormals and the first normals */
    if (fabs(x) >= power_of_2(exponent))
        exponent = ilogb(isinf(x) ? largest(l) : x);
    double units = nearbyint(
        ldexp(fabs(isinf(x) ? largest(l) : x), l.mantissa_bits - exponent));
    double value = ldexp(units, exponent - l.mantissa_bits);
    if (value > largest(l) || isinf(x)) {
        if (l.has_inf)
            return sign | inf;
        value = largest(l);
        exponent = ilogb(value);
        units = ldexp(value, l.mantissa_bits - exponent);
    }
    /* a carry to the next power of two is one in the exponent's field */
    bits = (uint64_t)units;
    bits += (uint64_t)(exponent + bias_of(l) - 1) << l.mantissa_bits;
    return sign | bits;
}

/* Values of all bit patterns of the small types, computed once. */
static double small_floats[3][1 << 16];
static pthread_once_t tables_made = PTHREAD_ONCE_INIT;

static void make_tables(void)
{
    for (uint32_t bits = 0; bits < 1u << 16; bits++) {
        small_floats[0][bits] = conformance_decode(VLY_ELEMENT_F16, bits);
        small_floats[1][bits] = conformance_decode(VLY_ELEMENT_BF16, bits);
        small_floats[2][bits] =
            conformance_decode(VLY_ELEMENT_E4M3, bits & 0xffu);
    }
}

double conformance_element_get(uint32_t type, const void *array, uint64_t index)
{
    const uint32_t n_bits = conformance_element_bits(type);
    const unsigned char *bytes = array;
    uint64_t bits = 0;
    if (n_bits == 4) {
        bits = (uint64_t)bytes[index / 2] >> (index % 2 * 4) & 15u;
        return conformance_decode(type, bits);
    }
    /* little endian, as everything of this engine is */
    memcpy(&bits, bytes + index * (n_bits / 8), n_bits / 8);
    if (type == VLY_ELEMENT_F32) { /* the processor's own format */
        const uint32_t word = (uint32_t)bits;
        float x;
        memcpy(&x, &word, sizeof x);
        return (double)x;
    }
    if (type != VLY_ELEMENT_F16 && type != VLY_ELEMENT_BF16 &&
        type != VLY_ELEMENT_E4M3)
        return conformance_decode(type, bits);
    pthread_once(&tables_made, make_tables);
    return small_floats[type - VLY_ELEMENT_F16][bits];
}

void conformance_element_set(uint32_t type, void *array, uint64_t index,
                             double x)
{
    const uint32_t n_bits = conformance_element_bits(type);
    const uint64_t bits = conformance_encode(type, x);
    unsigned char *bytes = array;
    if (n_bits == 4) {
        const uint32_t shift = (uint32_t)(index % 2 * 4);
        const uint32_t kept = bytes[index / 2] & ~(15u << shift);
        bytes[index / 2] = (unsigned char)(kept | (uint32_t)bits << shift);
        return;
    }
    memcpy(bytes + index * (n_bits / 8), &bits, n_bits / 8);
}
