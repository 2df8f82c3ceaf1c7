/* SPDX-License-Identifier: Apache-2.0
 * The CUDA kernels of attention, run on the processor (tests/support/simt),
 * against plain loops in double.
 */
#include <math.h>
#include <stdlib.h>

#include "volley_test.h"

#include "element.h"
#include "kernels/accelerators/attention_back.h"
#include "kernels/accelerators/attention_index.h"
#include "kernels/accelerators/attention_sm90.h"
#include "simt/simt_tensor.h"

const char vly_support_plugin[] = "test";

enum { PLAIN, MMA, DECODE, SM90, BACK };

typedef struct shape {
    const char *name;
    uint32_t kernel, type, batch, heads_q, heads_kv, seq_q, seq_kv, dim, dim_v;
    uint32_t causal;
    int32_t left, right;
    uint32_t lengths, page_size, n_splits, backward, config, type_o;
} shape;

enum { Q, K, V, O, GRAD_O, GRAD_Q, GRAD_K, GRAD_V, N_TENSORS };

/* Rows [position][head][dimension]; of K and V by page where there are any. */
typedef struct data {
    vly_attention_args args;
    void *tensor[N_TENSORS];
    double *value[N_TENSORS]; /* its contents, or the expected contents */
    double *lse;
    int32_t length_q[4], length_kv[4];
    int32_t pages[64];
    float scale_q[16], scale_k[16], scale_v[16], scale_o;
} data;

static uint64_t rng = 3;
static float steep = 1.0f; /* times the usual scale of scores */

static double uniform(void)
{
    rng = rng * 6364136223846793005u + 1442695040888963407u;
    return (double)(rng >> 40) * 0x1p-23 - 1.0;
}

static uint64_t row_at(const data *d, uint32_t which, uint32_t batch,
                       uint32_t head, uint32_t i)
{
    const vly_attention_args *a = &d->args;
    const int kv = which == K || which == V || which >= GRAD_K;
    const uint64_t dim =
        which == Q || which == K || which == GRAD_Q || which == GRAD_K
            ? a->dim
            : a->dim_v;
    uint64_t position = (uint64_t)batch * (kv ? a->seq_kv : a->seq_q) + i;
    if (kv && a->page_size != 0)
        position =
            (uint64_t)d->pages[batch * a->pages_most + i / a->page_size] *
                a->page_size +
            i % a->page_size;
    return (position * (kv ? a->heads_kv : a->heads_q) + head) * dim;
}

static uint64_t elements(const data *d, uint32_t which)
{
    const vly_attention_args *a = &d->args;
    const int kv = which == K || which == V || which >= GRAD_K;
    const uint64_t dim =
        which == Q || which == K || which == GRAD_Q || which == GRAD_K
            ? a->dim
            : a->dim_v;
    uint64_t rows = kv ? a->seq_kv : a->seq_q;
    if (kv && a->page_size != 0)
        rows = (uint64_t)a->pages_most * a->page_size;
    return a->batch * rows * (kv ? a->heads_kv : a->heads_q) * dim;
}

static vly_attention_strides strides(const data *d, uint32_t which)
{
    const vly_attention_args *a = &d->args;
    const int kv = which == K || which == V;
    vly_attention_strides s;
    s.head = which == Q || which == K ? a->dim : a->dim_v;
    s.seq = s.head * (kv ? a->heads_kv : a->heads_q);
    s.batch = s.seq * (kv ? a->seq_kv : a->seq_q);
    if (kv && a->page_size != 0)
        s.batch = s.seq * a->page_size;
    return s;
}

