/* SPDX-License-Identifier: Apache-2.0
 * A pass through a model, put into a stream: the equations of volley/rwkv.h
 * with a layer's weights. A single step of one sequence is a chain, where the
 * plugin makes them; if not, the second one becomes a graph, where the device
 * has them: the first one has shown that everything can run.
 */
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "monitor/rwkv_parts.h"

/* ---- one operation -------------------------------------------------------
 */

/* What every run has. */
static vly_rwkv_run begin(const vly_rwkv_context *context)
{
    return (vly_rwkv_run){.struct_size = sizeof(vly_rwkv_run),
                          .x = context->at.x,
                          .y = context->at.y,
                          .length = context->at.length,
                          .workspace = context->at.workspace,
                          .workspace_bytes = context->workspace_bytes,
                          .stream = context->stream};
}

static vly_status run(const vly_rwkv_context *context, vly_rwkv_plan *plan,
                      const vly_rwkv_run *what, vly_error *error)
{
    rwkv_record *record = context->record;
    if (!record)
        return context->model->parts.rwkv.run(plan, what, error);
    if (record->n == record->most)
        return vly_fail(error, VLY_E_UNSUPPORTED,
                        "a pass of more than %u operations", record->most);
    record->plans[record->n] = plan;
    record->runs[record->n++] = *what;
    return VLY_OK;
}

static const void *weight(const vly_rwkv_context *context, vly_rwkv_tensor id,
                          uint32_t layer)
{
    return rwkv_at(context->model, id, layer);
}

/* ---- products ------------------------------------------------------------ */

/* What the products of a linear are made of, in its order. */
typedef struct rwkv_operands {
    vly_rwkv_tensor id[RWKV_MOST_LINEAR];
    const void *x[RWKV_MOST_LINEAR];
    void *y[RWKV_MOST_LINEAR];
} rwkv_operands;

static const void *scales_of(const vly_rwkv_context *context,
                             vly_rwkv_tensor id, uint32_t layer)
{
    const rwkv_slot *slot = rwkv_slot_of(context->model, id, layer);
    if (slot->type != VLY_ELEMENT_I8 && slot->type != VLY_ELEMENT_I4)
        return NULL;
    return context->model->arena + slot->scale;
}

static vly_status run_fused(const vly_rwkv_context *context,
                            const rwkv_linear *linear, uint32_t layer,
                            const rwkv_operands *of, vly_error *error)
{
    vly_rwkv_run what = begin(context);
    for (uint32_t i = 0; i < linear->n; i++) {
        what.product_x[i] = of->x[i];
        what.product_w[i] = weight(context, of->id[i], layer);
        what.product_scale[i] = scales_of(context, of->id[i], layer);
        what.product_y[i] = of->y[i];
    }
    return run(context, linear->fused, &what, error);
}

static vly_status run_gemm(const vly_rwkv_context *context,
                           const rwkv_linear *linear, uint32_t i,
                           uint32_t layer, const rwkv_operands *of,
                           vly_error *error)
{
    const bool adds = (linear->product[i].flags & VLY_RWKV_PRODUCT_ADD) != 0;
    void *y = linear->adds_after ? context->at.apart : of->y[i];
    const vly_gemm_run what = {.struct_size = sizeof what,
                               .alpha = 1.0f,
                               .beta =
                                   adds && !linear->adds_after ? 1.0f : 0.0f,
                               .a = of->x[i],
                               .b = weight(context, of->id[i], layer),
                               .c = y,
                               .d = y,
                               .scale_b = scales_of(context, of->id[i], layer),
                               .workspace = context->at.workspace,
                               .workspace_bytes = context->workspace_bytes,
                               .stream = context->stream};
    return context->model->gemm.gemm.run(linear->gemm[i], &what, error);
}

static vly_status run_linear(const vly_rwkv_context *context,
                             const rwkv_linear *linear, uint32_t layer,
                             const rwkv_operands *of, vly_error *error)
{
    vly_rwkv_run what = begin(context);
    vly_status status = VLY_OK;
    if (linear->fused)
        return run_fused(context, linear, layer, of, error);
    for (uint32_t i = 0; i < linear->n; i++)
        VLY_TRY(run_gemm(context, linear, i, layer, of, error));
    if (!linear->after)
        return VLY_OK;
    what.lora_w = context->at.lora[0];
    what.lora_g = context->at.lora[3];
    what.y = context->at.apart;
    status = run(context, linear->after, &what, error);
out:
    return status;
}

