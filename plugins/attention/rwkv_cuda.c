/* SPDX-License-Identifier: Apache-2.0
 * volley.rwkv/1 on CUDA: plans and runs. There is one way to run each
 * operation; but with the option early=0 a kernel fetches its weights while the
 * one before it still runs (kernels/accelerators/rwkv_launch.cuh).
 */
#include <stdio.h>
#include <string.h>

#include <cuda_runtime_api.h>

#include <volley/rwkv.h>

#include "accel_common.h"
#include "accel_cuda.h"
#include "element.h"
#include "rwkv_check.h"
#include "rwkv_cuda.h"

#include "kernels/accelerators/rwkv_kernels.h"

#define WAY "own"

enum { VECTOR_BYTES = 16 };

/* ---- conditions ---------------------------------------------------------- */

static uint32_t align_of(const vly_rwkv_desc *desc)
{
    return desc->align == 0 ? 256 : desc->align;
}

static vly_status products_fit(const vly_rwkv_desc *desc, vly_error *error)
{
    const uint64_t rows = (uint64_t)desc->batch * desc->seq;
    if (rows > VLY_CUDA_RWKV_MOST_ROWS)
        return vly_support_fail(
            error, VLY_E_UNSUPPORTED,
            "%s: rwkv products of %llu rows, there are up to "
            "%d",
            vly_support_plugin, (unsigned long long)rows,
            VLY_CUDA_RWKV_MOST_ROWS);
    if (align_of(desc) < VECTOR_BYTES)
        return vly_support_fail(error, VLY_E_UNSUPPORTED,
                                "%s: rwkv products aligned to %u bytes, wanted "
                                "%d",
                                vly_support_plugin, desc->align, VECTOR_BYTES);
    for (uint32_t i = 0; i < desc->n_products; i++) {
        const uint32_t vector =
            8 * VECTOR_BYTES / vly_element_bits(desc->product[i].type);
        if (desc->product[i].k % vector != 0)
            return vly_support_fail(
                error, VLY_E_UNSUPPORTED,
                "%s: rwkv product %u of %u inputs in %s, wanted a multiple of "
                "%u",
                vly_support_plugin, i, desc->product[i].k,
                vly_element_name(desc->product[i].type), vector);
    }
    return VLY_OK;
}

static vly_status heads_fit(const vly_rwkv_desc *desc, vly_error *error)
{
    uint64_t ranks = 0;
    for (uint32_t i = 0; i < 4 && (desc->flags & VLY_RWKV_LORA); i++)
        ranks +=
            i == 2 && (desc->flags & VLY_RWKV_FIRST) != 0 ? 0 : desc->rank[i];
    if (ranks > VLY_CUDA_RWKV_MOST_RANKS)
        return vly_support_fail(
            error, VLY_E_UNSUPPORTED,
            "%s: rwkv %s with ranks of %llu together, there "
            "are up to %d",
            vly_support_plugin, vly_rwkv_op_name(desc->op),
            (unsigned long long)ranks, VLY_CUDA_RWKV_MOST_RANKS);
    if (desc->op == VLY_RWKV_STEP && align_of(desc) < VECTOR_BYTES)
        return vly_support_fail(
            error, VLY_E_UNSUPPORTED,
            "%s: rwkv step with a state aligned to %u bytes, "
            "wanted %d",
            vly_support_plugin, desc->align, VECTOR_BYTES);
    return VLY_OK;
}

/* Blocks are counted in 31 bits. */
static vly_status rows_fit(const vly_rwkv_desc *desc, vly_error *error)
{
    const uint64_t rows = (uint64_t)desc->batch * desc->seq;
    const uint64_t heads = desc->width / VLY_RWKV_DIM;
    if (desc->width > VLY_CUDA_RWKV_MOST_WIDTH)
        return vly_support_fail(error, VLY_E_UNSUPPORTED,
                                "%s: rwkv %s of width %u, there is up to %d",
                                vly_support_plugin, vly_rwkv_op_name(desc->op),
                                desc->width, VLY_CUDA_RWKV_MOST_WIDTH);
    if (rows > INT32_MAX || rows * (heads + 1) > INT32_MAX)
        return vly_support_fail(
            error, VLY_E_UNSUPPORTED,
            "%s: rwkv %s of %llu rows is more than a launch "
            "has blocks",
            vly_support_plugin, vly_rwkv_op_name(desc->op),
            (unsigned long long)rows);
    return VLY_OK;
}

