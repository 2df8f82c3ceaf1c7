/* SPDX-License-Identifier: Apache-2.0
 * Gradients of attention in fp32. With P from the run's lse and
 * delta_i = sum of grad_O_i * O_i:
 *
 *   dS = P * (grad_O V^T - delta)
 *   grad_Q = scale dS K;  grad_K = scale dS^T Q;  grad_V = P^T grad_O
 *
 * (Dao et al. 2022, arXiv:2205.14135, algorithm 4). Two passes instead of one:
 * tiles of queries walk along the keys, then tiles of keys along the queries.
 * That is seven products where five would do, but every sum belongs to one
 * thread and has one order, so the bits never change, and no gradient of fp32
 * has to be kept for all of a head.
 */
#include <math.h>
#include <string.h>

#include "attention_tile.h"
#include "element.h"

enum { ROWS = VLY_TILE_GRADIENT_ROWS, COLUMNS = VLY_TILE_COLUMNS };

typedef struct gradient_work {
    const vly_attention_plan *plan;
    const vly_attention_run *run;
    float *delta; /* where lse is */
} gradient_work;

/* Rows are queries of one head, or keys of one key head; columns the other
 * side. x is Q or K, y is grad_O or V, of the rows; the columns have both as
 * they are and transposed. */
typedef struct tile {
    const gradient_work *work;
    vly_attention_view view;
    uint32_t head;
    uint32_t head_kv;
    uint32_t first;
    uint32_t n;
    uint32_t pad;       /* of dim */
    uint32_t pad_v;     /* of dim_v */
    float *x;           /* [n][pad] scaled */
    float *y;           /* [n][pad_v] */
    float *grad_x;      /* [n][pad] */
    float *grad_y;      /* [n][pad_v], of keys only */
    float *s;           /* [n][64] */
    float *d;           /* [n][64] */
    float *column_x;    /* [64][pad] */
    float *column_y;    /* [64][pad_v] */
    float *transpose_x; /* [dim][64] */
    float *transpose_y; /* [dim_v][64] */
    float lse[ROWS];
    float delta[ROWS];
    uint32_t begin[ROWS];
    uint32_t end[ROWS];
} tile;

/* ---- rows and columns -------------------------------------------------- */

static uint64_t q_at(const tile *t, uint32_t i)
{
    const vly_attention_layout *layout = &t->work->plan->desc.q;
    return t->view.q + t->head * layout->head + i * layout->seq;
}

static uint64_t o_at(const tile *t, uint32_t i)
{
    const vly_attention_layout *layout = &t->work->plan->desc.o;
    return t->view.o + t->head * layout->head + i * layout->seq;
}

static uint64_t lse_at(const tile *t, uint32_t i)
{
    return t->view.lse + t->head * t->view.lse_head + i;
}

static void read_one(const tile *t, const void *from, uint64_t at, uint32_t n,
                     float factor, float *to)
{
    const uint32_t type = t->work->plan->desc.type;
    t->work->plan->kernels->load(
        type, vly_tile_at(from, at, vly_element_bits(type) / 8), n, factor, to);
}

static void read_query(const tile *t, uint32_t i, float factor, float *x,
                       float *y)
{
    const vly_attention_desc *desc = &t->work->plan->desc;
    read_one(t, t->work->run->q, q_at(t, i), desc->dim, factor, x);
    read_one(t, t->work->run->grad_o, o_at(t, i), desc->dim_v, 1.0f, y);
}

static void read_key(const tile *t, uint32_t j, float factor, float *x,
                     float *y)
{
    const vly_attention_desc *desc = &t->work->plan->desc;
    read_one(t, t->work->run->k,
             vly_attention_kv_at(&t->view, t->view.k, &desc->k, t->head_kv, j),
             desc->dim, factor, x);
    read_one(t, t->work->run->v,
             vly_attention_kv_at(&t->view, t->view.v, &desc->v, t->head_kv, j),
             desc->dim_v, 1.0f, y);
}

