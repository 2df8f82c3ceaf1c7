/* SPDX-License-Identifier: Apache-2.0
 * Attention in double by its definition, in plain loops: the reference of the
 * others. A unit is one query, or one key of the gradients.
 *
 * Scores are computed again in every pass instead of being kept, so there is no
 * limit on lengths. The gradients are those of the inputs as they are stored: O
 * and lse are recomputed in double; those of the run are not read.
 */
#include <math.h>

#include "attention_cpu.h"
#include "attention_view.h"
#include "element.h"

enum { DIM_MOST = 256 };

typedef struct reference_work {
    const vly_attention_plan *plan;
    const vly_attention_run *run;
    /* of every query, where its lse is; backward only */
    double *lse;
    double *delta; /* sum of grad_o * O */
} reference_work;

/* One query of one sequence, or one key, with the data for a walk along the
 * other side. */
typedef struct place {
    vly_attention_view view;
    uint32_t head;
    uint32_t head_kv;
    uint32_t i;
    double scale;   /* of scores */
    double scale_v; /* of values */
} place;

static void read_row(uint32_t type, const void *from, uint64_t at, uint32_t n,
                     double *to)
{
    vly_element_to_f64(type, from, at, to, n);
}

static void read_kv(const reference_work *work, const place *p, bool is_v,
                    uint32_t j, double *to)
{
    const vly_attention_desc *desc = &work->plan->desc;
    const vly_attention_layout *layout = is_v ? &desc->v : &desc->k;
    uint64_t at = vly_attention_kv_at(&p->view, is_v ? p->view.v : p->view.k,
                                      layout, p->head_kv, j);
    read_row(desc->type, is_v ? work->run->v : work->run->k, at,
             is_v ? desc->dim_v : desc->dim, to);
}

static uint64_t q_at(const vly_attention_desc *desc, const place *p, uint32_t i)
{
    return p->view.q + p->head * desc->q.head + i * desc->q.seq;
}

static uint64_t o_at(const vly_attention_desc *desc, const place *p, uint32_t i)
{
    return p->view.o + p->head * desc->o.head + i * desc->o.seq;
}

static double dot(const double *a, const double *b, uint32_t n)
{
    double sum = 0.0;
    for (uint32_t i = 0; i < n; i++)
        sum += a[i] * b[i];
    return sum;
}

static void set_scales(const reference_work *work, place *p)
{
    const vly_attention_run *run = work->run;
    const vly_attention_desc *desc = &work->plan->desc;
    const uint64_t at = (uint64_t)p->view.batch * desc->heads_kv + p->head_kv;
    p->scale = work->plan->scale;
    p->scale_v = 1.0;
    if (desc->type != VLY_ELEMENT_E4M3)
        return;
    p->scale *= (double)((const float *)run->scale_q)[at] *
                (double)((const float *)run->scale_k)[at];
    p->scale_v = ((const float *)run->scale_v)[at];
}

/* ---- one query --------------------------------------------------------- */

/* O of query p->i into o[dim_v]; log sum exp of its scores is returned. */
static double query_forward(const reference_work *work, const place *p,
                            const double *q, double *o)
{
    const vly_attention_desc *desc = &work->plan->desc;
    double row[DIM_MOST];
    uint32_t from = 0;
    uint32_t to = 0;
    double most = -INFINITY;
    double sum = 0.0;
    vly_attention_visible(desc, &p->view, p->i, &from, &to);
    for (uint32_t j = from; j < to; j++) {
        read_kv(work, p, false, j, row);
        double s = dot(q, row, desc->dim) * p->scale;
        most = s > most ? s : most;
    }
    if (most == -INFINITY)
        most = 0.0; /* no key is visible: every weight below is exp(-inf) */
    for (uint32_t c = 0; c < desc->dim_v; c++)
        o[c] = 0.0;
    for (uint32_t j = from; j < to; j++) {
        read_kv(work, p, false, j, row);
        double weight = exp(dot(q, row, desc->dim) * p->scale - most);
        sum += weight;
        read_kv(work, p, true, j, row);
        for (uint32_t c = 0; c < desc->dim_v; c++)
            o[c] += weight * row[c];
    }
    for (uint32_t c = 0; c < desc->dim_v; c++)
        o[c] = sum == 0.0 ? 0.0 : o[c] / sum * p->scale_v;
    return sum == 0.0 ? -INFINITY : most + log(sum);
}

