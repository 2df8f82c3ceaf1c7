/* SPDX-License-Identifier: Apache-2.0
 * Between gemm_cuda_tune.c (all candidates), gemm_cuda_right.c (whether one is
 * right) and gemm_cuda_time.c (how fast it is): memory of the device with
 * random factors.
 */
#ifndef VOLLEY_GEMM_CUDA_TUNE_H
#define VOLLEY_GEMM_CUDA_TUNE_H

#include <cuda_runtime_api.h>

#include "gemm_cuda.h"

/* SMALL_BIAS: sums in the curved range of gelu */
enum { A, B, D, BIAS, SMALL_BIAS, SCALE_A, SCALE_B, N_ARRAYS };

/* Of a product, at each of its ends. */
enum { VLY_GEMM_CHECKED_ROWS = 64 };

/* The curved range of gelu: rounding a number before gelu changes the element
 * of D there. */
#define VLY_GEMM_NEAR_GELU 2.0f

typedef struct tuning {
    const vly_gemm_problem *problem;
    uint64_t at[N_ARRAYS]; /* bytes from the beginning of a set */
    uint64_t set_bytes;
    uint32_t n_sets;
    uint32_t device;
    char *sets; /* [n_sets][set_bytes] of the device */
    char *workspace;
    char *rows; /* [VLY_GEMM_CHECKED_ROWS][n] of fp32 or int32 */
    uint32_t *worst;
    vly_cuda_votes *votes;
    uint64_t workspace_bytes;
    cudaStream_t stream;
    cudaEvent_t begin;
    cudaEvent_t end;
} tuning;

/* One run on the factors of a set. */
vly_gemm_run vly_gemm_cuda_run_of(const tuning *t, uint32_t set);

/* Approximate size of a sum of such random factors before the activation: the
 * scale of a difference if an element is near 0. */
double vly_gemm_cuda_typical(const vly_gemm_desc *desc);

/* Runs the candidate and checks the result. *off: error as a multiple of the
 * allowed one, VLY_GEMM_ROUNDS_BEFORE, or infinity if it does not run; *error
 * then has the reason. Also with C if it matters: algorithm 24 of cuBLASLt 13.1
 * rounds a sum plus beta C before it adds the bias, but not a sum alone.
 * Errors  E_DEVICE */
vly_status vly_gemm_cuda_verify(const tuning *t, const vly_gemm_candidate *c,
                                const vly_gemm_lt lts[2], float *off,
                                vly_error *error);
bool vly_gemm_cuda_is_right(float off);

/* Sets the candidate's seconds. least: seconds of the fastest so far, or 0; a
 * candidate that is clearly slower is not measured completely.
 * Errors  E_DEVICE */
vly_status vly_gemm_cuda_time(const tuning *t, const vly_gemm_lt lts[2],
                              vly_gemm_candidate *candidate, double least,
                              vly_error *error);

/* *best of the candidates with seconds (way not NONE) becomes the fastest of
 * those near the least, measured again in turns with the library's own choice,
 * which stays unless that is surely slower; *best is one of them (in, out).
 * Errors E_DEVICE */
vly_status vly_gemm_cuda_finals(const tuning *t, const vly_gemm_lt lts[2],
                                vly_gemm_candidate *candidates, uint32_t n,
                                uint32_t *best, vly_error *error);

#endif
