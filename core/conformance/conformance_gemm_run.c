/* SPDX-License-Identifier: Apache-2.0
 * Scenarios of volley.gemm/1.
 */
#include <math.h>
#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "conformance/conformance_element.h"
#include "conformance/conformance_gemm_trial.h"
#include "plugin/host_log.h"

/* ---- scenarios -------------------------------------------------------- */

static bool is_exact(const gemm_trial *b)
{
    return b->desc.type_d == VLY_ELEMENT_I32;
}

/* 126 and 127 at random: sums of int8 as large as they get, without zeros in
 * their last bits. Random numbers of both signs have sums so small that floats
 * would hold them. */
static void fill_extremes(gemm_trial *b)
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
    gemm_trial b;
    uint32_t outcome = gemm_trial_init(&b, trial);
    for (uint32_t i = 0; i < 3 && outcome == VLY_CONFORMS; i++) {
        const float *f = is_exact(&b) ? exact[i] : factors[i];
        gemm_trial_fill(&b, trial->seed + i);
        if (is_exact(&b) && i == 2)
            fill_extremes(&b);
        outcome = gemm_trial_run(&b, f[0], f[1], NULL);
    }
    gemm_trial_deinit(&b);
    return outcome;
}

/* A stream of its own; on the processor there is only NULL. */
static uint32_t scenario_stream(accel_trial *trial)
{
    const vly_accelerator *accelerator = trial->accelerator;
    const uint32_t device = accelerator->device.index;
    void *stream = NULL;
    gemm_trial b;
    uint32_t outcome = gemm_trial_init(&b, trial);
    if (outcome == VLY_CONFORMS &&
        accelerator->memory.stream_create(device, &stream, &b.error) != VLY_OK)
        outcome = gemm_trial_failed(&b, "stream_create");
    if (outcome == VLY_CONFORMS)
        outcome = gemm_trial_run(&b, 1, is_exact(&b) ? 1 : 0.5f, stream);
    accelerator->memory.stream_destroy(device, stream);
    gemm_trial_deinit(&b);
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
    gemm_trial b;
    uint32_t outcome = gemm_trial_init(&b, trial);
    if (outcome == VLY_CONFORMS &&
        (gemm_trial_put(&b) != VLY_OK ||
         memory->stream_create(device, &stream, &b.error) != VLY_OK ||
         memory->graph_begin(device, stream, &b.error) != VLY_OK))
        outcome = gemm_trial_failed(&b, "graph_begin");
    if (outcome == VLY_CONFORMS) {
        b.run.stream = stream;
        vly_status status = accelerator->gemm.run(b.plan, &b.run, &b.error);
        /* capturing ends even if the run was refused */
        vly_error other = VLY_ERROR_INIT;
        vly_status ended = memory->graph_end(device, stream, &graph, &other);
        if (status != VLY_OK)
            outcome = gemm_trial_failed(&b, "run in a graph");
        else if (ended != VLY_OK)
            outcome = accel_fail(trial, "graph_end: %s", other.message);
    }
    for (int i = 0; i < 2 && outcome == VLY_CONFORMS; i++)
        if (memory->graph_run(device, graph, stream, &b.error) != VLY_OK ||
            memory->stream_wait(device, stream, &b.error) != VLY_OK)
            outcome = gemm_trial_failed(&b, "graph_run");
    if (outcome == VLY_CONFORMS && gemm_trial_get(&b) != VLY_OK)
        outcome = gemm_trial_failed(&b, "copy from the device");
    if (outcome == VLY_CONFORMS)
        outcome = gemm_trial_untouched(&b, false);
    if (outcome == VLY_CONFORMS)
        outcome = gemm_trial_values(&b, accel_buffer_host(&b.tensors[GEMM_C]));
    if (graph)
        memory->graph_destroy(device, graph);
    memory->stream_destroy(device, stream);
    gemm_trial_deinit(&b);
    return outcome;
}