/* Unit = (batch * heads_q + head) * seq_q + i. 0: the query does not exist. */
static bool find_query(const reference_work *work, uint64_t unit, place *p)
{
    const vly_attention_desc *desc = &work->plan->desc;
    const uint64_t row = unit / desc->seq_q;
    p->i = (uint32_t)(unit % desc->seq_q);
    p->head = (uint32_t)(row % desc->heads_q);
    p->head_kv = p->head / (desc->heads_q / desc->heads_kv);
    vly_attention_view_make(desc, work->run, (uint32_t)(row / desc->heads_q),
                            &p->view);
    set_scales(work, p);
    return p->i < p->view.n_q;
}

static void forward_unit(void *arg, uint64_t unit, uint32_t thread)
{
    const reference_work *work = arg;
    const vly_attention_desc *desc = &work->plan->desc;
    double q[DIM_MOST];
    double o[DIM_MOST];
    place p;
    (void)thread;
    if (!find_query(work, unit, &p))
        return;
    read_row(desc->type, work->run->q, q_at(desc, &p, p.i), desc->dim, q);
    double lse = query_forward(work, &p, q, o);
    if (desc->type_o == VLY_ELEMENT_E4M3)
        for (uint32_t c = 0; c < desc->dim_v; c++)
            o[c] *= (double)((const float *)work->run->scale_o)[0];
    vly_element_from_f64(desc->type_o, o, work->run->o, o_at(desc, &p, p.i),
                         desc->dim_v);
    if (desc->flags & VLY_ATTENTION_LSE)
        ((float *)work->run->lse)[p.view.lse + p.head * p.view.lse_head + p.i] =
            (float)lse;
}

/* ---- gradients --------------------------------------------------------- */

static void query_backward(void *arg, uint64_t unit, uint32_t thread)
{
    const reference_work *work = arg;
    const vly_attention_desc *desc = &work->plan->desc;
    double q[DIM_MOST], o[DIM_MOST], grad_o[DIM_MOST], row[DIM_MOST];
    double grad[DIM_MOST] = {0};
    uint32_t from = 0;
    uint32_t to = 0;
    place p;
    (void)thread;
    if (!find_query(work, unit, &p))
        return;
    read_row(desc->type, work->run->q, q_at(desc, &p, p.i), desc->dim, q);
    read_row(desc->type_o, work->run->grad_o, o_at(desc, &p, p.i), desc->dim_v,
             grad_o);
    const double lse = query_forward(work, &p, q, o);
    const double delta = dot(grad_o, o, desc->dim_v);
    vly_attention_visible(desc, &p.view, p.i, &from, &to);
    for (uint32_t j = from; j < to && lse != -INFINITY; j++) {
        read_kv(work, &p, true, j, row);
        double s = dot(grad_o, row, desc->dim_v) - delta;
        read_kv(work, &p, false, j, row);
        s *= exp(dot(q, row, desc->dim) * p.scale - lse) * p.scale;
        for (uint32_t c = 0; c < desc->dim; c++)
            grad[c] += s * row[c];
    }
    vly_element_from_f64(desc->type_o, grad, work->run->grad_q,
                         q_at(desc, &p, p.i), desc->dim);
    work->lse[unit] = lse;
    work->delta[unit] = delta;
}

