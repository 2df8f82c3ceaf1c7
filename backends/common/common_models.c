/* SPDX-License-Identifier: Apache-2.0
 * The models a backend is built with, read from their tables.
 */
#include "backend_common.h"

#include <string.h>

#include "kernels/models/table_hash.h"

/* table_text.h must come before the table: no sorting */
/* clang-format off */
static const char text_feagi[] =
#include "kernels/models/table_text.h"
#include "kernels/models/feagi.def"
    ;
static const char text_lif_psc_delta[] =
#include "kernels/models/table_text.h"
#include "kernels/models/lif_psc_delta.def"
    ;
static const char text_lif_psc_exp[] =
#include "kernels/models/table_text.h"
#include "kernels/models/lif_psc_exp.def"
    ;
static const char text_izhikevich[] =
#include "kernels/models/table_text.h"
#include "kernels/models/izhikevich.def"
    ;
static const char text_lif_cond_exp[] =
#include "kernels/models/table_text.h"
#include "kernels/models/lif_cond_exp.def"
    ;
static const char text_adex[] =
#include "kernels/models/table_text.h"
#include "kernels/models/adex.def"
    ;
static const char text_lif_psc_exp2[] =
#include "kernels/models/table_text.h"
#include "kernels/models/lif_psc_exp2.def"
    ;
/* clang-format on */

enum {
#define VLY_EACH_MODEL(id) MODEL_##id,
#include "kernels/models/models.def"
    N_MODELS
};

/* Each entry of a table becomes "+ 1" in the sum of its kind. */
static const vly_common_model models[N_MODELS] = {
#define VLY_COMMON_TABLE "kernels/models/feagi.def"
#include "common_model_entry.h"
#define VLY_COMMON_TABLE "kernels/models/lif_psc_delta.def"
#include "common_model_entry.h"
#define VLY_COMMON_TABLE "kernels/models/lif_psc_exp.def"
#include "common_model_entry.h"
#define VLY_COMMON_TABLE "kernels/models/izhikevich.def"
#include "common_model_entry.h"
#define VLY_COMMON_TABLE "kernels/models/lif_cond_exp.def"
#include "common_model_entry.h"
#define VLY_COMMON_TABLE "kernels/models/adex.def"
#include "common_model_entry.h"
#define VLY_COMMON_TABLE "kernels/models/lif_psc_exp2.def"
#include "common_model_entry.h"
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
