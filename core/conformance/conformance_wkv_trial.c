/* SPDX-License-Identifier: Apache-2.0
 * One case of volley.wkv/1 on a device: its plan, its tensors with sentinels,
 * and the comparison after a run.
 */
#include "conformance/conformance_wkv_trial.h"

#include <math.h>
#include <string.h>

#include "base/error.h"
#include "base/random.h"
#include "conformance/conformance_element.h"

static const char *const names[WKV_N_BUFFERS] = {
    "r", "w", "k", "v", "a", "b", "y", "state_in", "state_out", "length"};

/* ---- a run --------------------------------------------------------------- */

static const char *how(const wkv_trial *t)
{
    return t->graph ? " (graph)" : t->unaligned ? " (unaligned)" : "";
}

static bool failed_call(wkv_trial *t, const char *call)
{
    accel_fail(t->accel, "%s%s: %.400s", call, how(t), t->error.message);
    return false;
}

/* 0 of an older plugin, which does not tell */
static vly_status get_way(const void *arg, uint32_t index,
                          vly_plan_candidate *candidate, uint32_t *n,
                          vly_error *error)
{
    const wkv_trial *t = arg;
    const vly_wkv *table = &t->accelerator->wkv;
    *n = 0;
    return !table->plan_candidate
               ? VLY_OK
               : table->plan_candidate(t->plan, index, candidate, n, error);
}

static bool make_plan(wkv_trial *t)
{
    const vly_wkv *wkv = &t->accelerator->wkv;
    vly_status status = wkv->supports(&t->desc, &t->error);
    if (status == VLY_OK)
        status = wkv->plan_create(&t->accelerator->device, &t->desc, &t->plan,
                                  &t->error);
    t->skipped = status == VLY_E_UNSUPPORTED;
    if (status != VLY_OK)
        return failed_call(t, "plan");
    t->info = (vly_plan_info){.struct_size = sizeof t->info};
    if (wkv->plan_info(t->plan, &t->info, &t->error) != VLY_OK)
        return failed_call(t, "plan_info");
    if (t->info.choice[0] == 0 ||
        t->info.workspace_bytes > t->desc.workspace_most) {
        accel_fail(t->accel, "plan_info: no choice, or more workspace than "
                             "workspace_most");
        return false;
    }
    return accel_ways_hold(t->accel, &t->info, get_way, t);
}

static bool make_buffer(wkv_trial *t, uint32_t which, uint64_t bytes,
                        uint32_t offset)
{
    accel_buffer *buffer = &t->buffers[which];
    if (accel_buffer_init(buffer, t->accelerator, bytes,
                          t->unaligned ? offset : 0, &t->error) != VLY_OK)
        return failed_call(t, "memory");
    for (uint64_t i = 0; i < t->data.n && which < WKV_N_INPUTS; i++)
        conformance_element_set(t->desc.type, accel_buffer_host(buffer), i,
                                t->data.input[which][i]);
    const bool is_state = which == WKV_STATE_IN ||
                          (which == WKV_STATE_OUT && t->data.entry->in_place);
    if (is_state && bytes > 0)
        memcpy(accel_buffer_host(buffer), t->data.state_in, bytes);
    if (which == WKV_LENGTH && bytes > 0)
        memcpy(accel_buffer_host(buffer), t->data.length, bytes);
    if (accel_buffer_put(buffer, &t->error) != VLY_OK)
        return failed_call(t, "copy");
    return true;
}

static bool make_buffers(wkv_trial *t)
{
    const uint32_t size = conformance_element_bits(t->desc.type) / 8;
    bool good = true;
    for (uint32_t i = 0; i <= WKV_Y && good; i++)
        good = make_buffer(t, i, t->data.n * size, size);
    if (good && t->data.entry->has_state && !t->data.entry->in_place)
        good = make_buffer(t, WKV_STATE_IN, t->data.n_state * 4, 4);
    good = good && make_buffer(t, WKV_STATE_OUT, t->data.n_state * 4, 4);
    if (good && t->data.entry->lengths)
        good =
            make_buffer(t, WKV_LENGTH, (uint64_t)t->data.entry->batch * 4, 4);
    if (good &&
        accel_buffer_init(&t->workspace, t->accelerator,
                          t->info.workspace_bytes, 0, &t->error) != VLY_OK)
        good = failed_call(t, "memory of the workspace");
    if (good && accel_buffer_put(&t->workspace, &t->error) != VLY_OK)
        good = failed_call(t, "copy");
    return good;
}

