/* SPDX-License-Identifier: Apache-2.0
 * Attention forward in fp32 over blocks of keys with an online softmax
 * (Milakov and Gimelshein 2018, arXiv:1805.02867; Dao et al. 2022,
 * arXiv:2205.14135).
 *
 * The rows of a key head are the queries of all its query heads, head by head:
 * a tile is 192 of them. So a single query of eight heads is one tile, and keys
 * and values are read once, where decoding spends its time. Where all rows of a
 * key head fit into one tile, long caches are cut into splits of 1024 keys
 * whose sums are joined afterwards, in ascending order; the cut depends on the
 * description only.
 */
#include <math.h>
#include <string.h>

#include "attention_tile.h"
#include "element.h"

enum { SPLIT_KEYS = 1024 };

/* The work of one unit, in the scratch of its thread. */
typedef struct tile {
    const vly_attention_plan *plan;
    const vly_attention_run *run;
    vly_attention_view view;
    uint32_t head_kv;
    uint64_t first; /* row of the key head */
    uint32_t n;
    uint32_t split;
    float *q;   /* [n][dim], scaled */
    float *s;   /* [n][64] */
    float *acc; /* [n][pad] */
    float *k;   /* [dim][64] */
    float *v;   /* [64][pad] */
    float most[VLY_TILE_ROWS];
    float sum[VLY_TILE_ROWS];
    float factor[VLY_TILE_ROWS];
    uint32_t from[VLY_TILE_ROWS];
    uint32_t to[VLY_TILE_ROWS];
    uint32_t begin[VLY_TILE_ROWS];
    uint32_t end[VLY_TILE_ROWS];
} tile;

typedef struct forward_work {
    const vly_attention_plan *plan;
    const vly_attention_run *run;
} forward_work;

void vly_tile_add(const vly_attention_kernels *kernels, const float *weights,
                  const float *values, float *out, uint32_t n_rows,
                  uint32_t width, const uint32_t *begin, const uint32_t *end)
{
    uint32_t row = 0;
    while (row < n_rows) {
        uint32_t same = row + 1; /* rows with the same range go together */
        while (same < n_rows && begin[same] == begin[row] &&
               end[same] == end[row])
            same++;
        vly_attention_product product = {
            .a = weights + row * VLY_TILE_COLUMNS + begin[row],
            .b = values + (uint64_t)begin[row] * width,
            .c = out + (uint64_t)row * width,
            .n_rows = same - row,
            .n_cols = width,
            .n_inner = end[row] - begin[row],
            .lda = VLY_TILE_COLUMNS,
            .ldb = width,
            .ldc = width,
            .adds = 1};
        if (product.n_inner > 0)
            kernels->product(&product);
        row = same;
    }
}

/* ---- rows -------------------------------------------------------------- */

static uint32_t group_of(const vly_attention_desc *desc)
{
    return desc->heads_q / desc->heads_kv;
}

static uint32_t head_of(const tile *t, uint32_t row)
{
    return t->head_kv * group_of(&t->plan->desc) +
           (uint32_t)((t->first + row) / t->view.n_q);
}

static uint32_t query_of(const tile *t, uint32_t row)
{
    return (uint32_t)((t->first + row) % t->view.n_q);
}

static uint64_t scale_at(const tile *t)
{
    return (uint64_t)t->view.batch * t->plan->desc.heads_kv + t->head_kv;
}

static void read_queries(tile *t)
{
    const vly_attention_desc *desc = &t->plan->desc;
    const uint32_t bytes = vly_element_bits(desc->type) / 8;
    float factor = t->plan->scale;
    if (desc->type == VLY_ELEMENT_E4M3)
        factor *= ((const float *)t->run->scale_q)[scale_at(t)] *
                  ((const float *)t->run->scale_k)[scale_at(t)];
    for (uint32_t row = 0; row < t->n; row++) {
        const uint32_t i = query_of(t, row);
        const uint64_t at = t->view.q + head_of(t, row) * desc->q.head +
                            (uint64_t)i * desc->q.seq;
        t->plan->kernels->load(desc->type, vly_tile_at(t->run->q, at, bytes),
                               desc->dim, factor, t->q + row * desc->dim);
        vly_attention_visible(desc, &t->view, i, &t->from[row], &t->to[row]);
        t->most[row] = -INFINITY;
        t->sum[row] = 0.0f;
    }
    memset(t->acc, 0, (size_t)t->n * vly_tile_pad(desc->dim_v) * sizeof(float));
}

