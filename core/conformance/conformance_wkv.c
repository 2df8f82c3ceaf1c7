/* SPDX-License-Identifier: Apache-2.0
 * Cases of volley.wkv/1 against the recurrence in double.
 *
 * How far a right result may be away. Row i of the state is a vector s; a token
 * makes s' = s M + v_i k with M = diag(d) + a b^T. With w = 2^-22 for every
 * operation (twice the roundoff of fp32, cut off, twice: a form over chunks
 * does the work in two levels), an error e of s becomes at most
 *
 *   |e'| <= m |e| + (|s| (2^-21 c + 4 w) + |s.a| 4 w |b| +
 *           68 w |s| |a| |b| + |v_i| |k| 4 w),      all norms Euclidean,
 *
 * where m is the norm of M (by power iteration, one per cent added) and c the
 * largest exp(w_j) + 1 of a key, as exp(-exp(w)) has the relative error
 * (exp(w) + 1) 2^-22 if both exps have 2^-22. y_i = s.r is off by
 * |e| |r| + 68 w |s| |r| + the roundoff of its type.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "conformance/conformance_accel.h"
#include "conformance/conformance_attention.h"
#include "conformance/conformance_element.h"

enum { DIM = 64, SQUARE = DIM * DIM, BATCH_MOST = 4 };

typedef struct wkv_case {
    const char *name;
    uint32_t batch;
    uint32_t seq;
    uint32_t heads;
    uint32_t has_state; /* state_in is given */
    uint32_t in_place;  /* state_out is state_in */
    uint32_t lengths;
    uint32_t strong; /* decays near 0, as exp(-exp(5)), and near 1 */
} wkv_case;

static const wkv_case cases[] = {
    {"step", 1, 1, 2, 1, 0, 0, 0},
    {"step_in_place", 3, 1, 4, 1, 1, 0, 0},
    {"step_first", 2, 1, 1, 0, 0, 0, 0},
    {"sequence", 1, 130, 2, 0, 0, 0, 0},
    {"sequence_state", 2, 65, 3, 1, 0, 0, 0},
    {"sequence_in_place", 1, 63, 2, 1, 1, 0, 0},
    {"sequence_17", 1, 17, 1, 1, 0, 0, 0},
    {"sequence_long", 1, 700, 1, 0, 0, 0, 0},
    {"lengths", 4, 90, 2, 1, 0, 1, 0},
    {"lengths_in_place", 4, 33, 2, 1, 1, 1, 0},
    {"strong_decay", 1, 120, 2, 1, 0, 0, 1},
    {"no_token", 2, 0, 2, 1, 0, 0, 0},
    {"no_token_no_state", 2, 0, 2, 0, 0, 0, 0},
    {"no_batch", 0, 5, 2, 1, 0, 0, 0},
};

enum {
    R,
    W,
    K,
    V,
    A,
    B,
    N_INPUTS,
    Y = N_INPUTS,
    STATE_IN,
    STATE_OUT,
    LENGTH,
    N_BUFFERS
};

static const char *const names[N_BUFFERS] = {
    "r", "w", "k", "v", "a", "b", "y", "state_in", "state_out", "length"};

typedef struct trial {
    accel_trial *accel;
    const vly_accelerator *accelerator;
    const wkv_case *entry;
    vly_wkv_desc desc;
    uint32_t length[BATCH_MOST];
    uint64_t n;       /* elements of r */
    uint64_t n_state; /* of the state */
    double *input[N_INPUTS];
    double *y;
    double *y_bound;
    double *state; /* after the last token */
    double *state_bound;
    double *memory;
    float *state_in;
    accel_buffer buffers[N_BUFFERS];
    uint64_t workspace_bytes;
    accel_buffer workspace;
    vly_wkv_plan *plan;
    uint32_t unaligned;
    uint32_t graph; /* run as a graph, in a stream of its own */
    uint32_t skipped;
    vly_error error;
} trial;

/* ---- data ---------------------------------------------------------------- */

/* As RWKV-7 makes them: a = -kk with |kk| = 1, b = kk * rate in (0, 1), decays
 * from exp(-exp(-0.5)) to near 1. */
