/* SPDX-License-Identifier: Apache-2.0
 * A product as cuBLASLt has it: descriptors, which are made once a plan, and
 * its heuristics.
 */
#include "gemm_cuda.h"

#include <string.h>

/* ---- conditions of the library ------------------------------------------- */

static cudaDataType_t data_type(uint32_t element)
{
    switch (element) {
    case VLY_ELEMENT_F16:
        return CUDA_R_16F;
    case VLY_ELEMENT_BF16:
        return CUDA_R_16BF;
    case VLY_ELEMENT_E4M3:
        return CUDA_R_8F_E4M3;
    case VLY_ELEMENT_I8:
        return CUDA_R_8I;
    case VLY_ELEMENT_I32:
        return CUDA_R_32I;
    default:
        return CUDA_R_32F;
    }
}

/* Type that the library writes. */
static uint32_t out_type(const vly_gemm_problem *p, uint32_t staged)
{
    if (p->kind == VLY_GEMM_INT8 || p->kind == VLY_GEMM_INT8_SCALED)
        return VLY_ELEMENT_I32;
    return staged ? VLY_ELEMENT_F32 : p->desc.type_d;
}

bool vly_gemm_lt_can(const vly_gemm_problem *p, uint32_t staged)
{
    const vly_gemm_desc *d = &p->desc;
    if (p->is_empty || d->k == 0 || d->batch > INT32_MAX ||
        d->type_b == VLY_ELEMENT_I4) /* scales of groups: not there */
        return false;
    if (staged)
        return p->kind != VLY_GEMM_INT8;
    if (p->kind == VLY_GEMM_INT8_SCALED || p->kind == VLY_GEMM_WEIGHT_ONLY ||
        d->activation == VLY_GEMM_RELU2)
        return false;
    /* there a bias has 16 bits */
    return !(p->kind == VLY_GEMM_FP8 && d->type_d == VLY_ELEMENT_F32 &&
             (d->flags & VLY_GEMM_BIAS) != 0);
}

static cublasComputeType_t compute_type(const vly_gemm_problem *p)
{
    if (p->kind == VLY_GEMM_INT8 || p->kind == VLY_GEMM_INT8_SCALED)
        return CUBLAS_COMPUTE_32I;
    return (p->desc.flags & VLY_GEMM_TF32) != 0 ? CUBLAS_COMPUTE_32F_FAST_TF32
                                                : CUBLAS_COMPUTE_32F;
}

static uint32_t epilogue(const vly_gemm_desc *d, uint32_t staged)
{
    const bool bias = (d->flags & VLY_GEMM_BIAS) != 0;
    if (staged)
        return CUBLASLT_EPILOGUE_DEFAULT;
    if (d->activation == VLY_GEMM_RELU)
        return bias ? CUBLASLT_EPILOGUE_RELU_BIAS : CUBLASLT_EPILOGUE_RELU;
    if (d->activation == VLY_GEMM_GELU)
        return bias ? CUBLASLT_EPILOGUE_GELU_BIAS : CUBLASLT_EPILOGUE_GELU;
    return bias ? CUBLASLT_EPILOGUE_BIAS : CUBLASLT_EPILOGUE_DEFAULT;
}

/* ---- descriptors ------------------------------------------------------------
 */

static vly_status set(const vly_gemm_lt *lt, uint32_t attribute,
                      const void *value, size_t bytes, vly_error *error)
{
    return vly_gemm_cuda_status(
        lt->library,
        lt->library->desc_set(lt->operation,
                              (cublasLtMatmulDescAttributes_t)attribute, value,
                              bytes),
        "cublasLtMatmulDescSetAttribute", error);
}

static vly_status set_u32(const vly_gemm_lt *lt, uint32_t attribute,
                          uint32_t value, vly_error *error)
{
    return set(lt, attribute, &value, sizeof value, error);
}

/* batch and stride of a matrix, if the library does the whole batch */
static vly_status layout(const vly_gemm_lt *lt, cublasLtMatrixLayout_t *out,
                         uint32_t type, uint64_t rows, uint64_t cols,
                         uint64_t pitch, uint64_t batch, uint64_t stride,
                         vly_error *error)
{
    const int64_t offset = (int64_t)stride;
    const int32_t count = lt->one_by_one ? 1 : (int32_t)batch;
    const vly_cublaslt *library = lt->library;
    cublasStatus_t code = library->layout_create(out, data_type(type), rows,
                                                 cols, (int64_t)pitch);
    if (code == CUBLAS_STATUS_SUCCESS && count > 1)
        code = library->layout_set(*out, CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT,
                                   &count, sizeof count);
    if (code == CUBLAS_STATUS_SUCCESS && count > 1)
        code = library->layout_set(*out,
                                   CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET,
                                   &offset, sizeof offset);
    return vly_gemm_cuda_status(library, code, "cublasLtMatrixLayoutCreate",
                                error);
}

