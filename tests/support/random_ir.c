/* SPDX-License-Identifier: Apache-2.0
 * Random programs of users' models.
 */
#include "random_ir.h"

#include <string.h>

enum { F32 = VLY_TYPE_F32, U32 = VLY_TYPE_U32, TRUTH = 2 };

/* splitmix64 */
uint32_t random_ir_below(random_ir *ir, uint32_t n)
{
    uint64_t x = ir->random += 0x9e3779b97f4a7c15u;
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
    x ^= x >> 31;
    return (uint32_t)(((x >> 32) * n) >> 32);
}

static uint32_t bits(float x)
{
    uint32_t word;
    memcpy(&word, &x, sizeof word);
    return word;
}

uint32_t random_ir_word(random_ir *ir, uint32_t type)
{
    static const float odd[] = {0.0f,  1.0f,    -1.0f,  0.5f,     -70.0f,
                                1e-3f, 1e20f,   -1e20f, 16384.0f, 1e-12f,
                                80.0f, -0.125f, 2e30f,  3.0f,     -1e-9f};
    if (type == U32)
        return random_ir_below(ir, 5);
    if (random_ir_below(ir, 3) == 0)
        return bits(odd[random_ir_below(ir, sizeof odd / sizeof odd[0])]);
    return bits((float)((int32_t)random_ir_below(ir, 2000000) - 1000000) *
                1e-4f);
}

static int fits(const random_ir *ir, uint32_t i, uint32_t type)
{
    return type == TRUTH ? ir->truth[i] != 0 : ir->types[i] == type;
}

/* A value before the next operation, most often a late one; UINT32_MAX: there
 * is none of the type. */
static uint32_t pick(random_ir *ir, uint32_t type)
{
    const uint32_t n = ir->program.n_ops;
    const uint32_t reach = random_ir_below(ir, 4) != 0 && n > 12 ? 12 : n;
    for (uint32_t k = 0; k < 30 && n > 0; k++) {
        uint32_t i = n - 1 - random_ir_below(ir, reach);
        if (fits(ir, i, type))
            return i;
    }
    for (uint32_t i = n; i-- > 0;)
        if (fits(ir, i, type))
            return i;
    return UINT32_MAX;
}

static uint32_t put(random_ir *ir, uint32_t code, uint32_t a, uint32_t b,
                    uint32_t c, uint32_t type)
{
    const uint32_t i = ir->program.n_ops++;
    ir->ops[i] = (vly_program_op){code, a, b, c};
    ir->types[i] = type == TRUTH ? U32 : type;
    ir->truth[i] = type == TRUTH;
    return i;
}

static uint32_t store(random_ir *ir, uint32_t a)
{
    float lo = -(float)(1 + random_ir_below(ir, 200));
    float hi = (float)(1 + random_ir_below(ir, 200));
    return put(ir, VLY_PROGRAM_STORE, a, bits(lo), bits(hi), F32);
}

static void add_choice(random_ir *ir)
{
    const uint32_t type = random_ir_below(ir, 3);
    const uint32_t b = pick(ir, type);
    const uint32_t c = pick(ir, type);
    const uint32_t condition = pick(ir, TRUTH);
    if (b != UINT32_MAX && condition != UINT32_MAX)
        put(ir, VLY_PROGRAM_SELECT, condition, b, c, type);
}

/* An operation that reads values: floats first, then truths and wholes. */
static void add_of_values(random_ir *ir)
{
    static const struct {
        uint32_t code;
        uint32_t takes;
        uint32_t makes;
    } kinds[] = {
        {VLY_PROGRAM_ADD, F32, F32},        {VLY_PROGRAM_SUBTRACT, F32, F32},
        {VLY_PROGRAM_MULTIPLY, F32, F32},   {VLY_PROGRAM_ADD, F32, F32},
        {VLY_PROGRAM_SUBTRACT, F32, F32},   {VLY_PROGRAM_MULTIPLY, F32, F32},
        {VLY_PROGRAM_NEGATE, F32, F32},     {VLY_PROGRAM_ABSOLUTE, F32, F32},
        {VLY_PROGRAM_INVERSE, F32, F32},    {VLY_PROGRAM_ROOT, F32, F32},
        {VLY_PROGRAM_EXP, F32, F32},        {VLY_PROGRAM_DECAY_MEAN, F32, F32},
        {VLY_PROGRAM_LESS, F32, TRUTH},     {VLY_PROGRAM_AT_MOST, F32, TRUTH},
        {VLY_PROGRAM_AND, TRUTH, TRUTH},    {VLY_PROGRAM_OR, TRUTH, TRUTH},
        {VLY_PROGRAM_NOT, TRUTH, TRUTH},    {VLY_PROGRAM_IS_ZERO, U32, TRUTH},
        {VLY_PROGRAM_COUNT_DOWN, U32, U32},
    };
    const uint32_t k = random_ir_below(ir, sizeof kinds / sizeof kinds[0]);
    const uint32_t a = pick(ir, kinds[k].takes);
    const uint32_t b = pick(ir, kinds[k].takes);
    if (a != UINT32_MAX)
        put(ir, kinds[k].code, a, b, 0, kinds[k].makes);
}

