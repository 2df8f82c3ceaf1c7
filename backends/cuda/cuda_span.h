/* SPDX-License-Identifier: Apache-2.0
 * A span: one net on several devices of this host, by the partitioned plan. Its
 * slices are numbered over all devices, and blocks exchange ids through the
 * memory of every device (kernels/cuda/partition_span.cuh). A shard has
 * descriptions, state and log of the whole net, but rows and accumulators of
 * its own slices; of its state only the neurons of its own slices are up to
 * date.
 */
#ifndef VOLLEY_CUDA_SPAN_H
#define VOLLEY_CUDA_SPAN_H

#include "cuda_net.h"

/* The reason why a net cannot run on several devices, or NULL. */
const char *vly_cuda_span_refuse(const vly_net_desc *desc,
                                 const vly_cuda_options *wanted);
/* How many of n devices are the fastest, by a prediction; 1 if no number of
 * them is faster than one. */
uint32_t vly_cuda_span_choose(const vly_net_desc *desc, uint32_t n);
/* Gives every device access to the memory of every other one.
 * Errors  E_UNSUPPORTED two of them have none */
vly_status vly_cuda_span_connect(const int32_t *devices, uint32_t n,
                                 vly_error *error);
/* After all shards have been made: tells each where the others have mail. */
void vly_cuda_span_link(vly_backend_net *net);
/* Before a launch: launches it on all devices, all of which are ready for it;
 * launches [n_shards]. The device of this thread is then the first. */
vly_status vly_cuda_span_launch(vly_backend_net *net,
                                const vly_cuda_launch *launches,
                                vly_error *error);
/* After the first shard's results have arrived: waits for the others, compares,
 * and adds their digests to the records of the first. */
vly_status vly_cuda_span_collect(vly_backend_net *net,
                                 const vly_cuda_launch *launch,
                                 vly_error *error);
/* words [count] of neurons [first, first + count), each from the shard that has
 * it. Also for a net of one shard. */
vly_status vly_cuda_span_read(vly_backend_net *net, uint32_t area,
                              uint32_t field, uint32_t first, uint32_t count,
                              uint32_t *words, vly_error *error);
/* The digest of the state, by the host. */
vly_status vly_cuda_span_digest(vly_backend_net *net, uint64_t *digest,
                                vly_error *error);

#endif
