/* SPDX-License-Identifier: Apache-2.0
 * Gradients of attention as a graph of cuDNN, in the order of cudnn-frontend's
 * CompositeSDPABackwardNode:
 *
 *   D = rows of sum(dO * O);  P = exp(scale Q K^T - lse);  dV = P^T dO
 *   dS = scale * P * (dO V^T - D);  dK = dS^T Q;  dQ = dS K
 *
 * Without VLY_ATTENTION_DETERMINISTIC dQ is summed in fp32 in the workspace, by
 * atomics; with it cuDNN writes it directly.
 */
#include "cudnn_attention.h"

#include "accel_common.h"

static vly_status refuse(const vly_attention_desc *desc, vly_error *error)
{
    if (desc->type != VLY_ELEMENT_F16 && desc->type != VLY_ELEMENT_BF16)
        return vly_support_fail(error, VLY_E_UNSUPPORTED,
                                "cudnn: gradients are of fp16 and bf16 only");
    if ((desc->flags & (VLY_ATTENTION_PACKED | VLY_ATTENTION_PAGED)) != 0)
        return vly_support_fail(error, VLY_E_UNSUPPORTED,
                                "cudnn: gradients of packed or paged "
                                "sequences");
    if (desc->seq_q == 1 && desc->seq_kv == 1)
        return vly_support_fail(error, VLY_E_UNSUPPORTED,
                                "cudnn: gradients of one query and one key");
    return VLY_OK;
}

/* D, in the workspace */
static vly_cudnn_tensor row_sums(vly_cudnn_graph *graph,
                                 const vly_attention_desc *desc,
                                 const vly_cudnn_tensor *o,
                                 const vly_cudnn_tensor *grad_o)
{
    const int64_t rows[4] = {desc->batch, desc->heads_q, desc->seq_q, 1};
    vly_cudnn_tensor one = vly_cudnn_value_f32(graph, 1.0f);
    vly_cudnn_tensor product =
        vly_cudnn_map(graph, VLY_CUDNN_PW_MUL, VLY_CUDNN_TYPE_F32, grad_o, o);
    vly_cudnn_tensor sum =
        vly_cudnn_tensor_virtual(graph, rows, VLY_CUDNN_TYPE_F32);
    vly_cudnn_reduce(graph, VLY_CUDNN_REDUCE_ADD, &product, &sum);
    vly_cudnn_tensor kept = vly_cudnn_rows(VLY_CUDNN_ROW_SUM, desc);
    vly_cudnn_tensor_add(graph, &kept);
    vly_cudnn_pointwise(graph, VLY_CUDNN_PW_MUL, VLY_CUDNN_TYPE_F32, -1, &sum,
                        &one, NULL, &kept);
    return kept;
}

/* x^T in the type of the inputs: [b][h][kv][q], a view of [b][h][q][kv] */
static vly_cudnn_tensor turned(vly_cudnn_graph *graph,
                               const vly_attention_desc *desc,
                               const vly_cudnn_tensor *x)
{
    vly_cudnn_tensor t = vly_cudnn_transposed(x);
    t.id = graph->next_virtual++;
    t.type = vly_cudnn_type(desc->type);
    vly_cudnn_tensor_virtual_add(graph, &t);
    vly_cudnn_reshape(graph, x, &t);
    return t;
}

/* grad [b][heads_kv][kv][dim] = x^T rows, summed over the heads of a group */
static void grad_of_keys(vly_cudnn_graph *graph, const vly_attention_desc *desc,
                         const vly_cudnn_tensor *x,
                         const vly_cudnn_tensor *rows,
                         const vly_cudnn_tensor *const lengths[3],
                         vly_cudnn_tensor *grad)
{
    vly_cudnn_tensor x_t = turned(graph, desc, x);
    vly_cudnn_tensor_add(graph, grad);
    if (desc->heads_q == desc->heads_kv) {
        vly_cudnn_matmul(graph, &x_t, rows, grad, lengths, false);
        return;
    }
    const int64_t all[4] = {desc->batch, desc->heads_q, grad->dim[2],
                            grad->dim[3]};
    /* parts of heads of 16 bits: with a virtual tensor of fp32 here, cuDNN 9.14
     * gave wrong gradients of keys (H200, 16 cases of the table) */
    vly_cudnn_tensor heads =
        vly_cudnn_tensor_virtual(graph, all, vly_cudnn_type(desc->type));
    vly_cudnn_matmul(graph, &x_t, rows, &heads, lengths, false);
    vly_cudnn_reduce(graph, VLY_CUDNN_REDUCE_ADD, &heads, grad);
}