/* fp8: the value is the stored number times the scale of its key head */
static void scale_heads(data *d, uint32_t which)
{
    const vly_attention_args *a = &d->args;
    float *scales = which == Q   ? d->scale_q
                    : which == K ? d->scale_k
                                 : d->scale_v;
    if (a->type != VLY_ELEMENT_E4M3 || which > V)
        return;
    const uint32_t heads = which == Q ? a->heads_q : a->heads_kv;
    const uint32_t seq = which == Q ? a->seq_q : a->seq_kv;
    for (uint32_t i = 0; i < a->batch * a->heads_kv; i++)
        scales[i] = (float)(uniform() < 0.0 && which == K ? -0.75 - 0.25 * i
                                                          : 1.25 + 0.25 * i);
    for (uint32_t b = 0; b < a->batch; b++)
        for (uint32_t h = 0; h < heads; h++)
            for (uint32_t i = 0; i < seq; i++)
                for (uint32_t k = 0; k < a->dim; k++)
                    d->value[which][row_at(d, which, b, h, i) + k] *= (double)
                        scales[b * a->heads_kv + h / (heads / a->heads_kv)];
}

static void fill(data *d, uint32_t which)
{
    const uint64_t n = elements(d, which);
    const uint64_t bytes = n * 4 + 256;
    const int given = which < O || which == GRAD_O;
    d->tensor[which] = aligned_alloc(256, (bytes + 255) / 256 * 256);
    d->value[which] = calloc(n + 1, sizeof(double));
    assert_non_null(d->tensor[which]);
    assert_non_null(d->value[which]);
    memset(d->tensor[which], 0xff, bytes);
    for (uint64_t i = 0; given && i < n; i++)
        d->value[which][i] = which < V ? 2 * uniform() : uniform();
    if (!given)
        return;
    vly_element_from_f64(d->args.type, d->value[which], d->tensor[which], 0, n);
    vly_element_to_f64(d->args.type, d->tensor[which], 0, d->value[which], n);
    scale_heads(d, which);
}

static void make_data(data *d, const shape *c)
{
    memset(d, 0, sizeof *d);
    vly_attention_args *a = &d->args;
    a->batch = c->batch, a->heads_q = c->heads_q, a->heads_kv = c->heads_kv;
    a->seq_q = c->seq_q, a->seq_kv = c->seq_kv;
    a->dim = c->dim, a->dim_v = c->dim_v, a->type = c->type;
    a->type_o = c->type_o == 0 ? c->type : c->type_o;
    a->causal = c->causal, a->left = c->left, a->right = c->right;
    a->page_size = c->page_size;
    a->n_splits = c->n_splits == 0 ? 1 : c->n_splits;
    a->scale = steep * (1.0f / sqrtf((float)c->dim));
    if (c->page_size != 0)
        a->pages_most = (c->seq_kv + c->page_size - 1) / c->page_size;
    const uint32_t n_pages = c->batch * a->pages_most;
    assert_true(n_pages <= 64 && c->batch <= 4);
    for (uint32_t i = 0; i < n_pages; i++)
        d->pages[i] = (int32_t)(n_pages - 1 - i);
    for (uint32_t b = 0; b < c->batch; b++) {
        d->length_q[b] = (int32_t)c->seq_q;
        d->length_kv[b] = (int32_t)c->seq_kv;
    }
    if (c->lengths) { /* a shorter one, one without keys, one without queries */
        d->length_kv[1] = (int32_t)c->seq_kv * 2 / 3;
        d->length_kv[2] = 0;
        d->length_q[3] = 0;
        a->length_q = d->length_q, a->length_kv = d->length_kv;
    }
    for (uint32_t i = 0; i < N_TENSORS; i++)
        fill(d, i);
    a->stride_q = strides(d, Q), a->stride_k = strides(d, K);
    a->stride_v = strides(d, V), a->stride_o = strides(d, O);
    a->q = d->tensor[Q], a->k = d->tensor[K], a->v = d->tensor[V];
    a->o = d->tensor[O], a->grad_o = d->tensor[GRAD_O];
    a->grad_q = d->tensor[GRAD_Q], a->grad_k = d->tensor[GRAD_K];
    a->grad_v = d->tensor[GRAD_V];
    a->page_table = c->page_size != 0 ? d->pages : NULL;
    assert_true(c->batch * c->heads_kv <= 16);
    d->scale_o = 1.5f;
    if (c->type == VLY_ELEMENT_E4M3)
        a->scale_q = d->scale_q, a->scale_k = d->scale_k,
        a->scale_v = d->scale_v;
    if (a->type_o == VLY_ELEMENT_E4M3)
        a->scale_o = &d->scale_o;
    const uint64_t rows = (uint64_t)c->batch * c->heads_q * c->seq_q;
    a->lse = malloc((rows + 1) * sizeof(float));
    d->lse = calloc(rows + 1, sizeof(double));
    a->workspace =
        calloc(rows * a->n_splits * (c->dim_v + 2u) + 4096, sizeof(float));
    assert_true(a->lse != NULL && d->lse != NULL && a->workspace != NULL);
    memset(a->lse, 0xff, rows * sizeof(float));
}

