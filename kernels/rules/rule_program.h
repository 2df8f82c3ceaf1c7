/* SPDX-License-Identifier: Apache-2.0
 * A rule that a user wrote ([synapse.NAME]) as a backend gets it: the rule of
 * the description is "synapse NAME", its coefficients are these words:
 *     most, K, N, M         the bound; coefficients; operations of pre, of post
 *     K floats              the coefficients of the rule
 *     N and M times 4       operations as vly_program_op: of pre, then of post
 * The last operation of each is the change of the weight in units of the map; a
 * function without operations changes nothing. FIELD reads the weight, x0, x1,
 * y0 and y1 (0 to 4), COEF a coefficient. The hash of the rule is over all
 * words but `most` and the coefficients.
 *
 * The operations are those of users' models (kernels/models/program.h) that are
 * single precision, truths or choices: no backend rounds them differently.
 */
#ifndef VOLLEY_RULES_RULE_PROGRAM_H
#define VOLLEY_RULES_RULE_PROGRAM_H

#include <volley/plugin.h>

#include "rule_operation.h"

/* what the id of such a rule begins with */
#define VLY_RULE_PROGRAM "synapse "
#define VLY_RULE_PROGRAM_HEAD 4u
#define VLY_RULE_PROGRAM_FIELDS 5u
#define VLY_RULE_PROGRAM_COEFS 64u
#define VLY_RULE_PROGRAM_OPS 128u /* of one function */
#define VLY_RULE_PROGRAM_WORDS                                                 \
    (VLY_RULE_PROGRAM_HEAD + VLY_RULE_PROGRAM_COEFS +                          \
     2u * 4u * VLY_RULE_PROGRAM_OPS)

/* One of the two functions. */
typedef struct vly_rule_program {
    const uint32_t *coefs;
    const vly_program_op *ops;
    uint32_t n_ops;
    uint32_t most;
} vly_rule_program;

static inline vly_rule_program vly_rule_program_of(const uint32_t *words,
                                                   int post)
{
    const uint32_t *ops =
        words + VLY_RULE_PROGRAM_HEAD + words[1] + (post ? 4 * words[2] : 0);
    return (vly_rule_program){.coefs = words + VLY_RULE_PROGRAM_HEAD,
                              .ops = (const vly_program_op *)(const void *)ops,
                              .n_ops = post ? words[3] : words[2],
                              .most = words[0]};
}

static inline uint64_t vly_rule_program_hash(const uint32_t *words, uint32_t n)
{
    uint64_t hash = 0xcbf29ce484222325u;
    for (uint32_t i = 1; i < n; i++) {
        if (i == VLY_RULE_PROGRAM_HEAD)
            i += words[1];
        if (i < n)
            hash = (hash ^ words[i]) * 0x100000001b3u;
    }
    return hash;
}

/* How many values an operation reads; UINT32_MAX: rules do not have it */
static inline uint32_t vly_rule_operands(uint32_t code)
{
    switch (code) {
    case VLY_PROGRAM_NUMBER:
    case VLY_PROGRAM_FIELD:
    case VLY_PROGRAM_COEF:
        return 0;
    case VLY_PROGRAM_NEGATE:
    case VLY_PROGRAM_ABSOLUTE:
    case VLY_PROGRAM_INVERSE:
    case VLY_PROGRAM_ROOT:
    case VLY_PROGRAM_EXP:
    case VLY_PROGRAM_DECAY_MEAN:
    case VLY_PROGRAM_NOT:
        return 1;
    case VLY_PROGRAM_ADD:
    case VLY_PROGRAM_SUBTRACT:
    case VLY_PROGRAM_MULTIPLY:
    case VLY_PROGRAM_LESS:
    case VLY_PROGRAM_AT_MOST:
    case VLY_PROGRAM_AND:
    case VLY_PROGRAM_OR:
        return 2;
    case VLY_PROGRAM_SELECT:
        return 3;
    default:
        return UINT32_MAX;
    }
}

/* Whether n words are a rule: nothing is read beside them. */
static inline int vly_rule_program_good(const uint32_t *words, uint32_t n)
{
    if (n < VLY_RULE_PROGRAM_HEAD || words[1] > VLY_RULE_PROGRAM_COEFS ||
        words[2] > VLY_RULE_PROGRAM_OPS || words[3] > VLY_RULE_PROGRAM_OPS ||
        n != VLY_RULE_PROGRAM_HEAD + words[1] + 4 * (words[2] + words[3]))
        return 0;
    for (int post = 0; post < 2; post++) {
        const vly_rule_program p = vly_rule_program_of(words, post);
        for (uint32_t i = 0; i < p.n_ops; i++) {
            const vly_program_op *op = &p.ops[i];
            const uint32_t reads = vly_rule_operands(op->code);
            if (reads > 3 || (reads > 0 && op->a >= i) ||
                (reads > 1 && op->b >= i) || (reads > 2 && op->c >= i) ||
                (op->code == VLY_PROGRAM_FIELD &&
                 op->a >= VLY_RULE_PROGRAM_FIELDS) ||
                (op->code == VLY_PROGRAM_COEF && op->a >= words[1]))
                return 0;
        }
    }
    return 1;
}

/* What is added to the weight m, in units of the map: the bits of a float. */
static inline uint32_t vly_rule_program_value(const vly_rule_program *p,
                                              int32_t m, const float x[2],
                                              const float y[2])
{
    const float fields[VLY_RULE_PROGRAM_FIELDS] = {vly_weight_f32(m), x[0],
                                                   x[1], y[0], y[1]};
    uint32_t v[VLY_RULE_PROGRAM_OPS];
    for (uint32_t i = 0; i < p->n_ops; i++) {
        const vly_program_op *op = &p->ops[i];
        const uint32_t reads = vly_rule_operands(op->code);
        if (op->code == VLY_PROGRAM_NUMBER)
            v[i] = op->a;
        else if (op->code == VLY_PROGRAM_FIELD)
            v[i] = vly_bits(fields[op->a]);
        else if (op->code == VLY_PROGRAM_COEF)
            v[i] = p->coefs[op->a];
        else
            v[i] = vly_rule_operation(op->code, v[op->a],
                                      v[reads > 1 ? op->b : op->a],
                                      v[reads > 2 ? op->c : op->a]);
    }
    return p->n_ops ? v[p->n_ops - 1] : 0u;
}

/* The rule for one synapse. `post` leaves the weight as it is once the traces
 * of the source are 0: no backend looks at later spikes of the target. */
static inline int32_t vly_rule_program_step(const vly_rule_program *p,
                                            int32_t m, const float x[2],
                                            const float y[2])
{
    return vly_rule_change(m, vly_rule_program_value(p, m, x, y), p->most);
}

static inline int32_t vly_rule_program_pre(int32_t m, const uint32_t *words,
                                           const float x[2], const float y[2])
{
    const vly_rule_program p = vly_rule_program_of(words, 0);
    return vly_rule_program_step(&p, m, x, y);
}

static inline int32_t vly_rule_program_post(int32_t m, const uint32_t *words,
                                            const float x[2], const float y[2])
{
    const vly_rule_program p = vly_rule_program_of(words, 1);
    if (!(x[0] > 0.0f) && !(x[1] > 0.0f))
        return m;
    return vly_rule_program_step(&p, m, x, y);
}

#endif
