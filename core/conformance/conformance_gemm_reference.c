/* SPDX-License-Identifier: Apache-2.0
 * Products in float64, and error bounds of a correct result.
 *
 * With u = 2^-24, S = sum |a| |b| |scales|, k products:
 *   sum      e = r(k) u S, r(k) = min(k, 6 sqrt(k)) + 4: k roundings, of which
 *            the signs differ (Higham and Mary 2019, doi:10.1137/18M1226312:
 *            lambda = 6 fails once in 10^7), and four for scales
 *   tf32     + 2 * 2^-10 S: each factor cut to 10 bits
 *   a device + for the narrower adders of matrix units: 16 bits (k / 4) 2^-24 S
 *            (cut, not rounded, once in 16 products, and 4 times as coarse);
 *            fp8 2^-10 S (13 bits kept inside 128 products), fast
 *            (k / 32 + 8) 2^-13 S (not promoted in between)
 *   before f x = alpha sum + beta c + bias, e' = |alpha| e + 4 u (|alpha| S +
 *            |beta c| + |bias|)
 *   f        relu e'; relu2 2 |x| e' + e'^2; gelu 1.13 e' (its steepest slope)
 *            + |x| 2^-20, on a device |x| 2^-11 (tanh.approx)
 *   D        + u_D |y| + half the smallest number of D
 * int8 to int32 is exact.
 */
#include <math.h>
#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "conformance/conformance_element.h"
#include "conformance/conformance_gemm.h"

static double scale_of(const gemm_host *host, bool is_b, uint64_t batch,
                       uint64_t row, uint64_t k)
{
    const vly_gemm_desc *desc = host->desc;
    const uint32_t which = is_b ? GEMM_SCALE_B : GEMM_SCALE_A;
    const uint32_t mode = is_b ? desc->scale_b : desc->scale_a;
    if (mode == VLY_SCALE_NONE)
        return 1.0;
    const gemm_tensor t = conformance_gemm_tensor(desc, which);
    uint64_t index = batch * t.stride;
    if (mode == VLY_SCALE_ROW)
        index += row;
    else if (mode == VLY_SCALE_BLOCK)
        index += (is_b ? row / 128 : row) * t.cols + k / 128;
    else if (mode == VLY_SCALE_GROUP)
        index += row * t.cols + k / 128;
    return conformance_element_get(t.type, host->tensors[which], index);
}

/* [n][k] true values of rows of A or columns of B; freed by the caller */
static vly_status factor_make(const gemm_host *host, bool is_b, uint64_t batch,
                              const uint64_t *rows, uint64_t n, double **made,
                              vly_error *error)
{
    const vly_gemm_desc *desc = host->desc;
    const uint32_t which = is_b ? GEMM_B : GEMM_A;
    const gemm_tensor t = conformance_gemm_tensor(desc, which);
    const uint64_t k = desc->k;
    const bool across = is_b ? (desc->flags & VLY_GEMM_TRANS_B) == 0
                             : (desc->flags & VLY_GEMM_TRANS_A) != 0;
    double *x = vly_malloc(n * k, sizeof *x);
    if (!x)
        return vly_fail_nomem(error, n * k * sizeof *x, "a reference");
    for (uint64_t i = 0; i < n; i++)
        for (uint64_t j = 0; j < k; j++) {
            const uint64_t at =
                across ? j * t.pitch + rows[i] : rows[i] * t.pitch + j;
            x[i * k + j] = conformance_element_get(t.type, host->tensors[which],
                                                   batch * t.stride + at) *
                           scale_of(host, is_b, batch, rows[i], j);
        }
    *made = x;
    return VLY_OK;
}

static double activate(uint32_t activation, double x)
{
    switch (activation) {
    case VLY_GEMM_RELU:
        return x < 0 ? 0 : x;
    case VLY_GEMM_RELU2:
        return x < 0 ? 0 : x * x;
    case VLY_GEMM_GELU:
        return x / 2 *
               (1 + tanh(sqrt(2 / acos(-1.0)) * (x + 0.044715 * x * x * x)));
    default:
        return x;
    }
}

