/* SPDX-License-Identifier: Apache-2.0
 * Rows of weights to fp32, fp16, bf16, int8 and int4.
 */
#include "monitor/rwkv_pack.h"

#include <string.h>

#include <volley/accelerator.h>

#include "base/number.h"
#include "monitor/small_float.h"

static uint64_t pack_small(uint32_t type, const float *x, uint64_t n,
                           uint16_t *out)
{
    const uint16_t most = type == VLY_ELEMENT_F16 ? 0x7c00u : 0x7f80u;
    for (uint64_t i = 0; i < n; i++) {
        out[i] = type == VLY_ELEMENT_F16 ? vly_half_from_float(x[i])
                                         : vly_bfloat_from_float(x[i]);
        if ((out[i] & most) == most)
            return i;
    }
    return n;
}

/* Stores scale number `at`, at least wanted; returns what it is then. If all
 * weights are 0, the scale would be 0; 1 is used instead. */
static float put_scale(uint32_t type, float wanted, void *scales, uint64_t at)
{
    uint16_t *halves = scales;
    uint16_t bits = 0;
    float back = 0.0f;
    if (wanted == 0.0f)
        wanted = 1.0f;
    if (type == VLY_ELEMENT_F32) {
        ((float *)scales)[at] = wanted;
        return wanted;
    }
    for (uint16_t up = 0; up < 2 && !(back >= wanted); up++) {
        bits = (uint16_t)((type == VLY_ELEMENT_F16
                               ? vly_half_from_float(wanted)
                               : vly_bfloat_from_float(wanted)) +
                          up);
        back = type == VLY_ELEMENT_F16 ? vly_float_from_half(bits)
                                       : vly_float_from_bfloat(bits);
    }
    halves[at] = bits;
    return back;
}

/* To nearest, ties to even, by adding 1.5 * 2^23; |x| is below 2^22. */
static int32_t nearest(float x)
{
    const float magic = 0x1.8p23f;
    const float sum = x + magic;
    return (int32_t)(sum - magic);
}

static float largest_of(const float *x, uint64_t n)
{
    float most = 0.0f;
    for (uint64_t i = 0; i < n; i++) {
        const float size = x[i] < 0.0f ? -x[i] : x[i];
        most = size > most ? size : most;
    }
    return most;
}

static int32_t cut(int32_t q, int32_t most)
{
    if (q > most)
        return most;
    return q < -most ? -most : q;
}

static uint64_t pack_i8(uint32_t type_scale, const float *x, uint64_t rows,
                        uint64_t columns, int8_t *out, void *scales)
{
    for (uint64_t r = 0; r < rows; r++) {
        const float *row = x + r * columns;
        const float scale =
            put_scale(type_scale, largest_of(row, columns) / 127.0f, scales, r);
        if (!(scale <= 0x1p126f))
            return r * columns;
        for (uint64_t c = 0; c < columns; c++)
            out[r * columns + c] = (int8_t)cut(nearest(row[c] / scale), 127);
    }
    return rows * columns;
}

static uint64_t pack_i4(uint32_t type_scale, const float *x, uint64_t n,
                        uint8_t *out, void *scales)
{
    for (uint64_t first = 0; first < n; first += RWKV_GROUP) {
        const float scale =
            put_scale(type_scale, largest_of(x + first, RWKV_GROUP) / 7.0f,
                      scales, first / RWKV_GROUP);
        if (!(scale <= 0x1p126f))
            return first;
        for (uint64_t i = first; i < first + RWKV_GROUP; i += 2) {
            const int32_t low = cut(nearest(x[i] / scale), 7);
            const int32_t high = cut(nearest(x[i + 1] / scale), 7);
            out[i / 2] =
                (uint8_t)(((uint32_t)low & 15u) | ((uint32_t)high & 15u) << 4);
        }
    }
    return n;
}

uint64_t rwkv_pack(uint32_t type, uint32_t type_scale, const float *x,
                   uint64_t n_rows, uint64_t n_columns, void *out, void *scales)
{
    const uint64_t n = n_rows * n_columns;
    switch (type) {
    case VLY_ELEMENT_F16:
    case VLY_ELEMENT_BF16:
        return pack_small(type, x, n, out);
    case VLY_ELEMENT_I8:
        return pack_i8(type_scale, x, n_rows, n_columns, out, scales);
    case VLY_ELEMENT_I4:
        return pack_i4(type_scale, x, n, out, scales);
    default:
        memcpy(out, x, (size_t)n * sizeof *x);
        return n;
    }
}
