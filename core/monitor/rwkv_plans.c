/* SPDX-License-Identifier: Apache-2.0
 * The plans of a pass: which operations of which interface make up a model for
 * so many sequences and tokens. Products run by volley.rwkv/1 where it takes
 * them, otherwise by volley.gemm/1.
 */
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "monitor/rwkv_parts.h"

/* Beside what a product needs itself, whose sums may stay in fp32 until their
 * function was applied. */
enum { WORKSPACE_MOST = 64 << 20 };

/* Of the recurrence, which on CUDA makes chunks of a prompt at once: two ranges
 * of 1,536 tokens of 40 heads are 189 MB. */
enum { RECURRENCE_MOST = 256 << 20 };

/* On a device, more rows than these multiply the second matrices of the gates
 * by volley.gemm/1. */
enum { LORA_ROWS = 16 };

/* ---- one plan ----------------------------------------------------------- */

/* Members common to all descriptions of a pass. */
static vly_rwkv_desc describe(const vly_rwkv_context *context,
                              const rwkv_pass *pass, uint32_t op)
{
    const vly_rwkv_model *model = context->model;
    const vly_rwkv_sizes *sizes = &model->info.sizes;
    return (vly_rwkv_desc){
        .struct_size = sizeof(vly_rwkv_desc),
        .op = op,
        .flags = pass->flags,
        .type = model->type,
        .type_wkv = VLY_ELEMENT_F32,
        .type_matrix = model->type_base,
        .batch = context->n,
        .seq = pass->seq,
        .width = sizes->width,
        .n_mix = 1,
        .vocabulary = sizes->vocabulary,
        .rank = {sizes->rank_w, sizes->rank_a, sizes->rank_v, sizes->rank_g},
        .eps = RWKV_EPS,
        .align = RWKV_PLAN_ALIGN,
        .workspace_most = WORKSPACE_MOST};
}

static void need_workspace(vly_rwkv_context *context, uint64_t bytes)
{
    if (bytes > context->workspace_bytes)
        context->workspace_bytes = bytes;
}

static vly_status make(vly_rwkv_context *context, const vly_rwkv_desc *desc,
                       vly_rwkv_plan **plan, vly_error *error)
{
    const vly_rwkv *table = &context->model->parts.rwkv;
    vly_plan_info info = {.struct_size = sizeof info};
    vly_status status = VLY_OK;
    VLY_TRY(
        table->plan_create(&context->model->parts.device, desc, plan, error));
    VLY_TRY(table->plan_info(*plan, &info, error));
    need_workspace(context, info.workspace_bytes);
    if (desc->op == VLY_RWKV_PRODUCTS)
        snprintf(context->how, sizeof context->how, "products: %.200s",
                 info.choice);
out:
    return status;
}

/* ---- products ----------------------------------------------------------- */

static void add_product(const vly_rwkv_model *model, rwkv_linear *linear,
                        vly_rwkv_tensor id, uint32_t activation, bool adds)
{
    /* layer 1 where there is one: layer 0 has no v1 and v2 */
    uint64_t rows = 0;
    uint64_t columns = 0;
    const uint32_t layer =
        vly_rwkv_is_of_layers(id) && model->info.sizes.layers > 1 ? 1 : 0;
    rwkv_shape(&model->info.sizes, id, &rows, &columns);
    linear->product[linear->n++] = (vly_rwkv_product){
        .n = (uint32_t)rows,
        .k = (uint32_t)columns,
        .type = rwkv_slot_of(model, id, layer)->type,
        .type_y = adds || id == VLY_RWKV_HEAD ? VLY_ELEMENT_F32 : model->type,
        .activation = activation,
        .flags = adds ? VLY_RWKV_PRODUCT_ADD : 0};
}

