/* SPDX-License-Identifier: Apache-2.0
 * volley.attention/1 of the processor: plans, runs and units of work.
 */
#include "attention_cpu.h"

#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

#include "accel_common.h"
#include "attention_check.h"
#include "attention_view.h"
#include "cpu_options.h"

/* Threads are not woken for less work: about 50 us of one thread. */
#define WORK_OF_A_THREAD 2e6

/* ---- units ------------------------------------------------------------- */

typedef struct unit_work {
    _Atomic uint64_t next;
    uint64_t n;
    void (*body)(void *work, uint64_t unit, uint32_t thread);
    void *work;
} unit_work;

static void unit_thread(void *arg, uint32_t thread)
{
    unit_work *units = arg;
    for (;;) {
        uint64_t unit = atomic_fetch_add(&units->next, 1);
        if (unit >= units->n)
            return;
        units->body(units->work, unit, thread);
    }
}

void vly_attention_units(uint32_t n_threads, uint64_t n_units,
                         void (*body)(void *work, uint64_t unit,
                                      uint32_t thread),
                         void *work)
{
    unit_work units = {.n = n_units, .body = body, .work = work};
    uint32_t wanted = n_units < n_threads ? (uint32_t)n_units : n_threads;
    if (wanted > 0)
        vly_accel_parallel(wanted, unit_thread, &units);
}

/* ---- plans ------------------------------------------------------------- */

static const vly_attention_way *const ways[] = {&vly_attention_blocked,
                                                &vly_attention_reference};

static vly_status supports(const vly_attention_desc *desc, vly_error *error)
{
    return vly_attention_check_desc(desc, vly_support_plugin, error);
}

static const char *const notes[] = {
    "", "sums in double, to check others with: only by choose=reference"};

static vly_status find_way(const char *name, const vly_attention_way **way,
                           vly_error *error)
{
    *way = ways[0];
    if (name[0] == 0)
        return VLY_OK;
    for (uint32_t i = 0; i < sizeof ways / sizeof *ways; i++)
        if (strcmp(ways[i]->name, name) == 0) {
            *way = ways[i];
            return VLY_OK;
        }
    return vly_support_fail(error, VLY_E_UNSUPPORTED,
                            "%s: choose=%s, there are blocked and reference",
                            vly_support_plugin, name);
}

/* Multiplications of a run, about. */
static double n_products(const vly_attention_desc *desc)
{
    return (double)desc->batch * desc->heads_q * desc->seq_q * desc->seq_kv *
           (desc->dim + desc->dim_v);
}

/* Nothing is measured: the way is fixed. */
static vly_status list_ways(vly_attention_plan *plan, vly_error *error)
{
    const uint32_t n = sizeof ways / sizeof *ways;
    vly_status status = VLY_OK;
    VLY_TRY(vly_accel_candidates_init(&plan->looked_at, n, error));
    for (uint32_t i = 0; i < n; i++) {
        const bool chosen = ways[i] == plan->way;
        vly_plan_candidate *c = vly_accel_candidates_add(
            &plan->looked_at,
            chosen ? VLY_CANDIDATE_CHOSEN : VLY_CANDIDATE_READY, ways[i]->name,
            chosen ? "" : notes[i]);
        c->workspace_bytes = chosen ? plan->workspace_bytes : 0;
    }
out:
    return status;
}

static vly_status fill_plan(const vly_device_spec *device,
                            vly_attention_plan *plan, vly_error *error)
{
    vly_cpu_options options;
    uint64_t n_units = 0;
    vly_status status = VLY_OK;
    VLY_TRY(vly_cpu_options_read(device, &options, error));
    VLY_TRY(find_way(options.common.choose, &plan->way, error));
    plan->kernels = options.kernels;
    plan->scale = vly_attention_scale(&plan->desc);
    plan->n_splits = 1;
    plan->way->plan(plan, &n_units);
    if (plan->workspace_bytes > plan->desc.workspace_most)
        return vly_support_fail(
            error, VLY_E_UNSUPPORTED,
            "%s: %s needs %llu bytes of workspace, workspace_most is %llu",
            vly_support_plugin, plan->way->name,
            (unsigned long long)plan->workspace_bytes,
            (unsigned long long)plan->desc.workspace_most);
    plan->n_threads = vly_cpu_threads(
        options.n_threads, n_units, n_products(&plan->desc) / WORK_OF_A_THREAD);
    VLY_TRY(vly_accel_alloc(plan->n_threads, plan->scratch_bytes,
                            &plan->scratch, error));
    VLY_TRY(list_ways(plan, error));
out:
    return status;
}

static void plan_destroy(vly_attention_plan *plan)
{
    if (!plan)
        return;
    vly_accel_candidates_deinit(&plan->looked_at);
    vly_accel_free(plan->scratch);
    vly_accel_free(plan);
}

static vly_status plan_create(const vly_device_spec *device,
                              const vly_attention_desc *desc,
                              vly_attention_plan **plan, vly_error *error)
{
    vly_attention_plan *made = NULL;
    vly_status status = VLY_OK;
    VLY_TRY(supports(desc, error));
    VLY_TRY(vly_accel_alloc(1, sizeof *made, &made, error));
    made->desc = *desc;
    made->desc.struct_size = sizeof *desc;
    status = fill_plan(device, made, error);
    if (status != VLY_OK) {
        plan_destroy(made);
        return status;
    }
    *plan = made;
out:
    return status;
}

static vly_status plan_info(const vly_attention_plan *plan, vly_plan_info *info,
                            vly_error *error)
{
    char splits[32] = "";
    if (vly_accel_plan_info(info, error) != VLY_OK)
        return VLY_E_INVALID;
    if (plan->n_splits > 1)
        snprintf(splits, sizeof splits, ", %u splits", plan->n_splits);
    info->workspace_bytes = plan->workspace_bytes;
    snprintf(info->choice, sizeof info->choice, "%s %s, %u thread%s%s",
             plan->way->name,
             plan->way == &vly_attention_reference ? "fp64"
                                                   : plan->kernels->isa,
             plan->n_threads, plan->n_threads > 1 ? "s" : "", splits);
    return VLY_OK;
}

static vly_status plan_candidate(const vly_attention_plan *plan, uint32_t index,
                                 vly_plan_candidate *candidate, uint32_t *n,
                                 vly_error *error)
{
    return vly_accel_candidates_get(&plan->looked_at, index, candidate, n,
                                    error);
}

static vly_status run_plan(vly_attention_plan *plan,
                           const vly_attention_run *run, vly_error *error)
{
    vly_status status = VLY_OK;
    VLY_TRY(
        vly_attention_check_run(&plan->desc, run, vly_support_plugin, error));
    VLY_TRY(vly_attention_check_workspace(run->workspace, run->workspace_bytes,
                                          plan->workspace_bytes,
                                          vly_support_plugin, error));
    VLY_TRY(vly_cpu_check_stream(run->stream, error));
    VLY_TRY(vly_attention_check_values(&plan->desc, run, vly_support_plugin,
                                       error));
    if (plan->desc.flags & VLY_ATTENTION_BACKWARD)
        plan->way->backward(plan, run);
    else
        plan->way->forward(plan, run);
out:
    return status;
}

const vly_attention vly_attention_cpu_table = {
    .struct_size = sizeof(vly_attention),
    .supports = supports,
    .plan_create = plan_create,
    .plan_destroy = plan_destroy,
    .plan_info = plan_info,
    .plan_candidate = plan_candidate,
    .run = run_plan,
};
