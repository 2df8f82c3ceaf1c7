/* SPDX-License-Identifier: Apache-2.0
 * Runs the cases of volley.attention/1. A scenario is a type, forward or
 * backward; in each the case is run with aligned pointers (backward twice, with
 * VLY_ATTENTION_DETERMINISTIC, for the same bits), as a graph in a stream of
 * its own where the plugin has graphs, and with pointers that are aligned to
 * their elements only, which may be refused with E_UNSUPPORTED. Every byte that
 * is no result must be as before.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "conformance/conformance_accel.h"
#include "conformance/conformance_attention.h"
#include "conformance/conformance_element.h"

/* Behind the tensors of attention_values. */
enum {
    BUFFER_LENGTH_Q = ATTENTION_N_VALUES,
    BUFFER_LENGTH_KV,
    BUFFER_START_Q,
    BUFFER_START_KV,
    BUFFER_PAGES,
    BUFFER_SCALE_Q,
    BUFFER_SCALE_K,
    BUFFER_SCALE_V,
    BUFFER_SCALE_O,
    BUFFER_WORKSPACE,
    N_BUFFERS
};

static const char *const names[ATTENTION_N_VALUES] = {
    "q", "k", "v", "grad_o", "o", "lse", "grad_q", "grad_k", "grad_v"};

typedef struct trial {
    accel_trial *accel; /* what it says goes there */
    const vly_accelerator *accelerator;
    attention_data data;
    vly_attention_desc desc; /* of this run */
    uint32_t backward;
    uint32_t unaligned;
    uint32_t graph; /* run as a graph, in a stream of its own */
    vly_attention_plan *plan;
    accel_buffer buffers[N_BUFFERS];
    uint64_t workspace_bytes;
    vly_error error;
    uint32_t skipped;
} trial;

static const char *how(const trial *t)
{
    return t->graph ? " (graph)" : t->unaligned ? " (unaligned)" : "";
}

static bool failed(trial *t, const char *what)
{
    accel_fail(t->accel, "%s%s", what, how(t));
    return false;
}

static bool failed_call(trial *t, const char *call)
{
    accel_fail(t->accel, "%s%s: %.400s", call, how(t), t->error.message);
    return false;
}

static bool is_output(const trial *t, uint32_t which)
{
    if (t->backward)
        return which >= ATTENTION_GRAD_Q && which <= ATTENTION_GRAD_V;
    return which == ATTENTION_O ||
           (which == ATTENTION_LSE && t->desc.flags & VLY_ATTENTION_LSE);
}

static bool is_used(const trial *t, uint32_t which)
{
    if (which <= ATTENTION_V || which == ATTENTION_O)
        return true;
    if (which == ATTENTION_LSE)
        return t->backward || t->desc.flags & VLY_ATTENTION_LSE;
    return which < ATTENTION_N_VALUES && t->backward;
}

/* ---- buffers ------------------------------------------------------------- */

/* The values of a tensor where they lie; all else stays poison. */
static void put_values(trial *t, uint32_t which)
{
    const attention_values *values = &t->data.values[which];
    const uint32_t type = attention_type_of(&t->data, which);
    void *host = accel_buffer_host(&t->buffers[which]);
    for (uint32_t b = 0; b < t->desc.batch; b++)
        for (uint32_t h = 0; h < values->heads; h++)
            for (uint32_t s = 0; s < values->seq; s++) {
                if (!attention_exists(&t->data, which, b, s))
                    continue;
                uint64_t at = attention_offset_of(&t->data, which, b, h, s);
                uint64_t from = attention_index(values, b, h, s);
                for (uint32_t c = 0; c < values->dim; c++)
                    conformance_element_set(type, host, at + c,
                                            values->value[from + c]);
            }
}

static bool make_buffer(trial *t, uint32_t which, uint64_t bytes,
                        uint32_t element_bytes, const void *from)
{
    accel_buffer *buffer = &t->buffers[which];
    if (accel_buffer_init(buffer, t->accelerator, bytes,
                          t->unaligned ? element_bytes : 0,
                          &t->error) != VLY_OK)
        return failed_call(t, "memory");
    if (which < ATTENTION_N_VALUES && !is_output(t, which))
        put_values(t, which);
    if (from != NULL && bytes > 0)
        memcpy(accel_buffer_host(buffer), from, bytes);
    if (accel_buffer_put(buffer, &t->error) != VLY_OK)
        return failed_call(t, "copy");
    return true;
}

