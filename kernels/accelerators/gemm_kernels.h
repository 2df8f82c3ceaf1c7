/* SPDX-License-Identifier: Apache-2.0
 * Kernels of matrix products: launchers, for C. Everything is put into the
 * stream; nothing is allocated or waited for. Results do not depend on the
 * order in which blocks run: no float atomics.
 */
#ifndef VOLLEY_CUDA_GEMM_KERNELS_H
#define VOLLEY_CUDA_GEMM_KERNELS_H

#include <stdint.h>

#include <cuda_runtime_api.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Element types, numbered as in volley/accelerator.h. */
enum {
    VLY_CUDA_F32 = 0,
    VLY_CUDA_F16 = 1,
    VLY_CUDA_BF16 = 2,
    VLY_CUDA_E4M3 = 3,
    VLY_CUDA_I8 = 4,
    VLY_CUDA_I4 = 5,
    VLY_CUDA_I32 = 6,
};

/* Activations and scales, numbered as in volley/gemm.h. */
enum {
    VLY_CUDA_IDENTITY = 0,
    VLY_CUDA_RELU = 1,
    VLY_CUDA_RELU2 = 2,
    VLY_CUDA_GELU = 3,
};
enum {
    VLY_CUDA_SCALE_NONE = 0,
    VLY_CUDA_SCALE_SCALAR = 1,
    VLY_CUDA_SCALE_ROW = 2,
    VLY_CUDA_SCALE_BLOCK = 3,
    VLY_CUDA_SCALE_GROUP = 4,
};

/* D = f(alpha * scale(op(A) op(B)) + beta * C + bias), row-major, as in
 * volley/gemm.h; strides in elements. */
typedef struct vly_cuda_gemm {
    const void *a;
    const void *b;
    const void *c; /* not read if beta is 0 */
    void *d;
    const void *bias;    /* [n] of type_d, or NULL */
    const void *scale_a; /* fp32 */
    const void *scale_b; /* fp32, or type_a of weight-only products */
    uint64_t m, n, k;
    uint64_t lda, ldb, ldc, ldd;
    uint64_t batch;
    uint64_t stride_a, stride_b, stride_c, stride_d;
    uint64_t stride_bias, stride_scale_a, stride_scale_b;
    float alpha, beta;
    uint32_t type_a, type_b, type_d;
    uint32_t trans_a, trans_b;
    uint32_t scale_a_mode, scale_b_mode; /* VLY_CUDA_SCALE_* */
    uint32_t activation;
} vly_cuda_gemm;

/* ---- gemm_own.cu --------------------------------------------------------- */

/* Every product of the table in volley/gemm.h, any size and alignment, by tiles
 * in shared memory and fused multiply-adds: the fallback without a faster
 * kernel, and the reference of the others. k may be 0. */
cudaError_t vly_cuda_gemm_own(const vly_cuda_gemm *gemm, cudaStream_t stream);

/* ---- gemm_finish.cu ------------------------------------------------------ */

enum {
    VLY_CUDA_SUM_F32 = 0,
    VLY_CUDA_SUM_I32 = 1,
};

/* The remaining work on sums in the workspace:
 *
 * sums  [n_parts][batch][m][n] of sum_type; parts are added in their order.
 *       n_parts 0: they are 0 (alpha or k is)
 * Row and scalar scales are applied; those of blocks and groups are in them. */
cudaError_t vly_cuda_gemm_finish(const vly_cuda_gemm *gemm, const void *sums,
                                 uint32_t n_parts, uint32_t sum_type,
                                 cudaStream_t stream);

/* Scales of 128-blocks in the layout of cublasLt: those of A [m][kb] become
 * [kb][m]; those of B [nb][kb] become [nb][kb rounded up to 4]. NULL: left out.
 * For devices of 9.0 and newer, as those products are. */
cudaError_t vly_cuda_gemm_pack_scales(const vly_cuda_gemm *gemm, float *scale_a,
                                      float *scale_b, cudaStream_t stream);

/* int8 weights [batch][n][k] as numbers of type_a, exactly, without their
 * scales: out [batch][n][k rounded up to 8]; where stride_b is 0 [n] only. */
cudaError_t vly_cuda_gemm_widen(const vly_cuda_gemm *gemm, void *out,
                                cudaStream_t stream);

