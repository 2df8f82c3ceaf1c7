/* SPDX-License-Identifier: Apache-2.0
 * The loops of a rule that a user wrote: an interpreter over blocks of synapses
 * (kernels/rules/rule_program.h). Included once by cpu_learning_kernels.c.
 */
#define PROGRAM_BLOCK 64u /* synapses: the values of a program stay in L1 */

typedef struct program_values {
    uint32_t v[VLY_RULE_PROGRAM_OPS][PROGRAM_BLOCK];
} program_values;

/* Numbers and coefficients, the same in every block. */
static void program_begin(const vly_rule_program *p, program_values *values)
{
    for (uint32_t i = 0; i < p->n_ops; i++) {
        const vly_program_op *op = &p->ops[i];
        uint32_t word = op->code == VLY_PROGRAM_COEF ? p->coefs[op->a] : op->a;
        if (op->code == VLY_PROGRAM_NUMBER || op->code == VLY_PROGRAM_COEF)
            for (uint32_t j = 0; j < PROGRAM_BLOCK; j++)
                values->v[i][j] = word;
    }
}

/* Always whole blocks: what is beyond their end is computed and not used. */
static void program_field(uint32_t field, const int32_t *m,
                          const float *const *traces, uint32_t *restrict to)
{
    if (field == 0) {
        VECTORISE
        for (uint32_t j = 0; j < PROGRAM_BLOCK; j++)
            to[j] = vly_bits(vly_weight_f32(m[j]));
        return;
    }
    memcpy(to, traces[field - 1], PROGRAM_BLOCK * sizeof *to);
}

