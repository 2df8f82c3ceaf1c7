/* SPDX-License-Identifier: Apache-2.0
 * Numbers of the models of kernels/models, and the most that one has.
 */
#ifndef VOLLEY_CPU_MODELS_H
#define VOLLEY_CPU_MODELS_H

#include <stdint.h>

#include "kernels/models/model_lists.h"

#define VLY_CPU_MAX_FIELDS VLY_MODELS_MAX_FIELDS
#define VLY_CPU_MAX_COEFS VLY_MODELS_MAX_COEFS

enum {
#define VLY_EACH_MODEL(id) VLY_CPU_MODEL_##id,
#include "kernels/models/models.def"
    VLY_CPU_N_MODELS
};

#endif
