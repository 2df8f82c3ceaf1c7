/* SPDX-License-Identifier: Apache-2.0
 * Included by every file of the CUDA backend: the interface of plugins, the
 * kernels, and names for functions that all backends share.
 */
#ifndef VOLLEY_CUDA_BASE_H
#define VOLLEY_CUDA_BASE_H

#include <volley/plugin.h>

#include "backends/common/backend_common.h"
#include "kernels/cuda/linger_kernels.h"

/* Functions that all backends share, under the names of this backend. */
#define vly_cuda_host vly_support_host
#define vly_cuda_fail vly_support_fail
#define vly_cuda_area_desc vly_common_area_desc
#define vly_cuda_projection_desc vly_common_projection_desc
#define vly_cuda_stimulus_desc vly_common_stimulus_desc
#define vly_cuda_area_of vly_common_area_of
#define vly_cuda_run_areas vly_common_run_areas

/* The part of a net on one device: cuda_shard.h */
typedef struct vly_cuda_shard vly_cuda_shard;

#endif