#define PROGRAM_CASE(name)                                                     \
    case VLY_PROGRAM_##name:                                                   \
        VECTORISE                                                              \
        for (uint32_t j = 0; j < PROGRAM_BLOCK; j++)                           \
            d[j] = vly_rule_operation(VLY_PROGRAM_##name, a[j], b[j], c[j]);   \
        break;

static void program_operation(const vly_program_op *op,
                              uint32_t (*v)[PROGRAM_BLOCK], uint32_t i)
{
    const uint32_t reads = vly_rule_operands(op->code);
    uint32_t *restrict d = v[i];
    const uint32_t *a = v[op->a];
    const uint32_t *b = v[reads > 1 ? op->b : op->a];
    const uint32_t *c = v[reads > 2 ? op->c : op->a];
    switch (op->code) {
        PROGRAM_CASE(ADD)
        PROGRAM_CASE(SUBTRACT)
        PROGRAM_CASE(MULTIPLY)
        PROGRAM_CASE(NEGATE)
        PROGRAM_CASE(ABSOLUTE)
        PROGRAM_CASE(INVERSE)
        PROGRAM_CASE(ROOT)
        PROGRAM_CASE(EXP)
        PROGRAM_CASE(DECAY_MEAN)
        PROGRAM_CASE(LESS)
        PROGRAM_CASE(AT_MOST)
        PROGRAM_CASE(AND)
        PROGRAM_CASE(OR)
        PROGRAM_CASE(NOT)
    default:
        VECTORISE
        for (uint32_t j = 0; j < PROGRAM_BLOCK; j++)
            d[j] = vly_rule_operation(VLY_PROGRAM_SELECT, a[j], b[j], c[j]);
    }
}

#undef PROGRAM_CASE

/* n weights of a block; traces: x0, x1, y0, y1 [PROGRAM_BLOCK]. post: where x0
 * and x1 are 0 nothing changes. The program has an operation. */
static void program_run(const vly_rule_program *p, program_values *values,
                        bool post, const float *const *traces,
                        int32_t *restrict master, uint32_t n)
{
    int32_t m[PROGRAM_BLOCK];
    memcpy(m, master, n * sizeof *m);
    memset(m + n, 0, (PROGRAM_BLOCK - n) * sizeof *m);
    for (uint32_t i = 0; i < p->n_ops; i++) {
        const vly_program_op *op = &p->ops[i];
        if (op->code == VLY_PROGRAM_FIELD)
            program_field(op->a, m, traces, values->v[i]);
        else if (op->code != VLY_PROGRAM_NUMBER && op->code != VLY_PROGRAM_COEF)
            program_operation(op, values->v, i);
    }
    const uint32_t *dw = values->v[p->n_ops - 1];
    const float *x0 = traces[0];
    const float *x1 = traces[1];
    const uint32_t most = p->most;
    const uint32_t always = post ? 0u : 1u;
    VECTORISE
    for (uint32_t j = 0; j < PROGRAM_BLOCK; j++) {
        int32_t changed = vly_rule_change(m[j], dw[j], most);
        uint32_t takes =
            always | (uint32_t)(x0[j] > 0.0f) | (uint32_t)(x1[j] > 0.0f);
        m[j] = takes != 0 ? changed : m[j];
    }
    memcpy(master, m, n * sizeof *m);
}

/* Spikes of a target that a synapse has not seen: the next, and those left. */
typedef struct program_spikes {
    uint32_t at;
    uint32_t end;
} program_spikes;

static program_spikes program_spikes_of(const vly_cpu_rows *rows,
                                        const vly_cpu_learning_row *row,
                                        uint32_t i)
{
    const vly_cpu_posts *posts = &rows->posts;
    const uint32_t *burst = posts->burst + (uint64_t)i * (posts->mask + 1);
    uint32_t end = posts->count[i];
    uint32_t at = end;
    while ((int32_t)(rows->burst - burst[(at - 1) & posts->mask]) <=
           row->oldest)
        at--;
    return (program_spikes){at, end};
}

/* The traces at the next spike of target i; false: there is none. */
static bool program_next(const vly_cpu_rows *rows,
                         const vly_cpu_learning_row *row, uint32_t i,
                         program_spikes *spikes, float x[2], float y[2])
{
    const vly_cpu_posts *posts = &rows->posts;
    uint64_t ring = (uint64_t)i * (posts->mask + 1);
    uint32_t slot = spikes->at & posts->mask;
    if (spikes->at == spikes->end)
        return false;
    int32_t age = (int32_t)(rows->burst - posts->burst[ring + slot]);
    if (age < row->youngest) {
        spikes->at = spikes->end;
        return false;
    }
    spikes->at++;
    uint32_t k = row->arrived - (uint32_t)age;
    for (uint32_t t = 0; t < 2; t++) {
        x[t] = k == 0 ? row->before[t] : decayed(rows, t, row->after[t], k);
        y[t] = before(posts, t, ring + slot);
    }
    return true;
}

/* Synapses whose targets have several spikes, oldest first: the first spike of
 * all, the second of those that have one, and so on. */
static void program_fold_several(const vly_cpu_rows *rows,
                                 const vly_cpu_learning_row *row,
                                 const vly_rule_program *p,
                                 program_values *values, const uint32_t *target,
                                 int32_t *restrict master,
                                 const uint32_t *several, uint32_t n)
{
    float traces_at[4][PROGRAM_BLOCK] = {{0}};
    const float *const traces[4] = {traces_at[0], traces_at[1], traces_at[2],
                                    traces_at[3]};
    program_spikes spikes[PROGRAM_BLOCK];
    int32_t m[PROGRAM_BLOCK];
    bool more = true;
    for (uint32_t s = 0; s < n; s++) {
        spikes[s] =
            program_spikes_of(rows, row, target[several[s]] - rows->first);
        m[s] = master[several[s]];
    }
    while (more) {
        more = false;
        for (uint32_t s = 0; s < n; s++) {
            float x[2] = {0.0f, 0.0f};
            float y[2] = {0.0f, 0.0f};
            more |= program_next(rows, row, target[several[s]] - rows->first,
                                 &spikes[s], x, y);
            for (uint32_t t = 0; t < 2; t++) {
                traces_at[t][s] = x[t];
                traces_at[2 + t][s] = y[t];
            }
        }
        if (more) /* where the traces of the source are 0 nothing changes */
            program_run(p, values, true, traces, m, n);
    }
    for (uint32_t s = 0; s < n; s++)
        master[several[s]] = m[s];
}

static void fold_program(const vly_cpu_rows *rows,
                         const vly_cpu_learning_row *row)
{
    const vly_rule_program p = vly_rule_program_of(rows->coefs, 1);
    float x0[PROGRAM_BLOCK] = {0};
    float x1[PROGRAM_BLOCK] = {0};
    float y0[PROGRAM_BLOCK] = {0};
    float y1[PROGRAM_BLOCK] = {0};
    const float *const traces[4] = {x0, x1, y0, y1};
    uint32_t several[PROGRAM_BLOCK + 1];
    program_values values;
    if (p.n_ops == 0)
        return;
    program_begin(&p, &values);
    for (uint64_t begin = row->begin; begin < row->end;
         begin += PROGRAM_BLOCK) {
        uint64_t left = row->end - begin;
        uint32_t n = left < PROGRAM_BLOCK ? (uint32_t)left : PROGRAM_BLOCK;
        const uint32_t *target = rows->target + begin;
        int32_t *master = rows->master + begin;
        uint32_t n_several =
            source_traces(rows, row, target, n, x0, x1, several);
        traces_before(rows, target, n, y0, y1);
        if (n_several != 0)
            program_fold_several(rows, row, &p, &values, target, master,
                                 several, n_several);
        program_run(&p, &values, true, traces, master, n);
    }
}

static void arrive_program(const vly_cpu_rows *rows,
                           const vly_cpu_learning_row *row, const float *x)
{
    const vly_rule_program p = vly_rule_program_of(rows->coefs, 0);
    float x0[PROGRAM_BLOCK];
    float x1[PROGRAM_BLOCK];
    float y0[PROGRAM_BLOCK] = {0};
    float y1[PROGRAM_BLOCK] = {0};
    const float *const traces[4] = {x0, x1, y0, y1};
    program_values values;
    if (row->youngest <= row->oldest)
        fold_program(rows, row);
    for (uint32_t j = 0; j < PROGRAM_BLOCK; j++) {
        x0[j] = x[0];
        x1[j] = x[1];
    }
    program_begin(&p, &values);
    /* a rule without on_pre changes nothing here */
    const uint64_t end = p.n_ops > 0 ? row->end : row->begin;
    for (uint64_t begin = row->begin; begin < end; begin += PROGRAM_BLOCK) {
        uint64_t left = end - begin;
        uint32_t n = left < PROGRAM_BLOCK ? (uint32_t)left : PROGRAM_BLOCK;
        target_traces(rows, rows->target + begin, n, y0, y1);
        program_run(&p, &values, false, traces, rows->master + begin, n);
    }
    deliver(rows, row); /* its weights are the masters: no eligibility */
}