static bool make_arrays(trial *t)
{
    const attention_data *data = &t->data;
    const vly_attention_desc *desc = &t->desc;
    const uint64_t batch = desc->batch;
    const uint64_t scales = batch * desc->heads_kv * sizeof(float);
    bool good = true;
    if (desc->flags & VLY_ATTENTION_LENGTHS)
        good = make_buffer(t, BUFFER_LENGTH_Q, batch * 4, 4, data->length_q) &&
               make_buffer(t, BUFFER_LENGTH_KV, batch * 4, 4, data->length_kv);
    if (good && desc->flags & VLY_ATTENTION_PACKED)
        good =
            make_buffer(t, BUFFER_START_Q, (batch + 1) * 4, 4, data->start_q) &&
            make_buffer(t, BUFFER_START_KV, (batch + 1) * 4, 4, data->start_kv);
    if (good && desc->flags & VLY_ATTENTION_PAGED)
        good = make_buffer(t, BUFFER_PAGES, batch * desc->pages_most * 4, 4,
                           data->pages);
    for (uint32_t i = 0; i < 3 && good && desc->type == VLY_ELEMENT_E4M3; i++)
        good = make_buffer(t, BUFFER_SCALE_Q + i, scales, 4,
                           (const char *)data->scales + i * scales);
    if (good && desc->type_o == VLY_ELEMENT_E4M3)
        good = make_buffer(t, BUFFER_SCALE_O, 4, 4, &data->scale_o);
    return good;
}

static bool make_buffers(trial *t)
{
    for (uint32_t i = 0; i < ATTENTION_N_VALUES; i++) {
        const uint32_t bytes =
            conformance_element_bits(attention_type_of(&t->data, i)) / 8;
        if (is_used(t, i) &&
            !make_buffer(t, i, attention_extent_of(&t->data, i) * bytes, bytes,
                         NULL))
            return false;
    }
    if (!make_arrays(t))
        return false;
    return make_buffer(t, BUFFER_WORKSPACE, t->workspace_bytes, 0, NULL);
}

static void free_trial(trial *t)
{
    t->accelerator->attention.plan_destroy(t->plan);
    t->plan = NULL;
    for (uint32_t i = 0; i < N_BUFFERS; i++)
        accel_buffer_deinit(&t->buffers[i]);
}

/* ---- a run --------------------------------------------------------------- */

static vly_status put_run(void *arg, void *stream, vly_error *error)
{
    const trial *t = arg;
    void *at[N_BUFFERS];
    for (uint32_t i = 0; i < N_BUFFERS; i++)
        at[i] = accel_buffer_device(&t->buffers[i]);
    const vly_attention_run run = {.struct_size = sizeof run,
                                   .q = at[ATTENTION_Q],
                                   .k = at[ATTENTION_K],
                                   .v = at[ATTENTION_V],
                                   .o = at[ATTENTION_O],
                                   .lse = at[ATTENTION_LSE],
                                   .grad_o = at[ATTENTION_GRAD_O],
                                   .grad_q = at[ATTENTION_GRAD_Q],
                                   .grad_k = at[ATTENTION_GRAD_K],
                                   .grad_v = at[ATTENTION_GRAD_V],
                                   .length_q = at[BUFFER_LENGTH_Q],
                                   .length_kv = at[BUFFER_LENGTH_KV],
                                   .start_q = at[BUFFER_START_Q],
                                   .start_kv = at[BUFFER_START_KV],
                                   .page_table = at[BUFFER_PAGES],
                                   .scale_q = at[BUFFER_SCALE_Q],
                                   .scale_k = at[BUFFER_SCALE_K],
                                   .scale_v = at[BUFFER_SCALE_V],
                                   .scale_o = at[BUFFER_SCALE_O],
                                   .workspace = at[BUFFER_WORKSPACE],
                                   .workspace_bytes = t->workspace_bytes,
                                   .stream = stream};
    return t->accelerator->attention.run(t->plan, &run, error);
}

static vly_status run_once(trial *t)
{
    return accel_run(t->accelerator, t->graph, put_run, t, &t->error);
}

/* false, and skipped set, where the plugin does not offer it */
static bool make_plan(trial *t)
{
    const vly_attention *attention = &t->accelerator->attention;
    vly_plan_info info = {.struct_size = sizeof info};
    vly_status status = attention->supports(&t->desc, &t->error);
    if (status == VLY_OK)
        status = attention->plan_create(&t->accelerator->device, &t->desc,
                                        &t->plan, &t->error);
    if (status == VLY_E_UNSUPPORTED)
        t->skipped = 1;
    if (status != VLY_OK)
        return failed_call(t, "plan");
    if (attention->plan_info(t->plan, &info, &t->error) != VLY_OK)
        return failed_call(t, "plan_info");
    if (info.choice[0] == 0 || info.n_candidates == 0)
        return failed(t, "plan_info says nothing of the choice");
    if (info.workspace_bytes > t->desc.workspace_most)
        return failed(t, "the plan needs more than workspace_most");
    t->workspace_bytes = info.workspace_bytes;
    return true;
}