static vly_status make_gemm(vly_rwkv_context *context, uint64_t rows,
                            const vly_rwkv_product *p, vly_gemm_plan **plan,
                            vly_error *error)
{
    const vly_rwkv_model *model = context->model;
    const bool is_weight_only =
        p->type == VLY_ELEMENT_I8 || p->type == VLY_ELEMENT_I4;
    vly_plan_info info = {.struct_size = sizeof info};
    const vly_gemm_desc desc = {
        .struct_size = sizeof desc,
        .flags = VLY_GEMM_TRANS_B,
        .type_a = model->type,
        .type_b = p->type,
        .type_d = is_weight_only ? model->type : p->type_y,
        .scale_b = p->type == VLY_ELEMENT_I8   ? VLY_SCALE_ROW
                   : p->type == VLY_ELEMENT_I4 ? VLY_SCALE_GROUP
                                               : VLY_SCALE_NONE,
        .activation = p->activation == VLY_RWKV_RELU2 ? VLY_GEMM_RELU2
                                                      : VLY_GEMM_IDENTITY,
        .m = rows,
        .n = p->n,
        .k = p->k,
        .lda = p->k,
        .ldb = p->k,
        .ldc = p->n,
        .ldd = p->n,
        .batch = 1,
        .workspace_most = WORKSPACE_MOST + rows * p->n * sizeof(float),
        .align = RWKV_PLAN_ALIGN};
    vly_status status = VLY_OK;
    if (model->gemm.gemm.struct_size == 0) {
        if (error)
            *error = model->no_gemm;
        return model->no_gemm.status;
    }
    VLY_TRY(
        model->gemm.gemm.plan_create(&model->gemm.device, &desc, plan, error));
    VLY_TRY(model->gemm.gemm.plan_info(*plan, &info, error));
    need_workspace(context, info.workspace_bytes);
    snprintf(context->how, sizeof context->how, "gemm: %.200s", info.choice);
out:
    return status;
}

/* n_rows: those of x and y, which for the head are not those of the pass. */
static vly_status make_linear(vly_rwkv_context *context, const rwkv_pass *pass,
                              rwkv_linear *linear, bool is_last,
                              vly_error *error)
{
    const vly_rwkv *table = &context->model->parts.rwkv;
    vly_rwkv_desc desc = describe(context, pass, VLY_RWKV_PRODUCTS);
    vly_status status = VLY_OK;
    if (is_last) { /* one row a sequence */
        desc.seq = 1;
        desc.flags = 0;
    }
    desc.n_products = linear->n;
    for (uint32_t i = 0; i < linear->n; i++)
        desc.product[i] = linear->product[i];
    status = table->supports(&desc, error);
    if (status == VLY_OK)
        return make(context, &desc, &linear->fused, error);
    if (status != VLY_E_UNSUPPORTED)
        return status;
    status = VLY_OK;
    for (uint32_t i = 0; i < linear->n; i++)
        VLY_TRY(make_gemm(context, (uint64_t)desc.batch * desc.seq,
                          &linear->product[i], &linear->gemm[i], error));
    /* in: w1 and g1 have their functions afterwards */
    if (linear->product[0].flags & VLY_RWKV_PRODUCT_ADD) {
        linear->adds_after = linear->product[0].type == VLY_ELEMENT_I8 ||
                             linear->product[0].type == VLY_ELEMENT_I4;
        desc = describe(context, pass, VLY_RWKV_ADD);
    } else {
        desc = describe(context, pass, VLY_RWKV_ACTIVATE);
    }
    if (linear->adds_after || linear == &pass->in[0] || linear == &pass->in[1])
        status = make(context, &desc, &linear->after, error);
out:
    return status;
}

