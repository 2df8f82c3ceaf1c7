/* SPDX-License-Identifier: Apache-2.0
 * The loops of one plasticity rule. Not guarded: each_plasticity.h includes it
 * for every rule in cpu_learning_kernels.c.
 */
#define RULE_PART(part) PASTE(PASTE(vly_, VLY_PLASTICITY_ID), part)
#define LOOP(name) PASTE(PASTE(name, _), VLY_PLASTICITY_ID)

static RULE_PART(_coef) LOOP(coefs)(const vly_cpu_rows *rows)
{
    RULE_PART(_coef) c;
    memcpy(&c, rows->coefs, sizeof c);
    return c;
}

/* 1: the rule changes eligibilities. */
enum {
    LOOP(eligible) = 0
#define VLY_MODULATOR(tau, interval) +1
#include VLY_PLASTICITY_TABLE
};

/* Without a modulator there is nothing to do. */
static void LOOP(sweep)(const uint32_t *coefs, float d,
                        int32_t *restrict weight, int32_t *restrict eligibility,
                        uint64_t n)
{
    RULE_PART(_coef) c;
    memcpy(&c, coefs, sizeof c);
#define VLY_MODULATOR(tau, interval)                                           \
    VECTORISE                                                                  \
    for (uint64_t i = 0; i < n; i++) {                                         \
        int32_t e = eligibility[i];                                            \
        weight[i] = RULE_PART(_weight)(weight[i], e, c, d);                    \
        eligibility[i] = RULE_PART(_fade)(e, c);                               \
    }
#include VLY_PLASTICITY_TABLE
    (void)d;
    (void)weight;
    (void)eligibility;
    (void)n;
}

/* Spikes of one target, oldest first. */
INLINE int32_t LOOP(fold_target)(const vly_cpu_rows *rows,
                                 const vly_cpu_learning_row *row,
                                 RULE_PART(_coef) c, uint32_t i, int32_t m)
{
    const vly_cpu_posts *posts = &rows->posts;
    uint64_t ring = (uint64_t)i * (posts->mask + 1);
    const uint32_t *burst = posts->burst + ring;
    uint32_t end = posts->count[i];
    uint32_t at = end;
    while ((int32_t)(rows->burst - burst[(at - 1) & posts->mask]) <=
           row->oldest)
        at--;
    for (; at != end; at++) {
        uint32_t slot = at & posts->mask;
        int32_t age = (int32_t)(rows->burst - burst[slot]);
        if (age < row->youngest)
            break;
        uint32_t k = row->arrived - (uint32_t)age;
        float x0 = k == 0 ? row->before[0] : decayed(rows, 0, row->after[0], k);
        float x1 = k == 0 ? row->before[1] : decayed(rows, 1, row->after[1], k);
        m = RULE_PART(_post)(m, c, x0, x1, before(posts, 0, ring + slot),
                             before(posts, 1, ring + slot));
    }
    return m;
}

/* Spikes of targets of a block. Most synapses have one or none since the last
 * arrival: these go through the vector loop, where a trace of 0 changes
 * nothing. */
INLINE void LOOP(fold_block)(const vly_cpu_rows *rows,
                             const vly_cpu_learning_row *row,
                             RULE_PART(_coef) c, const uint32_t *target,
                             int32_t *restrict master, uint32_t n)
{
    float x0[BLOCK];
    float x1[BLOCK];
    float y0[BLOCK];
    float y1[BLOCK];
    uint32_t several[BLOCK];
    uint32_t n_several = source_traces(rows, row, target, n, x0, x1, several);
    traces_before(rows, target, n, y0, y1);
    for (uint32_t s = 0; s < n_several; s++) {
        uint32_t j = several[s];
        master[j] =
            LOOP(fold_target)(rows, row, c, target[j] - rows->first, master[j]);
    }
    VECTORISE
    for (uint32_t j = 0; j < n; j++)
        master[j] = RULE_PART(_post)(master[j], c, x0[j], x1[j], y0[j], y1[j]);
}

INLINE void LOOP(fold_with)(const vly_cpu_rows *rows,
                            const vly_cpu_learning_row *row, RULE_PART(_coef) c)
{
    for (uint64_t begin = row->begin; begin < row->end; begin += BLOCK) {
        uint64_t left = row->end - begin;
        LOOP(fold_block)
        (rows, row, c, rows->target + begin, rows->master + begin,
         left < BLOCK ? (uint32_t)left : BLOCK);
    }
}

