/* SPDX-License-Identifier: Apache-2.0
 * The cases of volley.wkv/1, and their runs: a scenario is a type; in each the
 * case is run with aligned pointers, as a graph where the plugin has graphs,
 * and with pointers that are aligned to their elements only.
 */
#include "conformance/conformance_wkv.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "conformance/conformance_accel.h"
#include "conformance/conformance_element.h"

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

/* Buffers: the inputs first. */
enum { Y = WKV_N_INPUTS, STATE_IN, STATE_OUT, LENGTH, N_BUFFERS };

static const char *const names[N_BUFFERS] = {
    "r", "w", "k", "v", "a", "b", "y", "state_in", "state_out", "length"};

typedef struct trial {
    accel_trial *accel;
    const vly_accelerator *accelerator;
    wkv_data data;
    vly_wkv_desc desc;
    accel_buffer buffers[N_BUFFERS];
    uint64_t workspace_bytes;
    accel_buffer workspace;
    vly_wkv_plan *plan;
    uint32_t unaligned;
    uint32_t graph; /* run as a graph, in a stream of its own */
    uint32_t skipped;
    vly_error error;
} trial;

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
    for (uint64_t i = 0; i < t->data.n && which < WKV_N_INPUTS; i++)
        conformance_element_set(t->desc.type, accel_buffer_host(buffer), i,
                                t->data.input[which][i]);
    const bool is_state =
        which == STATE_IN || (which == STATE_OUT && t->data.entry->in_place);
    if (is_state && bytes > 0)
        memcpy(accel_buffer_host(buffer), t->data.state_in, bytes);
    if (which == LENGTH && bytes > 0)
        memcpy(accel_buffer_host(buffer), t->data.length, bytes);
    if (accel_buffer_put(buffer, &t->error) != VLY_OK)
        return failed_call(t, "copy");
    return true;
}

static bool make_buffers(trial *t)
{
    const uint32_t size = conformance_element_bits(t->desc.type) / 8;
    bool good = true;
    for (uint32_t i = 0; i <= Y && good; i++)
        good = make_buffer(t, i, t->data.n * size, size);
    if (good && t->data.entry->has_state && !t->data.entry->in_place)
        good = make_buffer(t, STATE_IN, t->data.n_state * 4, 4);
    good = good && make_buffer(t, STATE_OUT, t->data.n_state * 4, 4);
    if (good && t->data.entry->lengths)
        good = make_buffer(t, LENGTH, (uint64_t)t->data.entry->batch * 4, 4);
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
                             .r = at[WKV_R],
                             .w = at[WKV_W],
                             .k = at[WKV_K],
                             .v = at[WKV_V],
                             .a = at[WKV_A],
                             .b = at[WKV_B],
                             .y = at[Y],
                             .state_in = t->data.entry->in_place ? at[STATE_OUT]
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
    return accel_run(t->accelerator, t->graph, put_run, t, &t->error) ==
               VLY_OK ||
           failed_call(t, "run");
}

/* ---- what it gave -------------------------------------------------------- */

static bool check_y(trial *t)
{
    const wkv_case *entry = t->data.entry;
    const uint32_t size = conformance_element_bits(t->desc.type) / 8;
    uint8_t *found = accel_buffer_found(&t->buffers[Y]);
    const uint8_t *host = accel_buffer_host(&t->buffers[Y]);
    for (uint64_t i = 0; i < t->data.n; i++) {
        const uint64_t b = i / WKV_DIM / entry->heads / entry->seq;
        const uint64_t s = i / WKV_DIM / entry->heads % entry->seq;
        const double x = conformance_element_get(t->desc.type, found, i);
        if (s >= t->data.length[b])
            continue;
        if (!(fabs(x - t->data.y[i]) <= t->data.y_bound[i])) {
            accel_fail(t->accel,
                       "y[batch %u, token %u, %u] is %.9g, wanted %.9g within "
                       "%.3g%s",
                       (uint32_t)b, (uint32_t)s,
                       (uint32_t)(i % (entry->heads * WKV_DIM)), x,
                       t->data.y[i], t->data.y_bound[i], how(t));
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
    for (uint64_t i = 0; i < t->data.n_state; i++) {
        float x;
        memcpy(&x, (const char *)found + i * sizeof x, sizeof x);
        if (fabs((double)x - t->data.state[i]) <= t->data.state_bound[i])
            continue;
        accel_fail(t->accel,
                   "state_out[head %u, %u, %u] is %.9g, wanted %.9g within "
                   "%.3g%s",
                   (uint32_t)(i / WKV_SQUARE),
                   (uint32_t)(i / WKV_DIM % WKV_DIM), (uint32_t)(i % WKV_DIM),
                   (double)x, t->data.state[i], t->data.state_bound[i], how(t));
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
        if (!accel_buffer_check(t->accel, buffer, names[i],
                                i == Y || i == STATE_OUT, how(t)))
            return false;
    }
    if (!accel_buffer_check(t->accel, &t->workspace, "the workspace", true,
                            how(t)))
        return false;
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
               .desc = {.struct_size = sizeof t.desc,
                        .flags = entry->lengths ? VLY_WKV_LENGTHS : 0u,
                        .type = type,
                        .batch = entry->batch,
                        .seq = entry->seq,
                        .heads = entry->heads,
                        .dim = WKV_DIM,
                        .workspace_most = UINT64_C(1) << 30},
               .error = VLY_ERROR_INIT};
    bool good =
        wkv_data_init(&t.data, entry, type, accel->seed, &t.error) == VLY_OK ||
        failed_call(&t, "test data");
    good = good && run_variant(&t, 0, 0);
    const bool skipped = t.skipped != 0;
    /* run twice, a state in place would be that of two runs */
    if (good && t.accelerator->memory.graph_begin != NULL && !entry->in_place)
        good = run_variant(&t, 0, 1);
    if (good)
        good = run_variant(&t, 1, 0) || t.skipped != 0; /* refused by name */
    wkv_data_deinit(&t.data);
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
