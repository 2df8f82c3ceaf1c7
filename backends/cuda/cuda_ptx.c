/* SPDX-License-Identifier: Apache-2.0
 * Programs of users' models as PTX: operations one by one, and the marks of a
 * kernel's text. What one operation becomes is in cuda_ptx_functions.c.
 *
 * Truths are predicates until a word is needed. Numbers and coefficients are
 * made once. All fields are read before the first one is written.
 */
#include "cuda_ptx.h"

#include <stdio.h>
#include <string.h>

#include "backends/common/backend_common.h"
#include "cuda_ptx_functions.h"

/* ---- values ------------------------------------------------------------ */

typedef struct ptx_step {
    vly_cuda_ptx *ptx;
    const vly_program *program; /* folded */
    const uint8_t *used;
    const vly_cuda_ptx_names *names;
    uint32_t value[VLY_PROGRAM_MAX_OPS]; /* register */
    uint8_t is_truth[VLY_PROGRAM_MAX_OPS];
    uint32_t coef[VLY_PROGRAM_MAX_COEFS]; /* register + 1; 0: not read yet */
    uint32_t state;                       /* addresses */
    uint32_t coefs;
    uint32_t field[VLY_PROGRAM_MAX_FIELDS];
} ptx_step;

static uint32_t word(ptx_step *s, uint32_t i)
{
    return s->is_truth[i] ? vly_cuda_ptx_word(s->ptx, s->value[i])
                          : s->value[i];
}

static uint32_t truth(ptx_step *s, uint32_t i)
{
    return s->is_truth[i] ? s->value[i]
                          : vly_cuda_ptx_truth(s->ptx, s->value[i]);
}

/* ---- memory ------------------------------------------------------------ */

static void find_addresses(ptx_step *s)
{
    vly_cuda_ptx *ptx = s->ptx;
    s->state = vly_cuda_ptx_address(ptx);
    s->coefs = vly_cuda_ptx_address(ptx);
    vly_cuda_ptx_line(ptx, "cvta.to.global.u64 %%vd%u, %s", s->state,
                      s->names->state);
    vly_cuda_ptx_line(ptx, "cvta.to.global.u64 %%vd%u, %s", s->coefs,
                      s->names->coefs);
    s->field[0] = s->state;
    for (uint32_t f = 1; f < s->program->n_fields; f++) {
        s->field[f] = vly_cuda_ptx_address(ptx);
        vly_cuda_ptx_line(ptx, "add.u64 %%vd%u, %%vd%u, %s", s->field[f],
                          s->field[f - 1], s->names->stride);
    }
}

static uint32_t read_field(ptx_step *s, uint32_t f)
{
    const uint32_t d = vly_cuda_ptx_register(s->ptx);
    vly_cuda_ptx_line(s->ptx, "ld.global.b32 %%vb%u, [%%vd%u]", d, s->field[f]);
    return d;
}

/* words[place & mask] of its column */
static uint32_t read_coef(ptx_step *s, uint32_t c)
{
    vly_cuda_ptx *ptx = s->ptx;
    const uint32_t at = c * (uint32_t)sizeof(vly_cuda_column);
    if (s->coef[c] != 0)
        return s->coef[c] - 1;
    const uint32_t words = vly_cuda_ptx_address(ptx);
    const uint32_t far = vly_cuda_ptx_address(ptx);
    const uint32_t place = vly_cuda_ptx_register(ptx);
    const uint32_t d = vly_cuda_ptx_register(ptx);
    vly_cuda_ptx_line(ptx, "ld.global.u64 %%vd%u, [%%vd%u+%u]", words, s->coefs,
                      at + (uint32_t)offsetof(vly_cuda_column, words));
    vly_cuda_ptx_line(ptx, "cvta.to.global.u64 %%vd%u, %%vd%u", words, words);
    vly_cuda_ptx_line(ptx, "ld.global.b32 %%vb%u, [%%vd%u+%u]", place, s->coefs,
                      at + (uint32_t)offsetof(vly_cuda_column, mask));
    vly_cuda_ptx_line(ptx, "and.b32 %%vb%u, %%vb%u, %s", place, place,
                      s->names->place);
    vly_cuda_ptx_line(ptx, "mul.wide.u32 %%vd%u, %%vb%u, 4", far, place);
    vly_cuda_ptx_line(ptx, "add.u64 %%vd%u, %%vd%u, %%vd%u", far, far, words);
    vly_cuda_ptx_line(ptx, "ld.global.b32 %%vb%u, [%%vd%u]", d, far);
    s->coef[c] = d + 1;
    return d;
}

static uint32_t copy(ptx_step *s, const char *name)
{
    const uint32_t d = vly_cuda_ptx_register(s->ptx);
    vly_cuda_ptx_line(s->ptx, "mov.b32 %%vb%u, %s", d, name);
    return d;
}