/* ---- what it gave -------------------------------------------------------- */

/* NaN wants NaN; for lse anything that is no number and not -inf. */
static bool is_near(double found, double wanted, double bound, bool is_lse)
{
    if (isnan(wanted))
        return is_lse ? !isfinite(found) && !(found == (double)-INFINITY)
                      : isnan(found);
    if (isinf(wanted))
        return found == wanted;
    return fabs(found - wanted) <= bound; /* false for NaN */
}

static bool check_row(trial *t, uint32_t which, uint32_t b, uint32_t h,
                      uint32_t s)
{
    const attention_values *values = &t->data.values[which];
    const uint32_t type = attention_type_of(&t->data, which);
    const void *place = accel_buffer_found(&t->buffers[which]);
    const uint64_t at = attention_offset_of(&t->data, which, b, h, s);
    const uint64_t from = attention_index(values, b, h, s);
    for (uint32_t c = 0; c < values->dim; c++) {
        const double found = conformance_element_get(type, place, at + c);
        const double wanted = values->value[from + c];
        const double bound = values->bound[from + c];
        if (is_near(found, wanted, bound, which == ATTENTION_LSE))
            continue;
        accel_fail(t->accel,
                   "%s[batch %u, head %u, position %u, %u] is %.9g, "
                   "wanted %.9g within %.3g%s",
                   names[which], b, h, s, c, found, wanted, bound, how(t));
        return false;
    }
    return true;
}

/* What is no result is as it was: results are overwritten with what was put
 * there before, then all must be the same. */
static bool check_rest(trial *t, uint32_t which)
{
    const attention_values *values = &t->data.values[which];
    const uint32_t bytes =
        conformance_element_bits(attention_type_of(&t->data, which)) / 8;
    uint8_t *host = accel_buffer_host(&t->buffers[which]);
    uint8_t *found = accel_buffer_found(&t->buffers[which]);
    for (uint32_t b = 0; b < t->desc.batch; b++)
        for (uint32_t h = 0; h < values->heads; h++)
            for (uint32_t s = 0; s < values->seq; s++) {
                const uint64_t at =
                    attention_offset_of(&t->data, which, b, h, s) * bytes;
                if (attention_exists(&t->data, which, b, s))
                    memcpy(found + at, host + at, (size_t)values->dim * bytes);
            }
    if (accel_buffer_unchanged(&t->buffers[which]))
        return true;
    accel_fail(t->accel, "%s: bytes that are no result were written",
               names[which]);
    return false;
}

static bool check_output(trial *t, uint32_t which)
{
    const attention_values *values = &t->data.values[which];
    for (uint32_t b = 0; b < t->desc.batch; b++)
        for (uint32_t h = 0; h < values->heads; h++)
            for (uint32_t s = 0; s < values->seq; s++)
                if (attention_exists(&t->data, which, b, s) &&
                    !check_row(t, which, b, h, s))
                    return false;
    return check_rest(t, which);
}

static bool check_results(trial *t)
{
    for (uint32_t i = 0; i < N_BUFFERS; i++) {
        accel_buffer *buffer = &t->buffers[i];
        if (buffer->base == NULL)
            continue;
        const char *name = i < ATTENTION_N_VALUES  ? names[i]
                           : i == BUFFER_WORKSPACE ? "the workspace"
                                                   : "an array of the input";
        const bool writes = i == BUFFER_WORKSPACE ||
                            (i < ATTENTION_N_VALUES && is_output(t, i));
        if (!accel_buffer_check(t->accel, buffer, name, writes, how(t)))
            return false;
        if (i < ATTENTION_N_VALUES && is_output(t, i) && !check_output(t, i))
            return false;
    }
    return true;
}

