/* SPDX-License-Identifier: Apache-2.0
 * One case of volley.attention/1 on a device: its plan, its tensors with
 * sentinels, and the comparison after a run.
 */
#include "conformance/conformance_attention_trial.h"

#include <math.h>
#include <string.h>

#include "base/error.h"
#include "base/random.h"
#include "conformance/conformance_element.h"

static const char *const names[ATTENTION_N_VALUES] = {
    "q", "k", "v", "grad_o", "o", "lse", "grad_q", "grad_k", "grad_v"};

static const char *how(const attention_trial *t)
{
    return t->graph ? " (graph)" : t->unaligned ? " (unaligned)" : "";
}

static bool failed(attention_trial *t, const char *what)
{
    accel_fail(t->accel, "%s%s", what, how(t));
    return false;
}

static bool failed_call(attention_trial *t, const char *call)
{
    accel_fail(t->accel, "%s%s: %.400s", call, how(t), t->error.message);
    return false;
}

static bool is_output(const attention_trial *t, uint32_t which)
{
    if (t->backward)
        return which >= ATTENTION_GRAD_Q && which <= ATTENTION_GRAD_V;
    return which == ATTENTION_O ||
           (which == ATTENTION_LSE && t->desc.flags & VLY_ATTENTION_LSE);
}

static bool is_used(const attention_trial *t, uint32_t which)
{
    if (which <= ATTENTION_V || which == ATTENTION_O)
        return true;
    if (which == ATTENTION_LSE)
        return t->backward || t->desc.flags & VLY_ATTENTION_LSE;
    return which < ATTENTION_N_VALUES && t->backward;
}

/* ---- buffers ------------------------------------------------------------- */

/* Writes the values of a tensor at their places; all other bytes stay poison.
 */
static void put_values(attention_trial *t, uint32_t which)
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

static bool make_buffer(attention_trial *t, uint32_t which, uint64_t bytes,
                        uint32_t element_bytes, const void *from)
{
    accel_buffer *buffer = &t->buffers[which];
    if (accel_buffer_init(buffer, t->accelerator, bytes,
                          t->unaligned ? element_bytes : 0,
                          &t->error) != VLY_OK)
        return failed_call(t, "memory");
    if (which < ATTENTION_N_VALUES && !is_output(t, which))
        put_values(t, which);
    if (from && bytes > 0)
        memcpy(accel_buffer_host(buffer), from, bytes);
    if (accel_buffer_put(buffer, &t->error) != VLY_OK)
        return failed_call(t, "copy");
    return true;
}

static bool make_arrays(attention_trial *t)
{
    const attention_data *data = &t->data;
    const vly_attention_desc *desc = &t->desc;
    const uint64_t batch = desc->batch;
    const uint64_t scales = batch * desc->heads_kv * sizeof(float);
    bool good = true;
    if (desc->flags & VLY_ATTENTION_LENGTHS)
        good = make_buffer(t, ATTENTION_BUFFER_LENGTH_Q, batch * 4, 4,
                           data->length_q) &&
               make_buffer(t, ATTENTION_BUFFER_LENGTH_KV, batch * 4, 4,
                           data->length_kv);
    if (good && desc->flags & VLY_ATTENTION_PACKED)
        good = make_buffer(t, ATTENTION_BUFFER_START_Q, (batch + 1) * 4, 4,
                           data->start_q) &&
               make_buffer(t, ATTENTION_BUFFER_START_KV, (batch + 1) * 4, 4,
                           data->start_kv);
    if (good && desc->flags & VLY_ATTENTION_PAGED)
        good = make_buffer(t, ATTENTION_BUFFER_PAGES,
                           batch * desc->pages_most * 4, 4, data->pages);
    for (uint32_t i = 0; i < 3 && good && desc->type == VLY_ELEMENT_E4M3; i++)
        good = make_buffer(t, ATTENTION_BUFFER_SCALE_Q + i, scales, 4,
                           (const char *)data->scales + i * scales);
    if (good && desc->type_o == VLY_ELEMENT_E4M3)
        good = make_buffer(t, ATTENTION_BUFFER_SCALE_O, 4, 4, &data->scale_o);
    return good;
}

static bool make_buffers(attention_trial *t)
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
    return make_buffer(t, ATTENTION_BUFFER_WORKSPACE, t->info.workspace_bytes,
                       0, NULL);
}

void attention_trial_close(attention_trial *t)
{
    t->accelerator->attention.plan_destroy(t->plan);
    t->plan = NULL;
    for (uint32_t i = 0; i < ATTENTION_N_BUFFERS; i++)
        accel_buffer_deinit(&t->buffers[i]);
}

/* ---- a run --------------------------------------------------------------- */