static void add_source(random_ir *ir)
{
    uint32_t k;
    switch (random_ir_below(ir, 5)) {
    case 0:
        put(ir, VLY_PROGRAM_NUMBER, random_ir_word(ir, F32), 0, 0, F32);
        break;
    case 1:
        k = random_ir_below(ir, ir->program.n_fields);
        put(ir, VLY_PROGRAM_FIELD, k, 0, 0, ir->field_types[k]);
        break;
    case 2:
        k = random_ir_below(ir, ir->n_coefs);
        put(ir, VLY_PROGRAM_COEF, k, 0, 0, ir->coef_types[k]);
        break;
    case 3:
        put(ir, VLY_PROGRAM_INPUT, random_ir_below(ir, ir->n_ports), 0, 0, F32);
        break;
    default:
        put(ir, VLY_PROGRAM_UNIFORM, 7000 + random_ir_below(ir, 3), 0, 0, F32);
        break;
    }
}

static uint32_t other_field(random_ir *ir)
{
    const uint32_t f = random_ir_below(ir, ir->program.n_fields);
    return put(ir, VLY_PROGRAM_FIELD, ir->field_types[f] == F32 ? f : 0, 0, 0,
               F32);
}

/* What the fields become, and the spike: of a neuron in ten, or any truth. */
static void finish(random_ir *ir)
{
    for (uint32_t f = 0; f < ir->program.n_fields; f++) {
        if (ir->field_types[f] == U32)
            ir->out[f] = pick(ir, U32);
        else if (random_ir_below(ir, 6) != 0)
            ir->out[f] = store(ir, pick(ir, F32));
        else
            ir->out[f] = other_field(ir);
    }
    ir->program.fired = pick(ir, TRUTH);
    if (random_ir_below(ir, 3) == 0)
        return;
    uint32_t u = put(ir, VLY_PROGRAM_UNIFORM, 7000, 0, 0, F32);
    uint32_t p = put(ir, VLY_PROGRAM_NUMBER, bits(0.1f), 0, 0, F32);
    ir->program.fired = put(ir, VLY_PROGRAM_LESS, u, p, 0, TRUTH);
}

void random_ir_make(random_ir *ir, uint64_t seed)
{
    memset(ir, 0, sizeof *ir);
    ir->random = seed;
    const int large = seed % 16 == 0;
    ir->program = (vly_program){.struct_size = sizeof(vly_program),
                                .n_fields = large ? VLY_PROGRAM_MAX_FIELDS
                                                  : 2 + random_ir_below(ir, 9),
                                .ops = ir->ops,
                                .out = ir->out,
                                .types = ir->types};
    ir->n_coefs = large ? VLY_PROGRAM_MAX_COEFS : 1 + random_ir_below(ir, 20);
    ir->n_ports = 1 + random_ir_below(ir, 2);
    for (uint32_t f = 1; f < ir->program.n_fields; f++)
        ir->field_types[f] = random_ir_below(ir, 4) == 0 ? U32 : F32;
    for (uint32_t c = 0; c < ir->n_coefs; c++)
        ir->coef_types[c] = random_ir_below(ir, 6) == 0 ? U32 : F32;
    const uint32_t wanted =
        (large ? VLY_PROGRAM_MAX_OPS - 80 : 20 + random_ir_below(ir, 120));
    for (uint32_t f = 0; f < ir->program.n_fields; f++)
        put(ir, VLY_PROGRAM_FIELD, f, 0, 0, ir->field_types[f]);
    const uint32_t zero = put(ir, VLY_PROGRAM_NUMBER, 0, 0, 0, F32);
    put(ir, VLY_PROGRAM_LESS, 0, zero, 0, TRUTH);
    while (ir->program.n_ops < wanted)
        switch (random_ir_below(ir, 8)) {
        case 0:
        case 1:
            add_source(ir);
            break;
        case 2:
            add_choice(ir);
            break;
        case 3:
            store(ir, pick(ir, F32));
            break;
        default:
            add_of_values(ir);
        }
    finish(ir);
}

void random_ir_wide(random_ir *ir, uint32_t n)
{
    vly_program *program = &ir->program;
    uint32_t sum = n - 1;
    uint32_t i = 0;
    memset(ir, 0, sizeof *ir);
    for (; i < n; i++)
        ir->ops[i] = (vly_program_op){VLY_PROGRAM_UNIFORM, 50 + i, 0, 0};
    for (uint32_t k = n - 1; k-- > 0; i++) {
        ir->ops[i] = (vly_program_op){VLY_PROGRAM_ADD, sum, k, 0};
        sum = i;
    }
    ir->ops[i] = (vly_program_op){VLY_PROGRAM_STORE, sum, 0, bits(1000.0f)};
    ir->out[0] = i++;
    ir->ops[i] =
        (vly_program_op){VLY_PROGRAM_NUMBER, bits((float)n * 0.5f), 0, 0};
    ir->ops[i + 1] = (vly_program_op){VLY_PROGRAM_LESS, i, sum, 0};
    ir->types[i + 1] = VLY_TYPE_U32;
    *program = (vly_program){.struct_size = sizeof *program,
                             .n_ops = i + 2,
                             .n_fields = 1,
                             .fired = i + 1,
                             .ops = ir->ops,
                             .out = ir->out,
                             .types = ir->types};
    ir->n_ports = 1;
    ir->n_coefs = 0;
}

void random_ir_ports(random_ir *ir, uint32_t n_ports)
{
    uint32_t port = n_ports;
    for (uint32_t i = 0; i < ir->program.n_ops; i++)
        if (ir->ops[i].code == VLY_PROGRAM_INPUT)
            ir->ops[i].a = port = (port > 0 ? port : n_ports) - 1;
    ir->n_ports = n_ports;
}
