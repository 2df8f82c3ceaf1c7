/* SPDX-License-Identifier: Apache-2.0
 * Scenarios of volley.gemm/1.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "conformance/conformance_element.h"
#include "conformance/conformance_gemm.h"

/* A plan of the case with its tensors on the device. */
typedef struct bench {
    accel_trial *trial;
    vly_gemm_desc desc;
    vly_gemm_plan *plan;
    vly_plan_info info;
    accel_buffer tensors[GEMM_N_TENSORS];
    accel_buffer workspace;
    vly_gemm_run run;
    vly_error error;
} bench;

static uint32_t failed(const bench *b, const char *what)
{
    return accel_fail(b->trial, "%s: %s", what, b->error.message);
}

/* A pointer must be a multiple of this, and is of no more. */
static uint64_t offset_of(const vly_gemm_desc *desc, uint32_t type)
{
    const uint64_t element = (conformance_element_bits(type) + 7) / 8;
    if (desc->align == 256)
        return 0;
    return desc->align > element ? desc->align : element;
}

static void bench_deinit(bench *b)
{
    const vly_gemm *gemm = &b->trial->accelerator->gemm;
    for (uint32_t i = 0; i < GEMM_N_TENSORS; i++)
        accel_buffer_deinit(&b->tensors[i]);
    accel_buffer_deinit(&b->workspace);
    gemm->plan_destroy(b->plan);
    b->plan = NULL;
}

/* Fresh data for all but D, which is poisoned. */
static void fill_all(bench *b, uint64_t seed)
{
    for (uint32_t i = 0; i < GEMM_N_TENSORS; i++)
        if (i != GEMM_D)
            conformance_gemm_fill(&b->desc, i, seed,
                                  accel_buffer_host(&b->tensors[i]));
}

static vly_status make_tensors(bench *b)
{
    const vly_accelerator *accelerator = b->trial->accelerator;
    for (uint32_t i = 0; i < GEMM_N_TENSORS; i++) {
        const gemm_tensor t = conformance_gemm_tensor(&b->desc, i);
        vly_status status =
            accel_buffer_init(&b->tensors[i], accelerator, t.bytes,
                              offset_of(&b->desc, t.type), &b->error);
        if (status != VLY_OK)
            return status;
    }
    return accel_buffer_init(&b->workspace, accelerator,
                             b->info.workspace_bytes, 0, &b->error);
}

static void point(bench *b)
{
    b->run = (vly_gemm_run){
        .struct_size = sizeof b->run,
        .alpha = 1.0f,
        .a = accel_buffer_device(&b->tensors[GEMM_A]),
        .b = accel_buffer_device(&b->tensors[GEMM_B]),
        .c = accel_buffer_device(&b->tensors[GEMM_C]),
        .d = accel_buffer_device(&b->tensors[GEMM_D]),
        .bias = accel_buffer_device(&b->tensors[GEMM_BIAS]),
        .scale_a = accel_buffer_device(&b->tensors[GEMM_SCALE_A]),
        .scale_b = accel_buffer_device(&b->tensors[GEMM_SCALE_B]),
        .workspace = accel_buffer_device(&b->workspace),
        .workspace_bytes = b->info.workspace_bytes};
}

