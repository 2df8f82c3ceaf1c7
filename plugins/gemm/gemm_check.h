/* SPDX-License-Identifier: Apache-2.0
 * Checks of every plugin of volley.gemm/1: a description must be one of the
 * table in volley/gemm.h, and the pointers of a run must be usable. Compiled
 * into each plugin.
 */
#ifndef VOLLEY_GEMM_CHECK_H
#define VOLLEY_GEMM_CHECK_H

#include <stdbool.h>
#include <stdint.h>

#include <volley/gemm.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The rows of the table in volley/gemm.h. */
typedef enum vly_gemm_kind {
    VLY_GEMM_FLOAT,       /* fp32, fp16, bf16 */
    VLY_GEMM_FP8,         /* e4m3 with scales */
    VLY_GEMM_INT8,        /* int8 to int32, exact */
    VLY_GEMM_INT8_SCALED, /* int8 with scales to a float type */
    VLY_GEMM_WEIGHT_ONLY, /* fp16 or bf16 times int8 or int4 */
} vly_gemm_kind;

/* A description that has been checked. */
typedef struct vly_gemm_problem {
    vly_gemm_desc desc; /* as given, but align is not 0 */
    vly_gemm_kind kind;
    bool is_empty;    /* D has no elements */
    uint64_t bytes_a; /* from the pointer to the end of the last element */
    uint64_t bytes_b;
    uint64_t bytes_c;
    uint64_t bytes_d;
    uint64_t bytes_bias;
    uint64_t bytes_scale_a;
    uint64_t bytes_scale_b;
} vly_gemm_problem;

/* Fills *problem, which does not point into desc. [any-thread]
 * Errors  E_INVALID the wrong part; E_UNSUPPORTED types, scales or flags that
 * the table does not have; *problem unchanged */
vly_status vly_gemm_check_desc(const vly_gemm_desc *desc,
                               vly_gemm_problem *problem, vly_error *error);

/* Checks a run: alpha and beta, every pointer that will be used, its alignment,
 * overlaps with D or the workspace, and a workspace of so many bytes. Reads no
 * memory of the device. [any-thread]
 * Errors  E_INVALID names the pointer */
vly_status vly_gemm_check_run(const vly_gemm_problem *problem,
                              uint64_t workspace_bytes, const vly_gemm_run *run,
                              vly_error *error);

/* Are A and B read? Only if alpha is not 0 and k is not 0. */
bool vly_gemm_reads(const vly_gemm_problem *problem, const vly_gemm_run *run);

/* Type of the scales: fp32, of weight-only products that of A. */
uint32_t vly_gemm_scale_type(const vly_gemm_desc *desc);

/* "fp16 x fp16 -> fp32, 4096 x 4096 x 1024, B transposed, bias, gelu" */
void vly_gemm_describe(const vly_gemm_desc *desc, char *text, size_t size);

#ifdef __cplusplus
}
#endif
#endif
