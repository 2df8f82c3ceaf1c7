/* SPDX-License-Identifier: Apache-2.0
 * A program is straight-line code: each operation becomes an instruction or
 * two, or a call of a function of the frame, in one block. What all neurons of
 * an area share is read once a tile, into variables of its own, since a
 * compiler would read it again after every store. Source: SPIR-V specification
 * 1.6, Khronos
 */
#include "vulkan_frame.h"

/* the word of vly_vulkan_program_coefs.vary that is 0 */
#define NOTHING_AT 5u
_Static_assert(VLY_FRAME_GROUPS <= NOTHING_AT, "no bits of coefficients");

/* Functions of the frame; load and step get new bodies. */
#define EACH(X)                                                                \
    VLY_FRAME_EACH(X)                                                          \
    X(step)                                                                    \
    X(row)                                                                     \
    X(field)                                                                   \
    X(become)                                                                  \
    X(vary)                                                                    \
    X(column)                                                                  \
    X(uniform)                                                                 \
    X(store)
enum { EACH(VLY_FRAME_NUMBER) FUNCTIONS };
_Static_assert(FUNCTIONS <= VLY_FRAME_FUNCTIONS, "functions of a frame");
static const char *const names[] = {EACH(VLY_FRAME_NAME)};
static const vly_frame_kind frame_kind = {.what =
                                              "the shader for users' models",
                                          .head = "vly_program_",
                                          .names = names,
                                          .n = FUNCTIONS,
                                          .bodies = 1u << F_load | 1u << F_step,
                                          .least = 4,
                                          .has_longs = 1};

/* ---- what all neurons share --------------------------------------------- */

static void share_field(vly_frame *s, uint32_t f)
{
    if (s->field[f] == 0)
        s->field[f] =
            vly_frame_share(s, s->pointer_long, s->type_long, F_row, f);
}

static void share_coef(vly_frame *s, uint32_t k)
{
    if (s->coef[k] == 0)
        s->coef[k] =
            vly_frame_share(s, s->pointer_uint, s->type_uint, F_word, k);
    if (s->vary[k / 32] == 0)
        s->vary[k / 32] =
            vly_frame_share(s, s->pointer_uint, s->type_uint, F_vary, k / 32);
}

/* Whether a field stays as it is. */
static bool stays(const vly_program *program, uint32_t f)
{
    const vly_program_op *op = &program->ops[program->out[f]];
    return op->code == VLY_PROGRAM_FIELD && op->a == f;
}

static void write_load(vly_frame *s)
{
    const vly_program *program = s->program;
    vly_frame_body(s, F_load);
    s->nothing =
        vly_frame_share(s, s->pointer_uint, s->type_uint, F_vary, NOTHING_AT);
    for (uint32_t i = 0; i < program->n_ops; i++) {
        if (!s->folded.used[i])
            continue;
        if (program->ops[i].code == VLY_PROGRAM_FIELD)
            share_field(s, program->ops[i].a);
        if (program->ops[i].code == VLY_PROGRAM_COEF)
            share_coef(s, program->ops[i].a);
    }
    for (uint32_t f = 0; f < program->n_fields; f++)
        if (!stays(program, f))
            share_field(s, f);
    vly_frame_put(s, s->at, OP_RETURN, NULL, 0);
}

/* ---- operations --------------------------------------------------------- */

static uint32_t type_of(const vly_frame *s, uint32_t value)
{
    return s->program->types[value] == VLY_TYPE_F32 ? s->type_float
                                                    : s->type_uint;
}

static uint32_t from_word(vly_frame *s, uint32_t i, uint32_t word)
{
    return s->program->types[i] == VLY_TYPE_F32
               ? MAKE(s, OP_BITCAST, s->type_float, word)
               : word;
}

static uint32_t read_field(vly_frame *s, uint32_t i)
{
    const uint32_t f = s->program->ops[i].a;
    uint32_t row = MAKE(s, OP_LOAD, s->type_long, s->field[f]);
    return from_word(
        s, i, CALL(s, s->type_uint, field, row, s->parameter[F_step][0]));
}

static uint32_t read_coef(vly_frame *s, uint32_t i)
{
    const uint32_t k = s->program->ops[i].a;
    uint32_t number_of = vly_frame_constant(s, s->type_uint, k);
    uint32_t word = MAKE(s, OP_LOAD, s->type_uint, s->coef[k]);
    uint32_t vary = MAKE(s, OP_LOAD, s->type_uint, s->vary[k / 32]);
    return from_word(s, i,
                     CALL(s, s->type_uint, column, vary, number_of,
                          s->parameter[F_step][0], word));
}

static uint32_t absolute(vly_frame *s, uint32_t x)
{
    uint32_t mask = vly_frame_constant(s, s->type_uint, 0x7fffffffu);
    uint32_t bits = MAKE(s, OP_BITCAST, s->type_uint, x);
    uint32_t size = MAKE(s, OP_BIT_AND, s->type_uint, bits, mask);
    return MAKE(s, OP_BITCAST, s->type_float, size);
}

static uint32_t store(vly_frame *s, uint32_t x, uint32_t lo, uint32_t hi)
{
    uint32_t low = lo == 0 ? vly_frame_constant(s, s->type_float, 0)
                           : vly_frame_number(s, lo);
    uint32_t high = vly_frame_number(s, hi);
    return CALL(s, s->type_float, store, x, low, high);
}