/* VLY_CONFORMS: the plan is made, the tensors are filled. */
static uint32_t bench_init(bench *b, accel_trial *trial)
{
    const vly_accelerator *accelerator = trial->accelerator;
    const vly_gemm *gemm = &accelerator->gemm;
    memset(b, 0, sizeof *b);
    b->trial = trial;
    b->error.struct_size = sizeof b->error;
    b->desc = conformance_gemm_get(trial->index);
    b->info.struct_size = sizeof b->info;
    vly_status status = gemm->supports(&b->desc, &b->error);
    if (status == VLY_E_UNSUPPORTED && strlen(b->error.message) > 20)
        return accel_skip(trial, "%s", b->error.message);
    if (status != VLY_OK)
        return failed(b, "supports");
    status =
        gemm->plan_create(&accelerator->device, &b->desc, &b->plan, &b->error);
    if (status == VLY_E_UNSUPPORTED && accelerator->device.options != NULL &&
        strlen(b->error.message) > 20)
        return accel_skip(trial, "%s", b->error.message);
    if (status != VLY_OK)
        return failed(b, "plan_create");
    if (gemm->plan_info(b->plan, &b->info, &b->error) != VLY_OK)
        return failed(b, "plan_info");
    if (b->info.choice[0] == 0 || b->info.n_candidates == 0 ||
        memchr(b->info.choice, 0, sizeof b->info.choice) == NULL)
        return accel_fail(trial, "plan_info: no choice in words");
    if (b->info.workspace_bytes > b->desc.workspace_most)
        return accel_fail(trial,
                          "the plan wants %llu bytes of workspace, more "
                          "than workspace_most",
                          (unsigned long long)b->info.workspace_bytes);
    if (make_tensors(b) != VLY_OK)
        return failed(b, "a buffer");
    fill_all(b, trial->seed);
    point(b);
    return VLY_CONFORMS;
}

static vly_status put_all(bench *b)
{
    vly_status status = accel_buffer_put(&b->workspace, &b->error);
    for (uint32_t i = 0; i < GEMM_N_TENSORS && status == VLY_OK; i++)
        status = accel_buffer_put(&b->tensors[i], &b->error);
    return status;
}

static vly_status get_all(bench *b)
{
    vly_status status = accel_buffer_get(&b->workspace, &b->error);
    for (uint32_t i = 0; i < GEMM_N_TENSORS && status == VLY_OK; i++)
        status = accel_buffer_get(&b->tensors[i], &b->error);
    return status;
}

/* ---- comparison ------------------------------------------------------- */

/* Both NaN, the same infinity, or within the bound. relu may make 0 of NaN. */
static bool is_right(const vly_gemm_desc *desc, double x, double value,
                     double bound)
{
    const bool relu =
        desc->activation == VLY_GEMM_RELU || desc->activation == VLY_GEMM_RELU2;
    if (isnan(value))
        return isnan(x) || (relu && x == 0);
    if (isinf(value))
        return x == value;
    return fabs(x - value) <= bound;
}

/* D of one product against the reference. */
static uint32_t compare(bench *b, uint64_t batch, const double *values,
                        const double *bounds)
{
    const vly_gemm_desc *desc = &b->desc;
    const void *d = accel_buffer_found(&b->tensors[GEMM_D]);
    for (uint64_t i = 0; i < desc->m; i++)
        for (uint64_t j = 0; j < desc->n; j++) {
            const double x = conformance_element_get(
                desc->type_d, d, batch * desc->stride_d + i * desc->ldd + j);
            const uint64_t at = i * desc->n + j;
            if (!is_right(desc, x, values[at], bounds[at]))
                return accel_fail(
                    b->trial,
                    "d[%llu][%llu] of product %llu is %.9g, wanted %.9g +- "
                    "%.3g (alpha %g, beta %g; %s)",
                    (unsigned long long)i, (unsigned long long)j,
                    (unsigned long long)batch, x, values[at], bounds[at],
                    (double)b->run.alpha, (double)b->run.beta, b->info.choice);
        }
    return VLY_CONFORMS;
}

