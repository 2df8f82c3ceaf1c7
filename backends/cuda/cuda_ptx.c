/* SPDX-License-Identifier: Apache-2.0
 * Programs of users' models as PTX: operations one by one, and the marks of a
 * kernel's text. What one operation becomes is in cuda_ptx_functions.c.
 *
 * Truths are predicates until a word is needed. Numbers and coefficients are
 * made once. All fields are read before the first one is written.
 */
#include "cuda_ptx.h"

#include <stdlib.h>
#include <string.h>

#include "backends/common/backend_common.h"
#include "cuda_ptx_functions.h"

/* ---- values ------------------------------------------------------------ */

typedef struct ptx_step {
    vly_cuda_ptx *ptx;
    const vly_program *program; /* folded */
    const uint8_t *used;
    const vly_cuda_ptx_names *names;
    uint32_t row;    /* VLY_CUDA_NO_ROW: by itself */
    uint32_t number; /* of the program, and of the mark: in labels */
    uint32_t mark;
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

/* The register that VLY_READ has filled. */
static uint32_t row_register(uint32_t row, uint32_t f)
{
    const uint32_t number = row == VLY_CUDA_KEPT_ROW ? 0 : row;
    return number * VLY_PROGRAM_MAX_FIELDS + f;
}

static uint32_t read_field(ptx_step *s, uint32_t f)
{
    const uint32_t d = vly_cuda_ptx_register(s->ptx);
    if (s->row == VLY_CUDA_NO_ROW)
        vly_cuda_ptx_line(s->ptx, "ld.global.b32 %%vb%u, [%%vd%u]", d,
                          s->field[f]);
    else
        vly_cuda_ptx_line(s->ptx, "mov.b32 %%vb%u, %%vr%u", d,
                          row_register(s->row, f));
    return d;
}

/* words[place & mask] of its column */
static void read_column(ptx_step *s, uint32_t c, uint32_t d)
{
    vly_cuda_ptx *ptx = s->ptx;
    const uint32_t at = c * (uint32_t)sizeof(vly_cuda_column);
    const uint32_t words = vly_cuda_ptx_address(ptx);
    const uint32_t far = vly_cuda_ptx_address(ptx);
    const uint32_t place = vly_cuda_ptx_register(ptx);
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
}

/* Once, where it is first read; of a row, read_coefs has done it. */
static uint32_t read_coef(ptx_step *s, uint32_t c)
{
    if (s->coef[c] == 0) {
        const uint32_t d = vly_cuda_ptx_register(s->ptx);
        read_column(s, c, d);
        s->coef[c] = d + 1;
    }
    return s->coef[c] - 1;
}

/* All that a row needs: words of shared memory, or of their columns. */
static void read_coefs(ptx_step *s)
{
    const uint32_t words = vly_cuda_ptx_address(s->ptx);
    vly_cuda_ptx_line(s->ptx, "cvta.to.shared.u64 %%vd%u, %s", words,
                      s->names->words);
    for (uint32_t i = 0; i < s->program->n_ops; i++) {
        const vly_program_op *op = &s->program->ops[i];
        if (s->used[i] && op->code == VLY_PROGRAM_COEF && s->coef[op->a] == 0)
            s->coef[op->a] = vly_cuda_ptx_register(s->ptx) + 1;
    }
    vly_cuda_ptx_line(s->ptx, "setp.ne.u32 %%vq, %s, 0", s->names->vary);
    vly_cuda_ptx_line(s->ptx, "@%%vq bra VLY_VARY_%u_%u", s->number, s->mark);
    for (uint32_t c = 0; c < VLY_PROGRAM_MAX_COEFS; c++)
        if (s->coef[c] != 0)
            vly_cuda_ptx_line(s->ptx, "ld.shared.b32 %%vb%u, [%%vd%u+%u]",
                              s->coef[c] - 1, words,
                              c * (uint32_t)sizeof(uint32_t));
    vly_cuda_ptx_line(s->ptx, "bra VLY_HAS_%u_%u", s->number, s->mark);
    vly_cuda_text_add(s->ptx->to, "VLY_VARY_%u_%u:\n", s->number, s->mark);
    for (uint32_t c = 0; c < VLY_PROGRAM_MAX_COEFS; c++)
        if (s->coef[c] != 0)
            read_column(s, c, s->coef[c] - 1);
    vly_cuda_text_add(s->ptx->to, "VLY_HAS_%u_%u:\n", s->number, s->mark);
}

static uint32_t copy(ptx_step *s, const char *name)
{
    const uint32_t d = vly_cuda_ptx_register(s->ptx);
    vly_cuda_ptx_line(s->ptx, "mov.b32 %%vb%u, %s", d, name);
    return d;
}

/* Rows have one port. */
static uint32_t read_input(ptx_step *s, uint32_t port)
{
    if (port < 2)
        return copy(s, port == 0 ? s->names->in0 : s->names->in1);
    const uint32_t d = vly_cuda_ptx_register(s->ptx);
    vly_cuda_ptx_line(s->ptx, "ld.b32 %%vb%u, [%s+%u]", d, s->names->words,
                      (port - 2) * (uint32_t)sizeof(float));
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
        return read_input(s, op->a);
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

static bool reads_field(const ptx_step *s, uint32_t f)
{
    for (uint32_t i = 0; i < s->program->n_ops; i++)
        if (s->used[i] && s->program->ops[i].code == VLY_PROGRAM_FIELD &&
            s->program->ops[i].a == f)
            return true;
    return false;
}

static bool stays(const vly_program *program, uint32_t f)
{
    const vly_program_op *op = &program->ops[program->out[f]];
    return op->code == VLY_PROGRAM_FIELD && op->a == f;
}

/* A field that stays as it is is not written; a count of a row is compared
 * first, as it seldom changes. */
static void write_field(ptx_step *s, uint32_t f, uint32_t word)
{
    const uint32_t from = s->program->out[f];
    const char *guard = "";
    if (stays(s->program, f))
        return;
    if (s->row == VLY_CUDA_KEPT_ROW) {
        vly_cuda_ptx_line(s->ptx, "mov.b32 %%vr%u, %%vb%u",
                          row_register(s->row, f), word);
        return;
    }
    if (s->row != VLY_CUDA_NO_ROW && s->program->types[from] == VLY_TYPE_U32 &&
        reads_field(s, f)) {
        vly_cuda_ptx_line(s->ptx, "setp.ne.u32 %%vq, %%vb%u, %%vr%u", word,
                          row_register(s->row, f));
        guard = "@%vq ";
    }
    vly_cuda_ptx_line(s->ptx, "%sst.global.b32 [%%vd%u], %%vb%u", guard,
                      s->field[f], word);
}

static void write_body(ptx_step *s)
{
    const vly_program *program = s->program;
    uint32_t out[VLY_PROGRAM_MAX_FIELDS];
    find_addresses(s);
    if (s->row != VLY_CUDA_NO_ROW)
        read_coefs(s);
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
        write_field(s, f, out[f]);
}

/* Twice: registers are declared before they are used. */
static void write_step(const vly_program *program, uint32_t number,
                       uint32_t mark, const vly_cuda_ptx_names *names,
                       vly_cuda_text *to)
{
    vly_cuda_text none = {NULL, 0, 0};
    vly_cuda_ptx ptx = {.to = &none};
    vly_common_folded folded;
    vly_common_program_fold(program, &folded);
    ptx_step s = {.ptx = &ptx,
                  .program = &folded.program,
                  .used = folded.used,
                  .names = names,
                  .row = (uint32_t)strtoul(names->row, NULL, 10),
                  .number = number,
                  .mark = mark};
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

typedef enum ptx_mark { MARK_STEP, MARK_READ, MARK_WRITE, MARK_NEEDS } ptx_mark;

/* The fields that the step reads, into registers of the function, or those that
 * it writes, from there. */
static void write_fields(const vly_program *program, ptx_mark mark,
                         const vly_cuda_ptx_names *names, vly_cuda_text *to)
{
    vly_cuda_ptx ptx = {.to = to};
    vly_common_folded folded;
    vly_common_program_fold(program, &folded);
    ptx_step s = {.ptx = &ptx, .program = &folded.program, .used = folded.used};
    const uint32_t row = (uint32_t)strtoul(names->row, NULL, 10);
    vly_cuda_text_add(to, "{\n");
    vly_cuda_ptx_line(&ptx, ".reg .b64 %%vd<%u>", program->n_fields + 1);
    vly_cuda_ptx_line(&ptx, "cvta.to.global.u64 %%vd0, %s", names->state);
    for (uint32_t f = 0; f < program->n_fields; f++) {
        if (f > 0)
            vly_cuda_ptx_line(&ptx, "add.u64 %%vd%u, %%vd%u, %s", f, f - 1,
                              names->stride);
        if (mark == MARK_READ && reads_field(&s, f))
            vly_cuda_ptx_line(&ptx, "ld.global.b32 %%vr%u, [%%vd%u]",
                              row_register(row, f), f);
        if (mark == MARK_WRITE && !stays(&folded.program, f))
            vly_cuda_ptx_line(&ptx, "st.global.b32 [%%vd%u], %%vr%u", f,
                              row_register(row, f));
    }
    vly_cuda_text_add(to, "}\n");
}

/* ---- marks ------------------------------------------------------------- */

/* The next operand of a mark, separated by commas and spaces; 0: there is
 * no other. */
static bool read_name(const char **at, char name[VLY_CUDA_PTX_NAME])
{
    *at += strspn(*at, ", ");
    const size_t n = strcspn(*at, ", ;\r\n");
    if (n == 0 || n >= VLY_CUDA_PTX_NAME)
        return false;
    memcpy(name, *at, n);
    name[n] = 0;
    *at += n;
    return true;
}

#define READ(name, text)                                                       \
    if (!read_name(&at, names->name))                                          \
        return false;

static bool read_names(const char *at, vly_cuda_ptx_names *names)
{
    char rest[VLY_CUDA_PTX_NAME];
    VLY_CUDA_PTX_TABLE(READ)
    return !read_name(&at, rest);
}

static bool read_few_names(const char *at, vly_cuda_ptx_names *names)
{
    char rest[VLY_CUDA_PTX_NAME];
    VLY_CUDA_PTX_READ_TABLE(READ)
    return !read_name(&at, rest);
}

/* One program after the other, each after a branch that skips it. */
static void write_all(const vly_program *const *programs, uint32_t n,
                      uint32_t mark, ptx_mark kind,
                      const vly_cuda_ptx_names *names, vly_cuda_text *to)
{
    const unsigned long row = strtoul(names->row, NULL, 10);
    if (kind == MARK_READ && (row == 0 || row == VLY_CUDA_KEPT_ROW))
        vly_cuda_text_add(to, ".reg .b32 %%vr<%u>;\n",
                          (row == 0 ? VLY_CUDA_QUAD_ROWS : 1) *
                              VLY_PROGRAM_MAX_FIELDS);
    vly_cuda_text_add(to, "{\n.reg .pred %%vq;\n");
    for (uint32_t k = 0; k < n; k++) {
        vly_cuda_text_add(to, "setp.ne.u32 %%vq, %s, %u;\n", names->model, k);
        vly_cuda_text_add(to, "@%%vq bra VLY_STEP_%u_%u;\n", k, mark);
        if (kind == MARK_STEP)
            write_step(programs[k], k, mark, names, to);
        else
            write_fields(programs[k], kind, names, to);
        vly_cuda_text_add(to, "VLY_STEP_%u_%u:\n", k, mark);
    }
    vly_cuda_text_add(to, "}\n");
}

static const char *const marks[] = {[MARK_STEP] = VLY_CUDA_PTX_MARK,
                                    [MARK_READ] = VLY_CUDA_PTX_READ,
                                    [MARK_WRITE] = VLY_CUDA_PTX_WRITE,
                                    [MARK_NEEDS] = VLY_CUDA_PTX_NEEDS};
#define MARK_BEGIN "//VLY_" /* of all */

/* The first mark, its kind, and the operands after it; NULL: there is none. */
static const char *find_mark(const char *text, ptx_mark *kind,
                             const char **operands)
{
    for (; (text = strstr(text, MARK_BEGIN)) != NULL; text++)
        for (ptx_mark k = MARK_STEP; k <= MARK_NEEDS; k++)
            if (strncmp(text, marks[k], strlen(marks[k])) == 0) {
                *kind = k;
                *operands = text + strlen(marks[k]);
                return text;
            }
    return NULL;
}

/* Nothing, or the end of a thread, after which there is no code. */
static bool write_need(const char *at, uint32_t needs, vly_cuda_text *to)
{
    char part[VLY_CUDA_PTX_NAME];
    char rest[VLY_CUDA_PTX_NAME];
    if (!read_name(&at, part) || read_name(&at, rest))
        return false;
    char *end = NULL;
    const unsigned long k = strtoul(part, &end, 10);
    if (*end != 0 || k >= VLY_CUDA_N_NEEDS)
        return false;
    if ((needs >> k & 1) == 0)
        vly_cuda_text_add(to, "trap; exit;");
    return true;
}

/* ---- one kernel of several ----------------------------------------------- */

#define ENTRY ".entry "

/* After the brace that closes the first one; the end if there is none. */
static const char *skip_braces(const char *at)
{
    size_t depth = 0;
    for (; *at; at++) {
        if (*at == '{')
            depth++;
        else if (*at == '}' && --depth == 0)
            return at + 1;
    }
    return at;
}

void vly_cuda_ptx_keep(const char *kernels, const char *begin,
                       vly_cuda_text *to)
{
    const char *at;
    while ((at = strstr(kernels, ENTRY)) != NULL) {
        const char *name = at + strlen(ENTRY);
        const char *end = skip_braces(name);
        const bool kept = strncmp(name, begin, strlen(begin)) == 0;
        vly_cuda_text_copy(to, kernels, (size_t)((kept ? end : at) - kernels));
        kernels = end;
    }
    vly_cuda_text_copy(to, kernels, strlen(kernels));
}

/* ---- all marks ----------------------------------------------------------- */

int vly_cuda_ptx_splice(const char *kernel, const vly_program *const *programs,
                        uint32_t n, uint32_t needs, vly_cuda_text *to)
{
    int n_steps = 0;
    ptx_mark kind = MARK_STEP;
    const char *operands = NULL;
    const char *at;
    for (uint32_t mark = 0; (at = find_mark(kernel, &kind, &operands)) != NULL;
         mark++) {
        vly_cuda_ptx_names names;
        vly_cuda_text_copy(to, kernel, (size_t)(at - kernel));
        kernel = at + strcspn(at, "\n");
        if (kind == MARK_NEEDS) {
            if (!write_need(operands, needs, to))
                return -1;
            continue;
        }
        if (kind == MARK_STEP ? !read_names(operands, &names)
                              : !read_few_names(operands, &names))
            return -1;
        write_all(programs, n, mark, kind, &names, to);
        n_steps += kind == MARK_STEP;
    }
    vly_cuda_text_copy(to, kernel, strlen(kernel));
    return n_steps;
}
