/* SPDX-License-Identifier: Apache-2.0
 * The synapses of the resident plan, by block and source.
 */
#ifndef VOLLEY_CUDA_SEGMENTS_H
#define VOLLEY_CUDA_SEGMENTS_H

#include "cuda_base.h"

/* Makes segments from the groups, which are kept. *is_made: 0 if padding would
 * take too much memory, unless forced. After a failure or with *is_made 0,
 * release frees the data. */
vly_status vly_cuda_segments_create(vly_cuda_shard *shard, uint32_t forced,
                                    uint32_t *is_made, vly_error *error);
void vly_cuda_segments_release(vly_cuda_shard *shard);

#endif
