/* SPDX-License-Identifier: Apache-2.0
 * RWKV-7 token by token in double.
 * Source  Peng et al. 2025, arXiv:2503.14456, and the reference implementation
 *         RWKV-LM/RWKV-v7/rwkv_v7_numpy.py
 */
#include "rwkv_reference.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { N = 64 };

uint64_t rwkv_reference_shape(const vly_rwkv_sizes *s, vly_rwkv_tensor id,
                              uint32_t layer, uint64_t *rows, uint64_t *columns)
{
    enum { M = 0, L = 1, V = 2 };
    const uint64_t D = s->width, F = s->hidden, RW = s->rank_w, RA = s->rank_a;
    const uint64_t RV = s->rank_v, RG = s->rank_g, voc = s->vocabulary;
#define SIZE_N voc
#define SIZE_D D
#define SIZE_F F
#define SIZE_1 1
#define SIZE_RW RW
#define SIZE_RA RA
#define SIZE_RV RV
#define SIZE_RG RG
    const uint64_t shapes[VLY_RWKV_N_TENSORS][3] = {
#define SHAPE(name, scope, r, c, native, fla) {scope, SIZE_##r, SIZE_##c},
        VLY_RWKV_TENSORS(SHAPE)
#undef SHAPE
    };
    *rows = shapes[id][1];
    *columns = shapes[id][2];
    if ((shapes[id][0] == M && layer > 0) || (shapes[id][0] == V && layer == 0))
        return 0;
    return *rows * *columns;
}

int rwkv_reference_init(rwkv_reference *r, const vly_rwkv_sizes *sizes,
                        void (*give)(void *context, vly_rwkv_tensor id,
                                     uint32_t layer, uint64_t n, double *out),
                        void *context)
{
    memset(r, 0, sizeof *r);
    r->sizes = *sizes;
    const size_t vectors = (size_t)sizes->layers * sizes->width;
    r->last[0] = calloc(vectors, sizeof(double));
    r->last[1] = calloc(vectors, sizeof(double));
    r->state = calloc(vectors * N, sizeof(double));
    if (!r->last[0] || !r->last[1] || !r->state)
        return 0;
    for (uint32_t l = 0; l < sizes->layers; l++)
        for (uint32_t id = 0; id < VLY_RWKV_N_TENSORS; id++) {
            uint64_t rows, columns;
            const uint64_t n = rwkv_reference_shape(sizes, (vly_rwkv_tensor)id,
                                                    l, &rows, &columns);
            if (n == 0)
                continue;
            r->weights[l][id] = malloc(n * sizeof(double));
            if (!r->weights[l][id])
                return 0;
            give(context, (vly_rwkv_tensor)id, l, n, r->weights[l][id]);
        }
    return 1;
}

void rwkv_reference_deinit(rwkv_reference *r)
{
    for (uint32_t l = 0; l < 16; l++)
        for (uint32_t id = 0; id < VLY_RWKV_N_TENSORS; id++)
            free(r->weights[l][id]);
    free(r->last[0]);
    free(r->last[1]);
    free(r->state);
    memset(r, 0, sizeof *r);
}

void rwkv_reference_reset(rwkv_reference *r)
{
    const size_t vectors = (size_t)r->sizes.layers * r->sizes.width;
    memset(r->last[0], 0, vectors * sizeof(double));
    memset(r->last[1], 0, vectors * sizeof(double));
    memset(r->state, 0, vectors * N * sizeof(double));
}

/* ---- pieces -------------------------------------------------------------- */

/* x as if it were rounded. */
static double rounded(rwkv_reference *r, double x)
{
    if (r->noise == 0.0)
        return x;
    r->draw = r->draw * 6364136223846793005ull + 1442695040888963407ull;
    return x * (1.0 + r->noise * ((double)(r->draw >> 11) * 0x1p-52 - 1.0));
}

static void layer_norm(rwkv_reference *r, const double *x, uint32_t n,
                       double eps, const double *w, const double *b, double *y)
{
    double mean = 0.0, variance = 0.0;
    for (uint32_t i = 0; i < n; i++)
        mean += x[i];
    mean /= n;
    for (uint32_t i = 0; i < n; i++)
        variance += (x[i] - mean) * (x[i] - mean);
    variance /= n;
    for (uint32_t i = 0; i < n; i++)
        y[i] = rounded(r, (x[i] - mean) / sqrt(variance + eps) * w[i] + b[i]);
}