/* Columns [first, first + n), queries or keys, plain and transposed. */
static void read_columns(tile *t, int are_keys, uint32_t first, uint32_t n)
{
    const vly_attention_desc *desc = &t->work->plan->desc;
    const vly_attention_kernels *kernels = t->work->plan->kernels;
    const void *rows_x[COLUMNS];
    const void *rows_y[COLUMNS];
    for (uint32_t c = 0; c < n; c++) {
        float *x = t->column_x + (uint64_t)c * t->pad;
        float *y = t->column_y + (uint64_t)c * t->pad_v;
        rows_x[c] = x;
        rows_y[c] = y;
        if (are_keys)
            read_key(t, first + c, 1.0f, x, y);
        else
            read_query(t, first + c, 1.0f, x, y);
    }
    kernels->load_columns(VLY_ELEMENT_F32, rows_x, n, desc->dim,
                          t->transpose_x);
    kernels->load_columns(VLY_ELEMENT_F32, rows_y, n, desc->dim_v,
                          t->transpose_y);
}

/* s = x X^T, d = y Y^T */
static void multiply(const tile *t)
{
    const vly_attention_desc *desc = &t->work->plan->desc;
    vly_attention_product product = {.a = t->x,
                                     .b = t->transpose_x,
                                     .c = t->s,
                                     .n_rows = t->n,
                                     .n_cols = COLUMNS,
                                     .n_inner = desc->dim,
                                     .lda = t->pad,
                                     .ldb = COLUMNS,
                                     .ldc = COLUMNS};
    t->work->plan->kernels->product(&product);
    product.a = t->y;
    product.b = t->transpose_y;
    product.c = t->d;
    product.n_inner = desc->dim_v;
    product.lda = t->pad_v;
    t->work->plan->kernels->product(&product);
}

/* A query without keys has lse = -inf; replaced by +inf, all of its weights
 * become 0. */
static float usable(float lse)
{
    return lse == -INFINITY ? INFINITY : lse;
}

static void take_scratch(tile *t, uint8_t *at)
{
    const vly_attention_desc *desc = &t->work->plan->desc;
    t->pad = vly_tile_pad(desc->dim);
    t->pad_v = vly_tile_pad(desc->dim_v);
    t->x = vly_tile_take(&at, (uint64_t)ROWS * t->pad);
    t->y = vly_tile_take(&at, (uint64_t)ROWS * t->pad_v);
    t->grad_x = vly_tile_take(&at, (uint64_t)ROWS * t->pad);
    t->grad_y = vly_tile_take(&at, (uint64_t)ROWS * t->pad_v);
    t->s = vly_tile_take(&at, (uint64_t)ROWS * COLUMNS);
    t->d = vly_tile_take(&at, (uint64_t)ROWS * COLUMNS);
    t->column_x = vly_tile_take(&at, (uint64_t)COLUMNS * t->pad);
    t->column_y = vly_tile_take(&at, (uint64_t)COLUMNS * t->pad_v);
    t->transpose_x = vly_tile_take(&at, (uint64_t)COLUMNS * desc->dim);
    t->transpose_y = vly_tile_take(&at, (uint64_t)COLUMNS * desc->dim_v);
    memset(t->grad_x, 0, (size_t)t->n * t->pad * sizeof(float));
    memset(t->grad_y, 0, (size_t)t->n * t->pad_v * sizeof(float));
}

static void write_rows(const tile *t, const float *grad, uint32_t pad,
                       uint32_t dim, uint32_t type, void *to,
                       uint64_t (*at)(const tile *t, uint32_t row))
{
    for (uint32_t row = 0; row < t->n; row++)
        vly_element_from_f32(type, grad + (uint64_t)row * pad, to, at(t, row),
                             dim);
}

/* ---- tiles of queries: grad_Q ------------------------------------------ */

static uint64_t row_q_at(const tile *t, uint32_t row)
{
    return q_at(t, t->first + row);
}

static void read_query_rows(tile *t)
{
    const vly_attention_desc *desc = &t->work->plan->desc;
    float o[256];
    for (uint32_t row = 0; row < t->n; row++) {
        const uint32_t i = t->first + row;
        float *y = t->y + (uint64_t)row * t->pad_v;
        double delta = 0.0;
        read_query(t, i, t->work->plan->scale, t->x + (uint64_t)row * t->pad,
                   y);
        read_one(t, t->work->run->o, o_at(t, i), desc->dim_v, 1.0f, o);
        for (uint32_t c = 0; c < desc->dim_v; c++)
            delta += (double)y[c] * (double)o[c];
        t->delta[row] = (float)delta;
        t->lse[row] = usable(((const float *)t->work->run->lse)[lse_at(t, i)]);
        t->work->delta[lse_at(t, i)] = t->delta[row];
    }
}