static vly_status put_run(void *arg, void *stream, vly_error *error)
{
    const wkv_trial *t = arg;
    void *at[WKV_N_BUFFERS];
    for (uint32_t i = 0; i < WKV_N_BUFFERS; i++)
        at[i] = t->buffers[i].base ? accel_buffer_device(&t->buffers[i]) : NULL;
    const vly_wkv_run run = {.struct_size = sizeof run,
                             .reserved = t->reserved,
                             .r = at[WKV_R],
                             .w = at[WKV_W],
                             .k = at[WKV_K],
                             .v = at[WKV_V],
                             .a = at[WKV_A],
                             .b = at[WKV_B],
                             .y = at[WKV_Y],
                             .state_in = t->data.entry->in_place
                                             ? at[WKV_STATE_OUT]
                                             : at[WKV_STATE_IN],
                             .state_out = at[WKV_STATE_OUT],
                             .length = at[WKV_LENGTH],
                             .workspace = accel_buffer_device(&t->workspace),
                             .workspace_bytes = t->info.workspace_bytes,
                             .stream = stream};
    return t->accelerator->wkv.run(t->plan, &run, error);
}

bool wkv_trial_refuses(wkv_trial *t)
{
    return accel_refuses_reserved(t->accel, put_run, t, &t->reserved);
}

bool wkv_trial_run(wkv_trial *t)
{
    const vly_memory *memory = &t->accelerator->memory;
    vly_status status = VLY_OK;
    if (!t->stream) {
        status = accel_run(t->accelerator, t->graph, put_run, t, &t->error);
    } else {
        status = put_run(t, t->stream, &t->error);
        if (status == VLY_OK)
            status = memory->stream_wait(t->accelerator->device.index,
                                         t->stream, &t->error);
    }
    return status == VLY_OK || failed_call(t, "run");
}

/* ---- what it gave -------------------------------------------------------- */

static bool check_y(wkv_trial *t)
{
    const wkv_case *entry = t->data.entry;
    const uint32_t size = conformance_element_bits(t->desc.type) / 8;
    uint8_t *found = accel_buffer_found(&t->buffers[WKV_Y]);
    const uint8_t *host = accel_buffer_host(&t->buffers[WKV_Y]);
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
    if (accel_buffer_unchanged(&t->buffers[WKV_Y]))
        return true;
    accel_fail(t->accel, "y after a sequence's end was written");
    return false;
}

static bool check_state(wkv_trial *t)
{
    const float *found = accel_buffer_found(&t->buffers[WKV_STATE_OUT]);
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

bool wkv_trial_check(wkv_trial *t)
{
    for (uint32_t i = 0; i < WKV_N_BUFFERS; i++) {
        accel_buffer *buffer = &t->buffers[i];
        if (!buffer->base)
            continue;
        if (!accel_buffer_check(t->accel, buffer, names[i],
                                i == WKV_Y || i == WKV_STATE_OUT, how(t)))
            return false;
    }
    if (!accel_buffer_check(t->accel, &t->workspace, "the workspace", true,
                            how(t)))
        return false;
    return check_y(t) && check_state(t);
}

/* ---- all of it ----------------------------------------------------------- */

vly_wkv_desc wkv_trial_desc(const wkv_case *entry, uint32_t type)
{
    return (vly_wkv_desc){.struct_size = sizeof(vly_wkv_desc),
                          .flags = entry->lengths ? VLY_WKV_LENGTHS : 0u,
                          .type = type,
                          .batch = entry->batch,
                          .seq = entry->seq,
                          .heads = entry->heads,
                          .dim = WKV_DIM,
                          .workspace_most = UINT64_C(1) << 30};
}

bool wkv_trial_open(wkv_trial *t)
{
    return make_plan(t) && make_buffers(t);
}

void wkv_trial_close(wkv_trial *t)
{
    t->accelerator->wkv.plan_destroy(t->plan);
    t->plan = NULL;
    for (uint32_t i = 0; i < WKV_N_BUFFERS; i++)
        accel_buffer_deinit(&t->buffers[i]);
    accel_buffer_deinit(&t->workspace);
}

bool wkv_trial_poison(wkv_trial *t)
{
    return (accel_buffer_put(&t->buffers[WKV_Y], &t->error) == VLY_OK &&
            accel_buffer_put(&t->buffers[WKV_STATE_OUT], &t->error) ==
                VLY_OK) ||
           failed_call(t, "copy");
}

bool wkv_trial_digest(wkv_trial *t, uint64_t *digest)
{
    uint64_t sum = 0;
    for (uint32_t i = WKV_Y; i <= WKV_STATE_OUT; i++) {
        accel_buffer *buffer = &t->buffers[i];
        if (i == WKV_STATE_IN || buffer->bytes == 0)
            continue;
        if (accel_buffer_get(buffer, &t->error) != VLY_OK)
            return failed_call(t, "results could not be copied");
        sum = vly_mix64(
            sum ^ accel_digest(accel_buffer_found(buffer), buffer->bytes));
    }
    *digest = sum;
    return true;
}