static void free_data(data *d)
{
    for (uint32_t i = 0; i < N_TENSORS; i++) {
        free(d->tensor[i]);
        free(d->value[i]);
    }
    free(d->args.lse);
    free(d->args.workspace);
    free(d->lse);
}

/* ---- plain loops in double --------------------------------------------- */

static double dot(const double *x, const double *y, uint32_t n)
{
    double sum = 0.0;
    for (uint32_t i = 0; i < n; i++)
        sum += x[i] * y[i];
    return sum;
}

/* y += w x */
static void add(double *y, double w, const double *x, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++)
        y[i] += w * x[i];
}

static void reference_row(data *d, const vly_attention_mask *mask,
                          uint32_t batch, uint32_t head, uint32_t i)
{
    const vly_attention_args *a = &d->args;
    const uint32_t kv = head / (a->heads_q / a->heads_kv);
    const double *q = d->value[Q] + row_at(d, Q, batch, head, i);
    double *o = d->value[O] + row_at(d, O, batch, head, i);
    const double *grad_o = d->value[GRAD_O] + row_at(d, O, batch, head, i);
    double *grad_q = d->value[GRAD_Q] + row_at(d, Q, batch, head, i);
    const int32_t first = vly_attention_first(mask, (int32_t)i);
    const int32_t end = vly_attention_end(mask, (int32_t)i);
    double most = -INFINITY;
    double sum = 0.0;
    double p[2048];
    assert_true(end <= 2048);
    for (int32_t j = first; j < end; j++) {
        const uint64_t k = row_at(d, K, batch, kv, (uint32_t)j);
        p[j] = dot(q, d->value[K] + k, a->dim) * (double)a->scale;
        most = p[j] > most ? p[j] : most;
    }
    for (int32_t j = first; j < end; j++)
        sum += p[j] = exp(p[j] - most);
    for (int32_t j = first; j < end; j++)
        add(o, p[j] /= sum, d->value[V] + row_at(d, V, batch, kv, (uint32_t)j),
            a->dim_v);
    d->lse[((uint64_t)batch * a->heads_q + head) * a->seq_q + i] =
        end > first ? most + log(sum) : -INFINITY;
    const double row_sum = dot(o, grad_o, a->dim_v);
    for (int32_t j = first; j < end; j++) {
        const uint64_t k = row_at(d, K, batch, kv, (uint32_t)j);
        const uint64_t v = row_at(d, V, batch, kv, (uint32_t)j);
        const double ds = p[j] *
                          (dot(grad_o, d->value[V] + v, a->dim_v) - row_sum) *
                          (double)a->scale;
        add(grad_q, ds, d->value[K] + k, a->dim);
        add(d->value[GRAD_K] + k, ds, q, a->dim);
        add(d->value[GRAD_V] + v, p[j], grad_o, a->dim_v);
    }
}