/* y = W x, W [rows][columns] */
static void multiply(rwkv_reference *r, const double *w, uint64_t rows,
                     uint64_t columns, const double *x, double *y)
{
    for (uint64_t i = 0; i < rows; i++) {
        double sum = 0.0;
        for (uint64_t j = 0; j < columns; j++)
            sum += w[i * columns + j] * x[j];
        y[i] = rounded(r, sum);
    }
}

static double sigmoid(double x)
{
    return 1.0 / (1.0 + exp(-x));
}

typedef enum gate { PLAIN, TANH, SIGMOID } gate;

/* y = second f(first x): W2^T f(W1^T x) of the paper */
static void low_rank(rwkv_reference *r, uint32_t l, vly_rwkv_tensor first,
                     vly_rwkv_tensor second, uint32_t rank, gate f,
                     const double *x, double *y)
{
    double *h = malloc(rank * sizeof *h);
    multiply(r, r->weights[l][first], rank, r->sizes.width, x, h);
    for (uint32_t i = 0; i < rank; i++)
        h[i] = rounded(r, f == TANH      ? tanh(h[i])
                          : f == SIGMOID ? sigmoid(h[i])
                                         : h[i]);
    multiply(r, r->weights[l][second], r->sizes.width, rank, h, y);
    free(h);
}

/* ---- time mixing ----------------------------------------------------------
 */

typedef struct mixing {
    double *xx, *d, *x, *r, *w, *k, *v, *a, *g, *kk, *y;
} mixing;

static const double *mixed(rwkv_reference *r, uint32_t l, vly_rwkv_tensor id,
                           const mixing *m)
{
    for (uint32_t i = 0; i < r->sizes.width; i++)
        m->x[i] = rounded(r, m->xx[i] + m->d[i] * r->weights[l][id][i]);
    return m->x;
}

static void inputs(rwkv_reference *r, uint32_t l, const mixing *m,
                   double *v_first)
{
    double **w = r->weights[l];
    const vly_rwkv_sizes *s = &r->sizes;
    const uint32_t D = s->width;
    multiply(r, w[VLY_RWKV_RECEPTANCE], D, D, mixed(r, l, VLY_RWKV_X_R, m),
             m->r);
    low_rank(r, l, VLY_RWKV_W1, VLY_RWKV_W2, s->rank_w, TANH,
             mixed(r, l, VLY_RWKV_X_W, m), m->w);
    multiply(r, w[VLY_RWKV_KEY], D, D, mixed(r, l, VLY_RWKV_X_K, m), m->k);
    low_rank(r, l, VLY_RWKV_A1, VLY_RWKV_A2, s->rank_a, PLAIN,
             mixed(r, l, VLY_RWKV_X_A, m), m->a);
    low_rank(r, l, VLY_RWKV_G1, VLY_RWKV_G2, s->rank_g, SIGMOID,
             mixed(r, l, VLY_RWKV_X_G, m), m->g);
    mixed(r, l, VLY_RWKV_X_V, m);
    multiply(r, w[VLY_RWKV_VALUE], D, D, m->x, m->v);
    if (l > 0)
        low_rank(r, l, VLY_RWKV_V1, VLY_RWKV_V2, s->rank_v, PLAIN, m->x, m->y);
    for (uint32_t i = 0; i < D; i++) {
        m->w[i] = exp(-0.60653065971263342 *
                      sigmoid(w[VLY_RWKV_W0][i] + rounded(r, m->w[i])));
        m->a[i] = rounded(r, sigmoid(w[VLY_RWKV_A0][i] + m->a[i]));
        m->kk[i] = m->k[i] * w[VLY_RWKV_K_K][i];
        m->k[i] =
            rounded(r, m->k[i] * (1.0 + (m->a[i] - 1.0) * w[VLY_RWKV_K_A][i]));
        if (l == 0)
            v_first[i] = m->v[i];
        else
            m->v[i] =
                rounded(r, m->v[i] + (v_first[i] - m->v[i]) *
                                         sigmoid(w[VLY_RWKV_V0][i] + m->y[i]));
    }
}

