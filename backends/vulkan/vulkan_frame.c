/* SPDX-License-Identifier: Apache-2.0
 * Reads a frame for users' models or rules, and puts the new bodies in the
 * places of the old ones. Types and functions are found by what they are and by
 * name.
 */
#include "vulkan_frame.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define HEADER_WORDS 5u
#define BOUND_AT 3u

void vly_frame_put(vly_frame *s, vly_frame_text *t, uint32_t opcode,
                   const uint32_t *words, uint32_t n)
{
    if (t->room - t->n < n + 1) {
        size_t room = 2 * t->room + n + 1024;
        uint32_t *more = realloc(t->words, room * sizeof *more);
        if (!more) {
            s->no_memory = true;
            return;
        }
        t->words = more;
        t->room = room;
    }
    t->words[t->n] = (n + 1) << 16 | opcode;
    if (n > 0)
        memcpy(t->words + t->n + 1, words, n * sizeof *words);
    t->n += n + 1;
}

/* ---- parts of bodies ---------------------------------------------------- */

enum { VLY_FRAME_EACH(VLY_FRAME_NUMBER) };

void vly_frame_body(vly_frame *s, uint32_t function)
{
    s->at = &s->body[function];
    PUT(s, s->at, OP_LABEL, s->bound);
    s->bound++;
}

uint32_t vly_frame_constant(vly_frame *s, uint32_t type, uint32_t bits)
{
    PUT(s, &s->globals, OP_CONSTANT, type, s->bound, bits);
    return s->bound++;
}

uint32_t vly_frame_share(vly_frame *s, uint32_t pointer, uint32_t type,
                         uint32_t function, uint32_t k)
{
    uint32_t number_of = vly_frame_constant(s, s->type_uint, k);
    uint32_t variable = s->bound++;
    PUT(s, &s->globals, OP_VARIABLE, pointer, variable, CLASS_PRIVATE);
    uint32_t found =
        MAKE(s, OP_FUNCTION_CALL, type, s->function[function], number_of);
    PUT(s, s->at, OP_STORE, variable, found);
    s->variable[s->n_variables++] = variable;
    return variable;
}

/* A float that the check does not accept as a constant is made of its bits.
 * Mesa's compiler for processors takes 0 * x as 0 and 0 + x as x where it knows
 * the 0 (lp_build_mul, seen with 22.3), which is wrong for infinities and -0,
 * so it may not know. */
uint32_t vly_frame_number(vly_frame *s, uint32_t bits)
{
    if ((bits & 0x7fffffffu) == 0) {
        uint32_t word = MAKE(s, OP_LOAD, s->type_uint, s->nothing);
        uint32_t sign = vly_frame_constant(s, s->type_uint, bits);
        if (bits != 0)
            word = MAKE(s, OP_BIT_XOR, s->type_uint, word, sign);
        return MAKE(s, OP_BITCAST, s->type_float, word);
    }
    if (vly_spirv_is_constant(bits))
        return vly_frame_constant(s, s->type_float, bits);
    uint32_t whole = vly_frame_constant(s, s->type_uint, bits);
    return MAKE(s, OP_BITCAST, s->type_float, whole);
}

uint32_t vly_frame_arithmetic(vly_frame *s, uint32_t code, uint32_t a,
                              uint32_t b)
{
    const uint32_t f32 = s->type_float;
    switch (code) {
    case VLY_PROGRAM_ADD:
        return MAKE(s, OP_FADD, f32, a, b);
    case VLY_PROGRAM_SUBTRACT:
        return MAKE(s, OP_FSUB, f32, a, b);
    case VLY_PROGRAM_MULTIPLY:
        return MAKE(s, OP_FMUL, f32, a, b);
    case VLY_PROGRAM_INVERSE:
        return CALL(s, f32, inverse, a);
    case VLY_PROGRAM_ROOT:
        return CALL(s, f32, root, a);
    case VLY_PROGRAM_EXP:
        return CALL(s, f32, exp, a);
    case VLY_PROGRAM_DECAY_MEAN:
        return CALL(s, f32, decay_mean, a);
    }
    return 0;
}

/* ---- the frame ---------------------------------------------------------- */

int vly_frame_refuse(const vly_frame *s, char *message, const char *why,
                     unsigned where)
{
    snprintf(message, VLY_SPIRV_MESSAGE, "%s: %s (%u)", s->kind->what, why,
             where);
    return -1;
}

