/* SPDX-License-Identifier: Apache-2.0
 * The vector loops of one instruction set: built once with
 * VLY_ATTENTION_ISA set to scalar, avx2 and avx512 each, with the options that
 * belong to it.
 */
#include "attention_kernels.h"

#include "attention_vector.h"
#include "element.h"
#include "wkv_kernel.h"

#define NAME3(isa) vly_attention_kernels_##isa
#define NAME2(isa) NAME3(isa)
#define TEXT3(isa) #isa
#define TEXT2(isa) TEXT3(isa)

#define RWKV3(isa) vly_rwkv_loops_##isa
#define RWKV2(isa) RWKV3(isa)

/* rwkv_kernels.c */
extern const vly_rwkv_loops RWKV2(VLY_ATTENTION_ISA);

enum { COLUMNS = VLY_ATTENTION_COLUMNS, BLOCK_VECS = COLUMNS / LANES };

/* ---- product ----------------------------------------------------------- */

/* A tile of C is kept in registers: 6 rows of 4 vectors with the 32 registers
 * of AVX-512, 6 rows of 2 vectors with the 16 registers of the others. */
enum { TILE_ROWS = 6, TILE_VECS = LANES == 16 ? 4 : 2 };

INLINE void tile(const vly_attention_product *p, uint32_t row, uint32_t col,
                 const uint32_t rows, const uint32_t vecs)
{
    const float *a = p->a + (uint64_t)row * p->lda;
    const float *b = p->b + col;
    float *c = p->c + (uint64_t)row * p->ldc + col;
    vec sum[TILE_ROWS][TILE_VECS];
#pragma GCC unroll 8
    for (uint32_t i = 0; i < rows; i++)
#pragma GCC unroll 8
        for (uint32_t j = 0; j < vecs; j++)
            sum[i][j] =
                p->adds ? load(c + i * p->ldc + j * LANES) : splat(0.0f);
    for (uint32_t k = 0; k < p->n_inner; k++) {
        vec line[TILE_VECS];
#pragma GCC unroll 8
        for (uint32_t j = 0; j < vecs; j++)
            line[j] = load(b + (uint64_t)k * p->ldb + j * LANES);
#pragma GCC unroll 8
        for (uint32_t i = 0; i < rows; i++)
#pragma GCC unroll 8
            for (uint32_t j = 0; j < vecs; j++)
                sum[i][j] += a[i * p->lda + k] * line[j];
    }
#pragma GCC unroll 8
    for (uint32_t i = 0; i < rows; i++)
#pragma GCC unroll 8
        for (uint32_t j = 0; j < vecs; j++)
            store(c + i * p->ldc + j * LANES, sum[i][j]);
}

/* rows is a constant in every call, so the tile is one of 12. */
INLINE void tile_row(const vly_attention_product *p, uint32_t row,
                     const uint32_t rows)
{
    uint32_t col = 0;
    for (; col + TILE_VECS * LANES <= p->n_cols; col += TILE_VECS * LANES)
        tile(p, row, col, rows, TILE_VECS);
    for (; col < p->n_cols; col += LANES)
        tile(p, row, col, rows, 1);
}

static void product(const vly_attention_product *p)
{
    uint32_t row = 0;
    for (; row + TILE_ROWS <= p->n_rows; row += TILE_ROWS)
        tile_row(p, row, TILE_ROWS);
    switch (p->n_rows - row) {
    case 5:
        tile_row(p, row, 5);
        break;
    case 4:
        tile_row(p, row, 4);
        break;
    case 3:
        tile_row(p, row, 3);
        break;
    case 2:
        tile_row(p, row, 2);
        break;
    case 1:
        tile_row(p, row, 1);
        break;
    default:
        break;
    }
}

/* ---- loads ------------------------------------------------------------- */