static double some_input(const trial *t, uint32_t which, uint64_t i)
{
    const uint64_t row = i / DIM;
    const uint64_t seed = t->accel->seed;
    if (which == W) {
        double u = attention_uniform(seed, W, i);
        return t->entry->strong ? 14.0 * u - 9.0 : 8.0 * u - 8.5;
    }
    if (which != A && which != B)
        return attention_random(seed, which, i);
    double length = 0.0;
    for (uint64_t j = 0; j < DIM; j++) {
        double x = attention_random(seed, A, row * DIM + j);
        length += x * x;
    }
    double kk = attention_random(seed, A, i) / sqrt(length);
    return which == A ? -kk : kk * attention_uniform(seed, B, i);
}

static vly_status make_data(trial *t)
{
    const wkv_case *entry = t->entry;
    const uint64_t sequences = (uint64_t)entry->batch * entry->heads;
    t->n = sequences * entry->seq * DIM;
    t->n_state = sequences * SQUARE;
    t->memory =
        vly_calloc((N_INPUTS + 2) * t->n + 2 * t->n_state + 1, sizeof(double));
    t->state_in = vly_calloc(t->n_state + 1, sizeof(float));
    if (t->memory == NULL || t->state_in == NULL)
        return vly_fail_nomem(&t->error, t->n, "test data");
    for (uint32_t i = 0; i < N_INPUTS; i++)
        t->input[i] = t->memory + i * t->n;
    t->y = t->memory + N_INPUTS * t->n;
    t->y_bound = t->y + t->n;
    t->state = t->y_bound + t->n;
    t->state_bound = t->state + t->n_state;
    for (uint32_t i = 0; i < N_INPUTS; i++)
        for (uint64_t j = 0; j < t->n; j++)
            t->input[i][j] = conformance_decode(
                t->desc.type,
                conformance_encode(t->desc.type, some_input(t, i, j)));
    for (uint64_t j = 0; j < t->n_state && entry->has_state; j++)
        t->state_in[j] = (float)attention_random(t->accel->seed, STATE_IN, j);
    for (uint32_t b = 0; b < entry->batch; b++) {
        const uint32_t some[BATCH_MOST] = {entry->seq, 0, 1, entry->seq / 2};
        t->length[b] = entry->lengths ? some[b % BATCH_MOST] : entry->seq;
    }
    return VLY_OK;
}

/* ---- the reference ------------------------------------------------------- */

static double norm(const double *x)
{
    double sum = 0.0;
    for (uint32_t j = 0; j < DIM; j++)
        sum += x[j] * x[j];
    return sqrt(sum);
}

static double dot(const double *x, const double *y)
{
    double sum = 0.0;
    for (uint32_t j = 0; j < DIM; j++)
        sum += x[j] * y[j];
    return sum;
}

/* x M and then M^T of it, M = diag(d) + a b^T: power iteration. */
static double norm_of_step(const double *d, const double *a, const double *b)
{
    double x[DIM];
    double y[DIM];
    double size = 1.0;
    for (uint32_t j = 0; j < DIM; j++)
        x[j] = 1.0 + 0.01 * j;
    for (uint32_t round = 0; round < 40; round++) {
        const double before = norm(x);
        double along = dot(x, a);
        for (uint32_t j = 0; j < DIM; j++)
            y[j] = x[j] * d[j] + along * b[j];
        along = dot(y, b);
        for (uint32_t j = 0; j < DIM; j++)
            x[j] = y[j] * d[j] + along * a[j];
        size = sqrt(norm(x) / before);
        for (uint32_t j = 0; j < DIM; j++)
            x[j] /= before;
    }
    return 1.01 * size;
}

typedef struct token {
    const double *r, *k, *v, *a, *b;
    double decay[DIM];
    double step; /* norm of M */
    double decay_error;
} token;

static void find_token(const trial *t, uint64_t at, token *one)
{
    *one = (token){.r = t->input[R] + at,
                   .k = t->input[K] + at,
                   .v = t->input[V] + at,
                   .a = t->input[A] + at,
                   .b = t->input[B] + at};
    for (uint32_t j = 0; j < DIM; j++) {
        const double rate = exp(t->input[W][at + j]);
        one->decay[j] = exp(-rate);
        one->decay_error =
            fmax(one->decay_error, one->decay[j] * (rate + 1.0) * 0x1p-21);
    }
    one->step = norm_of_step(one->decay, one->a, one->b);
}

