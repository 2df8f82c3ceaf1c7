/* SPDX-License-Identifier: Apache-2.0
 * Shared by the graphs of forward and backward: the caller's tensors, and the
 * masks.
 *
 * The order of the operations is that of cudnn-frontend's composite attention
 * (attn_score_modifiers.h): cuDNN recognises patterns, not meanings.
 */
#include "cudnn_attention.h"

#include <math.h>
#include <string.h>

int32_t vly_cudnn_type(uint32_t element)
{
    switch (element) {
    case VLY_ELEMENT_F16:
        return VLY_CUDNN_TYPE_F16;
    case VLY_ELEMENT_BF16:
        return VLY_CUDNN_TYPE_BF16;
    case VLY_ELEMENT_E4M3:
        return VLY_CUDNN_TYPE_E4M3;
    default:
        return VLY_CUDNN_TYPE_F32;
    }
}

vly_cudnn_tensor vly_cudnn_view(int64_t id, int32_t type,
                                const vly_attention_desc *desc, uint32_t heads,
                                uint32_t seq, uint32_t dim,
                                const vly_attention_layout *layout)
{
    vly_cudnn_tensor tensor = {
        .dim = {desc->batch, heads, seq, dim},
        .stride = {(int64_t)layout->batch, (int64_t)layout->head,
                   (int64_t)layout->seq, 1},
        .id = id,
        .type = type,
    };
    /* packed: offsets give the starts of sequences; the step only has to be
     * valid for cuDNN */
    if ((desc->flags & VLY_ATTENTION_PACKED) != 0)
        tensor.stride[0] = (int64_t)layout->seq * seq;
    return tensor;
}

vly_cudnn_tensor vly_cudnn_transposed(const vly_cudnn_tensor *tensor)
{
    vly_cudnn_tensor t = *tensor;
    t.dim[2] = tensor->dim[3];
    t.dim[3] = tensor->dim[2];
    t.stride[2] = tensor->stride[3];
    t.stride[3] = tensor->stride[2];
    return t;
}

vly_cudnn_tensor vly_cudnn_rows(int64_t id, const vly_attention_desc *desc)
{
    const int64_t seq = desc->seq_q;
    const int64_t heads = desc->heads_q;
    vly_cudnn_tensor tensor = {
        .dim = {desc->batch, heads, seq, 1},
        .stride = {heads * seq, seq, 1, 1},
        .id = id,
        .type = VLY_CUDNN_TYPE_F32,
    };
    return tensor;
}

static void add_counts(vly_cudnn_graph *graph, vly_cudnn_tensor *tensor,
                       int64_t id, int64_t n)
{
    vly_cudnn_tensor made = {.dim = {n, 1, 1, 1},
                             .stride = {1, 1, 1, 1},
                             .id = id,
                             .type = VLY_CUDNN_TYPE_I32};
    vly_cudnn_tensor_add(graph, &made);
    *tensor = made;
}

static void add_ragged(vly_cudnn_graph *graph, const vly_attention_desc *desc,
                       vly_cudnn_tensor *ragged, int64_t id,
                       vly_cudnn_tensor *of)
{
    vly_cudnn_tensor made = {.dim = {(int64_t)desc->batch + 1, 1, 1, 1},
                             .stride = {1, 1, 1, 1},
                             .id = id,
                             .type = VLY_CUDNN_TYPE_I64};
    vly_cudnn_tensor_add(graph, &made);
    *ragged = made;
    of->ragged = ragged->desc;
}

