/* SPDX-License-Identifier: Apache-2.0
 * Whether the program of a user's model is one that a backend can run: known
 * operations, of values before them, of the types that they take.
 */
#include "backend_common.h"

#include <string.h>

enum { F32 = VLY_TYPE_F32, U32 = VLY_TYPE_U32, ANY = 2, SAME = 3 };

typedef struct row {
    uint8_t takes[3]; /* SAME: as the operand before */
    uint8_t makes;    /* ANY: of field, coefficient or choice */
} row;

static const row rows[VLY_PROGRAM_CODES] = {
    [VLY_PROGRAM_NUMBER] = {{0, 0, 0}, F32},
    [VLY_PROGRAM_FIELD] = {{0, 0, 0}, ANY},
    [VLY_PROGRAM_COEF] = {{0, 0, 0}, ANY},
    [VLY_PROGRAM_INPUT] = {{0, 0, 0}, F32},
    [VLY_PROGRAM_UNIFORM] = {{0, 0, 0}, F32},
    [VLY_PROGRAM_ADD] = {{F32, F32, 0}, F32},
    [VLY_PROGRAM_SUBTRACT] = {{F32, F32, 0}, F32},
    [VLY_PROGRAM_MULTIPLY] = {{F32, F32, 0}, F32},
    [VLY_PROGRAM_NEGATE] = {{F32, 0, 0}, F32},
    [VLY_PROGRAM_ABSOLUTE] = {{F32, 0, 0}, F32},
    [VLY_PROGRAM_INVERSE] = {{F32, 0, 0}, F32},
    [VLY_PROGRAM_ROOT] = {{F32, 0, 0}, F32},
    [VLY_PROGRAM_EXP] = {{F32, 0, 0}, F32},
    [VLY_PROGRAM_DECAY_MEAN] = {{F32, 0, 0}, F32},
    [VLY_PROGRAM_STORE] = {{F32, 0, 0}, F32},
    [VLY_PROGRAM_LESS] = {{F32, F32, 0}, U32},
    [VLY_PROGRAM_AT_MOST] = {{F32, F32, 0}, U32},
    [VLY_PROGRAM_AND] = {{U32, U32, 0}, U32},
    [VLY_PROGRAM_OR] = {{U32, U32, 0}, U32},
    [VLY_PROGRAM_NOT] = {{U32, 0, 0}, U32},
    [VLY_PROGRAM_IS_ZERO] = {{U32, 0, 0}, U32},
    [VLY_PROGRAM_COUNT_DOWN] = {{U32, 0, 0}, U32},
    [VLY_PROGRAM_SELECT] = {{U32, ANY, SAME}, ANY},
};

static const uint8_t reads[VLY_PROGRAM_CODES] = {
#define READS(name, n, text) n,
    VLY_PROGRAM_TABLE(READS)
#undef READS
};

uint32_t vly_common_program_reads(const vly_program_op *op)
{
    return reads[op->code];
}

uint32_t vly_common_program_operand(const vly_program_op *op, uint32_t k)
{
    return k == 0 ? op->a : k == 1 ? op->b : op->c;
}

void vly_common_program_used(const vly_program *program, uint8_t *used)
{
    memset(used, 0, program->n_ops);
    used[program->fired] = 1;
    for (uint32_t f = 0; f < program->n_fields; f++)
        used[program->out[f]] = 1;
    for (uint32_t i = program->n_ops; i-- > 0;)
        for (uint32_t k = 0;
             used[i] && k < vly_common_program_reads(&program->ops[i]); k++)
            used[vly_common_program_operand(&program->ops[i], k)] = 1;
}

static bool good(const vly_area_desc *area, const vly_program *program,
                 uint32_t i)
{
    const vly_program_op *op = &program->ops[i];
    uint32_t type = program->types[i];
    if (op->code >= VLY_PROGRAM_CODES || type > VLY_TYPE_U32)
        return false;
    const row *r = &rows[op->code];
    for (uint32_t k = 0; k < reads[op->code]; k++) {
        uint32_t from = vly_common_program_operand(op, k);
        if (from >= i)
            return false;
        uint32_t found = program->types[from];
        if (r->takes[k] == SAME ? found != program->types[op->b]
                                : r->takes[k] != ANY && found != r->takes[k])
            return false;
    }
    if (op->code == VLY_PROGRAM_SELECT)
        return type == program->types[op->b];
    if (op->code == VLY_PROGRAM_COEF)
        return op->a < area->n_coefs && type == area->coefs[op->a].type;
    if (op->code == VLY_PROGRAM_FIELD)
        return op->a < area->n_fields;
    if (op->code == VLY_PROGRAM_INPUT && op->a >= area->n_ports)
        return false;
    return type == r->makes;
}

vly_status vly_common_check_program(const vly_area_desc *area,
                                    const vly_program *program,
                                    vly_error *error)
{
    if (program->struct_size < sizeof *program || program->n_ops == 0 ||
        program->n_ops > VLY_PROGRAM_MAX_OPS ||
        area->n_fields > VLY_PROGRAM_MAX_FIELDS ||
        area->n_coefs > VLY_PROGRAM_MAX_COEFS || area->n_ports < 1 ||
        area->n_ports > VLY_PORTS_MAX || area->flags != 0 ||
        program->n_fields != area->n_fields)
        return vly_support_fail(
            error, VLY_E_UNSUPPORTED,
            "area %s: a program of %u operations, %u fields, %u coefficients, "
            "%u ports, flags %u; wanted at most %u, %u, %u, %u, 0",
            area->name, program->n_ops, area->n_fields, area->n_coefs,
            area->n_ports, area->flags, VLY_PROGRAM_MAX_OPS,
            VLY_PROGRAM_MAX_FIELDS, VLY_PROGRAM_MAX_COEFS, VLY_PORTS_MAX);
    for (uint32_t i = 0; i < program->n_ops; i++)
        if (!good(area, program, i))
            return vly_support_fail(error, VLY_E_UNSUPPORTED,
                                    "area %s: operation %u of its program has "
                                    "code %u with operands %u, %u, %u",
                                    area->name, i, program->ops[i].code,
                                    program->ops[i].a, program->ops[i].b,
                                    program->ops[i].c);
    uint32_t fired = program->fired;
    for (uint32_t f = 0; f < area->n_fields; f++)
        if (program->out[f] >= program->n_ops)
            fired = program->n_ops;
    if (fired >= program->n_ops || program->types[fired] != VLY_TYPE_U32)
        return vly_support_fail(error, VLY_E_UNSUPPORTED,
                                "area %s: a result of its program is not one "
                                "of its values, or `fired` is not a truth",
                                area->name);
    return VLY_OK;
}