/* A truth as a number, kept as a bool for the choices that read it. */
static uint32_t truth(vly_frame *s, uint32_t i, uint32_t found)
{
    s->truth[i] = found;
    return MAKE(s, OP_SELECT, s->type_uint, found, s->one, s->zero);
}

static uint32_t count_down(vly_frame *s, uint32_t x)
{
    uint32_t is_zero = MAKE(s, OP_IEQUAL, s->type_bool, x, s->zero);
    uint32_t less = MAKE(s, OP_ISUB, s->type_uint, x, s->one);
    return MAKE(s, OP_SELECT, s->type_uint, is_zero, s->zero, less);
}

static uint32_t choose(vly_frame *s, uint32_t i)
{
    const vly_program_op *op = &s->program->ops[i];
    uint32_t is = s->truth[op->a];
    if (is == 0)
        is = MAKE(s, OP_INOTEQUAL, s->type_bool, s->value[op->a], s->zero);
    return MAKE(s, OP_SELECT, type_of(s, i), is, s->value[op->b],
                s->value[op->c]);
}

/* Operations on values; a, b: the ids of the first two. */
static uint32_t write_value(vly_frame *s, uint32_t i, uint32_t a, uint32_t b)
{
    const vly_program_op *op = &s->program->ops[i];
    const uint32_t u32 = s->type_uint;
    switch (op->code) {
    case VLY_PROGRAM_NEGATE:
        return MAKE(s, OP_FNEGATE, s->type_float, a);
    case VLY_PROGRAM_ABSOLUTE:
        return absolute(s, a);
    case VLY_PROGRAM_STORE:
        return store(s, a, op->b, op->c);
    case VLY_PROGRAM_LESS:
        return truth(s, i, MAKE(s, OP_FORD_LESS, s->type_bool, a, b));
    case VLY_PROGRAM_AT_MOST:
        return truth(s, i, MAKE(s, OP_FORD_AT_MOST, s->type_bool, a, b));
    case VLY_PROGRAM_AND:
        return MAKE(s, OP_BIT_AND, u32, a, b);
    case VLY_PROGRAM_OR:
        return MAKE(s, OP_BIT_OR, u32, a, b);
    case VLY_PROGRAM_NOT:
        return MAKE(s, OP_BIT_XOR, u32, a, s->one);
    case VLY_PROGRAM_IS_ZERO:
        return truth(s, i, MAKE(s, OP_IEQUAL, s->type_bool, a, s->zero));
    case VLY_PROGRAM_COUNT_DOWN:
        return count_down(s, a);
    case VLY_PROGRAM_SELECT:
        return choose(s, i);
    }
    return vly_frame_arithmetic(s, op->code, a, b);
}

static uint32_t write_op(vly_frame *s, uint32_t i)
{
    const vly_program_op *op = &s->program->ops[i];
    switch (op->code) {
    case VLY_PROGRAM_NUMBER:
        return s->program->types[i] == VLY_TYPE_F32
                   ? vly_frame_number(s, op->a)
                   : vly_frame_constant(s, s->type_uint, op->a);
    case VLY_PROGRAM_FIELD:
        return read_field(s, i);
    case VLY_PROGRAM_COEF:
        return read_coef(s, i);
    case VLY_PROGRAM_INPUT:
        return s->parameter[F_step][2 + op->a];
    case VLY_PROGRAM_UNIFORM: {
        uint32_t stream = vly_frame_constant(s, s->type_uint, op->a);
        return CALL(s, s->type_float, uniform, s->parameter[F_step][1], stream);
    }
    }
    /* not read by an operation of one operand */
    uint32_t b = op->b < i ? s->value[op->b] : 0;
    return write_value(s, i, s->value[op->a], b);
}

static void write_step(vly_frame *s)
{
    const vly_program *program = s->program;
    vly_frame_body(s, F_step);
    for (uint32_t i = 0; i < program->n_ops; i++)
        if (s->folded.used[i])
            s->value[i] = write_op(s, i);
    for (uint32_t f = 0; f < program->n_fields; f++) {
        if (stays(program, f))
            continue;
        uint32_t word = s->value[program->out[f]];
        if (program->types[program->out[f]] == VLY_TYPE_F32)
            word = MAKE(s, OP_BITCAST, s->type_uint, word);
        uint32_t row = MAKE(s, OP_LOAD, s->type_long, s->field[f]);
        (void)CALL(s, s->type_void, become, row, s->parameter[F_step][0], word);
    }
    PUT(s, s->at, OP_RETURN_VALUE, s->value[program->fired]);
}

/* ---- all ---------------------------------------------------------------- */

int vly_vulkan_splice(const uint32_t *frame, size_t n,
                      const vly_program *program, uint32_t **out, size_t *n_out,
                      char *message)
{
    vly_frame *s = NULL;
    int failed = vly_frame_read(&frame_kind, frame, n, &s, message);
    if (failed)
        return failed;
    vly_common_program_fold(program, &s->folded);
    s->program = &s->folded.program;
    write_load(s);
    write_step(s);
    failed = vly_frame_finish(s, out, n_out, message);
    vly_frame_free(s);
    return failed;
}