/* ---- one block of keys ------------------------------------------------- */

static void read_block(tile *t, uint32_t first, uint32_t n)
{
    const vly_attention_desc *desc = &t->plan->desc;
    const vly_attention_kernels *kernels = t->plan->kernels;
    const uint32_t bytes = vly_element_bits(desc->type) / 8;
    const void *rows[VLY_TILE_COLUMNS];
    for (uint32_t j = 0; j < n; j++)
        rows[j] = vly_tile_at(t->run->k,
                              vly_attention_kv_at(&t->view, t->view.k, &desc->k,
                                                  t->head_kv, first + j),
                              bytes);
    kernels->load_columns(desc->type, rows, n, desc->dim, t->k);
    for (uint32_t j = 0; j < n; j++)
        kernels->load(
            desc->type,
            vly_tile_at(t->run->v,
                        vly_attention_kv_at(&t->view, t->view.v, &desc->v,
                                            t->head_kv, first + j),
                        bytes),
            desc->dim_v, 1.0f, t->v + (uint64_t)j * vly_tile_pad(desc->dim_v));
}

/* Ranges of the rows within the block, and -inf outside. */
static void mask_block(tile *t, uint32_t first, uint32_t n)
{
    for (uint32_t row = 0; row < t->n; row++) {
        float *s = t->s + row * VLY_TILE_COLUMNS;
        vly_tile_range(first, n, t->from[row], t->to[row], &t->begin[row],
                       &t->end[row]);
        for (uint32_t j = 0; j < t->begin[row]; j++)
            s[j] = -INFINITY;
        for (uint32_t j = t->end[row]; j < VLY_TILE_COLUMNS; j++)
            s[j] = -INFINITY;
    }
}

static void add_block(tile *t, uint32_t first, uint32_t n)
{
    const vly_attention_desc *desc = &t->plan->desc;
    const vly_attention_kernels *kernels = t->plan->kernels;
    const uint32_t pad = vly_tile_pad(desc->dim_v);
    const vly_attention_product scores = {.a = t->q,
                                          .b = t->k,
                                          .c = t->s,
                                          .n_rows = t->n,
                                          .n_cols = VLY_TILE_COLUMNS,
                                          .n_inner = desc->dim,
                                          .lda = desc->dim,
                                          .ldb = VLY_TILE_COLUMNS,
                                          .ldc = VLY_TILE_COLUMNS};
    read_block(t, first, n);
    kernels->product(&scores);
    mask_block(t, first, n);
    kernels->softmax(t->s, t->n, t->most, t->sum, t->factor);
    for (uint32_t row = 0; row < t->n; row++)
        if (t->factor[row] != 1.0f)
            kernels->scale(t->acc + (uint64_t)row * pad, pad, t->factor[row]);
    vly_tile_add(kernels, t->s, t->v, t->acc, t->n, pad, t->begin, t->end);
}

/* ---- results ----------------------------------------------------------- */

/* O and lse of one row from its sums. acc is overwritten. */
static void write_row(const tile *t, uint32_t row, float most, float sum,
                      float *acc)
{
    const vly_attention_desc *desc = &t->plan->desc;
    const vly_attention_run *run = t->run;
    const uint32_t head = head_of(t, row);
    const uint32_t i = query_of(t, row);
    const uint64_t at =
        t->view.o + head * desc->o.head + (uint64_t)i * desc->o.seq;
    float factor = 1.0f / sum;
    if (desc->type == VLY_ELEMENT_E4M3)
        factor *= ((const float *)run->scale_v)[scale_at(t)];
    if (desc->type_o == VLY_ELEMENT_E4M3)
        factor *= ((const float *)run->scale_o)[0];
    if (sum == 0.0f)
        memset(acc, 0, desc->dim_v * sizeof *acc);
    else
        for (uint32_t c = 0; c < desc->dim_v; c++)
            acc[c] *= factor;
    vly_element_from_f32(desc->type_o, acc, run->o, at, desc->dim_v);
    if (desc->flags & VLY_ATTENTION_LSE)
        ((float *)run->lse)[t->view.lse + head * t->view.lse_head + i] =
            sum == 0.0f ? -INFINITY
                        : (float)((most == -INFINITY ? 0.0 : (double)most) +
                                  log((double)sum));
}

