/* SPDX-License-Identifier: Apache-2.0
 * volley.wkv/1 on CUDA: plans and runs.
 */
#include <stdio.h>
#include <string.h>

#include <volley/wkv.h>

#include "accel_common.h"
#include "accel_cuda.h"
#include "kernels/cuda/wkv_kernels.h"
#include "wkv_check.h"

typedef struct wkv_way {
    const char *name;
    int (*launch)(const vly_wkv_args *args, void *stream);
    uint32_t seq_most; /* 0: any */
    uint32_t align;    /* of the states, bytes */
} wkv_way;

/* In the order of preference. */
static const wkv_way ways[] = {
    {"own_step", vly_wkv_step, 1, 16},
    {"own_recurrent", vly_wkv_recurrent, 0, 4},
    {"own_chunked", vly_wkv_chunked, 0, 4},
};
enum { N_WAYS = sizeof ways / sizeof ways[0] };

struct vly_wkv_plan {
    vly_wkv_desc desc;
    const wkv_way *way;
    uint32_t device;
    uint32_t n_candidates;
};

static vly_status supports(const vly_wkv_desc *desc, vly_error *error)
{
    return vly_wkv_check_desc(desc, vly_accel_plugin, error);
}

/* NULL if it can */
static const char *why_not(const wkv_way *way, const vly_wkv_desc *desc)
{
    const uint32_t align = desc->align == 0 ? 256 : desc->align;
    if (way->seq_most != 0 && desc->seq > way->seq_most)
        return "is for a single step";
    if (align < way->align)
        return "wants states aligned to 16 bytes";
    return NULL;
}

static vly_status choose_way(const vly_accel_options *options,
                             vly_wkv_plan *plan, vly_error *error)
{
    char reasons[300] = "";
    plan->way = NULL;
    plan->n_candidates = 0;
    for (uint32_t i = 0; i < N_WAYS; i++) {
        const size_t used = strlen(reasons);
        const char *why = why_not(&ways[i], &plan->desc);
        if (options->choose[0] != '\0' &&
            strcmp(options->choose, ways[i].name) != 0)
            why = "was not chosen";
        snprintf(reasons + used, sizeof reasons - used, "%s%s %s",
                 used == 0 ? "" : "; ", ways[i].name,
                 why == NULL ? "can" : why);
        if (why != NULL)
            continue;
        plan->n_candidates++;
        if (plan->way == NULL)
            plan->way = &ways[i];
    }
    if (plan->way == NULL)
        return vly_accel_fail(error, VLY_E_UNSUPPORTED,
                              "%s: no way to run this: %s", vly_accel_plugin,
                              reasons);
    return VLY_OK;
}

static void plan_destroy(vly_wkv_plan *plan)
{
    vly_accel_free(plan);
}

static vly_status plan_create(const vly_device_spec *device,
                              const vly_wkv_desc *desc, vly_wkv_plan **plan,
                              vly_error *error)
{
    vly_accel_options options;
    vly_wkv_plan *made = NULL;
    if (device == NULL || device->struct_size < sizeof *device)
        return vly_accel_fail(error, VLY_E_INVALID,
                              "%s: the device specification is shorter than "
                              "that of version 1.0",
                              vly_accel_plugin);
    vly_status status = supports(desc, error);
    if (status == VLY_OK)
        status =
            vly_accel_options_parse(device->options, NULL, &options, error);
    if (status == VLY_OK)
        status = vly_accel_cuda_enter(device->index, error);
    if (status == VLY_OK)
        status = vly_accel_alloc(1, sizeof *made, &made, error);
    if (status != VLY_OK)
        return status;
    made->desc = *desc;
    made->desc.struct_size = (uint32_t)sizeof *desc;
    made->device = device->index;
    status = choose_way(&options, made, error);
    if (status != VLY_OK) {
        plan_destroy(made);
        return status;
    }
    *plan = made;
    return VLY_OK;
}

static vly_status plan_info(const vly_wkv_plan *plan, vly_plan_info *info,
                            vly_error *error)
{
    if (info->struct_size < sizeof *info)
        return vly_accel_fail(
            error, VLY_E_INVALID, "%s: plan info of %u bytes, wanted %u",
            vly_accel_plugin, info->struct_size, (uint32_t)sizeof *info);
    info->n_candidates = plan->n_candidates;
    info->workspace_bytes = 0;
    info->measured_s = 0.0;
    info->cached = 0;
    info->reserved = 0;
    snprintf(info->choice, sizeof info->choice, "%s", plan->way->name);
    return VLY_OK;
}

static vly_status run_plan(vly_wkv_plan *plan, const vly_wkv_run *run,
                           vly_error *error)
{
    vly_status status =
        vly_wkv_check_run(&plan->desc, run, vly_accel_plugin, error);
    if (status == VLY_OK)
        status = vly_accel_cuda_enter(plan->device, error);
    if (status != VLY_OK)
        return status;
    const vly_wkv_args args = {
        .r = run->r,
        .w = run->w,
        .k = run->k,
        .v = run->v,
        .a = run->a,
        .b = run->b,
        .y = run->y,
        .state_in = run->state_in,
        .state_out = run->state_out,
        .length = run->length,
        .batch = plan->desc.batch,
        .seq = plan->desc.seq,
        .heads = plan->desc.heads,
        .type = plan->desc.type,
    };
    return vly_accel_cuda_check(plan->way->launch(&args, run->stream),
                                plan->way->name, error);
}

extern const vly_wkv vly_wkv_cuda_table;
const vly_wkv vly_wkv_cuda_table = {
    .struct_size = sizeof(vly_wkv),
    .supports = supports,
    .plan_create = plan_create,
    .plan_destroy = plan_destroy,
    .plan_info = plan_info,
    .run = run_plan,
};
