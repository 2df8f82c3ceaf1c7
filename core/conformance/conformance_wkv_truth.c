/* SPDX-License-Identifier: Apache-2.0
 * Data of a case of volley.wkv/1, and the recurrence in double.
 *
 * The error bound of a correct result. Row i of the state is a vector s; a
 * token makes s' = s M + v_i k with M = diag(d) + a b^T. With w = 2^-22 for
 * every operation (twice the roundoff of fp32, cut off, twice: a form over
 * chunks does the work in two levels), an error e of s becomes at most
 *
 *   |e'| <= m |e| + (|s| (2^-21 c + 4 w) + |s.a| 4 w |b| +
 *           68 w |s| |a| |b| + |v_i| |k| 4 w),      all norms Euclidean,
 *
 * where m is the norm of M (by power iteration, one per cent added) and c the
 * largest exp(w_j) + 1 of a key, as exp(-exp(w)) has the relative error
 * (exp(w) + 1) 2^-22 if both exps have 2^-22. y_i = s.r is off by
 * |e| |r| + 68 w |s| |r| + the roundoff of its type.
 */
#include "conformance/conformance_wkv.h"

#include <math.h>

#include "base/error.h"
#include "base/memory.h"
#include "conformance/conformance_attention.h"
#include "conformance/conformance_element.h"

enum { STATE_STREAM = 100 };

/* ---- data ---------------------------------------------------------------- */

/* As RWKV-7 makes them: a = -kk with |kk| = 1, b = kk * rate in (0, 1), decays
 * from exp(-exp(-0.5)) to near 1. */
static double some_input(const wkv_data *data, uint32_t which, uint64_t i)
{
    const uint64_t row = i / WKV_DIM;
    const uint64_t seed = data->seed;
    if (which == WKV_W) {
        double u = attention_uniform(seed, WKV_W, i);
        return data->entry->strong ? 14.0 * u - 9.0 : 8.0 * u - 8.5;
    }
    if (which != WKV_A && which != WKV_B)
        return attention_random(seed, which, i);
    double length = 0.0;
    for (uint64_t j = 0; j < WKV_DIM; j++) {
        double x = attention_random(seed, WKV_A, row * WKV_DIM + j);
        length += x * x;
    }
    double kk = attention_random(seed, WKV_A, i) / sqrt(length);
    return which == WKV_A ? -kk : kk * attention_uniform(seed, WKV_B, i);
}

static vly_status make_data(wkv_data *data, vly_error *error)
{
    const wkv_case *entry = data->entry;
    const uint64_t sequences = (uint64_t)entry->batch * entry->heads;
    data->n = sequences * entry->seq * WKV_DIM;
    data->n_state = sequences * WKV_SQUARE;
    data->memory = vly_calloc(
        (WKV_N_INPUTS + 2) * data->n + 2 * data->n_state + 1, sizeof(double));
    data->state_in = vly_calloc(data->n_state + 1, sizeof(float));
    if (!data->memory || !data->state_in)
        return vly_fail_nomem(error, data->n, "test data");
    for (uint32_t i = 0; i < WKV_N_INPUTS; i++)
        data->input[i] = data->memory + i * data->n;
    data->y = data->memory + WKV_N_INPUTS * data->n;
    data->y_bound = data->y + data->n;
    data->state = data->y_bound + data->n;
    data->state_bound = data->state + data->n_state;
    for (uint32_t i = 0; i < WKV_N_INPUTS; i++)
        for (uint64_t j = 0; j < data->n; j++)
            data->input[i][j] = conformance_decode(
                data->type,
                conformance_encode(data->type, some_input(data, i, j)));
    for (uint64_t j = 0; j < data->n_state && entry->has_state; j++)
        data->state_in[j] =
            (float)attention_random(data->seed, STATE_STREAM, j);
    for (uint32_t b = 0; b < entry->batch; b++) {
        const uint32_t some[WKV_BATCH_MOST] = {entry->seq, 0, 1,
                                               entry->seq / 2};
        data->length[b] =
            entry->lengths ? some[b % WKV_BATCH_MOST] : entry->seq;
    }
    return VLY_OK;
}

/* ---- the reference ------------------------------------------------------- */

static double norm(const double *x)
{
    double sum = 0.0;
    for (uint32_t j = 0; j < WKV_DIM; j++)
        sum += x[j] * x[j];
    return sqrt(sum);
}

static double dot(const double *x, const double *y)
{
    double sum = 0.0;
    for (uint32_t j = 0; j < WKV_DIM; j++)
        sum += x[j] * y[j];
    return sum;
}