static void make_reference(data *d)
{
    const vly_attention_args *a = &d->args;
    for (uint32_t b = 0; b < a->batch; b++) {
        const vly_attention_mask mask = vly_attention_mask_make(
            d->length_q[b], d->length_kv[b], a->causal, a->left, a->right);
        for (uint32_t h = 0; h < a->heads_q; h++)
            for (uint32_t i = 0; i < (uint32_t)d->length_q[b]; i++)
                reference_row(d, &mask, b, h, i);
    }
}

/* What exists is near the reference, the rest as it was: NaN. */
static void compare(const data *d, uint32_t which, const char *name,
                    double bound)
{
    const vly_attention_args *a = &d->args;
    const int kv = which >= GRAD_K;
    const uint32_t dim = which == O || which == GRAD_V ? a->dim_v : a->dim;
    for (uint32_t b = 0; b < a->batch; b++)
        for (uint32_t h = 0; h < (kv ? a->heads_kv : a->heads_q); h++)
            for (uint32_t i = 0; i < (kv ? a->seq_kv : a->seq_q); i++) {
                const int exists =
                    (int32_t)i < (kv ? d->length_kv[b] : d->length_q[b]);
                const uint64_t at = row_at(d, which, b, h, i);
                double x[256];
                vly_element_to_f64(a->type_o, d->tensor[which], at, x, dim);
                for (uint32_t k = 0; k < dim; k++)
                    x[k] /= which == O && a->type_o == VLY_ELEMENT_E4M3
                                ? (double)d->scale_o
                                : 1.0;
                for (uint32_t k = 0; k < dim; k++)
                    if (exists
                            ? !(fabs(x[k] - d->value[which][at + k]) <= bound)
                            : !isnan(x[k]))
                        fail_msg("%s of batch %u, head %u, row %u, %u: %g, "
                                 "wanted %g%s",
                                 name, b, h, i, k, x[k],
                                 d->value[which][at + k],
                                 exists ? "" : " (not written)");
            }
}

/* ---- runs -------------------------------------------------------------- */

static void map_tensor(CUtensorMap *map, const data *d, uint32_t which,
                       uint32_t rows)
{
    const vly_attention_strides s = strides(d, which);
    const vly_attention_args *a = &d->args;
    const int kv = which == K || which == V;
    const simt_tensor t = {
        .first = d->tensor[which],
        .dim = {a->dim, kv ? a->seq_kv : a->seq_q,
                kv ? a->heads_kv : a->heads_q, a->batch},
        .stride = {s.seq, s.head, s.batch},
        .rows = rows,
        .size = vly_element_bits(a->type) / 8,
    };
    memcpy(map, &t, sizeof t);
}

static int run_sm90(data *d, uint32_t config)
{
    static uint32_t marks[256];
    static uint32_t next = 77;
    const vly_attention_args *a = &d->args;
    const vly_sm90_variant variant =
        vly_attention_sm90_variant(a->type, a->dim, config);
    vly_sm90_maps maps;
    vly_sm90_grid grid = {.section = 2, .config = config};
    assert_true(variant.rows != 0);
    grid.n_blocks = (a->seq_q + variant.rows - 1) / variant.rows;
    grid.n_tiles = grid.n_blocks * a->batch * a->heads_q;
    assert_true(grid.n_tiles <= 256);
    if (a->length_q != NULL)
        grid.marks = marks;
    if (a->seq_kv % 200 != 0) /* otherwise tiles in turn */
        grid.next = &next;
    map_tensor(&maps.q, d, Q, variant.rows);
    map_tensor(&maps.k, d, K, variant.keys);
    map_tensor(&maps.v, d, V, variant.keys);
    return vly_attention_sm90(a, &grid, &maps, 3, NULL);
}

