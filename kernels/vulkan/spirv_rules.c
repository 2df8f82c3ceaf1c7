/* SPDX-License-Identifier: Apache-2.0
 * Reads the words of a module one instruction at a time. The check lists
 * instructions that may produce a float, not forbidden ones: an unknown
 * instruction is refused.
 */
#include "spirv_rules.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAGIC 0x07230203u
#define HEADER_WORDS 5u
#define BOUND_AT 3u
#define BOUND_MAX (1u << 22) /* the specification's limit on ids */

/* Opcodes, decorations and modes of the specification, by its names. */
enum {
    OP_NAME = 5,
    OP_MEMBER_NAME = 6,
    OP_EXT_INST_IMPORT = 11,
    OP_EXT_INST = 12,
    OP_ENTRY_POINT = 15,
    OP_EXECUTION_MODE = 16,
    OP_CAPABILITY = 17,
    OP_TYPE_VOID = 19,
    OP_TYPE_FLOAT = 22,
    OP_TYPE_VECTOR = 23,
    OP_TYPE_MATRIX = 24,
    OP_CONSTANT = 43,
    OP_FUNCTION = 54,
    OP_DECORATE = 71,
    OP_MEMBER_DECORATE = 72,
    OP_FNEGATE = 127,
    OP_FADD = 129,
    OP_FSUB = 131,
    OP_FMUL = 133,
    OP_EXECUTION_MODE_ID = 331,
    DECORATION_RELAXED_PRECISION = 0,
    DECORATION_FP_ROUNDING_MODE = 39,
    DECORATION_FP_FAST_MATH_MODE = 40,
    DECORATION_NO_CONTRACTION = 42,
    MODE_DENORM_PRESERVE = 4459,
    MODE_DENORM_FLUSH = 4460,
    MODE_ROUNDING_RTE = 4462,
    MODE_ROUNDING_RTZ = 4463,
};

/* Properties of an id. */
enum {
    IS_FLOAT = 1,     /* a type: float or vector of floats */
    IS_DECORATED = 2, /* NoContraction */
    IS_ENTRY = 4,
    IS_RTE = 8 /* an entry point with RoundingModeRTE 32 */
};

typedef struct module {
    const uint32_t *words;
    size_t n;
    uint8_t *ids; /* [bound] */
    uint32_t bound;
    uint32_t imported; /* the id of GLSL.std.450, or 0 */
    uint32_t function; /* the id of the one that is read, or 0 */
    char *message;
} module;

typedef struct instruction {
    const uint32_t *words; /* [n]; the first one is the opcode's */
    uint32_t n;
    uint32_t opcode;
    size_t at; /* in the module */
} instruction;

static int is_arithmetic(uint32_t opcode)
{
    return opcode == OP_FADD || opcode == OP_FSUB || opcode == OP_FMUL ||
           opcode == OP_FNEGATE;
}

/* The instruction at *at, which moves on; 0 at the end and for one that does
 * not fit, which open_module has refused. */
static int next(const module *m, size_t *at, instruction *out)
{
    if (*at >= m->n)
        return 0;
    out->words = m->words + *at;
    out->n = m->words[*at] >> 16;
    out->opcode = m->words[*at] & 0xffffu;
    out->at = *at;
    if (out->n == 0 || out->n > m->n - *at)
        return 0;
    *at += out->n;
    return 1;
}

/* The words of an operand that is an id, which the module's bound holds. */
static uint32_t id_at(const module *m, const instruction *in, uint32_t k)
{
    return k < in->n && in->words[k] < m->bound ? in->words[k] : 0;
}

static int refuse(const module *m, const instruction *in, const char *found)
{
    const char *name = NULL;
    size_t room = 0;
    size_t at = HEADER_WORDS;
    instruction i;
    while (m->function != 0 && next(m, &at, &i)) {
        if (i.opcode == OP_NAME && i.n > 2 && i.words[1] == m->function) {
            name = (const char *)(i.words + 2);
            room = (i.n - 2) * sizeof *i.words;
        }
    }
    room = room < 80 ? room : 80;
    size_t longest = 0;
    while (longest < room && name[longest] != '\0' && name[longest] != '(')
        longest++;
    snprintf(m->message, VLY_SPIRV_MESSAGE, "word %zu%s%.*s: %s", in->at,
             longest > 0 ? ", in " : "", (int)longest, name != NULL ? name : "",
             found);
    return -1;
}