static void note_name(vly_frame *s, const uint32_t *w, uint32_t n)
{
    const size_t head = strlen(s->kind->head);
    const char *name = (const char *)(w + 2);
    const size_t room = (n - 2) * sizeof *w;
    if (room <= head + 1 || memcmp(name, s->kind->head, head) != 0)
        return;
    const char *rest = name + head;
    for (uint32_t k = 0; k < s->kind->n; k++) {
        size_t length = strlen(s->kind->names[k]);
        if (room > head + length + 1 &&
            memcmp(rest, s->kind->names[k], length) == 0 && rest[length] == '(')
            s->function[k] = w[1];
    }
}

static void note_type(vly_frame *s, const uint32_t *w, uint32_t n)
{
    switch (w[0] & 0xffffu) {
    case OP_TYPE_VOID:
        s->type_void = w[1];
        break;
    case OP_TYPE_BOOL:
        s->type_bool = w[1];
        break;
    case OP_TYPE_FLOAT:
        s->type_float = w[1];
        break;
    case OP_TYPE_INT:
        if (n == 4 && w[3] == 0 && w[2] == 32)
            s->type_uint = w[1];
        if (n == 4 && w[3] == 0 && w[2] == 64)
            s->type_long = w[1];
        break;
    case OP_TYPE_POINTER:
        if (n == 4 && w[2] == CLASS_PRIVATE && w[3] == s->type_uint)
            s->pointer_uint = w[1];
        if (n == 4 && w[2] == CLASS_PRIVATE && w[3] == s->type_long)
            s->pointer_long = w[1];
        break;
    }
}

/* The number of a function that gets a new body, or kind->n. */
static uint32_t replaced(const vly_frame *s, uint32_t function)
{
    uint32_t k = 0;
    while (k < s->kind->n && (function == 0 || function != s->function[k] ||
                              (s->kind->bodies >> k & 1u) == 0))
        k++;
    return k;
}

/* An instruction of a body that is replaced: -1 if it is not one of those that
 * calls of functions need. */
static int note_gone(vly_frame *s, const uint32_t *w)
{
    switch (w[0] & 0xffffu) {
    case OP_LABEL:
        s->gone[w[1]] = 1;
        return 0;
    case OP_FUNCTION_CALL:
    case OP_LOAD:
        s->gone[w[2]] = 1;
        return 0;
    case OP_RETURN:
    case OP_RETURN_VALUE:
    case OP_FUNCTION_END:
        return 0;
    }
    return -1;
}

/* Whether all is there. */
static int check_all(const vly_frame *s, char *message)
{
    const vly_frame_kind *kind = s->kind;
    for (uint32_t k = 0; k < kind->n; k++) {
        if (s->function[k] == 0)
            return vly_frame_refuse(s, message, kind->names[k], k);
        if (s->n_parameters[k] > 0 && s->n_parameters[k] < kind->least)
            return vly_frame_refuse(s, message, "a parameter is missing",
                                    s->n_parameters[k]);
    }
    if (s->type_void == 0 || s->type_bool == 0 || s->type_float == 0 ||
        s->pointer_uint == 0 || (kind->has_longs && s->pointer_long == 0))
        return vly_frame_refuse(s, message, "a type is missing", 0);
    return 0;
}

/* The frame is the build's own: vly_spirv_check has seen that its instructions
 * fit. */
static int read_all(vly_frame *s, char *message)
{
    uint32_t function = 0;
    for (size_t at = HEADER_WORDS; at < s->n; at += s->words[at] >> 16) {
        const uint32_t *w = s->words + at;
        const uint32_t opcode = w[0] & 0xffffu;
        if (opcode == OP_NAME)
            note_name(s, w, w[0] >> 16);
        else if (opcode >= OP_TYPE_VOID && opcode <= OP_TYPE_POINTER)
            note_type(s, w, w[0] >> 16);
        if (opcode == OP_FUNCTION)
            function = w[2];
        const uint32_t k = replaced(s, function);
        if (opcode == OP_FUNCTION_END)
            function = 0;
        if (k == s->kind->n || opcode == OP_FUNCTION)
            continue;
        if (opcode != OP_FUNCTION_PARAMETER) {
            if (note_gone(s, w) != 0)
                return vly_frame_refuse(s, message, "unexpected opcode in it",
                                        opcode);
        } else if (s->n_parameters[k] < VLY_FRAME_PARAMETERS)
            s->parameter[k][s->n_parameters[k]++] = w[2];
    }
    return check_all(s, message);
}

