/* SPDX-License-Identifier: Apache-2.0
 * The loops of volley.rwkv/1 for one instruction set: built once with
 * VLY_ATTENTION_ISA set to scalar, avx2 and avx512 each.
 */
#include "attention_kernels.h"
#include "rwkv_loops.h"
#include "rwkv_vector.h"

#include <volley/rwkv.h>

#define NAME3(isa) vly_rwkv_loops_##isa
#define NAME2(isa) NAME3(isa)

enum { PANEL = VLY_RWKV_PANEL, GROUP = VLY_RWKV_GROUP, DIM = VLY_RWKV_DIM };

/* ---- products ---------------------------------------------------------- */

/* Sums in registers: 4 rows of x by 4 of W if there are 32 registers. */
enum { TILE_X = LANES == 16 ? 4 : 2, TILE_W = 4 };

/* Lanes after the end are 0, and add 0. */
INLINE vec load_part(const float *from, uint32_t n)
{
    float lanes[LANES] = {0};
    memcpy(lanes, from, n * sizeof *lanes);
    return load_any(lanes);
}

/* The last weights of a row: memory after them may not exist. */
INLINE vec weights_part(const uint32_t type, const void *w, uint64_t at,
                        uint32_t n)
{
    float lanes[LANES] = {0};
    for (uint32_t i = 0; i < n; i++) {
        if (type == VLY_ELEMENT_F16)
            lanes[i] = vly_f16_to_f32(((const uint16_t *)w)[at + i]);
        else if (type == VLY_ELEMENT_BF16)
            lanes[i] = vly_bf16_to_f32(((const uint16_t *)w)[at + i]);
        else if (type == VLY_ELEMENT_I8)
            lanes[i] = (float)((const int8_t *)w)[at + i];
        else
            lanes[i] = ((const float *)w)[at + i];
    }
    return load_any(lanes);
}

/* nx and nw are constants in every call. int4 rows are whole groups, so they
 * have no rest. */
INLINE void tile(const vly_rwkv_dots *d, const uint32_t type, uint32_t x,
                 uint32_t w, const uint32_t nx, const uint32_t nw)
{
    const uint32_t whole = d->k - d->k % LANES;
    const uint64_t first = (d->first + w) * d->k;
    vec sum[TILE_X][TILE_W];
#pragma GCC unroll 4
    for (uint32_t i = 0; i < nx; i++)
#pragma GCC unroll 4
        for (uint32_t j = 0; j < nw; j++)
            sum[i][j] = splat(0.0f);
    for (uint32_t at = 0; at < whole; at += LANES) {
        vec line[TILE_W];
#pragma GCC unroll 4
        for (uint32_t j = 0; j < nw; j++) {
            line[j] = load_weights(type, d->w, first + (uint64_t)j * d->k + at);
            if (type == VLY_ELEMENT_I4)
                line[j] *= d->group[(w + j) * (d->k / GROUP) + at / GROUP];
        }
#pragma GCC unroll 4
        for (uint32_t i = 0; i < nx; i++) {
            const vec value = load_any(d->x[x + i] + at);
#pragma GCC unroll 4
            for (uint32_t j = 0; j < nw; j++)
                sum[i][j] += value * line[j];
        }
    }
#pragma GCC unroll 4
    for (uint32_t i = 0; i < nx; i++)
#pragma GCC unroll 4
        for (uint32_t j = 0; j < nw; j++) {
            if (whole < d->k)
                sum[i][j] +=
                    load_part(d->x[x + i] + whole, d->k - whole) *
                    weights_part(type, d->w, first + (uint64_t)j * d->k + whole,
                                 d->k - whole);
            d->out[(x + i) * PANEL + w + j] = sum_of(sum[i][j]);
        }
}

INLINE void tile_rows(const vly_rwkv_dots *d, const uint32_t type, uint32_t x,
                      const uint32_t nx)
{
    uint32_t w = 0;
    for (; w + TILE_W <= d->n_w; w += TILE_W)
        tile(d, type, x, w, nx, TILE_W);
    for (; w < d->n_w; w++)
        tile(d, type, x, w, nx, 1);
}

/* Several rows of x at once are possible for fp32 weights only; for other types
 * rows come one by one, because a caller with many rows unpacks a panel
 * first. */
static void dots(const vly_rwkv_dots *d)
{
    uint32_t x = 0;
    if (d->type == VLY_ELEMENT_F32)
        for (; x + TILE_X <= d->n_x; x += TILE_X)
            tile_rows(d, VLY_ELEMENT_F32, x, TILE_X);
    for (; x < d->n_x; x++)
        switch (d->type) {
        case VLY_ELEMENT_F16:
            tile_rows(d, VLY_ELEMENT_F16, x, 1);
            break;
        case VLY_ELEMENT_BF16:
            tile_rows(d, VLY_ELEMENT_BF16, x, 1);
            break;
        case VLY_ELEMENT_I8:
            tile_rows(d, VLY_ELEMENT_I8, x, 1);
            break;
        case VLY_ELEMENT_I4:
            tile_rows(d, VLY_ELEMENT_I4, x, 1);
            break;
        default:
            tile_rows(d, VLY_ELEMENT_F32, x, 1);
            break;
        }
}

INLINE void unpack_type(const uint32_t type, const void *w, uint64_t at,
                        uint32_t n, const float *group, float *to)
{
    const uint32_t whole = n - n % LANES;
    for (uint32_t i = 0; i < whole; i += LANES) {
        vec line = load_weights(type, w, at + i);
        if (type == VLY_ELEMENT_I4)
            line *= group[i / GROUP];
        store_any(to + i, line);
    }
    if (whole < n) {
        const vec rest = weights_part(type, w, at + whole, n - whole);
        memcpy(to + whole, &rest, (n - whole) * sizeof *to);
    }
}

