/* SPDX-License-Identifier: Apache-2.0
 * From sums to D: scales, alpha, beta, bias, activation, one rounding.
 */
#include <math.h>
#include <string.h>

#include "element.h"
#include "gemm_cpu.h"

enum { STEP = 256 }; /* elements at once, on the stack */

/* Elements [first, first + n) as float; the rows of C, bias and D may be
 * anywhere but are aligned to their elements. */
static const void *element_at(const void *array, uint32_t type, uint64_t index)
{
    return (const uint8_t *)array + index * (vly_element_bits(type) / 8);
}

static void scale_sums(const vly_gemm_work *work, uint64_t batch, uint64_t row,
                       uint64_t col, float *x, uint64_t n)
{
    const vly_gemm_desc *desc = &work->plan->problem.desc;
    const float *a = work->run->scale_a;
    const float *b = work->run->scale_b;
    a = a ? a + batch * desc->stride_scale_a : NULL;
    if (desc->scale_a == VLY_SCALE_SCALAR || desc->scale_a == VLY_SCALE_ROW) {
        const float scale = a[desc->scale_a == VLY_SCALE_ROW ? row : 0];
        for (uint64_t i = 0; i < n; i++)
            x[i] *= scale;
    }
    if (desc->scale_b == VLY_SCALE_SCALAR) {
        const float scale = b[batch * desc->stride_scale_b];
        for (uint64_t i = 0; i < n; i++)
            x[i] *= scale;
    } else if (desc->scale_b == VLY_SCALE_ROW) {
        float scales[STEP];
        vly_element_to_f32(vly_gemm_scale_type(desc), work->run->scale_b,
                           batch * desc->stride_scale_b + col, scales, n);
        for (uint64_t i = 0; i < n; i++)
            x[i] *= scales[i];
    }
}

/* relu and relu2 keep a NaN here; volley/gemm.h does not require that. */
static void activate(uint32_t activation, float *x, uint64_t n)
{
    switch (activation) {
    case VLY_GEMM_RELU:
        for (uint64_t i = 0; i < n; i++)
            x[i] = x[i] < 0.0f ? 0.0f : x[i];
        break;
    case VLY_GEMM_RELU2:
        for (uint64_t i = 0; i < n; i++)
            x[i] = x[i] < 0.0f ? 0.0f : x[i] * x[i];
        break;
    case VLY_GEMM_GELU:
        for (uint64_t i = 0; i < n; i++) {
            const float u =
                0.7978845608f * (x[i] + 0.044715f * (x[i] * x[i] * x[i]));
            x[i] = 0.5f * x[i] * (1.0f + tanhf(u));
        }
        break;
    default:
        break;
    }
}

/* At most STEP elements. */
static void finish(const vly_gemm_work *work, uint64_t batch, uint64_t row,
                   uint64_t col, float *x, uint64_t n)
{
    const vly_gemm_desc *desc = &work->plan->problem.desc;
    const vly_gemm_run *run = work->run;
    float other[STEP];
    if (work->reads) {
        scale_sums(work, batch, row, col, x, n);
        for (uint64_t i = 0; i < n; i++)
            x[i] *= run->alpha;
    }
    if (run->beta != 0.0f) {
        vly_element_to_f32(desc->type_d, run->c,
                           batch * desc->stride_c + row * desc->ldc + col,
                           other, n);
        for (uint64_t i = 0; i < n; i++)
            x[i] += run->beta * other[i];
    }
    if ((desc->flags & VLY_GEMM_BIAS) != 0) {
        vly_element_to_f32(desc->type_d, run->bias,
                           batch * desc->stride_bias + col, other, n);
        for (uint64_t i = 0; i < n; i++)
            x[i] += other[i];
    }
    activate(desc->activation, x, n);
    vly_element_from_f32(desc->type_d, x, run->d,
                         batch * desc->stride_d + row * desc->ldd + col, n);
}

void vly_gemm_epilogue(const vly_gemm_work *work, uint64_t batch, uint64_t row,
                       uint64_t col, const float *sums, uint64_t n)
{
    float x[STEP];
    for (uint64_t at = 0; at < n; at += STEP) {
        const uint64_t m = n - at < STEP ? n - at : STEP;
        if (sums)
            memcpy(x, sums + at, (size_t)m * sizeof *x);
        else
            memset(x, 0, (size_t)m * sizeof *x);
        finish(work, batch, row, col + at, x, m);
    }
}

/* int8 to int32 */
static void finish_whole(const vly_gemm_work *work, uint64_t batch,
                         uint64_t row, uint64_t col, const uint32_t *sums,
                         uint64_t n)
{
    const vly_gemm_desc *desc = &work->plan->problem.desc;
    const uint32_t *c = NULL;
    uint32_t *d = work->run->d;
    d += batch * desc->stride_d + row * desc->ldd + col;
    if (work->run->beta != 0.0f)
        c = element_at(work->run->c, desc->type_d,
                       batch * desc->stride_c + row * desc->ldc + col);
    for (uint64_t i = 0; i < n; i++)
        d[i] = (sums ? sums[i] : 0) + (c ? c[i] : 0);
}

void vly_gemm_epilogue_whole(const vly_gemm_work *work, uint64_t batch,
                             uint64_t row, uint64_t col, const uint32_t *sums,
                             uint64_t n)
{
    float x[STEP];
    if (work->plan->problem.kind == VLY_GEMM_INT8) {
        finish_whole(work, batch, row, col, sums, n);
        return;
    }
    for (uint64_t at = 0; at < n; at += STEP) {
        const uint64_t m = n - at < STEP ? n - at : STEP;
        for (uint64_t i = 0; i < m; i++)
            x[i] = sums ? (float)(int32_t)sums[at + i] : 0.0f;
        finish(work, batch, row, col + at, x, m);
    }
}

void vly_gemm_flush(float *sums, uint32_t *wholes, uint64_t n)
{
    for (uint64_t i = 0; i < n; i++) {
        wholes[i] += (uint32_t)(int32_t)sums[i];
        sums[i] = 0.0f;
    }
}
