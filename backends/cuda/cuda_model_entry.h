/* SPDX-License-Identifier: Apache-2.0
 * One entry of the list in cuda_models.c, from the table VLY_CUDA_TABLE. Not
 * guarded: included once for each model.
 */
#define VLY_MODEL(name, model_flags, help, source)                             \
    [VLY_CUDA_MODEL_##name] = {.id = #name,                                    \
                               .text = text_##name,                            \
                               .index = VLY_CUDA_MODEL_##name,                 \
                               .flags = (model_flags),
#include VLY_CUDA_TABLE
.n_ports = 0
#define VLY_PORT(index, suffix, unit, help) +1
#include VLY_CUDA_TABLE
    ,
    .n_fields = 0
#define VLY_FIELD(name, type, unit, lo, hi, init, help) +1
#include VLY_CUDA_TABLE
    ,
    .n_coefs = 0
#define VLY_COEF(name, type, expression) +1
#include VLY_CUDA_TABLE
}
,
#undef VLY_CUDA_TABLE