/* Gradients; config: in order. The workspace is full of NaN before. */
static int run_back(data *d, uint32_t config)
{
    const vly_attention_args *a = &d->args;
    const uint32_t rows = vly_attention_back_rows(a->dim);
    vly_back_maps maps;
    vly_back_grid grid = {.section = 2, .ordered = config};
    assert_true(rows != 0);
    grid.n_rows = (a->seq_q + rows - 1) / rows * rows;
    grid.n_blocks = (a->seq_kv + VLY_BACK_KEYS - 1) / VLY_BACK_KEYS;
    grid.n_tiles = grid.n_blocks * a->batch * a->heads_kv;
    const size_t n = (size_t)a->batch * a->heads_q * grid.n_rows;
    const size_t words = n * (a->dim + 2u) + 1 + n / rows;
    float *memory = malloc(words * sizeof *memory);
    assert_non_null(memory);
    memset(memory, 0xff, words * sizeof *memory);
    grid.grad_q = memory;
    grid.lse = memory + n * a->dim;
    grid.row_sum = grid.lse + n;
    grid.turns = (uint32_t *)(grid.row_sum + n);
    map_tensor(&maps.q, d, Q, rows);
    map_tensor(&maps.grad_o, d, GRAD_O, rows);
    map_tensor(&maps.k, d, K, VLY_BACK_KEYS);
    map_tensor(&maps.v, d, V, VLY_BACK_KEYS);
    int code = vly_attention_back_begin(a, &grid, NULL);
    if (code == 0)
        code = vly_attention_back(a, &grid, &maps, 3, NULL);
    if (code == 0)
        code = vly_attention_back_end(a, &grid, NULL);
    free(memory);
    return code;
}

/* Values after the length of a sequence are NaN and must have no effect. */
static void spoil_padding(data *d)
{
    const vly_attention_args *a = &d->args;
    for (uint32_t b = 0; a->page_size == 0 && b < a->batch; b++)
        for (uint32_t i = (uint32_t)d->length_kv[b]; i < a->seq_kv; i++)
            for (uint32_t h = 0; h < a->heads_kv; h++)
                memset((char *)d->tensor[V] +
                           row_at(d, V, b, h, i) *
                               (vly_element_bits(a->type) / 8),
                       0xff, a->dim_v * (vly_element_bits(a->type) / 8));
}

static void check_shape(const shape *c)
{
    static data d;
    /* P and O are rounded to the type, values are below 1 */
    const double bound = c->type == VLY_ELEMENT_F32      ? 2e-5
                         : c->type == VLY_ELEMENT_F16    ? 2e-3
                         : c->type == VLY_ELEMENT_BF16   ? 1.6e-2
                         : c->type_o == VLY_ELEMENT_E4M3 ? 0.25
                                                         : 0.12;
    make_data(&d, c);
    spoil_padding(&d);
    make_reference(&d);
    int code = -1;
    if (c->kernel == PLAIN || c->kernel == BACK)
        code = vly_attention_plain(&d.args, NULL);
    else if (c->kernel == MMA)
        code = vly_attention_mma(&d.args, NULL);
    else if (c->kernel == DECODE)
        code = vly_attention_decode(&d.args, c->config, NULL);
    else
        code = run_sm90(&d, c->config);
    assert_int_equal(code, 0);
    print_message("%s\n", c->name);
    compare(&d, O, "O", bound);
    for (uint32_t b = 0; b < c->batch; b++)
        for (uint32_t x = 0; x < c->heads_q * c->seq_q; x++) {
            const uint64_t at = (uint64_t)b * c->heads_q * c->seq_q + x;
            if ((int32_t)(x % c->seq_q) >= d.length_q[b])
                assert_true(isnan(d.args.lse[at]));
            else if (d.args.lse[at] != (float)d.lse[at])
                assert_close((double)d.args.lse[at], d.lse[at], 1e-4);
        }
    if (c->backward) {
        assert_int_equal(c->kernel == BACK
                             ? run_back(&d, c->config)
                             : vly_attention_plain_backward(&d.args, NULL),
                         0);
        compare(&d, GRAD_Q, "grad_q", 4 * bound);
        compare(&d, GRAD_K, "grad_k", 4 * bound);
        compare(&d, GRAD_V, "grad_v", 4 * bound);
    }
    free_data(&d);
}

