/* SPDX-License-Identifier: Apache-2.0
 * One run: the work that a candidate enqueues, and the places of its data in
 * the workspace.
 */
#include "gemm_cuda.h"

#include <string.h>

_Static_assert((int)VLY_CUDA_F16 == VLY_ELEMENT_F16 &&
                   (int)VLY_CUDA_BF16 == VLY_ELEMENT_BF16 &&
                   (int)VLY_CUDA_E4M3 == VLY_ELEMENT_E4M3 &&
                   (int)VLY_CUDA_I8 == VLY_ELEMENT_I8 &&
                   (int)VLY_CUDA_I4 == VLY_ELEMENT_I4 &&
                   (int)VLY_CUDA_I32 == VLY_ELEMENT_I32,
               "kernels number types as the interface does");
_Static_assert((int)VLY_CUDA_GELU == VLY_GEMM_GELU &&
                   (int)VLY_CUDA_RELU2 == VLY_GEMM_RELU2 &&
                   (int)VLY_CUDA_SCALE_ROW == VLY_SCALE_ROW &&
                   (int)VLY_CUDA_SCALE_GROUP == VLY_SCALE_GROUP,
               "and activations and scales");

/* ---- the workspace ----------------------------------------------------------
 */

/* Bytes from its beginning. */
typedef struct parts {
    uint64_t sums;    /* fp32 or int32 [n_parts][batch][rows][n] */
    uint64_t scale_a; /* scales of blocks in the layout of the library */
    uint64_t scale_b;
    uint64_t wide; /* weights of 16 bits */
    uint64_t library;
    uint64_t end;
} parts;

/* Reserves count * size bytes at *end; false on overflow. */
static bool reserve(uint64_t *end, uint64_t *at, uint64_t count, uint64_t size)
{
    uint64_t bytes = 0, next = 0;
    if (!vly_support_mul(count, size, &bytes) ||
        !vly_support_add(*end, bytes, &next) ||
        next > (uint64_t)INT64_MAX - 255)
        return false;
    *at = *end;
    *end = (next + 255) / 256 * 256;
    return true;
}

static bool product(uint64_t a, uint64_t b, uint64_t c, uint64_t *out)
{
    return vly_support_mul(a, b, out) && vly_support_mul(*out, c, out);
}

/* rows: number of rows whose sums are stored at once. */
static bool find_parts_of(const vly_gemm_problem *p,
                          const vly_gemm_candidate *c, uint64_t rows, parts *at)
{
    const vly_gemm_desc *d = &p->desc;
    uint64_t sums = 0, wide = 0, scale_a = 0, scale_b = 0;
    const uint64_t blocks = d->k / 128 + (d->k % 128 != 0);
    memset(at, 0, sizeof *at);
    const bool library = c->way == VLY_GEMM_WAY_LIBRARY;
    const bool split = c->way == VLY_GEMM_WAY_GEMV && c->n_parts > 1;
    if (!(library && c->staged) && !split && !library)
        return true;
    if (((library && c->staged) || split) &&
        (!product(d->batch, rows, d->n, &sums) ||
         !reserve(&at->end, &at->sums, sums,
                  sizeof(float) * (split ? c->n_parts : 1))))
        return false;
    if (library && d->scale_a == VLY_SCALE_BLOCK &&
        (!vly_support_mul(d->m, blocks, &scale_a) ||
         !vly_support_mul(d->n / 128 + 1, blocks + 3, &scale_b) ||
         !reserve(&at->end, &at->scale_a, scale_a, sizeof(float)) ||
         !reserve(&at->end, &at->scale_b, scale_b, sizeof(float))))
        return false;
    if (library && p->kind == VLY_GEMM_WEIGHT_ONLY &&
        (!product(d->stride_b != 0 ? d->batch : 1, d->n, d->k + 7, &wide) ||
         !reserve(&at->end, &at->wide, wide, sizeof(uint16_t))))
        return false;
    return reserve(&at->end, &at->library, c->library_bytes, 1);
}

