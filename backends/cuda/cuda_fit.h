/* SPDX-License-Identifier: Apache-2.0
 * Decides whether a net fits the partitioned plan.
 */
#ifndef VOLLEY_CUDA_FIT_H
#define VOLLEY_CUDA_FIT_H

#include "cuda_base.h"

/* Chooses slices and clusters of the partitioned plan, on at most `limit`
 * blocks; cluster and unit are used if not 0. *why: NULL if the net fits,
 * otherwise the reason. */
vly_status vly_cuda_partition_fit(vly_cuda_shard *shard, uint32_t cluster,
                                  uint32_t unit, uint32_t limit,
                                  const char **why, vly_error *error);

/* Clusters of so many blocks that run at once, of the kernel of a span if the
 * net is one: a cudaError_t, as vly_cuda_partition_clusters. */
int vly_cuda_partition_count(const vly_cuda_shard *shard,
                             const vly_cuda_partition *partition,
                             uint64_t bytes, uint32_t *n_clusters);
/* The slices of this shard among those of all. */
void vly_cuda_partition_own(vly_cuda_shard *shard);

/* Why neither this plan nor plan resident runs models of so many ports or so
 * many areas; NULL: they do. */
const char *vly_cuda_fit_shape(const vly_cuda_view *view);

#endif
