/* SPDX-License-Identifier: Apache-2.0
 * What the model tables of kernels/models say, as a backend needs it.
 */
#ifndef VOLLEY_CUDA_MODELS_H
#define VOLLEY_CUDA_MODELS_H

#include <stdint.h>

#include "kernels/cuda/cuda_kernels.h"

typedef struct vly_cuda_model {
    const char *id;
    const char *text; /* of the table: what its hash is over */
    uint32_t index;   /* VLY_CUDA_MODEL_id */
    uint32_t flags;   /* VLY_AREA_FEAGI or 0 */
    uint32_t n_ports;
    uint32_t n_fields;
    uint32_t n_coefs;
} vly_cuda_model;

/* NULL if there is no such model */
const vly_cuda_model *vly_cuda_model_find(const char *id);
uint64_t vly_cuda_model_hash(const vly_cuda_model *model);

#endif
