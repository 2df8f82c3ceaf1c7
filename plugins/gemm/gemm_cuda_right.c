/* SPDX-License-Identifier: Apache-2.0
 * Checks a candidate: the first and the last rows of the first and the last
 * product must be those of gemm_own.cu in fp32, within the error of one
 * rounding; after gelu its elements must be those of one rounding and not of
 * two.
 */
#include <math.h>

#include <cuda_runtime_api.h>

#include "gemm_cuda_tune.h"

enum {
    ENOUGH_VOTES = 16,
    VOTE_TRIES = 8,
};

/* Outcome of one run. */
typedef struct finding {
    float off;         /* error as a multiple of the allowed error */
    vly_cuda_votes of; /* elements that distinguish one rounding from two */
} finding;

static vly_status check(cudaError_t code, const char *what, vly_error *error)
{
    return vly_accel_cuda_check((int)code, what, error);
}

bool vly_gemm_cuda_must_verify(const vly_gemm_problem *p)
{
    const vly_gemm_desc *d = &p->desc;
    const bool is_half =
        d->type_d == VLY_ELEMENT_F16 || d->type_d == VLY_ELEMENT_BF16;
    return d->scale_a == VLY_SCALE_BLOCK ||
           (is_half && ((d->flags & VLY_GEMM_BIAS) != 0 ||
                        d->activation != VLY_GEMM_IDENTITY));
}

/* Allowed rounding errors: half a unit of D; sums in another order, in k / 16
 * steps that a tensor core truncates; factors of tf32; sums of about 14 bits
 * (fp8); tanh.approx, with an error of 2^-11. A wrong result has an error of
 * about 1. */
static vly_cuda_allowance allowance(const vly_gemm_problem *p)
{
    const vly_gemm_desc *d = &p->desc;
    vly_cuda_allowance a = {0};
    if (p->kind == VLY_GEMM_INT8)
        return a;
    const double fine = 0x1p-15 + (double)d->k * 0x1p-26;
    double order = fine < 0x1p-13 ? fine : 0x1p-13;
    if ((d->flags & VLY_GEMM_TF32) != 0)
        order = 0x1p-7;
    if (p->kind == VLY_GEMM_FP8)
        order = 0x1p-5;
    const double size = vly_gemm_cuda_typical(d);
    const double half = d->type_d == VLY_ELEMENT_BF16  ? 0x1p-8
                        : d->type_d == VLY_ELEMENT_F16 ? 0x1p-11
                                                       : 0;
    a.of_d = (float)(half + order);
    a.of_x = d->activation == VLY_GEMM_GELU ? 0x1p-11f : 0.0f;
    a.of_all =
        (float)(order *
                (d->activation == VLY_GEMM_RELU2 ? size + size * size : size));
    return a;
}

/* Rows [first, first + rows) of product z as a product of its own. */
static vly_cuda_gemm rows_of(const vly_gemm_problem *p, const vly_gemm_run *run,
                             uint64_t z, uint64_t first, uint64_t rows)
{
    vly_cuda_gemm g;
    vly_gemm_cuda_describe(p, run, &g);
    const vly_gemm_desc *d = &p->desc;
    const uint64_t size_a = d->type_a == VLY_ELEMENT_F32    ? 4
                            : d->type_a == VLY_ELEMENT_F16  ? 2
                            : d->type_a == VLY_ELEMENT_BF16 ? 2
                                                            : 1;
    const uint64_t size_d =
        d->type_d == VLY_ELEMENT_F16 || d->type_d == VLY_ELEMENT_BF16 ? 2 : 4;
    const uint64_t size_b =
        d->type_b == VLY_ELEMENT_F32                                    ? 8
        : d->type_b == VLY_ELEMENT_F16 || d->type_b == VLY_ELEMENT_BF16 ? 4
        : d->type_b == VLY_ELEMENT_I4                                   ? 1
                                      : 2; /* half bytes */
    const uint64_t blocks = (d->k + 127) / 128;
    const uint64_t scales = d->scale_a == VLY_SCALE_ROW     ? first
                            : d->scale_a == VLY_SCALE_BLOCK ? first * blocks
                                                            : 0;
    const uint64_t scale_size =
        vly_gemm_scale_type(d) == VLY_ELEMENT_F32 ? 4 : 2;
    g.a = (const char *)g.a +
          (z * d->stride_a + (g.trans_a ? first : first * d->lda)) * size_a;
    g.b = (const char *)g.b + z * d->stride_b * size_b / 2;
    g.d = (char *)g.d + (z * d->stride_d + first * d->ldd) * size_d;
    g.c = (const char *)g.c + (z * d->stride_c + first * d->ldc) * size_d;
    if (g.bias)
        g.bias = (const char *)g.bias + z * d->stride_bias * size_d;
    g.scale_a = (const char *)g.scale_a + (z * d->stride_scale_a + scales) * 4;
    g.scale_b = (const char *)g.scale_b + z * d->stride_scale_b * scale_size;
    g.m = rows;
    g.batch = 1;
    return g;
}

/* Writes the largest difference of the rows to *worst on the device. */
static cudaError_t compare_rows(const tuning *t, const vly_gemm_run *run,
                                uint64_t z, uint64_t first, uint64_t rows)
{
    const vly_gemm_desc *d = &t->problem->desc;
    const vly_cuda_gemm found = rows_of(t->problem, run, z, first, rows);
    vly_cuda_gemm g = found;
    g.d = t->rows;
    g.ldd = d->n;
    if (d->type_d != VLY_ELEMENT_I32) {
        g.type_d = VLY_CUDA_F32;
        g.beta = 0.0f;
    }
    g.bias = NULL;
    g.activation = VLY_CUDA_IDENTITY;
    cudaError_t code = vly_cuda_gemm_own(&g, t->stream);
    if (code == cudaSuccess)
        code = vly_cuda_gemm_compare(&found, t->rows, allowance(t->problem),
                                     t->worst, t->votes, t->stream);
    return code;
}