void vly_cudnn_add_inputs(vly_cudnn_graph *graph,
                          const vly_attention_desc *desc, vly_cudnn_inputs *in)
{
    const int32_t type = vly_cudnn_type(desc->type);
    const bool packed = (desc->flags & VLY_ATTENTION_PACKED) != 0;
    memset(in, 0, sizeof *in);
    in->has_lengths =
        packed ||
        (desc->flags & (VLY_ATTENTION_LENGTHS | VLY_ATTENTION_PAGED)) != 0;
    in->q = vly_cudnn_view(VLY_CUDNN_Q, type, desc, desc->heads_q, desc->seq_q,
                           desc->dim, &desc->q);
    in->v = vly_cudnn_view(VLY_CUDNN_V, type, desc, desc->heads_kv,
                           desc->seq_kv, desc->dim_v, &desc->v);
    in->o = vly_cudnn_view(VLY_CUDNN_O, vly_cudnn_type(desc->type_o), desc,
                           desc->heads_q, desc->seq_q, desc->dim_v, &desc->o);
    vly_cudnn_tensor k = vly_cudnn_view(VLY_CUDNN_K, type, desc, desc->heads_kv,
                                        desc->seq_kv, desc->dim, &desc->k);
    in->k_t = vly_cudnn_transposed(&k);
    if (packed) {
        add_ragged(graph, desc, &in->ragged_q, VLY_CUDNN_RAGGED_Q, &in->q);
        add_ragged(graph, desc, &in->ragged_k, VLY_CUDNN_RAGGED_K, &in->k_t);
        add_ragged(graph, desc, &in->ragged_v, VLY_CUDNN_RAGGED_V, &in->v);
        add_ragged(graph, desc, &in->ragged_o, VLY_CUDNN_RAGGED_O, &in->o);
    }
    in->v_t = vly_cudnn_transposed(&in->v);
    if (in->has_lengths) {
        add_counts(graph, &in->length_q, VLY_CUDNN_LENGTH_Q, desc->batch);
        add_counts(graph, &in->length_kv, VLY_CUDNN_LENGTH_KV, desc->batch);
    }
    in->scale = vly_cudnn_value_f32(graph, desc->scale == 0.0f
                                               ? 1.0f / sqrtf((float)desc->dim)
                                               : desc->scale);
}

/* ---- masks ------------------------------------------------------------- */

static vly_cudnn_tensor mask_lengths(vly_cudnn_graph *graph,
                                     const vly_cudnn_inputs *in,
                                     const vly_cudnn_tensor *s,
                                     const vly_cudnn_tensor *none)
{
    vly_cudnn_tensor row =
        vly_cudnn_tensor_virtual(graph, s->dim, VLY_CUDNN_TYPE_I32);
    vly_cudnn_tensor column =
        vly_cudnn_tensor_virtual(graph, s->dim, VLY_CUDNN_TYPE_I32);
    vly_cudnn_pointwise(graph, VLY_CUDNN_PW_INDEX, VLY_CUDNN_TYPE_I32, 2, s,
                        NULL, NULL, &row);
    vly_cudnn_pointwise(graph, VLY_CUDNN_PW_INDEX, VLY_CUDNN_TYPE_I32, 3, s,
                        NULL, NULL, &column);
    vly_cudnn_tensor rows = vly_cudnn_map(
        graph, VLY_CUDNN_PW_LT, VLY_CUDNN_TYPE_BOOL, &row, &in->length_q);
    vly_cudnn_tensor columns = vly_cudnn_map(
        graph, VLY_CUDNN_PW_LT, VLY_CUDNN_TYPE_BOOL, &column, &in->length_kv);
    vly_cudnn_tensor both = vly_cudnn_map(graph, VLY_CUDNN_PW_AND,
                                          VLY_CUDNN_TYPE_BOOL, &rows, &columns);
    return vly_cudnn_select(graph, s, none, &both);
}

static vly_cudnn_tensor count_or_value(vly_cudnn_graph *graph,
                                       const vly_cudnn_inputs *in, int of_keys,
                                       uint32_t n)
{
    if (in->has_lengths)
        return of_keys ? in->length_kv : in->length_q;
    return vly_cudnn_value(graph, VLY_CUDNN_TYPE_I32, n);
}