static int open_module(module *m, const uint32_t *words, size_t n,
                       char *message)
{
    *m = (module){.words = words, .n = n, .message = message};
    if (n < HEADER_WORDS || words[0] != MAGIC) {
        snprintf(message, VLY_SPIRV_MESSAGE, "not a SPIR-V module");
        return -1;
    }
    m->bound = words[BOUND_AT];
    size_t at = HEADER_WORDS;
    instruction i;
    while (next(m, &at, &i))
        ;
    if (at != n || m->bound == 0 || m->bound > BOUND_MAX) {
        snprintf(message, VLY_SPIRV_MESSAGE,
                 at != n ? "word %zu: the instruction does not fit"
                         : "%zu words, but no sensible bound of ids",
                 at);
        return -1;
    }
    m->ids = calloc(m->bound, 1);
    if (m->ids == NULL) {
        snprintf(message, VLY_SPIRV_MESSAGE, "no memory for %u ids", m->bound);
        return VLY_SPIRV_NO_MEMORY;
    }
    return 0;
}

/* Marks decorated ids. */
static void note_decorations(module *m)
{
    size_t at = HEADER_WORDS;
    instruction i;
    while (next(m, &at, &i))
        if (i.opcode == OP_DECORATE && i.n == 3 &&
            i.words[2] == DECORATION_NO_CONTRACTION)
            m->ids[id_at(m, &i, 1)] |= IS_DECORATED;
}

/* ---- decorate ---------------------------------------------------------- */

/* Annotations come before types, constants, variables and functions; a module
 * has a type before all of those. */
static int is_past_annotations(uint32_t opcode)
{
    return opcode >= OP_TYPE_VOID && opcode <= OP_FUNCTION;
}

int vly_spirv_decorate(const uint32_t *words, size_t n, uint32_t **out,
                       size_t *n_out, char *message)
{
    module m;
    int failed = open_module(&m, words, n, message);
    if (failed != 0)
        return failed;
    note_decorations(&m);
    size_t here = n;
    size_t n_missing = 0;
    size_t at = HEADER_WORDS;
    instruction i;
    while (next(&m, &at, &i)) {
        if (here == n && is_past_annotations(i.opcode))
            here = i.at;
        n_missing += is_arithmetic(i.opcode) &&
                     (m.ids[id_at(&m, &i, 2)] & IS_DECORATED) == 0;
    }
    uint32_t *made = malloc((n + 3 * n_missing) * sizeof *made);
    if (made == NULL) {
        snprintf(message, VLY_SPIRV_MESSAGE, "no memory for %zu words",
                 n + 3 * n_missing);
        free(m.ids);
        return VLY_SPIRV_NO_MEMORY;
    }
    memcpy(made, words, here * sizeof *made);
    size_t to = here;
    at = here;
    while (next(&m, &at, &i)) {
        uint32_t id = id_at(&m, &i, 2);
        if (!is_arithmetic(i.opcode) || (m.ids[id] & IS_DECORATED) != 0)
            continue;
        made[to++] = 3u << 16 | OP_DECORATE;
        made[to++] = id;
        made[to++] = DECORATION_NO_CONTRACTION;
    }
    memcpy(made + to, words + here, (n - here) * sizeof *made);
    free(m.ids);
    *out = made;
    *n_out = to + (n - here);
    return 0;
}

/* ---- check ------------------------------------------------------------- */

/* The allowed extended instructions, all on integers: SAbs, SSign, UMin, SMin,
 * UMax, SMax, UClamp, SClamp, FindILsb, FindSMsb, FindUMsb.
 */
static int is_integer_extension(uint32_t number)
{
    static const uint8_t numbers[] = {5, 7, 38, 39, 41, 42, 44, 45, 73, 74, 75};
    return number < 256 && memchr(numbers, (int)number, sizeof numbers) != NULL;
}

/* Instructions that may have a float result: + - *, moves of bits, and
 * conversions of integers. */
