/* SPDX-License-Identifier: Apache-2.0
 * What is the same in every neuron and burst of a program, computed here. The
 * compilers of devices compute such values too, maybe in ways of their own: on
 * one device a root of constants came out one unit in the last place less,
 * which of its compilers did it is not known. They get numbers in place of
 * them.
 */
#include "backend_common.h"

#include <string.h>

#include "kernels/models/program.h"

/* The number that value i is. */
static uint32_t word_of(const vly_common_folded *to, uint32_t i)
{
    return to->ops[i].a;
}

static float float_of(const vly_common_folded *to, uint32_t i)
{
    return vly_float(word_of(to, i));
}

static bool is_number(const vly_common_folded *to, uint32_t i)
{
    return to->ops[i].code == VLY_PROGRAM_NUMBER;
}

static float fold_float(const vly_common_folded *to, const vly_program_op *op)
{
    const float x = float_of(to, op->a);
    switch (op->code) {
    case VLY_PROGRAM_ADD:
        return x + float_of(to, op->b);
    case VLY_PROGRAM_SUBTRACT:
        return x - float_of(to, op->b);
    case VLY_PROGRAM_MULTIPLY:
        return x * float_of(to, op->b);
    case VLY_PROGRAM_INVERSE:
        return vly_inverse_f32(x);
    case VLY_PROGRAM_ROOT:
        return vly_root_f32(x);
    case VLY_PROGRAM_EXP:
        return vly_exp_f32(x);
    case VLY_PROGRAM_DECAY_MEAN:
        return vly_decay_mean_f32(x);
    default: /* VLY_PROGRAM_STORE */
        return vly_store(x, vly_float(op->b), vly_float(op->c));
    }
}

static uint32_t fold(const vly_common_folded *to, const vly_program_op *op)
{
    const uint32_t a = word_of(to, op->a);
    switch (op->code) {
    case VLY_PROGRAM_NEGATE:
        return a ^ 0x80000000u;
    case VLY_PROGRAM_ABSOLUTE:
        return a & 0x7fffffffu;
    case VLY_PROGRAM_LESS:
        return vly_float(a) < float_of(to, op->b) ? 1u : 0u;
    case VLY_PROGRAM_AT_MOST:
        return vly_float(a) <= float_of(to, op->b) ? 1u : 0u;
    case VLY_PROGRAM_AND:
        return a & word_of(to, op->b);
    case VLY_PROGRAM_OR:
        return a | word_of(to, op->b);
    case VLY_PROGRAM_NOT:
        return a ^ 1u;
    case VLY_PROGRAM_IS_ZERO:
        return a == 0 ? 1u : 0u;
    case VLY_PROGRAM_COUNT_DOWN:
        return a == 0 ? 0u : a - 1u;
    default:
        return vly_bits(fold_float(to, op));
    }
}

/* Its operands are those that have taken the place of others. */
static void fold_op(vly_common_folded *to, uint32_t i)
{
    vly_program_op *op = &to->ops[i];
    const uint32_t n = vly_common_program_reads(op);
    bool known = n > 0;
    op->a = n > 0 ? to->same[op->a] : op->a;
    op->b = n > 1 ? to->same[op->b] : op->b;
    op->c = n > 2 ? to->same[op->c] : op->c;
    for (uint32_t k = 0; k < n; k++)
        known = known && is_number(to, vly_common_program_operand(op, k));
    to->same[i] = i;
    if (op->code == VLY_PROGRAM_SELECT && is_number(to, op->a))
        to->same[i] = word_of(to, op->a) != 0 ? op->b : op->c;
    else if (known)
        *op = (vly_program_op){VLY_PROGRAM_NUMBER, fold(to, op), 0, 0};
}

void vly_common_program_fold(const vly_program *from, vly_common_folded *to)
{
    to->program = *from;
    to->program.ops = to->ops;
    to->program.out = to->out;
    memcpy(to->ops, from->ops, from->n_ops * sizeof *to->ops);
    for (uint32_t i = 0; i < from->n_ops; i++)
        fold_op(to, i);
    to->program.fired = to->same[from->fired];
    for (uint32_t f = 0; f < from->n_fields; f++)
        to->out[f] = to->same[from->out[f]];
    vly_common_program_used(&to->program, to->used);
}
