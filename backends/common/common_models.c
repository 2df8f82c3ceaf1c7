/* SPDX-License-Identifier: Apache-2.0
 * The models a backend is built with, read from their tables.
 */
#include "backend_common.h"

#include <string.h>

#include "kernels/models/table_hash.h"

enum {
#define VLY_EACH_MODEL(id) MODEL_##id,
#include "kernels/models/models.def"
    N_MODELS
};

/* Each entry of a table becomes "+ 1" in the sum of its kind. */
static const vly_common_model models[N_MODELS] = {
#define VLY_MODEL_READ "backends/common/common_model_entry.h"
#include "kernels/models/each_model.h"
};

const vly_common_model *vly_common_model_find(const char *id)
{
    for (uint32_t i = 0; i < N_MODELS; i++)
        if (strcmp(models[i].id, id) == 0)
            return &models[i];
    return NULL;
}

uint64_t vly_common_model_hash(const vly_common_model *model)
{
    return vly_model_text_hash(model->text);
}