static void LOOP(fold_recent)(const vly_cpu_rows *rows,
                              const vly_cpu_learning_row *row)
{
    RULE_PART(_coef) c = LOOP(coefs)(rows);
    const uint8_t *restrict recent = rows->recent;
    uint32_t found[BLOCK];
    for (uint64_t begin = row->begin; begin < row->end; begin += BLOCK) {
        uint64_t left = row->end - begin;
        uint32_t n = left < BLOCK ? (uint32_t)left : BLOCK;
        uint32_t n_found = 0;
        const uint32_t *target = rows->target + begin;
        int32_t *master = rows->master + begin;
        for (uint32_t j = 0; j < n; j++) {
            found[n_found] = j;
            n_found += recent[target[j] - rows->first];
        }
        for (uint32_t s = 0; s < n_found; s++) {
            uint32_t j = found[s];
            master[j] = LOOP(fold_target)(rows, row, c, target[j] - rows->first,
                                          master[j]);
        }
    }
}

/* The arrival itself, after the folds. */
INLINE void LOOP(arrive_with)(const vly_cpu_rows *rows,
                              const vly_cpu_learning_row *row, const float *x,
                              RULE_PART(_coef) c)
{
    float y0[BLOCK];
    float y1[BLOCK];
    uint32_t value[BLOCK];
    const float x0 = x[0];
    const float x1 = x[1];
    const uint32_t sign = rows->sign;
    const uint32_t shift = rows->shift;
    for (uint64_t begin = row->begin; begin < row->end; begin += BLOCK) {
        uint64_t left = row->end - begin;
        uint32_t n = left < BLOCK ? (uint32_t)left : BLOCK;
        const uint32_t *target = rows->target + begin;
        int32_t *restrict master = rows->master + begin;
        const int32_t *weight = rows->weight + begin;
        target_traces(rows, target, n, y0, y1);
        VECTORISE
        for (uint32_t j = 0; j < n; j++) {
            int32_t m = RULE_PART(_pre)(master[j], c, x0, x1, y0[j], y1[j]);
            master[j] = m;
            m = LOOP(eligible) ? weight[j] : m;
            value[j] = ((uint32_t)((m + 0x8000) >> 16) * sign) << shift;
        }
        for (uint32_t j = 0; j < n; j++)
            rows->input[target[j] - rows->first] += value[j];
    }
}

static void LOOP(fold)(const vly_cpu_rows *rows,
                       const vly_cpu_learning_row *row)
{
    RULE_PART(_coef) c = LOOP(coefs)(rows);
#define PRE 0
#define POST 1
#define VLY_CASE(side, name, usual)                                            \
    if (side && c.name == usual) {                                             \
        c.name = usual;                                                        \
        LOOP(fold_with)(rows, row, c);                                         \
        return;                                                                \
    }
#include VLY_PLASTICITY_TABLE
#undef PRE
#undef POST
    LOOP(fold_with)(rows, row, c);
}

static void LOOP(arrive)(const vly_cpu_rows *rows,
                         const vly_cpu_learning_row *row, const float *x)
{
    RULE_PART(_coef) c = LOOP(coefs)(rows);
    if (row->youngest <= row->oldest)
        LOOP(fold)(rows, row);
#define PRE 1
#define POST 0
#define VLY_CASE(side, name, usual)                                            \
    if (side && c.name == usual) {                                             \
        c.name = usual;                                                        \
        LOOP(arrive_with)(rows, row, x, c);                                    \
        return;                                                                \
    }
#include VLY_PLASTICITY_TABLE
#undef PRE
#undef POST
    LOOP(arrive_with)(rows, row, x, c);
}

static void LOOP(window_row)(const vly_cpu_window_rows *rows, uint64_t begin,
                             uint64_t end, float x)
{
    RULE_PART(_coef) c;
    memcpy(&c, rows->coefs, sizeof c);
    const uint32_t *target = rows->target;
    const float *state = rows->target_state;
    const uint32_t first = rows->first;
    int32_t *restrict master = rows->master;
    VECTORISE
    for (uint64_t j = begin; j < end; j++)
        master[j] = RULE_PART(_post)(master[j], c, x, 0.0f,
                                     state[target[j] - first], 0.0f);
}

static void LOOP(window_column)(const vly_cpu_window_rows *rows,
                                const uint32_t *synapse, const uint32_t *source,
                                uint32_t n, float y)
{
    RULE_PART(_coef) c;
    memcpy(&c, rows->coefs, sizeof c);
    int32_t *master = rows->master;
    for (uint32_t j = 0; j < n; j++)
        if (!(rows->source_state[source[j]] > 0.0f))
            master[synapse[j]] =
                RULE_PART(_post)(master[synapse[j]], c, 0.0f, 0.0f, y, 0.0f);
}

#undef RULE_PART
#undef LOOP
