/* SPDX-License-Identifier: Apache-2.0
 * The second simulator: models of users. The saved connectome has the
 * definition of one, and after it the operations of its program as text, which
 * are evaluated here one by one for one neuron. The functions that are more
 * than one operation are those of kernels/models, which tests compare with
 * doubles.
 */
#include "second_simulator.h"

#include <stdlib.h>
#include <string.h>

#include "kernels/models/program.h"

typedef struct op {
    char code[16];
    uint32_t a, b, c;
} op;

struct second_program {
    uint32_t n_ops;
    uint32_t n_fields;
    uint32_t fired;
    uint32_t *out;
    op *ops;
    uint32_t *values;
};

static const char *number(const char *at, uint32_t *out)
{
    char *end;
    *out = (uint32_t)strtoul(at, &end, 10);
    return end;
}

/* "#program OPS FIELDS FIRED OUT...\n#CODE A B C\n..." */
second_program *second_program_read(const char *definition)
{
    const char *at = strstr(definition, "#program ");
    second_program *made = calloc(1, sizeof *made);
    if (!at || !made) {
        free(made);
        return NULL;
    }
    at = number(at + 9, &made->n_ops);
    at = number(at, &made->n_fields);
    at = number(at, &made->fired);
    made->out = calloc(made->n_fields + 1u, sizeof *made->out);
    made->ops = calloc(made->n_ops + 1u, sizeof *made->ops);
    made->values = calloc(made->n_ops + 1u, sizeof *made->values);
    if (!made->out || !made->ops || !made->values) {
        second_program_free(made);
        return NULL;
    }
    for (uint32_t f = 0; f < made->n_fields; f++)
        at = number(at, &made->out[f]);
    for (uint32_t i = 0; i < made->n_ops; i++) {
        op *to = &made->ops[i];
        at = strchr(at, '#');
        if (!at || sscanf(at, "#%15s %u %u %u", to->code, &to->a, &to->b,
                          &to->c) != 4) {
            fprintf(stderr, "second simulator: operation %u of a program\n",
                    (unsigned)i);
            second_program_free(made);
            return NULL;
        }
        at++;
    }
    return made;
}

void second_program_free(second_program *program)
{
    if (!program)
        return;
    free(program->out);
    free(program->ops);
    free(program->values);
    free(program);
}

static uint32_t coef(const second_area *area, uint32_t index, uint32_t k)
{
    const second_column *column =
        &area->columns[area->n_params + area->n_fields + index];
    return ((const uint32_t *)column->elements)[column->is_uniform ? 0 : k];
}

static float store(float x, float lo, float hi)
{
    if (!(x > lo))
        x = lo;
    if (!(x < hi))
        x = hi;
    uint32_t size = vly_bits(x) & 0x7fffffffu;
    return size < 0x2b800000u ? 0.0f : x; /* 2^-40 */
}

static int is(const op *o, const char *code)
{
    return strcmp(o->code, code) == 0;
}

/* Operations with a truth or a whole number. */
static int whole(const op *o, const uint32_t *v, uint32_t *out)
{
    if (is(o, "LESS"))
        *out = vly_float(v[o->a]) < vly_float(v[o->b]);
    else if (is(o, "AT_MOST"))
        *out = vly_float(v[o->a]) <= vly_float(v[o->b]);
    else if (is(o, "AND"))
        *out = v[o->a] && v[o->b];
    else if (is(o, "OR"))
        *out = v[o->a] || v[o->b];
    else if (is(o, "NOT"))
        *out = !v[o->a];
    else if (is(o, "IS_ZERO"))
        *out = v[o->a] == 0;
    else if (is(o, "COUNT_DOWN"))
        *out = v[o->a] > 0 ? v[o->a] - 1 : 0;
    else if (is(o, "SELECT"))
        *out = v[o->a] ? v[o->b] : v[o->c];
    else
        return 0;
    return 1;
}

static int single(const op *o, const uint32_t *v, float *out)
{
    float a = vly_float(v[o->a]);
    if (is(o, "ADD"))
        *out = a + vly_float(v[o->b]);
    else if (is(o, "SUBTRACT"))
        *out = a - vly_float(v[o->b]);
    else if (is(o, "MULTIPLY"))
        *out = a * vly_float(v[o->b]);
    else if (is(o, "INVERSE"))
        *out = vly_inverse_f32(a);
    else if (is(o, "ROOT"))
        *out = vly_root_f32(a);
    else if (is(o, "EXP"))
        *out = vly_exp_f32(a);
    else if (is(o, "DECAY_MEAN"))
        *out = vly_decay_mean_f32(a);
    else if (is(o, "STORE"))
        *out = store(a, vly_float(o->b), vly_float(o->c));
    else
        return 0;
    return 1;
}

/* 1 if neuron k fires, 0 if not. An unknown operation ends the process. */
int second_step_program(const second_file *file, second_area *area, uint32_t k,
                        uint64_t burst, const float in[4])
{
    second_program *program = area->program;
    uint32_t *v = program->values;
    for (uint32_t i = 0; i < program->n_ops; i++) {
        const op *o = &program->ops[i];
        float x = 0.0f;
        if (is(o, "NUMBER"))
            v[i] = o->a;
        else if (is(o, "FIELD"))
            v[i] = area->state[o->a][k];
        else if (is(o, "COEF"))
            v[i] = coef(area, o->a, k);
        else if (is(o, "INPUT"))
            v[i] = vly_bits(in[o->a]);
        else if (is(o, "UNIFORM"))
            v[i] = vly_bits((float)(second_draw(file->seed_input, burst,
                                                area->first + k, o->a) >>
                                    8) *
                            0x1p-24f);
        else if (is(o, "NEGATE"))
            v[i] = v[o->a] ^ 0x80000000u;
        else if (is(o, "ABSOLUTE"))
            v[i] = v[o->a] & 0x7fffffffu;
        else if (single(o, v, &x))
            v[i] = vly_bits(x);
        else if (!whole(o, v, &v[i])) {
            fprintf(stderr, "second simulator: operation %s\n", o->code);
            abort();
        }
    }
    for (uint32_t f = 0; f < program->n_fields; f++)
        area->state[f][k] = v[program->out[f]];
    return v[program->fired] != 0;
}
