/* SPDX-License-Identifier: Apache-2.0
 * A fake cuBLASLt: the functions that gemm_cuda uses, by plain loops
 * over column-major matrices in memory of the host, as the manual of cuBLAS
 * defines them (scales of 128-blocks: section 3.1.5). Its algorithms behave as
 * a test says.
 */
#include "fake_cublaslt.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <cublasLt.h>

#include "element.h"

#define EXPORT __attribute__((visibility("default")))

extern fake_cublaslt_state fake_cublaslt;
EXPORT fake_cublaslt_state fake_cublaslt = {.n_algorithms = 3};

/* Contents of the opaque descriptors. */
typedef struct operation {
    cublasComputeType_t compute;
    int32_t trans_a, trans_b, mode_a, mode_b;
    uint32_t epilogue;
    const void *bias, *scale_a, *scale_b;
    int64_t bias_stride;
} operation;

typedef struct matrix {
    cudaDataType_t type;
    uint64_t rows, cols;
    int64_t ld, stride;
    int32_t batch;
} matrix;

typedef struct preference {
    uint64_t most_bytes;
    uint32_t reductions;
} preference;

static void *create(size_t bytes)
{
    if (fake_cublaslt.fail_at > 0 && --fake_cublaslt.fail_at == 0)
        return NULL;
    void *made = calloc(1, bytes);
    fake_cublaslt.n_live += made != NULL;
    return made;
}

static cublasStatus_t destroy(void *descriptor)
{
    fake_cublaslt.n_live--;
    free(descriptor);
    return CUBLAS_STATUS_SUCCESS;
}

EXPORT size_t cublasLtGetVersion(void)
{
    return 130100;
}

EXPORT cublasStatus_t cublasLtCreate(cublasLtHandle_t *handle)
{
    static char one;
    void *made = &one;
    memcpy(handle, &made, sizeof made);
    return CUBLAS_STATUS_SUCCESS;
}

/* ---- descriptors --------------------------------------------------------- */

EXPORT cublasStatus_t cublasLtMatmulDescCreate(cublasLtMatmulDesc_t *out,
                                               cublasComputeType_t compute,
                                               cudaDataType_t scale)
{
    operation *made = create(sizeof *made);
    if (made == NULL)
        return CUBLAS_STATUS_ALLOC_FAILED;
    made->compute = compute;
    (void)scale;
    *out = (cublasLtMatmulDesc_t)(void *)made;
    return CUBLAS_STATUS_SUCCESS;
}

EXPORT cublasStatus_t cublasLtMatmulDescDestroy(cublasLtMatmulDesc_t d)
{
    return destroy(d);
}

EXPORT cublasStatus_t cublasLtMatmulDescSetAttribute(
    cublasLtMatmulDesc_t d, cublasLtMatmulDescAttributes_t attribute,
    const void *value, size_t bytes)
{
    operation *o = (operation *)(void *)d;
    int8_t fast = 0;
    const struct {
        int attribute;
        void *at;
        size_t bytes;
    } all[] = {
        {CUBLASLT_MATMUL_DESC_TRANSA, &o->trans_a, 4},
        {CUBLASLT_MATMUL_DESC_TRANSB, &o->trans_b, 4},
        {CUBLASLT_MATMUL_DESC_EPILOGUE, &o->epilogue, 4},
        {CUBLASLT_MATMUL_DESC_BIAS_POINTER, &o->bias, 8},
        {CUBLASLT_MATMUL_DESC_BIAS_BATCH_STRIDE, &o->bias_stride, 8},
        {CUBLASLT_MATMUL_DESC_A_SCALE_POINTER, &o->scale_a, 8},
        {CUBLASLT_MATMUL_DESC_B_SCALE_POINTER, &o->scale_b, 8},
        {CUBLASLT_MATMUL_DESC_A_SCALE_MODE, &o->mode_a, 4},
        {CUBLASLT_MATMUL_DESC_B_SCALE_MODE, &o->mode_b, 4},
        {CUBLASLT_MATMUL_DESC_FAST_ACCUM, &fast, 1},
    };
    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++)
        if (all[i].attribute == (int)attribute && all[i].bytes == bytes) {
            memcpy(all[i].at, value, bytes);
            return CUBLAS_STATUS_SUCCESS;
        }
    return CUBLAS_STATUS_INVALID_VALUE;
}

EXPORT cublasStatus_t cublasLtMatrixLayoutCreate(cublasLtMatrixLayout_t *out,
                                                 cudaDataType type,
                                                 uint64_t rows, uint64_t cols,
                                                 int64_t ld)
{
    matrix *made = create(sizeof *made);
    if (made == NULL)
        return CUBLAS_STATUS_ALLOC_FAILED;
    *made = (matrix){
        .type = type, .rows = rows, .cols = cols, .ld = ld, .batch = 1};
    *out = (cublasLtMatrixLayout_t)(void *)made;
    return CUBLAS_STATUS_SUCCESS;
}