/* ---- parts of a layer ---------------------------------------------------- */

static vly_status mix(const vly_rwkv_context *context, vly_rwkv_plan *plan,
                      uint32_t layer, uint32_t part, vly_error *error)
{
    const uint64_t width = context->model->info.sizes.width;
    vly_rwkv_run what = begin(context);
    what.norm_weight = weight(
        context, part == 0 ? VLY_RWKV_LN1_WEIGHT : VLY_RWKV_LN2_WEIGHT, layer);
    what.norm_bias = weight(
        context, part == 0 ? VLY_RWKV_LN1_BIAS : VLY_RWKV_LN2_BIAS, layer);
    what.mix =
        weight(context, part == 0 ? VLY_RWKV_X_R : VLY_RWKV_FFN_X_K, layer);
    what.last = context->last[part] +
                (uint64_t)layer * context->n * width * sizeof(float);
    what.mixed = context->at.mixed;
    return run(context, plan, &what, error);
}

/* One of the six mixed inputs. */
static const void *mixed(const vly_rwkv_context *context, const rwkv_pass *pass,
                         uint32_t i)
{
    return (const char *)context->at.mixed +
           (uint64_t)i * pass->rows * context->model->info.sizes.width *
               (rwkv_bits(context->model->type) / 8);
}

static vly_status first_products(const vly_rwkv_context *context,
                                 const rwkv_pass *pass, uint32_t layer,
                                 vly_error *error)
{
    const rwkv_arrays *at = &context->at;
    const uint32_t kind = layer > 0;
    vly_status status = VLY_OK;
    const rwkv_operands in = {
        .id = {VLY_RWKV_RECEPTANCE, VLY_RWKV_KEY, VLY_RWKV_VALUE, VLY_RWKV_W1,
               VLY_RWKV_A1, VLY_RWKV_G1, VLY_RWKV_V1},
        .x = {mixed(context, pass, 0), mixed(context, pass, 2),
              mixed(context, pass, 3), mixed(context, pass, 1),
              mixed(context, pass, 4), mixed(context, pass, 5),
              mixed(context, pass, 3)},
        .y = {at->r, at->k, at->v, at->lora[0], at->lora[1], at->lora[3],
              at->lora[2]}};
    const rwkv_operands second = {
        .id = {VLY_RWKV_W2, VLY_RWKV_A2, VLY_RWKV_G2, VLY_RWKV_V2},
        .x = {at->lora[0], at->lora[1], at->lora[3], at->lora[2]},
        .y = {at->gate[0], at->gate[1], at->g, at->gate[2]}};
    VLY_TRY(run_linear(context, &pass->in[kind], layer, &in, error));
    if (!pass->is_lora)
        status =
            run_linear(context, &pass->second[kind], layer, &second, error);
out:
    return status;
}

static void set_gates(const vly_rwkv_context *context, const rwkv_pass *pass,
                      uint32_t layer, vly_rwkv_run *what)
{
    const rwkv_arrays *at = &context->at;
    what->lora_w = pass->is_lora ? at->lora[0] : at->gate[0];
    what->lora_a = pass->is_lora ? at->lora[1] : at->gate[1];
    what->lora_v = pass->is_lora ? at->lora[2] : at->gate[2];
    what->lora_g = at->lora[3];
    what->matrix_w = weight(context, VLY_RWKV_W2, layer);
    what->matrix_a = weight(context, VLY_RWKV_A2, layer);
    what->matrix_g = weight(context, VLY_RWKV_G2, layer);
    what->bias_w = weight(context, VLY_RWKV_W0, layer);
    what->bias_a = weight(context, VLY_RWKV_A0, layer);
    if (layer > 0) {
        what->matrix_v = weight(context, VLY_RWKV_V2, layer);
        what->bias_v = weight(context, VLY_RWKV_V0, layer);
    }
    what->k_k = weight(context, VLY_RWKV_K_K, layer);
    what->k_a = weight(context, VLY_RWKV_K_A, layer);
    what->r_k = weight(context, VLY_RWKV_R_K, layer);
    what->group_weight = weight(context, VLY_RWKV_LN_X_WEIGHT, layer);
    what->group_bias = weight(context, VLY_RWKV_LN_X_BIAS, layer);
}

