/* SPDX-License-Identifier: Apache-2.0
 * What an operation of a user's rule computes (rule_program.h), for C11 and
 * CUDA C++.
 */
#ifndef VOLLEY_RULES_RULE_OPERATION_H
#define VOLLEY_RULES_RULE_OPERATION_H

#include <volley/plugin.h>

#include "kernels/models/program.h"
#include "rule.h"

/* One operation that reads values. */
VLY_FN uint32_t vly_rule_operation(uint32_t code, uint32_t a, uint32_t b,
                                   uint32_t c)
{
    const float x = vly_float(a);
    const float y = vly_float(b);
    switch (code) {
    case VLY_PROGRAM_ADD:
        return vly_bits(x + y);
    case VLY_PROGRAM_SUBTRACT:
        return vly_bits(x - y);
    case VLY_PROGRAM_MULTIPLY:
        return vly_bits(x * y);
    case VLY_PROGRAM_NEGATE:
        return a ^ 0x80000000u;
    case VLY_PROGRAM_ABSOLUTE:
        return a & 0x7fffffffu;
    case VLY_PROGRAM_INVERSE:
        return vly_bits(vly_inverse_f32(x));
    case VLY_PROGRAM_ROOT:
        return vly_bits(vly_root_f32(x));
    case VLY_PROGRAM_EXP:
        return vly_bits(vly_exp_f32(x));
    case VLY_PROGRAM_DECAY_MEAN:
        return vly_bits(vly_decay_mean_f32(x));
    case VLY_PROGRAM_LESS:
        return x < y ? 1u : 0u;
    case VLY_PROGRAM_AT_MOST:
        return x <= y ? 1u : 0u;
    case VLY_PROGRAM_AND:
        return a & b;
    case VLY_PROGRAM_OR:
        return a | b;
    case VLY_PROGRAM_NOT:
        return a ^ 1u;
    default: /* SELECT */
        return a != 0u ? b : c;
    }
}

/* m changed by the float with the bits dw. What is not a number changes
 * nothing: machines differ in the one that they make. */
VLY_FN int32_t vly_rule_change(int32_t m, uint32_t dw, uint32_t most)
{
    const uint32_t size = dw & 0x7fffffffu;
    return vly_weight_change(m, vly_float(size > 0x7f800000u ? 0u : dw),
                             (int32_t)most);
}

#endif
