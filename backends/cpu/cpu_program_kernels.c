/* SPDX-License-Identifier: Apache-2.0
 * The loops of a user's model, an operation each; built once for each
 * instruction set like cpu_kernels.c.
 */
#include "cpu_program.h"

#include "cpu_vectorise.h"
#include "kernels/models/philox.h"
#include "kernels/models/program.h"

#define RUN3(isa) vly_cpu_run_program_##isa
#define RUN2(isa) RUN3(isa)

typedef struct view {
    uint32_t *d;
    const uint32_t *a;
    const uint32_t *b;
    const uint32_t *c;
    uint32_t n;
    uint32_t ones;
} view;

/* A result may overwrite an operand of the same neuron, never another's. */
#define HEAD(v)                                                                \
    uint32_t *d = (v)->d;                                                      \
    const uint32_t *a = (v)->a;                                                \
    const uint32_t *b = (v)->b;                                                \
    const uint32_t n = (v)->n;                                                 \
    (void)b

/* body uses x and y */
#define BINARY(name, body)                                                     \
    static void name(const view *v)                                            \
    {                                                                          \
        HEAD(v);                                                               \
        if (v->ones == VLY_CPU_ONE_B) {                                        \
            const float y = vly_float(b[0]);                                   \
            VECTORISE                                                          \
            for (uint32_t i = 0; i < n; i++) {                                 \
                float x = vly_float(a[i]);                                     \
                d[i] = (body);                                                 \
            }                                                                  \
        } else if (v->ones == VLY_CPU_ONE_A) {                                 \
            const float x = vly_float(a[0]);                                   \
            VECTORISE                                                          \
            for (uint32_t i = 0; i < n; i++) {                                 \
                float y = vly_float(b[i]);                                     \
                d[i] = (body);                                                 \
            }                                                                  \
        } else {                                                               \
            VECTORISE                                                          \
            for (uint32_t i = 0; i < n; i++) {                                 \
                float x = vly_float(a[i]);                                     \
                float y = vly_float(b[i]);                                     \
                d[i] = (body);                                                 \
            }                                                                  \
        }                                                                      \
    }

#define UNARY(name, body)                                                      \
    static void name(const view *v)                                            \
    {                                                                          \
        HEAD(v);                                                               \
        VECTORISE                                                              \
        for (uint32_t i = 0; i < n; i++) {                                     \
            float x = vly_float(a[i]);                                         \
            d[i] = vly_bits(body);                                             \
        }                                                                      \
    }

/* of whole numbers x and y, of which one may be the same for all */
#define WHOLE(name, body)                                                      \
    static void name(const view *v)                                            \
    {                                                                          \
        HEAD(v);                                                               \
        const uint32_t step_a = (v->ones & VLY_CPU_ONE_A) ? 0 : 1;             \
        const uint32_t step_b = (v->ones & VLY_CPU_ONE_B) || !b ? 0 : 1;       \
        const uint32_t none = 0;                                               \
        b = b ? b : &none;                                                     \
        if (step_a && step_b) {                                                \
            VECTORISE                                                          \
            for (uint32_t i = 0; i < n; i++) {                                 \
                uint32_t x = a[i];                                             \
                uint32_t y = b[i];                                             \
                (void)y;                                                       \
                d[i] = (body);                                                 \
            }                                                                  \
        } else {                                                               \
            const uint32_t all = step_a ? b[0] : a[0];                         \
            const uint32_t *each = step_a ? a : b;                             \
            VECTORISE                                                          \
            for (uint32_t i = 0; i < n; i++) {                                 \
                uint32_t x = each[i];                                          \
                uint32_t y = all;                                              \
                (void)y;                                                       \
                d[i] = (body);                                                 \
            }                                                                  \
        }                                                                      \
    }