/* ---- writing ------------------------------------------------------------ */

static void append(vly_frame *s, const vly_frame_text *from)
{
    for (size_t at = 0; at < from->n; at += from->words[at] >> 16)
        vly_frame_put(s, &s->made, from->words[at] & 0xffffu,
                      from->words + at + 1, (from->words[at] >> 16) - 1);
}

/* The variables are in the interface of the entry point since SPIR-V 1.4. */
static void put_entry(vly_frame *s, const uint32_t *w)
{
    uint32_t all[512];
    uint32_t n = 0;
    for (uint32_t i = 1; i < w[0] >> 16 && n < 256; i++)
        all[n++] = w[i];
    for (uint32_t i = 0; i < s->n_variables; i++)
        all[n++] = s->variable[i];
    vly_frame_put(s, &s->made, OP_ENTRY_POINT, all, n);
}

static void put_all(vly_frame *s)
{
    uint32_t function = 0;
    bool at_types = true; /* no function yet */
    for (size_t at = HEADER_WORDS; at < s->n; at += s->words[at] >> 16) {
        const uint32_t *w = s->words + at;
        const uint32_t opcode = w[0] & 0xffffu;
        if (opcode == OP_ENTRY_POINT) {
            put_entry(s, w);
            continue;
        }
        if ((opcode == OP_NAME || opcode == OP_DECORATE) && s->gone[w[1]])
            continue;
        if (opcode == OP_FUNCTION) {
            function = w[2];
            if (at_types)
                append(s, &s->globals);
            at_types = false;
        }
        const uint32_t k = replaced(s, function);
        if (k < s->kind->n && opcode == OP_FUNCTION_END)
            append(s, &s->body[k]);
        else if (k < s->kind->n && opcode != OP_FUNCTION &&
                 opcode != OP_FUNCTION_PARAMETER)
            continue;
        if (opcode == OP_FUNCTION_END)
            function = 0;
        vly_frame_put(s, &s->made, opcode, w + 1, (w[0] >> 16) - 1);
    }
}

int vly_frame_read(const vly_frame_kind *kind, const uint32_t *words, size_t n,
                   vly_frame **made, char *message)
{
    int failed = vly_spirv_check(words, n, message);
    if (failed)
        return failed;
    vly_frame *s = calloc(1, sizeof *s);
    if (!s)
        return VLY_SPIRV_NO_MEMORY;
    s->kind = kind;
    s->words = words;
    s->n = n;
    s->bound = words[BOUND_AT];
    s->gone = calloc(s->bound, 1);
    failed = !s->gone ? VLY_SPIRV_NO_MEMORY : read_all(s, message);
    if (failed) {
        vly_frame_free(s);
        return failed;
    }
    s->zero = vly_frame_constant(s, s->type_uint, 0);
    s->one = vly_frame_constant(s, s->type_uint, 1);
    *made = s;
    return 0;
}

static int assemble(vly_frame *s)
{
    /* the header, in the form of an instruction */
    vly_frame_put(s, &s->made, 0, s->words + 1, HEADER_WORDS - 1);
    put_all(s);
    if (s->no_memory)
        return VLY_SPIRV_NO_MEMORY;
    s->made.words[0] = s->words[0];
    s->made.words[BOUND_AT] = s->bound;
    return 0;
}

int vly_frame_finish(vly_frame *s, uint32_t **out, size_t *n_out, char *message)
{
    uint32_t *done = NULL;
    size_t n_done = 0;
    int failed = assemble(s);
    if (!failed)
        failed = vly_spirv_decorate(s->made.words, s->made.n, &done, &n_done,
                                    message);
    if (!failed)
        failed = vly_spirv_check(done, n_done, message);
    if (failed) {
        free(done);
        return failed;
    }
    *out = done;
    *n_out = n_done;
    return 0;
}

void vly_frame_free(vly_frame *s)
{
    free(s->gone);
    free(s->globals.words);
    for (uint32_t k = 0; k < VLY_FRAME_FUNCTIONS; k++)
        free(s->body[k].words);
    free(s->made.words);
    free(s);
}
