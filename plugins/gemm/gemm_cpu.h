/* SPDX-License-Identifier: Apache-2.0
 * The plugin gemm_cpu: plans and the ways in which they run. Internal to this
 * folder.
 */
#ifndef VOLLEY_GEMM_CPU_H
#define VOLLEY_GEMM_CPU_H

#include "accel_common.h"
#include "gemm_check.h"
#include "gemm_cpu_kernels.h"

/* Ways to run a product, in the order of trial. */
typedef enum vly_gemm_way {
    VLY_GEMM_GEMV,     /* m = 1: one pass over B */
    VLY_GEMM_OPENBLAS, /* cblas_sgemm on fp32 or converted blocks */
    VLY_GEMM_PLAIN,    /* own loops */
    VLY_GEMM_N_WAYS
} vly_gemm_way;

extern const char *const vly_gemm_way_names[VLY_GEMM_N_WAYS];

/* Work of one thread at a time: sums[rows][cols] over blocks of `depth` along
 * k. */
typedef struct vly_gemm_tile {
    uint64_t rows;
    uint64_t cols;
    uint64_t depth;
    uint64_t n_rows; /* tiles in a product, down and across */
    uint64_t n_cols;
    uint64_t thread_bytes; /* of the workspace; 0: on the stack */
    bool in_place;         /* fp32 to fp32 by the library, no blocks */
} vly_gemm_tile;

struct vly_gemm_plan {
    vly_gemm_problem problem;
    const vly_gemm_kernels *kernels;
    vly_gemm_way way;
    vly_gemm_tile tile;
    uint32_t n_threads; /* at most the number of pieces of work */
    uint32_t n_candidates;
    uint64_t workspace_bytes;
    double measured_s;
    char choice[256];
    vly_accel_candidates looked_at;
};

/* A run that has been checked. */
typedef struct vly_gemm_work {
    const vly_gemm_plan *plan;
    const vly_gemm_run *run;
    bool reads; /* A and B */
} vly_gemm_work;

/* ---- gemm_cpu_run.c --------------------------------------------------- */

vly_status vly_gemm_cpu_run(vly_gemm_plan *plan, const vly_gemm_run *run,
                            vly_error *error);
/* The same without checks. */
void vly_gemm_cpu_execute(const vly_gemm_plan *plan, const vly_gemm_run *run);
/* A and B of product `batch`. */
vly_gemm_operand vly_gemm_operand_a(const vly_gemm_work *work, uint64_t batch);
vly_gemm_operand vly_gemm_operand_b(const vly_gemm_work *work, uint64_t batch);

/* ---- gemm_cpu_epilogue.c ---------------------------------------------- */

/* D of row `row`, columns [col, col + n), of product `batch`:
 * f(alpha * scale(sums) + beta * C + bias). sums NULL: all 0. */
void vly_gemm_epilogue(const vly_gemm_work *work, uint64_t batch, uint64_t row,
                       uint64_t col, const float *sums, uint64_t n);
/* The same for int8, whose sums are whole numbers modulo 2^32. */
void vly_gemm_epilogue_whole(const vly_gemm_work *work, uint64_t batch,
                             uint64_t row, uint64_t col, const uint32_t *sums,
                             uint64_t n);
/* wholes[n] += sums[n], which are whole numbers; sums become 0. */
void vly_gemm_flush(float *sums, uint32_t *wholes, uint64_t n);

/* ---- gemm_cpu_tile.c -------------------------------------------------- */

/* Tiles for the way (not GEMV) with at most `most` bytes of workspace; false
 * if the way needs more. */
bool vly_gemm_tile_fit(const vly_gemm_problem *problem,
                       const vly_gemm_kernels *kernels, vly_gemm_way way,
                       uint32_t n_threads, uint64_t most, vly_gemm_tile *tile);
/* One tile. workspace: thread_bytes. */
void vly_gemm_tile_run(const vly_gemm_work *work, uint64_t index,
                       void *workspace);

/* ---- gemm_cpu_vector.c ------------------------------------------------ */

uint64_t vly_gemm_vector_pieces(const vly_gemm_problem *problem);
/* Piece `index` of the products with m = 1. */
void vly_gemm_vector_run(const vly_gemm_work *work, uint64_t index);

/* ---- gemm_cpu_blas.c -------------------------------------------------- */

/* Opens the library, once per process. Returns NULL, or the reason why it
 * cannot be used. [any-thread] */
const char *vly_gemm_blas_missing(void);
/* "OpenBLAS 0.3.21 ... SkylakeX"; "" if it is missing */
const char *vly_gemm_blas_text(void);
/* D = alpha op(A) op(B) + beta D, all row-major, on the calling thread. */
void vly_gemm_blas_multiply(bool trans_a, bool trans_b, uint64_t m, uint64_t n,
                            uint64_t k, float alpha, const float *a,
                            uint64_t lda, const float *b, uint64_t ldb,
                            float beta, float *d, uint64_t ldd);

/* ---- gemm_cpu_plan.c -------------------------------------------------- */

vly_status vly_gemm_cpu_supports(const vly_gemm_desc *desc, vly_error *error);
vly_status vly_gemm_cpu_plan_create(const vly_device_spec *device,
                                    const vly_gemm_desc *desc,
                                    vly_gemm_plan **plan, vly_error *error);
void vly_gemm_cpu_plan_destroy(vly_gemm_plan *plan);
vly_status vly_gemm_cpu_plan_info(const vly_gemm_plan *plan,
                                  vly_plan_info *info, vly_error *error);
vly_status vly_gemm_cpu_plan_candidate(const vly_gemm_plan *plan,
                                       uint32_t index,
                                       vly_plan_candidate *candidate,
                                       uint32_t *n, vly_error *error);

/* ---- gemm_cpu_tune.c -------------------------------------------------- */

/* Median seconds of one run of the plan (or of a part of its shape, if a run
 * would take long) on random data.
 * Errors  E_NOMEM */
vly_status vly_gemm_measure(const vly_gemm_plan *plan, double *seconds,
                            bool *is_whole, vly_error *error);
/* For deinit: frees the random data that is kept between plans. */
void vly_gemm_measure_forget(void);

#endif