/* body uses x, y and z; x and y are not both the same for all */
#define TERNARY_LOOP(x_is, y_is, z_is, body)                                   \
    VECTORISE                                                                  \
    for (uint32_t i = 0; i < n; i++) {                                         \
        float x = (x_is);                                                      \
        float y = (y_is);                                                      \
        float z = (z_is);                                                      \
        float xy = x * y;                                                      \
        d[i] = vly_bits(body);                                                 \
    }
#define TERNARY(name, body)                                                    \
    static void name(const view *v)                                            \
    {                                                                          \
        HEAD(v);                                                               \
        const uint32_t *c = v->c;                                              \
        const uint32_t *p =                                                    \
            (v->ones & VLY_CPU_ONE_A) ? a : b; /* x y is y x */                \
        const uint32_t *q = (v->ones & VLY_CPU_ONE_A) ? b : a;                 \
        const float one = vly_float(p[0]);                                     \
        const float all = vly_float(c[0]);                                     \
        if (v->ones & (VLY_CPU_ONE_A | VLY_CPU_ONE_B)) {                       \
            if (v->ones & VLY_CPU_ONE_C) {                                     \
                TERNARY_LOOP(vly_float(q[i]), one, all, body)                  \
            } else {                                                           \
                TERNARY_LOOP(vly_float(q[i]), one, vly_float(c[i]), body)      \
            }                                                                  \
        } else if (v->ones & VLY_CPU_ONE_C) {                                  \
            TERNARY_LOOP(vly_float(a[i]), vly_float(b[i]), all, body)          \
        } else {                                                               \
            TERNARY_LOOP(vly_float(a[i]), vly_float(b[i]), vly_float(c[i]),    \
                         body)                                                 \
        }                                                                      \
    }

TERNARY(times_plus, xy + z)
TERNARY(times_minus, xy - z)
TERNARY(minus_times, z - xy)
BINARY(lesser, vly_bits(x < y ? x : y))
BINARY(greater, vly_bits(y < x ? x : y))
BINARY(add, vly_bits(x + y))
BINARY(subtract, vly_bits(x - y))
BINARY(multiply, vly_bits(x *y))
BINARY(less, x < y ? 1u : 0u)
BINARY(at_most, x <= y ? 1u : 0u)
UNARY(inverse, vly_inverse_f32(x))
UNARY(root, vly_root_f32(x))
UNARY(exponential, vly_exp_f32(x))
UNARY(decay_mean, vly_decay_mean_f32(x))
/* these do not depend on which operand is which */
WHOLE(negate, x ^ 0x80000000u)
WHOLE(absolute, x & 0x7fffffffu)
WHOLE(both, x &y)
WHOLE(either, x | y)
WHOLE(negation, x ^ 1u)
WHOLE(is_zero, x == 0u ? 1u : 0u)
WHOLE(count_down, x == 0u ? 0u : x - 1u)

#define CHOOSE(yes, no)                                                        \
    do {                                                                       \
        VECTORISE                                                              \
        for (uint32_t i = 0; i < n; i++)                                       \
            d[i] = a[i] != 0u ? (yes) : (no);                                  \
    } while (0)

static void choose(const view *v)
{
    HEAD(v);
    const uint32_t *c = v->c;
    const uint32_t all_b = b[0];
    const uint32_t all_c = c[0];
    const uint32_t ones = v->ones & (VLY_CPU_ONE_B | VLY_CPU_ONE_C);
    if (v->ones & VLY_CPU_ONE_A) {
        const uint32_t *taken = a[0] != 0u ? b : c;
        const uint32_t one = a[0] != 0u ? VLY_CPU_ONE_B : VLY_CPU_ONE_C;
        for (uint32_t i = 0; i < n; i++)
            d[i] = taken[v->ones & one ? 0 : i];
    } else if (ones == 0) {
        CHOOSE(b[i], c[i]);
    } else if (ones == VLY_CPU_ONE_B) {
        CHOOSE(all_b, c[i]);
    } else if (ones == VLY_CPU_ONE_C) {
        CHOOSE(b[i], all_c);
    } else {
        CHOOSE(all_b, all_c);
    }
}

