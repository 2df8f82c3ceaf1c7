/* SPDX-License-Identifier: Apache-2.0
 * Users' models as instructions: the driver compiles a kernel with the steps of
 * the net's programs in it. Where that is not possible the interpreter runs
 * them, and a warning says why.
 */
#ifndef VOLLEY_CUDA_SPLICE_H
#define VOLLEY_CUDA_SPLICE_H

#include "cuda_base.h"

/* Texts of burst_spliced.cu, with marks, from the build: with other models,
 * with programs only, with several neurons a thread, and (burst_spliced_ports)
 * with other models and more than two ports. */
extern const char vly_cuda_spliced_mixed[];
extern const char vly_cuda_spliced_only[];
extern const char vly_cuda_spliced_quads[];
extern const char vly_cuda_spliced_ports[];

/* Sets programs.kernel, or leaves NULL and logs why. Not with option jit=0.
 * Errors  E_NOMEM */
vly_status vly_cuda_splice_create(vly_cuda_shard *shard, vly_error *error);
/* After the last launch. */
void vly_cuda_splice_release(vly_cuda_shard *shard);

#endif
