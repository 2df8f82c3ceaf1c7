/* SPDX-License-Identifier: Apache-2.0
 * Projections with short-term plasticity, on a device: their rows, and the
 * states of their sources.
 */
#ifndef VOLLEY_CUDA_SHORT_TERM_H
#define VOLLEY_CUDA_SHORT_TERM_H

#include "cuda_base.h"
#include "kernels/cuda/learning_kernels.h"

/* Room for n of them. */
vly_status vly_cuda_short_term_reserve(vly_cuda_shard *shard, uint32_t n,
                                       vly_error *error);
/* The next of them. words: its part of a snapshot's weights. */
vly_status vly_cuda_short_term_create(vly_cuda_shard *shard,
                                      uint32_t projection,
                                      const uint32_t *words, vly_error *error);
/* Copies the list to the device. */
vly_status vly_cuda_short_term_put(vly_cuda_shard *shard, vly_error *error);
/* Delivers the events under way. */
vly_status vly_cuda_short_term_restore(vly_cuda_shard *shard, vly_error *error);
/* Ages must not grow beyond 31 bits. */
vly_status vly_cuda_short_term_renew(vly_cuda_shard *shard, vly_error *error);
/* The words of number i in a snapshot; returns their end by *end. */
vly_status vly_cuda_short_term_save(vly_cuda_shard *shard, uint32_t i,
                                    uint32_t *words, uint32_t **end,
                                    vly_error *error);
vly_status vly_cuda_short_term_set(vly_backend_net *net, uint32_t projection,
                                   const vly_short_term_desc *short_term,
                                   vly_error *error);

#endif