/* Both are estimates: calls of 64 rows read B from the L2 cache, as long as
 * there are not too many launches. A candidate that is slower than own kernels
 * is not chosen.
 */
enum { ROWS_OF_A_PIECE = 64, MOST_PIECES = 64 };

uint64_t vly_gemm_cuda_staged_rows(const vly_gemm_problem *problem)
{
    const vly_gemm_desc *d = &problem->desc;
    const vly_gemm_candidate staged = {.way = VLY_GEMM_WAY_LIBRARY,
                                       .staged = 1};
    const uint64_t most = d->workspace_most;
    uint64_t row = 0;
    parts at;
    /* the library applies the scales of fp8, which would have to be split
     * too */
    if (problem->kind == VLY_GEMM_FP8 || problem->is_empty ||
        (find_parts_of(problem, &staged, d->m, &at) && at.end <= most) ||
        !find_parts_of(problem, &staged, 0, &at) || at.end > most ||
        !product(d->batch, d->n, sizeof(float), &row))
        return d->m;
    /* the same amount is left for the library */
    uint64_t rows = (most - at.end) / 2 / row;
    rows = rows / ROWS_OF_A_PIECE * ROWS_OF_A_PIECE;
    return rows > 0 && (d->m - 1) / rows < MOST_PIECES ? rows : d->m;
}

static bool find_parts(const vly_gemm_problem *p, const vly_gemm_candidate *c,
                       parts *at)
{
    return find_parts_of(
        p, c, c->staged != 0 ? vly_gemm_cuda_staged_rows(p) : p->desc.m, at);
}

uint64_t vly_gemm_cuda_workspace(const vly_gemm_problem *problem,
                                 const vly_gemm_candidate *candidate)
{
    parts at;
    return find_parts(problem, candidate, &at) ? at.end : UINT64_MAX;
}

static void *inside(const vly_gemm_run *run, uint64_t at)
{
    return (char *)run->workspace + at;
}

/* ---- kernels
 * ------------------------------------------------------------------ */

void vly_gemm_cuda_describe(const vly_gemm_problem *problem,
                            const vly_gemm_run *run, vly_cuda_gemm *g)
{
    const vly_gemm_desc *d = &problem->desc;
    *g = (vly_cuda_gemm){
        .a = run->a,
        .b = run->b,
        .c = run->c,
        .d = run->d,
        .bias = (d->flags & VLY_GEMM_BIAS) != 0 ? run->bias : NULL,
        .scale_a = run->scale_a,
        .scale_b = run->scale_b,
        .m = d->m,
        .n = d->n,
        .k = d->k,
        .lda = d->lda,
        .ldb = d->ldb,
        .ldc = d->ldc,
        .ldd = d->ldd,
        .batch = d->batch,
        .stride_a = d->stride_a,
        .stride_b = d->stride_b,
        .stride_c = d->stride_c,
        .stride_d = d->stride_d,
        .stride_bias = d->stride_bias,
        .stride_scale_a = d->stride_scale_a,
        .stride_scale_b = d->stride_scale_b,
        .alpha = run->alpha,
        .beta = run->beta,
        .type_a = d->type_a,
        .type_b = d->type_b,
        .type_d = d->type_d,
        .trans_a = (d->flags & VLY_GEMM_TRANS_A) != 0,
        .trans_b = (d->flags & VLY_GEMM_TRANS_B) != 0,
        .scale_a_mode = d->scale_a,
        .scale_b_mode = d->scale_b,
        .activation = d->activation,
    };
}

static vly_status run_gemv(const vly_gemm_problem *problem,
                           const vly_gemm_candidate *c, const vly_cuda_gemm *g,
                           const vly_gemm_run *run, vly_error *error)
{
    parts at;
    const cudaStream_t stream = (cudaStream_t)run->stream;
    (void)find_parts(problem, c, &at); /* it fitted when the plan was made */
    float *sums = c->n_parts > 1 ? inside(run, at.sums) : NULL;
    cudaError_t code = vly_cuda_gemv(g, c->shape, c->n_parts, sums, stream);
    if (code == cudaSuccess && c->n_parts > 1)
        code =
            vly_cuda_gemm_finish(g, sums, c->n_parts, VLY_CUDA_SUM_F32, stream);
    return vly_accel_cuda_check((int)code, "a product of few rows", error);
}

