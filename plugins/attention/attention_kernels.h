/* SPDX-License-Identifier: Apache-2.0
 * The vector loops of attention and of the recurrence, compiled once for each
 * instruction set. Arrays are apart, aligned to 64 bytes unless said otherwise.
 * Results are held to a bound, not to bits: sums of products may be fused, so
 * they differ between instruction sets, never between thread counts.
 */
#ifndef VOLLEY_ATTENTION_KERNELS_H
#define VOLLEY_ATTENTION_KERNELS_H

#include <stdint.h>

#include "rwkv_loops.h"

/* Columns of a block: keys of scores, queries of their transpose. */
#define VLY_ATTENTION_COLUMNS 64u

/* C = A B or C += A B, row-major. Every row of A has n_inner elements at
 * a[row * lda]; B is [n_inner][n_cols], C [n_rows][n_cols]. n_cols, ldb and ldc
 * are multiples of 16. */
typedef struct vly_attention_product {
    const float *a; /* aligned to 4 bytes */
    const float *b;
    float *c;
    uint32_t n_rows;
    uint32_t n_cols;
    uint32_t n_inner;
    uint32_t lda;
    uint32_t ldb;
    uint32_t ldc;
    uint32_t adds; /* 1: adds to C */
    uint32_t reserved;
} vly_attention_product;

/* One head of one sequence of the recurrence. Tokens are `stride` elements
 * apart; the state is [64][64] fp32, read and written. */
typedef struct vly_wkv_head {
    uint32_t type;
    uint32_t n_tokens;
    uint64_t stride;
    const void *r; /* of the first token, aligned to its elements */
    const void *w;
    const void *k;
    const void *v;
    const void *a;
    const void *b;
    void *y;
    float *state; /* aligned to 4 bytes */
} vly_wkv_head;

typedef struct vly_attention_kernels {
    const char *isa;
    void (*product)(const vly_attention_product *product);
    /* to[i] = factor * from[i], of fp32, fp16, bf16 or fp8, i < n; from is
     * aligned to its elements */
    void (*load)(uint32_t type, const void *from, uint32_t n, float factor,
                 float *to);
    /* The same of `columns` rows of n elements, transposed: to[i * 64 + column]
     */
    void (*load_columns)(uint32_t type, const void *const *rows,
                         uint32_t columns, uint32_t n, float *to);
    /* A block of scores s[n_rows][64], -inf where masked, becomes exp(s - m)
     * with the largest score m of all blocks so far. most and sum of each row
     * are updated; factor is the factor for earlier sums of the row. */
    void (*softmax)(float *s, uint32_t n_rows, float *most, float *sum,
                    float *factor);
    /* x[i] *= factor, i < n, n a multiple of 16 */
    void (*scale)(float *x, uint32_t n, float factor);
    /* Gradients: s becomes p = exp(s - lse), d becomes p * (d - delta), both
     * [64]. lse and delta are one number, or [64] with each = 1. */
    void (*weigh)(float *s, float *d, const float *lse, const float *delta,
                  uint32_t each);
    /* y[i] = exp(x[i]), any n, for tests; within 2^-22 of the true value,
     * relative; 0 below -87.3, infinite above 88.3 */
    void (*exp)(const float *x, float *y, uint32_t n);
    void (*wkv)(const vly_wkv_head *head);
    const vly_rwkv_loops *rwkv; /* the same instruction set */
} vly_attention_kernels;

extern const vly_attention_kernels vly_attention_kernels_scalar;
#if defined(VLY_ATTENTION_X86)
extern const vly_attention_kernels vly_attention_kernels_avx2;
extern const vly_attention_kernels vly_attention_kernels_avx512;
#endif

/* The best instruction set of this processor. */
const vly_attention_kernels *vly_attention_kernels_best(void);
/* By name; NULL: unknown, or the processor does not have it. */
const vly_attention_kernels *vly_attention_kernels_find(const char *isa);

#endif
