/* SPDX-License-Identifier: Apache-2.0
 * For vulkan_splice*.c only: a frame, and the text that is written into it.
 */
#ifndef VOLLEY_VULKAN_FRAME_H
#define VOLLEY_VULKAN_FRAME_H

#include <stdbool.h>

#include "backends/common/backend_common.h"
#include "vulkan_splice.h"

/* Of a function at most. Those of a step: i, neuron, in0, in1 and, with more
 * ports, in2 and in3. */
#define VLY_FRAME_PARAMETERS (2 + VLY_PORTS_MAX)
#define VLY_FRAME_FUNCTIONS 16u
#define VLY_FRAME_VARIABLES                                                    \
    (VLY_PROGRAM_MAX_FIELDS + VLY_PROGRAM_MAX_COEFS + VLY_FRAME_GROUPS + 1)
#define VLY_FRAME_GROUPS (VLY_PROGRAM_MAX_COEFS / 32)

/* Opcodes of the specification, by its names, and a storage class. */
enum {
    OP_NAME = 5,
    OP_ENTRY_POINT = 15,
    OP_TYPE_VOID = 19,
    OP_TYPE_BOOL = 20,
    OP_TYPE_INT = 21,
    OP_TYPE_FLOAT = 22,
    OP_TYPE_POINTER = 32,
    OP_CONSTANT = 43,
    OP_FUNCTION = 54,
    OP_FUNCTION_PARAMETER = 55,
    OP_FUNCTION_END = 56,
    OP_FUNCTION_CALL = 57,
    OP_VARIABLE = 59,
    OP_LOAD = 61,
    OP_STORE = 62,
    OP_DECORATE = 71,
    OP_BITCAST = 124,
    OP_FNEGATE = 127,
    OP_FADD = 129,
    OP_ISUB = 130,
    OP_FSUB = 131,
    OP_FMUL = 133,
    OP_SELECT = 169,
    OP_IEQUAL = 170,
    OP_INOTEQUAL = 171,
    OP_FORD_LESS = 184,
    OP_FORD_AT_MOST = 188,
    OP_BIT_OR = 197,
    OP_BIT_XOR = 198,
    OP_BIT_AND = 199,
    OP_LABEL = 248,
    OP_RETURN = 253,
    OP_RETURN_VALUE = 254,
    CLASS_PRIVATE = 6
};

/* Functions that every frame has. Each kind has a list of its own, which begins
 * with them. */
#define VLY_FRAME_EACH(X)                                                      \
    X(load)                                                                    \
    X(word)                                                                    \
    X(inverse)                                                                 \
    X(root)                                                                    \
    X(exp)                                                                     \
    X(decay_mean)
#define VLY_FRAME_NUMBER(name) F_##name,
#define VLY_FRAME_NAME(name) #name,

/* What a frame is for, and its functions. */
typedef struct vly_frame_kind {
    const char *what;         /* in messages */
    const char *head;         /* of the names of its functions */
    const char *const *names; /* [n] the rest of them */
    uint32_t n;
    uint32_t bodies;    /* bit k: function k gets a new body */
    uint32_t least;     /* parameters of those that have some */
    uint32_t has_longs; /* 1: private variables of 64 bits are wanted */
} vly_frame_kind;

typedef struct vly_frame_text {
    uint32_t *words;
    size_t n;
    size_t room;
} vly_frame_text;

typedef struct vly_frame {
    const vly_frame_kind *kind;
    const vly_program *program; /* of a model, or a function of a rule */
    const uint32_t *words;
    size_t n;
    uint8_t *gone; /* [bound] made by the bodies that are replaced */
    uint32_t function[VLY_FRAME_FUNCTIONS];
    /* of functions with a new body */
    uint32_t parameter[VLY_FRAME_FUNCTIONS][VLY_FRAME_PARAMETERS];
    uint32_t n_parameters[VLY_FRAME_FUNCTIONS];
    uint32_t type_void;
    uint32_t type_bool;
    uint32_t type_uint;
    uint32_t type_long;
    uint32_t type_float;
    uint32_t pointer_uint; /* to a private variable */
    uint32_t pointer_long;
    uint32_t bound;
    uint32_t zero;
    uint32_t one;
    uint32_t variable[VLY_FRAME_VARIABLES]; /* all that are added */
    uint32_t n_variables;
    uint32_t field[VLY_PROGRAM_MAX_FIELDS]; /* some of them; 0: not used */
    uint32_t coef[VLY_PROGRAM_MAX_COEFS];
    uint32_t vary[VLY_FRAME_GROUPS];
    uint32_t nothing; /* a variable with 0; no compiler knows its value */
    vly_common_folded folded; /* program is a part of it */
    uint32_t value[VLY_PROGRAM_MAX_OPS];
    uint32_t truth[VLY_PROGRAM_MAX_OPS]; /* the same as a bool, or 0 */
    vly_frame_text globals;
    vly_frame_text body[VLY_FRAME_FUNCTIONS];
    vly_frame_text *at; /* the body that is written */
    vly_frame_text made;
    bool no_memory;
} vly_frame;

/* Appends an instruction. */
void vly_frame_put(vly_frame *s, vly_frame_text *t, uint32_t opcode,
                   const uint32_t *words, uint32_t n);
#define PUT(s, t, opcode, ...)                                                 \
    vly_frame_put(s, t, opcode, (const uint32_t[]){__VA_ARGS__},               \
                  sizeof((const uint32_t[]){__VA_ARGS__}) / sizeof(uint32_t))

/* An instruction of the body at hand with a result; evaluates to its id. */
#define MAKE(s, opcode, type, ...)                                             \
    (PUT(s, (s)->at, opcode, type, (s)->bound, __VA_ARGS__), (s)->bound++)

/* A call of a function of the frame. */
#define CALL(s, type, name, ...)                                               \
    MAKE(s, OP_FUNCTION_CALL, type, (s)->function[F_##name], __VA_ARGS__)

/* Begins the body of function(k), which is then the one at hand. */
void vly_frame_body(vly_frame *s, uint32_t function);
/* A constant with these bits. */
uint32_t vly_frame_constant(vly_frame *s, uint32_t type, uint32_t bits);
/* A variable for the result of function(k); the body at hand fills it. */
uint32_t vly_frame_share(vly_frame *s, uint32_t pointer, uint32_t type,
                         uint32_t function, uint32_t k);
/* The float with these bits, of which compilers do not know that it is 0. */
uint32_t vly_frame_number(vly_frame *s, uint32_t bits);
/* The operations on floats a and b that models and rules have, as one or a call
 * of a function; 0: code is another one. */
uint32_t vly_frame_arithmetic(vly_frame *s, uint32_t code, uint32_t a,
                              uint32_t b);

/* "WHAT: WHY (WHERE)"; returns -1 */
int vly_frame_refuse(const vly_frame *s, char *message, const char *why,
                     unsigned where);
/* Checks the words and finds types, functions and parameters. *made is for
 * vly_frame_free, NULL after a failure. Returns 0, -1 or VLY_SPIRV_NO_MEMORY */
int vly_frame_read(const vly_frame_kind *kind, const uint32_t *words, size_t n,
                   vly_frame **made, char *message);
/* The module with the new bodies, decorated and checked; *out: malloc'ed.
 * Returns 0, -1 or VLY_SPIRV_NO_MEMORY */
int vly_frame_finish(vly_frame *s, uint32_t **out, size_t *n_out,
                     char *message);
void vly_frame_free(vly_frame *s);

#endif