/* Row i of the state and y_i after one token. */
static void row_step(const trial *t, const token *one, uint32_t i, uint64_t at,
                     double *s, double *error)
{
    const double w = 0x1p-22;
    const double along = dot(s, one->a);
    const double size = norm(s);
    double y = 0.0;
    *error = one->step * *error + size * (one->decay_error + 4 * w) +
             fabs(along) * 4 * w * norm(one->b) +
             68 * w * size * norm(one->a) * norm(one->b) +
             fabs(one->v[i]) * norm(one->k) * 4 * w;
    for (uint32_t j = 0; j < DIM; j++) {
        s[j] = s[j] * one->decay[j] + along * one->b[j] + one->v[i] * one->k[j];
        y += s[j] * one->r[j];
    }
    t->y[at + i] = y;
    t->y_bound[at + i] = *error * norm(one->r) +
                         68 * w * norm(s) * norm(one->r) +
                         conformance_element_roundoff(t->desc.type) * fabs(y) +
                         conformance_element_least(t->desc.type) / 2;
}

static void head_truth(const trial *t, uint64_t b, uint64_t h)
{
    const wkv_case *entry = t->entry;
    double *state = t->state + (b * entry->heads + h) * SQUARE;
    double *bound = t->state_bound + (b * entry->heads + h) * SQUARE;
    double error[DIM] = {0};
    for (uint32_t j = 0; j < SQUARE; j++)
        state[j] = t->state_in[(b * entry->heads + h) * SQUARE + j];
    for (uint64_t s = 0; s < t->length[b]; s++) {
        const uint64_t at = ((b * entry->seq + s) * entry->heads + h) * DIM;
        token one;
        find_token(t, at, &one);
        for (uint32_t i = 0; i < DIM; i++)
            row_step(t, &one, i, at, state + i * DIM, &error[i]);
    }
    for (uint32_t j = 0; j < SQUARE; j++)
        bound[j] = error[j / DIM] + 0x1p-24 * fabs(state[j]);
}

/* ---- a run --------------------------------------------------------------- */

static const char *how(const trial *t)
{
    return t->graph ? " (graph)" : t->unaligned ? " (unaligned)" : "";
}

static bool failed_call(trial *t, const char *call)
{
    accel_fail(t->accel, "%s%s: %.400s", call, how(t), t->error.message);
    return false;
}

static bool make_plan(trial *t)
{
    const vly_wkv *wkv = &t->accelerator->wkv;
    vly_plan_info info = {.struct_size = sizeof info};
    vly_status status = wkv->supports(&t->desc, &t->error);
    if (status == VLY_OK)
        status = wkv->plan_create(&t->accelerator->device, &t->desc, &t->plan,
                                  &t->error);
    t->skipped = status == VLY_E_UNSUPPORTED;
    if (status != VLY_OK)
        return failed_call(t, "plan");
    if (wkv->plan_info(t->plan, &info, &t->error) != VLY_OK)
        return failed_call(t, "plan_info");
    if (info.choice[0] == 0 || info.workspace_bytes > t->desc.workspace_most) {
        accel_fail(t->accel, "plan_info: no choice, or more workspace than "
                             "workspace_most");
        return false;
    }
    t->workspace_bytes = info.workspace_bytes;
    return true;
}

static bool make_buffer(trial *t, uint32_t which, uint64_t bytes,
                        uint32_t offset)
{
    accel_buffer *buffer = &t->buffers[which];
    if (accel_buffer_init(buffer, t->accelerator, bytes,
                          t->unaligned ? offset : 0, &t->error) != VLY_OK)
        return failed_call(t, "memory");
    for (uint64_t i = 0; i < t->n && which < N_INPUTS; i++)
        conformance_element_set(t->desc.type, accel_buffer_host(buffer), i,
                                t->input[which][i]);
    const bool is_state =
        which == STATE_IN || (which == STATE_OUT && t->entry->in_place);
    if (is_state && bytes > 0)
        memcpy(accel_buffer_host(buffer), t->state_in, bytes);
    if (which == LENGTH && bytes > 0)
        memcpy(accel_buffer_host(buffer), t->length, bytes);
    if (accel_buffer_put(buffer, &t->error) != VLY_OK)
        return failed_call(t, "copy");
    return true;
}