static vly_status make_products(vly_rwkv_context *context, rwkv_pass *pass,
                                vly_error *error)
{
    const vly_rwkv_model *model = context->model;
    const bool is_last = !(context->flags & VLY_RWKV_ALL_LOGITS);
    const uint32_t kinds = model->info.sizes.layers > 1 ? 2 : 1;
    vly_status status = VLY_OK;
    for (uint32_t i = 0; i < kinds; i++) {
        rwkv_linear *in = &pass->in[i];
        rwkv_linear *second = &pass->second[i];
        add_product(model, in, VLY_RWKV_RECEPTANCE, VLY_RWKV_IDENTITY, false);
        add_product(model, in, VLY_RWKV_KEY, VLY_RWKV_IDENTITY, false);
        add_product(model, in, VLY_RWKV_VALUE, VLY_RWKV_IDENTITY, false);
        add_product(model, in, VLY_RWKV_W1, VLY_RWKV_TANH, false);
        add_product(model, in, VLY_RWKV_A1, VLY_RWKV_IDENTITY, false);
        add_product(model, in, VLY_RWKV_G1, VLY_RWKV_SIGMOID, false);
        add_product(model, second, VLY_RWKV_W2, VLY_RWKV_IDENTITY, false);
        add_product(model, second, VLY_RWKV_A2, VLY_RWKV_IDENTITY, false);
        add_product(model, second, VLY_RWKV_G2, VLY_RWKV_IDENTITY, false);
        if (i > 0) {
            add_product(model, in, VLY_RWKV_V1, VLY_RWKV_IDENTITY, false);
            add_product(model, second, VLY_RWKV_V2, VLY_RWKV_IDENTITY, false);
        }
        VLY_TRY(make_linear(context, pass, in, false, error));
        if (!pass->is_lora)
            VLY_TRY(make_linear(context, pass, second, false, error));
    }
    add_product(model, &pass->output, VLY_RWKV_OUTPUT, VLY_RWKV_IDENTITY, true);
    add_product(model, &pass->key, VLY_RWKV_FFN_KEY, VLY_RWKV_RELU2, false);
    add_product(model, &pass->value, VLY_RWKV_FFN_VALUE, VLY_RWKV_IDENTITY,
                true);
    add_product(model, &pass->head, VLY_RWKV_HEAD, VLY_RWKV_IDENTITY, false);
    VLY_TRY(make_linear(context, pass, &pass->head, is_last, error));
    VLY_TRY(make_linear(context, pass, &pass->output, false, error));
    VLY_TRY(make_linear(context, pass, &pass->value, false, error));
    VLY_TRY(make_linear(context, pass, &pass->key, false, error));
out:
    return status;
}

/* ---- between the products -------------------------------------------------
 */

static vly_status make_recurrence(vly_rwkv_context *context, rwkv_pass *pass,
                                  vly_error *error)
{
    const vly_rwkv_model *model = context->model;
    const vly_wkv_desc wkv = {
        .struct_size = sizeof wkv,
        .flags = pass->flags & VLY_RWKV_LENGTHS ? VLY_WKV_LENGTHS : 0,
        .type = VLY_ELEMENT_F32,
        .batch = context->n,
        .seq = pass->seq,
        .heads = model->info.sizes.heads,
        .dim = VLY_RWKV_DIM,
        .align = RWKV_PLAN_ALIGN,
        .workspace_most = RECURRENCE_MOST};
    vly_rwkv_desc desc = describe(context, pass, VLY_RWKV_FINISH);
    vly_plan_info info = {.struct_size = sizeof info};
    vly_status status = VLY_OK;
    desc.eps = RWKV_GROUP_EPS;
    VLY_TRY(make(context, &desc, &pass->finish, error));
    VLY_TRY(model->parts.wkv.plan_create(&model->parts.device, &wkv, &pass->wkv,
                                         error));
    VLY_TRY(model->parts.wkv.plan_info(pass->wkv, &info, error));
    need_workspace(context, info.workspace_bytes);
out:
    return status;
}

/* STEP with the second products if offered, otherwise PREPARE, the recurrence
 * and FINISH. */
