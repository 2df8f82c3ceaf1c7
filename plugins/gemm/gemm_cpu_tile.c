/* SPDX-License-Identifier: Apache-2.0
 * One tile of D: blocks of A and B along k become floats, their products are
 * added to the tile's sums, and the sums become elements of D. A tile is the
 * work of one thread, so sums do not depend on the number of threads. By own
 * loops each sum is one chain of fused multiply-adds with k ascending, so there
 * they do not depend on the tile either.
 *
 * int8: so many products are exact in fp32 that blocks of VLY_GEMM_CHUNK can be
 * summed as floats, and only those sums are added as integers.
 */
#include <limits.h>
#include <string.h>

#include "gemm_cpu.h"

enum { ALIGN = 256, STACK_BYTES = 64 * 1024 };

static uint64_t least(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

static uint64_t up(uint64_t n, uint64_t unit)
{
    return (n + unit - 1) / unit * unit;
}

static bool is_whole(const vly_gemm_problem *p)
{
    return p->kind == VLY_GEMM_INT8 || p->kind == VLY_GEMM_INT8_SCALED;
}

/* Places of the parts of a thread's workspace. */
typedef struct parts {
    float *a;
    float *b;
    float *sums;      /* [rows][cols] */
    uint32_t *wholes; /* the same for int8; NULL */
} parts;

static uint64_t part_bytes(const vly_gemm_problem *p, const vly_gemm_tile *tile)
{
    return up(tile->rows * tile->depth * 4, ALIGN) +
           up(tile->cols * tile->depth * 4, ALIGN) +
           up(tile->rows * tile->cols * 4, ALIGN) * (is_whole(p) ? 2 : 1);
}

static parts parts_of(const vly_gemm_problem *p, const vly_gemm_tile *tile,
                      void *memory)
{
    uint8_t *at = memory;
    parts made = {.a = (void *)at};
    at += up(tile->rows * tile->depth * 4, ALIGN);
    made.b = (void *)at;
    at += up(tile->cols * tile->depth * 4, ALIGN);
    made.sums = (void *)at;
    at += up(tile->rows * tile->cols * 4, ALIGN);
    made.wholes = is_whole(p) ? (void *)at : NULL;
    return made;
}

/* ---- sizes ------------------------------------------------------------ */

static void count_tiles(const vly_gemm_desc *desc, vly_gemm_tile *tile)
{
    tile->n_rows = up(desc->m, tile->rows) / tile->rows;
    tile->n_cols = up(desc->n, tile->cols) / tile->cols;
}

/* Blocks of A and B that stay in a second-level cache of 1 MB; smaller blocks
 * if there are too few for the threads. */
static void plain_tile(const vly_gemm_desc *desc,
                       const vly_gemm_kernels *kernels, uint32_t n_threads,
                       vly_gemm_tile *tile)
{
    const uint64_t rows = 240 / kernels->rows * kernels->rows;
    const uint64_t cols = 192 / kernels->cols * kernels->cols;
    tile->rows = least(rows, up(desc->m, kernels->rows));
    tile->cols = least(cols, up(desc->n, kernels->cols));
    tile->depth = least(256, desc->k);
    count_tiles(desc, tile);
    while (tile->n_rows * tile->n_cols < 2ull * n_threads / desc->batch &&
           (tile->rows > 4u * kernels->rows || tile->cols > kernels->cols)) {
        if (tile->rows > 4u * kernels->rows && tile->rows >= tile->cols)
            tile->rows = up(tile->rows / 2, kernels->rows);
        else if (tile->cols > kernels->cols)
            tile->cols = up(tile->cols / 2, kernels->cols);
        else
            tile->rows = up(tile->rows / 2, kernels->rows);
        count_tiles(desc, tile);
    }
}

/* Sizes that fit on a stack. */
static void small_tile(const vly_gemm_desc *desc,
                       const vly_gemm_kernels *kernels, vly_gemm_tile *tile)
{
    tile->rows =
        least(24 / kernels->rows * kernels->rows, up(desc->m, kernels->rows));
    tile->cols = least(64, up(desc->n, kernels->cols));
    tile->depth = least(128, desc->k);
    count_tiles(desc, tile);
}

/* The library's order of sums may depend on the tile, so the tile must depend
 * only on the shape, not on the threads. */
static bool library_tile(const vly_gemm_problem *p, vly_gemm_tile *tile)
{
    const vly_gemm_desc *desc = &p->desc;
    tile->in_place = desc->type_a == VLY_ELEMENT_F32;
    if (desc->k > INT_MAX || desc->lda > INT_MAX || desc->ldb > INT_MAX ||
        desc->ldd > INT_MAX)
        return false;
    const uint64_t across = up((desc->n + 15) / 16, 64);
    tile->rows = least(tile->in_place ? 512 : 256, desc->m);
    tile->cols = least(least(tile->in_place ? 1024 : 512, across), desc->n);
    tile->depth = least(is_whole(p) ? VLY_GEMM_CHUNK : 512, desc->k);
    count_tiles(desc, tile);
    return true;
}

bool vly_gemm_tile_fit(const vly_gemm_problem *problem,
                       const vly_gemm_kernels *kernels, vly_gemm_way way,
                       uint32_t n_threads, uint64_t most, vly_gemm_tile *tile)
{
    vly_gemm_tile made;
    memset(&made, 0, sizeof made);
    if (way == VLY_GEMM_OPENBLAS && !library_tile(problem, &made))
        return false;
    if (way == VLY_GEMM_PLAIN)
        plain_tile(&problem->desc, kernels, n_threads, &made);
    if (!made.in_place)
        made.thread_bytes = part_bytes(problem, &made);
    const uint64_t tiles = made.n_rows * made.n_cols * problem->desc.batch;
    const uint64_t threads = least(n_threads, tiles);
    if (made.thread_bytes * threads > most) {
        if (way == VLY_GEMM_OPENBLAS)
            return false;
        small_tile(&problem->desc, kernels, &made);
        made.thread_bytes = 0;
    }
    *tile = made;
    return true;
}

/* ---- products of one tile --------------------------------------------- */

/* The part of D, and its product. */
typedef struct place {
    uint64_t batch;
    uint64_t row;
    uint64_t col;
    uint64_t n_rows;
    uint64_t n_cols;
} place;

static place place_of(const vly_gemm_plan *plan, uint64_t index)
{
    const vly_gemm_desc *desc = &plan->problem.desc;
    const vly_gemm_tile *tile = &plan->tile;
    const uint64_t tiles = tile->n_rows * tile->n_cols;
    place p = {.batch = index / tiles};
    /* down first: successive tiles share a block of B */
    p.row = index % tiles % tile->n_rows * tile->rows;
    p.col = index % tiles / tile->n_rows * tile->cols;
    p.n_rows = least(tile->rows, desc->m - p.row);
    p.n_cols = least(tile->cols, desc->n - p.col);
    return p;
}

static void add_plain(const vly_gemm_plan *plan, const vly_gemm_operand *a,
                      const vly_gemm_operand *b, const place *at, uint64_t k,
                      uint64_t n_k, const parts *w)
{
    const vly_gemm_kernels *kernels = plan->kernels;
    const uint64_t pitch = plan->tile.cols;
    kernels->pack(a, at->row, at->n_rows, k, n_k, kernels->rows, w->a);
    kernels->pack(b, at->col, at->n_cols, k, n_k, kernels->cols, w->b);
    for (uint64_t j = 0; j < at->n_cols; j += kernels->cols)
        for (uint64_t i = 0; i < at->n_rows; i += kernels->rows)
            kernels->multiply(n_k, w->a + i * n_k, w->b + j * n_k,
                              w->sums + i * pitch + j, pitch);
}

/* A block as in memory: [rows][n_k] along k, otherwise [n_k][rows] */
static uint64_t convert_block(const vly_gemm_kernels *kernels,
                              const vly_gemm_operand *operand, uint64_t row,
                              uint64_t n_rows, uint64_t k, uint64_t n_k,
                              float *to)
{
    if (operand->along_k) {
        for (uint64_t r = 0; r < n_rows; r++)
            kernels->load(operand, row + r, k, to + r * n_k, n_k);
        return n_k;
    }
    for (uint64_t i = 0; i < n_k; i++)
        kernels->load_across(operand, k + i, row, to + i * n_rows, n_rows);
    return n_rows;
}

static void add_library(const vly_gemm_plan *plan, const vly_gemm_operand *a,
                        const vly_gemm_operand *b, const place *at, uint64_t k,
                        uint64_t n_k, const parts *w)
{
    const uint64_t pitch_a =
        convert_block(plan->kernels, a, at->row, at->n_rows, k, n_k, w->a);
    const uint64_t pitch_b =
        convert_block(plan->kernels, b, at->col, at->n_cols, k, n_k, w->b);
    vly_gemm_blas_multiply(!a->along_k, b->along_k, at->n_rows, at->n_cols, n_k,
                           1.0f, w->a, pitch_a, w->b, pitch_b, 1.0f, w->sums,
                           plan->tile.cols);
}

static void finish(const vly_gemm_work *work, const place *at, const parts *w)
{
    const uint64_t pitch = work->plan->tile.cols;
    for (uint64_t i = 0; i < at->n_rows; i++) {
        if (w->wholes)
            vly_gemm_epilogue_whole(work, at->batch, at->row + i, at->col,
                                    w->wholes + i * pitch, at->n_cols);
        else
            vly_gemm_epilogue(work, at->batch, at->row + i, at->col,
                              w->sums + i * pitch, at->n_cols);
    }
}

static void run_blocks(const vly_gemm_work *work, const place *at, parts w)
{
    const vly_gemm_plan *plan = work->plan;
    const vly_gemm_tile *tile = &plan->tile;
    const vly_gemm_operand a = vly_gemm_operand_a(work, at->batch);
    const vly_gemm_operand b = vly_gemm_operand_b(work, at->batch);
    const uint64_t n_sums = tile->rows * tile->cols;
    const uint64_t k = plan->problem.desc.k;
    memset(w.sums, 0, (size_t)n_sums * sizeof *w.sums);
    if (w.wholes)
        memset(w.wholes, 0, (size_t)n_sums * sizeof *w.wholes);
    uint64_t unflushed = 0;
    for (uint64_t from = 0; from < k; from += tile->depth) {
        const uint64_t n_k = least(tile->depth, k - from);
        if (plan->way == VLY_GEMM_OPENBLAS)
            add_library(plan, &a, &b, at, from, n_k, &w);
        else
            add_plain(plan, &a, &b, at, from, n_k, &w);
        unflushed += n_k;
        if (w.wholes &&
            (unflushed + tile->depth > VLY_GEMM_CHUNK || from + n_k == k)) {
            vly_gemm_flush(w.sums, w.wholes, n_sums);
            unflushed = 0;
        }
    }
    finish(work, at, &w);
}

/* fp32 by the library, straight from A and B to D. */
static void run_in_place(const vly_gemm_work *work, const place *at)
{
    const vly_gemm_run *run = work->run;
    const vly_gemm_desc *desc = &work->plan->problem.desc;
    const bool trans_a = (desc->flags & VLY_GEMM_TRANS_A) != 0;
    const bool trans_b = (desc->flags & VLY_GEMM_TRANS_B) != 0;
    const float *a = run->a;
    const float *b = run->b;
    const float *c = run->c;
    float *d = run->d;
    a += at->batch * desc->stride_a + (trans_a ? at->row : at->row * desc->lda);
    b += at->batch * desc->stride_b + (trans_b ? at->col * desc->ldb : at->col);
    d += at->batch * desc->stride_d + at->row * desc->ldd + at->col;
    if (run->beta != 0.0f && run->c != run->d) {
        c += at->batch * desc->stride_c + at->row * desc->ldc + at->col;
        for (uint64_t i = 0; i < at->n_rows; i++)
            memcpy(d + i * desc->ldd, c + i * desc->ldc,
                   (size_t)at->n_cols * sizeof *d);
    }
    vly_gemm_blas_multiply(trans_a, trans_b, at->n_rows, at->n_cols, desc->k,
                           run->alpha, a, desc->lda, b, desc->ldb, run->beta, d,
                           desc->ldd);
    if ((desc->flags & VLY_GEMM_BIAS) == 0 && desc->activation == 0)
        return;
    /* remaining work: bias and activation of the present D */
    vly_gemm_run rest = *run;
    const vly_gemm_work left = {.plan = work->plan, .run = &rest};
    rest.beta = 0.0f;
    for (uint64_t i = 0; i < at->n_rows; i++)
        vly_gemm_epilogue(&left, at->batch, at->row + i, at->col,
                          d + i * desc->ldd, at->n_cols);
}

void vly_gemm_tile_run(const vly_gemm_work *work, uint64_t index,
                       void *workspace)
{
    const vly_gemm_plan *plan = work->plan;
    const place at = place_of(plan, index);
    if (plan->tile.in_place) {
        run_in_place(work, &at);
    } else if (plan->tile.thread_bytes > 0) {
        run_blocks(work, &at, parts_of(&plan->problem, &plan->tile, workspace));
    } else {
        _Alignas(64) uint8_t stack[STACK_BYTES];
        run_blocks(work, &at, parts_of(&plan->problem, &plan->tile, stack));
    }
}

/* 24 x 128 of A, 64 x 128 of B, 24 x 64 sums, twice for int8 */
_Static_assert((24 * 128 + 64 * 128 + 2 * 24 * 64) * 4 <= STACK_BYTES,
               "small tiles fit");