static void grad_of_queries(vly_cudnn_graph *graph,
                            const vly_attention_desc *desc,
                            const vly_cudnn_tensor *ds,
                            const vly_cudnn_tensor *k_t,
                            const vly_cudnn_tensor *const lengths[3])
{
    const int32_t type = vly_cudnn_type(desc->type);
    vly_cudnn_tensor k = vly_cudnn_transposed(k_t);
    k.id = graph->next_virtual++;
    vly_cudnn_tensor_virtual_add(graph, &k);
    vly_cudnn_reshape(graph, k_t, &k);
    vly_cudnn_tensor grad =
        vly_cudnn_view(VLY_CUDNN_GRAD_Q, type, desc, desc->heads_q, desc->seq_q,
                       desc->dim, &desc->q);
    vly_cudnn_tensor_add(graph, &grad);
    if ((desc->flags & VLY_ATTENTION_DETERMINISTIC) != 0) {
        vly_cudnn_matmul(graph, ds, &k, &grad, lengths, false);
        return;
    }
    const int64_t q = desc->seq_q;
    const int64_t d = desc->dim;
    vly_cudnn_tensor sum = {
        .dim = {desc->batch, desc->heads_q, q, d},
        .stride = {(int64_t)desc->heads_q * q * d, q * d, d, 1},
        .id = VLY_CUDNN_GRAD_Q_SUM,
        .type = VLY_CUDNN_TYPE_F32};
    vly_cudnn_tensor_add(graph, &sum);
    vly_cudnn_matmul(graph, ds, &k, &sum, lengths, false);
    vly_cudnn_pointwise(graph, VLY_CUDNN_PW_IDENTITY, VLY_CUDNN_TYPE_F32, -1,
                        &sum, NULL, NULL, &grad);
}

vly_status vly_cudnn_backward(vly_cudnn_graph *graph,
                              const vly_attention_desc *desc, vly_error *error)
{
    vly_status status = VLY_OK;
    VLY_TRY(refuse(desc, error));
    const int32_t type = vly_cudnn_type(desc->type);
    vly_cudnn_inputs in;
    vly_cudnn_add_inputs(graph, desc, &in);
    vly_cudnn_tensor grad_o =
        vly_cudnn_view(VLY_CUDNN_GRAD_O, type, desc, desc->heads_q, desc->seq_q,
                       desc->dim_v, &desc->o);
    vly_cudnn_tensor grad_k =
        vly_cudnn_view(VLY_CUDNN_GRAD_K, type, desc, desc->heads_kv,
                       desc->seq_kv, desc->dim, &desc->k);
    vly_cudnn_tensor grad_v =
        vly_cudnn_view(VLY_CUDNN_GRAD_V, type, desc, desc->heads_kv,
                       desc->seq_kv, desc->dim_v, &desc->v);
    vly_cudnn_tensor stats = vly_cudnn_rows(VLY_CUDNN_STATS, desc);
    vly_cudnn_tensor *given[] = {&in.q, &in.k_t, &in.v_t,
                                 &in.o, &grad_o, &stats};
    for (size_t i = 0; i < sizeof given / sizeof given[0]; i++)
        vly_cudnn_tensor_add(graph, given[i]);
    const vly_cudnn_tensor *n_q = in.has_lengths ? &in.length_q : NULL;
    const vly_cudnn_tensor *n_kv = in.has_lengths ? &in.length_kv : NULL;
    const vly_cudnn_tensor *cut_s[3] = {n_q, n_kv, NULL};
    const vly_cudnn_tensor *cut_kv[3] = {n_kv, NULL, n_q};
    const vly_cudnn_tensor *cut_q[3] = {n_q, NULL, n_kv};
    const int64_t scores[4] = {desc->batch, desc->heads_q, desc->seq_q,
                               desc->seq_kv};

    vly_cudnn_tensor sums = row_sums(graph, desc, &in.o, &grad_o);
    vly_cudnn_tensor s =
        vly_cudnn_tensor_virtual(graph, scores, VLY_CUDNN_TYPE_F32);
    vly_cudnn_matmul(graph, &in.q, &in.k_t, &s, cut_s, false);
    s = vly_cudnn_map(graph, VLY_CUDNN_PW_MUL, VLY_CUDNN_TYPE_F32, &s,
                      &in.scale);
    /* lengths before the statistics, bands after them, as cudnn-frontend */
    vly_attention_desc no_bands = *desc;
    no_bands.flags &=
        ~(uint32_t)(VLY_ATTENTION_CAUSAL | VLY_ATTENTION_CAUSAL_END);
    no_bands.window_left = no_bands.window_right = VLY_ATTENTION_NO_WINDOW;
    s = vly_cudnn_mask(graph, &no_bands, &in, s, true);
    s = vly_cudnn_map(graph, VLY_CUDNN_PW_SUB, VLY_CUDNN_TYPE_F32, &s, &stats);
    s = vly_cudnn_mask(graph, desc, &in, s, false);
    vly_cudnn_tensor p =
        vly_cudnn_map(graph, VLY_CUDNN_PW_EXP, VLY_CUDNN_TYPE_F32, &s, NULL);
    grad_of_keys(graph, desc, &p, &grad_o, cut_kv, &grad_v);

    vly_cudnn_tensor ds =
        vly_cudnn_tensor_virtual(graph, scores, VLY_CUDNN_TYPE_F32);
    vly_cudnn_matmul(graph, &grad_o, &in.v_t, &ds, cut_s, false);
    ds = vly_cudnn_map(graph, VLY_CUDNN_PW_SUB, VLY_CUDNN_TYPE_F32, &ds, &sums);
    ds = vly_cudnn_map(graph, VLY_CUDNN_PW_MUL, VLY_CUDNN_TYPE_F32, &ds, &p);
    vly_cudnn_tensor scaled =
        vly_cudnn_tensor_virtual(graph, scores, VLY_CUDNN_TYPE_F32);
    vly_cudnn_pointwise(graph, VLY_CUDNN_PW_MUL, VLY_CUDNN_TYPE_F32, -1, &ds,
                        &in.scale, NULL, &scaled);
    grad_of_keys(graph, desc, &scaled, &in.q, cut_kv, &grad_k);
    grad_of_queries(graph, desc, &scaled, &in.k_t, cut_q);
out:
    return status;
}
