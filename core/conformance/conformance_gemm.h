/* SPDX-License-Identifier: Apache-2.0
 * The conformance table of volley.gemm/1 and its reference in float64, shared
 * by `volley conformance`, tests and the bench.
 */
#ifndef VOLLEY_CONFORMANCE_GEMM_H
#define VOLLEY_CONFORMANCE_GEMM_H

#include "conformance/conformance_accel.h"

/* ---- the table -------------------------------------------------------- */

uint32_t conformance_gemm_count(void);
vly_gemm_desc conformance_gemm_get(uint32_t index);
/* A counter over shapes or kinds of product; it selects variants that not every
 * case needs. */
uint32_t conformance_gemm_turn(uint32_t index);
/* "fp16-fp16-fp32.nt.17x63x65.bias.gelu"; at least 128 bytes */
void conformance_gemm_name(uint32_t index, char *name, size_t size);

/* ---- tensors of a product --------------------------------------------- */

enum {
    GEMM_A,
    GEMM_B,
    GEMM_C,
    GEMM_D,
    GEMM_BIAS,
    GEMM_SCALE_A,
    GEMM_SCALE_B,
    GEMM_N_TENSORS
};
extern const char *const conformance_gemm_tensors[GEMM_N_TENSORS];

/* [batch] products `stride` elements apart of [rows] rows `pitch` apart of
 * [cols] elements; rows 0: the product has no such tensor. */
typedef struct gemm_tensor {
    uint32_t type;
    uint64_t rows;
    uint64_t cols;
    uint64_t pitch;
    uint64_t stride;
    uint64_t bytes; /* of all of them */
} gemm_tensor;
gemm_tensor conformance_gemm_tensor(const vly_gemm_desc *desc, uint32_t which);

/* Writes random elements that fit the tensor into its memory; bytes between
 * rows are not touched. */
void conformance_gemm_fill(const vly_gemm_desc *desc, uint32_t which,
                           uint64_t seed, void *memory);

/* ---- reference -------------------------------------------------------- */

typedef struct gemm_host {
    const vly_gemm_desc *desc;
    const void *tensors[GEMM_N_TENSORS]; /* on the host; D is not read */
    float alpha;
    float beta;
    bool is_device; /* hardware that keeps fewer bits of sums: see the .c */
} gemm_host;

/* values[n_rows][n_cols] and their error bounds.
 * Rows and columns are those of D.
 * Errors  E_NOMEM */
vly_status conformance_gemm_reference(const gemm_host *host, uint64_t batch,
                                      const uint64_t *rows, uint64_t n_rows,
                                      const uint64_t *cols, uint64_t n_cols,
                                      double *values, double *bounds,
                                      vly_error *error);

/* Wrong calls, for conformance_gemm_run.c. */
uint32_t conformance_gemm_refusals(accel_trial *trial);

#endif