/* x M and then M^T of it, M = diag(d) + a b^T: power iteration. */
static double norm_of_step(const double *d, const double *a, const double *b)
{
    double x[WKV_DIM];
    double y[WKV_DIM];
    double size = 1.0;
    for (uint32_t j = 0; j < WKV_DIM; j++)
        x[j] = 1.0 + 0.01 * j;
    for (uint32_t round = 0; round < 40; round++) {
        const double before = norm(x);
        double along = dot(x, a);
        for (uint32_t j = 0; j < WKV_DIM; j++)
            y[j] = x[j] * d[j] + along * b[j];
        along = dot(y, b);
        for (uint32_t j = 0; j < WKV_DIM; j++)
            x[j] = y[j] * d[j] + along * a[j];
        size = sqrt(norm(x) / before);
        for (uint32_t j = 0; j < WKV_DIM; j++)
            x[j] /= before;
    }
    return 1.01 * size;
}

typedef struct token {
    const double *r, *k, *v, *a, *b;
    double decay[WKV_DIM];
    double step; /* norm of M */
    double decay_error;
} token;

static void find_token(const wkv_data *data, uint64_t at, token *one)
{
    *one = (token){.r = data->input[WKV_R] + at,
                   .k = data->input[WKV_K] + at,
                   .v = data->input[WKV_V] + at,
                   .a = data->input[WKV_A] + at,
                   .b = data->input[WKV_B] + at};
    for (uint32_t j = 0; j < WKV_DIM; j++) {
        const double rate = exp(data->input[WKV_W][at + j]);
        one->decay[j] = exp(-rate);
        one->decay_error =
            fmax(one->decay_error, one->decay[j] * (rate + 1.0) * 0x1p-21);
    }
    one->step = norm_of_step(one->decay, one->a, one->b);
}

/* Row i of the state and y_i after one token. */
static void row_step(const wkv_data *data, const token *one, uint32_t i,
                     uint64_t at, double *s, double *error)
{
    const double w = 0x1p-22;
    const double along = dot(s, one->a);
    const double size = norm(s);
    double y = 0.0;
    *error = one->step * *error + size * (one->decay_error + 4 * w) +
             fabs(along) * 4 * w * norm(one->b) +
             68 * w * size * norm(one->a) * norm(one->b) +
             fabs(one->v[i]) * norm(one->k) * 4 * w;
    for (uint32_t j = 0; j < WKV_DIM; j++) {
        s[j] = s[j] * one->decay[j] + along * one->b[j] + one->v[i] * one->k[j];
        y += s[j] * one->r[j];
    }
    data->y[at + i] = y;
    data->y_bound[at + i] = *error * norm(one->r) +
                            68 * w * norm(s) * norm(one->r) +
                            conformance_element_roundoff(data->type) * fabs(y) +
                            conformance_element_least(data->type) / 2;
}

static void head_truth(const wkv_data *data, uint64_t b, uint64_t h)
{
    const wkv_case *entry = data->entry;
    double *state = data->state + (b * entry->heads + h) * WKV_SQUARE;
    double *bound = data->state_bound + (b * entry->heads + h) * WKV_SQUARE;
    double error[WKV_DIM] = {0};
    for (uint32_t j = 0; j < WKV_SQUARE; j++)
        state[j] = data->state_in[(b * entry->heads + h) * WKV_SQUARE + j];
    for (uint64_t s = 0; s < data->length[b]; s++) {
        const uint64_t at = ((b * entry->seq + s) * entry->heads + h) * WKV_DIM;
        token one;
        find_token(data, at, &one);
        for (uint32_t i = 0; i < WKV_DIM; i++)
            row_step(data, &one, i, at, state + i * WKV_DIM, &error[i]);
    }
    for (uint32_t j = 0; j < WKV_SQUARE; j++)
        bound[j] = error[j / WKV_DIM] + 0x1p-24 * fabs(state[j]);
}

vly_status wkv_data_init(wkv_data *data, const wkv_case *entry, uint32_t type,
                         uint64_t seed, vly_error *error)
{
    *data = (wkv_data){.entry = entry, .type = type, .seed = seed};
    vly_status status = VLY_OK;
    VLY_TRY(make_data(data, error));
    const uint64_t heads = (uint64_t)entry->batch * entry->heads;
    for (uint64_t i = 0; i < heads; i++)
        head_truth(data, i / entry->heads, i % entry->heads);
out:
    return status;
}

void wkv_data_deinit(wkv_data *data)
{
    vly_free(data->memory);
    vly_free(data->state_in);
    *data = (wkv_data){0};
}
