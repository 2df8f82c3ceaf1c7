/* SPDX-License-Identifier: Apache-2.0
 * Runs of the cases of volley.rwkv/1: a scenario is a type; in each the case is
 * run with aligned pointers, as a graph where the plugin has graphs, and with
 * pointers that are aligned to their elements only. Rows after a sequence's end
 * hold NaN.
 */
#include "conformance/conformance_rwkv.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "conformance/conformance_accel.h"
#include "conformance/conformance_element.h"

static const struct {
    const char *name;
    size_t at; /* in vly_rwkv_run */
} fields[] = {
#define RWKV_FIELD(name) {#name, offsetof(vly_rwkv_run, name)},
    RWKV_SLOTS(RWKV_FIELD)
#undef RWKV_FIELD
};

typedef struct trial {
    accel_trial *accel;
    const vly_accelerator *accelerator;
    rwkv_data data;
    accel_buffer buffers[RWKV_N_SLOTS];
    accel_buffer workspace;
    uint64_t workspace_bytes;
    vly_rwkv_plan *plan;
    uint32_t unaligned;
    uint32_t graph;
    uint32_t reserved; /* of a run: 0, or something that is refused */
    uint32_t skipped;
    vly_error error;
} trial;

/* ---- names and places ---------------------------------------------------- */

static const char *how(const trial *t)
{
    return t->graph ? " (graph)" : t->unaligned ? " (unaligned)" : "";
}

static bool failed_call(trial *t, const char *call)
{
    accel_fail(t->accel, "%s%s: %.400s", call, how(t), t->error.message);
    return false;
}

static const char *name_of(uint32_t slot)
{
    static const char *const products[] = {"product_x", "product_w",
                                           "product_scale", "product_y"};
    return slot < RWKV_product_x
               ? fields[slot].name
               : products[(slot - RWKV_product_x) / VLY_RWKV_MOST_PRODUCTS];
}

static size_t place_of(uint32_t slot)
{
    static const size_t products[] = {offsetof(vly_rwkv_run, product_x),
                                      offsetof(vly_rwkv_run, product_w),
                                      offsetof(vly_rwkv_run, product_scale),
                                      offsetof(vly_rwkv_run, product_y)};
    const uint32_t i = slot - RWKV_product_x;
    return slot < RWKV_product_x
               ? fields[slot].at
               : products[i / VLY_RWKV_MOST_PRODUCTS] +
                     i % VLY_RWKV_MOST_PRODUCTS * sizeof(void *);
}

/* ---- a run --------------------------------------------------------------- */

static bool make_plan(trial *t)
{
    const vly_rwkv *rwkv = &t->accelerator->rwkv;
    vly_plan_info info = {.struct_size = sizeof info};
    vly_status status = rwkv->supports(&t->data.desc, &t->error);
    if (status == VLY_OK)
        status = rwkv->plan_create(&t->accelerator->device, &t->data.desc,
                                   &t->plan, &t->error);
    t->skipped = status == VLY_E_UNSUPPORTED;
    if (t->skipped) {
        accel_skip(t->accel, "%.400s", t->error.message);
        return false;
    }
    if (status != VLY_OK)
        return failed_call(t, "plan");
    if (rwkv->plan_info(t->plan, &info, &t->error) != VLY_OK)
        return failed_call(t, "plan_info");
    if (info.choice[0] == 0 ||
        info.workspace_bytes > t->data.desc.workspace_most) {
        accel_fail(t->accel, "plan_info: no choice, or more workspace than "
                             "workspace_most");
        return false;
    }
    t->workspace_bytes = info.workspace_bytes;
    return true;
}

static bool make_buffer(trial *t, uint32_t slot)
{
    const rwkv_slot *s = &t->data.slot[slot];
    const uint32_t bits = conformance_element_bits(s->type);
    accel_buffer *buffer = &t->buffers[slot];
    if (accel_buffer_init(buffer, t->accelerator, (s->count * bits + 7) / 8,
                          t->unaligned && bits >= 8 ? bits / 8 : 0,
                          &t->error) != VLY_OK)
        return failed_call(t, "memory");
    for (uint64_t i = 0; i < s->count && (s->use & RWKV_IN); i++)
        if (!isnan(s->value[i])) /* tokens that do not exist stay NaN */
            conformance_element_set(s->type, accel_buffer_host(buffer), i,
                                    s->value[i]);
    if (accel_buffer_put(buffer, &t->error) != VLY_OK)
        return failed_call(t, "copy");
    return true;
}

