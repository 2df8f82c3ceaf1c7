/* SPDX-License-Identifier: Apache-2.0
 * One entry of the list in common_models.c. Not guarded: each_model.h includes
 * it for every model.
 */
/* table_text.h must come before the table: no sorting */
/* clang-format off */
#define VLY_MODEL(name, model_flags, help, source)                             \
    [MODEL_##name] = {.id = #name,                                             \
                      .index = MODEL_##name,                                   \
                      .flags = (model_flags),
#include VLY_MODEL_TABLE
.text =
#include "kernels/models/table_text.h"
#include VLY_MODEL_TABLE
    ,
    .n_ports = 0
#define VLY_PORT(index, suffix, unit, help) +1
#include VLY_MODEL_TABLE
    ,
    .n_fields = 0
#define VLY_FIELD(name, type, unit, lo, hi, init, help) +1
#include VLY_MODEL_TABLE
    ,
    .n_coefs = 0
#define VLY_COEF(name, type, expression) +1
#include VLY_MODEL_TABLE
}
,
