/* SPDX-License-Identifier: Apache-2.0
 * Which products the kernels for few rows can compute, and in which shapes.
 * Plain C: a test on the host looks at it too.
 */
#include "gemm_kernels.h"

/* A shape is how many warps divide a row and how much of it a warp has under
 * way: the same 32 KB a block, so that which is fastest is a matter of latency
 * and of how the rows divide among the multiprocessors. fp32 has 2 rows a
 * block. */
const vly_cuda_gemv_shape vly_cuda_gemv_shapes[VLY_CUDA_GEMV_SHAPES] = {
    {"gemv_8x4", 8, 4, 16}, {"gemv_4x8", 4, 8, 16}, {"gemv_16x2", 16, 2, 16},
    {"flow", 4, 4, 32},     {"lines", 16, 2, 16},
};

enum { MOST_BATCH = 65535, VECTOR_BYTES = 16 };

static uint64_t bits_of(uint32_t type)
{
    return type == VLY_CUDA_F32                            ? 32
           : type == VLY_CUDA_F16 || type == VLY_CUDA_BF16 ? 16
           : type == VLY_CUDA_I8                           ? 8
           : type == VLY_CUDA_I4                           ? 4
                                                           : 0;
}

/* Are so many elements whole vectors? Safe against overflow. */
static int is_whole(uint64_t elements, uint64_t bits)
{
    return elements % (VECTOR_BYTES * 8 / bits) == 0;
}

static int types_fit(const vly_cuda_gemm *g)
{
    if (g->type_a == VLY_CUDA_F32)
        return g->type_b == VLY_CUDA_F32;
    return (g->type_a == VLY_CUDA_F16 || g->type_a == VLY_CUDA_BF16) &&
           (g->type_b == g->type_a || g->type_b == VLY_CUDA_I8 ||
            g->type_b == VLY_CUDA_I4);
}

int vly_cuda_gemv_fits(const vly_cuda_gemm *g, uint32_t shape, uint32_t align)
{
    if (!types_fit(g) || !g->trans_b || g->trans_a || align < VECTOR_BYTES ||
        g->m == 0 || g->n == 0 || g->k == 0 || g->batch > MOST_BATCH)
        return 0;
    if (shape >= VLY_CUDA_GEMV_FLOW &&
        (g->m > VLY_CUDA_GEMV_ROWS || g->type_a == VLY_CUDA_F32))
        return 0;
    const uint64_t a = bits_of(g->type_a), b = bits_of(g->type_b);
    /* whole pieces; scales of groups are fetched four at a time */
    if (shape == VLY_CUDA_GEMV_LINES &&
        (g->m > 1 || g->k > VLY_CUDA_GEMV_LINES_K ||
         g->k * b / 8 % VLY_CUDA_GEMV_LINES_BYTES != 0 ||
         g->ldb > UINT32_MAX / 2 ||
         (b == 4 && g->batch > 1 && g->stride_scale_b % 4 != 0)))
        return 0;
    if (!is_whole(g->k, b) || (g->m > 1 && !is_whole(g->lda, a)) ||
        (g->n > 1 && !is_whole(g->ldb, b)))
        return 0;
    if (g->batch > 1 &&
        (!is_whole(g->stride_a, a) || !is_whole(g->stride_b, b)))
        return 0;
    /* blocks, and chunks of k, are counted in 32 bits */
    return g->k <= INT32_MAX && vly_cuda_gemv_blocks(g, shape) <= INT32_MAX;
}

uint64_t vly_cuda_gemv_blocks(const vly_cuda_gemm *g, uint32_t shape)
{
    const uint64_t tile =
        g->type_a == VLY_CUDA_F32 ? 2 : vly_cuda_gemv_shapes[shape].n_rows;
    const uint64_t tiles = (g->n - 1) / tile + 1;
    const uint64_t rows =
        g->type_a == VLY_CUDA_F32 || g->m <= VLY_CUDA_GEMV_ROWS
            ? VLY_CUDA_GEMV_ROWS
        : g->m <= 2 * VLY_CUDA_GEMV_ROWS ? 2 * VLY_CUDA_GEMV_ROWS
                                         : VLY_CUDA_GEMV_MOST_ROWS;
    const uint64_t groups = (g->m - 1) / rows + 1;
    return tiles > UINT64_MAX / groups ? UINT64_MAX : tiles * groups;
}
