/* SPDX-License-Identifier: Apache-2.0
 * The rule that RULE_<id> chooses, and its coefficients, from the words of the
 * projection at hand. RULE_program: a user's. Included after learning.glsl.
 */
#ifndef VOLLEY_VULKAN_RULE_COEFS_GLSL
#define VOLLEY_VULKAN_RULE_COEFS_GLSL

#if defined(RULE_program)
#include "kernels/vulkan/rule_program.glsl"
#else
#include "kernels/rules/shader_rule.glsl"

RULE_PART(_coef) coefs;

#define VLY_LOAD_F32(word) VLY_FLOAT(word)
#define VLY_LOAD_U32(word) (word)

void load_coefs()
{
    uint k = 0u;
#define VLY_COEF(name, type, expression)                                       \
    coefs.name = VLY_LOAD_##type(map.coefs[k]);                                \
    k++;
#include "kernels/rules/shader_rule_table.glsl"
}

/* What the rule is: 1 or 0. */
const uint HAS_ELIGIBILITY = 0u
#define VLY_MODULATOR(tau, interval) +1u
#include "kernels/rules/shader_rule_table.glsl"
    ;
const uint HAS_WINDOW = 0u
#define VLY_WINDOW() +1u
#include "kernels/rules/shader_rule_table.glsl"
    ;
#endif

#endif