enum {
    F32 = VLY_ELEMENT_F32,
    F16 = VLY_ELEMENT_F16,
    BF16 = VLY_ELEMENT_BF16,
    FP8 = VLY_ELEMENT_E4M3
};

static const shape shapes[] = {
    {"plain", PLAIN, F32, 2, 4, 2, 40, 200, 24, 16, 2, 170, -1, 0, 0, 1, 1, 0,
     0},
    {"plain, lengths", PLAIN, BF16, 4, 2, 1, 30, 40, 16, 16, 1, -1, -1, 1, 0, 1,
     1, 0, 0},
    {"back", BACK, F16, 1, 2, 1, 150, 300, 64, 64, 0, -1, -1, 0, 0, 1, 1, 0, 0},
    {"back, causal", BACK, BF16, 2, 1, 1, 300, 300, 128, 128, 1, -1, -1, 0, 0,
     1, 1, 1, 0},
    {"back, grouped, in order", BACK, F16, 1, 4, 2, 200, 290, 128, 128, 2, -1,
     -1, 0, 0, 1, 1, 1, 0},
    {"back, nothing seen, in order", BACK, BF16, 1, 2, 2, 300, 90, 64, 64, 2,
     -1, -1, 0, 0, 1, 1, 1, 0},
    {"back, window, in order", BACK, F16, 1, 1, 1, 500, 600, 64, 64, 0, 100, 20,
     0, 0, 1, 1, 1, 0},
    {"back, 128", BACK, F16, 1, 2, 1, 150, 300, 128, 128, 0, -1, -1, 0, 0, 1, 1,
     0, 0},
    {"back, 64, causal", BACK, BF16, 1, 4, 2, 350, 300, 64, 64, 1, -1, -1, 0, 0,
     1, 1, 0, 0},
    {"back, window", BACK, F16, 1, 1, 1, 500, 400, 128, 128, 0, 30, 170, 0, 0,
     1, 1, 0, 0},
    {"mma", MMA, F16, 1, 2, 1, 140, 150, 64, 64, 1, -1, -1, 0, 0, 1, 0, 0, 0},
    {"mma, window", MMA, F16, 1, 1, 1, 70, 140, 72, 40, 2, 31, -1, 0, 0, 1, 0,
     0, 0},
    {"mma, lengths", MMA, BF16, 4, 2, 2, 60, 100, 128, 128, 0, 17, 5, 1, 0, 1,
     0, 0, 0},
    {"mma, 256, pages", MMA, F16, 1, 1, 1, 70, 80, 256, 256, 0, -1, -1, 0, 16,
     1, 0, 0, 0},
    {"decode", DECODE, BF16, 1, 8, 2, 1, 900, 128, 128, 0, -1, -1, 0, 0, 3, 0,
     8, 0},
    {"decode, 20 heads", DECODE, F16, 1, 20, 1, 1, 1301, 64, 64, 2, 1250, -1, 0,
     0, 1, 0, 8, 0},
    {"decode, lengths, pages", DECODE, F16, 4, 4, 2, 1, 200, 256, 256, 0, -1,
     -1, 1, 16, 3, 0, 4, 0},
    {"decode, half", DECODE, F16, 1, 8, 2, 1, 700, 128, 128, 0, -1, -1, 0, 0, 3,
     0, 4, 0},
    {"decode, half, 20 heads", DECODE, BF16, 1, 20, 1, 1, 301, 64, 64, 2, 250,
     -1, 0, 0, 2, 0, 4, 0},
    {"decode, half, pages", DECODE, F16, 4, 4, 2, 1, 200, 256, 256, 0, -1, -1,
     1, 16, 3, 0, 2, 0},
    {"sm90", SM90, F16, 1, 2, 1, 150, 300, 64, 64, 0, -1, -1, 0, 0, 1, 0, 0, 0},
    {"sm90, causal", SM90, BF16, 1, 1, 1, 300, 300, 128, 128, 1, -1, -1, 0, 0,
     1, 0, 0, 0},
    {"sm90, nothing seen", SM90, F16, 1, 2, 2, 200, 90, 64, 64, 2, -1, -1, 0, 0,
     1, 0, 0, 0},
    {"sm90, lengths", SM90, F16, 4, 2, 1, 150, 200, 64, 64, 2, 50, -1, 1, 0, 1,
     0, 0, 0},
    {"sm90, 256", SM90, F16, 1, 1, 1, 130, 140, 256, 256, 1, -1, -1, 0, 0, 1, 0,
     0, 0},
    {"sm90, three groups, causal", SM90, BF16, 1, 2, 1, 200, 500, 64, 64, 1, -1,
     -1, 0, 0, 1, 0, 0, 0},
    {"sm90, 128 keys", SM90, F16, 1, 1, 1, 70, 700, 128, 128, 2, -1, -1, 0, 0,
     1, 0, 1, 0},
    {"sm90, 176 keys, lengths", SM90, BF16, 4, 1, 1, 70, 400, 128, 128, 0, -1,
     -1, 1, 0, 1, 0, 0, 0},
    {"fp8", SM90, FP8, 1, 2, 1, 150, 700, 128, 128, 0, -1, -1, 0, 0, 1, 0, 0,
     BF16},
    {"fp8, lengths", SM90, FP8, 4, 2, 2, 150, 300, 128, 128, 1, -1, -1, 1, 0, 1,
     0, 0, FP8},
    {"fp8, bottom right", SM90, FP8, 1, 1, 1, 70, 700, 128, 128, 2, -1, -1, 0,
     0, 1, 0, 0, F16},
    {"fp8, window", SM90, FP8, 2, 1, 1, 70, 700, 128, 128, 0, 200, 20, 0, 0, 1,
     0, 0, BF16},
    {"fp8, 64", SM90, FP8, 1, 1, 1, 200, 300, 64, 64, 1, -1, -1, 0, 0, 1, 0, 0,
     BF16},
    {"fp8, 256", SM90, FP8, 1, 1, 1, 70, 300, 256, 256, 0, -1, -1, 0, 0, 1, 0,
     0, FP8},
};

