/* SPDX-License-Identifier: Apache-2.0
 * The loops of gemm_cpu, compiled once for each instruction set. All of them
 * give the same bits: every sum is a chain of fused multiply-adds whose order
 * does not depend on the width of vectors.
 */
#ifndef VOLLEY_GEMM_CPU_KERNELS_H
#define VOLLEY_GEMM_CPU_KERNELS_H

#include <stdbool.h>
#include <stdint.h>

enum {
    VLY_GEMM_LANES = 32,   /* partial sums of a dot product */
    VLY_GEMM_CHUNK = 1024, /* elements of a row that are converted at once;
                              so many products of int8 are exact in fp32:
                              1024 * 128 * 128 = 2^24 */
    VLY_GEMM_TILE_ROWS_MOST = 16, /* of any instruction set */
};

/* A or B of one product. "Row" is an index of m or n, whatever is contiguous
 * in memory. */
typedef struct vly_gemm_operand {
    const void *data;
    uint32_t type;
    bool along_k;   /* neighbours in memory are neighbours along k */
    uint64_t pitch; /* elements between neighbours of the other index */
    /* scales that change along k, one for 128 elements: element (row, k) is
     * multiplied by scale[row / scale_rows * scale_pitch + k / 128] */
    const void *scale; /* NULL: none */
    uint32_t scale_type;
    uint32_t scale_rows;
    uint64_t scale_pitch;
} vly_gemm_operand;

typedef struct vly_gemm_kernels {
    const char *isa;
    const char *text; /* for people */
    uint32_t rows;    /* of the tile that multiply keeps in registers */
    uint32_t cols;
    /* Elements [k, k + n) of a row of an operand that is along k. */
    void (*load)(const vly_gemm_operand *operand, uint64_t row, uint64_t k,
                 float *to, uint64_t n);
    /* Elements [row, row + n) at one k of an operand that is not. */
    void (*load_across)(const vly_gemm_operand *operand, uint64_t k,
                        uint64_t row, float *to, uint64_t n);
    /* Rows [row, row + n_rows), k [k, k + n_k) as panels [n_k][width]; rows
     * that are missing in the last panel are 0. */
    void (*pack)(const vly_gemm_operand *operand, uint64_t row, uint64_t n_rows,
                 uint64_t k, uint64_t n_k, uint32_t width, float *to);
    /* sums[rows][cols], `pitch` apart, += the products of two panels, k
     * ascending: each sum is fma(a, b, sum). */
    void (*multiply)(uint64_t n_k, const float *a, const float *b, float *sums,
                     uint64_t pitch);
    /* lanes[i % LANES] = fma(x[i], y[i], lanes[i % LANES]), i ascending */
    void (*dot)(const float *x, const float *y, uint64_t n,
                float lanes[VLY_GEMM_LANES]);
    /* sums[i] = fma(x, y[i], sums[i]) */
    void (*axpy)(float x, const float *y, float *sums, uint64_t n);
} vly_gemm_kernels;

extern const vly_gemm_kernels vly_gemm_kernels_scalar;
extern const vly_gemm_kernels vly_gemm_kernels_avx2;
extern const vly_gemm_kernels vly_gemm_kernels_avx512;

#endif