static vly_status layouts(vly_gemm_lt *lt, const vly_gemm_problem *p,
                          vly_error *error)
{
    const vly_gemm_desc *d = &p->desc;
    const bool trans_a = (d->flags & VLY_GEMM_TRANS_A) != 0;
    const bool trans_b = (d->flags & VLY_GEMM_TRANS_B) != 0;
    const bool wide = p->kind == VLY_GEMM_WEIGHT_ONLY; /* see widen */
    const uint64_t wide_pitch = (d->k + 7) / 8 * 8;
    const uint32_t out = out_type(p, lt->staged);
    const uint64_t ldd = lt->staged ? d->n : d->ldd;
    const uint64_t stride_d = lt->staged ? lt->rows * d->n : d->stride_d;
    vly_status status = VLY_OK;
    VLY_TRY(layout(lt, &lt->layout_a, d->type_a, trans_a ? lt->rows : d->k,
                   trans_a ? d->k : lt->rows, d->lda, d->batch, d->stride_a,
                   error));
    VLY_TRY(layout(
        lt, &lt->layout_b, wide ? d->type_a : d->type_b, trans_b ? d->k : d->n,
        trans_b ? d->n : d->k, wide ? wide_pitch : d->ldb, d->batch,
        wide && d->stride_b != 0 ? d->n * wide_pitch : d->stride_b, error));
    VLY_TRY(layout(lt, &lt->layout_c, out, d->n, lt->rows,
                   lt->staged ? ldd : d->ldc, d->batch,
                   lt->staged ? stride_d : d->stride_c, error));
    VLY_TRY(layout(lt, &lt->layout_d, out, d->n, lt->rows, ldd, d->batch,
                   stride_d, error));
out:
    return status;
}

/* Scales, and the precision of sums. */
static vly_status set_fp8(const vly_gemm_lt *lt, const vly_gemm_desc *d,
                          vly_error *error)
{
    int32_t mode_a = CUBLASLT_MATMUL_MATRIX_SCALE_SCALAR_32F;
    int32_t mode_b = CUBLASLT_MATMUL_MATRIX_SCALE_SCALAR_32F;
    const int8_t fast = (d->flags & VLY_GEMM_FAST) != 0;
    if (d->scale_a == VLY_SCALE_ROW) {
        mode_a = mode_b = CUBLASLT_MATMUL_MATRIX_SCALE_OUTER_VEC_32F;
    } else if (d->scale_a == VLY_SCALE_BLOCK) {
        mode_a = CUBLASLT_MATMUL_MATRIX_SCALE_VEC128_32F;
        mode_b = CUBLASLT_MATMUL_MATRIX_SCALE_BLK128x128_32F;
    }
    /* a pointer of which heuristics use only the alignment */
    const void *const some = (const void *)(uintptr_t)256;
    vly_status status = VLY_OK;
    VLY_TRY(
        set(lt, CUBLASLT_MATMUL_DESC_FAST_ACCUM, &fast, sizeof fast, error));
    if (d->scale_a != VLY_SCALE_SCALAR)
        VLY_TRY(set(lt, CUBLASLT_MATMUL_DESC_B_SCALE_MODE, &mode_a,
                    sizeof mode_a, error));
    if (d->scale_a != VLY_SCALE_SCALAR)
        VLY_TRY(set(lt, CUBLASLT_MATMUL_DESC_A_SCALE_MODE, &mode_b,
                    sizeof mode_b, error));
    VLY_TRY(set(lt, CUBLASLT_MATMUL_DESC_A_SCALE_POINTER, &some, sizeof some,
                error));
    VLY_TRY(set(lt, CUBLASLT_MATMUL_DESC_B_SCALE_POINTER, &some, sizeof some,
                error));
out:
    return status;
}

static vly_status set_bias(const vly_gemm_lt *lt, const vly_gemm_desc *d,
                           vly_error *error)
{
    const int64_t stride = (int64_t)d->stride_bias;
    const void *const some = (const void *)(uintptr_t)d->align;
    vly_status status = VLY_OK;
    VLY_TRY(
        set(lt, CUBLASLT_MATMUL_DESC_BIAS_POINTER, &some, sizeof some, error));
    if (d->batch > 1 && !lt->one_by_one)
        VLY_TRY(set(lt, CUBLASLT_MATMUL_DESC_BIAS_BATCH_STRIDE, &stride,
                    sizeof stride, error));
out:
    return status;
}

