/* SPDX-License-Identifier: Apache-2.0
 * A user's rule as SPIR-V, the way of vulkan_splice.c. Its values are words
 * without a type, as in kernels/rules/rule_program.h: an operation on floats
 * takes their bits as such, so no word that a rule may consist of lacks a
 * meaning. Coefficients are read once a map.
 */
#include "vulkan_splice_rule.h"

#include "vulkan_frame.h"

/* Functions of the frame; `pre` is the last one, which a flush does not have.
 */
#define EACH(X)                                                                \
    VLY_FRAME_EACH(X)                                                          \
    X(post)                                                                    \
    X(pre)
enum { EACH(VLY_FRAME_NUMBER) FUNCTIONS };
_Static_assert(FUNCTIONS <= VLY_FRAME_FUNCTIONS, "functions of a frame");
static const char *const names[] = {EACH(VLY_FRAME_NAME)};
#define WHAT "the shader for users' rules"
#define HEAD "vly_rule_"
static const vly_frame_kind rows_kind = {.what = WHAT,
                                         .head = HEAD,
                                         .names = names,
                                         .n = FUNCTIONS,
                                         .bodies = 1u << F_load | 1u << F_post |
                                                   1u << F_pre,
                                         .least = VLY_RULE_PROGRAM_FIELDS};
static const vly_frame_kind flush_kind = {.what = WHAT,
                                          .head = HEAD,
                                          .names = names,
                                          .n = F_pre,
                                          .bodies = 1u << F_load | 1u << F_post,
                                          .least = VLY_RULE_PROGRAM_FIELDS};

/* A function on its way: the ids of its values, 0 where they are not needed. */
typedef struct writer {
    vly_frame *s;
    uint32_t word[VLY_RULE_PROGRAM_OPS];
    uint32_t number[VLY_RULE_PROGRAM_OPS]; /* the same as a float */
    uint32_t truth[VLY_RULE_PROGRAM_OPS];  /* the same as a bool */
    uint32_t function;
} writer;

/* The operations of a function, folded; false: it has none */
static bool begin(vly_frame *s, const uint32_t *words, uint32_t function)
{
    const vly_rule_program p =
        vly_rule_program_of(words, function == F_post ? 1 : 0);
    if (p.n_ops == 0)
        return false;
    const vly_program whole = {
        .ops = p.ops, .n_ops = p.n_ops, .fired = p.n_ops - 1};
    vly_common_program_fold(&whole, &s->folded);
    s->program = &s->folded.program;
    return true;
}

/* ---- coefficients ------------------------------------------------------- */

static void share_coefs(vly_frame *s, const uint32_t *words, uint32_t function)
{
    if (!begin(s, words, function))
        return;
    for (uint32_t i = 0; i < s->program->n_ops; i++) {
        const vly_program_op *op = &s->program->ops[i];
        if (s->folded.used[i] && op->code == VLY_PROGRAM_COEF &&
            s->coef[op->a] == 0)
            s->coef[op->a] = vly_frame_share(s, s->pointer_uint, s->type_uint,
                                             F_word, op->a + 1);
    }
}

static void write_load(vly_frame *s, const uint32_t *words)
{
    vly_frame_body(s, F_load);
    s->nothing = vly_frame_share(s, s->pointer_uint, s->type_uint, F_word, 0);
    share_coefs(s, words, F_post);
    if (s->kind == &rows_kind)
        share_coefs(s, words, F_pre);
    vly_frame_put(s, s->at, OP_RETURN, NULL, 0);
}

/* ---- operations --------------------------------------------------------- */

static uint32_t word_of(writer *w, uint32_t i)
{
    if (w->word[i] == 0)
        w->word[i] = MAKE(w->s, OP_BITCAST, w->s->type_uint, w->number[i]);
    return w->word[i];
}

static uint32_t number_of(writer *w, uint32_t i)
{
    if (w->number[i] == 0)
        w->number[i] = MAKE(w->s, OP_BITCAST, w->s->type_float, w->word[i]);
    return w->number[i];
}

static uint32_t truth_of(writer *w, uint32_t i)
{
    const uint32_t word = word_of(w, i);
    if (w->truth[i] == 0)
        w->truth[i] =
            MAKE(w->s, OP_INOTEQUAL, w->s->type_bool, word, w->s->zero);
    return w->truth[i];
}

