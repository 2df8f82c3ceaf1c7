/* SPDX-License-Identifier: Apache-2.0
 * Forward attention as a graph of cuDNN: S = Q K^T, scale, masks, softmax with
 * its statistics, O = P V. The statistics are asked for always: cuDNN offers
 * no engine for a graph without the two operations that make them.
 */
#include "cudnn_attention.h"

#include "accel_common.h"

static vly_status refuse(const vly_attention_desc *desc, vly_error *error)
{
    if (desc->type != VLY_ELEMENT_F16 && desc->type != VLY_ELEMENT_BF16)
        return vly_accel_fail(error, VLY_E_UNSUPPORTED,
                              "cudnn: Q, K and V are neither fp16 nor bf16 "
                              "(its fp8 has one scale for all heads and "
                              "writes fp8 only)");
    if ((desc->flags & VLY_ATTENTION_PACKED) != 0 &&
        (desc->flags & VLY_ATTENTION_LSE) != 0)
        return vly_accel_fail(error, VLY_E_UNSUPPORTED,
                              "cudnn: packed sequences with lse");
    if ((desc->flags & VLY_ATTENTION_PAGED) != 0 &&
        (desc->pages == 0 || (desc->flags & VLY_ATTENTION_LENGTHS) == 0))
        return vly_accel_fail(error, VLY_E_UNSUPPORTED,
                              "cudnn: pages without lengths, or with their "
                              "number not given");
    return VLY_OK;
}

/* K^T and V out of their pages, as virtual tensors that look contiguous. */
static void load_pages(vly_cudnn_graph *graph, const vly_attention_desc *desc,
                       vly_cudnn_inputs *in)
{
    const int64_t rows = desc->seq_kv;
    const int64_t heads = desc->heads_kv;
    const int64_t page = desc->page_size;
    const int64_t pages = (rows + page - 1) / page;
    vly_cudnn_tensor table[2];
    for (int i = 0; i < 2; i++) {
        vly_cudnn_tensor made = {
            .dim = {desc->batch, 1, pages, 1},
            .stride = {desc->pages_most, desc->pages_most, 1, 1},
            .id = i == 0 ? VLY_CUDNN_PAGES_K : VLY_CUDNN_PAGES_V,
            .type = VLY_CUDNN_TYPE_I32};
        vly_cudnn_tensor_add(graph, &made);
        table[i] = made;
    }
    vly_cudnn_tensor k = vly_cudnn_transposed(&in->k_t);
    k.dim[0] = in->v.dim[0] = desc->pages;
    k.dim[2] = in->v.dim[2] = page;
    vly_cudnn_tensor_add(graph, &k);
    vly_cudnn_tensor_add(graph, &in->v);
    vly_cudnn_tensor k_rows = {
        .dim = {desc->batch, heads, desc->dim, rows},
        .stride = {heads * rows * desc->dim, rows * desc->dim, 1, desc->dim},
        .id = graph->next_virtual++,
        .type = in->k_t.type};
    vly_cudnn_tensor v_rows = {.dim = {desc->batch, heads, rows, desc->dim_v},
                               .stride = {heads * rows * desc->dim_v,
                                          rows * desc->dim_v, desc->dim_v, 1},
                               .id = graph->next_virtual++,
                               .type = in->v.type};
    vly_cudnn_tensor_virtual_add(graph, &k_rows);
    vly_cudnn_tensor_virtual_add(graph, &v_rows);
    vly_cudnn_paged(graph, &k, &in->length_kv, &table[0], &k_rows);
    vly_cudnn_paged(graph, &in->v, &in->length_kv, &table[1], &v_rows);
    in->k_t = k_rows;
    in->v = v_rows;
}

