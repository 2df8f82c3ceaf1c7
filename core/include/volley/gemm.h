/* SPDX-License-Identifier: Apache-2.0
 * volley.gemm/1: matrix products.
 *
 *   D = f(alpha * scale(op(A) op(B)) + beta * C + bias)
 *
 * Matrices are row-major: element (i, j) of A is a[i * lda + j]. op(A) is
 * [m][k], op(B) [k][n], C and D [m][n]. f is the activation.
 */
#ifndef VOLLEY_GEMM_H
#define VOLLEY_GEMM_H

#include <volley/accelerator.h>

#ifdef __cplusplus
extern "C" {
#endif

#define VLY_GEMM_INTERFACE "volley.gemm/1"

enum {
    VLY_GEMM_TRANS_A = 1u, /* A is stored [k][m] */
    VLY_GEMM_TRANS_B = 2u, /* B is stored [n][k], as weights [out][in] are */
    VLY_GEMM_BIAS = 4u,    /* bias[j] is added to column j before f */
    VLY_GEMM_TF32 = 8u,    /* fp32 factors may be rounded to tf32 */
    VLY_GEMM_FAST = 16u,   /* fp8: sums may be kept in fewer bits than fp32 */
};

/* f; gelu(x) = x / 2 * (1 + tanh(sqrt(2 / pi) * (x + 0.044715 x^3))). A NaN in
 * a product or sum stays one, but relu and relu2 may make 0 of it. */
enum {
    VLY_GEMM_IDENTITY = 0,
    VLY_GEMM_RELU = 1,
    VLY_GEMM_RELU2 = 2, /* max(x, 0)^2 */
    VLY_GEMM_GELU = 3,
};

/* The true value of a stored element is stored * scale. All are fp32, but those
 * of weight-only products have the type of A. */
enum {
    VLY_SCALE_NONE = 0,
    VLY_SCALE_SCALAR = 1, /* [1] */
    VLY_SCALE_ROW = 2,    /* A: [m]; B: [n] */
    VLY_SCALE_BLOCK = 3,  /* A: [m][ceil(k/128)];
                             B: [ceil(n/128)][ceil(k/128)] */
    VLY_SCALE_GROUP = 4,  /* B: [n][k/128] */
};

/* Supported combinations of types (others are E_UNSUPPORTED, by name):
 *   A, B       D                    scale_a, scale_b
 *   fp32       fp32                 none
 *   fp16       fp16, fp32           none
 *   bf16       bf16, fp32           none
 *   fp8        fp16, bf16, fp32     both scalar, both row, or both block;
 *                                   A not transposed, B transposed
 *   int8       int32                none; alpha 1, beta 0 or 1, no activation,
 *                                   no bias: exact, modulo 2^32
 *   int8       fp16, bf16, fp32     both row
 *   fp16|bf16, int8   as A          none, row: weight-only, B transposed
 *   fp16|bf16, int4   as A          none, group; k a multiple of 128, B
 *                                   transposed
 * Sums of fp32 are exact products added in fp32; those of fp16, bf16 and fp8
 * are kept in fp32, those of int8 in int32. bias has the type of D (int8: fp32
 * where D is). */
typedef struct vly_gemm_desc {
    uint32_t struct_size;
    uint32_t flags;  /* VLY_GEMM_* */
    uint32_t type_a; /* VLY_ELEMENT_* */
    uint32_t type_b;
    uint32_t type_d;  /* of C, D and bias */
    uint32_t scale_a; /* VLY_SCALE_* */
    uint32_t scale_b;
    uint32_t activation;
    uint64_t m; /* any of them may be 0; k = 0: D = f(beta * C + bias) */
    uint64_t n;
    uint64_t k;
    uint64_t lda; /* elements from row to row, at least the row's length */
    uint64_t ldb;
    uint64_t ldc;
    uint64_t ldd;
    uint64_t batch;    /* products, at least 1 */
    uint64_t stride_a; /* elements from product to product; A, B, C, bias and
                          scales: 0 is the same for all */
    uint64_t stride_b;
    uint64_t stride_c;
    uint64_t stride_d; /* the products of D do not overlap */
    uint64_t stride_bias;
    uint64_t stride_scale_a;
    uint64_t stride_scale_b;
    uint64_t workspace_most; /* bytes that a plan may ask for */
    uint32_t align;    /* every pointer of a run is a multiple of this many
                        * bytes: a power of two, at most 256; 0 means 256. At
                        * least the size of an element in any case */
    uint32_t reserved; /* 0 */
} vly_gemm_desc;
VLY_SEAL(vly_gemm_desc, 168);

/* Pointers of the device. D may be C, and nothing else overlaps D. */
typedef struct vly_gemm_run {
    uint32_t struct_size;
    float alpha;       /* 0: A and B are not read */
    float beta;        /* 0: C is not read */
    uint32_t reserved; /* 0 */
    const void *a;
    const void *b;
    const void *c;
    void *d;
    const void *bias;
    const void *scale_a;
    const void *scale_b;
    void *workspace;
    uint64_t workspace_bytes;
    void *stream;
} vly_gemm_run;
VLY_SEAL(vly_gemm_run, 96);

typedef struct vly_gemm_plan vly_gemm_plan; /* the plugin's own */

typedef struct vly_gemm {
    uint32_t struct_size;
    uint32_t flags; /* 0 */
    /* OK, E_INVALID (what is wrong) or E_UNSUPPORTED (what is not offered);
     * reads the description only. [any-thread] */
    vly_status (*supports)(const vly_gemm_desc *desc, vly_error *error);
    /* device->options: see accelerator.h. [any-thread] */
    vly_status (*plan_create)(const vly_device_spec *device,
                              const vly_gemm_desc *desc, vly_gemm_plan **plan,
                              vly_error *error);
    void (*plan_destroy)(vly_gemm_plan *plan); /* NULL is legal */
    vly_status (*plan_info)(const vly_gemm_plan *plan, vly_plan_info *info,
                            vly_error *error);
    /* Puts the product into the stream. Does not allocate or measure; can be
     * part of a graph. One thread at a time may use a plan.
     * Errors  E_INVALID a pointer is NULL, not aligned or overlaps, or the
     *         workspace is too small (the message names it, and nothing is
     *         done); E_DEVICE */
    vly_status (*run)(vly_gemm_plan *plan, const vly_gemm_run *run,
                      vly_error *error);
    /* [optional, NULL in older plugins] One of the candidates that were
     * considered when the plan was made, including the chosen one; index from
     * 0; *n: their number. A plan that was read from the cache has one. With
     * index >= *n, *candidate is unchanged. Otherwise like plan_info. */
    vly_status (*plan_candidate)(const vly_gemm_plan *plan, uint32_t index,
                                 vly_plan_candidate *candidate, uint32_t *n,
                                 vly_error *error);
    void *reserved[7]; /* NULL */
} vly_gemm;
VLY_SEAL(vly_gemm, 112);

#ifdef __cplusplus
}
#endif
#endif