static uint32_t draw(ptx_step *s, uint32_t stream)
{
    const vly_cuda_ptx_names *names = s->names;
    const uint32_t key[2] = {copy(s, names->key_low), copy(s, names->key_high)};
    const uint32_t burst[2] = {copy(s, names->burst_low),
                               copy(s, names->burst_high)};
    return vly_cuda_ptx_uniform(s->ptx, key, burst, copy(s, names->neuron),
                                stream);
}

/* ---- operations -------------------------------------------------------- */

/* LESS, AT_MOST, IS_ZERO, and truths of truths; of words that were not made
 * here bit by bit, as the interpreter does it. */
static void write_truth(ptx_step *s, uint32_t i)
{
    const vly_program_op *op = &s->program->ops[i];
    vly_cuda_ptx *ptx = s->ptx;
    const bool both = s->is_truth[op->a] &&
                      (op->code == VLY_PROGRAM_NOT || s->is_truth[op->b]);
    s->is_truth[i] = 1;
    if (op->code == VLY_PROGRAM_LESS || op->code == VLY_PROGRAM_AT_MOST) {
        const char *name =
            op->code == VLY_PROGRAM_LESS ? "setp.lt.f32" : "setp.le.f32";
        s->value[i] =
            vly_cuda_ptx_compare(ptx, name, word(s, op->a), word(s, op->b));
    } else if (op->code == VLY_PROGRAM_IS_ZERO) {
        s->value[i] = vly_cuda_ptx_compare(ptx, "setp.eq.u32", word(s, op->a),
                                           vly_cuda_ptx_bits(ptx, 0));
    } else if (both && op->code == VLY_PROGRAM_NOT) {
        s->value[i] = vly_cuda_ptx_predicate(ptx);
        vly_cuda_ptx_line(ptx, "not.pred %%vp%u, %%vp%u", s->value[i],
                          s->value[op->a]);
    } else if (both) {
        s->value[i] = vly_cuda_ptx_predicate(ptx);
        vly_cuda_ptx_line(ptx, "%s.pred %%vp%u, %%vp%u, %%vp%u",
                          op->code == VLY_PROGRAM_AND ? "and" : "or",
                          s->value[i], s->value[op->a], s->value[op->b]);
    } else {
        const char *name = op->code == VLY_PROGRAM_AND  ? "and.b32"
                           : op->code == VLY_PROGRAM_OR ? "or.b32"
                                                        : "xor.b32";
        uint32_t b = op->code == VLY_PROGRAM_NOT ? vly_cuda_ptx_bits(ptx, 1)
                                                 : word(s, op->b);
        s->is_truth[i] = 0;
        s->value[i] = vly_cuda_ptx_two(ptx, name, word(s, op->a), b);
    }
}

/* Whether the operation makes a truth of its own. */
static bool makes_truth(uint32_t code)
{
    return code == VLY_PROGRAM_LESS || code == VLY_PROGRAM_AT_MOST ||
           code == VLY_PROGRAM_IS_ZERO || code == VLY_PROGRAM_AND ||
           code == VLY_PROGRAM_OR || code == VLY_PROGRAM_NOT;
}

static uint32_t write_source(ptx_step *s, const vly_program_op *op)
{
    switch (op->code) {
    case VLY_PROGRAM_NUMBER:
        return vly_cuda_ptx_bits(s->ptx, op->a);
    case VLY_PROGRAM_FIELD:
        return read_field(s, op->a);
    case VLY_PROGRAM_COEF:
        return read_coef(s, op->a);
    case VLY_PROGRAM_INPUT:
        return copy(s, op->a == 0 ? s->names->in0 : s->names->in1);
    default:
        return draw(s, op->a);
    }
}

static uint32_t write_of_words(ptx_step *s, const vly_program_op *op)
{
    vly_cuda_ptx *ptx = s->ptx;
    switch (op->code) {
    case VLY_PROGRAM_ADD:
        return vly_cuda_ptx_two(ptx, "add.rn.f32", word(s, op->a),
                                word(s, op->b));
    case VLY_PROGRAM_SUBTRACT:
        return vly_cuda_ptx_two(ptx, "sub.rn.f32", word(s, op->a),
                                word(s, op->b));
    case VLY_PROGRAM_MULTIPLY:
        return vly_cuda_ptx_two(ptx, "mul.rn.f32", word(s, op->a),
                                word(s, op->b));
    case VLY_PROGRAM_NEGATE:
        return vly_cuda_ptx_two(ptx, "xor.b32", word(s, op->a),
                                vly_cuda_ptx_bits(ptx, 0x80000000u));
    case VLY_PROGRAM_ABSOLUTE:
        return vly_cuda_ptx_two(ptx, "and.b32", word(s, op->a),
                                vly_cuda_ptx_bits(ptx, 0x7fffffffu));
    case VLY_PROGRAM_INVERSE:
        return vly_cuda_ptx_inverse(ptx, word(s, op->a));
    case VLY_PROGRAM_ROOT:
        return vly_cuda_ptx_root(ptx, word(s, op->a));
    case VLY_PROGRAM_EXP:
        return vly_cuda_ptx_exp(ptx, word(s, op->a));
    case VLY_PROGRAM_DECAY_MEAN:
        return vly_cuda_ptx_decay_mean(ptx, word(s, op->a));
    case VLY_PROGRAM_STORE:
        return vly_cuda_ptx_store(ptx, word(s, op->a), op->b, op->c);
    case VLY_PROGRAM_COUNT_DOWN:
        return vly_cuda_ptx_count_down(ptx, word(s, op->a));
    default:
        return vly_cuda_ptx_select(ptx, truth(s, op->a), word(s, op->b),
                                   word(s, op->c));
    }
}

