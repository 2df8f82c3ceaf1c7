/* SPDX-License-Identifier: Apache-2.0
 * Users' models as instructions: the driver compiles a kernel with the steps of
 * the net's programs in it. Where that is not possible the interpreter of plan
 * global runs them, and a warning says why.
 */
#ifndef VOLLEY_CUDA_SPLICE_H
#define VOLLEY_CUDA_SPLICE_H

#include "cuda_program.h"

/* Texts of burst_spliced.cu, with marks, from the build: with other models,
 * with programs only, with several neurons a thread, and (burst_spliced_ports)
 * with other models and more than two ports. */
extern const char vly_cuda_spliced_mixed[];
extern const char vly_cuda_spliced_only[];
extern const char vly_cuda_spliced_quads[];
extern const char vly_cuda_spliced_ports[];
/* The first three with maps that learn, in one text, and the last. */
extern const char vly_cuda_spliced_learning[];
extern const char vly_cuda_spliced_ports_learning[];
/* Of burst_spliced_resident.cu, ..._shifted.cu, ..._learners.cu,
 * ..._partition.cu and ..._span.cu: all instances of their kernels, of which
 * one is left. */
extern const char vly_cuda_spliced_resident[];
extern const char vly_cuda_spliced_shifted[];
extern const char vly_cuda_spliced_learners[];
extern const char vly_cuda_spliced_partition[];
extern const char vly_cuda_spliced_span[];

/* Makes the kernel of plan global, or logs why not. Not with option jit=0.
 * Errors  E_NOMEM */
vly_status vly_cuda_splice_global(vly_cuda_shard *shard, vly_error *error);
/* The same for the instance that plan resident launches next.
 * Errors  E_NOMEM; E_UNSUPPORTED: the driver has not compiled it */
vly_status vly_cuda_splice_resident(vly_cuda_shard *shard, vly_error *error);
/* By vly_cuda_resident_threads. */
vly_cuda_spliced vly_cuda_splice_instance(uint32_t threads);
/* The same for plan partitioned, on one device or several: the kernel is then
 * loaded on the shard's device, and no launch has to. */
vly_status vly_cuda_splice_partition(vly_cuda_shard *shard, vly_error *error);
/* After the last launch. */
void vly_cuda_splice_release(vly_cuda_shard *shard);

#endif