/* C holds what it had before the run, also where D is C. */
static uint32_t check_values(bench *b, const void *c)
{
    const vly_gemm_desc *desc = &b->desc;
    const uint64_t n = desc->m * desc->n;
    const uint64_t most = desc->m > desc->n ? desc->m : desc->n;
    gemm_host host = {.desc = desc,
                      .alpha = b->run.alpha,
                      .beta = b->run.beta,
                      .is_device = (b->trial->accelerator->memory.flags &
                                    VLY_MEMORY_HOST) == 0};
    uint64_t *order = vly_malloc(most, sizeof *order);
    double *values = vly_malloc(2 * n, sizeof *values);
    uint32_t outcome = VLY_CONFORMS;
    for (uint32_t i = 0; i < GEMM_N_TENSORS; i++)
        host.tensors[i] = accel_buffer_host(&b->tensors[i]);
    host.tensors[GEMM_C] = c;
    if (order == NULL || values == NULL)
        outcome = accel_fail(b->trial, "out of memory for the reference");
    for (uint64_t i = 0; order != NULL && i < most; i++)
        order[i] = i;
    for (uint64_t p = 0; p < desc->batch && outcome == VLY_CONFORMS; p++) {
        if (conformance_gemm_reference(&host, p, order, desc->m, order, desc->n,
                                       values, values + n, &b->error) != VLY_OK)
            outcome = failed(b, "reference");
        else
            outcome = compare(b, p, values, values + n);
    }
    vly_free(order);
    vly_free(values);
    return outcome;
}

/* Between the rows and products of D nothing was written. */
static bool gaps_kept(const bench *b)
{
    const vly_gemm_desc *desc = &b->desc;
    const accel_buffer *d = &b->tensors[GEMM_D];
    const uint64_t size = conformance_element_bits(desc->type_d) / 8;
    uint8_t *is_d = vly_calloc(d->bytes, 1);
    bool good = is_d != NULL;
    for (uint64_t p = 0; good && p < desc->batch; p++)
        for (uint64_t i = 0; i < desc->m; i++)
            memset(is_d + (p * desc->stride_d + i * desc->ldd) * size, 1,
                   (size_t)(desc->n * size));
    for (uint64_t at = 0; good && at < d->bytes; at++)
        good = is_d[at] != 0 || accel_buffer_kept(d, at, at + 1);
    vly_free(is_d);
    return good;
}

static uint32_t check_untouched(bench *b, bool in_place)
{
    for (uint32_t i = 0; i < GEMM_N_TENSORS; i++) {
        const bool is_input = i != GEMM_D && !(in_place && i == GEMM_C);
        if (is_input && !accel_buffer_unchanged(&b->tensors[i]))
            return accel_fail(b->trial, "%s was written to",
                              conformance_gemm_tensors[i]);
        if (!accel_buffer_guarded(&b->tensors[i]))
            return accel_fail(b->trial, "something beside %s was written",
                              conformance_gemm_tensors[i]);
    }
    if (!accel_buffer_guarded(&b->workspace))
        return accel_fail(b->trial, "something beside the workspace was "
                                    "written");
    if (!gaps_kept(b))
        return accel_fail(b->trial, "something between the rows of d was "
                                    "written");
    return VLY_CONFORMS;
}

static uint32_t run_checked(bench *b, float alpha, float beta, void *stream)
{
    const vly_accelerator *accelerator = b->trial->accelerator;
    const uint32_t device = accelerator->device.index;
    b->run.alpha = alpha;
    b->run.beta = beta;
    b->run.stream = stream;
    if (put_all(b) != VLY_OK)
        return failed(b, "copy to the device");
    if (accelerator->gemm.run(b->plan, &b->run, &b->error) != VLY_OK)
        return failed(b, "run");
    if (accelerator->memory.stream_wait(device, stream, &b->error) != VLY_OK ||
        get_all(b) != VLY_OK)
        return failed(b, "after the run");
    uint32_t outcome = check_untouched(b, false);
    return outcome == VLY_CONFORMS
               ? check_values(b, accel_buffer_host(&b->tensors[GEMM_C]))
               : outcome;
}

/* ---- scenarios -------------------------------------------------------- */

static bool is_exact(const bench *b)
{
    return b->desc.type_d == VLY_ELEMENT_I32;
}

/* 126 and 127 at random: sums of int8 as large as they get, without zeros in
 * their last bits. Random numbers of both signs have sums so small that floats
 * would hold them. */
