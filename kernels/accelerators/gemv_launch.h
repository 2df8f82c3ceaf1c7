/* SPDX-License-Identifier: Apache-2.0
 * Between the files of the products of few rows.
 */
#ifndef VOLLEY_GEMV_LAUNCH_H
#define VOLLEY_GEMV_LAUNCH_H

#include "gemm_kernels.h"

/* gemv_half.cu: fp16 and bf16 with weights of 16, 8 or 4 bits */
cudaError_t vly_cuda_gemv_half(const vly_cuda_gemm *gemm, uint32_t shape,
                               uint32_t n_parts, float *sums,
                               cudaStream_t stream);

/* gemv_flow.cu: the same for up to 8 rows */
cudaError_t vly_cuda_gemv_flow(const vly_cuda_gemm *gemm, uint32_t n_parts,
                               float *sums, cudaStream_t stream);

/* gemv_lines.cu: one row of A, k in one part */
cudaError_t vly_cuda_gemv_lines(const vly_cuda_gemm *gemm, cudaStream_t stream);

/* Persistent blocks: as many per part as fit on the device at once (per_unit on
 * a multiprocessor), or one per tile. */
cudaError_t vly_cuda_gemv_grid(const vly_cuda_gemm *gemm, uint32_t n_tiles,
                               uint32_t n_parts, int per_unit, dim3 *grid);

#endif