static bool make_buffers(trial *t)
{
    const uint32_t size = conformance_element_bits(t->desc.type) / 8;
    bool good = true;
    for (uint32_t i = 0; i <= Y && good; i++)
        good = make_buffer(t, i, t->n * size, size);
    if (good && t->entry->has_state && !t->entry->in_place)
        good = make_buffer(t, STATE_IN, t->n_state * 4, 4);
    good = good && make_buffer(t, STATE_OUT, t->n_state * 4, 4);
    if (good && t->entry->lengths)
        good = make_buffer(t, LENGTH, (uint64_t)t->entry->batch * 4, 4);
    if (good && accel_buffer_init(&t->workspace, t->accelerator,
                                  t->workspace_bytes, 0, &t->error) != VLY_OK)
        good = failed_call(t, "memory of the workspace");
    if (good && accel_buffer_put(&t->workspace, &t->error) != VLY_OK)
        good = failed_call(t, "copy");
    return good;
}

static vly_status put_run(void *arg, void *stream, vly_error *error)
{
    const trial *t = arg;
    void *at[N_BUFFERS];
    for (uint32_t i = 0; i < N_BUFFERS; i++)
        at[i] = t->buffers[i].base != NULL ? accel_buffer_device(&t->buffers[i])
                                           : NULL;
    const vly_wkv_run run = {.struct_size = sizeof run,
                             .r = at[R],
                             .w = at[W],
                             .k = at[K],
                             .v = at[V],
                             .a = at[A],
                             .b = at[B],
                             .y = at[Y],
                             .state_in = t->entry->in_place ? at[STATE_OUT]
                                                            : at[STATE_IN],
                             .state_out = at[STATE_OUT],
                             .length = at[LENGTH],
                             .workspace = accel_buffer_device(&t->workspace),
                             .workspace_bytes = t->workspace_bytes,
                             .stream = stream};
    return t->accelerator->wkv.run(t->plan, &run, error);
}

static bool run_once(trial *t)
{
    vly_status status = VLY_OK;
    if (t->graph)
        status = accel_run_graph(t->accelerator, put_run, t, &t->error);
    else
        status = put_run(t, NULL, &t->error);
    if (status == VLY_OK)
        status = t->accelerator->memory.stream_wait(
            t->accelerator->device.index, NULL, &t->error);
    return status == VLY_OK ? true : failed_call(t, "run");
}

/* ---- what it gave -------------------------------------------------------- */

static bool check_y(trial *t)
{
    const wkv_case *entry = t->entry;
    const uint32_t size = conformance_element_bits(t->desc.type) / 8;
    uint8_t *found = accel_buffer_found(&t->buffers[Y]);
    const uint8_t *host = accel_buffer_host(&t->buffers[Y]);
    for (uint64_t i = 0; i < t->n; i++) {
        const uint64_t b = i / DIM / entry->heads / entry->seq;
        const uint64_t s = i / DIM / entry->heads % entry->seq;
        const double x = conformance_element_get(t->desc.type, found, i);
        if (s >= t->length[b])
            continue;
        if (!(fabs(x - t->y[i]) <= t->y_bound[i])) {
            accel_fail(t->accel,
                       "y[batch %u, token %u, %u] is %.9g, wanted %.9g within "
                       "%.3g%s",
                       (uint32_t)b, (uint32_t)s,
                       (uint32_t)(i % (entry->heads * DIM)), x, t->y[i],
                       t->y_bound[i], how(t));
            return false;
        }
        memcpy(found + i * size, host + i * size, size);
    }
    if (accel_buffer_unchanged(&t->buffers[Y]))
        return true;
    accel_fail(t->accel, "y behind a sequence's length was written");
    return false;
}

static bool check_state(trial *t)
{
    const float *found = accel_buffer_found(&t->buffers[STATE_OUT]);
    for (uint64_t i = 0; i < t->n_state; i++) {
        float x;
        memcpy(&x, (const char *)found + i * sizeof x, sizeof x);
        if (fabs((double)x - t->state[i]) <= t->state_bound[i])
            continue;
        accel_fail(t->accel,
                   "state_out[head %u, %u, %u] is %.9g, wanted %.9g within "
                   "%.3g%s",
                   (uint32_t)(i / SQUARE), (uint32_t)(i / DIM % DIM),
                   (uint32_t)(i % DIM), (double)x, t->state[i],
                   t->state_bound[i], how(t));
        return false;
    }
    return true;
}

