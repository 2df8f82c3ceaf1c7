/* SPDX-License-Identifier: Apache-2.0
 * The plugin "gemm_cuda": its entry and its tables of functions.
 */
#include <string.h>

#include "gemm_cuda.h"
#include "plugins/support/support_version.h"

const char vly_support_plugin[] = "gemm_cuda";

static vly_status init(const vly_host *host, vly_error *error)
{
    vly_status status = VLY_OK;
    VLY_TRY(vly_support_start(host, error));
    status = vly_accel_cuda_detect(error);
    if (status == VLY_OK)
        status = vly_accel_cuda_memory_start(error);
    if (status != VLY_OK)
        vly_support_stop();
out:
    return status;
}

static void deinit(void)
{
    vly_accel_cuda_memory_stop();
    vly_support_stop();
}

/* ---- functions of a plan ------------------------------------------------- */

vly_status vly_gemm_cuda_supports(const vly_gemm_desc *desc, vly_error *error)
{
    vly_gemm_problem problem;
    return vly_gemm_check_desc(desc, &problem, error);
}

void vly_gemm_cuda_plan_destroy(vly_gemm_plan *plan)
{
    if (!plan)
        return;
    if (plan->lt.library)
        vly_gemm_lt_deinit(&plan->lt);
    vly_accel_candidates_deinit(&plan->looked_at);
    vly_accel_free(plan);
}

vly_status vly_gemm_cuda_plan_info(const vly_gemm_plan *plan,
                                   vly_plan_info *info, vly_error *error)
{
    if (vly_accel_plan_info(info, error) != VLY_OK)
        return VLY_E_INVALID;
    const uint32_t size = info->struct_size;
    *info = plan->info;
    info->struct_size = size;
    return VLY_OK;
}

vly_status vly_gemm_cuda_plan_candidate(const vly_gemm_plan *plan,
                                        uint32_t index,
                                        vly_plan_candidate *candidate,
                                        uint32_t *n, vly_error *error)
{
    return vly_accel_candidates_get(&plan->looked_at, index, candidate, n,
                                    error);
}

vly_status vly_gemm_cuda_run(vly_gemm_plan *plan, const vly_gemm_run *run,
                             vly_error *error)
{
    vly_status status = VLY_OK;
    VLY_TRY(vly_gemm_check_run(&plan->problem, plan->info.workspace_bytes, run,
                               error));
    VLY_TRY(vly_accel_cuda_enter(plan->device, error));
    status = vly_gemm_cuda_launch(&plan->problem, &plan->chosen, &plan->lt, run,
                                  error);
out:
    return status;
}

/* ---- tables ----------------------------------------------------------- */

static const vly_gemm gemm = {
    .struct_size = sizeof(vly_gemm),
    .supports = vly_gemm_cuda_supports,
    .plan_create = vly_gemm_cuda_plan_create,
    .plan_destroy = vly_gemm_cuda_plan_destroy,
    .plan_info = vly_gemm_cuda_plan_info,
    .plan_candidate = vly_gemm_cuda_plan_candidate,
    .run = vly_gemm_cuda_run,
};

static const void *get_interface(const char *id)
{
    if (strcmp(id, VLY_GEMM_INTERFACE) == 0)
        return &gemm;
    return strcmp(id, VLY_MEMORY_INTERFACE) == 0 ? &vly_accel_cuda_memory
                                                 : NULL;
}

extern const vly_plugin vly_plugin_entry;
VLY_EXPORT const vly_plugin vly_plugin_entry = {
    .struct_size = sizeof(vly_plugin),
    .abi_version = VLY_ABI_VERSION,
    .id = "gemm_cuda",
    .version = VLY_SUPPORT_VERSION,
    .build = VLY_CUDA_BUILD,
    .init = init,
    .deinit = deinit,
    .get_interface = get_interface,
};
