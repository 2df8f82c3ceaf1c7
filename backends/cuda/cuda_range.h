/* SPDX-License-Identifier: Apache-2.0
 * Ranges that a profiler shows (NVTX).
 */
#ifndef VOLLEY_CUDA_RANGE_H
#define VOLLEY_CUDA_RANGE_H

void vly_cuda_range_begin(const char *name); /* a literal */
void vly_cuda_range_end(void);

#endif
