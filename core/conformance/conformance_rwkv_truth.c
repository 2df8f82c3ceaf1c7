/* SPDX-License-Identifier: Apache-2.0
 * The operations of volley.rwkv/1 in double, and error bounds of correct
 * results: W = 2^-19 for sums in fp32 of up to some thousand terms, relative to
 * the sum of their magnitudes, propagated through later functions by their
 * slope; then the roundoff of the stored type. The bound of STEP, which is a
 * chain of all of them, is 1e-4 of the magnitude; its gate may be rounded as
 * PREPARE stores it, or not.
 */
#include <math.h>

#include "conformance/conformance_element.h"
#include "conformance/conformance_rwkv.h"

#define W 0x1p-19
#define DIM VLY_RWKV_DIM
#define STEP_BOUND 1e-4

/* A value and its error bound. */
typedef struct near {
    double x;
    double error;
} near;

static void put(rwkv_data *data, uint32_t slot, uint64_t i, double x,
                double error)
{
    rwkv_slot *s = &data->slot[slot];
    s->wanted[i] = x;
    s->bound[i] = error + fabs(x) * conformance_element_roundoff(s->type) +
                  conformance_element_least(s->type);
}

static double get(const rwkv_data *data, uint32_t slot, uint64_t i)
{
    return data->slot[slot].value[i];
}

static near sigmoid(near z)
{
    const double y = 1.0 / (1.0 + exp(-z.x));
    return (near){y, 0.25 * z.error + W * y};
}

/* ---- rows ---------------------------------------------------------------- */

typedef struct norm {
    double mean, scale, most;
} norm;

static norm norm_of(const double *x, uint32_t n, double eps)
{
    norm m = {0.0, 0.0, 0.0};
    double squares = 0.0;
    for (uint32_t i = 0; i < n; i++) {
        m.mean += x[i] / n;
        m.most = fabs(x[i]) > m.most ? fabs(x[i]) : m.most;
    }
    for (uint32_t i = 0; i < n; i++)
        squares += (x[i] - m.mean) * (x[i] - m.mean) / n;
    m.scale = 1.0 / sqrt(squares + eps);
    return m;
}

/* Column j of a row of x. */
static near normed(const rwkv_data *data, const norm *m, double x, uint32_t j)
{
    const double weight = get(data, RWKV_norm_weight, j);
    const double bias = get(data, RWKV_norm_bias, j);
    return (near){(x - m->mean) * m->scale * weight + bias,
                  W * (m->most * m->scale * fabs(weight) + fabs(bias))};
}

static void embed(rwkv_data *data, uint64_t row)
{
    const uint32_t width = data->desc.width;
    const double *table = data->slot[RWKV_table].value +
                          (uint64_t)get(data, RWKV_token, row) * width;
    const norm m = norm_of(table, width, (double)data->desc.eps);
    for (uint32_t j = 0; j < width; j++) {
        near y = {table[j], 0.0};
        if (data->desc.flags & VLY_RWKV_WITH_NORM)
            y = normed(data, &m, table[j], j);
        put(data, RWKV_x, row * width + j, y.x, y.error);
    }
}

static void mix(rwkv_data *data, uint64_t row)
{
    const vly_rwkv_desc *desc = &data->desc;
    const uint32_t width = desc->width, batch = (uint32_t)(row / desc->seq);
    const double *x = data->slot[RWKV_x].value + row * width;
    const uint64_t token = row % desc->seq;
    const norm m = norm_of(x, width, (double)desc->eps);
    const norm before =
        norm_of(token > 0 ? x - width : x, width, (double)desc->eps);
    for (uint32_t j = 0; j < width; j++) {
        const near now = normed(data, &m, x[j], j);
        const uint64_t last = (uint64_t)batch * width + j;
        near b = {get(data, RWKV_last, last), 0.0};
        if (token > 0)
            b = normed(data, &before, x[(int64_t)j - width], j);
        if (token + 1 == data->length[batch])
            put(data, RWKV_last, last, now.x, now.error);
        for (uint32_t i = 0; i < desc->n_mix; i++) {
            const double mu = get(data, RWKV_mix, (uint64_t)i * width + j);
            put(data, RWKV_mixed, ((uint64_t)i * data->rows + row) * width + j,
                now.x + (b.x - now.x) * mu,
                (now.error + b.error) * (1.0 + fabs(mu)) +
                    W * (fabs(now.x) + fabs(b.x)));
        }
    }
}