/* The same bits again, in outputs that were poisoned anew. */
static bool check_again(trial *t)
{
    void *before[ATTENTION_N_VALUES] = {NULL};
    bool good = true;
    for (uint32_t i = 0; i < ATTENTION_N_VALUES && good; i++) {
        accel_buffer *buffer = &t->buffers[i];
        if (!is_output(t, i) || buffer->bytes == 0)
            continue;
        before[i] = vly_malloc(1, buffer->bytes);
        if (before[i] == NULL || accel_buffer_get(buffer, &t->error) != VLY_OK)
            good = failed(t, "results could not be copied");
        else
            memcpy(before[i], accel_buffer_found(buffer), buffer->bytes);
        if (good && accel_buffer_put(buffer, &t->error) != VLY_OK)
            good = failed_call(t, "copy");
    }
    if (good && run_once(t) != VLY_OK)
        good = failed_call(t, "second run");
    for (uint32_t i = 0; i < ATTENTION_N_VALUES; i++) {
        accel_buffer *buffer = &t->buffers[i];
        if (good && before[i] != NULL &&
            (accel_buffer_get(buffer, &t->error) != VLY_OK ||
             memcmp(before[i], accel_buffer_found(buffer), buffer->bytes) != 0))
            good = failed(t, "a second run gave other bits");
        vly_free(before[i]);
    }
    return good;
}

/* ---- a scenario ---------------------------------------------------------- */

static bool run_variant(trial *t, uint32_t unaligned, uint32_t graph)
{
    t->unaligned = unaligned;
    t->graph = graph;
    t->desc = t->data.desc;
    if (t->backward) {
        t->desc.flags &= ~(uint32_t)VLY_ATTENTION_LSE;
        t->desc.flags |= VLY_ATTENTION_BACKWARD;
        if (!unaligned && !graph)
            t->desc.flags |= VLY_ATTENTION_DETERMINISTIC;
    }
    t->desc.align = unaligned ? conformance_element_bits(t->desc.type) / 8 : 0;
    bool good = make_plan(t) && make_buffers(t);
    if (good && run_once(t) != VLY_OK)
        good = failed_call(t, "run");
    if (good && t->desc.flags & VLY_ATTENTION_DETERMINISTIC)
        good = check_again(t);
    good = good && check_results(t);
    free_trial(t);
    return good;
}

static uint32_t run_scenario(accel_trial *accel, uint32_t type,
                             uint32_t backward)
{
    const attention_case *entry = attention_case_get(accel->index);
    trial t = {.accel = accel,
               .accelerator = accel->accelerator,
               .backward = backward,
               .error = VLY_ERROR_INIT};
    if (attention_data_init(&t.data, entry, type, accel->seed, &t.error) !=
        VLY_OK) {
        attention_data_deinit(&t.data);
        return accel_fail(accel, "test data: %s", t.error.message);
    }
    bool good = run_variant(&t, 0, 0);
    const bool skipped = t.skipped != 0;
    if (good && t.accelerator->memory.graph_begin != NULL)
        good = run_variant(&t, 0, 1);
    if (good)
        good = run_variant(&t, 1, 0) || t.skipped != 0; /* refused by name */
    attention_data_deinit(&t.data);
    return good      ? VLY_CONFORMS
           : skipped ? VLY_CONFORMANCE_SKIPPED
                     : VLY_CONFORMANCE_FAILED;
}

static bool has_type(const accel_trial *accel, uint32_t type, uint32_t backward)
{
    const attention_case *entry = attention_case_get(accel->index);
    return entry->types & 1u << type && (!backward || entry->backward);
}

#define SCENARIO(name, type, backward)                                         \
    static uint32_t name(accel_trial *accel)                                   \
    {                                                                          \
        return run_scenario(accel, type, backward);                            \
    }                                                                          \
    static bool name##_fits(const accel_trial *accel)                          \
    {                                                                          \
        return has_type(accel, type, backward);                                \
    }
SCENARIO(forward_f32, VLY_ELEMENT_F32, 0)
SCENARIO(forward_f16, VLY_ELEMENT_F16, 0)
SCENARIO(forward_bf16, VLY_ELEMENT_BF16, 0)
SCENARIO(forward_fp8, VLY_ELEMENT_E4M3, 0)
SCENARIO(backward_f32, VLY_ELEMENT_F32, 1)
SCENARIO(backward_f16, VLY_ELEMENT_F16, 1)
SCENARIO(backward_bf16, VLY_ELEMENT_BF16, 1)
#undef SCENARIO

const accel_scenario attention_scenarios[] = {
    {"fp32", forward_f32, forward_f32_fits},
    {"fp16", forward_f16, forward_f16_fits},
    {"bf16", forward_bf16, forward_bf16_fits},
    {"fp8", forward_fp8, forward_fp8_fits},
    {"fp32_backward", backward_f32, backward_f32_fits},
    {"fp16_backward", backward_f16, backward_f16_fits},
    {"bf16_backward", backward_bf16, backward_bf16_fits},
    {NULL, NULL, NULL}};
