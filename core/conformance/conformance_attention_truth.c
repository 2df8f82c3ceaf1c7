/* SPDX-License-Identifier: Apache-2.0
 * Attention in double with full score matrices, and error bounds of a correct
 * result.
 *
 * The bounds, to first order. u is the roundoff of the inputs' type (P and dS
 * may be rounded to it before they are multiplied), u_o that of the result, w
 * that of one step of a sum; n, d, e are the numbers of keys, of dim, of dim_v.
 *
 *   S:   |dS_ij| <= (d + 4) w scale sum |q k|                        =: s_ij
 *   P = exp(S - max) / sum: relative error s_ij, plus the largest s of the row
 *        and the roundings of exp and of the sum; then rounded to u:
 *        p_ij = P_ij (s_ij + max_j s_ij + (n + 8) w + u) + least
 *   O:   |dO_ic| <= sum_j p_ij |v_jc| + (n + 4) w sum_j P_ij |v_jc| + u_o |O|
 *   lse: max_j s_ij + (n + 8) w + 2^-24 |lse|
 *   gradients, from O and lse rounded to their types, with D = sum grad_o O:
 *        r_ij = P_ij (s_ij + 2^-23 |lse_i| + 8 w)       (not yet rounded to u)
 *        |d dP_ij| <= (e + 4) w sum |grad_o v|,
 *        |dD_i| <= sum |grad_o| (u_o |O| + least) + (e + 4) w sum |grad_o O|
 *        t_ij = scale (r_ij |dP_ij - D_i| + P_ij (|d dP_ij| + |dD_i|)) +
 *               (u + 4 w) |dS_ij| + least
 *        grad_Q: sum_j t_ij |k_j| + (n + 4) w sum_j |dS_ij k_j| + u_o |grad_Q|
 *        grad_K, grad_V likewise, over all queries of all heads of the group;
 *        where heads share keys, the part of each head may be rounded to the
 *        result's type before the parts are added: u_o more of every summand
 *
 * w is 2^-24 for fp32; 2^-23 for fp16 and bf16, as tensor cores cut off; 2^-13
 * for fp8, whose sums they keep in 14 bits.
 */
#include <math.h>

#include "base/error.h"
#include "base/memory.h"
#include "conformance/conformance_attention.h"
#include "conformance/conformance_element.h"

/* One sequence and query head; matrices are [n_q][n_kv]. */
typedef struct head_work {
    attention_data *data;
    uint32_t batch;
    uint32_t head;
    uint32_t head_kv;
    uint32_t n_q;
    uint32_t n_kv;
    double scale;
    double scale_v;
    double w;     /* one step of a sum */
    double u;     /* inputs */
    double u_out; /* results */
    double least; /* half the smallest number of the inputs' type */
    double least_out;
    double u_part; /* of a head's part of a gradient that heads share */
    double *s;     /* scores, then P */
    double *s_err; /* their bounds, then those of P without u */
    double *grad;  /* dS */
    double *grad_err;
} head_work;

bool attention_sees(const attention_data *data, uint32_t batch, uint32_t i,
                    uint32_t j)
{
    const vly_attention_desc *desc = &data->desc;
    const int64_t shift =
        desc->flags & VLY_ATTENTION_CAUSAL_END
            ? (int64_t)data->length_kv[batch] - (int64_t)data->length_q[batch]
            : 0;
    const int64_t ahead = (int64_t)j - ((int64_t)i + shift);
    if (i >= data->length_q[batch] || j >= data->length_kv[batch])
        return false;
    if (desc->flags & (VLY_ATTENTION_CAUSAL | VLY_ATTENTION_CAUSAL_END) &&
        ahead > 0)
        return false;
    if (desc->window_left >= 0 && -ahead > desc->window_left)
        return false;
    return desc->window_right < 0 || ahead <= desc->window_right;
}

static double *row_of(const head_work *work, uint32_t which, uint32_t position)
{
    const attention_values *values = &work->data->values[which];
    return values->value +
           attention_index(values, work->batch,
                           values->is_kv ? work->head_kv : work->head,
                           position);
}

static double *bound_of(const head_work *work, uint32_t which,
                        uint32_t position)
{
    const attention_values *values = &work->data->values[which];
    return values->bound + (row_of(work, which, position) - values->value);
}

static double dot(const double *a, const double *b, uint32_t n, double *sizes)
{
    double sum = 0.0;
    *sizes = 0.0;
    for (uint32_t c = 0; c < n; c++) {
        sum += a[c] * b[c];
        *sizes += fabs(a[c] * b[c]);
    }
    return sum;
}

/* ---- forward ------------------------------------------------------------- */