static cudaError_t clear_before(const tuning *t, const vly_gemm_run *run)
{
    cudaError_t code =
        cudaMemsetAsync(run->d, 255, (size_t)t->problem->bytes_d, t->stream);
    if (code == cudaSuccess)
        code = cudaMemsetAsync(t->worst, 0, sizeof *t->worst, t->stream);
    if (code == cudaSuccess)
        code = cudaMemsetAsync(t->votes, 0, sizeof *t->votes, t->stream);
    return code;
}

static cudaError_t read_finding(const tuning *t, finding *found)
{
    cudaError_t code = cudaMemcpyAsync(&found->off, t->worst, sizeof found->off,
                                       cudaMemcpyDeviceToHost, t->stream);
    if (code == cudaSuccess)
        code = cudaMemcpyAsync(&found->of, t->votes, sizeof found->of,
                               cudaMemcpyDeviceToHost, t->stream);
    return code == cudaSuccess ? cudaStreamSynchronize(t->stream) : code;
}

/* Runs the candidate once and checks the result; off is infinity if it does not
 * run, and error has the reason. alpha, beta, c and bias are the run's; beta is
 * 0, or there are two sets. */
static vly_status verify_once(const tuning *t, const vly_gemm_candidate *c,
                              const vly_gemm_lt lts[2], const vly_gemm_run *run,
                              finding *found, vly_error *error)
{
    const vly_gemm_desc *d = &t->problem->desc;
    const uint64_t rows =
        d->m < VLY_GEMM_CHECKED_ROWS ? d->m : VLY_GEMM_CHECKED_ROWS;
    *found = (finding){.off = INFINITY};
    /* elements that are not written stay NaN (integers: -1) */
    vly_status status = VLY_OK;
    VLY_TRY(check(clear_before(t, run), "cudaMemset", error));
    /* a library may refuse to run an algorithm of its heuristics */
    if (vly_gemm_cuda_launch(t->problem, c, &lts[c->staged], run, error) !=
        VLY_OK)
        return VLY_OK;
    VLY_TRY(check(compare_rows(t, run, 0, 0, rows), "comparing", error));
    VLY_TRY(check(compare_rows(t, run, d->batch - 1, d->m - rows, rows),
                  "comparing", error));
    VLY_TRY(check(read_finding(t, found), "comparing", error));
out:
    return status;
}

/* Runs on sums, C and bias in the curved range of gelu until enough elements
 * distinguish one rounding from an additional earlier one. The error of a
 * single element does not suffice: the tanh of a device has an error as large.
 * *off becomes VLY_GEMM_ROUNDS_BEFORE if most elements show two roundings. */
static vly_status count_votes(const tuning *t, const vly_gemm_candidate *c,
                              const vly_gemm_lt lts[2], float beta, float *off,
                              vly_error *error)
{
    const double size = vly_gemm_cuda_typical(&t->problem->desc);
    const float near =
        size > VLY_GEMM_NEAR_GELU ? VLY_GEMM_NEAR_GELU / (float)size : 1.0f;
    vly_cuda_votes all = {0};
    vly_status status = VLY_OK;
    for (int i = 0; i < VOTE_TRIES && status == VLY_OK &&
                    all.once + all.twice < ENOUGH_VOTES;
         i++) {
        /* other numbers in each try */
        const float scale = near * (1.0f - (float)i / 16.0f);
        vly_gemm_run run = vly_gemm_cuda_run_of(t, 0);
        finding found;
        run.alpha = scale;
        run.beta = beta * scale;
        run.c = vly_gemm_cuda_run_of(t, t->n_sets - 1).d;
        run.bias = t->sets + t->at[SMALL_BIAS];
        status = verify_once(t, c, lts, &run, &found, error);
        if (status == VLY_OK && !(found.off <= 1.0f)) {
            *off = found.off;
            return VLY_OK;
        }
        all.once += found.of.once;
        all.twice += found.of.twice;
    }
    if (all.twice > all.once)
        *off = VLY_GEMM_ROUNDS_BEFORE;
    return status;
}

bool vly_gemm_cuda_is_right(float off)
{
    return off >= 0.0f && off <= 1.0f;
}

vly_status vly_gemm_cuda_verify(const tuning *t, const vly_gemm_candidate *c,
                                const vly_gemm_lt lts[2], float *off,
                                vly_error *error)
{
    finding found, with_c;
    vly_gemm_run run = vly_gemm_cuda_run_of(t, 0);
    vly_status status = verify_once(t, c, lts, &run, &found, error);
    *off = found.off;
    if (status != VLY_OK || !vly_gemm_cuda_must_verify(t->problem) ||
        !vly_gemm_cuda_is_right(*off))
        return status;
    run.alpha = 0.5f;
    run.beta = -1.5f;
    run.c = vly_gemm_cuda_run_of(t, t->n_sets - 1).d;
    status = verify_once(t, c, lts, &run, &with_c, error);
    if (!(with_c.off <= *off))
        *off = with_c.off;
    if (t->problem->desc.activation != VLY_GEMM_GELU)
        return status;
    if (status == VLY_OK && vly_gemm_cuda_is_right(*off))
        status = count_votes(t, c, lts, 0.0f, off, error);
    if (status == VLY_OK && vly_gemm_cuda_is_right(*off))
        status = count_votes(t, c, lts, -1.5f, off, error);
    return status;
}