static void load_row(uint32_t type, const void *from, uint32_t n, float factor,
                     float *restrict to)
{
    const uint16_t *halves = from;
    const uint8_t *bytes = from;
    const float *floats = from;
    switch (type) {
    case VLY_ELEMENT_F16:
        for (uint32_t i = 0; i < n; i++)
            to[i] = vly_f16_to_f32(halves[i]) * factor;
        break;
    case VLY_ELEMENT_BF16:
        for (uint32_t i = 0; i < n; i++)
            to[i] = vly_bf16_to_f32(halves[i]) * factor;
        break;
    case VLY_ELEMENT_E4M3:
        for (uint32_t i = 0; i < n; i++)
            to[i] = vly_e4m3_to_f32(bytes[i]) * factor;
        break;
    default:
        for (uint32_t i = 0; i < n; i++)
            to[i] = floats[i] * factor;
        break;
    }
}

/* 16 rows at a time are converted into a square that stays in L1. */
static void load_columns(uint32_t type, const void *const *rows,
                         uint32_t columns, uint32_t n, float *restrict to)
{
    enum { AT_ONCE = 16, DIM_MOST = 256 };
    float line[AT_ONCE][DIM_MOST] __attribute__((aligned(64)));
    for (uint32_t first = 0; first < columns; first += AT_ONCE) {
        uint32_t some = columns - first < AT_ONCE ? columns - first : AT_ONCE;
        for (uint32_t j = 0; j < some; j++)
            load_row(type, rows[first + j], n, 1.0f, line[j]);
        if (some < AT_ONCE) {
            for (uint32_t i = 0; i < n; i++)
                for (uint32_t j = 0; j < some; j++)
                    to[i * COLUMNS + first + j] = line[j][i];
            continue;
        }
        for (uint32_t i = 0; i < n; i++)
            for (uint32_t j = 0; j < AT_ONCE; j++)
                to[i * COLUMNS + first + j] = line[j][i];
    }
}

/* ---- rows of scores ---------------------------------------------------- */

static void softmax(float *s, uint32_t n_rows, float *most, float *sum,
                    float *factor)
{
    for (uint32_t row = 0; row < n_rows; row++) {
        float *x = s + row * COLUMNS;
        vec top = load(x);
        vec total = splat(0.0f);
        for (uint32_t j = 1; j < BLOCK_VECS; j++)
            top = larger(load(x + j * LANES), top);
        const float block = largest_of(top);
        const float now = block > most[row] ? block : most[row];
        /* no key so far: exp(-inf - 0) is the 0 that exp(-inf + inf) is not */
        const float from = now == -__builtin_inff() ? 0.0f : now;
        for (uint32_t j = 0; j < BLOCK_VECS; j++) {
            vec p = exp_of(load(x + j * LANES) - from);
            total += p;
            store(x + j * LANES, p);
        }
        factor[row] = exp_of(splat(most[row] - from))[0];
        sum[row] = sum[row] * factor[row] + sum_of(total);
        most[row] = now;
    }
}

static void scale(float *x, uint32_t n, float factor)
{
    for (uint32_t i = 0; i < n; i += LANES)
        store(x + i, load(x + i) * factor);
}

static void weigh(float *s, float *d, const float *lse, const float *delta,
                  uint32_t each)
{
    for (uint32_t i = 0; i < COLUMNS; i += LANES) {
        const vec less = each ? load(lse + i) : splat(lse[0]);
        const vec minus = each ? load(delta + i) : splat(delta[0]);
        const vec p = exp_of(load(s + i) - less);
        store(s + i, p);
        store(d + i, p * (load(d + i) - minus));
    }
}

static void exp_array(const float *x, float *y, uint32_t n)
{
    for (uint32_t i = 0; i < n; i += LANES) {
        float part[LANES] = {0};
        uint32_t some = n - i < LANES ? n - i : LANES;
        memcpy(part, x + i, some * sizeof *part);
        vec result = exp_of(load_any(part));
        store_any(part, result);
        memcpy(y + i, part, some * sizeof *part);
    }
}

const vly_attention_kernels NAME2(VLY_ATTENTION_ISA) = {
    .isa = TEXT2(VLY_ATTENTION_ISA),
    .product = product,
    .load = load_row,
    .load_columns = load_columns,
    .softmax = softmax,
    .scale = scale,
    .weigh = weigh,
    .exp = exp_array,
    .wkv = wkv_head,
    .rwkv = &RWKV2(VLY_ATTENTION_ISA),
};
