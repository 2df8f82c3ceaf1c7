/* SPDX-License-Identifier: Apache-2.0
 * Steps of the interpreter on the device. Values that nothing reads are left
 * out. Numbers, coefficients and fields need no step: a step reads them where
 * they are, since fields change after the last step only. A field that becomes
 * another one is copied before.
 */
#include "cuda_steps.h"

#include <assert.h>
#include <string.h>

#define PLACE(kind, k)                                                         \
    ((uint16_t)((uint32_t)(kind) << VLY_CUDA_PLACE_BITS | (uint32_t)(k)))

static_assert(VLY_PROGRAM_MAX_OPS <= VLY_CUDA_PLACE_MASK,
              "a place has room for every value");

/* The last reader of each value that is used. */
static void find_last(const vly_program *program, vly_cuda_step_maker *maker)
{
    for (uint32_t i = 0; i < program->n_ops; i++)
        for (uint32_t k = 0; maker->folded.used[i] &&
                             k < vly_common_program_reads(&program->ops[i]);
             k++)
            maker->last[vly_common_program_operand(&program->ops[i], k)] = i;
    maker->last[program->fired] = program->n_ops;
    for (uint32_t f = 0; f < program->n_fields; f++)
        maker->last[program->out[f]] = program->n_ops;
}

static uint32_t take_slot(vly_cuda_step_maker *maker, vly_cuda_steps *made)
{
    uint32_t k = 0;
    while (maker->taken[k])
        k++;
    maker->taken[k] = 1;
    if (k + 1 > made->n_slots)
        made->n_slots = k + 1;
    return k;
}

static void give_slots(const vly_program *program, vly_cuda_step_maker *maker,
                       uint32_t i)
{
    const vly_program_op *op = &program->ops[i];
    for (uint32_t k = 0; k < vly_common_program_reads(op); k++) {
        uint32_t from = vly_common_program_operand(op, k);
        uint32_t place = maker->place[from];
        if (maker->last[from] == i &&
            place >> VLY_CUDA_PLACE_BITS == VLY_CUDA_PLACE_SLOT)
            maker->taken[place] = 0;
    }
}

static uint16_t number_place(vly_cuda_steps *made, uint32_t word)
{
    uint32_t k = 0;
    while (k < made->n_numbers && made->numbers[k] != word)
        k++;
    if (k == made->n_numbers)
        made->numbers[made->n_numbers++] = word;
    return PLACE(VLY_CUDA_PLACE_NUMBER, k);
}

/* Whether a field's value at the start is what another field becomes. */
static bool moves(const vly_program *program, uint32_t i)
{
    for (uint32_t f = 0; f < program->n_fields; f++)
        if (program->out[f] == i && program->ops[i].a != f)
            return true;
    return false;
}

static void add_step(const vly_program *program, vly_cuda_step_maker *maker,
                     vly_cuda_steps *made, uint32_t i)
{
    const vly_program_op *op = &program->ops[i];
    const uint32_t reads = vly_common_program_reads(op);
    const uint16_t none = PLACE(VLY_CUDA_PLACE_NUMBER, 0);
    vly_cuda_step *step = &made->steps[made->n_steps++];
    *step = (vly_cuda_step){.code = (uint16_t)op->code,
                            .a = reads > 0 ? maker->place[op->a] : none,
                            .b = reads > 1 ? maker->place[op->b] : none};
    if (op->code == VLY_PROGRAM_FIELD) {
        step->code = VLY_PROGRAM_CODES;
        step->a = PLACE(VLY_CUDA_PLACE_FIELD, op->a);
    } else if (op->code == VLY_PROGRAM_INPUT ||
               op->code == VLY_PROGRAM_UNIFORM) {
        step->lo = op->a;
    } else if (op->code == VLY_PROGRAM_SELECT) {
        step->lo = maker->place[op->c];
    } else if (op->code == VLY_PROGRAM_STORE) {
        step->lo = op->b;
        step->hi = op->c;
    }
    give_slots(program, maker, i); /* its result may take the slot of one */
    step->slot = (uint16_t)take_slot(maker, made);
    maker->place[i] = PLACE(VLY_CUDA_PLACE_SLOT, step->slot);
}

void vly_cuda_steps_make(const vly_program *from, vly_cuda_step_maker *maker,
                         vly_cuda_steps *made)
{
    const vly_program *program = &maker->folded.program;
    vly_common_program_fold(from, &maker->folded);
    memset(maker->taken, 0, sizeof maker->taken);
    made->n_steps = 0;
    made->n_slots = 0;
    made->n_numbers = 0;
    (void)number_place(made, 0); /* for operands that an operation lacks */
    find_last(program, maker);
    for (uint32_t i = 0; i < program->n_ops; i++) {
        const vly_program_op *op = &program->ops[i];
        if (!maker->folded.used[i])
            continue;
        if (op->code == VLY_PROGRAM_NUMBER)
            maker->place[i] = number_place(made, op->a);
        else if (op->code == VLY_PROGRAM_COEF)
            maker->place[i] = PLACE(VLY_CUDA_PLACE_COEF, op->a);
        else if (op->code == VLY_PROGRAM_FIELD && !moves(program, i))
            maker->place[i] = PLACE(VLY_CUDA_PLACE_FIELD, op->a);
        else
            add_step(program, maker, made, i);
    }
    made->fired = maker->place[program->fired];
    for (uint32_t f = 0; f < program->n_fields; f++)
        made->out[f] = maker->place[program->out[f]];
}
