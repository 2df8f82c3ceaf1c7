/* SPDX-License-Identifier: Apache-2.0
 * kernels/accelerators/rwkv_token.h on the processor, for tests of chains where
 * there is no device: plain loops in double over the same arguments, in the
 * order of volley/rwkv.h. Values that products read are rounded to the chain's
 * type.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "element.h"
#include "kernels/accelerators/rwkv_token.h"

enum { DIM = 64, ALIGN = 256, FAILED = 999 /* cudaErrorUnknown */ };

/* ---- plans -------------------------------------------------------------- */

int vly_cuda_rwkv_token_room(uint32_t shared, uint32_t *blocks)
{
    *blocks = shared > 0 ? VLY_CUDA_RWKV_TOKEN_CLUSTER : 0;
    return 0;
}

const char *vly_cuda_rwkv_token_plan(vly_cuda_rwkv_token *token,
                                     uint32_t blocks, uint32_t shared)
{
    static _Thread_local char why[80];
    for (uint32_t i = 0; i < 4; i++)
        if (token->rank[i] == 0 || token->rank[i] % 8 != 0) {
            (void)snprintf(why, sizeof why,
                           "a rank of %u, wanted a multiple of 8 above 0",
                           token->rank[i]);
            return why;
        }
    token->blocks = blocks;
    token->shared = shared;
    token->bytes = ALIGN;
    return NULL;
}

/* ---- values ------------------------------------------------------------- */

typedef struct work {
    const vly_cuda_rwkv_token *token;
    double *x, *now, *mixed, *in, *y, *hidden, *v_first;
} work;

static double value(const vly_cuda_rwkv_token *t, const void *from, uint64_t i)
{
    const uint16_t bits = ((const uint16_t *)from)[i];
    return (double)(t->type == VLY_ELEMENT_F16 ? vly_f16_to_f32(bits)
                                               : vly_bf16_to_f32(bits));
}

static double rounded(const vly_cuda_rwkv_token *t, double x)
{
    const float y = (float)x;
    return (double)(t->type == VLY_ELEMENT_F16
                        ? vly_f16_to_f32(vly_f16_from_f32(y))
                        : vly_bf16_to_f32(vly_bf16_from_f32(y)));
}

static double sigmoid(double x)
{
    return 1.0 / (1.0 + exp(-x));
}

static double applied(uint32_t f, double x)
{
    return f == 1   ? (x > 0.0 ? x * x : 0.0)
           : f == 2 ? tanh(x)
           : f == 3 ? sigmoid(x)
                    : x;
}

static double row_times(const vly_cuda_rwkv_token *t, const void *w,
                        uint64_t row, uint32_t k, const double *x)
{
    double sum = 0.0;
    for (uint32_t i = 0; i < k; i++)
        sum += value(t, w, row * k + i) * x[i];
    return sum;
}

static void norm(const vly_cuda_rwkv_token *t, const double *x,
                 const float *weight, const float *bias, double *y)
{
    double mean = 0.0;
    double variance = 0.0;
    for (uint32_t i = 0; i < t->width; i++)
        mean += x[i] / t->width;
    for (uint32_t i = 0; i < t->width; i++)
        variance += (x[i] - mean) * (x[i] - mean) / t->width;
    for (uint32_t i = 0; i < t->width; i++)
        y[i] = (x[i] - mean) / sqrt(variance + (double)t->eps) *
                   (double)weight[i] +
               (double)bias[i];
}

/* ---- parts of a layer --------------------------------------------------- */

/* mixed [n][width]; last becomes the norm */
static void mix(work *w, const vly_cuda_rwkv_token_layer *layer, uint32_t part,
                uint32_t n)
{
    const uint32_t width = w->token->width;
    norm(w->token, w->x, layer->norm_weight[part], layer->norm_bias[part],
         w->now);
    for (uint32_t i = 0; i < n * width; i++) {
        const double now = w->now[i % width];
        w->mixed[i] = rounded(
            w->token, now + ((double)layer->last[part][i % width] - now) *
                                (double)layer->mix[part][i]);
    }
    for (uint32_t i = 0; i < width; i++)
        layer->last[part][i] = (float)w->now[i];
}

static void first_products(work *w, const vly_cuda_rwkv_token_layer *layer,
                           const vly_cuda_rwkv_token_kind *kind)
{
    const vly_cuda_rwkv_token *t = w->token;
    for (uint32_t p = 0; p < kind->n; p++)
        for (uint32_t i = kind->first[p]; i < kind->first[p + 1]; i++)
            w->in[i] = rounded(
                t,
                applied(kind->activation[p],
                        row_times(t, layer->in[p], i - kind->first[p], t->width,
                                  w->mixed + kind->mix[p] * t->width)));
}

typedef struct head {
    double r[DIM], w[DIM], k[DIM], v[DIM], a[DIM], b[DIM], g[DIM];
    double bonus;
} head;