/* D is C. */
static uint32_t scenario_in_place(accel_trial *trial)
{
    gemm_trial b;
    uint32_t outcome = gemm_trial_init(&b, trial);
    if (outcome == VLY_CONFORMS) {
        accel_buffer *d = &b.tensors[GEMM_D];
        const void *c = accel_buffer_host(&b.tensors[GEMM_C]);
        memcpy(accel_buffer_host(d), c, (size_t)d->bytes);
        b.run.c = b.run.d;
        b.run.alpha = is_exact(&b) ? 1 : 0.75f;
        b.run.beta = is_exact(&b) ? 1 : -0.5f;
        if (gemm_trial_put(&b) != VLY_OK)
            outcome = gemm_trial_failed(&b, "copy to the device");
        else if (trial->accelerator->gemm.run(b.plan, &b.run, &b.error) !=
                 VLY_OK)
            outcome = gemm_trial_failed(&b, "run with d = c");
        else if (gemm_trial_get(&b) != VLY_OK)
            outcome = gemm_trial_failed(&b, "copy from the device");
        if (outcome == VLY_CONFORMS)
            outcome = gemm_trial_untouched(&b, true);
        if (outcome == VLY_CONFORMS)
            outcome = gemm_trial_values(&b, c);
    }
    gemm_trial_deinit(&b);
    return outcome;
}

static bool has_nan(uint32_t type)
{
    return conformance_element_roundoff(type) < 1;
}

static void set_one(gemm_trial *b, uint32_t which, uint64_t draw, double x)
{
    const gemm_tensor t = conformance_gemm_tensor(&b->desc, which);
    if (t.bytes == 0 || !has_nan(t.type))
        return;
    const uint64_t row = draw % t.rows;
    const uint64_t col = draw / 7 % t.cols;
    conformance_element_set(t.type, accel_buffer_host(&b->tensors[which]),
                            row * t.pitch + col, x);
}

/* NaN and infinities in A, B, C and bias propagate as defined. */
static uint32_t scenario_specials(accel_trial *trial)
{
    gemm_trial b;
    uint32_t outcome = gemm_trial_init(&b, trial);
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
        outcome = gemm_trial_run(&b, 1, is_exact(&b) ? 1 : 2, NULL);
    }
    gemm_trial_deinit(&b);
    return outcome;
}

/* alpha = 0: A and B are not read; beta = 0: C is not; so their NaN are not
 * seen and their pointers may be NULL. */
static uint32_t scenario_unread(accel_trial *trial)
{
    gemm_trial b;
    uint32_t outcome = gemm_trial_init(&b, trial);
    if (outcome == VLY_CONFORMS) {
        set_one(&b, GEMM_A, 0, NAN);
        set_one(&b, GEMM_B, 0, NAN);
        outcome = gemm_trial_run(&b, 0, 1.5f, NULL);
    }
    if (outcome == VLY_CONFORMS) {
        b.run.a = NULL;
        b.run.b = NULL;
        b.run.scale_a = NULL;
        b.run.scale_b = NULL;
        outcome = gemm_trial_run(&b, 0, 1, NULL);
    }
    if (outcome == VLY_CONFORMS) {
        gemm_trial_fill(&b, trial->seed);
        gemm_trial_point(&b);
        set_one(&b, GEMM_C, 0, NAN);
        b.run.c = NULL;
        outcome = gemm_trial_run(&b, 1, 0, NULL);
    }
    gemm_trial_deinit(&b);
    return outcome;
}

static uint32_t fail_each_allocation(accel_trial *trial)
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
        if (status != VLY_OK && plan)
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

/* Every allocation of the host fails once. Warnings about missing memory are
 * turned off: there would be hundreds of them. */
static uint32_t scenario_memory(accel_trial *trial)
{
    const int32_t level = vly_log_set_level(VLY_LOG_ERROR);
    const uint32_t outcome = fail_each_allocation(trial);
    (void)vly_log_set_level(level);
    return outcome;
}

/* ---- pairs of cases and scenarios -------------------------------------------
 */

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
    return turn_is(trial, 5, 1) && trial->accelerator->memory.graph_begin;
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