static void store(const view *v, uint32_t lo_bits, uint32_t hi_bits)
{
    HEAD(v);
    const float lo = vly_float(lo_bits);
    const float hi = vly_float(hi_bits);
    VECTORISE
    for (uint32_t i = 0; i < n; i++)
        d[i] = vly_bits(vly_store(vly_float(a[i]), lo, hi));
}

static void input(const view *v, float scale)
{
    HEAD(v);
    VECTORISE
    for (uint32_t i = 0; i < n; i++)
        d[i] = vly_bits((float)(int32_t)a[i] * scale);
}

static void uniform(const view *v, const vly_cpu_program_call *call,
                    uint32_t stream)
{
    uint32_t *d = v->d;
    const uint32_t key_low = (uint32_t)call->key;
    const uint32_t key_high = (uint32_t)(call->key >> 32);
    const uint32_t t_low = (uint32_t)call->burst;
    const uint32_t t_high = (uint32_t)(call->burst >> 32);
    const uint32_t id = call->id;
    const uint32_t n = v->n;
    VECTORISE
    for (uint32_t i = 0; i < n; i++) {
        uint32_t u =
            vly_philox_burst(key_low, key_high, t_low, t_high, id + i, stream);
        d[i] = vly_bits((float)(int32_t)(u >> 8) * 5.9604644775390625e-8f);
    }
}

static void run_step(const vly_cpu_program_call *call,
                     const vly_cpu_program_step *step)
{
    static void (*const loops[VLY_CPU_CODES])(const view *) = {
        [VLY_CPU_TIMES_PLUS] = times_plus,
        [VLY_CPU_TIMES_MINUS] = times_minus,
        [VLY_CPU_MINUS_TIMES] = minus_times,
        [VLY_CPU_LESSER] = lesser,
        [VLY_CPU_GREATER] = greater,
        [VLY_PROGRAM_ADD] = add,
        [VLY_PROGRAM_SUBTRACT] = subtract,
        [VLY_PROGRAM_MULTIPLY] = multiply,
        [VLY_PROGRAM_NEGATE] = negate,
        [VLY_PROGRAM_ABSOLUTE] = absolute,
        [VLY_PROGRAM_INVERSE] = inverse,
        [VLY_PROGRAM_ROOT] = root,
        [VLY_PROGRAM_EXP] = exponential,
        [VLY_PROGRAM_DECAY_MEAN] = decay_mean,
        [VLY_PROGRAM_LESS] = less,
        [VLY_PROGRAM_AT_MOST] = at_most,
        [VLY_PROGRAM_AND] = both,
        [VLY_PROGRAM_OR] = either,
        [VLY_PROGRAM_NOT] = negation,
        [VLY_PROGRAM_IS_ZERO] = is_zero,
        [VLY_PROGRAM_COUNT_DOWN] = count_down,
        [VLY_PROGRAM_SELECT] = choose,
    };
    view v = {.d = call->place[step->d], .n = call->n, .ones = step->ones};
    if (step->code == VLY_PROGRAM_INPUT) {
        v.a = call->input[step->port];
        input(&v, call->scale[step->port]);
        return;
    }
    if (step->code == VLY_PROGRAM_UNIFORM) {
        uniform(&v, call, step->lo);
        return;
    }
    v.a = call->place[step->a];
    if (step->code == VLY_PROGRAM_STORE) {
        store(&v, step->lo, step->hi);
        return;
    }
    v.b = step->b == UINT16_MAX ? NULL : call->place[step->b];
    v.c = step->c == UINT16_MAX ? NULL : call->place[step->c];
    loops[step->code](&v);
}

void RUN2(VLY_CPU_ISA)(const vly_cpu_program_call *call);
void RUN2(VLY_CPU_ISA)(const vly_cpu_program_call *call)
{
    for (uint32_t i = 0; i < call->n_steps; i++)
        run_step(call, &call->steps[i]);
}
