/* SPDX-License-Identifier: Apache-2.0
 * A rule in common_short_term.c: its function on words, and its entry of the
 * list if SHORT_ENTRY is defined. Not guarded: each_short_term.h includes it
 * for every rule.
 */
#define JOIN2(a, b, c) a##b##c
#define JOIN(a, b, c) JOIN2(a, b, c)
#if !defined(SHORT_ENTRY)
static vly_short_term JOIN(spike_, VLY_PLASTICITY_ID, )(vly_short_term state,
                                                        const uint32_t *coefs,
                                                        uint32_t h)
{
    JOIN(vly_, VLY_PLASTICITY_ID, _coef) c;
    memcpy(&c, coefs, sizeof c);
    return JOIN(vly_, VLY_PLASTICITY_ID, _spike)(state, c, h);
}
#else
/* rule_text.h must come before the table: no sorting */
/* clang-format off */
#define VLY_PLASTICITY(name, help, source)                                     \
    [RULE_##name] = {.id = #name,                                              \
                     .index = RULE_##name,                                     \
                     .spike = spike_##name,
#include VLY_PLASTICITY_TABLE
.text =
#include "kernels/rules/rule_text.h"
#include VLY_PLASTICITY_TABLE
    ,
    .n_coefs = 0
#define VLY_COEF(name, type, expression) +1
#include VLY_PLASTICITY_TABLE
}
,
/* clang-format on */
#endif
#undef JOIN2
#undef JOIN