/* Sums of a row and a split: most, sum, acc[dim_v]. */
static float *partial_at(const tile *t, uint32_t row, uint32_t split)
{
    const vly_attention_desc *desc = &t->plan->desc;
    const uint64_t rows = (uint64_t)group_of(desc) * desc->seq_q;
    const uint64_t at =
        (scale_at(t) * rows + t->first + row) * t->plan->n_splits + split;
    return (float *)t->run->workspace + at * (desc->dim_v + 2);
}

static void write_tile(tile *t)
{
    const vly_attention_desc *desc = &t->plan->desc;
    const uint32_t pad = vly_tile_pad(desc->dim_v);
    for (uint32_t row = 0; row < t->n; row++) {
        float *acc = t->acc + (uint64_t)row * pad;
        if (t->plan->n_splits == 1) {
            write_row(t, row, t->most[row], t->sum[row], acc);
            continue;
        }
        float *partial = partial_at(t, row, t->split);
        partial[0] = t->most[row];
        partial[1] = t->sum[row];
        memcpy(partial + 2, acc, desc->dim_v * sizeof *acc);
    }
}

/* The splits of one row, in ascending order. */
static void join_row(const tile *t, uint32_t row)
{
    const vly_attention_desc *desc = &t->plan->desc;
    float acc[256] = {0};
    float most = -INFINITY;
    float sum = 0.0f;
    for (uint32_t s = 0; s < t->plan->n_splits; s++) {
        const float *partial = partial_at(t, row, s);
        most = partial[0] > most ? partial[0] : most;
    }
    const float from = most == -INFINITY ? 0.0f : most;
    for (uint32_t s = 0; s < t->plan->n_splits; s++) {
        const float *partial = partial_at(t, row, s);
        float factor = 0.0f;
        const float x = partial[0] - from;
        t->plan->kernels->exp(&x, &factor, 1);
        sum += partial[1] * factor;
        for (uint32_t c = 0; c < desc->dim_v; c++)
            acc[c] += partial[2 + c] * factor;
    }
    write_row(t, row, most, sum, acc);
}

/* ---- units ------------------------------------------------------------- */

static uint64_t n_tiles(const vly_attention_desc *desc)
{
    const uint64_t rows = (uint64_t)group_of(desc) * desc->seq_q;
    return (rows + VLY_TILE_ROWS - 1) / VLY_TILE_ROWS;
}

/* Unit = ((batch * heads_kv + head) * tiles + tile) * splits + split; the last
 * tile, which sees most keys of a causal mask, comes first. 0: it has no row.
 */
static bool find_tile(const forward_work *work, uint64_t unit, tile *t)
{
    const vly_attention_desc *desc = &work->plan->desc;
    const uint32_t splits = work->plan->n_splits;
    const uint64_t tiles = n_tiles(desc);
    const uint64_t head = unit / splits / tiles;
    t->plan = work->plan;
    t->run = work->run;
    t->split = (uint32_t)(unit % splits);
    t->head_kv = (uint32_t)(head % desc->heads_kv);
    vly_attention_view_make(desc, work->run, (uint32_t)(head / desc->heads_kv),
                            &t->view);
    const uint64_t rows = (uint64_t)group_of(desc) * t->view.n_q;
    const uint64_t first = (tiles - 1 - unit / splits % tiles) * VLY_TILE_ROWS;
    if (first >= rows)
        return false;
    t->first = first;
    t->n =
        (uint32_t)(rows - first < VLY_TILE_ROWS ? rows - first : VLY_TILE_ROWS);
    return true;
}

