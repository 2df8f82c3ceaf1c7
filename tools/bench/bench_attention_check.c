/* SPDX-License-Identifier: Apache-2.0
 * Sampled rows of attention against float64. A query needs its own row of
 * scores only; a key needs lse and grad_o * O of all queries of its heads,
 * which are inputs of the backward run.
 */
#include <float.h>
#include <math.h>
#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "base/random.h"
#include "conformance/conformance_element.h"
#include "tools/bench/bench_attention.h"

/* forward; backward a key reads all queries of its heads */
enum { SAMPLES = 16, SAMPLES_BACKWARD = 4, DIM_MOST = 256 };

typedef struct sums {
    double difference;
    double size;
} sums;

typedef struct place {
    const bench_attention_work *work;
    uint32_t batch;
    uint32_t head;
    uint32_t head_kv;
    double scale;
} place;

static uint64_t q_row(const place *p, uint64_t i)
{
    const vly_attention_desc *desc = &p->work->desc;
    return p->batch * desc->q.batch + i * desc->q.seq + p->head * desc->q.head;
}

static uint64_t kv_row(const place *p, uint64_t j)
{
    const vly_attention_desc *desc = &p->work->desc;
    if (!(desc->flags & VLY_ATTENTION_PAGED))
        return p->batch * desc->k.batch + j * desc->k.seq +
               p->head_kv * desc->k.head;
    const int32_t *pages = p->work->tensors[BENCH_PAGES].host;
    const int32_t page =
        pages[(uint64_t)p->batch * desc->pages_most + j / desc->page_size];
    return (uint64_t)page * desc->k.batch + j % desc->page_size * desc->k.seq +
           p->head_kv * desc->k.head;
}

static void read_row(const place *p, uint32_t which, uint64_t at, double *to)
{
    bench_tensor_read(&p->work->tensors[which], at, p->work->desc.dim, to);
}

static double dot(const place *p, const double *a, const double *b)
{
    double sum = 0.0;
    for (uint32_t c = 0; c < p->work->desc.dim; c++)
        sum += a[c] * b[c];
    return sum;
}

static bool sees(const place *p, uint64_t i, uint64_t j)
{
    return !(p->work->desc.flags & VLY_ATTENTION_CAUSAL) || j <= i;
}

static void add(const place *p, uint32_t which, uint64_t at,
                const double *wanted, sums *s)
{
    double found[DIM_MOST];
    read_row(p, which, at, found);
    for (uint32_t c = 0; c < p->work->desc.dim; c++) {
        s->difference += (found[c] - wanted[c]) * (found[c] - wanted[c]);
        s->size += wanted[c] * wanted[c];
    }
}

/* O of query i, its lse returned; weights [seq_kv]. */
static double query_truth(const place *p, uint64_t i, double *weights,
                          double *o)
{
    const uint32_t n = p->work->desc.seq_kv;
    double q[DIM_MOST];
    double row[DIM_MOST];
    double most = -INFINITY;
    double sum = 0.0;
    read_row(p, BENCH_Q, q_row(p, i), q);
    for (uint64_t j = 0; j < n && sees(p, i, j); j++) {
        read_row(p, BENCH_K, kv_row(p, j), row);
        weights[j] = dot(p, q, row) * p->scale;
        most = fmax(most, weights[j]);
    }
    memset(o, 0, DIM_MOST * sizeof *o);
    for (uint64_t j = 0; j < n && sees(p, i, j); j++) {
        weights[j] = exp(weights[j] - most);
        sum += weights[j];
        read_row(p, BENCH_V, kv_row(p, j), row);
        for (uint32_t c = 0; c < p->work->desc.dim; c++)
            o[c] += weights[j] * row[c];
    }
    for (uint32_t c = 0; c < p->work->desc.dim; c++)
        o[c] /= sum;
    return most + log(sum);
}

/* Forward, every row has the same weight. With a mask the results of the first
 * queries are ten times those of the last, so they would dominate a sum over
 * all rows; and they are not rounded at all if a query sees one key. */
static void add_row(const place *p, uint64_t at, const double *wanted, sums *s)
{
    sums row = {0};
    add(p, BENCH_O, at, wanted, &row);
    if (!(row.size > 0.0)) /* in that case any difference is too large */
        row.size = DBL_MIN;
    s->difference += row.difference / row.size;
    s->size += 1.0;
}

static void query_check(const place *p, uint64_t i, bool backward,
                        double *weights, sums *s)
{
    double o[DIM_MOST];
    double grad_o[DIM_MOST];
    double row[DIM_MOST];
    double grad[DIM_MOST] = {0};
    const double lse = query_truth(p, i, weights, o);
    if (!backward) {
        add_row(p, q_row(p, i), o, s);
        return;
    }
    double q[DIM_MOST];
    read_row(p, BENCH_Q, q_row(p, i), q);
    read_row(p, BENCH_GRAD_O, q_row(p, i), grad_o);
    const double delta = dot(p, grad_o, o);
    for (uint64_t j = 0; j < p->work->desc.seq_kv && sees(p, i, j); j++) {
        read_row(p, BENCH_V, kv_row(p, j), row);
        double ds = dot(p, grad_o, row) - delta;
        read_row(p, BENCH_K, kv_row(p, j), row);
        ds *= exp(dot(p, q, row) * p->scale - lse) * p->scale;
        for (uint32_t c = 0; c < p->work->desc.dim; c++)
            grad[c] += ds * row[c];
    }
    add(p, BENCH_GRAD_Q, q_row(p, i), grad, s);
}