/* Adds the share of one query head to the gradients of key p->i. */
static void key_add(const reference_work *work, const place *p, const double *k,
                    const double *v, double *grad_k, double *grad_v)
{
    const vly_attention_desc *desc = &work->plan->desc;
    const uint64_t units =
        ((uint64_t)p->view.batch * desc->heads_q + p->head) * desc->seq_q;
    double q[DIM_MOST], grad_o[DIM_MOST];
    for (uint32_t i = 0; i < p->view.n_q; i++) {
        uint32_t from = 0;
        uint32_t to = 0;
        const double lse = work->lse[units + i];
        vly_attention_visible(desc, &p->view, i, &from, &to);
        if (p->i < from || p->i >= to || lse == -INFINITY)
            continue;
        read_row(desc->type, work->run->q, q_at(desc, p, i), desc->dim, q);
        read_row(desc->type_o, work->run->grad_o, o_at(desc, p, i), desc->dim_v,
                 grad_o);
        double weight = exp(dot(q, k, desc->dim) * p->scale - lse);
        double s = weight * p->scale *
                   (dot(grad_o, v, desc->dim_v) - work->delta[units + i]);
        for (uint32_t c = 0; c < desc->dim; c++)
            grad_k[c] += s * q[c];
        for (uint32_t c = 0; c < desc->dim_v; c++)
            grad_v[c] += weight * grad_o[c];
    }
}

/* Unit = (batch * heads_kv + head) * seq_kv + j. */
static void key_backward(void *arg, uint64_t unit, uint32_t thread)
{
    const reference_work *work = arg;
    const vly_attention_desc *desc = &work->plan->desc;
    const uint32_t group = desc->heads_q / desc->heads_kv;
    const uint64_t row = unit / desc->seq_kv;
    double k[DIM_MOST], v[DIM_MOST];
    double grad_k[DIM_MOST] = {0}, grad_v[DIM_MOST] = {0};
    place p = {.head_kv = (uint32_t)(row % desc->heads_kv),
               .i = (uint32_t)(unit % desc->seq_kv)};
    (void)thread;
    vly_attention_view_make(desc, work->run, (uint32_t)(row / desc->heads_kv),
                            &p.view);
    if (p.i >= p.view.n_kv)
        return;
    set_scales(work, &p);
    read_kv(work, &p, false, p.i, k);
    read_kv(work, &p, true, p.i, v);
    for (uint32_t g = 0; g < group; g++) {
        p.head = p.head_kv * group + g;
        key_add(work, &p, k, v, grad_k, grad_v);
    }
    vly_element_from_f64(
        desc->type_o, grad_k, work->run->grad_k,
        vly_attention_kv_at(&p.view, p.view.k, &desc->k, p.head_kv, p.i),
        desc->dim);
    vly_element_from_f64(
        desc->type_o, grad_v, work->run->grad_v,
        vly_attention_kv_at(&p.view, p.view.v, &desc->v, p.head_kv, p.i),
        desc->dim_v);
}

/* ---- the way ----------------------------------------------------------- */

static uint64_t n_queries(const vly_attention_desc *desc)
{
    return (uint64_t)desc->batch * desc->heads_q * desc->seq_q;
}

static void reference_plan(vly_attention_plan *plan, uint64_t *n_units)
{
    *n_units = n_queries(&plan->desc);
    if (plan->desc.flags & VLY_ATTENTION_BACKWARD)
        plan->workspace_bytes = *n_units * 2 * sizeof(double);
}

static void reference_forward(const vly_attention_plan *plan,
                              const vly_attention_run *run)
{
    reference_work work = {.plan = plan, .run = run};
    vly_attention_units(plan->n_threads, n_queries(&plan->desc), forward_unit,
                        &work);
}

static void reference_backward(const vly_attention_plan *plan,
                               const vly_attention_run *run)
{
    const uint64_t n = n_queries(&plan->desc);
    const uint64_t keys =
        (uint64_t)plan->desc.batch * plan->desc.heads_kv * plan->desc.seq_kv;
    reference_work work = {.plan = plan, .run = run, .lse = run->workspace};
    work.delta = n > 0 ? work.lse + n : NULL;
    vly_attention_units(plan->n_threads, n, query_backward, &work);
    vly_attention_units(plan->n_threads, keys, key_backward, &work);
}

const vly_attention_way vly_attention_reference = {
    .name = "reference",
    .plan = reference_plan,
    .forward = reference_forward,
    .backward = reference_backward,
};