static void forward_unit(void *arg, uint64_t unit, uint32_t thread)
{
    const forward_work *work = arg;
    const vly_attention_desc *desc = &work->plan->desc;
    uint8_t *at = work->plan->scratch + thread * work->plan->scratch_bytes;
    const uint32_t pad = vly_tile_pad(desc->dim_v);
    tile t;
    if (!find_tile(work, unit, &t))
        return;
    t.q = vly_tile_take(&at, (uint64_t)VLY_TILE_ROWS * desc->dim);
    t.s = vly_tile_take(&at, (uint64_t)VLY_TILE_ROWS * VLY_TILE_COLUMNS);
    t.acc = vly_tile_take(&at, (uint64_t)VLY_TILE_ROWS * pad);
    t.k = vly_tile_take(&at, (uint64_t)VLY_TILE_COLUMNS * desc->dim);
    t.v = vly_tile_take(&at, (uint64_t)VLY_TILE_COLUMNS * pad);
    read_queries(&t);
    uint32_t from = t.view.n_kv;
    uint32_t to = 0;
    for (uint32_t row = 0; row < t.n; row++) {
        from = t.from[row] < from ? t.from[row] : from;
        to = t.to[row] > to ? t.to[row] : to;
    }
    if (work->plan->n_splits > 1) {
        uint64_t begin = (uint64_t)t.split * SPLIT_KEYS;
        from = from > begin ? from : (uint32_t)begin;
        to = to < begin + SPLIT_KEYS ? to : (uint32_t)(begin + SPLIT_KEYS);
    }
    from = from / VLY_TILE_COLUMNS * VLY_TILE_COLUMNS;
    for (uint32_t j = from; j < to; j += VLY_TILE_COLUMNS)
        add_block(&t, j, to - j < VLY_TILE_COLUMNS ? to - j : VLY_TILE_COLUMNS);
    write_tile(&t);
}

/* Unit = batch * heads_kv + head: all its rows. */
static void join_unit(void *arg, uint64_t unit, uint32_t thread)
{
    const forward_work *work = arg;
    tile t;
    (void)thread;
    if (!find_tile(work, unit * work->plan->n_splits, &t))
        return;
    for (uint32_t row = 0; row < t.n; row++)
        join_row(&t, row);
}

/* ---- the way ----------------------------------------------------------- */

static uint64_t n_heads(const vly_attention_desc *desc)
{
    return (uint64_t)desc->batch * desc->heads_kv;
}

static void forward_plan(vly_attention_plan *plan, uint64_t *n_units)
{
    const vly_attention_desc *desc = &plan->desc;
    const uint32_t pad = vly_tile_pad(desc->dim_v);
    const uint64_t tiles = n_tiles(desc);
    const uint64_t rows = (uint64_t)group_of(desc) * desc->seq_q;
    plan->n_splits = 1;
    if (tiles == 1 && desc->seq_kv > SPLIT_KEYS) {
        uint32_t splits = (desc->seq_kv - 1) / SPLIT_KEYS + 1;
        uint64_t bytes =
            n_heads(desc) * rows * splits * (desc->dim_v + 2) * sizeof(float);
        if (bytes <= desc->workspace_most) {
            plan->n_splits = splits;
            plan->workspace_bytes = bytes;
        }
    }
    plan->scratch_bytes =
        sizeof(float) *
            ((uint64_t)VLY_TILE_ROWS * (desc->dim + VLY_TILE_COLUMNS + pad) +
             (uint64_t)VLY_TILE_COLUMNS * (desc->dim + pad)) +
        5 * 64;
    *n_units = n_heads(desc) * tiles * plan->n_splits;
}

static void blocked_plan(vly_attention_plan *plan, uint64_t *n_units)
{
    if (plan->desc.flags & VLY_ATTENTION_BACKWARD)
        vly_attention_gradient_plan(plan, n_units);
    else
        forward_plan(plan, n_units);
}

static void blocked_forward(const vly_attention_plan *plan,
                            const vly_attention_run *run)
{
    forward_work work = {.plan = plan, .run = run};
    const uint64_t units =
        n_heads(&plan->desc) * n_tiles(&plan->desc) * plan->n_splits;
    vly_attention_units(plan->n_threads, units, forward_unit, &work);
    if (plan->n_splits > 1)
        vly_attention_units(plan->n_threads, n_heads(&plan->desc), join_unit,
                            &work);
}

const vly_attention_way vly_attention_blocked = {
    .name = "blocked",
    .plan = blocked_plan,
    .forward = blocked_forward,
    .backward = vly_attention_gradient,
};