static void write_body(ptx_step *s)
{
    const vly_program *program = s->program;
    uint32_t out[VLY_PROGRAM_MAX_FIELDS];
    find_addresses(s);
    for (uint32_t i = 0; i < program->n_ops; i++) {
        const vly_program_op *op = &program->ops[i];
        if (!s->used[i])
            continue;
        if (makes_truth(op->code))
            write_truth(s, i);
        else if (vly_common_program_reads(op) == 0)
            s->value[i] = write_source(s, op);
        else
            s->value[i] = write_of_words(s, op);
    }
    for (uint32_t f = 0; f < program->n_fields; f++)
        out[f] = word(s, program->out[f]);
    vly_cuda_ptx_line(s->ptx, "mov.b32 %s, %%vb%u", s->names->fired,
                      word(s, program->fired));
    for (uint32_t f = 0; f < program->n_fields; f++)
        vly_cuda_ptx_line(s->ptx, "st.global.b32 [%%vd%u], %%vb%u", s->field[f],
                          out[f]);
}

/* Twice: registers are declared before they are used. */
void vly_cuda_ptx_step(const vly_program *program,
                       const vly_cuda_ptx_names *names, vly_cuda_text *to)
{
    vly_cuda_text none = {NULL, 0, 0};
    vly_cuda_ptx ptx = {.to = &none};
    vly_common_folded folded;
    vly_common_program_fold(program, &folded);
    ptx_step s = {.ptx = &ptx,
                  .program = &folded.program,
                  .used = folded.used,
                  .names = names};
    ptx_step again = s;
    write_body(&s);
    const uint32_t n_words = ptx.n_words;
    const uint32_t n_truths = ptx.n_truths;
    const uint32_t n_addresses = ptx.n_addresses;
    ptx = (vly_cuda_ptx){.to = to};
    vly_cuda_text_add(to, "{\n");
    vly_cuda_ptx_line(&ptx, ".reg .b32 %%vb<%u>", n_words + 1);
    vly_cuda_ptx_line(&ptx, ".reg .pred %%vp<%u>", n_truths + 1);
    vly_cuda_ptx_line(&ptx, ".reg .b64 %%vd<%u>", n_addresses + 1);
    write_body(&again);
    vly_cuda_text_add(to, "}\n");
}

/* ---- marks ------------------------------------------------------------- */

/* The next operand of a mark, separated by commas and spaces; 0: there is
 * no other. */
static int read_name(const char **at, char name[VLY_CUDA_PTX_NAME])
{
    *at += strspn(*at, ", ");
    const size_t n = strcspn(*at, ", ;\r\n");
    if (n == 0 || n >= VLY_CUDA_PTX_NAME)
        return 0;
    memcpy(name, *at, n);
    name[n] = 0;
    *at += n;
    return 1;
}

static int read_names(const char *at, vly_cuda_ptx_names *names)
{
    char rest[VLY_CUDA_PTX_NAME];
#define READ(name, text)                                                       \
    if (!read_name(&at, names->name))                                          \
        return 0;
    VLY_CUDA_PTX_TABLE(READ)
#undef READ
    return !read_name(&at, rest);
}

/* One program after the other, each after a branch that skips it. */
static void write_all(const vly_program *const *programs, uint32_t n,
                      const vly_cuda_ptx_names *names, vly_cuda_text *to)
{
    vly_cuda_text_add(to, "{\n.reg .pred %%vq;\n");
    for (uint32_t k = 0; k < n; k++) {
        vly_cuda_text_add(to, "setp.ne.u32 %%vq, %s, %u;\n", names->model, k);
        vly_cuda_text_add(to, "@%%vq bra VLY_STEP_%u;\n", k);
        vly_cuda_ptx_step(programs[k], names, to);
        vly_cuda_text_add(to, "VLY_STEP_%u:\n", k);
    }
    vly_cuda_text_add(to, "}\n");
}

int vly_cuda_ptx_splice(const char *kernel, const vly_program *const *programs,
                        uint32_t n, vly_cuda_text *to)
{
    int n_marks = 0;
    const char *mark;
    while ((mark = strstr(kernel, VLY_CUDA_PTX_MARK)) != NULL) {
        vly_cuda_ptx_names names;
        if (!read_names(mark + strlen(VLY_CUDA_PTX_MARK), &names))
            return -1;
        vly_cuda_text_copy(to, kernel, (size_t)(mark - kernel));
        write_all(programs, n, &names, to);
        kernel = mark + strcspn(mark, "\n");
        n_marks++;
    }
    vly_cuda_text_copy(to, kernel, strlen(kernel));
    return n_marks;
}
