/* SPDX-License-Identifier: Apache-2.0
 * Numbers of the models of kernels/models, and the most that one has.
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

#endif