static void add_keys(tile *t, uint32_t first, uint32_t n)
{
    const vly_attention_desc *desc = &t->work->plan->desc;
    const vly_attention_kernels *kernels = t->work->plan->kernels;
    read_columns(t, 1, first, n);
    multiply(t);
    for (uint32_t row = 0; row < t->n; row++) {
        uint32_t from = 0;
        uint32_t to = 0;
        vly_attention_visible(desc, &t->view, t->first + row, &from, &to);
        vly_tile_range(first, n, from, to, &t->begin[row], &t->end[row]);
        kernels->weigh(t->s + row * COLUMNS, t->d + row * COLUMNS, &t->lse[row],
                       &t->delta[row], 0);
    }
    vly_tile_add(kernels, t->d, t->column_x, t->grad_x, t->n, t->pad, t->begin,
                 t->end);
}

/* Unit = (batch * heads_q + head) * tiles + tile */
static void query_unit(void *arg, uint64_t unit, uint32_t thread)
{
    const gradient_work *work = arg;
    const vly_attention_plan *plan = work->plan;
    const vly_attention_desc *desc = &plan->desc;
    const uint32_t tiles = (desc->seq_q + ROWS - 1) / ROWS;
    const uint64_t head = unit / tiles;
    tile t = {.work = work, .head = (uint32_t)(head % desc->heads_q)};
    vly_attention_view_make(desc, work->run, (uint32_t)(head / desc->heads_q),
                            &t.view);
    t.head_kv = t.head / (desc->heads_q / desc->heads_kv);
    t.first = (uint32_t)(tiles - 1 - unit % tiles) * ROWS;
    if (t.first >= t.view.n_q)
        return;
    t.n = t.view.n_q - t.first < ROWS ? t.view.n_q - t.first : ROWS;
    take_scratch(&t, plan->scratch + thread * plan->scratch_bytes);
    read_query_rows(&t);
    uint32_t from = 0;
    uint32_t to = 0;
    uint32_t other = 0;
    vly_attention_visible(desc, &t.view, t.first, &from, &other);
    vly_attention_visible(desc, &t.view, t.first + t.n - 1, &other, &to);
    from = from / COLUMNS * COLUMNS;
    for (uint32_t j = from; j < to; j += COLUMNS)
        add_keys(&t, j, to - j < COLUMNS ? to - j : COLUMNS);
    plan->kernels->scale(t.grad_x, t.n * t.pad, plan->scale);
    write_rows(&t, t.grad_x, t.pad, desc->dim, desc->type_o, work->run->grad_q,
               row_q_at);
}

/* ---- tiles of keys: grad_K, grad_V ------------------------------------- */

static uint64_t row_k_at(const tile *t, uint32_t row)
{
    return vly_attention_kv_at(&t->view, t->view.k, &t->work->plan->desc.k,
                               t->head_kv, t->first + row);
}

static uint64_t row_v_at(const tile *t, uint32_t row)
{
    return vly_attention_kv_at(&t->view, t->view.v, &t->work->plan->desc.v,
                               t->head_kv, t->first + row);
}

/* For every row (key), the columns (queries) that see it: from and to of the
 * queries never descend. Returns whether there is any. */
static bool find_ranges(tile *t, uint32_t first, uint32_t n)
{
    const vly_attention_desc *desc = &t->work->plan->desc;
    uint32_t from[COLUMNS];
    uint32_t to[COLUMNS];
    bool any = false;
    for (uint32_t c = 0; c < n; c++)
        vly_attention_visible(desc, &t->view, first + c, &from[c], &to[c]);
    for (uint32_t row = 0; row < t->n; row++) {
        const uint32_t j = t->first + row;
        uint32_t begin = row > 0 ? t->begin[row - 1] : 0;
        uint32_t end = row > 0 ? t->end[row - 1] : 0;
        while (begin < n && to[begin] <= j)
            begin++;
        while (end < n && from[end] <= j)
            end++;
        t->begin[row] = begin;
        t->end[row] = end;
        any |= begin < end;
    }
    for (uint32_t row = 0; row < t->n; row++)
        t->begin[row] =
            t->begin[row] < t->end[row] ? t->begin[row] : t->end[row];
    return any;
}

