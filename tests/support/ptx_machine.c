/* SPDX-License-Identifier: Apache-2.0
 * Runs the straight-line PTX of users' models on the processor.
 */
#include "ptx_machine.h"

#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { WORD, TRUTH, LONG, ROW, GUARD, OUTER, CLASSES }; /* of registers */
enum { ARGS = 4, LABELS = 256 };

#define INSTRUCTIONS(X)                                                        \
    X(add_f32, "add.rn.f32")                                                   \
    X(sub_f32, "sub.rn.f32")                                                   \
    X(mul_f32, "mul.rn.f32")                                                   \
    X(lt_f32, "setp.lt.f32")                                                   \
    X(le_f32, "setp.le.f32")                                                   \
    X(gt_f32, "setp.gt.f32")                                                   \
    X(eq_u32, "setp.eq.u32")                                                   \
    X(ne_u32, "setp.ne.u32")                                                   \
    X(lt_u32, "setp.lt.u32")                                                   \
    X(gt_u32, "setp.gt.u32")                                                   \
    X(selp, "selp.b32")                                                        \
    X(mov, "mov.b32")                                                          \
    X(and_b32, "and.b32")                                                      \
    X(or_b32, "or.b32")                                                        \
    X(xor_b32, "xor.b32")                                                      \
    X(and_pred, "and.pred")                                                    \
    X(or_pred, "or.pred")                                                      \
    X(not_pred, "not.pred")                                                    \
    X(shl, "shl.b32")                                                          \
    X(shr, "shr.u32")                                                          \
    X(add_u32, "add.u32")                                                      \
    X(sub_u32, "sub.u32")                                                      \
    X(mul_lo, "mul.lo.u32")                                                    \
    X(mul_hi, "mul.hi.u32")                                                    \
    X(mul_wide, "mul.wide.u32")                                                \
    X(add_u64, "add.u64")                                                      \
    X(to_s32, "cvt.rzi.s32.f32")                                               \
    X(from_s32, "cvt.rn.f32.s32")                                              \
    X(to_shared, "cvta.to.shared.u64")                                         \
    X(ld_shared, "ld.shared.b32")                                              \
    X(ld_any, "ld.b32")                                                        \
    X(to_global, "cvta.to.global.u64")                                         \
    X(ld_b32, "ld.global.b32")                                                 \
    X(ld_u64, "ld.global.u64")                                                 \
    X(st_b32, "st.global.b32")                                                 \
    X(bra, "bra")

enum code {
#define CODE(id, name) OP_##id,
    INSTRUCTIONS(CODE)
#undef CODE
        N_OPS
};

static const char *const op_names[N_OPS] = {
#define NAME(id, name) name,
    INSTRUCTIONS(NAME)
#undef NAME
};

typedef struct place {
    uint8_t kind;      /* of register, or CLASSES for a number */
    uint8_t is_memory; /* at this address */
    uint32_t index;    /* of a register */
    uint64_t number;   /* or the distance from an address */
} place;

typedef struct line {
    uint8_t op;
    uint8_t n;
    uint8_t guarded;
    uint32_t target; /* line, of bra */
    place arg[ARGS];
} line;

typedef struct cell {
    uint64_t value;
    uint32_t written; /* run that wrote it */
} cell;

struct ptx_machine {
    line *lines;
    uint32_t n_lines;
    uint32_t room;
    uint32_t declared[CLASSES]; /* of the block that is read */
    cell *cells[CLASSES];
    uint32_t n_cells[CLASSES];
    uint32_t n_outer;
    uint32_t runs;
    char labels[LABELS][PTX_NAME];
    uint32_t label_line[LABELS];
    uint32_t n_labels;
    char wanted[LABELS][PTX_NAME]; /* labels of branches */
    uint32_t wanted_line[LABELS];
    uint32_t n_wanted;
};

/* ---- reading ----------------------------------------------------------- */