static void activate(rwkv_data *data, uint64_t row)
{
    for (uint64_t j = 0; j < data->desc.rank[0]; j++) {
        const uint64_t i = row * data->desc.rank[0] + j;
        const double y = tanh(get(data, RWKV_lora_w, i));
        put(data, RWKV_lora_w, i, y, W * fabs(y));
    }
    for (uint64_t j = 0; j < data->desc.rank[3]; j++) {
        const uint64_t i = row * data->desc.rank[3] + j;
        const near y = sigmoid((near){get(data, RWKV_lora_g, i), 0.0});
        put(data, RWKV_lora_g, i, y.x, y.error);
    }
}

static void add_row(rwkv_data *data, uint64_t row)
{
    for (uint64_t j = 0; j < data->desc.width; j++) {
        const uint64_t i = row * data->desc.width + j;
        put(data, RWKV_x, i, get(data, RWKV_x, i) + get(data, RWKV_y, i), 0.0);
    }
}

static void norm_row(rwkv_data *data, uint64_t row)
{
    const vly_rwkv_desc *desc = &data->desc;
    const uint64_t batch = row / desc->seq;
    const bool is_last = (desc->flags & VLY_RWKV_LAST) != 0;
    const double *x = data->slot[RWKV_x].value + row * desc->width;
    const norm m = norm_of(x, desc->width, (double)desc->eps);
    if (is_last && row % desc->seq + 1 != data->length[batch])
        return;
    for (uint32_t j = 0; j < desc->width; j++) {
        const near y = normed(data, &m, x[j], j);
        put(data, RWKV_y, (is_last ? batch : row) * desc->width + j, y.x,
            y.error);
    }
}

/* ---- products ------------------------------------------------------------ */

static near activated(near s, uint32_t f)
{
    if (f == VLY_RWKV_RELU2)
        return (near){s.x > 0.0 ? s.x * s.x : 0.0,
                      (2.0 * fabs(s.x) + s.error) * s.error};
    if (f == VLY_RWKV_TANH)
        return (near){tanh(s.x), s.error + W};
    return f == VLY_RWKV_SIGMOID ? sigmoid(s) : s;
}

static near dot(const rwkv_data *data, uint32_t product, uint64_t row,
                uint64_t j)
{
    const vly_rwkv_product *p = &data->desc.product[product];
    const double *scale = data->slot[RWKV_product_scale + product].value;
    near sum = {0.0, 0.0};
    for (uint64_t l = 0; l < p->k; l++) {
        double term = get(data, RWKV_product_x + product, row * p->k + l) *
                      get(data, RWKV_product_w + product, j * p->k + l);
        if (p->type == VLY_ELEMENT_I8)
            term *= scale[j];
        if (p->type == VLY_ELEMENT_I4)
            term *= scale[(j * p->k + l) / 128];
        sum.x += term;
        sum.error += W * fabs(term);
    }
    return sum;
}

static void products(rwkv_data *data, uint64_t row)
{
    for (uint32_t i = 0; i < data->desc.n_products; i++) {
        const vly_rwkv_product *p = &data->desc.product[i];
        for (uint64_t j = 0; j < p->n; j++) {
            const uint64_t at = row * p->n + j;
            near y = activated(dot(data, i, row, j), p->activation);
            if (p->flags & VLY_RWKV_PRODUCT_ADD)
                y.x += get(data, RWKV_product_y + i, at);
            put(data, RWKV_product_y + i, at, y.x, y.error);
        }
    }
}

/* ---- heads --------------------------------------------------------------- */

typedef struct head {
    near r[DIM], w[DIM], k[DIM], v[DIM], a[DIM], b[DIM], g[DIM];
    double decay[DIM];
} head;

/* lora_* of a column, or the product that makes it */
static near gate_of(const rwkv_data *data, uint32_t gate, uint64_t row,
                    uint64_t column)
{
    const vly_rwkv_desc *desc = &data->desc;
    const uint64_t rank = desc->rank[gate];
    near sum = {0.0, 0.0};
    if (!(desc->flags & VLY_RWKV_LORA))
        return (near){get(data, gate == 3 ? RWKV_g : RWKV_lora_w + gate,
                          row * desc->width + column),
                      0.0};
    for (uint64_t l = 0; l < rank; l++) {
        const double term = get(data, RWKV_lora_w + gate, row * rank + l) *
                            get(data, RWKV_matrix_w + gate, column * rank + l);
        sum.x += term;
        sum.error += W * fabs(term);
    }
    return sum;
}

