/* SPDX-License-Identifier: Apache-2.0
 * The second simulator: rules of plasticity of users. The saved connectome has
 * the operations of a rule among its coefficients (core/connectome/FORMAT.md),
 * which are evaluated here one by one for one synapse. The functions that are
 * more than one operation are those of kernels/models, which tests compare with
 * doubles.
 */
#include "second_learning.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kernels/models/program.h"

/* The codes of volley/plugin.h. */
enum {
    NUMBER = 0,
    FIELD = 1,
    COEF = 2,
    ADD = 5,
    SUBTRACT = 6,
    MULTIPLY = 7,
    NEGATE = 8,
    ABSOLUTE = 9,
    INVERSE = 10,
    ROOT = 11,
    EXP = 12,
    DECAY_MEAN = 13,
    LESS = 15,
    AT_MOST = 16,
    AND = 17,
    OR = 18,
    NOT = 19,
    SELECT = 22
};

static float as_float(uint32_t word)
{
    float x;
    memcpy(&x, &word, sizeof x);
    return x;
}

static uint32_t as_word(float x)
{
    uint32_t word;
    memcpy(&word, &x, sizeof word);
    return word;
}

static float single(uint32_t code, float a, float b)
{
    switch (code) {
    case ADD:
        return a + b;
    case SUBTRACT:
        return a - b;
    case MULTIPLY:
        return a * b;
    case INVERSE:
        return vly_inverse_f32(a);
    case ROOT:
        return vly_root_f32(a);
    case EXP:
        return vly_exp_f32(a);
    case DECAY_MEAN:
        return vly_decay_mean_f32(a);
    default:
        fprintf(stderr, "second simulator: operation %u of a rule\n",
                (unsigned)code);
        abort();
    }
}

static uint32_t value_of(const uint32_t *op, const uint32_t *v)
{
    uint32_t code = op[0];
    uint32_t a = v[op[1]];
    uint32_t b = code == NEGATE || code == ABSOLUTE || code == NOT ||
                         (code >= INVERSE && code <= DECAY_MEAN)
                     ? 0
                     : v[op[2]];
    switch (code) {
    case NEGATE:
        return a ^ 0x80000000u;
    case ABSOLUTE:
        return a & 0x7fffffffu;
    case LESS:
        return as_float(a) < as_float(b);
    case AT_MOST:
        return as_float(a) <= as_float(b);
    case AND:
        return a && b;
    case OR:
        return a || b;
    case NOT:
        return !a;
    case SELECT:
        return a ? b : v[op[3]];
    default:
        return as_word(single(code, as_float(a), as_float(b)));
    }
}

float second_rule_change(const second_learning *l, int post, float w,
                         const float traces[4])
{
    const uint32_t *words = l->coefs;
    uint32_t n_coefs = words[1];
    uint32_t n_ops = words[post ? 3 : 2];
    const uint32_t *ops = words + 4 + n_coefs + (post ? 4 * words[2] : 0);
    uint32_t *v = malloc((n_ops + 1u) * sizeof *v);
    if (!v)
        abort();
    for (uint32_t i = 0; i < n_ops; i++) {
        const uint32_t *op = ops + 4 * i;
        if (op[0] == NUMBER)
            v[i] = op[1];
        else if (op[0] == COEF)
            v[i] = words[4 + op[1]];
        else if (op[0] == FIELD)
            v[i] = as_word(op[1] == 0 ? w : traces[op[1] - 1]);
        else
            v[i] = value_of(op, v);
    }
    float change = n_ops > 0 ? as_float(v[n_ops - 1]) : 0.0f;
    free(v);
    return change == change ? change : 0.0f;
}
