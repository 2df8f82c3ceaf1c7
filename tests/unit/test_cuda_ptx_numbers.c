/* SPDX-License-Identifier: Apache-2.0
 * No compiler of a device gets an operation whose operands are all numbers:
 * neither in the text of PTX nor among the steps of the interpreter.
 */
#include <stdlib.h>

#include "backends/common/backend_common.h"
#include "cuda_ptx.h"
#include "cuda_steps.h"
#include "random_ir.h"
#include "volley_test.h"

const char vly_support_plugin[] = "test"; /* of backends/common */

enum { FIRST = 80, PROGRAMS = 64 };

#define EACH(name, text) " %r_" #name ","
static const char kernel[] =
    VLY_CUDA_PTX_MARK " %r_fired, 4," VLY_CUDA_PTX_INPUTS(EACH) "\n";
#undef EACH

/* ---- text --------------------------------------------------------------- */

/* Registers that hold numbers, and instructions that read registers. */
typedef struct text_state {
    uint8_t is_number[1 << 16];
    uint32_t n_read;
} text_state;

/* 1 if the instruction reads numbers only; a mov of one makes one. */
static int only_numbers(text_state *t, const char *line)
{
    uint32_t d;
    uint32_t n = 0;
    uint32_t n_numbers = 0;
    if (sscanf(line, "mov.b32 %%vb%u, 0%*[xX]%*x", &d) == 1 &&
        strstr(line, ", 0x") != NULL) {
        assert_true(d < sizeof t->is_number);
        t->is_number[d] = 1;
        return 0;
    }
    if (strncmp(line, ".reg .b32 %vb", 13) == 0) /* another program */
        memset(t->is_number, 0, sizeof t->is_number);
    const char *at = strchr(line, ','); /* behind what is written */
    if (at == NULL || line[0] == '.' || line[0] == '@' ||
        strncmp(line, "st.", 3) == 0 || strncmp(line, "mov.", 4) == 0)
        return 0; /* computes nothing */
    while (*at == ',') {
        at += 2;
        if (sscanf(at, "%%vb%u", &d) == 1)
            n_numbers += t->is_number[d];
        else
            n_numbers += at[0] >= '0' && at[0] <= '9';
        n++;
        at += strcspn(at, ",;");
    }
    t->n_read++;
    return n == n_numbers;
}

/* How many instructions read numbers only. */
static uint32_t check_text(text_state *t, char *text)
{
    uint32_t wrong = 0;
    memset(t->is_number, 0, sizeof t->is_number);
    for (char *line = strtok(text, "\n"); line; line = strtok(NULL, "\n"))
        if (only_numbers(t, line)) {
            print_message("%s: only numbers\n", line);
            wrong++;
        }
    return wrong;
}

static char *splice(const vly_program *program)
{
    const vly_program *const programs[] = {program};
    vly_cuda_text made = {NULL, 0, 0};
    assert_int_equal(vly_cuda_ptx_splice(kernel, programs, 1, 0, &made), 1);
    made = (vly_cuda_text){malloc(made.length + 1), made.length + 1, 0};
    assert_non_null(made.text);
    assert_int_equal(vly_cuda_ptx_splice(kernel, programs, 1, 0, &made), 1);
    return made.text;
}

/* ---- operations --------------------------------------------------------- */

static uint32_t is_number(const vly_program *program, uint32_t value)
{
    return program->ops[value].code == VLY_PROGRAM_NUMBER;
}

/* Operations that became numbers; none with numbers only is left. */
static uint32_t check_folded(const vly_program *from,
                             const vly_common_folded *folded)
{
    const vly_program *program = &folded->program;
    uint32_t n_folded = 0;
    for (uint32_t i = 0; i < program->n_ops; i++) {
        const vly_program_op *op = &program->ops[i];
        const uint32_t reads = vly_common_program_reads(op);
        uint32_t n = 0;
        for (uint32_t k = 0; k < reads; k++)
            n += is_number(program, vly_common_program_operand(op, k));
        n_folded += reads == 0 && vly_common_program_reads(&from->ops[i]) > 0;
        if (!folded->used[i] || reads == 0)
            continue;
        assert_true(n < reads);
        assert_true(op->code != VLY_PROGRAM_SELECT ||
                    !is_number(program, op->a));
    }
    return n_folded;
}