static vly_status put_run(void *arg, void *stream, vly_error *error)
{
    const attention_trial *t = arg;
    void *at[ATTENTION_N_BUFFERS];
    for (uint32_t i = 0; i < ATTENTION_N_BUFFERS; i++)
        at[i] = accel_buffer_device(&t->buffers[i]);
    const vly_attention_run run = {.struct_size = sizeof run,
                                   .reserved = t->reserved,
                                   .q = at[ATTENTION_Q],
                                   .k = at[ATTENTION_K],
                                   .v = at[ATTENTION_V],
                                   .o = at[ATTENTION_O],
                                   .lse = at[ATTENTION_LSE],
                                   .grad_o = at[ATTENTION_GRAD_O],
                                   .grad_q = at[ATTENTION_GRAD_Q],
                                   .grad_k = at[ATTENTION_GRAD_K],
                                   .grad_v = at[ATTENTION_GRAD_V],
                                   .length_q = at[ATTENTION_BUFFER_LENGTH_Q],
                                   .length_kv = at[ATTENTION_BUFFER_LENGTH_KV],
                                   .start_q = at[ATTENTION_BUFFER_START_Q],
                                   .start_kv = at[ATTENTION_BUFFER_START_KV],
                                   .page_table = at[ATTENTION_BUFFER_PAGES],
                                   .scale_q = at[ATTENTION_BUFFER_SCALE_Q],
                                   .scale_k = at[ATTENTION_BUFFER_SCALE_K],
                                   .scale_v = at[ATTENTION_BUFFER_SCALE_V],
                                   .scale_o = at[ATTENTION_BUFFER_SCALE_O],
                                   .workspace = at[ATTENTION_BUFFER_WORKSPACE],
                                   .workspace_bytes = t->info.workspace_bytes,
                                   .stream = stream};
    return t->accelerator->attention.run(t->plan, &run, error);
}

bool attention_trial_refuses(attention_trial *t)
{
    return accel_refuses_reserved(t->accel, put_run, t, &t->reserved);
}

bool attention_trial_run(attention_trial *t)
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

/* 0 of an older plugin, which does not tell */
static vly_status get_way(const void *arg, uint32_t index,
                          vly_plan_candidate *candidate, uint32_t *n,
                          vly_error *error)
{
    const attention_trial *t = arg;
    const vly_attention *table = &t->accelerator->attention;
    *n = 0;
    return !table->plan_candidate
               ? VLY_OK
               : table->plan_candidate(t->plan, index, candidate, n, error);
}

bool attention_trial_plan(attention_trial *t)
{
    const vly_attention *attention = &t->accelerator->attention;
    vly_status status = attention->supports(&t->desc, &t->error);
    if (status == VLY_OK)
        status = attention->plan_create(&t->accelerator->device, &t->desc,
                                        &t->plan, &t->error);
    t->skipped = status == VLY_E_UNSUPPORTED;
    if (status != VLY_OK)
        return failed_call(t, "plan");
    t->info = (vly_plan_info){.struct_size = sizeof t->info};
    if (attention->plan_info(t->plan, &t->info, &t->error) != VLY_OK)
        return failed_call(t, "plan_info");
    if (t->info.choice[0] == 0 || t->info.n_candidates == 0)
        return failed(t, "plan_info says nothing of the choice");
    if (t->info.workspace_bytes > t->desc.workspace_most)
        return failed(t, "the plan needs more than workspace_most");
    return accel_ways_hold(t->accel, &t->info, get_way, t);
}

/* ---- what it gave -------------------------------------------------------- */

/* If NaN is expected, the result must be NaN; for lse, NaN or +inf. */
static bool is_near(double found, double wanted, double bound, bool is_lse)
{
    if (isnan(wanted))
        return is_lse ? !isfinite(found) && !(found == (double)-INFINITY)
                      : isnan(found);
    if (isinf(wanted))
        return found == wanted;
    return fabs(found - wanted) <= bound; /* false for NaN */
}

static bool check_row(attention_trial *t, uint32_t which, uint32_t b,
                      uint32_t h, uint32_t s)
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

/* Bytes that are not results must be unchanged: results are overwritten with
 * their earlier content, then all bytes must be equal. */
static bool check_rest(attention_trial *t, uint32_t which)
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
    accel_fail(t->accel, "%s: bytes outside the result were written",
               names[which]);
    return false;
}

static bool check_output(attention_trial *t, uint32_t which)
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

bool attention_trial_check(attention_trial *t)
{
    for (uint32_t i = 0; i < ATTENTION_N_BUFFERS; i++) {
        accel_buffer *buffer = &t->buffers[i];
        if (!buffer->base)
            continue;
        const char *name = i < ATTENTION_N_VALUES ? names[i]
                           : i == ATTENTION_BUFFER_WORKSPACE
                               ? "the workspace"
                               : "an array of the input";
        const bool writes = i == ATTENTION_BUFFER_WORKSPACE ||
                            (i < ATTENTION_N_VALUES && is_output(t, i));
        if (!accel_buffer_check(t->accel, buffer, name, writes, how(t)))
            return false;
        if (i < ATTENTION_N_VALUES && is_output(t, i) && !check_output(t, i))
            return false;
    }
    return true;
}

/* ---- all of it ----------------------------------------------------------- */

bool attention_trial_open(attention_trial *t)
{
    return (t->plan || attention_trial_plan(t)) && make_buffers(t);
}

bool attention_trial_poison(attention_trial *t)
{
    for (uint32_t i = 0; i < ATTENTION_N_VALUES; i++)
        if (is_output(t, i) && t->buffers[i].base &&
            accel_buffer_put(&t->buffers[i], &t->error) != VLY_OK)
            return failed_call(t, "copy");
    return true;
}

bool attention_trial_digest(attention_trial *t, uint64_t *digest)
{
    uint64_t sum = 0;
    for (uint32_t i = 0; i < ATTENTION_N_VALUES; i++) {
        accel_buffer *buffer = &t->buffers[i];
        if (!is_output(t, i) || buffer->bytes == 0)
            continue;
        if (accel_buffer_get(buffer, &t->error) != VLY_OK)
            return failed_call(t, "results could not be copied");
        sum = vly_mix64(
            sum ^ accel_digest(accel_buffer_found(buffer), buffer->bytes));
    }
    *digest = sum;
    return true;
}