static near biased(const rwkv_data *data, uint32_t gate, uint64_t row,
                   uint64_t column)
{
    const double bias = get(data, RWKV_bias_w + gate, column);
    near z = gate_of(data, gate, row, column);
    z.x += bias;
    z.error += W * (fabs(z.x) + fabs(bias));
    return z;
}

static near value_of(rwkv_data *data, uint64_t row, uint64_t column)
{
    const uint64_t at = row * data->desc.width + column;
    const double v = get(data, RWKV_v, at);
    if (data->desc.flags & VLY_RWKV_FIRST) {
        data->slot[RWKV_v_first].wanted[at] = v;
        data->slot[RWKV_v_first].bound[at] = 0.0;
        return (near){v, 0.0};
    }
    const double far = get(data, RWKV_v_first, at) - v;
    const near s = sigmoid(biased(data, 2, row, column));
    return (near){v + far * s.x,
                  fabs(far) * s.error + W * (fabs(v) + fabs(far))};
}

static void make_head(rwkv_data *data, uint64_t row, uint32_t first, head *h)
{
    const bool has_g = data->desc.op == VLY_RWKV_STEP ||
                       (data->desc.flags & VLY_RWKV_LORA) != 0;
    double length = 0.0;
    for (uint32_t j = 0; j < DIM; j++) {
        const uint64_t column = first + j;
        const uint64_t at = row * data->desc.width + column;
        const double kk = get(data, RWKV_k, at) * get(data, RWKV_k_k, column);
        length += kk * kk;
    }
    length = sqrt(length) > 1e-12 ? sqrt(length) : 1e-12;
    for (uint32_t j = 0; j < DIM; j++) {
        const uint64_t column = first + j;
        const uint64_t at = row * data->desc.width + column;
        const double k = get(data, RWKV_k, at);
        const double k_a = get(data, RWKV_k_a, column);
        const double kk = k * get(data, RWKV_k_k, column) / length;
        const near z = biased(data, 0, row, column);
        const near rate = sigmoid(biased(data, 1, row, column));
        h->r[j] = (near){get(data, RWKV_r, at), 0.0};
        h->w[j].x = -log1p(exp(-fabs(z.x))) + (z.x < 0.0 ? z.x : 0.0) - 0.5;
        h->w[j].error = z.error + W * fabs(h->w[j].x);
        h->decay[j] = exp(-exp(h->w[j].x));
        h->k[j].x = k * (1.0 + (rate.x - 1.0) * k_a);
        h->k[j].error =
            fabs(k) * (fabs(k_a) * rate.error + W * (1.0 + fabs(k_a)));
        h->v[j] = value_of(data, row, column);
        h->a[j] = (near){-kk, W * fabs(kk)};
        h->b[j] = (near){kk * rate.x, fabs(kk) * (rate.error + W)};
        if (!has_g)
            continue;
        h->g[j] = gate_of(data, 3, row, column);
        if (data->desc.op == VLY_RWKV_STEP) /* rounded as PREPARE stores it */
            h->g[j].error +=
                fabs(h->g[j].x) * conformance_element_roundoff(data->desc.type);
    }
}

static void prepare(rwkv_data *data, uint64_t row, uint32_t first)
{
    head h;
    make_head(data, row, first, &h);
    const near *const all[6] = {h.r, h.w, h.k, h.v, h.a, h.b};
    for (uint32_t j = 0; j < DIM; j++) {
        const uint64_t at = row * data->desc.width + first + j;
        for (uint32_t i = 0; i < 6; i++)
            put(data, RWKV_wkv_r + i, at, all[i][j].x, all[i][j].error);
        if (data->desc.flags & VLY_RWKV_LORA)
            put(data, RWKV_g, at, h.g[j].x, h.g[j].error);
    }
}