static bool at_number(uint32_t place)
{
    return place >> VLY_CUDA_PLACE_BITS == VLY_CUDA_PLACE_NUMBER;
}

static void check_steps(const vly_program *program)
{
    vly_cuda_step_maker *maker = malloc(sizeof *maker);
    vly_cuda_steps *made = malloc(sizeof *made);
    assert_non_null(maker);
    assert_non_null(made);
    vly_cuda_steps_make(program, maker, made);
    for (uint32_t k = 0; k < made->n_steps; k++) {
        const vly_cuda_step *step = &made->steps[k];
        if (step->code != VLY_PROGRAM_INPUT &&
            step->code != VLY_PROGRAM_UNIFORM && at_number(step->a))
            assert_false(at_number(step->b)); /* of one operand: 0 */
    }
    free(maker);
    free(made);
}

/* The root in program 112 came back from a device as 3f77b5e0. */
static void numbers_only(void **state)
{
    static vly_common_folded folded;
    static text_state t;
    static random_ir ir;
    uint32_t n_folded = 0;
    (void)state;
    for (uint64_t seed = FIRST; seed < FIRST + PROGRAMS; seed++) {
        random_ir_make(&ir, seed);
        vly_common_program_fold(&ir.program, &folded);
        n_folded += check_folded(&ir.program, &folded);
        check_steps(&ir.program);
        char *text = splice(&ir.program);
        if (seed == 112) {
            assert_int_equal(folded.ops[folded.out[9]].a, 0x3f77b5e1);
            assert_non_null(strstr(text, "0x3F77B5E1"));
        }
        assert_int_equal(check_text(&t, text), 0);
        free(text);
    }
    print_message("%u operations of numbers computed, %u instructions read\n",
                  n_folded, t.n_read);
    assert_true(n_folded > 200 && t.n_read > 10000);
    char wrong[] = ".reg .b32 %vb<9>;\nmov.b32 %vb1, 0x1;\n"
                   "mov.b32 %vb2, %r1;\nadd.rn.f32 %vb3, %vb1, %vb2;\n"
                   "add.rn.f32 %vb4, %vb1, %vb1;\n";
    assert_int_equal(check_text(&t, wrong), 1);
}

/* A choice whose truth is known is what it chooses. */
static void known_choice(void **state)
{
    static vly_common_folded folded;
    static const uint32_t types[] = {VLY_TYPE_F32, VLY_TYPE_F32, VLY_TYPE_U32,
                                     VLY_TYPE_F32, VLY_TYPE_F32};
    static const uint32_t out[] = {3, 4};
    static const vly_program_op ops[] = {{VLY_PROGRAM_FIELD, 0, 0, 0},
                                         {VLY_PROGRAM_NUMBER, 0x3f800000, 0, 0},
                                         {VLY_PROGRAM_LESS, 1, 1, 0},
                                         {VLY_PROGRAM_SELECT, 2, 1, 0},
                                         {VLY_PROGRAM_ADD, 3, 3, 0}};
    const vly_program program = {.struct_size = sizeof program,
                                 .n_ops = 5,
                                 .n_fields = 2,
                                 .fired = 2,
                                 .ops = ops,
                                 .out = out,
                                 .types = types};
    (void)state;
    vly_common_program_fold(&program, &folded);
    assert_int_equal(folded.ops[2].code, VLY_PROGRAM_NUMBER);
    assert_int_equal(folded.ops[2].a, 0);
    assert_int_equal(folded.out[0], 0);
    assert_int_equal(folded.ops[4].code, VLY_PROGRAM_ADD);
    assert_int_equal(folded.ops[4].a, 0);
    assert_int_equal(folded.ops[4].b, 0);
    assert_int_equal(folded.used[3], 0);
    assert_int_equal(folded.used[0], 1);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(numbers_only),
    cmocka_unit_test(known_choice),
};
VLY_TEST_MAIN(tests)