/* P of row i in place of its scores; lse and its bound. */
static void weights_row(head_work *work, uint32_t i)
{
    const uint32_t dim = work->data->desc.dim;
    double *s = work->s + (uint64_t)i * work->n_kv;
    double *err = work->s_err + (uint64_t)i * work->n_kv;
    double most = -INFINITY;
    double err_most = 0.0;
    double sum = 0.0;
    for (uint32_t j = 0; j < work->n_kv; j++) {
        s[j] = -INFINITY;
        err[j] = 0.0;
        if (!attention_sees(work->data, work->batch, i, j))
            continue;
        s[j] = work->scale * dot(row_of(work, ATTENTION_Q, i),
                                 row_of(work, ATTENTION_K, j), dim, &err[j]);
        err[j] *= fabs(work->scale) * (dim + 4) * work->w;
        most = s[j] > most ? s[j] : most;
        if (s[j] != (double)-INFINITY)
            err_most = err[j] > err_most ? err[j] : err_most;
    }
    const double from = most == (double)-INFINITY ? 0.0 : most;
    for (uint32_t j = 0; j < work->n_kv; j++) {
        s[j] = exp(s[j] - from);
        sum += s[j];
    }
    const double steps = (work->n_kv + 8) * work->w;
    for (uint32_t j = 0; j < work->n_kv; j++) {
        s[j] = sum == 0.0 ? 0.0 : s[j] / sum;
        err[j] = s[j] == 0.0 ? 0.0 : s[j] * (err[j] + err_most + steps);
    }
    const double lse = sum == 0.0 ? (double)-INFINITY : from + log(sum);
    *row_of(work, ATTENTION_LSE, i) = lse;
    *bound_of(work, ATTENTION_LSE, i) =
        err_most + steps + 0x1p-24 * fabs(isfinite(lse) ? lse : 0.0);
}

static void forward_row(head_work *work, uint32_t i)
{
    const uint32_t dim_v = work->data->desc.dim_v;
    const double *p = work->s + (uint64_t)i * work->n_kv;
    const double *err = work->s_err + (uint64_t)i * work->n_kv;
    double *o = row_of(work, ATTENTION_O, i);
    double *bound = bound_of(work, ATTENTION_O, i);
    weights_row(work, i);
    for (uint32_t c = 0; c < dim_v; c++) {
        double sum = 0.0;
        double room = 0.0;
        for (uint32_t j = 0; j < work->n_kv; j++) {
            if (!attention_sees(work->data, work->batch, i, j))
                continue; /* nothing, rather than 0 times the value */
            const double v = row_of(work, ATTENTION_V, j)[c];
            sum += p[j] * v;
            room += (err[j] + work->u * p[j] + work->least +
                     (work->n_kv + 4) * work->w * p[j]) *
                    fabs(v);
        }
        o[c] = sum * work->scale_v;
        bound[c] = room * fabs(work->scale_v) + work->u_out * fabs(o[c]) +
                   work->least_out;
    }
}

/* ---- backward ------------------------------------------------------------ */

static double rounded_away(const head_work *work, double x)
{
    return work->u_out * fabs(x) + work->least_out;
}

/* dS of row i and its bound; its part of grad_v. */
static void scores_backward(head_work *work, uint32_t i)
{
    const uint32_t dim_v = work->data->desc.dim_v;
    const double *p = work->s + (uint64_t)i * work->n_kv;
    const double *p_err = work->s_err + (uint64_t)i * work->n_kv;
    double *ds = work->grad + (uint64_t)i * work->n_kv;
    double *ds_err = work->grad_err + (uint64_t)i * work->n_kv;
    const double *o = row_of(work, ATTENTION_O, i);
    const double *grad_o = row_of(work, ATTENTION_GRAD_O, i);
    const double lse = *row_of(work, ATTENTION_LSE, i);
    double sizes = 0.0;
    const double delta = dot(grad_o, o, dim_v, &sizes);
    double delta_err = (dim_v + 4) * work->w * sizes;
    for (uint32_t c = 0; c < dim_v; c++)
        delta_err += fabs(grad_o[c]) * rounded_away(work, o[c]);
    for (uint32_t j = 0; j < work->n_kv; j++) {
        ds[j] = ds_err[j] = 0.0;
        if (!attention_sees(work->data, work->batch, i, j))
            continue;
        const double dp =
            dot(grad_o, row_of(work, ATTENTION_V, j), dim_v, &sizes);
        const double r = p_err[j] + p[j] * (0x1p-23 * fabs(lse) + 8 * work->w);
        ds[j] = work->scale * p[j] * (dp - delta);
        ds_err[j] = fabs(work->scale) *
                        (r * fabs(dp - delta) +
                         p[j] * ((dim_v + 4) * work->w * sizes + delta_err)) +
                    (work->u + 4 * work->w) * fabs(ds[j]) + work->least;
        double *grad_v = row_of(work, ATTENTION_GRAD_V, j);
        double *bound_v = bound_of(work, ATTENTION_GRAD_V, j);
        const double n = (double)work->n_q * work->data->desc.heads_q /
                         work->data->desc.heads_kv;
        for (uint32_t c = 0; c < dim_v; c++) {
            grad_v[c] += p[j] * grad_o[c];
            bound_v[c] += (r + (work->u + work->u_part) * p[j] + work->least +
                           (n + 4) * work->w * p[j]) *
                          fabs(grad_o[c]);
        }
    }
}

