/* SPDX-License-Identifier: Apache-2.0
 * The device of each thread, and errors of devices.
 */
#ifndef VOLLEY_CUDA_ERROR_H
#define VOLLEY_CUDA_ERROR_H

#include "cuda_base.h"

/* VLY_OK, or the failure in words. An error that leaves the device of this
 * thread unusable for this process is kept and reported for ever; others are
 * not concerned. */
vly_status vly_cuda_check(int code, const char *what, vly_error *error);
/* Sets the device of this thread; a cudaError_t. Nothing else does that. */
int vly_cuda_select(int32_t device);
/* VLY_OK, or the error that was kept; sets the device of this thread. */
vly_status vly_cuda_enter(int32_t device, vly_error *error);

#endif