static void gates(work *w, const vly_cuda_rwkv_token_layer *layer,
                  const vly_cuda_rwkv_token_kind *kind, uint32_t first,
                  bool is_first, head *h)
{
    const vly_cuda_rwkv_token *t = w->token;
    double squares = 0.0;
    h->bonus = 0.0;
    for (uint32_t j = 0; j < DIM; j++) {
        const uint32_t c = first + j;
        double lora[4] = {0};
        for (uint32_t i = 0; i < 4; i++)
            if (i != 2 || !is_first)
                lora[i] = row_times(t, layer->matrix[i], c, t->rank[i],
                                    w->in + kind->lora_at[i]);
        const double k = w->in[kind->first[1] + c];
        const double rate = sigmoid((double)layer->bias[1][c] + lora[1]);
        h->r[j] = w->in[c];
        h->v[j] = w->in[kind->first[2] + c];
        h->g[j] = lora[3];
        if (is_first)
            w->v_first[c] = h->v[j];
        else
            h->v[j] += (w->v_first[c] - h->v[j]) *
                       sigmoid((double)layer->bias[2][c] + lora[2]);
        h->w[j] =
            exp(-exp(-0.5) * sigmoid((double)layer->bias[0][c] + lora[0]));
        h->a[j] = k * (double)layer->k_k[c];
        h->k[j] = k * (1.0 + (rate - 1.0) * (double)layer->k_a[c]);
        h->b[j] = rate;
        squares += h->a[j] * h->a[j];
        h->bonus += h->r[j] * h->k[j] * (double)layer->r_k[c];
    }
    for (uint32_t j = 0; j < DIM; j++) {
        h->a[j] = -h->a[j] / fmax(sqrt(squares), 1e-12);
        h->b[j] *= -h->a[j];
    }
}

static void step(work *w, const vly_cuda_rwkv_token_layer *layer,
                 uint32_t first, const head *h)
{
    double y[DIM];
    double mean = 0.0;
    double variance = 0.0;
    for (uint32_t i = 0; i < DIM; i++) {
        const uint64_t at = (uint64_t)(first + i) * DIM;
        double sa = 0.0;
        for (uint32_t j = 0; j < DIM && layer->state_in != NULL; j++)
            sa += (double)layer->state_in[at + j] * h->a[j];
        y[i] = 0.0;
        for (uint32_t j = 0; j < DIM; j++) {
            const double old =
                layer->state_in != NULL ? (double)layer->state_in[at + j] : 0.0;
            const double s = old * h->w[j] + sa * h->b[j] + h->v[i] * h->k[j];
            layer->state_out[at + j] = (float)s;
            y[i] += s * h->r[j];
        }
        mean += y[i] / DIM;
    }
    for (uint32_t i = 0; i < DIM; i++)
        variance += (y[i] - mean) * (y[i] - mean) / DIM;
    for (uint32_t i = 0; i < DIM; i++) {
        const uint32_t c = first + i;
        const double normed = (y[i] - mean) /
                                  sqrt(variance + (double)w->token->eps_group) *
                                  (double)layer->group_weight[c] +
                              (double)layer->group_bias[c];
        w->y[c] = rounded(w->token, (normed + h->v[i] * h->bonus) * h->g[i]);
    }
}

static void run_layer(work *w, uint32_t l)
{
    const vly_cuda_rwkv_token *t = w->token;
    const vly_cuda_rwkv_token_layer *layer = &t->layer[l];
    const vly_cuda_rwkv_token_kind *kind = &t->kind[l > 0];
    head h;
    mix(w, layer, 0, 6);
    first_products(w, layer, kind);
    for (uint32_t first = 0; first < t->width; first += DIM) {
        gates(w, layer, kind, first, l == 0, &h);
        step(w, layer, first, &h);
    }
    for (uint32_t i = 0; i < t->width; i++)
        w->x[i] += row_times(t, layer->output, i, t->width, w->y);
    mix(w, layer, 1, 1);
    for (uint32_t i = 0; i < t->hidden; i++)
        w->hidden[i] = rounded(
            t, applied(1, row_times(t, layer->key, i, t->width, w->mixed)));
    for (uint32_t i = 0; i < t->width; i++)
        w->x[i] += row_times(t, layer->value, i, t->hidden, w->hidden);
}

/* ---- a token ------------------------------------------------------------ */

static void embed(work *w)
{
    const vly_cuda_rwkv_token *t = w->token;
    const int32_t token = t->token != NULL ? *t->token : t->token_value;
    const bool is_known = token >= 0 && (uint32_t)token < t->table_rows;
    for (uint32_t i = 0; i < t->width; i++)
        w->x[i] = is_known ? value(t, t->table, (uint64_t)token * t->width + i)
                           : (double)NAN;
    if (t->table_weight != NULL) {
        norm(t, w->x, t->table_weight, t->table_bias, w->now);
        memcpy(w->x, w->now, t->width * sizeof *w->x);
    }
}

static void make_logits(work *w)
{
    const vly_cuda_rwkv_token *t = w->token;
    norm(t, w->x, t->out_weight, t->out_bias, w->now);
    for (uint32_t i = 0; i < t->width; i++)
        w->now[i] = rounded(t, w->now[i]);
    for (uint32_t i = 0; i < t->vocabulary; i++) {
        const float y = (float)row_times(t, t->head, i, t->width, w->now);
        if (t->type_logits == VLY_ELEMENT_F32)
            ((float *)t->logits)[i] = y;
        else
            ((uint16_t *)t->logits)[i] = t->type == VLY_ELEMENT_F16
                                             ? vly_f16_from_f32(y)
                                             : vly_bf16_from_f32(y);
    }
}

int vly_cuda_rwkv_token_run(const vly_cuda_rwkv_token *token, void *stream)
{
    const size_t width = token->width;
    const size_t most = token->kind[0].first[VLY_CUDA_RWKV_TOKEN_IN] +
                        token->kind[1].first[VLY_CUDA_RWKV_TOKEN_IN];
    double *all = calloc(10 * width + most + token->hidden, sizeof *all);
    (void)stream;
    if (all == NULL)
        return FAILED;
    work w = {.token = token,
              .x = all,
              .now = all + width,
              .y = all + 2 * width,
              .v_first = all + 3 * width,
              .mixed = all + 4 * width,
              .in = all + 10 * width,
              .hidden = all + 10 * width + most};
    embed(&w);
    for (uint32_t l = 0; l < token->n_layers; l++)
        run_layer(&w, l);
    make_logits(&w);
    free(all);
    return 0;
}