static void one_head(rwkv_reference *r, uint32_t l, uint32_t h, const mixing *m)
{
    const double *w = m->w + h * N, *k = m->k + h * N, *v = m->v + h * N;
    const double *a = m->a + h * N, *q = m->r + h * N;
    const double *rk = r->weights[l][VLY_RWKV_R_K] + h * N;
    double *kk = m->kk + h * N, *y = m->y + h * N;
    double *S = r->state + ((uint64_t)l * r->sizes.heads + h) * N * N;
    double length = 0.0, bonus = 0.0;
    for (uint32_t j = 0; j < N; j++)
        length += kk[j] * kk[j];
    length = sqrt(length) > 1e-12 ? sqrt(length) : 1e-12;
    for (uint32_t j = 0; j < N; j++) {
        kk[j] = rounded(r, kk[j] / length);
        bonus += q[j] * k[j] * rk[j];
    }
    for (uint32_t i = 0; i < N; i++) {
        double removed = 0.0, sum = 0.0;
        for (uint32_t j = 0; j < N; j++)
            removed -= S[i * N + j] * kk[j];
        for (uint32_t j = 0; j < N; j++) {
            S[i * N + j] = rounded(r, S[i * N + j] * w[j] +
                                          removed * kk[j] * a[j] + v[i] * k[j]);
            sum += S[i * N + j] * q[j];
        }
        y[i] = rounded(r, sum);
    }
    layer_norm(r, y, N, 64e-5, r->weights[l][VLY_RWKV_LN_X_WEIGHT] + h * N,
               r->weights[l][VLY_RWKV_LN_X_BIAS] + h * N, y);
    for (uint32_t i = 0; i < N; i++)
        y[i] = rounded(r, (y[i] + bonus * v[i]) * m->g[h * N + i]);
}

static void shift(rwkv_reference *r, uint32_t l, uint32_t part, const double *x,
                  const mixing *m)
{
    const uint32_t D = r->sizes.width;
    double *last = r->last[part] + (uint64_t)l * D;
    layer_norm(
        r, x, D, 1e-5,
        r->weights[l][part == 0 ? VLY_RWKV_LN1_WEIGHT : VLY_RWKV_LN2_WEIGHT],
        r->weights[l][part == 0 ? VLY_RWKV_LN1_BIAS : VLY_RWKV_LN2_BIAS],
        m->xx);
    for (uint32_t i = 0; i < D; i++) {
        m->d[i] = last[i] - m->xx[i];
        last[i] = m->xx[i];
    }
}

/* ---- a token --------------------------------------------------------------
 */

static void one_layer(rwkv_reference *r, uint32_t l, double *x, double *v_first,
                      const mixing *m, double *hidden)
{
    const uint32_t D = r->sizes.width;
    const uint32_t F = r->sizes.hidden;
    shift(r, l, 0, x, m);
    inputs(r, l, m, v_first);
    for (uint32_t h = 0; h < r->sizes.heads; h++)
        one_head(r, l, h, m);
    multiply(r, r->weights[l][VLY_RWKV_OUTPUT], D, D, m->y, m->x);
    for (uint32_t i = 0; i < D; i++)
        x[i] += m->x[i];
    shift(r, l, 1, x, m);
    multiply(r, r->weights[l][VLY_RWKV_FFN_KEY], F, D,
             mixed(r, l, VLY_RWKV_FFN_X_K, m), hidden);
    for (uint32_t i = 0; i < F; i++)
        hidden[i] = hidden[i] > 0.0 ? rounded(r, hidden[i] * hidden[i]) : 0.0;
    multiply(r, r->weights[l][VLY_RWKV_FFN_VALUE], D, F, hidden, m->x);
    for (uint32_t i = 0; i < D; i++)
        x[i] += m->x[i];
}

void rwkv_reference_token(rwkv_reference *r, uint32_t token, double *logits)
{
    const uint32_t D = r->sizes.width;
    double *all = calloc((size_t)13 * D + r->sizes.hidden, sizeof *all);
    double *x = all, *v_first = all + D;
    const mixing m = {all + 2 * D,  all + 3 * D,  all + 4 * D, all + 5 * D,
                      all + 6 * D,  all + 7 * D,  all + 8 * D, all + 9 * D,
                      all + 10 * D, all + 11 * D, all + 12 * D};
    layer_norm(r, r->weights[0][VLY_RWKV_EMB] + (uint64_t)token * D, D, 1e-5,
               r->weights[0][VLY_RWKV_LN0_WEIGHT],
               r->weights[0][VLY_RWKV_LN0_BIAS], x);
    for (uint32_t l = 0; l < r->sizes.layers; l++)
        one_layer(r, l, x, v_first, &m, all + 13 * D);
    layer_norm(r, x, D, 1e-5, r->weights[0][VLY_RWKV_LN_OUT_WEIGHT],
               r->weights[0][VLY_RWKV_LN_OUT_BIAS], x);
    multiply(r, r->weights[0][VLY_RWKV_HEAD], r->sizes.vocabulary, D, x,
             logits);
    free(all);
}
