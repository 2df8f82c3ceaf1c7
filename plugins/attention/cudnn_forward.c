/* SPDX-License-Identifier: Apache-2.0
 * Forward attention as a graph of cuDNN: S = Q K^T, scale, masks, softmax with
 * its statistics, O = P V. The statistics are asked for always: cuDNN offers
 * no engine for a graph without the two operations that make them.
 */
#include "cudnn_attention.h"

#include "accel_common.h"

/* A power of two below the largest e4m3 (448): weights of 2^-14 and more are
 * normal numbers. */
static const float WEIGHT_SCALE = 256.0f;

/* Conditions of cudnn-frontend for fp8 on sm_90 (sdpa_support_surface.h). A
 * graph with separate scales for heads fails: nvrtc refuses its code (9.19). */
static vly_status refuse_fp8(const vly_attention_desc *desc, vly_error *error)
{
    const char *why = NULL;
    if ((desc->flags & VLY_ATTENTION_SAME_SCALES) == 0)
        why = "with one scale for all heads (VLY_ATTENTION_SAME_SCALES)";
    else if (desc->type_o != VLY_ELEMENT_E4M3)
        why = "with results in fp8";
    else if ((desc->flags & (VLY_ATTENTION_LENGTHS | VLY_ATTENTION_PACKED |
                             VLY_ATTENTION_PAGED)) != 0)
        why = "of sequences of one length";
    else if ((desc->flags & VLY_ATTENTION_CAUSAL_END) != 0 ||
             desc->window_left != VLY_ATTENTION_NO_WINDOW ||
             desc->window_right != VLY_ATTENTION_NO_WINDOW)
        why = "without a mask, or causal from the top left";
    else if (desc->dim % 16 != 0 || desc->dim_v % 16 != 0)
        why = "with dimensions that are multiples of 16";
    if (!why)
        return VLY_OK;
    return vly_support_fail(error, VLY_E_UNSUPPORTED, "cudnn: fp8 is wanted %s",
                            why);
}

/* [page][position][head][dim] without gaps: 9.14 reads this layout, whatever
 * the strides are (NaN from the gaps, seen on an H200) */
static bool is_tight(const vly_attention_desc *desc,
                     const vly_attention_layout *layout, uint32_t dim)
{
    const uint64_t row = (uint64_t)desc->heads_kv * dim;
    return layout->head == dim && layout->seq == row &&
           layout->batch == desc->page_size * row;
}

static vly_status refuse(const vly_attention_desc *desc, vly_error *error)
{
    if (desc->type == VLY_ELEMENT_E4M3)
        return refuse_fp8(desc, error);
    if (desc->type != VLY_ELEMENT_F16 && desc->type != VLY_ELEMENT_BF16)
        return vly_support_fail(error, VLY_E_UNSUPPORTED,
                                "cudnn: Q, K and V are neither fp16 nor bf16 "
                                "nor fp8");
    if ((desc->flags & VLY_ATTENTION_PACKED) != 0 &&
        (desc->flags & VLY_ATTENTION_LSE) != 0)
        return vly_support_fail(error, VLY_E_UNSUPPORTED,
                                "cudnn: packed sequences with lse");
    if ((desc->flags & VLY_ATTENTION_PAGED) != 0 &&
        (desc->pages == 0 || (desc->flags & VLY_ATTENTION_LENGTHS) == 0))
        return vly_support_fail(error, VLY_E_UNSUPPORTED,
                                "cudnn: pages without lengths, or with their "
                                "number not given");
    if ((desc->flags & VLY_ATTENTION_PAGED) != 0 &&
        (!is_tight(desc, &desc->k, desc->dim) ||
         !is_tight(desc, &desc->v, desc->dim_v)))
        return vly_support_fail(error, VLY_E_UNSUPPORTED,
                                "cudnn: pages with room between rows, or heads "
                                "in front of positions");
    return VLY_OK;
}