EXPORT cublasStatus_t cublasLtMatrixLayoutDestroy(cublasLtMatrixLayout_t m)
{
    return destroy(m);
}

EXPORT cublasStatus_t cublasLtMatrixLayoutSetAttribute(
    cublasLtMatrixLayout_t m, cublasLtMatrixLayoutAttribute_t attribute,
    const void *value, size_t bytes)
{
    matrix *to = (matrix *)(void *)m;
    if (attribute == CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT && bytes == 4)
        memcpy(&to->batch, value, bytes);
    else if (attribute == CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET &&
             bytes == 8)
        memcpy(&to->stride, value, bytes);
    else
        return CUBLAS_STATUS_INVALID_VALUE;
    return CUBLAS_STATUS_SUCCESS;
}

EXPORT cublasStatus_t
cublasLtMatmulPreferenceCreate(cublasLtMatmulPreference_t *out)
{
    preference *made = create(sizeof *made);
    *out = (cublasLtMatmulPreference_t)(void *)made;
    return made != NULL ? CUBLAS_STATUS_SUCCESS : CUBLAS_STATUS_ALLOC_FAILED;
}

EXPORT cublasStatus_t
cublasLtMatmulPreferenceDestroy(cublasLtMatmulPreference_t p)
{
    return destroy(p);
}

EXPORT cublasStatus_t cublasLtMatmulPreferenceSetAttribute(
    cublasLtMatmulPreference_t p,
    cublasLtMatmulPreferenceAttributes_t attribute, const void *value,
    size_t bytes)
{
    preference *to = (preference *)(void *)p;
    if (attribute == CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES && bytes == 8)
        memcpy(&to->most_bytes, value, bytes);
    else if (attribute == CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK &&
             bytes == 4)
        memcpy(&to->reductions, value, bytes);
    else if (bytes != 4)
        return CUBLAS_STATUS_INVALID_VALUE;
    return CUBLAS_STATUS_SUCCESS;
}

/* ---- algorithms ---------------------------------------------------------- */

/* Algorithm i wants i KB of workspace. */
static uint64_t wants(uint32_t i)
{
    return (uint64_t)i << 10;
}

static int is_offered(const operation *o, const matrix *a, const matrix *b,
                      const matrix *d)
{
    if (a->type == CUDA_R_8F_E4M3)
        return o->trans_a == CUBLAS_OP_T && o->trans_b == CUBLAS_OP_N &&
               d->rows % 16 == 0 && d->cols % 16 == 0 && a->rows % 16 == 0;
    if (a->type == CUDA_R_8I)
        return d->rows % 4 == 0 && a->rows % 4 == 0 && b->rows % 4 == 0;
    return 1;
}

EXPORT cublasStatus_t cublasLtMatmulAlgoGetHeuristic(
    cublasLtHandle_t handle, cublasLtMatmulDesc_t op, cublasLtMatrixLayout_t a,
    cublasLtMatrixLayout_t b, cublasLtMatrixLayout_t c,
    cublasLtMatrixLayout_t d, cublasLtMatmulPreference_t p, int most,
    cublasLtMatmulHeuristicResult_t *results, int *n)
{
    (void)handle;
    (void)c;
    *n = 0;
    fake_cublaslt.n_heuristics++;
    if (!is_offered((operation *)(void *)op, (matrix *)(void *)a,
                    (matrix *)(void *)b, (matrix *)(void *)d))
        return CUBLAS_STATUS_NOT_SUPPORTED;
    for (uint32_t i = 0; i < fake_cublaslt.n_algorithms && *n < most; i++) {
        if (wants(i) > ((preference *)(void *)p)->most_bytes)
            continue;
        cublasLtMatmulHeuristicResult_t *to = &results[(*n)++];
        memset(to, 0, sizeof *to);
        to->algo.data[0] = i;
        to->workspaceSize = wants(i);
        to->state = CUBLAS_STATUS_SUCCESS;
    }
    return CUBLAS_STATUS_SUCCESS;
}

