/* SPDX-License-Identifier: Apache-2.0
 * Numbers below 2^-126 are kept out, since the numeric contract leaves them
 * open: a device may take them as 0.
 */
#include "random_operations.h"

#include <string.h>

/* A product and a difference of two numbers stay normal from here on. */
#define LEAST_SAFE (-100)
/* operations that the end of a program takes at most */
#define END_ROOM (4 * VLY_PROGRAM_MAX_FIELDS + 4)

/* splitmix64 */
uint32_t random_operations_below(random_operations *r, uint32_t n)
{
    uint64_t x = r->random += 0x9e3779b97f4a7c15u;
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
    x ^= x >> 31;
    return (uint32_t)(((x >> 32) * n) >> 32);
}

/* Of a size in [2^low, 2^(high + 1)). */
static uint32_t random_float(random_operations *r, int low, int high)
{
    int exponent =
        low + (int)random_operations_below(r, (uint32_t)(high - low + 1));
    return random_operations_below(r, 2) << 31 |
           (uint32_t)(exponent + 127) << 23 |
           random_operations_below(r, 1u << 23);
}

uint32_t random_operations_word(random_operations *r, uint32_t type)
{
    if (type == VLY_TYPE_U32)
        return random_operations_below(r, 5);
    return random_operations_below(r, 8) == 0 ? 0 : random_float(r, -12, 6);
}

static uint32_t put(random_operations *r, uint32_t code, uint32_t type,
                    uint32_t a, uint32_t b, uint32_t c)
{
    uint32_t i = r->program.n_ops++;
    r->ops[i] = (vly_program_op){code, a, b, c};
    r->types[i] = type;
    r->least[i] = 0;
    r->stored[i] = 0;
    return i;
}

/* A value of that type, most likely one of the newest; there is one. */
static uint32_t pick(random_operations *r, uint32_t type)
{
    uint32_t n = r->program.n_ops;
    for (;;) {
        uint32_t room = random_operations_below(r, 2) ? n : n < 12 ? n : 12;
        uint32_t i = n - 1 - random_operations_below(r, room);
        if (r->types[i] == type)
            return i;
    }
}

static uint32_t store(random_operations *r, uint32_t x)
{
    /* bounds that the check of shaders accepts as constants, and others */
    uint32_t size = random_operations_below(r, 3) == 0
                        ? 0x7e967699u /* 1e38 */
                        : random_float(r, 0, 40) & 0x7fffffffu;
    uint32_t lo = random_operations_below(r, 4) == 0 ? 0 : size | 0x80000000u;
    uint32_t i = put(r, VLY_PROGRAM_STORE, VLY_TYPE_F32, x, lo, size);
    r->least[i] = -40;
    r->stored[i] = 1;
    return i;
}

static uint32_t pick_safe(random_operations *r, int least)
{
    uint32_t x = pick(r, VLY_TYPE_F32);
    return r->least[x] >= least ? x : store(r, x);
}

/* ---- operations --------------------------------------------------------- */

static void start(random_operations *r)
{
    for (uint32_t f = 0; f < r->program.n_fields; f++) {
        uint32_t i = put(r, VLY_PROGRAM_FIELD, r->field_types[f], f, 0, 0);
        r->least[i] = -40;
        r->stored[i] = 1;
    }
    for (uint32_t k = 0; k < r->n_coefs; k++) {
        if (random_operations_below(r, 8) == 0)
            continue; /* of no use */
        uint32_t i = put(r, VLY_PROGRAM_COEF, r->coef_types[k], k, 0, 0);
        r->least[i] = -40;
        r->stored[i] = 1;
    }
    for (uint32_t p = 0; p < r->n_ports; p++)
        r->least[put(r, VLY_PROGRAM_INPUT, VLY_TYPE_F32, p, 0, 0)] = -24;
    put(r, VLY_PROGRAM_NUMBER, VLY_TYPE_F32, 0, 0, 0);
    put(r, VLY_PROGRAM_LESS, VLY_TYPE_U32, r->program.n_ops - 2,
        r->program.n_ops - 1, 0);
}