static int may_make_float(uint32_t opcode)
{
    static const uint16_t opcodes[] = {
        1,   /* OpUndef */
        43,  /* OpConstant */
        44,  /* OpConstantComposite */
        46,  /* OpConstantNull */
        55,  /* OpFunctionParameter */
        57,  /* OpFunctionCall */
        61,  /* OpLoad */
        77,  /* OpVectorExtractDynamic */
        78,  /* OpVectorInsertDynamic */
        79,  /* OpVectorShuffle */
        80,  /* OpCompositeConstruct */
        81,  /* OpCompositeExtract */
        82,  /* OpCompositeInsert */
        83,  /* OpCopyObject */
        111, /* OpConvertSToF */
        112, /* OpConvertUToF */
        124, /* OpBitcast */
        169, /* OpSelect */
        245, /* OpPhi */
        337, /* OpGroupNonUniformBroadcast */
        338, /* OpGroupNonUniformBroadcastFirst */
        345, /* OpGroupNonUniformShuffle */
        346, /* OpGroupNonUniformShuffleXor */
        OP_FUNCTION,
    };
    for (size_t i = 0; i < sizeof opcodes / sizeof *opcodes; i++)
        if (opcodes[i] == opcode)
            return 1;
    return is_arithmetic(opcode);
}

int vly_spirv_is_constant(uint32_t bits)
{
    uint32_t size = bits & 0x7fffffffu;
    return bits == 0 || (size >= 0x17800000u && size <= 0x67800000u);
}

static int check_float(const module *m, const instruction *i)
{
    char found[VLY_SPIRV_MESSAGE / 2];
    if (!may_make_float(i->opcode)) {
        snprintf(found, sizeof found,
                 "opcode %u%s gives a float; wanted + - *, moves and "
                 "conversions of integers",
                 i->opcode,
                 i->opcode == 136   ? " (a division)"
                 : i->opcode == 140 ? " (a remainder)"
                 : i->opcode == 141 ? " (a remainder)"
                                    : "");
        return refuse(m, i, found);
    }
    if (is_arithmetic(i->opcode) &&
        (m->ids[id_at(m, i, 2)] & IS_DECORATED) == 0)
        return refuse(m, i, "float arithmetic without NoContraction");
    if (i->opcode == OP_CONSTANT && i->n == 4 &&
        !vly_spirv_is_constant(i->words[3])) {
        snprintf(found, sizeof found,
                 "a float constant with the bits 0x%08x; wanted 0 or a "
                 "size in [2^-80, 2^80]",
                 i->words[3]);
        return refuse(m, i, found);
    }
    return 0;
}

static int check_extension(module *m, const instruction *i)
{
    if (i->opcode == OP_EXT_INST) {
        if (i->n < 5 || i->words[3] != m->imported ||
            !is_integer_extension(i->words[4]))
            return refuse(m, i,
                          "an extended instruction that is not one of the "
                          "integer ones of GLSL.std.450");
        return 0;
    }
    static const char wanted[] = "GLSL.std.450";
    if (i->n < 2 + sizeof wanted / sizeof(uint32_t) ||
        memcmp(i->words + 2, wanted, sizeof wanted) != 0)
        return refuse(m, i, "instructions that are not those of GLSL.std.450");
    m->imported = i->words[1];
    return 0;
}

static int check_mode(module *m, const instruction *i)
{
    if (i->n < 3)
        return refuse(m, i, "an execution mode without a mode");
    switch (i->words[2]) {
    case MODE_DENORM_PRESERVE:
    case MODE_DENORM_FLUSH:
        return refuse(m, i,
                      "a mode for subnormals; there are none, and no device "
                      "has to know one");
    case MODE_ROUNDING_RTZ:
        return refuse(m, i, "rounding towards zero; wanted to nearest");
    case MODE_ROUNDING_RTE:
        if (i->n != 4 || i->words[3] != 32)
            return refuse(m, i, "RoundingModeRTE of other than 32 bits");
        m->ids[id_at(m, i, 1)] |= IS_RTE;
    }
    return 0;
}

/* mediump and lowp, and rounding of its own */
static int check_decoration(const module *m, const instruction *i, uint32_t k)
{
    if (i->n <= k)
        return refuse(m, i, "a decoration that is cut off");
    if (i->words[k] == DECORATION_RELAXED_PRECISION)
        return refuse(m, i, "relaxed precision; wanted 32 bits");
    if (i->words[k] == DECORATION_FP_ROUNDING_MODE ||
        i->words[k] == DECORATION_FP_FAST_MATH_MODE)
        return refuse(m, i, "another rounding or fast mathematics");
    return 0;
}