static void fill_extremes(bench *b)
{
    for (uint32_t which = GEMM_A; which <= GEMM_B; which++) {
        const gemm_tensor t = conformance_gemm_tensor(&b->desc, which);
        uint8_t *bytes = accel_buffer_host(&b->tensors[which]);
        for (uint64_t i = 0; i < t.bytes; i++)
            bytes[i] = accel_random(b->trial->seed, which, i) < 0 ? 126 : 127;
    }
}

/* Several runs of one plan with fresh data. */
static uint32_t scenario_values(accel_trial *trial)
{
    static const float factors[][2] = {{1, 0}, {0.5f, -1.5f}, {-2, 1}};
    static const float exact[][2] = {{1, 0}, {1, 1}, {1, 0}};
    bench b;
    uint32_t outcome = bench_init(&b, trial);
    for (uint32_t i = 0; i < 3 && outcome == VLY_CONFORMS; i++) {
        const float *f = is_exact(&b) ? exact[i] : factors[i];
        fill_all(&b, trial->seed + i);
        if (is_exact(&b) && i == 2)
            fill_extremes(&b);
        outcome = run_checked(&b, f[0], f[1], NULL);
    }
    bench_deinit(&b);
    return outcome;
}

/* A stream of its own; on the processor there is only NULL. */
static uint32_t scenario_stream(accel_trial *trial)
{
    const vly_accelerator *accelerator = trial->accelerator;
    const uint32_t device = accelerator->device.index;
    void *stream = NULL;
    bench b;
    uint32_t outcome = bench_init(&b, trial);
    if (outcome == VLY_CONFORMS &&
        accelerator->memory.stream_create(device, &stream, &b.error) != VLY_OK)
        outcome = failed(&b, "stream_create");
    if (outcome == VLY_CONFORMS)
        outcome = run_checked(&b, 1, is_exact(&b) ? 1 : 0.5f, stream);
    accelerator->memory.stream_destroy(device, stream);
    bench_deinit(&b);
    return outcome;
}

/* The run as part of a graph that is run twice; D is that of the second. */
static uint32_t scenario_graph(accel_trial *trial)
{
    const vly_accelerator *accelerator = trial->accelerator;
    const vly_memory *memory = &accelerator->memory;
    const uint32_t device = accelerator->device.index;
    vly_graph *graph = NULL;
    void *stream = NULL;
    bench b;
    uint32_t outcome = bench_init(&b, trial);
    if (outcome == VLY_CONFORMS &&
        (put_all(&b) != VLY_OK ||
         memory->stream_create(device, &stream, &b.error) != VLY_OK ||
         memory->graph_begin(device, stream, &b.error) != VLY_OK))
        outcome = failed(&b, "graph_begin");
    if (outcome == VLY_CONFORMS) {
        b.run.stream = stream;
        vly_status status = accelerator->gemm.run(b.plan, &b.run, &b.error);
        /* capturing ends even if the run was refused */
        vly_error other = VLY_ERROR_INIT;
        vly_status ended = memory->graph_end(device, stream, &graph, &other);
        if (status != VLY_OK)
            outcome = failed(&b, "run in a graph");
        else if (ended != VLY_OK)
            outcome = accel_fail(trial, "graph_end: %s", other.message);
    }
    for (int i = 0; i < 2 && outcome == VLY_CONFORMS; i++)
        if (memory->graph_run(device, graph, stream, &b.error) != VLY_OK ||
            memory->stream_wait(device, stream, &b.error) != VLY_OK)
            outcome = failed(&b, "graph_run");
    if (outcome == VLY_CONFORMS && get_all(&b) != VLY_OK)
        outcome = failed(&b, "copy from the device");
    if (outcome == VLY_CONFORMS)
        outcome = check_untouched(&b, false);
    if (outcome == VLY_CONFORMS)
        outcome = check_values(&b, accel_buffer_host(&b.tensors[GEMM_C]));
    if (graph != NULL)
        memory->graph_destroy(device, graph);
    memory->stream_destroy(device, stream);
    bench_deinit(&b);
    return outcome;
}