static void put_number(random_operations *r)
{
    static const uint32_t special[] = {0,           0x3f800000u, 0xbf800000u,
                                       0x7e967699u, 0xfe967699u, 0x80000000u};
    uint32_t bits = random_operations_below(r, 2)
                        ? random_float(r, -90, 90)
                        : special[random_operations_below(r, 6)];
    int exponent = (int)(bits >> 23 & 255u) - 127;
    uint32_t i = put(r, VLY_PROGRAM_NUMBER, VLY_TYPE_F32, bits, 0, 0);
    r->least[i] = exponent < -126 ? 0 : exponent;
}

static int lesser(int a, int b)
{
    return a < b ? a : b;
}

static void put_sum(random_operations *r, uint32_t code)
{
    uint32_t a = pick_safe(r, -76);
    uint32_t b = pick_safe(r, -76);
    r->least[put(r, code, VLY_TYPE_F32, a, b, 0)] =
        lesser(r->least[a], r->least[b]) - 24;
}

static void put_product(random_operations *r)
{
    uint32_t a = pick_safe(r, LEAST_SAFE / 2);
    uint32_t b = pick_safe(r, LEAST_SAFE / 2);
    r->least[put(r, VLY_PROGRAM_MULTIPLY, VLY_TYPE_F32, a, b, 0)] =
        r->least[a] + r->least[b];
}

static void put_unary(random_operations *r, uint32_t code)
{
    uint32_t a = pick(r, VLY_TYPE_F32);
    int least = code == VLY_PROGRAM_INVERSE      ? -80
                : code == VLY_PROGRAM_ROOT       ? -40
                : code == VLY_PROGRAM_EXP        ? -116
                : code == VLY_PROGRAM_DECAY_MEAN ? -66
                                                 : r->least[a];
    /* the mean of a decay is only for x below 2^64 */
    if (code == VLY_PROGRAM_DECAY_MEAN)
        a = put(r, VLY_PROGRAM_STORE, VLY_TYPE_F32, a, 0, 0x5f000000u);
    r->least[put(r, code, VLY_TYPE_F32, a, 0, 0)] = least;
}

static void put_choice(random_operations *r)
{
    uint32_t type = random_operations_below(r, 3) ? VLY_TYPE_F32 : VLY_TYPE_U32;
    uint32_t a = pick(r, VLY_TYPE_U32);
    uint32_t b = pick(r, type);
    uint32_t c = pick(r, type);
    uint32_t i = put(r, VLY_PROGRAM_SELECT, type, a, b, c);
    r->least[i] = lesser(r->least[b], r->least[c]);
    r->stored[i] = r->stored[b] && r->stored[c];
}

static void put_whole(random_operations *r, uint32_t code)
{
    uint32_t a = pick(r, VLY_TYPE_U32);
    put(r, code, VLY_TYPE_U32, a, pick(r, VLY_TYPE_U32), 0);
}

static void put_any(random_operations *r)
{
    /* sums and products are half of them, as in models */
    static const uint8_t often[] = {VLY_PROGRAM_ADD, VLY_PROGRAM_SUBTRACT,
                                    VLY_PROGRAM_MULTIPLY, VLY_PROGRAM_MULTIPLY};
    uint32_t code = random_operations_below(r, 2)
                        ? often[random_operations_below(r, 4)]
                        : random_operations_below(r, VLY_PROGRAM_CODES);
    switch (code) {
    case VLY_PROGRAM_ADD:
    case VLY_PROGRAM_SUBTRACT:
        put_sum(r, code);
        break;
    case VLY_PROGRAM_MULTIPLY:
        put_product(r);
        break;
    case VLY_PROGRAM_UNIFORM:
        r->least[put(r, code, VLY_TYPE_F32, random_operations_below(r, 999), 0,
                     0)] = -24;
        break;
    case VLY_PROGRAM_NEGATE:
    case VLY_PROGRAM_ABSOLUTE:
    case VLY_PROGRAM_INVERSE:
    case VLY_PROGRAM_ROOT:
    case VLY_PROGRAM_EXP:
    case VLY_PROGRAM_DECAY_MEAN:
        put_unary(r, code);
        break;
    case VLY_PROGRAM_STORE:
        store(r, pick(r, VLY_TYPE_F32));
        break;
    case VLY_PROGRAM_LESS:
    case VLY_PROGRAM_AT_MOST: {
        uint32_t a = pick(r, VLY_TYPE_F32);
        put(r, code, VLY_TYPE_U32, a, pick(r, VLY_TYPE_F32), 0);
        break;
    }
    case VLY_PROGRAM_SELECT:
        put_choice(r);
        break;
    case VLY_PROGRAM_AND:
    case VLY_PROGRAM_OR:
    case VLY_PROGRAM_NOT:
    case VLY_PROGRAM_IS_ZERO:
    case VLY_PROGRAM_COUNT_DOWN:
        put_whole(r, code);
        break;
    default:
        put_number(r);
    }
}

