/* SPDX-License-Identifier: Apache-2.0
 * What the model tables of kernels/models say, as a backend needs it.
 */
#ifndef VOLLEY_CPU_MODELS_H
#define VOLLEY_CPU_MODELS_H

#include <stdint.h>

#define VLY_CPU_MAX_FIELDS 8
#define VLY_CPU_MAX_COEFS 20

enum {
#define VLY_EACH_MODEL(id) VLY_CPU_MODEL_##id,
#include "kernels/models/models.def"
    VLY_CPU_N_MODELS
};

typedef struct vly_cpu_model {
    const char *id;
    const char *text; /* of the table: what its hash is over */
    uint32_t index;   /* VLY_CPU_MODEL_id */
    uint32_t flags;   /* VLY_AREA_FEAGI or 0 */
    uint32_t n_ports;
    uint32_t n_fields;
    uint32_t n_coefs;
} vly_cpu_model;

/* NULL if there is no such model */
const vly_cpu_model *vly_cpu_model_find(const char *id);
uint64_t vly_cpu_model_hash(const vly_cpu_model *model);

#endif