static bool check_results(trial *t)
{
    for (uint32_t i = 0; i < N_BUFFERS; i++) {
        accel_buffer *buffer = &t->buffers[i];
        if (buffer->base == NULL)
            continue;
        if (accel_buffer_get(buffer, &t->error) != VLY_OK)
            return failed_call(t, "copy");
        const bool writes = i == Y || i == STATE_OUT;
        if (!(writes ? accel_buffer_guarded(buffer)
                     : accel_buffer_unchanged(buffer))) {
            accel_fail(t->accel, "%s %s written", names[i],
                       writes ? "and bytes around it were" : "was");
            return false;
        }
    }
    if (accel_buffer_get(&t->workspace, &t->error) != VLY_OK ||
        !accel_buffer_guarded(&t->workspace)) {
        accel_fail(t->accel, "bytes around the workspace were written");
        return false;
    }
    return check_y(t) && check_state(t);
}

/* ---- a scenario ---------------------------------------------------------- */

static bool run_variant(trial *t, uint32_t unaligned, uint32_t graph)
{
    t->unaligned = unaligned;
    t->graph = graph;
    t->desc.align = unaligned ? conformance_element_bits(t->desc.type) / 8 : 0;
    bool good =
        make_plan(t) && make_buffers(t) && run_once(t) && check_results(t);
    t->accelerator->wkv.plan_destroy(t->plan);
    t->plan = NULL;
    for (uint32_t i = 0; i < N_BUFFERS; i++)
        accel_buffer_deinit(&t->buffers[i]);
    accel_buffer_deinit(&t->workspace);
    return good;
}

static uint32_t run_scenario(accel_trial *accel, uint32_t type)
{
    const wkv_case *entry = &cases[accel->index];
    trial t = {.accel = accel,
               .accelerator = accel->accelerator,
               .entry = entry,
               .desc = {.struct_size = sizeof t.desc,
                        .flags = entry->lengths ? VLY_WKV_LENGTHS : 0u,
                        .type = type,
                        .batch = entry->batch,
                        .seq = entry->seq,
                        .heads = entry->heads,
                        .dim = DIM,
                        .workspace_most = UINT64_C(1) << 30},
               .error = VLY_ERROR_INIT};
    bool good = make_data(&t) == VLY_OK || failed_call(&t, "test data");
    for (uint64_t i = 0; good && i < (uint64_t)entry->batch * entry->heads; i++)
        head_truth(&t, i / entry->heads, i % entry->heads);
    good = good && run_variant(&t, 0, 0);
    const bool skipped = t.skipped != 0;
    /* run twice, a state in place would be that of two runs */
    if (good && t.accelerator->memory.graph_begin != NULL && !entry->in_place)
        good = run_variant(&t, 0, 1);
    if (good)
        good = run_variant(&t, 1, 0) || t.skipped != 0; /* refused by name */
    vly_free(t.memory);
    vly_free(t.state_in);
    return good      ? VLY_CONFORMS
           : skipped ? VLY_CONFORMANCE_SKIPPED
                     : VLY_CONFORMANCE_FAILED;
}

static uint32_t run_f32(accel_trial *accel)
{
    return run_scenario(accel, VLY_ELEMENT_F32);
}

static uint32_t run_f16(accel_trial *accel)
{
    return run_scenario(accel, VLY_ELEMENT_F16);
}

static uint32_t run_bf16(accel_trial *accel)
{
    return run_scenario(accel, VLY_ELEMENT_BF16);
}

static const accel_scenario scenarios[] = {{"fp32", run_f32, NULL},
                                           {"fp16", run_f16, NULL},
                                           {"bf16", run_bf16, NULL},
                                           {NULL, NULL, NULL}};

static void case_name(uint32_t index, char *name, size_t size)
{
    (void)snprintf(name, size, "wkv_%s", cases[index].name);
}

const accel_table vly_wkv_table = {
    .interface_id = VLY_WKV_INTERFACE,
    .n_cases = sizeof cases / sizeof *cases,
    .case_name = case_name,
    .scenarios = scenarios,
};