/* Right bound: row + (n_kv - n_q at the end) + shift >= column. */
static vly_cudnn_tensor mask_right(vly_cudnn_graph *graph,
                                   const vly_attention_desc *desc,
                                   const vly_cudnn_inputs *in,
                                   const vly_cudnn_tensor *s,
                                   const vly_cudnn_tensor *none, int32_t shift)
{
    vly_cudnn_tensor row = vly_cudnn_index(graph, s, 2);
    vly_cudnn_tensor column = vly_cudnn_index(graph, s, 3);
    if ((desc->flags & VLY_ATTENTION_CAUSAL_END) != 0) {
        vly_cudnn_tensor n_q = {0};
        vly_cudnn_tensor n_kv = count_or_value(graph, in, 1, desc->seq_kv);
        n_q = count_or_value(graph, in, 0, desc->seq_q);
        row = vly_cudnn_map(graph, VLY_CUDNN_PW_ADD, VLY_CUDNN_TYPE_I32, &row,
                            &n_kv);
        row = vly_cudnn_map(graph, VLY_CUDNN_PW_SUB, VLY_CUDNN_TYPE_I32, &row,
                            &n_q);
    }
    if (shift != 0) {
        vly_cudnn_tensor by =
            vly_cudnn_value(graph, VLY_CUDNN_TYPE_I32, (uint32_t)shift);
        row = vly_cudnn_map(graph, VLY_CUDNN_PW_ADD, VLY_CUDNN_TYPE_I32, &row,
                            &by);
    }
    vly_cudnn_tensor seen = vly_cudnn_map(graph, VLY_CUDNN_PW_GE,
                                          VLY_CUDNN_TYPE_BOOL, &row, &column);
    return vly_cudnn_select(graph, s, none, &seen);
}

/* Left bound: column + window (- n_kv + n_q at the end) > row, where window
 * counts the query's own key. */
static vly_cudnn_tensor mask_left(vly_cudnn_graph *graph,
                                  const vly_attention_desc *desc,
                                  const vly_cudnn_inputs *in,
                                  const vly_cudnn_tensor *s,
                                  const vly_cudnn_tensor *none)
{
    const bool at_end = (desc->flags & VLY_ATTENTION_CAUSAL_END) != 0;
    float window = (float)desc->window_left + 1.0f;
    vly_cudnn_tensor row = vly_cudnn_index(graph, s, 2);
    vly_cudnn_tensor column = vly_cudnn_index(graph, s, 3);
    vly_cudnn_tensor by = {0};
    if (at_end && in->has_lengths) {
        by = vly_cudnn_value(graph, VLY_CUDNN_TYPE_I32,
                             (uint32_t)desc->window_left + 1u);
        column = vly_cudnn_map(graph, VLY_CUDNN_PW_ADD, VLY_CUDNN_TYPE_I32,
                               &column, &by);
        column = vly_cudnn_map(graph, VLY_CUDNN_PW_SUB, VLY_CUDNN_TYPE_I32,
                               &column, &in->length_kv);
        column = vly_cudnn_map(graph, VLY_CUDNN_PW_ADD, VLY_CUDNN_TYPE_I32,
                               &column, &in->length_q);
    } else {
        if (at_end)
            window += (float)desc->seq_q - (float)desc->seq_kv;
        by = vly_cudnn_value_f32(graph, window);
        column = vly_cudnn_map(graph, VLY_CUDNN_PW_ADD, VLY_CUDNN_TYPE_F32,
                               &column, &by);
    }
    vly_cudnn_tensor seen = vly_cudnn_map(graph, VLY_CUDNN_PW_GT,
                                          VLY_CUDNN_TYPE_BOOL, &column, &row);
    return vly_cudnn_select(graph, s, none, &seen);
}

vly_cudnn_tensor vly_cudnn_mask(vly_cudnn_graph *graph,
                                const vly_attention_desc *desc,
                                const vly_cudnn_inputs *in, vly_cudnn_tensor s,
                                bool lengths_too)
{
    const int causal =
        (desc->flags & (VLY_ATTENTION_CAUSAL | VLY_ATTENTION_CAUSAL_END)) != 0;
    vly_cudnn_tensor none = {0};
    if (lengths_too && in->has_lengths) {
        none = vly_cudnn_value_f32(graph, -INFINITY);
        s = mask_lengths(graph, in, &s, &none);
    }
    if (causal || desc->window_right != VLY_ATTENTION_NO_WINDOW) {
        none = vly_cudnn_value_f32(graph, -INFINITY);
        s = mask_right(graph, desc, in, &s, &none,
                       causal ? 0 : desc->window_right);
    }
    if (desc->window_left != VLY_ATTENTION_NO_WINDOW) {
        none = vly_cudnn_value_f32(graph, -INFINITY);
        s = mask_left(graph, desc, in, &s, &none);
    }
    return s;
}
