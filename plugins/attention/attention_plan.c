/* SPDX-License-Identifier: Apache-2.0
 * volley.attention/1 on CUDA: options, plans and runs.
 */
#include "attention_plan.h"

#include <stdio.h>
#include <string.h>

#include "accel_cuda.h"
#include "attention_check.h"
#include "attention_cut.h"
#include "kernels/accelerators/attention_index.h"

static vly_status supports(const vly_attention_desc *desc, vly_error *error)
{
    const vly_status status =
        vly_attention_check_desc(desc, vly_support_plugin, error);
    if (status == VLY_OK && (desc->seq_q > VLY_ATTENTION_MOST_POSITIONS ||
                             desc->seq_kv > VLY_ATTENTION_MOST_POSITIONS))
        return vly_support_fail(error, VLY_E_UNSUPPORTED,
                                "%s: seq_q is %u and seq_kv %u, wanted at most "
                                "%d, as kernels count whole tiles in int32",
                                vly_support_plugin, desc->seq_q, desc->seq_kv,
                                VLY_ATTENTION_MOST_POSITIONS);
    return status;
}

static void plan_destroy(vly_attention_plan *plan)
{
    if (!plan)
        return;
    vly_attention_span_destroy(plan->span);
    vly_cuda_ready_release(&plan->ready);
    vly_accel_candidates_deinit(&plan->looked_at);
    vly_accel_free(plan);
}

/* ---- options ------------------------------------------------------------- */

enum { OPTION = 256 }; /* options of a device have fewer characters */

/* A number of up to four digits; *value is unchanged without the option. */
static vly_status read_number(const char *text, const char *key, uint32_t least,
                              uint32_t most, const char *and_also,
                              int64_t *value, vly_error *error)
{
    char found[OPTION] = "";
    if (!vly_accel_options_value(text, key, found, sizeof found))
        return VLY_OK;
    const size_t n = strlen(found);
    int64_t read = 0;
    for (size_t i = 0; i < n && i < 5; i++)
        read = read * 10 + (found[i] - '0');
    if (n == 0 || n > 4 || strspn(found, "0123456789") != n || read < least ||
        read > most)
        return vly_support_fail(
            error, VLY_E_INVALID, "%s: option %s is \"%s\", wanted %u to %u%s",
            vly_support_plugin, key, found, least, most, and_also);
    *value = read;
    return VLY_OK;
}

static vly_status read_options(const char *text, vly_attention_options *options,
                               vly_error *error)
{
    static const char *const extra[] = {"config", "devices", "span", "copy",
                                        NULL};
    char copy[OPTION] = "engine";
    int64_t devices = 1, parts = 0;
    vly_status status = VLY_OK;
    options->config = -1;
    VLY_TRY(vly_accel_options_parse(text, extra, &options->common, error));
    VLY_TRY(read_number(text, "config", 0, 9999, ", and choose=NAME",
                        &options->config, error));
    if (options->config >= 0 && options->common.choose[0] == '\0')
        return vly_support_fail(error, VLY_E_INVALID,
                                "%s: option config is %lld, wanted choose=NAME "
                                "too",
                                vly_support_plugin, (long long)options->config);
    VLY_TRY(read_number(text, "devices", 1, VLY_ATTENTION_SPAN_MOST, "",
                        &devices, error));
    VLY_TRY(read_number(text, "span", 1, VLY_ATTENTION_SPAN_MOST, "", &parts,
                        error));
    if (parts > 0 && devices > 1)
        return vly_support_fail(error, VLY_E_INVALID,
                                "%s: %lld devices and span=%lld, which are "
                                "parts on one device; wanted one of both",
                                vly_support_plugin, (long long)devices,
                                (long long)parts);
    (void)vly_accel_options_value(text, "copy", copy, sizeof copy);
    if (strcmp(copy, "engine") != 0 && strcmp(copy, "kernel") != 0)
        return vly_support_fail(error, VLY_E_INVALID,
                                "%s: option copy is \"%s\", wanted engine or "
                                "kernel",
                                vly_support_plugin, copy);
    options->copy_by_kernel = strcmp(copy, "kernel") == 0;
    options->n_devices = (uint32_t)devices;
    options->n_parts = devices > 1 ? (uint32_t)devices : (uint32_t)parts;
out:
    return status;
}

