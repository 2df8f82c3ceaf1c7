/* SPDX-License-Identifier: Apache-2.0
 * volley.wkv/1 of the processor: plans and runs. Two ways: reference (double,
 * plain loops) and recurrent (fp32, wkv_kernel.h). A unit is one head of one
 * sequence: its tokens depend on each other, its state is its own.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include <volley/wkv.h>

#include "accel_common.h"
#include "attention_check.h"
#include "attention_cpu.h"
#include "cpu_options.h"
#include "element.h"
#include "wkv_check.h"

enum { DIM = VLY_WKV_DIM };

/* Threads are not woken for fewer heads and tokens: about 50 us of one
 * thread. */
#define WORK_OF_A_THREAD 50.0

struct vly_wkv_plan {
    vly_wkv_desc desc;
    const vly_attention_kernels *kernels;
    uint32_t is_reference;
    uint32_t n_threads;
    vly_accel_candidates looked_at;
};

typedef struct wkv_work {
    const vly_wkv_plan *plan;
    const vly_wkv_run *run;
} wkv_work;

static uint32_t n_tokens(const wkv_work *work, uint64_t batch)
{
    if (!(work->plan->desc.flags & VLY_WKV_LENGTHS))
        return work->plan->desc.seq;
    return (uint32_t)((const int32_t *)work->run->length)[batch];
}

/* ---- in double --------------------------------------------------------- */

/* One row of the state and the y of its value, over all tokens. Rows do not
 * depend on each other. */
static void reference_row(const wkv_work *work, uint64_t unit, uint32_t i,
                          double *state)
{
    const vly_wkv_desc *desc = &work->plan->desc;
    const vly_wkv_run *run = work->run;
    const uint64_t batch = unit / desc->heads;
    const uint64_t head = unit % desc->heads;
    const uint32_t tokens = n_tokens(work, batch);
    double r[DIM], w[DIM], k[DIM], v[DIM], a[DIM], b[DIM];
    for (uint64_t t = 0; t < tokens; t++) {
        const uint64_t at =
            ((batch * desc->seq + t) * desc->heads + head) * DIM;
        double along = 0.0;
        double y = 0.0;
        vly_element_to_f64(desc->type, run->r, at, r, DIM);
        vly_element_to_f64(desc->type, run->w, at, w, DIM);
        vly_element_to_f64(desc->type, run->k, at, k, DIM);
        vly_element_to_f64(desc->type, run->v, at, v, DIM);
        vly_element_to_f64(desc->type, run->a, at, a, DIM);
        vly_element_to_f64(desc->type, run->b, at, b, DIM);
        for (uint32_t j = 0; j < DIM; j++)
            along += state[j] * a[j];
        for (uint32_t j = 0; j < DIM; j++) {
            state[j] = state[j] * exp(-exp(w[j])) + along * b[j] + v[i] * k[j];
            y += state[j] * r[j];
        }
        vly_element_from_f64(desc->type, &y, run->y, at + i, 1);
    }
}

static void reference_unit(void *arg, uint64_t unit, uint32_t thread)
{
    const wkv_work *work = arg;
    const float *in = work->run->state_in;
    float *out = (float *)work->run->state_out + unit * DIM * DIM;
    (void)thread;
    for (uint32_t i = 0; i < DIM; i++) {
        double row[DIM];
        for (uint32_t j = 0; j < DIM; j++)
            row[j] = in ? (double)in[(unit * DIM + i) * DIM + j] : 0.0;
        reference_row(work, unit, i, row);
        for (uint32_t j = 0; j < DIM; j++)
            out[i * DIM + j] = (float)row[j];
    }
}

/* ---- in fp32 ----------------------------------------------------------- */

static void recurrent_unit(void *arg, uint64_t unit, uint32_t thread)
{
    const wkv_work *work = arg;
    const vly_wkv_desc *desc = &work->plan->desc;
    const vly_wkv_run *run = work->run;
    const uint64_t batch = unit / desc->heads;
    const uint64_t first =
        (batch * desc->seq * desc->heads + unit % desc->heads) * DIM *
        (vly_element_bits(desc->type) / 8);
    float *state = (float *)run->state_out + unit * DIM * DIM;
    (void)thread;
    if (!run->state_in)
        memset(state, 0, DIM * DIM * sizeof *state);
    else if (run->state_in != run->state_out)
        memcpy(state, (const float *)run->state_in + unit * DIM * DIM,
               DIM * DIM * sizeof *state);
    if (n_tokens(work, batch) == 0)
        return; /* where there is no token, r may be NULL */
    vly_wkv_head head = {.type = desc->type,
                         .n_tokens = n_tokens(work, batch),
                         .stride = (uint64_t)desc->heads * DIM,
                         .r = (const char *)run->r + first,
                         .w = (const char *)run->w + first,
                         .k = (const char *)run->k + first,
                         .v = (const char *)run->v + first,
                         .a = (const char *)run->a + first,
                         .b = (const char *)run->b + first,
                         .y = (char *)run->y + first,
                         .state = state};
    work->plan->kernels->wkv(&head);
}