static vly_status supports(const vly_rwkv_desc *desc, vly_error *error)
{
    vly_status status = VLY_OK;
    VLY_TRY(vly_rwkv_check_desc(desc, vly_support_plugin, error));
    if (desc->op == VLY_RWKV_PRODUCTS)
        return products_fit(desc, error);
    VLY_TRY(rows_fit(desc, error));
    if (desc->op == VLY_RWKV_STEP || desc->op == VLY_RWKV_PREPARE)
        VLY_TRY(heads_fit(desc, error));
out:
    return status;
}

/* ---- plans -------------------------------------------------------------- */

static vly_status read_options(const char *text, uint32_t *early,
                               vly_error *error)
{
    vly_accel_options options;
    vly_status status = VLY_OK;
    VLY_TRY(vly_accel_options_parse(text, NULL, &options, error));
    if (options.choose[0] != '\0' && strcmp(options.choose, WAY) != 0)
        return vly_support_fail(error, VLY_E_UNSUPPORTED,
                                "%s: choose=%s, of volley.rwkv/1 there is " WAY,
                                vly_support_plugin, options.choose);
    *early = options.early;
out:
    return status;
}

/* Devices older than 9.0 have no early start: they ignore the option. */
static vly_status can_start_early(uint32_t device, uint32_t *early,
                                  vly_error *error)
{
    struct cudaDeviceProp properties;
    if (!*early)
        return VLY_OK;
    const vly_status status = vly_accel_cuda_check(
        (int)cudaGetDeviceProperties(&properties, (int)device),
        "cudaGetDeviceProperties", error);
    if (status == VLY_OK)
        *early = properties.major >= 9;
    return status;
}

static void plan_destroy(vly_rwkv_plan *plan)
{
    vly_accel_free(plan);
}

static vly_status plan_create(const vly_device_spec *device,
                              const vly_rwkv_desc *desc, vly_rwkv_plan **plan,
                              vly_error *error)
{
    vly_rwkv_plan *made = NULL;
    uint32_t early = 0;
    if (vly_accel_check_device(device, error) != VLY_OK)
        return VLY_E_INVALID;
    vly_status status = VLY_OK;
    VLY_TRY(supports(desc, error));
    VLY_TRY(read_options(device->options, &early, error));
    VLY_TRY(vly_accel_cuda_enter(device->index, error));
    VLY_TRY(can_start_early(device->index, &early, error));
    VLY_TRY(vly_accel_alloc(1, sizeof *made, &made, error));
    made->desc = *desc;
    made->desc.struct_size = (uint32_t)sizeof *desc;
    made->device = device->index;
    made->early = early;
    *plan = made;
out:
    return status;
}

static vly_status plan_info(const vly_rwkv_plan *plan, vly_plan_info *info,
                            vly_error *error)
{
    if (vly_accel_plan_info(info, error) != VLY_OK)
        return VLY_E_INVALID;
    snprintf(info->choice, sizeof info->choice, WAY " %s%s",
             vly_rwkv_op_name(plan->desc.op), plan->early ? ", early" : "");
    return VLY_OK;
}

/* ---- runs --------------------------------------------------------------- */

static const int32_t *length_of(const vly_rwkv_plan *plan,
                                const vly_rwkv_run *run)
{
    return plan->desc.flags & VLY_RWKV_LENGTHS ? run->length : NULL;
}