/* y of the recurrence to the end; relative: of its magnitude. */
static void finish_head(rwkv_data *data, uint64_t row, uint32_t first,
                        const double *y, const head *h, double relative)
{
    const norm m = norm_of(y, DIM, (double)data->desc.eps);
    double bonus = 0.0;
    double most = 0.0;
    for (uint32_t j = 0; j < DIM; j++) {
        const double term =
            h->r[j].x * h->k[j].x * get(data, RWKV_r_k, first + j);
        bonus += term;
        most += fabs(term);
    }
    for (uint32_t j = 0; j < DIM; j++) {
        const double weight = get(data, RWKV_group_weight, first + j);
        const double bias = get(data, RWKV_group_bias, first + j);
        const double x =
            (y[j] - m.mean) * m.scale * weight + bias + bonus * h->v[j].x;
        const double size = m.most * m.scale * fabs(weight) + fabs(bias) +
                            most * fabs(h->v[j].x);
        put(data, RWKV_y, row * data->desc.width + first + j, x * h->g[j].x,
            (relative + W) * size * fabs(h->g[j].x) + h->g[j].error * fabs(x));
    }
}

static void finish(rwkv_data *data, uint64_t row, uint32_t first)
{
    head h;
    double y[DIM];
    for (uint32_t j = 0; j < DIM; j++) {
        const uint64_t at = row * data->desc.width + first + j;
        h.r[j] = (near){get(data, RWKV_wkv_r, at), 0.0};
        h.k[j] = (near){get(data, RWKV_wkv_k, at), 0.0};
        h.v[j] = (near){get(data, RWKV_wkv_v, at), 0.0};
        h.g[j] = (near){get(data, RWKV_g, at), 0.0};
        y[j] = get(data, RWKV_wkv_y, at);
    }
    finish_head(data, row, first, y, &h, 0.0);
}

static double state_of(const rwkv_data *data, uint64_t at)
{
    return data->entry->no_state ? 0.0 : get(data, RWKV_state_in, at);
}

static void step(rwkv_data *data, uint64_t row, uint32_t first)
{
    head h;
    double y[DIM];
    make_head(data, row, first, &h);
    for (uint64_t i = 0; i < DIM; i++) {
        const uint64_t at = (row * data->desc.width + first + i) * DIM;
        double along = 0.0;
        double size = fabs(h.v[i].x);
        y[i] = 0.0;
        for (uint32_t j = 0; j < DIM; j++) {
            along += state_of(data, at + j) * h.a[j].x;
            size += fabs(state_of(data, at + j) * h.a[j].x);
        }
        for (uint32_t j = 0; j < DIM; j++) {
            const double s = state_of(data, at + j) * h.decay[j] +
                             along * h.b[j].x + h.v[i].x * h.k[j].x;
            put(data, RWKV_state_out, at + j, s,
                STEP_BOUND * (fabs(s) + 0.1 * size));
            y[i] += s * h.r[j].x;
        }
    }
    finish_head(data, row, first, y, &h, STEP_BOUND);
}

/* A sequence without a token keeps its state. */
static void keep_states(rwkv_data *data)
{
    const uint64_t states = (uint64_t)data->desc.width * DIM;
    for (uint64_t i = 0; i < states * data->desc.batch; i++)
        if (data->length[i / states] == 0) {
            data->slot[RWKV_state_out].wanted[i] = state_of(data, i);
            data->slot[RWKV_state_out].bound[i] = 0.0;
        }
}

void rwkv_truth(rwkv_data *data)
{
    static void (*const rows[VLY_RWKV_N_OPS])(rwkv_data *, uint64_t) = {
        [VLY_RWKV_EMBED] = embed,       [VLY_RWKV_MIX] = mix,
        [VLY_RWKV_PRODUCTS] = products, [VLY_RWKV_ACTIVATE] = activate,
        [VLY_RWKV_ADD] = add_row,       [VLY_RWKV_NORM] = norm_row,
    };
    static void (*const heads[VLY_RWKV_N_OPS])(rwkv_data *, uint64_t,
                                               uint32_t) = {
        [VLY_RWKV_PREPARE] = prepare,
        [VLY_RWKV_FINISH] = finish,
        [VLY_RWKV_STEP] = step,
    };
    const uint32_t op = data->desc.op;
    for (uint64_t row = 0; row < data->rows; row++) {
        if (!rwkv_row_is_there(data, row))
            continue;
        if (rows[op])
            rows[op](data, row);
        for (uint32_t j = 0; heads[op] && j < data->desc.width; j += DIM)
            heads[op](data, row, j);
    }
    if (op == VLY_RWKV_STEP)
        keep_states(data);
}
