/* SPDX-License-Identifier: Apache-2.0
 * Between gemm_cuda_tune.c (whether a candidate is right) and gemm_cuda_time.c
 * (how fast it is): memory of the device with random factors.
 */
#ifndef VOLLEY_GEMM_CUDA_TUNE_H
#define VOLLEY_GEMM_CUDA_TUNE_H

#include <cuda_runtime_api.h>

#include "gemm_cuda.h"

enum { A, B, D, BIAS, SCALE_A, SCALE_B, N_ARRAYS };

typedef struct tuning {
    const vly_gemm_problem *problem;
    uint64_t at[N_ARRAYS]; /* bytes from the beginning of a set */
    uint64_t set_bytes;
    uint32_t n_sets;
    uint32_t device;
    char *sets; /* [n_sets][set_bytes] of the device */
    char *workspace;
    char *rows; /* [CHECKED_ROWS][n] of fp32 or int32 */
    uint32_t *worst;
    uint64_t workspace_bytes;
    cudaStream_t stream;
    cudaEvent_t begin;
    cudaEvent_t end;
} tuning;

/* One run on the factors of a set. */
vly_gemm_run vly_gemm_cuda_run_of(const tuning *t, uint32_t set);

/* Sets the candidate's seconds. least: those of the fastest so far, or 0: one
 * that is clearly slower is not measured to the end. Errors E_DEVICE */
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