/* Of the sum alone. */
static double sum_bound(const gemm_host *host, double s)
{
    const vly_gemm_desc *desc = host->desc;
    const double k = (double)desc->k;
    double r = 6 * sqrt(k);
    double e = ((k < r ? k : r) + 4) * 0x1p-24 * s;
    if ((desc->flags & VLY_GEMM_TF32) != 0)
        e += 2 * 0x1p-10 * s;
    if (!host->is_device)
        return e;
    if (desc->type_a == VLY_ELEMENT_E4M3)
        return e + ((desc->flags & VLY_GEMM_FAST) != 0
                        ? (k / 32 + 8) * 0x1p-13 * s
                        : 0x1p-10 * s);
    if (desc->type_a == VLY_ELEMENT_F16 || desc->type_a == VLY_ELEMENT_BF16)
        e += k / 4 * 0x1p-24 * s;
    return e;
}

static double bound_of(const gemm_host *host, double s, double x, double rest)
{
    const vly_gemm_desc *desc = host->desc;
    const double size = fabs((double)host->alpha) * s + rest;
    double e =
        fabs((double)host->alpha) * sum_bound(host, s) + 4 * 0x1p-24 * size;
    if (desc->activation == VLY_GEMM_RELU2)
        e = 2 * fabs(x) * e + e * e;
    if (desc->activation == VLY_GEMM_GELU)
        e = 1.13 * e + fabs(x) * (host->is_device ? 0x1p-11 : 0x1p-20);
    const double y = activate(desc->activation, x);
    return e + conformance_element_roundoff(desc->type_d) * (fabs(y) + e) +
           conformance_element_least(desc->type_d) / 2;
}

/* Modulo 2^32, as a number of int32. */
static double wrapped(double x)
{
    const double range = 4294967296.0;
    const double y = x - floor(x / range) * range;
    return y >= range / 2 ? y - range : y;
}

static void element(const gemm_host *host, uint64_t batch, uint64_t row,
                    uint64_t col, const double *a, const double *b,
                    double *value, double *bound)
{
    const vly_gemm_desc *desc = host->desc;
    const bool reads = !(host->alpha == 0.0f) && desc->k > 0;
    double sum = 0;
    double s = 0;
    double x = 0;
    double rest = 0;
    for (uint64_t k = 0; reads && k < desc->k; k++) {
        sum += a[k] * b[k];
        s += fabs(a[k] * b[k]);
    }
    if (reads)
        x = (double)host->alpha * sum;
    if (host->beta != 0.0f) {
        const double c = (double)host->beta *
                         conformance_element_get(
                             desc->type_d, host->tensors[GEMM_C],
                             batch * desc->stride_c + row * desc->ldc + col);
        x += c;
        rest += fabs(c);
    }
    if ((desc->flags & VLY_GEMM_BIAS) != 0) {
        const double bias =
            conformance_element_get(desc->type_d, host->tensors[GEMM_BIAS],
                                    batch * desc->stride_bias + col);
        x += bias;
        rest += fabs(bias);
    }
    if (desc->type_d == VLY_ELEMENT_I32) {
        *value = wrapped(x);
        *bound = 0;
        return;
    }
    *value = activate(desc->activation, x);
    *bound = bound_of(host, s, x, rest);
}

vly_status conformance_gemm_reference(const gemm_host *host, uint64_t batch,
                                      const uint64_t *rows, uint64_t n_rows,
                                      const uint64_t *cols, uint64_t n_cols,
                                      double *values, double *bounds,
                                      vly_error *error)
{
    double *a = NULL;
    double *b = NULL;
    const uint64_t k = host->desc->k;
    vly_status status = VLY_OK;
    if (!(host->alpha == 0.0f)) {
        VLY_TRY(factor_make(host, false, batch, rows, n_rows, &a, error));
        VLY_TRY(factor_make(host, true, batch, cols, n_cols, &b, error));
    }
    for (uint64_t i = 0; i < n_rows; i++)
        for (uint64_t j = 0; j < n_cols; j++)
            element(host, batch, rows[i], cols[j], a ? a + i * k : NULL,
                    b ? b + j * k : NULL, &values[i * n_cols + j],
                    &bounds[i * n_cols + j]);
out:
    vly_free(a);
    vly_free(b);
    return status;
}