static bool make_buffers(trial *t)
{
    bool good = true;
    for (uint32_t i = 0; i < RWKV_N_SLOTS && good; i++)
        if (t->data.slot[i].use != 0 && t->data.slot[i].twin == i)
            good = make_buffer(t, i);
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
    vly_rwkv_run run = {.struct_size = sizeof run,
                        .reserved = t->reserved,
                        .workspace = accel_buffer_device(&t->workspace),
                        .workspace_bytes = t->workspace_bytes,
                        .stream = stream};
    for (uint32_t i = 0; i < RWKV_N_SLOTS; i++) {
        if (t->data.slot[i].use == 0)
            continue;
        const void *at = accel_buffer_device(&t->buffers[t->data.slot[i].twin]);
        memcpy((char *)&run + place_of(i), &at, sizeof at);
    }
    return t->accelerator->rwkv.run(t->plan, &run, error);
}

static bool run_once(trial *t)
{
    return accel_run(t->accelerator, t->graph, put_run, t, &t->error) ==
               VLY_OK ||
           failed_call(t, "run");
}

/* ---- what it gave -------------------------------------------------------- */

/* Elements that must not be written are compared as bits. */
static bool check_element(trial *t, uint32_t slot, uint64_t i)
{
    const rwkv_slot *s = &t->data.slot[slot];
    const accel_buffer *buffer = &t->buffers[s->twin];
    const uint32_t bits = conformance_element_bits(s->type);
    const double x =
        conformance_element_get(s->type, accel_buffer_found(buffer), i);
    if (s->bound[i] < 0.0) {
        if (accel_buffer_kept(buffer, i * bits / 8, (i * bits + bits) / 8))
            return true;
        accel_fail(t->accel, "%s[%llu] was written%s", name_of(slot),
                   (unsigned long long)i, how(t));
        return false;
    }
    if (fabs(x - s->wanted[i]) <= s->bound[i])
        return true;
    accel_fail(t->accel, "%s[%llu] is %.9g, wanted %.9g within %.3g%s",
               name_of(slot), (unsigned long long)i, x, s->wanted[i],
               s->bound[i], how(t));
    return false;
}

/* Whether an output shares the memory of a slot. */
static bool is_written(const trial *t, uint32_t slot)
{
    for (uint32_t i = 0; i < RWKV_N_SLOTS; i++)
        if ((t->data.slot[i].use & RWKV_OUT) && t->data.slot[i].twin == slot)
            return true;
    return false;
}

static bool check_results(trial *t)
{
    for (uint32_t i = 0; i < RWKV_N_SLOTS; i++) {
        accel_buffer *buffer = &t->buffers[i];
        if (!buffer->base)
            continue;
        if (!accel_buffer_check(t->accel, buffer, name_of(i), is_written(t, i),
                                how(t)))
            return false;
    }
    if (!accel_buffer_check(t->accel, &t->workspace, "the workspace", true,
                            how(t)))
        return false;
    for (uint32_t i = 0; i < RWKV_N_SLOTS; i++)
        for (uint64_t j = 0; j < t->data.slot[i].count; j++)
            if ((t->data.slot[i].use & RWKV_OUT) && !check_element(t, i, j))
                return false;
    return true;
}

/* ---- a scenario ---------------------------------------------------------- */

static bool run_variant(trial *t, uint32_t unaligned, uint32_t graph)
{
    t->unaligned = unaligned;
    t->graph = graph;
    t->data.desc.align = unaligned ? 1 : 0;
    bool good = make_plan(t) && make_buffers(t) &&
                accel_refuses_reserved(t->accel, put_run, t, &t->reserved) &&
                run_once(t) && check_results(t);
    t->accelerator->rwkv.plan_destroy(t->plan);
    t->plan = NULL;
    for (uint32_t i = 0; i < RWKV_N_SLOTS; i++)
        accel_buffer_deinit(&t->buffers[i]);
    accel_buffer_deinit(&t->workspace);
    return good;
}

/* Arrays that are read and written would hold the result of two runs. */
static bool can_repeat(const rwkv_data *data)
{
    for (uint32_t i = 0; i < RWKV_N_SLOTS; i++)
        if (data->slot[i].use == (RWKV_IN | RWKV_OUT) ||
            data->slot[i].twin != i)
            return false;
    return true;
}

static uint32_t run_scenario(accel_trial *accel, uint32_t type)
{
    trial t = {.accel = accel,
               .accelerator = accel->accelerator,
               .error = VLY_ERROR_INIT};
    bool good = rwkv_data_init(&t.data, &rwkv_cases[accel->index], type,
                               accel->seed, &t.error) == VLY_OK ||
                failed_call(&t, "test data");
    good = good && run_variant(&t, 0, 0);
    const bool skipped = t.skipped != 0;
    if (good && t.accelerator->memory.graph_begin && can_repeat(&t.data))
        good = run_variant(&t, 0, 1);
    if (good)
        good = run_variant(&t, 1, 0) || t.skipped != 0; /* refused by name */
    rwkv_data_deinit(&t.data);
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
    (void)snprintf(name, size, "rwkv_%s", rwkv_cases[index].name);
}

const accel_table vly_rwkv_table = {
    .interface_id = VLY_RWKV_INTERFACE,
    .n_cases = RWKV_N_CASES,
    .case_name = case_name,
    .scenarios = scenarios,
};