/* D is C. */
static uint32_t scenario_in_place(accel_trial *trial)
{
    bench b;
    uint32_t outcome = bench_init(&b, trial);
    if (outcome == VLY_CONFORMS) {
        accel_buffer *d = &b.tensors[GEMM_D];
        const void *c = accel_buffer_host(&b.tensors[GEMM_C]);
        memcpy(accel_buffer_host(d), c, (size_t)d->bytes);
        b.run.c = b.run.d;
        b.run.alpha = is_exact(&b) ? 1 : 0.75f;
        b.run.beta = is_exact(&b) ? 1 : -0.5f;
        if (put_all(&b) != VLY_OK)
            outcome = failed(&b, "copy to the device");
        else if (trial->accelerator->gemm.run(b.plan, &b.run, &b.error) !=
                 VLY_OK)
            outcome = failed(&b, "run with d = c");
        else if (get_all(&b) != VLY_OK)
            outcome = failed(&b, "copy from the device");
        if (outcome == VLY_CONFORMS)
            outcome = check_untouched(&b, true);
        if (outcome == VLY_CONFORMS)
            outcome = check_values(&b, c);
    }
    bench_deinit(&b);
    return outcome;
}

static bool has_nan(uint32_t type)
{
    return conformance_element_roundoff(type) < 1;
}

static void set_one(bench *b, uint32_t which, uint64_t draw, double x)
{
    const gemm_tensor t = conformance_gemm_tensor(&b->desc, which);
    if (t.bytes == 0 || !has_nan(t.type))
        return;
    const uint64_t row = draw % t.rows;
    const uint64_t col = draw / 7 % t.cols;
    conformance_element_set(t.type, accel_buffer_host(&b->tensors[which]),
                            row * t.pitch + col, x);
}

/* NaN and infinities in A, B, C and bias go where the definition has them. */
static uint32_t scenario_specials(accel_trial *trial)
{
    bench b;
    uint32_t outcome = bench_init(&b, trial);
    if (outcome == VLY_CONFORMS) {
        const uint64_t draw = trial->seed >> 8;
        set_one(&b, GEMM_A, draw, NAN);
        set_one(&b, GEMM_B, draw + 11, NAN);
        if (b.desc.type_a != VLY_ELEMENT_E4M3 && trial->index % 2 == 0) {
            set_one(&b, GEMM_A, draw + 1, INFINITY);
            set_one(&b, GEMM_B, draw + 5, -INFINITY);
        }
        set_one(&b, GEMM_C, draw + 2, INFINITY);
        set_one(&b, GEMM_C, draw + 3, NAN);
        set_one(&b, GEMM_BIAS, draw + 4, -INFINITY);
        outcome = run_checked(&b, 1, is_exact(&b) ? 1 : 2, NULL);
    }
    bench_deinit(&b);
    return outcome;
}

/* alpha = 0: A and B are not read; beta = 0: C is not; so their NaN are not
 * seen and their pointers may be NULL. */
static uint32_t scenario_unread(accel_trial *trial)
{
    bench b;
    uint32_t outcome = bench_init(&b, trial);
    if (outcome == VLY_CONFORMS) {
        set_one(&b, GEMM_A, 0, NAN);
        set_one(&b, GEMM_B, 0, NAN);
        outcome = run_checked(&b, 0, 1.5f, NULL);
    }
    if (outcome == VLY_CONFORMS) {
        b.run.a = NULL;
        b.run.b = NULL;
        b.run.scale_a = NULL;
        b.run.scale_b = NULL;
        outcome = run_checked(&b, 0, 1, NULL);
    }
    if (outcome == VLY_CONFORMS) {
        fill_all(&b, trial->seed);
        point(&b);
        set_one(&b, GEMM_C, 0, NAN);
        b.run.c = NULL;
        outcome = run_checked(&b, 1, 0, NULL);
    }
    bench_deinit(&b);
    return outcome;
}

