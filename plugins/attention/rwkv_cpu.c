/* SPDX-License-Identifier: Apache-2.0
 * volley.rwkv/1 of the processor: plans and runs.
 */
#include "rwkv_cpu.h"

#include <stdio.h>
#include <string.h>

#include "accel_common.h"
#include "attention_cpu.h"
#include "cpu_options.h"
#include "element.h"
#include "rwkv_check.h"

static const vly_rwkv_operation *const operations[VLY_RWKV_N_OPS] = {
    [VLY_RWKV_EMBED] = &vly_rwkv_cpu_embed,
    [VLY_RWKV_MIX] = &vly_rwkv_cpu_mix,
    [VLY_RWKV_PRODUCTS] = &vly_rwkv_cpu_products,
    [VLY_RWKV_ACTIVATE] = &vly_rwkv_cpu_activate,
    [VLY_RWKV_PREPARE] = &vly_rwkv_cpu_heads,
    [VLY_RWKV_FINISH] = &vly_rwkv_cpu_heads,
    [VLY_RWKV_STEP] = &vly_rwkv_cpu_heads,
    [VLY_RWKV_ADD] = &vly_rwkv_cpu_add,
    [VLY_RWKV_NORM] = &vly_rwkv_cpu_norm,
};

const void *vly_rwkv_at(uint32_t type, const void *array, uint64_t at)
{
    return (const char *)array + at * (vly_element_bits(type) / 8);
}

void *vly_rwkv_at_out(uint32_t type, void *array, uint64_t at)
{
    return (char *)array + at * (vly_element_bits(type) / 8);
}

void vly_rwkv_chunks(const vly_rwkv_plan *plan, uint64_t times,
                     void (*body)(void *work, uint64_t unit, uint32_t thread),
                     void *work)
{
    const uint64_t chunks =
        ((uint64_t)plan->n_rows + VLY_RWKV_CHUNK - 1) / VLY_RWKV_CHUNK;
    vly_attention_units(plan->n_threads, chunks * times, body, work);
}

/* ---- plans ------------------------------------------------------------- */

static vly_status supports(const vly_rwkv_desc *desc, vly_error *error)
{
    return vly_rwkv_check_desc(desc, vly_support_plugin, error);
}

static void plan_destroy(vly_rwkv_plan *plan)
{
    if (!plan)
        return;
    vly_accel_free(plan->rows);
    vly_accel_free(plan->scratch);
    vly_accel_free(plan->shared);
    vly_accel_free(plan);
}

static vly_status fill_plan(const vly_device_spec *device, vly_rwkv_plan *plan,
                            vly_error *error)
{
    vly_cpu_options options;
    vly_rwkv_needs needs = {0};
    const uint64_t rows = (uint64_t)plan->desc.batch * plan->desc.seq;
    vly_status status = VLY_OK;
    VLY_TRY(vly_cpu_options_read(device, &options, error));
    if (options.common.choose[0] != 0 &&
        strcmp(options.common.choose, "vectors") != 0)
        VLY_TRY(vly_support_fail(error, VLY_E_UNSUPPORTED,
                                 "%s: choose=%s, there is vectors",
                                 vly_support_plugin, options.common.choose));
    if (rows > UINT32_MAX)
        VLY_TRY(vly_support_fail(error, VLY_E_UNSUPPORTED,
                                 "%s: rwkv of %llu rows, wanted at most %u",
                                 vly_support_plugin, (unsigned long long)rows,
                                 UINT32_MAX));
    plan->kernels = options.kernels;
    plan->loops = options.kernels->rwkv;
    operations[plan->desc.op]->needs(&plan->desc, &needs);
    plan->n_threads =
        vly_cpu_threads(options.n_threads, options.n_threads, needs.work);
    /* a cache line of its own for each thread */
    plan->scratch_floats = (needs.thread + 31) / 16 * 16;
    VLY_TRY(vly_accel_alloc(rows, sizeof *plan->rows, &plan->rows, error));
    VLY_TRY(vly_accel_alloc(plan->n_threads,
                            plan->scratch_floats * sizeof *plan->scratch,
                            &plan->scratch, error));
    VLY_TRY(vly_accel_alloc(needs.shared, sizeof *plan->shared, &plan->shared,
                            error));
out:
    return status;
}

static vly_status plan_create(const vly_device_spec *device,
                              const vly_rwkv_desc *desc, vly_rwkv_plan **plan,
                              vly_error *error)
{
    vly_rwkv_plan *made = NULL;
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

static vly_status plan_info(const vly_rwkv_plan *plan, vly_plan_info *info,
                            vly_error *error)
{
    if (vly_accel_plan_info(info, error) != VLY_OK)
        return VLY_E_INVALID;
    snprintf(info->choice, sizeof info->choice, "vectors %s, %u thread%s",
             plan->kernels->isa, plan->n_threads,
             plan->n_threads > 1 ? "s" : "");
    return VLY_OK;
}

/* ---- runs -------------------------------------------------------------- */

static vly_status list_rows(vly_rwkv_plan *plan, const vly_rwkv_run *run,
                            vly_error *error)
{
    const uint32_t seq = plan->desc.seq;
    const int32_t *length = run->length;
    plan->n_rows = 0;
    for (uint32_t b = 0; b < plan->desc.batch; b++) {
        if ((plan->desc.flags & VLY_RWKV_LENGTHS) &&
            (length[b] < 0 || (uint32_t)length[b] > seq))
            return vly_support_fail(error, VLY_E_INVALID,
                                    "%s: length[%u] is %d, wanted 0 to %u",
                                    vly_support_plugin, b, length[b], seq);
        const uint32_t n = vly_rwkv_tokens(plan, run, b);
        const bool is_last = (plan->desc.flags & VLY_RWKV_LAST) != 0;
        for (uint32_t t = is_last && n > 0 ? n - 1 : 0; t < n; t++)
            plan->rows[plan->n_rows++] = b * seq + t;
    }
    return VLY_OK;
}

static vly_status check_tokens(const vly_rwkv_plan *plan,
                               const vly_rwkv_run *run, vly_error *error)
{
    const int32_t *token = run->token;
    if (plan->desc.op != VLY_RWKV_EMBED)
        return VLY_OK;
    for (uint32_t i = 0; i < plan->n_rows; i++) {
        const int32_t id = token[plan->rows[i]];
        if (id < 0 || (uint32_t)id >= plan->desc.vocabulary)
            return vly_support_fail(error, VLY_E_INVALID,
                                    "%s: token[%u] is %d, wanted 0 to %u",
                                    vly_support_plugin, plan->rows[i], id,
                                    plan->desc.vocabulary - 1);
    }
    return VLY_OK;
}

static vly_status run_plan(vly_rwkv_plan *plan, const vly_rwkv_run *run,
                           vly_error *error)
{
    vly_status status = VLY_OK;
    VLY_TRY(vly_rwkv_check_run(&plan->desc, run, vly_support_plugin, error));
    VLY_TRY(vly_cpu_check_stream(run->stream, error));
    VLY_TRY(list_rows(plan, run, error));
    VLY_TRY(check_tokens(plan, run, error));
    operations[plan->desc.op]->run(plan, run);
out:
    return status;
}

extern const vly_rwkv vly_rwkv_cpu_table;
const vly_rwkv vly_rwkv_cpu_table = {
    .struct_size = sizeof(vly_rwkv),
    .supports = supports,
    .plan_create = plan_create,
    .plan_destroy = plan_destroy,
    .plan_info = plan_info,
    .run = run_plan,
};