static vly_status recur(const vly_rwkv_context *context, const rwkv_pass *pass,
                        void *state, vly_error *error)
{
    const rwkv_arrays *at = &context->at;
    const vly_wkv_run what = {.struct_size = sizeof what,
                              .r = at->wkv[0],
                              .w = at->wkv[1],
                              .k = at->wkv[2],
                              .v = at->wkv[3],
                              .a = at->wkv[4],
                              .b = at->wkv[5],
                              .y = at->wkv_y,
                              .state_in = state,
                              .state_out = state,
                              .length = at->length,
                              .workspace = at->workspace,
                              .workspace_bytes = context->workspace_bytes,
                              .stream = context->stream};
    return context->model->parts.wkv.run(pass->wkv, &what, error);
}

static vly_status heads(const vly_rwkv_context *context, const rwkv_pass *pass,
                        uint32_t layer, vly_error *error)
{
    const rwkv_arrays *at = &context->at;
    const uint64_t state_bytes = (uint64_t)context->n *
                                 context->model->info.sizes.width *
                                 VLY_RWKV_DIM * sizeof(float);
    vly_rwkv_run what = begin(context);
    vly_status status = VLY_OK;
    what.r = at->r;
    what.k = at->k;
    what.v = at->v;
    what.v_first = at->v_first;
    what.g = at->g;
    what.wkv_r = at->wkv[0];
    what.wkv_w = at->wkv[1];
    what.wkv_k = at->wkv[2];
    what.wkv_v = at->wkv[3];
    what.wkv_a = at->wkv[4];
    what.wkv_b = at->wkv[5];
    what.wkv_y = at->wkv_y;
    what.state_out = context->state + layer * state_bytes;
    what.state_in = what.state_out;
    set_gates(context, pass, layer, &what);
    VLY_TRY(run(context, pass->heads[layer > 0], &what, error));
    if (pass->is_step)
        return VLY_OK;
    VLY_TRY(recur(context, pass, what.state_out, error));
    status = run(context, pass->finish, &what, error);
out:
    return status;
}

static vly_status run_layer(const vly_rwkv_context *context,
                            const rwkv_pass *pass, uint32_t layer,
                            vly_error *error)
{
    const rwkv_arrays *at = &context->at;
    const rwkv_operands output = {
        .id = {VLY_RWKV_OUTPUT}, .x = {at->y}, .y = {at->x}};
    const rwkv_operands key = {
        .id = {VLY_RWKV_FFN_KEY}, .x = {at->mixed}, .y = {at->hidden}};
    const rwkv_operands value = {
        .id = {VLY_RWKV_FFN_VALUE}, .x = {at->hidden}, .y = {at->x}};
    vly_status status = VLY_OK;
    VLY_TRY(mix(context, pass->mix_time, layer, 0, error));
    VLY_TRY(first_products(context, pass, layer, error));
    VLY_TRY(heads(context, pass, layer, error));
    VLY_TRY(run_linear(context, &pass->output, layer, &output, error));
    VLY_TRY(mix(context, pass->mix_channel, layer, 1, error));
    VLY_TRY(run_linear(context, &pass->key, layer, &key, error));
    VLY_TRY(run_linear(context, &pass->value, layer, &value, error));
out:
    return status;
}

/* ---- a pass -------------------------------------------------------------- */

static vly_status run_all(const vly_rwkv_context *context,
                          const rwkv_pass *pass, vly_error *error)
{
    const rwkv_operands head = {.id = {VLY_RWKV_HEAD},
                                .x = {context->at.normed},
                                .y = {context->at.logits}};
    vly_rwkv_run what = begin(context);
    vly_status status = VLY_OK;
    what.token = context->at.token;
    what.table = weight(context, VLY_RWKV_EMB, 0);
    what.norm_weight = weight(context, VLY_RWKV_LN0_WEIGHT, 0);
    what.norm_bias = weight(context, VLY_RWKV_LN0_BIAS, 0);
    VLY_TRY(run(context, pass->embed, &what, error));
    for (uint32_t l = 0; l < context->model->info.sizes.layers; l++)
        VLY_TRY(run_layer(context, pass, l, error));
    what.norm_weight = weight(context, VLY_RWKV_LN_OUT_WEIGHT, 0);
    what.norm_bias = weight(context, VLY_RWKV_LN_OUT_BIAS, 0);
    what.y = context->at.normed;
    VLY_TRY(run(context, pass->norm, &what, error));
    status = run_linear(context, &pass->head, 0, &head, error);
out:
    return status;
}

enum { RUNS_OF_A_LAYER = 7, OTHER_RUNS = 3 };