static void inputs_backward(head_work *work, uint32_t i)
{
    const uint32_t dim = work->data->desc.dim;
    const double *ds = work->grad + (uint64_t)i * work->n_kv;
    const double *ds_err = work->grad_err + (uint64_t)i * work->n_kv;
    const double n = (double)work->n_q * work->data->desc.heads_q /
                     work->data->desc.heads_kv;
    double *grad_q = row_of(work, ATTENTION_GRAD_Q, i);
    double *bound_q = bound_of(work, ATTENTION_GRAD_Q, i);
    const double *q = row_of(work, ATTENTION_Q, i);
    for (uint32_t j = 0; j < work->n_kv; j++) {
        if (!attention_sees(work->data, work->batch, i, j))
            continue;
        const double *k = row_of(work, ATTENTION_K, j);
        double *grad_k = row_of(work, ATTENTION_GRAD_K, j);
        double *bound_k = bound_of(work, ATTENTION_GRAD_K, j);
        for (uint32_t c = 0; c < dim; c++) {
            grad_q[c] += ds[j] * k[c];
            grad_k[c] += ds[j] * q[c];
            bound_q[c] +=
                (ds_err[j] + (work->n_kv + 4) * work->w * fabs(ds[j])) *
                fabs(k[c]);
            bound_k[c] +=
                (ds_err[j] + ((n + 4) * work->w + work->u_part) * fabs(ds[j])) *
                fabs(q[c]);
        }
    }
}

/* Rounding of the finished gradients. */
static void round_gradients(attention_data *data, const head_work *work)
{
    for (uint32_t which = ATTENTION_GRAD_Q; which <= ATTENTION_GRAD_V; which++)
        for (uint64_t i = 0; i < data->values[which].n; i++)
            data->values[which].bound[i] +=
                rounded_away(work, data->values[which].value[i]);
}

/* ---- all of it ----------------------------------------------------------- */

static void head_truth(head_work *work)
{
    const attention_data *data = work->data;
    const vly_attention_desc *desc = &data->desc;
    work->head_kv = work->head / (desc->heads_q / desc->heads_kv);
    work->n_q = data->length_q[work->batch];
    work->n_kv = data->length_kv[work->batch];
    work->scale = desc->scale != 0.0f ? (double)desc->scale
                                      : 1.0 / sqrt((double)desc->dim);
    work->scale_v = 1.0;
    if (desc->type == VLY_ELEMENT_E4M3) {
        const uint32_t n = desc->batch * desc->heads_kv;
        const uint32_t at = work->batch * desc->heads_kv + work->head_kv;
        work->scale *= (double)data->scales[at] * (double)data->scales[n + at];
        work->scale_v = data->scales[2 * n + at];
        if (desc->type_o == VLY_ELEMENT_E4M3)
            work->scale_v *= (double)data->scale_o;
    }
    for (uint32_t i = 0; i < work->n_q; i++)
        forward_row(work, i);
    for (uint32_t i = 0; i < work->n_q && data->backward; i++) {
        scores_backward(work, i);
        inputs_backward(work, i);
    }
}

vly_status attention_truth(attention_data *data, vly_error *error)
{
    const vly_attention_desc *desc = &data->desc;
    const size_t n = (size_t)desc->seq_q * desc->seq_kv + 1;
    double *memory = vly_malloc(4 * n, sizeof *memory);
    if (!memory)
        return vly_fail_nomem(error, 4 * n * sizeof *memory, "a reference");
    head_work work = {.data = data,
                      .w = desc->type == VLY_ELEMENT_F32    ? 0x1p-24
                           : desc->type == VLY_ELEMENT_E4M3 ? 0x1p-13
                                                            : 0x1p-23,
                      .u = conformance_element_roundoff(desc->type),
                      .u_out = conformance_element_roundoff(desc->type_o),
                      .least = conformance_element_least(desc->type) / 2,
                      .least_out = conformance_element_least(desc->type_o) / 2,
                      .s = memory,
                      .s_err = memory + n,
                      .grad = memory + 2 * n,
                      .grad_err = memory + 3 * n};
    if (desc->heads_q > desc->heads_kv)
        work.u_part = work.u_out;
    for (work.batch = 0; work.batch < desc->batch; work.batch++)
        for (work.head = 0; work.head < desc->heads_q; work.head++)
            head_truth(&work);
    if (data->backward)
        round_gradients(data, &work);
    vly_free(memory);
    return VLY_OK;
}