/* ---- the table --------------------------------------------------------- */

static vly_status supports(const vly_wkv_desc *desc, vly_error *error)
{
    return vly_wkv_check_desc(desc, vly_support_plugin, error);
}

static void plan_destroy(vly_wkv_plan *plan)
{
    if (!plan)
        return;
    vly_accel_candidates_deinit(&plan->looked_at);
    vly_accel_free(plan);
}

static vly_status list_ways(vly_wkv_plan *plan, vly_error *error)
{
    const uint32_t chosen = plan->is_reference;
    vly_status status = VLY_OK;
    VLY_TRY(vly_accel_candidates_init(&plan->looked_at, 2, error));
    (void)vly_accel_candidates_add(
        &plan->looked_at, chosen ? VLY_CANDIDATE_READY : VLY_CANDIDATE_CHOSEN,
        "recurrent", "");
    (void)vly_accel_candidates_add(
        &plan->looked_at, chosen ? VLY_CANDIDATE_CHOSEN : VLY_CANDIDATE_READY,
        "reference",
        chosen ? ""
               : "in double, to check others with: only by "
                 "choose=reference");
out:
    return status;
}

static vly_status plan_create(const vly_device_spec *device,
                              const vly_wkv_desc *desc, vly_wkv_plan **plan,
                              vly_error *error)
{
    vly_cpu_options options;
    vly_wkv_plan *made = NULL;
    vly_status status = VLY_OK;
    VLY_TRY(supports(desc, error));
    VLY_TRY(vly_cpu_options_read(device, &options, error));
    const char *choose = options.common.choose;
    const uint32_t is_reference = strcmp(choose, "reference") == 0;
    if (choose[0] != 0 && !is_reference && strcmp(choose, "recurrent") != 0)
        return vly_support_fail(error, VLY_E_UNSUPPORTED,
                                "%s: choose=%s, there are recurrent and "
                                "reference",
                                vly_support_plugin, choose);
    VLY_TRY(vly_accel_alloc(1, sizeof *made, &made, error));
    const uint64_t units = (uint64_t)desc->batch * desc->heads;
    made->desc = *desc;
    made->kernels = options.kernels;
    made->is_reference = is_reference;
    made->n_threads = vly_cpu_threads(
        options.n_threads, units, (double)units * desc->seq / WORK_OF_A_THREAD);
    status = list_ways(made, error);
    if (status != VLY_OK) {
        plan_destroy(made);
        return status;
    }
    *plan = made;
out:
    return status;
}

static vly_status plan_info(const vly_wkv_plan *plan, vly_plan_info *info,
                            vly_error *error)
{
    if (vly_accel_plan_info(info, error) != VLY_OK)
        return VLY_E_INVALID;
    snprintf(info->choice, sizeof info->choice, "%s %s, %u thread%s",
             plan->is_reference ? "reference" : "recurrent",
             plan->is_reference ? "fp64" : plan->kernels->isa, plan->n_threads,
             plan->n_threads > 1 ? "s" : "");
    return VLY_OK;
}

static vly_status plan_candidate(const vly_wkv_plan *plan, uint32_t index,
                                 vly_plan_candidate *candidate, uint32_t *n,
                                 vly_error *error)
{
    return vly_accel_candidates_get(&plan->looked_at, index, candidate, n,
                                    error);
}

static vly_status check_lengths(const vly_wkv_plan *plan,
                                const vly_wkv_run *run, vly_error *error)
{
    const int32_t *length = run->length;
    if (!(plan->desc.flags & VLY_WKV_LENGTHS))
        return VLY_OK;
    for (uint32_t b = 0; b < plan->desc.batch; b++)
        if (length[b] < 0 || (uint32_t)length[b] > plan->desc.seq)
            return vly_support_fail(
                error, VLY_E_INVALID, "%s: length[%u] is %d, wanted 0 to %u",
                vly_support_plugin, b, length[b], plan->desc.seq);
    return VLY_OK;
}

static vly_status run_plan(vly_wkv_plan *plan, const vly_wkv_run *run,
                           vly_error *error)
{
    wkv_work work = {.plan = plan, .run = run};
    vly_status status = VLY_OK;
    VLY_TRY(vly_wkv_check_run(&plan->desc, run, vly_support_plugin, error));
    VLY_TRY(vly_cpu_check_stream(run->stream, error));
    VLY_TRY(check_lengths(plan, run, error));
    vly_attention_units(
        plan->n_threads, (uint64_t)plan->desc.batch * plan->desc.heads,
        plan->is_reference ? reference_unit : recurrent_unit, &work);
out:
    return status;
}

extern const vly_wkv vly_wkv_cpu_table;
const vly_wkv vly_wkv_cpu_table = {
    .struct_size = sizeof(vly_wkv),
    .supports = supports,
    .plan_create = plan_create,
    .plan_destroy = plan_destroy,
    .plan_info = plan_info,
    .plan_candidate = plan_candidate,
    .run = run_plan,
};