/* What the fields become: some stay, some exchange their values. A neuron
 * fires now and then, whatever the program computed. */
static void finish(random_operations *r)
{
    for (uint32_t f = 0; f < r->program.n_fields; f++) {
        uint32_t type = r->field_types[f];
        uint32_t value = pick(r, type);
        if (random_operations_below(r, 6) == 0)
            value = random_operations_below(r, r->program.n_fields);
        r->out[f] = r->types[value] != type ? f : value;
        if (type == VLY_TYPE_F32 && !r->stored[r->out[f]])
            r->out[f] = store(r, r->out[f]);
    }
    uint32_t draw = put(r, VLY_PROGRAM_UNIFORM, VLY_TYPE_F32, 7, 0, 0);
    uint32_t most = put(r, VLY_PROGRAM_NUMBER, VLY_TYPE_F32, 0x3e000000u, 0, 0);
    uint32_t now = put(r, VLY_PROGRAM_LESS, VLY_TYPE_U32, draw, most, 0);
    uint32_t x = pick(r, VLY_TYPE_F32);
    uint32_t also =
        put(r, VLY_PROGRAM_AT_MOST, VLY_TYPE_U32, x, pick(r, VLY_TYPE_F32), 0);
    uint32_t never = put(r, VLY_PROGRAM_LESS, VLY_TYPE_U32, draw, draw, 0);
    r->program.fired = put(r, VLY_PROGRAM_SELECT, VLY_TYPE_U32, now,
                           random_operations_below(r, 2) ? also : now, never);
}

void random_operations_make(random_operations *r, uint64_t seed, uint32_t n_ops,
                            uint32_t n_fields, uint32_t n_coefs,
                            uint32_t n_ports)
{
    memset(r, 0, sizeof *r);
    r->random = seed;
    r->n_ports = n_ports;
    r->n_coefs = n_coefs;
    r->program = (vly_program){.struct_size = sizeof r->program,
                               .n_fields = n_fields,
                               .ops = r->ops,
                               .out = r->out,
                               .types = r->types};
    for (uint32_t f = 0; f < n_fields; f++)
        r->field_types[f] =
            random_operations_below(r, 4) ? VLY_TYPE_F32 : VLY_TYPE_U32;
    for (uint32_t k = 0; k < n_coefs; k++)
        r->coef_types[k] =
            random_operations_below(r, 6) ? VLY_TYPE_F32 : VLY_TYPE_U32;
    start(r);
    while (r->program.n_ops + END_ROOM < n_ops)
        put_any(r);
    finish(r);
}

void random_operations_damage(random_operations *r)
{
    uint32_t n = 1 + random_operations_below(r, 3);
    while (n-- > 0) {
        uint32_t i = random_operations_below(r, r->program.n_ops);
        uint32_t *word =
            random_operations_below(r, 6) ? &r->ops[i].code : &r->types[i];
        uint32_t kind = random_operations_below(r, 10);
        if (word == &r->ops[i].code)
            word += random_operations_below(r, 4);
        if (kind == 0)
            word = &r->out[random_operations_below(r, r->program.n_fields)];
        if (kind == 1)
            word = &r->program.fired;
        *word = random_operations_below(r, 3) == 0
                    ? random_operations_below(r, UINT32_MAX)
                : random_operations_below(r, 2)
                    ? *word + 1
                    : random_operations_below(r, 24);
    }
}