static bool read_register(const ptx_machine *m, const ptx_outer *outer,
                          const char *text, place *to)
{
    static const char *const prefixes[] = {"%vb", "%vp", "%vd", "%vr"};
    for (uint32_t k = 0; k < m->n_outer; k++)
        if (strcmp(outer[k].name, text) == 0) {
            to->kind = OUTER;
            to->index = k;
            return true;
        }
    if (strcmp(text, "%vq") == 0) {
        to->kind = GUARD;
        to->index = 0;
        return m->declared[GUARD] > 0;
    }
    for (uint8_t c = WORD; c <= ROW; c++)
        if (strncmp(text, prefixes[c], 3) == 0 && text[3] != 0) {
            char *end;
            to->kind = c;
            to->index = (uint32_t)strtoul(text + 3, &end, 10);
            return *end == 0 && to->index < m->declared[c];
        }
    return false;
}

static bool read_place(const ptx_machine *m, const ptx_outer *outer, char *text,
                       place *to)
{
    char *end;
    *to = (place){0};
    if (text[0] >= '0' && text[0] <= '9') {
        to->kind = CLASSES;
        to->number = strtoull(text, &end, 0);
        return *end == 0;
    }
    if (text[0] != '[')
        return read_register(m, outer, text, to);
    end = strchr(text, ']');
    if (end == NULL || end[1] != 0)
        return false;
    *end = 0;
    char *plus = strchr(text, '+');
    if (plus != NULL) {
        *plus = 0;
        to->number = strtoull(plus + 1, NULL, 10);
    }
    to->is_memory = 1;
    return read_register(m, outer, text + 1, to);
}

/* ".reg .b32 %vb<12>" */
static bool declare(ptx_machine *m, const char *text)
{
    unsigned n;
    if (sscanf(text, ".reg .b32 %%vb<%u>", &n) == 1)
        m->declared[WORD] = n;
    else if (sscanf(text, ".reg .b64 %%vd<%u>", &n) == 1)
        m->declared[LONG] = n;
    else if (sscanf(text, ".reg .pred %%vp<%u>", &n) == 1)
        m->declared[TRUTH] = n;
    else if (sscanf(text, ".reg .b32 %%vr<%u>", &n) == 1)
        m->declared[ROW] = n;
    else if (strcmp(text, ".reg .pred %vq") == 0)
        m->declared[GUARD] = 1;
    else
        return false;
    for (int c = 0; c < CLASSES; c++)
        if (m->declared[c] > m->n_cells[c])
            m->n_cells[c] = m->declared[c];
    return true;
}

static bool keep_name(char to[PTX_NAME], const char *from)
{
    const size_t n = strlen(from);
    if (n >= PTX_NAME)
        return false;
    memcpy(to, from, n + 1);
    return true;
}

static bool read_instruction(ptx_machine *m, const ptx_outer *outer, char *text)
{
    char name[32];
    int n = 0;
    line made = {0};
    if (strncmp(text, "@%vq ", 5) == 0) {
        made.guarded = 1;
        text += 5;
    }
    if (sscanf(text, "%31s %n", name, &n) != 1)
        return false;
    while (made.op < N_OPS && strcmp(op_names[made.op], name) != 0)
        made.op++;
    if (made.op == N_OPS)
        return false;
    if (made.op == OP_bra) {
        if (m->n_wanted == LABELS)
            return false;
        if (!keep_name(m->wanted[m->n_wanted], text + n))
            return false;
        m->wanted_line[m->n_wanted++] = m->n_lines;
    }
    char *rest = NULL;
    for (char *at = strtok_r(text + n, ", ", &rest); at && made.op != OP_bra;
         at = strtok_r(NULL, ", ", &rest))
        if (made.n == ARGS || !read_place(m, outer, at, &made.arg[made.n++]))
            return false;
    if (m->n_lines == m->room) {
        m->room = m->room * 2 + 1024;
        line *larger = realloc(m->lines, m->room * sizeof *larger);
        if (larger == NULL)
            return false;
        m->lines = larger;
    }
    m->lines[m->n_lines++] = made;
    return true;
}

