/* SPDX-License-Identifier: Apache-2.0
 * Rows by slice of the partitioned plan.
 */
#ifndef VOLLEY_CUDA_SLICES_H
#define VOLLEY_CUDA_SLICES_H

#include "cuda_base.h"

/* Makes the rows of one group from the rows by source, which are kept. */
vly_status vly_cuda_slices_create(vly_cuda_shard *shard, uint32_t group,
                                  vly_error *error);

#endif