static vly_cuda_rwkv_products product_arguments(const vly_rwkv_plan *plan,
                                                const vly_rwkv_run *run)
{
    const vly_rwkv_desc *desc = &plan->desc;
    vly_cuda_rwkv_products args = {
        .length = length_of(plan, run),
        .n_products = desc->n_products,
        .seq = desc->seq,
        .rows = desc->batch * desc->seq,
        .type = desc->type,
        .early = plan->early,
    };
    for (uint32_t i = 0; i < desc->n_products; i++)
        args.product[i] = (vly_cuda_rwkv_product){
            .x = run->product_x[i],
            .w = run->product_w[i],
            .scale = run->product_scale[i],
            .y = run->product_y[i],
            .n = desc->product[i].n,
            .k = desc->product[i].k,
            .type_w = desc->product[i].type,
            .type_y = desc->product[i].type_y,
            .activation = desc->product[i].activation,
            .adds = desc->product[i].flags & VLY_RWKV_PRODUCT_ADD,
        };
    return args;
}

static int run_products(const vly_rwkv_plan *plan, const vly_rwkv_run *run)
{
    const vly_cuda_rwkv_products args = product_arguments(plan, run);
    return vly_cuda_rwkv_multiply(&args, run->stream);
}

static vly_cuda_rwkv_rows row_arguments(const vly_rwkv_plan *plan,
                                        const vly_rwkv_run *run)
{
    const vly_rwkv_desc *desc = &plan->desc;
    const bool is_plain =
        desc->op == VLY_RWKV_EMBED && (desc->flags & VLY_RWKV_WITH_NORM) == 0;
    return (vly_cuda_rwkv_rows){
        .token = run->token,
        .table = run->table,
        .x = run->x,
        .norm_weight = is_plain ? NULL : run->norm_weight,
        .norm_bias = run->norm_bias,
        .mix = run->mix,
        .last = run->last,
        .mixed = run->mixed,
        .y = run->y,
        .length = length_of(plan, run),
        .batch = desc->batch,
        .seq = desc->seq,
        .width = desc->width,
        .n_mix = desc->n_mix,
        .vocabulary = desc->vocabulary,
        .type = desc->type,
        .type_matrix = desc->type_matrix,
        .only_last = (desc->flags & VLY_RWKV_LAST) != 0,
        .early = plan->early,
        .eps = desc->eps,
    };
}

static int run_rows(const vly_rwkv_plan *plan, const vly_rwkv_run *run)
{
    const vly_cuda_rwkv_rows args = row_arguments(plan, run);
    if (plan->desc.op == VLY_RWKV_EMBED)
        return vly_cuda_rwkv_embed(&args, run->stream);
    if (plan->desc.op == VLY_RWKV_MIX)
        return vly_cuda_rwkv_mix(&args, run->stream);
    if (plan->desc.op == VLY_RWKV_NORM)
        return vly_cuda_rwkv_norm(&args, run->stream);
    return vly_cuda_rwkv_add(&args, run->stream);
}

static int run_activate(const vly_rwkv_plan *plan, const vly_rwkv_run *run)
{
    const vly_cuda_rwkv_activate args = {
        .w = run->lora_w,
        .g = run->lora_g,
        .length = length_of(plan, run),
        .batch = plan->desc.batch,
        .seq = plan->desc.seq,
        .rank_w = plan->desc.rank[0],
        .rank_g = plan->desc.rank[3],
        .type = plan->desc.type,
        .early = plan->early,
    };
    return vly_cuda_rwkv_activations(&args, run->stream);
}

/* Can a lane read 16 bytes of the matrices at a time? */
static uint32_t is_whole(const vly_rwkv_desc *desc)
{
    const uint32_t vector =
        8 * VECTOR_BYTES / vly_element_bits(desc->type_matrix);
    uint32_t whole = align_of(desc) >= VECTOR_BYTES;
    for (uint32_t i = 0; i < 4; i++)
        whole = whole && desc->rank[i] % vector == 0;
    return whole;
}