/* One line of text, without its end. */
static bool read_line(ptx_machine *m, const ptx_outer *outer, char *text)
{
    size_t n = strlen(text);
    if (n == 0 || strcmp(text, "{") == 0 || strcmp(text, "}") == 0)
        return true;
    if (text[n - 1] == ':' && m->n_labels < LABELS) {
        text[n - 1] = 0;
        if (!keep_name(m->labels[m->n_labels], text))
            return false;
        m->label_line[m->n_labels++] = m->n_lines;
        return true;
    }
    if (text[n - 1] != ';')
        return false;
    text[n - 1] = 0;
    return text[0] == '.' ? declare(m, text) : read_instruction(m, outer, text);
}

static bool find_labels(ptx_machine *m)
{
    for (uint32_t w = 0; w < m->n_wanted; w++) {
        uint32_t k = 0;
        while (k < m->n_labels && strcmp(m->labels[k], m->wanted[w]) != 0)
            k++;
        if (k == m->n_labels)
            return false;
        m->lines[m->wanted_line[w]].target = m->label_line[k];
    }
    for (int c = 0; c < CLASSES; c++) {
        m->cells[c] = calloc(m->n_cells[c] + 1u, sizeof(cell));
        if (m->cells[c] == NULL)
            return false;
    }
    return true;
}

ptx_machine *ptx_machine_read(const char *text, const ptx_outer *outer,
                              uint32_t n_outer, char *why, size_t size)
{
    ptx_machine *m = calloc(1, sizeof *m);
    if (m == NULL)
        return NULL;
    m->n_outer = n_outer;
    while (*text != 0) {
        char one[160];
        const size_t n = strcspn(text, "\n");
        if (n >= sizeof one) {
            snprintf(why, size, "a line of %zu characters", n);
            ptx_machine_free(m);
            return NULL;
        }
        memcpy(one, text, n);
        one[n] = 0;
        text += n + (text[n] == '\n');
        char kept[160];
        memcpy(kept, one, n + 1);
        if (!read_line(m, outer, one)) {
            snprintf(why, size, "not understood: %s", kept);
            ptx_machine_free(m);
            return NULL;
        }
    }
    if (find_labels(m))
        return m;
    snprintf(why, size, "a branch to nowhere, or no memory");
    ptx_machine_free(m);
    return NULL;
}

uint32_t ptx_machine_lines(const ptx_machine *machine)
{
    return machine->n_lines;
}

void ptx_machine_free(ptx_machine *machine)
{
    if (machine == NULL)
        return;
    for (int c = 0; c < CLASSES; c++)
        free(machine->cells[c]);
    free(machine->lines);
    free(machine);
}

/* ---- running ----------------------------------------------------------- */

static float to_float(uint64_t bits)
{
    uint32_t word = (uint32_t)bits;
    float x;
    memcpy(&x, &word, sizeof x);
    return x;
}

static uint64_t to_bits(float x)
{
    uint32_t word;
    memcpy(&word, &x, sizeof word);
    return isnan(x) ? 0x7fffffffu : word;
}

static int32_t truncate_float(float x)
{
    if (isnan(x))
        return 0;
    return x >= 2147483648.0f    ? INT32_MAX
           : x <= -2147483648.0f ? INT32_MIN
                                 : (int32_t)x;
}

static uint64_t of_floats(uint8_t op, float x, float y)
{
    switch (op) {
    case OP_add_f32:
        return to_bits(x + y);
    case OP_sub_f32:
        return to_bits(x - y);
    case OP_mul_f32:
        return to_bits(x * y);
    case OP_lt_f32:
        return x < y;
    case OP_le_f32:
        return x <= y;
    case OP_gt_f32:
        return x > y;
    default:
        return (uint32_t)truncate_float(x);
    }
}