EXPORT cublasStatus_t cublasLtMatmulAlgoCheck(
    cublasLtHandle_t handle, cublasLtMatmulDesc_t op, cublasLtMatrixLayout_t a,
    cublasLtMatrixLayout_t b, cublasLtMatrixLayout_t c,
    cublasLtMatrixLayout_t d, const cublasLtMatmulAlgo_t *algo,
    cublasLtMatmulHeuristicResult_t *result)
{
    (void)handle;
    (void)c;
    if (algo->data[0] >= 32 ||
        (fake_cublaslt.retired >> algo->data[0] & 1u) != 0 ||
        !is_offered((operation *)(void *)op, (matrix *)(void *)a,
                    (matrix *)(void *)b, (matrix *)(void *)d))
        return CUBLAS_STATUS_NOT_SUPPORTED;
    result->workspaceSize = wants((uint32_t)algo->data[0]);
    return CUBLAS_STATUS_SUCCESS;
}

EXPORT cublasStatus_t cublasLtMatmulAlgoConfigGetAttribute(
    const cublasLtMatmulAlgo_t *algo, cublasLtMatmulAlgoConfigAttributes_t what,
    void *value, size_t bytes, size_t *written)
{
    if (what != CUBLASLT_ALGO_CONFIG_ID || bytes != 4)
        return CUBLAS_STATUS_NOT_SUPPORTED;
    const int32_t id = (int32_t)algo->data[0];
    memcpy(value, &id, sizeof id);
    *written = sizeof id;
    return CUBLAS_STATUS_SUCCESS;
}

/* ---- products --------------------------------------------------------------
 */

static uint32_t element_of(cudaDataType_t type)
{
    return type == CUDA_R_16F       ? VLY_ELEMENT_F16
           : type == CUDA_R_16BF    ? VLY_ELEMENT_BF16
           : type == CUDA_R_8F_E4M3 ? VLY_ELEMENT_E4M3
           : type == CUDA_R_8I      ? VLY_ELEMENT_I8
           : type == CUDA_R_32I     ? VLY_ELEMENT_I32
                                    : VLY_ELEMENT_F32;
}

static double get(const matrix *m, const void *from, int64_t z, uint64_t row,
                  uint64_t col)
{
    double x = 0.0;
    vly_element_to_f64(element_of(m->type), from,
                       (uint64_t)(z * m->stride) + col * (uint64_t)m->ld + row,
                       &x, 1);
    return x;
}

/* The scales of element (i, j) and k. */
static double scale(const operation *o, const matrix *d, uint64_t i, uint64_t j,
                    uint64_t k, uint64_t n_k)
{
    const float *a = o->scale_a, *b = o->scale_b;
    const uint64_t pitch = ((n_k + 127) / 128 + 3) / 4 * 4;
    if (a == NULL)
        return 1.0;
    if (o->mode_a == CUBLASLT_MATMUL_MATRIX_SCALE_OUTER_VEC_32F)
        return (double)a[i] * (double)b[j];
    if (o->mode_a == CUBLASLT_MATMUL_MATRIX_SCALE_BLK128x128_32F)
        return (double)a[i / 128 * pitch + k / 128] *
               (double)b[k / 128 * d->cols + j];
    return (double)a[0] * (double)b[0];
}

static double finish(const operation *o, const matrix *d, int64_t z, uint64_t i,
                     double x)
{
    double bias = 0.0;
    if ((o->epilogue & CUBLASLT_EPILOGUE_BIAS) != 0)
        vly_element_to_f64(element_of(d->type), o->bias,
                           (uint64_t)(z * o->bias_stride) + i, &bias, 1);
    x += bias;
    if ((o->epilogue & CUBLASLT_EPILOGUE_RELU) != 0)
        return x < 0.0 ? 0.0 : x;
    if ((o->epilogue & CUBLASLT_EPILOGUE_GELU) != 0)
        return 0.5 * x *
               (1.0 + tanh(0.7978845608028654 * (x + 0.044715 * x * x * x)));
    return x;
}

static double rounded(cudaDataType_t type, double x)
{
    unsigned char element[8];
    vly_element_from_f64(element_of(type), &x, element, 0, 1);
    vly_element_to_f64(element_of(type), element, 0, &x, 1);
    return x;
}

/* A product as the library is asked for it. */
typedef struct call {
    const operation *o;
    const matrix *la, *lb, *lc, *ld;
    const void *a, *b, *c;
    void *d;
    double factor, kept;
    uint32_t id;
} call;

/* The lines of a factor of product z that sums run along, one behind the other
 * as double; NULL without memory. */
static double *lines_of(const matrix *m, int are_columns, const void *from,
                        int64_t z)
{
    const uint64_t n_k = are_columns ? m->rows : m->cols;
    const uint64_t n_lines = are_columns ? m->cols : m->rows;
    double *lines = malloc((n_lines * n_k + 1) * sizeof *lines);
    for (uint64_t i = 0; lines != NULL && i < n_lines; i++)
        for (uint64_t k = 0; k < n_k; k++)
            lines[i * n_k + k] =
                are_columns ? get(m, from, z, k, i) : get(m, from, z, i, k);
    return lines;
}

