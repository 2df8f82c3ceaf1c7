/* SPDX-License-Identifier: Apache-2.0
 * Areas on the device: state, coefficients, tiles.
 */
#ifndef VOLLEY_CUDA_DYNAMICS_H
#define VOLLEY_CUDA_DYNAMICS_H

#include "cuda_base.h"

#include <stdbool.h>

typedef struct vly_cuda_area_info {
    uint64_t state_at;   /* index of its first word in the state */
    uint64_t column_at;  /* of its first column in vly_cuda_shard.columns */
    uint32_t *coef_room; /* [n_coefs] allocated words */
} vly_cuda_area_info;

/* Whether any area has a FEAGI model. */
bool vly_cuda_has_feagi(const vly_net_desc *desc);
/* Areas, state and coefficients. */
vly_status vly_cuda_dynamics_create(vly_cuda_shard *shard, vly_error *error);
vly_status vly_cuda_coef_write(vly_backend_net *net, uint32_t area,
                               uint32_t coef, const vly_column *column,
                               vly_error *error);

#endif