static vly_cuda_rwkv_heads head_arguments(const vly_rwkv_plan *plan,
                                          const vly_rwkv_run *run)
{
    const vly_rwkv_desc *desc = &plan->desc;
    const uint32_t is_lora = (desc->flags & VLY_RWKV_LORA) != 0;
    return (vly_cuda_rwkv_heads){
        .r = run->r,
        .k = run->k,
        .v = run->v,
        .lora = {run->lora_w, run->lora_a, run->lora_v, run->lora_g},
        .matrix = {run->matrix_w, run->matrix_a, run->matrix_v, run->matrix_g},
        .bias = {run->bias_w, run->bias_a, run->bias_v},
        .k_k = run->k_k,
        .k_a = run->k_a,
        .v_first = run->v_first,
        .wkv_r = run->wkv_r,
        .wkv_w = run->wkv_w,
        .wkv_k = run->wkv_k,
        .wkv_v = run->wkv_v,
        .wkv_a = run->wkv_a,
        .wkv_b = run->wkv_b,
        .wkv_y = run->wkv_y,
        .g = run->g,
        .r_k = run->r_k,
        .group_weight = run->group_weight,
        .group_bias = run->group_bias,
        .state_in = run->state_in,
        .state_out = run->state_out,
        .y = run->y,
        .length = length_of(plan, run),
        .batch = desc->batch,
        .seq = desc->seq,
        .width = desc->width,
        .rank = {desc->rank[0], desc->rank[1], desc->rank[2], desc->rank[3]},
        .type = desc->type,
        .type_wkv = desc->type_wkv,
        .type_matrix = is_lora ? desc->type_matrix : 0,
        .is_lora = is_lora,
        .is_first = (desc->flags & VLY_RWKV_FIRST) != 0,
        .whole = is_lora ? is_whole(desc) : 0,
        .early = plan->early,
        .eps = desc->eps,
    };
}

static int run_heads(const vly_rwkv_plan *plan, const vly_rwkv_run *run)
{
    const vly_cuda_rwkv_heads args = head_arguments(plan, run);
    if (plan->desc.op == VLY_RWKV_STEP)
        return vly_cuda_rwkv_step(&args, run->stream);
    if (plan->desc.op == VLY_RWKV_FINISH)
        return vly_cuda_rwkv_finish(&args, run->stream);
    return vly_cuda_rwkv_prepare(&args, run->stream);
}

static vly_status run_plan(vly_rwkv_plan *plan, const vly_rwkv_run *run,
                           vly_error *error)
{
    static int (*const runs[VLY_RWKV_N_OPS])(const vly_rwkv_plan *,
                                             const vly_rwkv_run *) = {
        [VLY_RWKV_EMBED] = run_rows,        [VLY_RWKV_MIX] = run_rows,
        [VLY_RWKV_PRODUCTS] = run_products, [VLY_RWKV_ACTIVATE] = run_activate,
        [VLY_RWKV_PREPARE] = run_heads,     [VLY_RWKV_FINISH] = run_heads,
        [VLY_RWKV_STEP] = run_heads,        [VLY_RWKV_ADD] = run_rows,
        [VLY_RWKV_NORM] = run_rows,
    };
    vly_status status = VLY_OK;
    VLY_TRY(vly_rwkv_check_run(&plan->desc, run, vly_support_plugin, error));
    VLY_TRY(vly_accel_cuda_enter(plan->device, error));
    status = vly_accel_cuda_check(runs[plan->desc.op](plan, run),
                                  vly_rwkv_op_name(plan->desc.op), error);
out:
    return status;
}

extern const vly_rwkv vly_rwkv_cuda_table;
const vly_rwkv vly_rwkv_cuda_table = {
    .struct_size = sizeof(vly_rwkv),
    .supports = supports,
    .plan_create = plan_create,
    .plan_destroy = plan_destroy,
    .plan_info = plan_info,
    .run = run_plan,
    .chain_create = vly_rwkv_cuda_chain_create,
    .chain_destroy = vly_rwkv_cuda_chain_destroy,
    .chain_run = vly_rwkv_cuda_chain_run,
};