static double dot(const call *l, const double *a, const double *b, uint64_t i,
                  uint64_t j)
{
    const uint64_t n_k =
        l->o->trans_a == CUBLAS_OP_T ? l->la->rows : l->la->cols;
    double sum = 0.0;
    for (uint64_t k = 0; k < n_k; k++)
        sum +=
            a[i * n_k + k] * b[j * n_k + k] * scale(l->o, l->ld, i, j, k, n_k);
    return sum;
}

static void put(const call *l, int64_t z, uint64_t i, uint64_t j, double sum)
{
    const uint32_t twice = fake_cublaslt.twice;
    const uint32_t twice_with_c = twice | fake_cublaslt.twice_with_c;
    double x = l->factor * sum;
    if (l->kept != 0.0)
        x += l->kept * get(l->lc, l->c, z, i, j);
    if ((fake_cublaslt.garbage >> l->id & 1u) != 0)
        x += 1.0 + fabs(x);
    if (((l->kept != 0.0 ? twice_with_c : twice) >> l->id & 1u) != 0)
        x = rounded(l->ld->type, x);
    x = finish(l->o, l->ld, z, i, x);
    vly_element_from_f64(
        element_of(l->ld->type), &x, l->d,
        (uint64_t)(z * l->ld->stride) + j * (uint64_t)l->ld->ld + i, 1);
}

/* Product z; only_time: of which nothing is kept. False without memory. */
static int multiply(const call *l, int64_t z, int only_time)
{
    double *a = lines_of(l->la, l->o->trans_a == CUBLAS_OP_T, l->a, z);
    double *b = lines_of(l->lb, l->o->trans_b != CUBLAS_OP_T, l->b, z);
    const int is_there = a != NULL && b != NULL;
    for (uint64_t j = 0; is_there && j < l->ld->cols; j++)
        for (uint64_t i = 0; i < l->ld->rows; i++) {
            volatile double sum = dot(l, a, b, i, j);
            if (!only_time) /* C may be D: it is read once */
                put(l, z, i, j, sum);
        }
    free(a);
    free(b);
    return is_there;
}

EXPORT cublasStatus_t cublasLtMatmul(
    cublasLtHandle_t handle, cublasLtMatmulDesc_t op, const void *alpha,
    const void *a, cublasLtMatrixLayout_t layout_a, const void *b,
    cublasLtMatrixLayout_t layout_b, const void *beta, const void *c,
    cublasLtMatrixLayout_t layout_c, void *d, cublasLtMatrixLayout_t layout_d,
    const cublasLtMatmulAlgo_t *algo, void *workspace, size_t bytes,
    cudaStream_t stream)
{
    const operation *o = (operation *)(void *)op;
    const int exact = o->compute == CUBLAS_COMPUTE_32I;
    const call l = {.o = o,
                    .la = (matrix *)(void *)layout_a,
                    .lb = (matrix *)(void *)layout_b,
                    .lc = (matrix *)(void *)layout_c,
                    .ld = (matrix *)(void *)layout_d,
                    .a = a,
                    .b = b,
                    .c = c,
                    .d = d,
                    .factor = exact ? *(const int32_t *)alpha
                                    : (double)*(const float *)alpha,
                    .kept = exact ? *(const int32_t *)beta
                                  : (double)*(const float *)beta,
                    .id = (uint32_t)algo->data[0]};
    (void)handle;
    (void)stream;
    fake_cublaslt.n_runs++;
    if (bytes < wants(l.id) || (fake_cublaslt.refused >> l.id & 1u) != 0)
        return CUBLAS_STATUS_EXECUTION_FAILED;
    if (((uintptr_t)a % 4 != 0 || (uintptr_t)b % 4 != 0) &&
        (fake_cublaslt.aligned >> l.id & 1u) != 0)
        return CUBLAS_STATUS_NOT_SUPPORTED;
    memset(workspace, 0x5a, wants(l.id)); /* it is its own */
    if ((fake_cublaslt.not_written >> l.id & 1u) != 0)
        return CUBLAS_STATUS_SUCCESS;
    /* slow: by more than a busy machine makes of it */
    const int n_times = (fake_cublaslt.slow >> l.id & 1u) != 0 ? 5 : 1;
    for (int again = 0; again < n_times; again++)
        for (int64_t z = 0; z < l.ld->batch; z++)
            if (!multiply(&l, z, again > 0))
                return CUBLAS_STATUS_ALLOC_FAILED;
    return CUBLAS_STATUS_SUCCESS;
}