vly_status vly_gemm_lt_init(vly_gemm_lt *lt, const vly_gemm_problem *p,
                            uint32_t staged, vly_error *error)
{
    const vly_gemm_desc *d = &p->desc;
    const cublasComputeType_t compute = compute_type(p);
    lt->staged = staged;
    lt->rows = staged ? vly_gemm_cuda_staged_rows(p) : d->m;
    lt->n_pieces = lt->rows < d->m ? (uint32_t)((d->m - 1) / lt->rows + 1) : 1;
    /* pointers of scales have no stride */
    lt->one_by_one = p->kind == VLY_GEMM_FP8 && d->batch > 1;
    vly_status status = VLY_OK;
    VLY_TRY(vly_gemm_cuda_status(
        lt->library,
        lt->library->desc_create(&lt->operation, compute,
                                 compute == CUBLAS_COMPUTE_32I ? CUDA_R_32I
                                                               : CUDA_R_32F),
        "cublasLtMatmulDescCreate", error));
    /* the library's A is our B */
    VLY_TRY(set_u32(
        lt, CUBLASLT_MATMUL_DESC_TRANSA,
        (d->flags & VLY_GEMM_TRANS_B) != 0 ? CUBLAS_OP_T : CUBLAS_OP_N, error));
    VLY_TRY(set_u32(
        lt, CUBLASLT_MATMUL_DESC_TRANSB,
        (d->flags & VLY_GEMM_TRANS_A) != 0 ? CUBLAS_OP_T : CUBLAS_OP_N, error));
    VLY_TRY(
        set_u32(lt, CUBLASLT_MATMUL_DESC_EPILOGUE, epilogue(d, staged), error));
    if ((d->flags & VLY_GEMM_BIAS) != 0 && !staged)
        VLY_TRY(set_bias(lt, d, error));
    if (p->kind == VLY_GEMM_FP8)
        VLY_TRY(set_fp8(lt, d, error));
    VLY_TRY(layouts(lt, p, error));
out:
    return status;
}

void vly_gemm_lt_deinit(vly_gemm_lt *lt)
{
    cublasLtMatrixLayout_t all[] = {lt->layout_a, lt->layout_b, lt->layout_c,
                                    lt->layout_d};
    for (int i = 0; i < 4; i++)
        if (all[i])
            (void)lt->library->layout_destroy(all[i]);
    if (lt->operation)
        (void)lt->library->desc_destroy(lt->operation);
    memset(lt, 0, sizeof *lt);
}

/* ---- heuristics
 * ---------------------------------------------------------------
 */

/* Alignment that every product of a matrix has. */
static uint32_t alignment(const vly_gemm_desc *d, uint64_t stride,
                          uint32_t element)
{
    const uint64_t bytes = element == VLY_ELEMENT_F32    ? 4
                           : element == VLY_ELEMENT_I32  ? 4
                           : element == VLY_ELEMENT_I8   ? 1
                           : element == VLY_ELEMENT_E4M3 ? 1
                                                         : 2;
    uint64_t align = d->align;
    while (d->batch > 1 && align > 1 && stride * bytes % align != 0)
        align /= 2;
    return (uint32_t)align;
}

/* The same for A if a call has only some of the rows (run_pieces): the last
 * call may begin at any row. */
static uint32_t alignment_of_pieces(const vly_gemm_lt *lt,
                                    const vly_gemm_desc *d, uint32_t align)
{
    const uint64_t element = d->type_a == VLY_ELEMENT_F32  ? 4
                             : d->type_a == VLY_ELEMENT_I8 ? 1
                                                           : 2;
    const uint64_t pitch =
        (d->flags & VLY_GEMM_TRANS_A) != 0 ? element : d->lda * element;
    while (lt->rows < d->m && align > 1 &&
           (lt->rows * pitch % align != 0 ||
            (d->m - lt->rows) * pitch % align != 0))
        align /= 2;
    return align;
}

