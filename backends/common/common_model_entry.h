/* SPDX-License-Identifier: Apache-2.0
 * One entry of the list in common_models.c, from the table VLY_COMMON_TABLE.
 * Not guarded: included once for each model.
 */
#define VLY_MODEL(name, model_flags, help, source)                             \
    [MODEL_##name] = {.id = #name,                                             \
                      .text = text_##name,                                     \
                      .index = MODEL_##name,                                   \
                      .flags = (model_flags),
#include VLY_COMMON_TABLE
.n_ports = 0
#define VLY_PORT(index, suffix, unit, help) +1
#include VLY_COMMON_TABLE
    ,
    .n_fields = 0
#define VLY_FIELD(name, type, unit, lo, hi, init, help) +1
#include VLY_COMMON_TABLE
    ,
    .n_coefs = 0
#define VLY_COEF(name, type, expression) +1
#include VLY_COMMON_TABLE
}
,
#undef VLY_COMMON_TABLE