/* P, in the type of V, from S; with the rows' statistics */
static vly_cudnn_tensor softmax(vly_cudnn_graph *graph,
                                const vly_attention_desc *desc,
                                const vly_cudnn_tensor *s)
{
    const int64_t rows[4] = {s->dim[0], s->dim[1], s->dim[2], 1};
    vly_cudnn_tensor most =
        vly_cudnn_tensor_virtual(graph, rows, VLY_CUDNN_TYPE_F32);
    vly_cudnn_tensor sum =
        vly_cudnn_tensor_virtual(graph, rows, VLY_CUDNN_TYPE_F32);
    vly_cudnn_reduce(graph, VLY_CUDNN_REDUCE_MAX, s, &most);
    vly_cudnn_tensor below =
        vly_cudnn_map(graph, VLY_CUDNN_PW_SUB, VLY_CUDNN_TYPE_F32, s, &most);
    vly_cudnn_tensor e = vly_cudnn_map(graph, VLY_CUDNN_PW_EXP,
                                       VLY_CUDNN_TYPE_F32, &below, NULL);
    vly_cudnn_reduce(graph, VLY_CUDNN_REDUCE_ADD, &e, &sum);
    vly_cudnn_tensor log =
        vly_cudnn_map(graph, VLY_CUDNN_PW_LOG, VLY_CUDNN_TYPE_F32, &sum, NULL);
    vly_cudnn_tensor stats = vly_cudnn_rows(VLY_CUDNN_STATS, desc);
    if ((desc->flags & VLY_ATTENTION_LSE) != 0)
        vly_cudnn_tensor_add(graph, &stats);
    else
        stats = vly_cudnn_tensor_virtual(graph, rows, VLY_CUDNN_TYPE_F32);
    vly_cudnn_pointwise(graph, VLY_CUDNN_PW_ADD, VLY_CUDNN_TYPE_F32, -1, &most,
                        &log, NULL, &stats);
    vly_cudnn_tensor p =
        vly_cudnn_tensor_virtual(graph, s->dim, vly_cudnn_type(desc->type));
    vly_cudnn_pointwise(graph, VLY_CUDNN_PW_DIV, VLY_CUDNN_TYPE_F32, -1, &e,
                        &sum, NULL, &p);
    return p;
}

vly_status vly_cudnn_forward(vly_cudnn_graph *graph,
                             const vly_attention_desc *desc, vly_error *error)
{
    vly_status status = refuse(desc, error);
    if (status != VLY_OK)
        return status;
    vly_cudnn_inputs in;
    vly_cudnn_add_inputs(graph, desc, &in);
    vly_cudnn_tensor_add(graph, &in.q);
    vly_cudnn_tensor_add(graph, &in.o);
    if ((desc->flags & VLY_ATTENTION_PAGED) != 0) {
        load_pages(graph, desc, &in);
    } else {
        vly_cudnn_tensor_add(graph, &in.k_t);
        vly_cudnn_tensor_add(graph, &in.v);
    }
    const vly_cudnn_tensor *n_q = in.has_lengths ? &in.length_q : NULL;
    const vly_cudnn_tensor *n_kv = in.has_lengths ? &in.length_kv : NULL;
    const vly_cudnn_tensor *cut_s[3] = {n_q, n_kv, NULL};
    const vly_cudnn_tensor *cut_o[3] = {n_q, NULL, n_kv};
    const int64_t scores[4] = {desc->batch, desc->heads_q, desc->seq_q,
                               desc->seq_kv};
    vly_cudnn_tensor s =
        vly_cudnn_tensor_virtual(graph, scores, VLY_CUDNN_TYPE_F32);
    vly_cudnn_matmul(graph, &in.q, &in.k_t, &s, cut_s, in.has_lengths);
    s = vly_cudnn_map(graph, VLY_CUDNN_PW_MUL, VLY_CUDNN_TYPE_F32, &s,
                      &in.scale);
    s = vly_cudnn_mask(graph, desc, &in, s, 1);
    vly_cudnn_tensor p = softmax(graph, desc, &s);
    vly_cudnn_matmul(graph, &p, &in.v, &in.o, cut_o, 0);
    return VLY_OK;
}
