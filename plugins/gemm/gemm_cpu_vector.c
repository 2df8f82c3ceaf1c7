/* SPDX-License-Identifier: Apache-2.0
 * m = 1: one pass over B, a row of weights a time. Such products are limited by
 * the bytes of B, so each is converted once, in pieces that stay in the first
 * cache.
 *
 * B along k: 32 partial sums of each dot product, added as a tree; otherwise a
 * sum for each column, k ascending. Neither order depends on threads or
 * vectors.
 */
#include <string.h>

#include "gemm_cpu.h"

enum {
    DOT_ROWS = 16,   /* of B that share a converted piece of A */
    AXPY_COLS = 512, /* columns of a piece of work */
    AXPY_STEP = 256  /* elements of A at once */
};

static uint64_t pieces_of(const vly_gemm_problem *p)
{
    const uint64_t cols =
        (p->desc.flags & VLY_GEMM_TRANS_B) != 0 ? DOT_ROWS : AXPY_COLS;
    return p->desc.n / cols + (p->desc.n % cols != 0);
}

uint64_t vly_gemm_vector_pieces(const vly_gemm_problem *problem)
{
    return pieces_of(problem) * problem->desc.batch;
}

/* Elements [k, k + n) of the single row of A, in either layout. */
static void load_a(const vly_gemm_kernels *kernels, const vly_gemm_operand *a,
                   uint64_t k, float *to, uint64_t n)
{
    if (a->along_k) {
        kernels->load(a, 0, k, to, n);
        return;
    }
    for (uint64_t i = 0; i < n; i++)
        kernels->load_across(a, k + i, 0, to + i, 1);
}

/* Elements of B, in place if they are already floats. */
static const float *floats_of(const vly_gemm_kernels *kernels,
                              const vly_gemm_operand *b, uint64_t row,
                              uint64_t k, float *buffer, uint64_t n)
{
    if (b->type == VLY_ELEMENT_F32)
        return (const float *)b->data +
               (b->along_k ? row * b->pitch + k : k * b->pitch + row);
    if (b->along_k)
        kernels->load(b, row, k, buffer, n);
    else
        kernels->load_across(b, k, row, buffer, n);
    return buffer;
}

static float add_lanes(float lanes[VLY_GEMM_LANES])
{
    for (int half = VLY_GEMM_LANES / 2; half > 0; half /= 2)
        for (int l = 0; l < half; l++)
            lanes[l] += lanes[l + half];
    return lanes[0];
}

/* Sums of up to DOT_ROWS rows of B; whole: int8. */
static void dot_rows(const vly_gemm_work *work, const vly_gemm_operand *a,
                     const vly_gemm_operand *b, uint64_t row, uint64_t n,
                     float *sums, uint32_t *whole)
{
    const vly_gemm_kernels *kernels = work->plan->kernels;
    const uint64_t k = work->plan->problem.desc.k;
    float lanes[DOT_ROWS][VLY_GEMM_LANES];
    float x[VLY_GEMM_CHUNK];
    float y[VLY_GEMM_CHUNK];
    memset(lanes, 0, sizeof lanes);
    for (uint64_t at = 0; at < k; at += VLY_GEMM_CHUNK) {
        const uint64_t m = k - at < VLY_GEMM_CHUNK ? k - at : VLY_GEMM_CHUNK;
        load_a(kernels, a, at, x, m);
        for (uint64_t r = 0; r < n; r++) {
            kernels->dot(x, floats_of(kernels, b, row + r, at, y, m), m,
                         lanes[r]);
            if (!whole)
                continue;
            float sum = add_lanes(lanes[r]); /* exact: see VLY_GEMM_CHUNK */
            vly_gemm_flush(&sum, &whole[r], 1);
            memset(lanes[r], 0, sizeof lanes[r]);
        }
    }
    for (uint64_t r = 0; r < n && !whole; r++)
        sums[r] = add_lanes(lanes[r]);
}

static void axpy_cols(const vly_gemm_work *work, const vly_gemm_operand *a,
                      const vly_gemm_operand *b, uint64_t col, uint64_t n,
                      float *sums, uint32_t *whole)
{
    const vly_gemm_kernels *kernels = work->plan->kernels;
    const uint64_t k = work->plan->problem.desc.k;
    float x[AXPY_STEP];
    float y[AXPY_COLS];
    memset(sums, 0, (size_t)n * sizeof *sums);
    for (uint64_t at = 0; at < k; at += AXPY_STEP) {
        const uint64_t m = k - at < AXPY_STEP ? k - at : AXPY_STEP;
        load_a(kernels, a, at, x, m);
        for (uint64_t i = 0; i < m; i++) {
            kernels->axpy(x[i], floats_of(kernels, b, col, at + i, y, n), sums,
                          n);
        }
        if (whole)
            vly_gemm_flush(sums, whole, n);
    }
}

void vly_gemm_vector_run(const vly_gemm_work *work, uint64_t index)
{
    const vly_gemm_problem *p = &work->plan->problem;
    const uint64_t pieces = pieces_of(p);
    const uint64_t batch = index / pieces;
    const bool along = (p->desc.flags & VLY_GEMM_TRANS_B) != 0;
    const uint64_t cols = along ? DOT_ROWS : AXPY_COLS;
    const uint64_t col = index % pieces * cols;
    const uint64_t n = p->desc.n - col < cols ? p->desc.n - col : cols;
    const bool is_whole =
        p->kind == VLY_GEMM_INT8 || p->kind == VLY_GEMM_INT8_SCALED;
    const vly_gemm_operand a = vly_gemm_operand_a(work, batch);
    const vly_gemm_operand b = vly_gemm_operand_b(work, batch);
    float sums[AXPY_COLS];
    uint32_t wholes[AXPY_COLS];
    memset(wholes, 0, sizeof wholes);
    uint32_t *whole = is_whole ? wholes : NULL;
    if (along)
        dot_rows(work, &a, &b, col, n, sums, whole);
    else
        axpy_cols(work, &a, &b, col, n, sums, whole);
    if (is_whole)
        vly_gemm_epilogue_whole(work, batch, 0, col, wholes, n);
    else
        vly_gemm_epilogue(work, batch, 0, col, sums, n);
}