static void test_attention(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof shapes / sizeof shapes[0]; i++)
        check_shape(&shapes[i]);
}

/* Every variant of own_sm90: full and with lengths, over several tiles. */
static void test_variants(void **state)
{
    static const uint32_t types[] = {F16, BF16, FP8};
    uint32_t found = 0;
    (void)state;
    for (uint32_t i = 0; i < 9; i++) {
        const uint32_t type = types[i % 3];
        const uint32_t dim = 64u << i / 3;
        for (uint32_t n = 0; vly_attention_sm90_variant(type, dim, n).rows != 0;
             n++) {
            const shape full = {"variant",
                                SM90,
                                type,
                                1,
                                1,
                                1,
                                70,
                                500,
                                dim,
                                dim,
                                2,
                                -1,
                                -1,
                                0,
                                0,
                                1,
                                0,
                                n,
                                type == FP8 ? BF16 : 0};
            shape full_steep = full;
            shape cut = full;
            cut.name = "variant, lengths";
            cut.batch = 4;
            cut.seq_kv = 280;
            cut.causal = 0;
            cut.lengths = 1;
            check_shape(&full);
            check_shape(&cut);
            /* a row's largest score grows from tile to tile, by many bits */
            steep = 16.0f;
            full_steep.name = "variant, steep";
            check_shape(&full_steep);
            steep = 1.0f;
            found++;
        }
    }
    assert_true(found >= 9);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_attention),
    cmocka_unit_test(test_variants),
};

VLY_TEST_MAIN(tests)