/* Every allocation of the host fails once. */
static uint32_t scenario_memory(accel_trial *trial)
{
    const vly_accelerator *accelerator = trial->accelerator;
    const vly_gemm_desc desc = conformance_gemm_get(trial->index);
    vly_error error = VLY_ERROR_INIT;
    if (accelerator->gemm.supports(&desc, &error) != VLY_OK)
        return accel_skip(trial, "%s", error.message);
    for (uint64_t n = 1; n < 1000; n++) {
        vly_gemm_plan *plan = NULL;
        const uint64_t live = vly_conformance_live();
        error.message[0] = 0;
        vly_memory_fail_at(n);
        vly_status status = accelerator->gemm.plan_create(&accelerator->device,
                                                          &desc, &plan, &error);
        const bool has_failed = vly_memory_fail_at(0) == 0;
        if (status == VLY_E_UNSUPPORTED)
            return accel_skip(trial, "%s", error.message);
        if (status != VLY_OK && plan != NULL)
            return accel_fail(trial, "plan_create failed but gave a plan");
        accelerator->gemm.plan_destroy(plan);
        if (vly_conformance_live() != live)
            return accel_fail(trial, "allocation %llu failed: blocks are left",
                              (unsigned long long)n);
        if (!has_failed)
            return status == VLY_OK
                       ? VLY_CONFORMS
                       : accel_fail(trial, "plan_create: %s", error.message);
        if (status != VLY_OK &&
            (status != VLY_E_NOMEM || strlen(error.message) < 20))
            return accel_fail(trial, "allocation %llu failed: status %d: %s",
                              (unsigned long long)n, (int)status,
                              error.message);
    }
    return accel_fail(trial, "more than 1000 allocations for a plan");
}

/* ---- which case meets which ------------------------------------------- */

static bool turn_is(const accel_trial *trial, uint32_t n, uint32_t turn)
{
    return conformance_gemm_turn(trial->index) % n == turn;
}

static bool fits_in_place(const accel_trial *trial)
{
    const vly_gemm_desc desc = conformance_gemm_get(trial->index);
    return turn_is(trial, 3, 0) && desc.ldc == desc.ldd &&
           desc.stride_c == desc.stride_d;
}

static bool fits_specials(const accel_trial *trial)
{
    const vly_gemm_desc desc = conformance_gemm_get(trial->index);
    return turn_is(trial, 3, 1) &&
           (has_nan(desc.type_a) || has_nan(desc.type_d));
}

static bool fits_unread(const accel_trial *trial)
{
    return turn_is(trial, 3, 2) &&
           conformance_gemm_get(trial->index).type_d != VLY_ELEMENT_I32;
}

static bool fits_stream(const accel_trial *trial)
{
    return turn_is(trial, 5, 0);
}

static bool fits_graph(const accel_trial *trial)
{
    return turn_is(trial, 5, 1) &&
           trial->accelerator->memory.graph_begin != NULL;
}

static bool fits_memory(const accel_trial *trial)
{
    return turn_is(trial, 13, 0);
}

static bool fits_refusals(const accel_trial *trial)
{
    return trial->index == 0;
}

static const accel_scenario scenarios[] = {
    {"values", scenario_values, NULL},
    {"in_place", scenario_in_place, fits_in_place},
    {"specials", scenario_specials, fits_specials},
    {"unread", scenario_unread, fits_unread},
    {"stream", scenario_stream, fits_stream},
    {"graph", scenario_graph, fits_graph},
    {"memory", scenario_memory, fits_memory},
    {"refusals", conformance_gemm_refusals, fits_refusals},
    {NULL, NULL, NULL}};

const accel_table vly_gemm_table = {
    .interface_id = VLY_GEMM_INTERFACE,
    .n_cases = 552, /* the size of the table, which a test compares */
    .case_name = conformance_gemm_name,
    .scenarios = scenarios,
};