/* ---- the library
 * ----------------------------------------------------------------
 */

static vly_status set_pointer(const vly_gemm_lt *lt, uint32_t attribute,
                              const void *pointer, vly_error *error)
{
    return vly_gemm_cuda_status(
        lt->library,
        lt->library->desc_set(lt->operation,
                              (cublasLtMatmulDescAttributes_t)attribute,
                              &pointer, sizeof pointer),
        "cublasLtMatmulDescSetAttribute", error);
}

/* Can the library read scales of blocks from the caller's memory? A single line
 * needs no transposition, complete rows of B no padding. */
static bool is_as_wanted(const void *scales, bool in_order)
{
    return in_order && (uintptr_t)scales % 16 == 0;
}

/* Copies scales in another layout into the workspace. */
static vly_status pack_scales(const parts *at, const vly_gemm_run *run,
                              const vly_cuda_gemm *g, const void **a,
                              const void **b, vly_error *error)
{
    const uint64_t blocks = (g->k + 127) / 128;
    float *to_a = NULL, *to_b = NULL;
    if (!is_as_wanted(*a, g->m == 1 || blocks == 1))
        *a = to_a = inside(run, at->scale_a);
    if (!is_as_wanted(*b, blocks % 4 == 0))
        *b = to_b = inside(run, at->scale_b);
    return vly_accel_cuda_check((int)vly_cuda_gemm_pack_scales(
                                    g, to_a, to_b, (cudaStream_t)run->stream),
                                "scales of blocks", error);
}

/* Scales of product g (a batch of 1): the library's A is our B. */
static vly_status set_scales(const vly_gemm_lt *lt, const parts *at,
                             const vly_gemm_run *run, const vly_cuda_gemm *g,
                             vly_error *error)
{
    const void *a = g->scale_a;
    const void *b = g->scale_b;
    vly_status status = VLY_OK;
    if (g->scale_a_mode == VLY_CUDA_SCALE_BLOCK)
        status = pack_scales(at, run, g, &a, &b, error);
    if (status == VLY_OK)
        status =
            set_pointer(lt, CUBLASLT_MATMUL_DESC_B_SCALE_POINTER, a, error);
    return status == VLY_OK
               ? set_pointer(lt, CUBLASLT_MATMUL_DESC_A_SCALE_POINTER, b, error)
               : status;
}

static const void *plus(const void *from, uint64_t elements, uint32_t bytes)
{
    return from ? (const char *)from + elements * bytes : NULL;
}

static uint32_t bytes_of(uint32_t type)
{
    return type == VLY_CUDA_F32 || type == VLY_CUDA_I32    ? 4
           : type == VLY_CUDA_F16 || type == VLY_CUDA_BF16 ? 2
                                                           : 1;
}

/* One call: the whole batch, or a product of it. */
static vly_status call(const vly_gemm_lt *lt, const vly_gemm_candidate *c,
                       const parts *at, const vly_gemm_run *run,
                       const vly_cuda_gemm *g, const void *b, void *sums,
                       vly_error *error)
{
    const bool whole = g->type_a == VLY_CUDA_I8;
    const float one_f = 1.0f, none_f = 0.0f;
    /* alpha and beta of exact products were checked */
    const int32_t one_i = 1, beta_i = lt->staged ? 0 : (int32_t)g->beta;
    const void *alpha = whole        ? (const void *)&one_i
                        : lt->staged ? (const void *)&one_f
                                     : (const void *)&g->alpha;
    const void *beta = whole        ? (const void *)&beta_i
                       : lt->staged ? (const void *)&none_f
                                    : (const void *)&g->beta;
    void *d = lt->staged ? sums : g->d;
    const bool reads_c = !lt->staged && g->beta != 0.0f;
    return vly_gemm_cuda_status(
        lt->library,
        lt->library->matmul(lt->handle, lt->operation, alpha, b, lt->layout_b,
                            g->a, lt->layout_a, beta, reads_c ? g->c : d,
                            reads_c ? lt->layout_c : lt->layout_d, d,
                            lt->layout_d, &c->algo, inside(run, at->library),
                            c->library_bytes, (cudaStream_t)run->stream),
        "cublasLtMatmul", error);
}