static uint64_t of_words(uint8_t op, uint32_t a, uint32_t b, uint64_t c)
{
    switch (op) {
    case OP_eq_u32:
        return a == b;
    case OP_ne_u32:
        return a != b;
    case OP_lt_u32:
        return a < b;
    case OP_gt_u32:
        return a > b;
    case OP_selp:
        return c != 0 ? a : b;
    case OP_and_b32:
    case OP_and_pred:
        return a & b;
    case OP_or_b32:
    case OP_or_pred:
        return a | b;
    case OP_xor_b32:
        return a ^ b;
    case OP_not_pred:
        return a ^ 1u;
    case OP_shl:
        return b < 32 ? a << b : 0;
    case OP_shr:
        return b < 32 ? a >> b : 0;
    case OP_add_u32:
        return a + b;
    case OP_sub_u32:
        return a - b;
    case OP_mul_lo:
        return a * b;
    case OP_mul_hi:
        return (uint64_t)a * b >> 32;
    case OP_mul_wide:
        return (uint64_t)a * b;
    case OP_from_s32:
        return to_bits((float)(int32_t)a);
    default:
        return a; /* mov */
    }
}

/* Sources of a line; false: one of them was not written. */
static bool fetch(const ptx_machine *m, const ptx_outer *outer, const line *l,
                  uint64_t in[ARGS])
{
    const uint32_t from = l->op == OP_st_b32 ? 0 : 1;
    for (uint32_t k = from; k < l->n; k++) {
        const place *p = &l->arg[k];
        if (p->kind == CLASSES) {
            in[k] = p->number;
        } else if (p->kind == OUTER) {
            in[k] = outer[p->index].value;
        } else {
            const cell *found = &m->cells[p->kind][p->index];
            if (found->written != m->runs)
                return false;
            in[k] = found->value;
        }
        if (p->is_memory)
            in[k] += p->number;
    }
    return true;
}

static uint64_t compute(const line *l, const uint64_t in[ARGS])
{
    uint32_t word;
    uint64_t wide;
    switch (l->op) {
    case OP_ld_b32:
    case OP_ld_shared:
    case OP_ld_any:
        memcpy(&word, (const void *)(uintptr_t)in[1], sizeof word);
        return word;
    case OP_ld_u64:
        memcpy(&wide, (const void *)(uintptr_t)in[1], sizeof wide);
        return wide;
    case OP_add_u64:
        return in[1] + in[2];
    case OP_to_global:
    case OP_to_shared:
        return in[1];
    case OP_add_f32:
    case OP_sub_f32:
    case OP_mul_f32:
    case OP_lt_f32:
    case OP_le_f32:
    case OP_gt_f32:
    case OP_to_s32:
        return of_floats(l->op, to_float(in[1]), to_float(in[2]));
    default:
        return of_words(l->op, (uint32_t)in[1], (uint32_t)in[2], in[3]);
    }
}

static void put(ptx_machine *m, ptx_outer *outer, const place *to,
                uint64_t value)
{
    if (to->kind == OUTER) {
        outer[to->index].value = value;
        return;
    }
    m->cells[to->kind][to->index].value = value;
    m->cells[to->kind][to->index].written = m->runs;
}

int ptx_machine_run(ptx_machine *machine, ptx_outer *outer, char *why,
                    size_t size)
{
    machine->runs++;
    for (uint32_t i = 0; i < machine->n_lines; i++) {
        const line *l = &machine->lines[i];
        uint64_t in[ARGS] = {0};
        if (l->op == OP_bra) {
            if (!l->guarded || machine->cells[GUARD][0].value != 0)
                i = l->target - 1; /* the loop adds 1, also to -1 */
            continue;
        }
        if (l->guarded && machine->cells[GUARD][0].value == 0)
            continue;
        if (!fetch(machine, outer, l, in)) {
            snprintf(why, size, "line %u (%s) reads what no line has written",
                     i, op_names[l->op]);
            return -1;
        }
        if (l->op == OP_st_b32) {
            const uint32_t word = (uint32_t)in[1];
            memcpy((void *)(uintptr_t)in[0], &word, sizeof word);
        } else {
            put(machine, outer, &l->arg[0], compute(l, in));
        }
    }
    return 0;
}
