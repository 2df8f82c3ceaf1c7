/* SPDX-License-Identifier: Apache-2.0
 * The frame for a user's rule, in learn_rows.comp. The backend writes the bodies
 * of vly_rule_load, vly_rule_post and vly_rule_pre from the operations of the
 * rule (backends/vulkan/vulkan_splice_rule.c); the bodies here only call what
 * those need, so that the compiler keeps it. Parameters are const: only then
 * are they values in SPIR-V, and not pointers. Included after learning.glsl.
 *
 * The backend adds a variable for each coefficient. Numbers on the way, and
 * those that change nothing, are as in kernels/rules/rule_program.h.
 */
#ifndef VOLLEY_VULKAN_RULE_PROGRAM_GLSL
#define VOLLEY_VULKAN_RULE_PROGRAM_GLSL

#include "kernels/models/program.h"

/* A rule may compute infinities, NaN and -0 on the way to a change (4466 and
 * 4461: SignedZeroInfNanPreserve as capability and as mode). */
spirv_execution_mode(extensions = ["SPV_KHR_float_controls"],
                     capabilities = [4466], 4461, 32);

const uint HAS_ELIGIBILITY = 0u;
const uint HAS_WINDOW = 0u;

/* ---- called by what the backend writes --------------------------------- */

/* Word k of the map: 0, then the coefficients. */
uint vly_rule_word(const uint k)
{
    uint64_t words = uint64_t(map.coefs[VLY_VULKAN_RULE_WORDS]) |
                     uint64_t(map.coefs[VLY_VULKAN_RULE_WORDS + 1u]) << 32;
    return word_of(words, k).v;
}

float vly_rule_inverse(const float x)
{
    return vly_inverse_f32(x);
}

float vly_rule_root(const float x)
{
    return vly_root_f32(x);
}

float vly_rule_exp(const float x)
{
    return vly_exp_f32(x);
}

float vly_rule_decay_mean(const float x)
{
    return vly_decay_mean_f32(x);
}

/* ---- written by the backend -------------------------------------------- */

/* Reads the coefficients. */
void vly_rule_load()
{
    vly_rule_word(0u);
}

/* The bits of what is added to the weight w, in units of the map, as the target
 * fires. */
uint vly_rule_post(const float w, const float x0, const float x1,
                   const float y0, const float y1)
{
    vly_rule_inverse(
        vly_rule_root(vly_rule_exp(vly_rule_decay_mean(w))));
    return vly_rule_word(0u);
}

/* The same as a spike of the source arrives. */
uint vly_rule_pre(const float w, const float x0, const float x1,
                  const float y0, const float y1)
{
    return vly_rule_word(0u);
}

/* ---- the words of rule_coefs.glsl and learn_rows.comp ------------------- */

void load_coefs()
{
    vly_rule_load();
}

/* vly_rule_change of rule_program.h */
int changed_by(int m, uint dw)
{
    uint size = dw & 0x7fffffffu;
    return vly_weight_change(m, VLY_FLOAT(size > 0x7f800000u ? 0u : dw),
                             int(map.coefs[VLY_VULKAN_RULE_MOST]));
}

int post(int m, float x0, float x1, float y0, float y1)
{
    int changed =
        changed_by(m, vly_rule_post(vly_weight_f32(m), x0, x1, y0, y1));
    return x0 > 0.0f || x1 > 0.0f ? changed : m;
}

int pre(int m, float x0, float x1, float y0, float y1)
{
    return changed_by(m, vly_rule_pre(vly_weight_f32(m), x0, x1, y0, y1));
}

#endif