static void add_queries(tile *t, uint32_t first, uint32_t n)
{
    const vly_attention_kernels *kernels = t->work->plan->kernels;
    float lse[COLUMNS] __attribute__((aligned(64))) = {0};
    float delta[COLUMNS] __attribute__((aligned(64))) = {0};
    if (!find_ranges(t, first, n))
        return;
    read_columns(t, 0, first, n);
    multiply(t);
    for (uint32_t c = 0; c < n; c++) {
        lse[c] =
            usable(((const float *)t->work->run->lse)[lse_at(t, first + c)]);
        delta[c] = t->work->delta[lse_at(t, first + c)];
    }
    for (uint32_t row = 0; row < t->n; row++)
        kernels->weigh(t->s + row * COLUMNS, t->d + row * COLUMNS, lse, delta,
                       1);
    vly_tile_add(kernels, t->s, t->column_y, t->grad_y, t->n, t->pad_v,
                 t->begin, t->end);
    vly_tile_add(kernels, t->d, t->column_x, t->grad_x, t->n, t->pad, t->begin,
                 t->end);
}

/* Unit = (batch * heads_kv + head) * tiles + tile */
static void key_unit(void *arg, uint64_t unit, uint32_t thread)
{
    const gradient_work *work = arg;
    const vly_attention_plan *plan = work->plan;
    const vly_attention_desc *desc = &plan->desc;
    const uint32_t group = desc->heads_q / desc->heads_kv;
    const uint32_t tiles = (desc->seq_kv + ROWS - 1) / ROWS;
    const uint64_t head = unit / tiles;
    tile t = {.work = work, .head_kv = (uint32_t)(head % desc->heads_kv)};
    vly_attention_view_make(desc, work->run, (uint32_t)(head / desc->heads_kv),
                            &t.view);
    t.first = (uint32_t)(unit % tiles) * ROWS;
    if (t.first >= t.view.n_kv)
        return;
    t.n = t.view.n_kv - t.first < ROWS ? t.view.n_kv - t.first : ROWS;
    take_scratch(&t, plan->scratch + thread * plan->scratch_bytes);
    for (uint32_t row = 0; row < t.n; row++)
        read_key(&t, t.first + row, plan->scale, t.x + (uint64_t)row * t.pad,
                 t.y + (uint64_t)row * t.pad_v);
    for (uint32_t g = 0; g < group; g++) {
        t.head = t.head_kv * group + g;
        for (uint32_t i = 0; i < t.view.n_q; i += COLUMNS)
            add_queries(&t, i,
                        t.view.n_q - i < COLUMNS ? t.view.n_q - i : COLUMNS);
    }
    plan->kernels->scale(t.grad_x, t.n * t.pad, plan->scale);
    write_rows(&t, t.grad_x, t.pad, desc->dim, desc->type_o, work->run->grad_k,
               row_k_at);
    write_rows(&t, t.grad_y, t.pad_v, desc->dim_v, desc->type_o,
               work->run->grad_v, row_v_at);
}

/* ---- the way ----------------------------------------------------------- */

static uint64_t n_query_units(const vly_attention_desc *desc)
{
    return (uint64_t)desc->batch * desc->heads_q *
           ((desc->seq_q + (uint64_t)ROWS - 1) / ROWS);
}

static uint64_t n_key_units(const vly_attention_desc *desc)
{
    return (uint64_t)desc->batch * desc->heads_kv *
           ((desc->seq_kv + (uint64_t)ROWS - 1) / ROWS);
}

void vly_attention_gradient_plan(vly_attention_plan *plan, uint64_t *n_units)
{
    const vly_attention_desc *desc = &plan->desc;
    const uint64_t pads = vly_tile_pad(desc->dim) + vly_tile_pad(desc->dim_v);
    const uint64_t a = n_query_units(desc);
    const uint64_t b = n_key_units(desc);
    plan->workspace_bytes =
        (uint64_t)desc->batch * desc->heads_q * desc->seq_q * sizeof(float);
    plan->scratch_bytes =
        sizeof(float) * (ROWS * (2 * pads + 2 * COLUMNS) + 2 * COLUMNS * pads) +
        10 * 64;
    *n_units = a > b ? a : b;
}

void vly_attention_gradient(const vly_attention_plan *plan,
                            const vly_attention_run *run)
{
    gradient_work work = {.plan = plan, .run = run, .delta = run->workspace};
    vly_attention_units(plan->n_threads, n_query_units(&plan->desc), query_unit,
                        &work);
    vly_attention_units(plan->n_threads, n_key_units(&plan->desc), key_unit,
                        &work);
}