static int check_type(const module *m, const instruction *i)
{
    if (i->opcode == OP_TYPE_MATRIX)
        return refuse(m, i, "a matrix of floats");
    if (i->opcode == OP_TYPE_FLOAT && (i->n != 3 || i->words[2] != 32))
        return refuse(m, i, "floats of other than 32 bits");
    if (i->opcode == OP_TYPE_FLOAT || (m->ids[id_at(m, i, 2)] & IS_FLOAT) != 0)
        m->ids[id_at(m, i, 1)] |= IS_FLOAT;
    return 0;
}

/* Allowed capabilities. Without others there are no types whose floats the
 * check would miss (matrices of tensor cores) and no instruction that changes
 * them in place. Floats of 16 and 64 bits and other modes pass here, for a
 * better message. */
static int check_capability(const module *m, const instruction *i)
{
    static const uint16_t known[] = {
        1,    /* Shader */
        9,    /* Float16 */
        10,   /* Float64 */
        11,   /* Int64 */
        12,   /* Int64Atomics */
        22,   /* Int16 */
        39,   /* Int8 */
        61,   /* GroupNonUniform */
        62,   /* GroupNonUniformVote */
        63,   /* GroupNonUniformArithmetic */
        64,   /* GroupNonUniformBallot */
        65,   /* GroupNonUniformShuffle */
        66,   /* GroupNonUniformShuffleRelative */
        4433, /* StorageBuffer16BitAccess */
        4448, /* StorageBuffer8BitAccess */
        4464, /* DenormPreserve */
        4465, /* DenormFlushToZero */
        4466, /* SignedZeroInfNanPreserve */
        4467, /* RoundingModeRTE */
        4468, /* RoundingModeRTZ */
        5345, /* VulkanMemoryModel */
        5346, /* VulkanMemoryModelDeviceScope */
        5347, /* PhysicalStorageBufferAddresses */
    };
    for (size_t k = 0; k < sizeof known / sizeof *known; k++)
        if (i->n == 2 && known[k] == i->words[1])
            return 0;
    char found[64];
    snprintf(found, sizeof found, "capability %u, which is not known here",
             i->n > 1 ? i->words[1] : 0);
    return refuse(m, i, found);
}

static int check_instruction(module *m, const instruction *i)
{
    switch (i->opcode) {
    case OP_CAPABILITY:
        return check_capability(m, i);
    case OP_EXT_INST_IMPORT:
    case OP_EXT_INST:
        return check_extension(m, i);
    case OP_EXECUTION_MODE:
    case OP_EXECUTION_MODE_ID:
        return check_mode(m, i);
    case OP_ENTRY_POINT:
        m->ids[id_at(m, i, 2)] |= IS_ENTRY;
        return 0;
    case OP_TYPE_FLOAT:
    case OP_TYPE_VECTOR:
    case OP_TYPE_MATRIX:
        return check_type(m, i);
    case OP_DECORATE:
        return check_decoration(m, i, 2);
    case OP_MEMBER_DECORATE:
        return check_decoration(m, i, 3);
    case OP_NAME: /* its first word is an id, but no type of a result */
    case OP_MEMBER_NAME:
        return 0;
    }
    if (i->opcode == OP_FUNCTION)
        m->function = id_at(m, i, 2);
    if ((m->ids[id_at(m, i, 1)] & IS_FLOAT) != 0)
        return check_float(m, i);
    return 0;
}

int vly_spirv_check(const uint32_t *words, size_t n, char *message)
{
    module m;
    int failed = open_module(&m, words, n, message);
    if (failed != 0)
        return failed;
    note_decorations(&m);
    uint32_t n_entries = 0;
    size_t at = HEADER_WORDS;
    instruction i;
    while (failed == 0 && next(&m, &at, &i))
        failed = check_instruction(&m, &i);
    for (uint32_t id = 0; failed == 0 && id < m.bound; id++) {
        if ((m.ids[id] & IS_ENTRY) == 0)
            continue;
        n_entries++;
        if ((m.ids[id] & IS_RTE) == 0) {
            snprintf(message, VLY_SPIRV_MESSAGE,
                     "an entry point without RoundingModeRTE 32; wanted "
                     "#include \"contract.glsl\"");
            failed = -1;
        }
    }
    if (failed == 0 && n_entries == 0) {
        snprintf(message, VLY_SPIRV_MESSAGE, "no entry point");
        failed = -1;
    }
    free(m.ids);
    return failed;
}