/* K^T and V from their pages, as contiguous virtual tensors. */
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
    if (desc->type == VLY_ELEMENT_E4M3) { /* weights fill the range of e4m3 */
        const vly_cudnn_tensor up = vly_cudnn_value_f32(graph, WEIGHT_SCALE);
        const vly_cudnn_tensor plain = vly_cudnn_map(
            graph, VLY_CUDNN_PW_DIV, VLY_CUDNN_TYPE_F32, &e, &sum);
        vly_cudnn_pointwise(graph, VLY_CUDNN_PW_MUL, VLY_CUDNN_TYPE_F32, -1,
                            &plain, &up, NULL, &p);
        return p;
    }
    vly_cudnn_pointwise(graph, VLY_CUDNN_PW_DIV, VLY_CUDNN_TYPE_F32, -1, &e,
                        &sum, NULL, &p);
    return p;
}

/* ---- scales of fp8, in the order of cudnn-frontend's MatmulFP8Node ------ */

static vly_cudnn_tensor one_number(vly_cudnn_graph *graph, int64_t id)
{
    vly_cudnn_tensor tensor = {.dim = {1, 1, 1, 1},
                               .stride = {1, 1, 1, 1},
                               .id = id,
                               .type = VLY_CUDNN_TYPE_F32};
    vly_cudnn_tensor_add(graph, &tensor);
    return tensor;
}

static vly_cudnn_tensor descale_scores(vly_cudnn_graph *graph,
                                       vly_cudnn_tensor s)
{
    const vly_cudnn_tensor q = one_number(graph, VLY_CUDNN_SCALE_Q);
    const vly_cudnn_tensor k = one_number(graph, VLY_CUDNN_SCALE_K);
    s = vly_cudnn_map(graph, VLY_CUDNN_PW_MUL, VLY_CUDNN_TYPE_F32, &s, &q);
    return vly_cudnn_map(graph, VLY_CUDNN_PW_MUL, VLY_CUDNN_TYPE_F32, &s, &k);
}

/* O = P V, and its largest element, which every engine requires */
static void weigh_fp8(vly_cudnn_graph *graph, const vly_cudnn_tensor *p,
                      const vly_cudnn_inputs *in)
{
    static const vly_cudnn_tensor *const no_lengths[3] = {NULL, NULL, NULL};
    const vly_cudnn_tensor down =
        vly_cudnn_value_f32(graph, 1.0f / WEIGHT_SCALE);
    const vly_cudnn_tensor v = one_number(graph, VLY_CUDNN_SCALE_V);
    const vly_cudnn_tensor out = one_number(graph, VLY_CUDNN_SCALE_O);
    const vly_cudnn_tensor most = one_number(graph, VLY_CUDNN_MOST_O);
    vly_cudnn_tensor o =
        vly_cudnn_tensor_virtual(graph, in->o.dim, VLY_CUDNN_TYPE_F32);
    vly_cudnn_matmul(graph, p, &in->v, &o, no_lengths, false);
    o = vly_cudnn_map(graph, VLY_CUDNN_PW_MUL, VLY_CUDNN_TYPE_F32, &o, &down);
    o = vly_cudnn_map(graph, VLY_CUDNN_PW_MUL, VLY_CUDNN_TYPE_F32, &o, &v);
    vly_cudnn_pointwise(graph, VLY_CUDNN_PW_MUL, VLY_CUDNN_TYPE_F32, -1, &o,
                        &out, NULL, &in->o);
    vly_cudnn_reduce(graph, VLY_CUDNN_REDUCE_AMAX, &o, &most);
}

vly_status vly_cudnn_forward(vly_cudnn_graph *graph,
                             const vly_attention_desc *desc, vly_error *error)
{
    vly_status status = VLY_OK;
    VLY_TRY(refuse(desc, error));
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
    if (desc->type == VLY_ELEMENT_E4M3)
        s = descale_scores(graph, s);
    s = vly_cudnn_mask(graph, desc, &in, s, true);
    vly_cudnn_tensor p = softmax(graph, desc, &s);
    if (desc->type == VLY_ELEMENT_E4M3)
        weigh_fp8(graph, &p, &in);
    else
        vly_cudnn_matmul(graph, &p, &in.v, &in.o, cut_o, false);
out:
    return status;
}