/* ---- gemv_half.cu, gemv_flow.cu, gemv_lines.cu, gemv_full.cu ------------- */

/* Shape of a kernel for a product of few rows. */
typedef struct vly_cuda_gemv_shape {
    const char *name; /* "gemv_8x4": warps a block, KB a warp has under way */
    uint32_t n_warps;
    uint32_t n_stages;
    uint32_t n_rows; /* rows of B per block at a time */
} vly_cuda_gemv_shape;

enum {
    VLY_CUDA_GEMV_ROWS = 8,       /* rows of A for one read of B */
    VLY_CUDA_GEMV_MOST_ROWS = 32, /* the same, of 16-bit A with more */
    VLY_CUDA_GEMV_SHAPES = 5,
    VLY_CUDA_GEMV_FLOW = 3,              /* shape of gemv_flow.cu */
    VLY_CUDA_GEMV_LINES = 4,             /* shape of gemv_lines.cu */
    VLY_CUDA_GEMV_LINES_K = 16384,       /* of k it has at most */
    VLY_CUDA_GEMV_LINES_BYTES = 256,     /* a row of B is a multiple of it */
    VLY_CUDA_GEMV_LINES_SHARED = 176128, /* bytes of shared memory */
};

/* All shapes, by index; the same for all types. */
extern const vly_cuda_gemv_shape vly_cuda_gemv_shapes[VLY_CUDA_GEMV_SHAPES];

/* 1 if these kernels can compute it: B transposed, rows of A and B aligned to
 * 16 bytes, k a multiple of the elements in 16 bytes of B; those of
 * gemv_flow.cu: up to 8 rows that are not fp32; gemv_lines.cu: one, with rows
 * of B of whole pieces, where a block may have so much shared memory. */
int vly_cuda_gemv_fits(const vly_cuda_gemm *gemm, uint32_t shape,
                       uint32_t align);

/* Number of tiles of one part, for the choice of n_parts. */
uint64_t vly_cuda_gemv_blocks(const vly_cuda_gemm *gemm, uint32_t shape);

/* A product of any m, in groups of 8 (or 32) rows of which each reads B.
 *
 * n_parts  blocks that share a row, each a part of k, at least 1
 * sums     [n_parts][batch][m][n] fp32 if n_parts > 1; otherwise not used
 * After it, with n_parts > 1, vly_cuda_gemm_finish is due. Scales are applied
 * there or here. */
cudaError_t vly_cuda_gemv(const vly_cuda_gemm *gemm, uint32_t shape,
                          uint32_t n_parts, float *sums, cudaStream_t stream);

/* ---- gemm_check_device.cu --------------------------------------------------
 */

/* Random elements from a counter: floats in [-most, most), integers in their
 * whole range, scales (most 0) in [1/64, 1/32). */
cudaError_t vly_cuda_gemm_fill(void *memory, uint64_t count, uint32_t type,
                               float most, uint64_t seed, cudaStream_t stream);

/* Allowed error of an element: of_d |y| + of_x |x| + of_all, with the true
 * value y and its value x before the activation. */
typedef struct vly_cuda_allowance {
    float of_d;
    float of_x;
    float of_all;
} vly_cuda_allowance;

/* Elements of 16 bits after gelu that change if the sum is rounded to 16 bits
 * first: the number nearer to the result of one rounding, and of two. */
typedef struct vly_cuda_votes {
    uint32_t once;
    uint32_t twice;
} vly_cuda_votes;

/* *worst (one word of the device, cleared by the caller) becomes the largest
 * ratio of a difference and its bound, as the bits of a float; infinity if a
 * difference is NaN. To *votes (the same) those of the elements are added.
 *
 * gemm  d as found, beta, c, bias and activation; batch 1; the rest is not
 *       read
 * sums  [m][n] with alpha, without these additions, fp32 (D int32: int32, with
 *       all of them) */
cudaError_t vly_cuda_gemm_compare(const vly_cuda_gemm *gemm, const void *sums,
                                  vly_cuda_allowance allowed, uint32_t *worst,
                                  vly_cuda_votes *votes, cudaStream_t stream);

#ifdef __cplusplus
}
#endif
#endif
