/* SPDX-License-Identifier: Apache-2.0
 * Reads the frame of users' models, and puts the new bodies in the places of
 * the old ones. Types and functions are found by what they are and by name.
 */
#include "vulkan_frame.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define HEADER_WORDS 5u
#define BOUND_AT 3u

static const char *const function_names[VLY_FRAME_FUNCTIONS] = {
#define NAME(name) #name,
    VLY_FRAME_EACH(NAME)
#undef NAME
};

void vly_frame_put(vly_frame *s, vly_frame_text *t, uint32_t opcode,
                   const uint32_t *words, uint32_t n)
{
    if (t->room - t->n < n + 1) {
        size_t room = 2 * t->room + n + 1024;
        uint32_t *more = realloc(t->words, room * sizeof *more);
        if (more == NULL) {
            s->no_memory = 1;
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

/* ---- the frame ---------------------------------------------------------- */

int vly_frame_refuse(char *message, const char *what, unsigned where)
{
    snprintf(message, VLY_SPIRV_MESSAGE,
             "the shader for users' models: %s (%u)", what, where);
    return -1;
}

static void note_name(vly_frame *s, const uint32_t *w, uint32_t n)
{
    static const char head[] = "vly_program_";
    const char *name = (const char *)(w + 2);
    const size_t room = (n - 2) * sizeof *w;
    if (room <= sizeof head || memcmp(name, head, sizeof head - 1) != 0)
        return;
    const char *rest = name + sizeof head - 1;
    for (uint32_t k = 0; k < VLY_FRAME_FUNCTIONS; k++) {
        size_t length = strlen(function_names[k]);
        if (room > sizeof head + length &&
            memcmp(rest, function_names[k], length) == 0 && rest[length] == '(')
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

static int is_replaced(const vly_frame *s, uint32_t function)
{
    return function != 0 &&
           (function == s->function[F_load] || function == s->function[F_step]);
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

/* The frame is the build's own: vly_spirv_check has seen that its instructions
 * fit. */
static int read_all(vly_frame *s, char *message)
{
    uint32_t function = 0;
    uint32_t n_parameters = 0;
    for (size_t at = HEADER_WORDS; at < s->n; at += s->words[at] >> 16) {
        const uint32_t *w = s->words + at;
        const uint32_t opcode = w[0] & 0xffffu;
        if (opcode == OP_NAME)
            note_name(s, w, w[0] >> 16);
        else if (opcode >= OP_TYPE_VOID && opcode <= OP_TYPE_POINTER)
            note_type(s, w, w[0] >> 16);
        else if (opcode == OP_FUNCTION)
            function = w[2];
        else if (!is_replaced(s, function))
            continue;
        else if (opcode != OP_FUNCTION_PARAMETER) {
            if (note_gone(s, w) != 0)
                return vly_frame_refuse(message, "unexpected opcode in it",
                                        opcode);
        } else if (n_parameters < VLY_FRAME_PARAMETERS)
            s->parameter[n_parameters++] = w[2];
        if (opcode == OP_FUNCTION_END)
            function = 0;
    }
    for (uint32_t k = 0; k < VLY_FRAME_FUNCTIONS; k++)
        if (s->function[k] == 0)
            return vly_frame_refuse(message, function_names[k], k);
    if ((n_parameters != 4 && n_parameters != VLY_FRAME_PARAMETERS) ||
        s->type_void == 0 || s->type_bool == 0 || s->type_float == 0 ||
        s->pointer_uint == 0 || s->pointer_long == 0)
        return vly_frame_refuse(message, "a type or a parameter is missing",
                                n_parameters);
    return 0;
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
    for (uint32_t f = 0; f < VLY_PROGRAM_MAX_FIELDS; f++)
        if (s->field[f] != 0)
            all[n++] = s->field[f];
    for (uint32_t k = 0; k < VLY_PROGRAM_MAX_COEFS; k++)
        if (s->coef[k] != 0)
            all[n++] = s->coef[k];
    for (uint32_t g = 0; g < VLY_FRAME_GROUPS; g++)
        if (s->vary[g] != 0)
            all[n++] = s->vary[g];
    all[n++] = s->nothing;
    vly_frame_put(s, &s->made, OP_ENTRY_POINT, all, n);
}

static void put_all(vly_frame *s)
{
    uint32_t function = 0;
    int at_types = 1; /* no function yet */
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
            at_types = 0;
        }
        if (is_replaced(s, function) && opcode == OP_FUNCTION_END)
            append(s, function == s->function[F_load] ? &s->load : &s->step);
        else if (is_replaced(s, function) && opcode != OP_FUNCTION &&
                 opcode != OP_FUNCTION_PARAMETER)
            continue;
        if (opcode == OP_FUNCTION_END)
            function = 0;
        vly_frame_put(s, &s->made, opcode, w + 1, (w[0] >> 16) - 1);
    }
}

int vly_frame_read(vly_frame *s, char *message)
{
    s->bound = s->words[BOUND_AT];
    s->gone = calloc(s->bound, 1);
    if (s->gone == NULL)
        return VLY_SPIRV_NO_MEMORY;
    return read_all(s, message);
}

int vly_frame_assemble(vly_frame *s)
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

void vly_frame_free(vly_frame *s)
{
    free(s->gone);
    free(s->globals.words);
    free(s->load.words);
    free(s->step.words);
    free(s->made.words);
    free(s);
}