/* Product z of the batch, as one of its own. */
static vly_cuda_gemm one_of(const vly_cuda_gemm *g, uint64_t z)
{
    vly_cuda_gemm one = *g;
    one.a = plus(g->a, z * g->stride_a, bytes_of(g->type_a));
    one.b = plus(g->b, z * g->stride_b, bytes_of(g->type_b));
    one.c = plus(g->c, z * g->stride_c, bytes_of(g->type_d));
    one.d = (char *)g->d + z * g->stride_d * bytes_of(g->type_d);
    one.bias = plus(g->bias, z * g->stride_bias, bytes_of(g->type_d));
    one.scale_a = plus(g->scale_a, z * g->stride_scale_a, sizeof(float));
    one.scale_b = plus(g->scale_b, z * g->stride_scale_b, sizeof(float));
    one.batch = 1;
    return one;
}

/* Arguments for the library's sums, and for the remaining work. */
static uint32_t sum_type(const vly_gemm_problem *problem)
{
    return problem->kind == VLY_GEMM_INT8_SCALED ? VLY_CUDA_SUM_I32
                                                 : VLY_CUDA_SUM_F32;
}

/* The next rows. Every call has the same number of rows, so that the library
 * has only one shape; the last call repeats some earlier rows. D, which may be
 * C, is written once. */
static vly_status run_piece(const vly_gemm_problem *problem,
                            const vly_gemm_candidate *c, const vly_gemm_lt *lt,
                            const parts *at, const vly_gemm_run *run,
                            const vly_cuda_gemm *g, const void *b,
                            uint64_t done, vly_error *error)
{
    const uint64_t first = done < g->m - lt->rows ? done : g->m - lt->rows;
    vly_cuda_gemm piece = *g;
    piece.a =
        plus(g->a, g->trans_a ? first : first * g->lda, bytes_of(g->type_a));
    vly_status status =
        call(lt, c, at, run, &piece, b, inside(run, at->sums), error);
    for (uint64_t z = 0; z < g->batch && status == VLY_OK; z++) {
        vly_cuda_gemm rest = one_of(g, z);
        const uint64_t sums = (z * lt->rows + done - first) * g->n;
        rest.m = lt->rows - (done - first);
        rest.c = plus(rest.c, done * g->ldc, bytes_of(g->type_d));
        rest.d = (char *)rest.d + done * g->ldd * bytes_of(g->type_d);
        if (g->scale_a_mode == VLY_CUDA_SCALE_ROW)
            rest.scale_a = plus(rest.scale_a, done, sizeof(float));
        status = vly_accel_cuda_check(
            (int)vly_cuda_gemm_finish(
                &rest, inside(run, at->sums + sums * sizeof(float)), 1,
                sum_type(problem), (cudaStream_t)run->stream),
            "the end of rows", error);
    }
    return status;
}

/* Converts weights to 16 bits if the library needs that. */
static vly_status widen(const vly_gemm_problem *problem, const parts *at,
                        const vly_gemm_run *run, const vly_cuda_gemm *g,
                        const void **b, vly_error *error)
{
    if (problem->kind != VLY_GEMM_WEIGHT_ONLY)
        return VLY_OK;
    *b = inside(run, at->wide);
    return vly_accel_cuda_check(
        (int)vly_cuda_gemm_widen(g, inside(run, at->wide),
                                 (cudaStream_t)run->stream),
        "weights to 16 bits", error);
}