static void unpack(uint32_t type, const void *w, uint64_t at, uint32_t n,
                   const float *group, float *to)
{
    switch (type) {
    case VLY_ELEMENT_F16:
        unpack_type(VLY_ELEMENT_F16, w, at, n, group, to);
        break;
    case VLY_ELEMENT_BF16:
        unpack_type(VLY_ELEMENT_BF16, w, at, n, group, to);
        break;
    case VLY_ELEMENT_I8:
        unpack_type(VLY_ELEMENT_I8, w, at, n, group, to);
        break;
    case VLY_ELEMENT_I4:
        unpack_type(VLY_ELEMENT_I4, w, at, n, group, to);
        break;
    default:
        memcpy(to, (const float *)w + at, n * sizeof *to);
        break;
    }
}

/* ---- rows -------------------------------------------------------------- */

static void save(uint32_t type, const float *from, uint32_t n, void *to)
{
    uint16_t *halves = to;
    switch (type) {
    case VLY_ELEMENT_F16:
        for (uint32_t i = 0; i < n; i++)
            halves[i] = vly_f16_from_f32(from[i]);
        break;
    case VLY_ELEMENT_BF16:
        for (uint32_t i = 0; i < n; i++)
            halves[i] = vly_bf16_from_f32(from[i]);
        break;
    default:
        memcpy(to, from, n * sizeof *from);
        break;
    }
}

static void activate(uint32_t activation, float *y, uint32_t n)
{
    for (uint32_t i = 0; i < n; i += LANES) {
        vec x = load_any(y + i);
        if (activation == VLY_RWKV_RELU2) {
            x = choose(x < 0.0f, splat(0.0f), x);
            x = x * x;
        } else if (activation == VLY_RWKV_TANH) {
            x = tanh_of(x);
        } else if (activation == VLY_RWKV_SIGMOID) {
            x = sigmoid_of(x);
        }
        store_any(y + i, x);
    }
}

static void norm(const float *x, uint32_t n, float eps, const float *weight,
                 const float *bias, float *y)
{
    vec sum = splat(0.0f);
    vec squares = splat(0.0f);
    for (uint32_t i = 0; i < n; i += LANES)
        sum += load_any(x + i);
    const float mean = sum_of(sum) / (float)n;
    for (uint32_t i = 0; i < n; i += LANES) {
        const vec away = load_any(x + i) - mean;
        squares += away * away;
    }
    const float scale =
        1.0f / __builtin_sqrtf(sum_of(squares) / (float)n + eps);
    for (uint32_t i = 0; i < n; i += LANES)
        store_any(y + i,
                  (load_any(x + i) - mean) * scale * load_any(weight + i) +
                      load_any(bias + i));
}

static void lerp(const float *now, const float *before, const float *mix,
                 uint32_t n, float *y)
{
    for (uint32_t i = 0; i < n; i += LANES) {
        const vec x = load_any(now + i);
        store_any(y + i, x + (load_any(before + i) - x) * load_any(mix + i));
    }
}

/* ---- heads ------------------------------------------------------------- */

static void prepare(vly_rwkv_head *h)
{
    vec squares = splat(0.0f);
    float key[DIM];
    for (uint32_t i = 0; i < DIM; i += LANES) {
        const vec kk = load_any(h->k + i) * load_any(h->k_k + i);
        store_any(key + i, kk);
        squares += kk * kk;
    }
    const float size = __builtin_sqrtf(sum_of(squares));
    const float unit = 1.0f / (size > 1e-12f ? size : 1e-12f);
    for (uint32_t i = 0; i < DIM; i += LANES) {
        const vec z = load_any(h->w + i) + load_any(h->bias_w + i);
        const vec rate =
            sigmoid_of(load_any(h->a + i) + load_any(h->bias_a + i));
        const vec kk = load_any(key + i) * unit;
        const vec v = load_any(h->v + i);
        store_any(h->w + i, -0.5f - softplus_of(-z));
        store_any(h->k + i, load_any(h->k + i) *
                                (1.0f + (rate - 1.0f) * load_any(h->k_a + i)));
        store_any(h->a + i, -kk);
        store_any(h->b + i, kk * rate);
        if (h->is_first)
            continue;
        const vec share =
            sigmoid_of(load_any(h->mixed_v + i) + load_any(h->bias_v + i));
        store_any(h->v + i, v + (load_any(h->v_first + i) - v) * share);
    }
}

static void finish(vly_rwkv_head *h)
{
    vec sum = splat(0.0f);
    for (uint32_t i = 0; i < DIM; i += LANES)
        sum += load_any(h->r + i) * load_any(h->k + i) * load_any(h->r_k + i);
    const float bonus = sum_of(sum);
    norm(h->y, DIM, h->eps, h->group_weight, h->group_bias, h->y);
    for (uint32_t i = 0; i < DIM; i += LANES)
        store_any(h->y + i, (load_any(h->y + i) + bonus * load_any(h->v + i)) *
                                load_any(h->g + i));
}

extern const vly_rwkv_loops NAME2(VLY_ATTENTION_ISA);
const vly_rwkv_loops NAME2(VLY_ATTENTION_ISA) = {
    .dots = dots,
    .unpack = unpack,
    .save = save,
    .activate = activate,
    .norm = norm,
    .lerp = lerp,
    .prepare = prepare,
    .finish = finish,
};