/* If a plugin cannot make a chain of this pass, that is not an error. */
static vly_status make_chain(vly_rwkv_context *context, rwkv_pass *pass,
                             vly_error *error)
{
    const vly_rwkv *table = &context->model->parts.rwkv;
    rwkv_record record = {
        .most =
            context->model->info.sizes.layers * RUNS_OF_A_LAYER + OTHER_RUNS};
    vly_error why = {.struct_size = sizeof why};
    vly_status status = VLY_OK;
    const rwkv_arrays at = context->at;
    const bool has_own = context->own != NULL;
    record.plans = vly_calloc(record.most, sizeof *record.plans);
    record.runs = vly_calloc(record.most, sizeof *record.runs);
    if (!record.plans || !record.runs) {
        status = vly_fail_nomem(error, record.most * sizeof *record.runs,
                                "a chain of operations");
        goto out;
    }
    VLY_TRY(rwkv_own(context, error));
    *rwkv_own_token(context) = context->host[0];
    context->at.token = rwkv_own_token(context);
    context->at.logits = rwkv_own_logits(context);
    context->record = &record;
    status = run_all(context, pass, error);
    context->record = NULL;
    context->at = at;
    VLY_TRY(status);
    status = table->chain_create(&context->model->parts.device, record.plans,
                                 record.runs, record.n, &pass->chain, &why);
    if (status == VLY_OK)
        snprintf(context->how, sizeof context->how,
                 "chain of %u operations in one launch", record.n);
    else if (status != VLY_E_UNSUPPORTED && error)
        *error = why;
    if (status == VLY_E_UNSUPPORTED) {
        const size_t used = strlen(context->how);
        snprintf(context->how + used, sizeof context->how - used,
                 "; no chain: %.160s", why.message);
        status = VLY_OK;
    }
out:
    if (!has_own && !pass->chain)
        rwkv_own_free(context);
    vly_free(record.plans);
    vly_free(record.runs);
    return status;
}

/* Whether a pass is made of operations of volley.rwkv/1 alone, of one row. */
static bool can_be_chain(const vly_rwkv_context *context, const rwkv_pass *pass)
{
    const vly_rwkv *table = &context->model->parts.rwkv;
    return (context->flags & VLY_RWKV_BESIDE) == 0 && table->chain_create &&
           table->chain_run && table->chain_destroy &&
           context->model->parts.memory.alloc_host &&
           context->model->parts.memory.free_host && pass->rows == 1 &&
           pass->is_step && pass->in[0].fused &&
           (pass->in[1].n == 0 || pass->in[1].fused) && pass->output.fused &&
           pass->key.fused && pass->value.fused && pass->head.fused;
}

/* Recording of the stream is ended, whether all work could be recorded or not.
 */
static vly_status make_graph(vly_rwkv_context *context, rwkv_pass *pass,
                             vly_error *error)
{
    const vly_memory *memory = &context->model->parts.memory;
    const uint32_t device = context->model->parts.device.index;
    vly_graph *graph = NULL;
    vly_status status = VLY_OK;
    VLY_TRY(memory->graph_begin(device, context->stream, error));
    status = run_all(context, pass, error);
    const vly_status end = memory->graph_end(device, context->stream, &graph,
                                             status == VLY_OK ? error : NULL);
    if (status == VLY_OK)
        status = end;
    if (status == VLY_OK)
        pass->graph = graph;
    else if (end == VLY_OK)
        memory->graph_destroy(device, graph);
out:
    return status;
}

vly_status rwkv_pass_run(vly_rwkv_context *context, rwkv_pass *pass,
                         vly_error *error)
{
    const vly_memory *memory = &context->model->parts.memory;
    const bool has_graphs = memory->graph_begin && pass->seq == 1;
    const vly_rwkv *table = &context->model->parts.rwkv;
    vly_status status = VLY_OK;
    if (pass->runs == 0 && can_be_chain(context, pass))
        VLY_TRY(make_chain(context, pass, error));
    pass->runs += pass->runs < 2;
    if (pass->chain)
        return table->chain_run(pass->chain, context->stream, error);
    if (has_graphs && pass->runs == 2 && !pass->graph)
        VLY_TRY(make_graph(context, pass, error));
    if (pass->graph)
        return memory->graph_run(context->model->parts.device.index,
                                 pass->graph, context->stream, error);
    VLY_TRY(run_all(context, pass, error));
out:
    return status;
}