static void key_check(place *p, uint64_t j, sums *s)
{
    const vly_attention_desc *desc = &p->work->desc;
    const uint32_t group = desc->heads_q / desc->heads_kv;
    double k[DIM_MOST], v[DIM_MOST], q[DIM_MOST], o[DIM_MOST], grad_o[DIM_MOST];
    double grad_k[DIM_MOST] = {0}, grad_v[DIM_MOST] = {0};
    read_row(p, BENCH_K, kv_row(p, j), k);
    read_row(p, BENCH_V, kv_row(p, j), v);
    for (uint32_t g = 0; g < group; g++) {
        p->head = p->head_kv * group + g;
        for (uint64_t i = 0; i < desc->seq_q; i++) {
            double lse = 0.0;
            if (!sees(p, i, j))
                continue;
            bench_tensor_read(&p->work->tensors[BENCH_LSE],
                              ((uint64_t)p->batch * desc->heads_q + p->head) *
                                      desc->seq_q +
                                  i,
                              1, &lse);
            read_row(p, BENCH_Q, q_row(p, i), q);
            read_row(p, BENCH_O, q_row(p, i), o);
            read_row(p, BENCH_GRAD_O, q_row(p, i), grad_o);
            const double weight = exp(dot(p, q, k) * p->scale - lse);
            const double ds =
                weight * p->scale * (dot(p, grad_o, v) - dot(p, grad_o, o));
            for (uint32_t c = 0; c < desc->dim; c++) {
                grad_k[c] += ds * q[c];
                grad_v[c] += weight * grad_o[c];
            }
        }
    }
    add(p, BENCH_GRAD_K, kv_row(p, j), grad_k, s);
    add(p, BENCH_GRAD_V, kv_row(p, j), grad_v, s);
}

/* An error of a mask or a scale gives a tenth of the largest possible
 * difference. Roundings: type of the inputs in P, type of the result, fp32 in
 * sums of thousands. */
static double limit_of(const vly_attention_desc *desc)
{
    return 4.0 * (conformance_element_roundoff(desc->type) +
                  conformance_element_roundoff(desc->type_o)) +
           2e-5;
}

static vly_status fetch(bench_attention_work *w, bool backward,
                        vly_error *error)
{
    vly_status status = VLY_OK;
    VLY_TRY(bench_tensor_get(&w->tensors[BENCH_O], w->accelerator, error));
    VLY_TRY(bench_tensor_get(&w->tensors[BENCH_LSE], w->accelerator, error));
    for (uint32_t i = BENCH_GRAD_Q; i <= BENCH_GRAD_V && backward; i++)
        VLY_TRY(bench_tensor_get(&w->tensors[i], w->accelerator, error));
out:
    return status;
}

/* First and last, and random rows between. */
static uint64_t pick(uint64_t n, uint32_t sample, uint32_t samples)
{
    return sample == 0             ? n - 1
           : sample == samples - 1 ? 0
                                   : vly_mix64(n + sample) % n;
}

vly_status bench_attention_compare(bench_attention_work *work, bool backward,
                                   double *relative, vly_error *error)
{
    const vly_attention_desc *desc = &work->desc;
    const uint32_t n = backward ? SAMPLES_BACKWARD : SAMPLES;
    double *weights = vly_malloc(desc->seq_kv, sizeof *weights);
    sums s = {0};
    if (!weights)
        return vly_fail_nomem(error, desc->seq_kv * sizeof *weights,
                              "a row of scores");
    vly_status status = fetch(work, backward, error);
    for (uint32_t i = 0; i < n && status == VLY_OK; i++) {
        place p = {.work = work,
                   .batch = (uint32_t)pick(desc->batch, i, n),
                   .head = (uint32_t)pick(desc->heads_q, i, n),
                   .scale = 1.0 / sqrt((double)desc->dim)};
        p.head_kv = p.head / (desc->heads_q / desc->heads_kv);
        query_check(&p, pick(desc->seq_q, i, n), backward, weights, &s);
        if (backward)
            key_check(&p, pick(desc->seq_kv, i, n), &s);
    }
    vly_free(weights);
    if (status != VLY_OK)
        return status;
    *relative = s.size > 0 ? sqrt(s.difference / s.size) : 0.0;
    if (!(*relative <= limit_of(desc)))
        return vly_fail(error, VLY_E_DEVICE,
                        "the result is wrong: relative error %.3g on sampled "
                        "rows, roundings explain %.3g (%.200s)",
                        *relative, limit_of(desc), work->timed->info.choice);
    return VLY_OK;
}
