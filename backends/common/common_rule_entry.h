/* SPDX-License-Identifier: Apache-2.0
 * One entry of the list in common_learning.c. Not guarded: each_plasticity.h
 * includes it for every rule.
 */
/* rule_text.h must come before the table: no sorting */
/* clang-format off */
#define VLY_PLASTICITY(name, help, source)                                     \
    [RULE_##name] = {.id = #name,                                              \
                     .index = RULE_##name,
#include VLY_PLASTICITY_TABLE
.text =
#include "kernels/rules/rule_text.h"
#include VLY_PLASTICITY_TABLE
    ,
    .n_coefs = 0
#define VLY_COEF(name, type, expression) +1
#include VLY_PLASTICITY_TABLE
    ,
    .window = 0
#define VLY_WINDOW() +1
#include VLY_PLASTICITY_TABLE
    ,
    .modulated = 0
#define VLY_MODULATOR(tau, interval) +1
#include VLY_PLASTICITY_TABLE
    ,
    .n_source = 0
#define PRE 1
#define POST 0
#define VLY_TRACE(side, number, param) + (side)
#include VLY_PLASTICITY_TABLE
    ,
#undef PRE
#undef POST
#define PRE 0
#define POST 1
    .n_target = 0
#define VLY_TRACE(side, number, param) + (side)
#include VLY_PLASTICITY_TABLE
#undef PRE
#undef POST
}
,