/* Operations without values. */
static void write_leaf(writer *w, uint32_t i)
{
    vly_frame *s = w->s;
    const vly_program_op *op = &s->program->ops[i];
    if (op->code == VLY_PROGRAM_NUMBER)
        w->number[i] = vly_frame_number(s, op->a);
    else if (op->code == VLY_PROGRAM_FIELD)
        w->number[i] = s->parameter[w->function][op->a];
    else
        w->word[i] = MAKE(s, OP_LOAD, s->type_uint, s->coef[op->a]);
}

static bool is_of_words(uint32_t code)
{
    return code == VLY_PROGRAM_NEGATE || code == VLY_PROGRAM_ABSOLUTE ||
           code == VLY_PROGRAM_AND || code == VLY_PROGRAM_OR ||
           code == VLY_PROGRAM_NOT;
}

/* Signs and truths; a, b: words */
static uint32_t write_word(vly_frame *s, uint32_t code, uint32_t a, uint32_t b)
{
    const uint32_t u32 = s->type_uint;
    if (code == VLY_PROGRAM_AND)
        return MAKE(s, OP_BIT_AND, u32, a, b);
    if (code == VLY_PROGRAM_OR)
        return MAKE(s, OP_BIT_OR, u32, a, b);
    if (code == VLY_PROGRAM_NOT)
        return MAKE(s, OP_BIT_XOR, u32, a, s->one);
    const uint32_t mask = vly_frame_constant(
        s, u32, code == VLY_PROGRAM_NEGATE ? 0x80000000u : 0x7fffffffu);
    return code == VLY_PROGRAM_NEGATE ? MAKE(s, OP_BIT_XOR, u32, a, mask)
                                      : MAKE(s, OP_BIT_AND, u32, a, mask);
}

static void write_truth(writer *w, uint32_t i, uint32_t a, uint32_t b)
{
    vly_frame *s = w->s;
    const bool less = s->program->ops[i].code == VLY_PROGRAM_LESS;
    w->truth[i] =
        MAKE(s, less ? OP_FORD_LESS : OP_FORD_AT_MOST, s->type_bool, a, b);
    w->word[i] = MAKE(s, OP_SELECT, s->type_uint, w->truth[i], s->one, s->zero);
}

static void write_op(writer *w, uint32_t i)
{
    vly_frame *s = w->s;
    const vly_program_op *op = &s->program->ops[i];
    const uint32_t reads = vly_rule_operands(op->code);
    if (reads == 0) {
        write_leaf(w, i);
    } else if (op->code == VLY_PROGRAM_SELECT) {
        const uint32_t is = truth_of(w, op->a);
        const uint32_t a = word_of(w, op->b);
        const uint32_t b = word_of(w, op->c);
        w->word[i] = MAKE(s, OP_SELECT, s->type_uint, is, a, b);
    } else if (is_of_words(op->code)) {
        const uint32_t a = word_of(w, op->a);
        const uint32_t b = reads > 1 ? word_of(w, op->b) : 0;
        w->word[i] = write_word(s, op->code, a, b);
    } else {
        const uint32_t a = number_of(w, op->a);
        const uint32_t b = reads > 1 ? number_of(w, op->b) : 0;
        if (op->code == VLY_PROGRAM_LESS || op->code == VLY_PROGRAM_AT_MOST)
            write_truth(w, i, a, b);
        else
            w->number[i] = vly_frame_arithmetic(s, op->code, a, b);
    }
}

/* The bits of what is added to the weight. */
static void write_function(vly_frame *s, const uint32_t *words,
                           uint32_t function)
{
    writer w = {.s = s, .function = function};
    uint32_t last = s->zero;
    vly_frame_body(s, function);
    if (begin(s, words, function)) {
        for (uint32_t i = 0; i < s->program->n_ops; i++)
            if (s->folded.used[i])
                write_op(&w, i);
        last = word_of(&w, s->program->fired);
    }
    PUT(s, s->at, OP_RETURN_VALUE, last);
}

/* ---- all ---------------------------------------------------------------- */

int vly_vulkan_splice_rule(const uint32_t *frame, size_t n, bool flush,
                           const uint32_t *words, uint32_t **out, size_t *n_out,
                           char *message)
{
    vly_frame *s = NULL;
    int failed =
        vly_frame_read(flush ? &flush_kind : &rows_kind, frame, n, &s, message);
    if (failed)
        return failed;
    write_load(s, words);
    write_function(s, words, F_post);
    if (!flush)
        write_function(s, words, F_pre);
    failed = vly_frame_finish(s, out, n_out, message);
    vly_frame_free(s);
    return failed;
}