/* All calls of a candidate, before the remaining work on its sums. */
static vly_status calls(const vly_gemm_problem *problem,
                        const vly_gemm_candidate *c, const vly_gemm_lt *lt,
                        const parts *at, const vly_gemm_run *run,
                        const vly_cuda_gemm *g, vly_error *error)
{
    const void *b = g->b;
    vly_status status = widen(problem, at, run, g, &b, error);
    if (status == VLY_OK && g->bias && !lt->staged && !lt->one_by_one)
        status =
            set_pointer(lt, CUBLASLT_MATMUL_DESC_BIAS_POINTER, g->bias, error);
    if (status != VLY_OK)
        return status;
    if (problem->kind != VLY_GEMM_FP8)
        return call(lt, c, at, run, g, b, inside(run, at->sums), error);
    for (uint64_t z = 0; z < g->batch && status == VLY_OK; z++) {
        const vly_cuda_gemm one = one_of(g, z);
        float *sums = (float *)inside(run, at->sums) + z * g->m * g->n;
        status = set_scales(lt, at, run, &one, error);
        if (status == VLY_OK && one.bias && !lt->staged)
            status = set_pointer(lt, CUBLASLT_MATMUL_DESC_BIAS_POINTER,
                                 one.bias, error);
        if (status == VLY_OK)
            status = call(lt, c, at, run, &one, one.b, sums, error);
    }
    return status;
}

/* Used if the workspace is too small for the sums of all rows. */
static vly_status run_pieces(const vly_gemm_problem *problem,
                             const vly_gemm_candidate *c, const vly_gemm_lt *lt,
                             const parts *at, const vly_gemm_run *run,
                             const vly_cuda_gemm *g, vly_error *error)
{
    const void *b = g->b;
    vly_status status = widen(problem, at, run, g, &b, error);
    for (uint64_t done = 0; done < g->m && status == VLY_OK; done += lt->rows)
        status = run_piece(problem, c, lt, at, run, g, b, done, error);
    return status;
}

static vly_status run_library(const vly_gemm_problem *problem,
                              const vly_gemm_candidate *c,
                              const vly_gemm_lt *lt, const vly_cuda_gemm *g,
                              const vly_gemm_run *run, vly_error *error)
{
    parts at;
    (void)find_parts(problem, c, &at);
    if (lt->n_pieces > 1)
        return run_pieces(problem, c, lt, &at, run, g, error);
    vly_status status = calls(problem, c, lt, &at, run, g, error);
    if (status != VLY_OK || !lt->staged)
        return status;
    vly_cuda_gemm rest = *g;
    if (problem->kind == VLY_GEMM_FP8) /* the library has applied them */
        rest.scale_a_mode = rest.scale_b_mode = VLY_CUDA_SCALE_NONE;
    return vly_accel_cuda_check(
        (int)vly_cuda_gemm_finish(&rest, inside(run, at.sums), 1,
                                  sum_type(problem), (cudaStream_t)run->stream),
        "the end of a product", error);
}

vly_status vly_gemm_cuda_launch(const vly_gemm_problem *problem,
                                const vly_gemm_candidate *candidate,
                                const vly_gemm_lt *lt, const vly_gemm_run *run,
                                vly_error *error)
{
    vly_cuda_gemm g;
    if (candidate->way == VLY_GEMM_WAY_NONE)
        return VLY_OK;
    vly_gemm_cuda_describe(problem, run, &g);
    if (!vly_gemm_reads(problem, run)) {
        g.alpha = 0.0f;
        return vly_accel_cuda_check(
            (int)vly_cuda_gemm_finish(&g, NULL, 0,
                                      problem->desc.type_d == VLY_ELEMENT_I32
                                          ? VLY_CUDA_SUM_I32
                                          : VLY_CUDA_SUM_F32,
                                      (cudaStream_t)run->stream),
            "a product without factors", error);
    }
    if (candidate->way == VLY_GEMM_WAY_GEMV)
        return run_gemv(problem, candidate, &g, run, error);
    if (candidate->way == VLY_GEMM_WAY_LIBRARY)
        return run_library(problem, candidate, lt, &g, run, error);
    return vly_accel_cuda_check(
        (int)vly_cuda_gemm_own(&g, (cudaStream_t)run->stream), "a product",
        error);
}