static cublasStatus_t set_alignment(const vly_gemm_lt *lt,
                                    const vly_gemm_problem *p,
                                    cublasLtMatmulPreference_t preference)
{
    const vly_gemm_desc *d = &p->desc;
    const bool wide = p->kind == VLY_GEMM_WEIGHT_ONLY;
    const uint32_t ours = 16; /* distance of products in the workspace */
    const uint32_t a =
        alignment_of_pieces(lt, d, alignment(d, d->stride_a, d->type_a));
    const uint32_t b = wide ? ours : alignment(d, d->stride_b, d->type_b);
    /* sums of [m][n] words, one product after the other */
    uint32_t staged = 256;
    while (d->batch > 1 && lt->rows * d->n * 4 % staged != 0)
        staged /= 2;
    const uint32_t c =
        lt->staged ? staged : alignment(d, d->stride_c, d->type_d);
    const uint32_t out =
        lt->staged ? staged : alignment(d, d->stride_d, d->type_d);
    const struct {
        cublasLtMatmulPreferenceAttributes_t attribute;
        uint32_t value;
    } all[] = {{CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES, b},
               {CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES, a},
               {CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES, c},
               {CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES, out}};
    cublasStatus_t code = CUBLAS_STATUS_SUCCESS;
    for (size_t i = 0; i < 4 && code == CUBLAS_STATUS_SUCCESS; i++)
        code = lt->library->pref_set(preference, all[i].attribute,
                                     &all[i].value, sizeof all[i].value);
    return code;
}

/* Split sums must be added in fp32 (int32): in place only if that is the type
 * of D. */
static uint32_t reductions(const vly_gemm_lt *lt, const vly_gemm_problem *p)
{
    const uint32_t out = out_type(p, lt->staged);
    return out == VLY_ELEMENT_F16 || out == VLY_ELEMENT_BF16
               ? CUBLASLT_REDUCTION_SCHEME_COMPUTE_TYPE
               : CUBLASLT_REDUCTION_SCHEME_COMPUTE_TYPE |
                     CUBLASLT_REDUCTION_SCHEME_INPLACE;
}

vly_status vly_gemm_lt_heuristics(const vly_gemm_lt *lt,
                                  const vly_gemm_problem *p,
                                  uint64_t most_bytes,
                                  vly_gemm_candidate *candidates, uint32_t *n,
                                  vly_error *error)
{
    cublasLtMatmulPreference_t preference = NULL;
    cublasLtMatmulHeuristicResult_t results[VLY_GEMM_MOST_HEURISTICS];
    const uint32_t mask = reductions(lt, p);
    int n_results = 0;
    *n = 0;
    memset(results, 0, sizeof results);
    cublasStatus_t code = lt->library->pref_create(&preference);
    if (code == CUBLAS_STATUS_SUCCESS)
        code = lt->library->pref_set(preference,
                                     CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES,
                                     &most_bytes, sizeof most_bytes);
    if (code == CUBLAS_STATUS_SUCCESS)
        code = lt->library->pref_set(preference,
                                     CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK,
                                     &mask, sizeof mask);
    if (code == CUBLAS_STATUS_SUCCESS)
        code = set_alignment(lt, p, preference);
    if (code == CUBLAS_STATUS_SUCCESS) {
        code = lt->library->heuristic(lt->handle, lt->operation, lt->layout_b,
                                      lt->layout_a, lt->layout_c, lt->layout_d,
                                      preference, VLY_GEMM_MOST_HEURISTICS,
                                      results, &n_results);
        /* status of the library if it has no algorithm for the case */
        if (code == CUBLAS_STATUS_NOT_SUPPORTED ||
            code == CUBLAS_STATUS_INVALID_VALUE)
            code = CUBLAS_STATUS_SUCCESS, n_results = 0;
    }
    if (preference)
        (void)lt->library->pref_destroy(preference);
    for (int i = 0; i < n_results && i < VLY_GEMM_MOST_HEURISTICS; i++)
        if (results[i].state == CUBLAS_STATUS_SUCCESS &&
            results[i].workspaceSize <= most_bytes)
            candidates[(*n)++] =
                (vly_gemm_candidate){.way = VLY_GEMM_WAY_LIBRARY,
                                     .staged = lt->staged,
                                     .algo = results[i].algo,
                                     .library_bytes = results[i].workspaceSize};
    return vly_gemm_cuda_status(lt->library, code,
                                "cublasLtMatmulAlgoGetHeuristic", error);
}

bool vly_gemm_lt_check(const vly_gemm_lt *lt, vly_gemm_candidate *candidate)
{
    cublasLtMatmulHeuristicResult_t result;
    memset(&result, 0, sizeof result);
    if (lt->library->algo_check(
            lt->handle, lt->operation, lt->layout_b, lt->layout_a, lt->layout_c,
            lt->layout_d, &candidate->algo, &result) != CUBLAS_STATUS_SUCCESS)
        return false;
    candidate->library_bytes = result.workspaceSize;
    return true;
}
