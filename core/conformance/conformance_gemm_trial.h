/* SPDX-License-Identifier: Apache-2.0
 * One case of volley.gemm/1 on a device. Internal to this folder. Functions
 * that return an outcome store a message in the trial unless the case conforms.
 */
#ifndef VOLLEY_CONFORMANCE_GEMM_TRIAL_H
#define VOLLEY_CONFORMANCE_GEMM_TRIAL_H

#include "conformance/conformance_gemm.h"

/* A plan of the case with its tensors on the device. */
typedef struct gemm_trial {
    accel_trial *trial;
    vly_gemm_desc desc;
    vly_gemm_plan *plan;
    vly_plan_info info;
    accel_buffer tensors[GEMM_N_TENSORS];
    accel_buffer workspace;
    vly_gemm_run run;
    vly_error error;
} gemm_trial;

/* VLY_CONFORMS: the plan is made, the tensors are filled, run points to them.
 * deinit must follow, whether it succeeds or not. */
uint32_t gemm_trial_init(gemm_trial *b, accel_trial *trial);
void gemm_trial_deinit(gemm_trial *b);
/* The message of the last call that failed; what: the name of the call. */
uint32_t gemm_trial_failed(const gemm_trial *b, const char *what);
/* Fresh data for all tensors; D is poisoned. */
void gemm_trial_fill(gemm_trial *b, uint64_t seed);
void gemm_trial_point(gemm_trial *b);
/* All tensors and the workspace to the device and back. */
vly_status gemm_trial_put(gemm_trial *b);
vly_status gemm_trial_get(gemm_trial *b);
/* After a get: inputs, gaps and guards are as they were. */
uint32_t gemm_trial_untouched(gemm_trial *b, bool in_place);
/* After a get: D is correct. c: the content of C before the run. */
uint32_t gemm_trial_values(gemm_trial *b, const void *c);
/* Put, run in the stream, get, all of the above. */
uint32_t gemm_trial_run(gemm_trial *b, float alpha, float beta, void *stream);

#endif