/* ---- plans --------------------------------------------------------------- */

static vly_status fill_plan(const vly_device_spec *spec,
                            vly_attention_plan *plan, vly_error *error)
{
    vly_attention_options options;
    vly_status status = VLY_OK;
    if (vly_accel_check_device(spec, error) != VLY_OK)
        return VLY_E_INVALID;
    VLY_TRY(read_options(spec->options, &options, error));
    /* sums without an order differ from run to run already on one device */
    if (options.n_parts > 0 && (plan->desc.flags & VLY_ATTENTION_BACKWARD) != 0)
        plan->desc.flags |= VLY_ATTENTION_DETERMINISTIC;
    VLY_TRY(vly_attention_device_enter(spec->index, &plan->device, error));
    VLY_TRY(vly_attention_find_way(plan, &options, error));
    if (options.n_parts > 1)
        VLY_TRY(vly_attention_span_create(plan, &options, &plan->span, error));
out:
    return status;
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
    made->desc.struct_size = (uint32_t)sizeof *desc;
    VLY_TRY(fill_plan(device, made, error));
    *plan = made;
out:
    if (status != VLY_OK)
        plan_destroy(made);
    return status;
}

/* The parts of a span have workspaces of their own, on their devices. */
static uint64_t workspace_of(const vly_attention_plan *plan)
{
    return plan->span ? 0 : plan->ready.workspace_bytes;
}

static vly_status plan_info(const vly_attention_plan *plan, vly_plan_info *info,
                            vly_error *error)
{
    if (vly_accel_plan_info(info, error) != VLY_OK)
        return VLY_E_INVALID;
    info->n_candidates = plan->n_candidates;
    info->workspace_bytes = workspace_of(plan);
    info->measured_s = plan->measured_s;
    info->cached = plan->cached;
    vly_attention_name_way(&plan->ready, info->choice, sizeof info->choice);
    if (plan->span) {
        info->measured_s = 0.0; /* that of one device */
        const size_t used = strlen(info->choice);
        vly_attention_span_tell(plan->span, info->choice + used,
                                sizeof info->choice - used);
    }
    return VLY_OK;
}

static vly_status plan_candidate(const vly_attention_plan *plan, uint32_t index,
                                 vly_plan_candidate *candidate, uint32_t *n,
                                 vly_error *error)
{
    const vly_status status =
        vly_accel_candidates_get(&plan->looked_at, index, candidate, n, error);
    if (status == VLY_OK && index < *n &&
        candidate->state == VLY_CANDIDATE_CHOSEN)
        candidate->workspace_bytes = workspace_of(plan);
    return status;
}

static vly_status run_plan(vly_attention_plan *plan,
                           const vly_attention_run *run, vly_error *error)
{
    vly_status status = VLY_OK;
    VLY_TRY(
        vly_attention_check_run(&plan->desc, run, vly_support_plugin, error));
    VLY_TRY(vly_attention_check_workspace(run->workspace, run->workspace_bytes,
                                          workspace_of(plan),
                                          vly_support_plugin, error));
    VLY_TRY(vly_accel_cuda_enter(plan->device.index, error));
    status = plan->span ? vly_attention_span_run(plan->span, run, error)
                        : plan->ready.way->run(&plan->device, &plan->desc,
                                               &plan->ready, run, error);
out:
    return status;
}

const vly_attention vly_attention_cuda_table = {
    .struct_size = sizeof(vly_attention),
    .supports = supports,
    .plan_create = plan_create,
    .plan_destroy = plan_destroy,
    .plan_info = plan_info,
    .plan_candidate = plan_candidate,
    .run = run_plan,
};