static vly_status make_heads(vly_rwkv_context *context, rwkv_pass *pass,
                             vly_error *error)
{
    const uint32_t kinds = context->model->info.sizes.layers > 1 ? 2 : 1;
    vly_rwkv_desc desc = describe(context, pass, VLY_RWKV_STEP);
    vly_status status = VLY_OK;
    desc.eps = RWKV_GROUP_EPS;
    desc.flags |= VLY_RWKV_LORA | VLY_RWKV_FIRST;
    pass->is_lora =
        rwkv_is_host(context->model) || pass->rows <= (uint32_t)LORA_ROWS;
    pass->is_step = 0;
    if (pass->seq == 1 && pass->is_lora) {
        status = context->model->parts.rwkv.supports(&desc, error);
        if (status != VLY_OK && status != VLY_E_UNSUPPORTED)
            return status;
        pass->is_step = status == VLY_OK;
        status = VLY_OK;
    }
    desc.op = pass->is_step ? VLY_RWKV_STEP : VLY_RWKV_PREPARE;
    for (uint32_t i = 0; i < kinds; i++) {
        desc.flags = pass->flags | (pass->is_lora ? VLY_RWKV_LORA : 0) |
                     (i == 0 ? VLY_RWKV_FIRST : 0);
        VLY_TRY(make(context, &desc, &pass->heads[i], error));
    }
    if (!pass->is_step)
        VLY_TRY(make_recurrence(context, pass, error));
out:
    return status;
}

vly_status rwkv_pass_init(vly_rwkv_context *context, rwkv_pass *pass,
                          vly_error *error)
{
    vly_rwkv_desc desc = describe(context, pass, VLY_RWKV_EMBED);
    vly_status status = VLY_OK;
    desc.flags |= VLY_RWKV_WITH_NORM;
    VLY_TRY(make(context, &desc, &pass->embed, error));
    desc = describe(context, pass, VLY_RWKV_MIX);
    VLY_TRY(make(context, &desc, &pass->mix_channel, error));
    desc.n_mix = 6;
    VLY_TRY(make(context, &desc, &pass->mix_time, error));
    desc = describe(context, pass, VLY_RWKV_NORM);
    if (!(context->flags & VLY_RWKV_ALL_LOGITS))
        desc.flags |= VLY_RWKV_LAST;
    VLY_TRY(make(context, &desc, &pass->norm, error));
    VLY_TRY(make_heads(context, pass, error));
    VLY_TRY(make_products(context, pass, error));
out:
    return status;
}

/* ---- the end of them ------------------------------------------------------
 */

static void free_linear(const vly_rwkv_model *model, rwkv_linear *linear)
{
    model->parts.rwkv.plan_destroy(linear->fused);
    model->parts.rwkv.plan_destroy(linear->after);
    for (uint32_t i = 0; i < linear->n; i++)
        if (linear->gemm[i])
            model->gemm.gemm.plan_destroy(linear->gemm[i]);
}

void rwkv_pass_deinit(const vly_rwkv_model *model, rwkv_pass *pass)
{
    vly_rwkv_plan *const plans[] = {
        pass->embed,    pass->mix_time, pass->mix_channel, pass->heads[0],
        pass->heads[1], pass->finish,   pass->norm};
    if (pass->chain)
        model->parts.rwkv.chain_destroy(pass->chain);
    if (pass->graph)
        model->parts.memory.graph_destroy(model->parts.device.index,
                                          pass->graph);
    for (size_t i = 0; i < sizeof plans / sizeof plans[0]; i++)
        model->parts.rwkv.plan_destroy(plans[i]);
    model->parts.wkv.plan_destroy(pass->wkv);
    for (uint32_t i = 0; i < 2; i++) {
        free_linear(model, &pass->in[i]);
        free_linear(model, &pass->second[i]);
    }
    free_linear(model, &pass->output);
    free_linear(model, &pass->key);
    free_linear(model, &pass->value);
    free_linear(model, &pass->head);
    memset(pass, 0, sizeof *pass);
}
