/* SPDX-License-Identifier: Apache-2.0
 * The device of each thread, and errors of devices.
 */
#ifndef VOLLEY_CUDA_ERROR_H
#define VOLLEY_CUDA_ERROR_H

#include "cuda_base.h"

/* VLY_OK, or the failure with a message. An error that makes the device of this
 * thread unusable for this process is stored and returned from then on; other
 * devices are not affected. */
vly_status vly_cuda_check(int code, const char *what, vly_error *error);
/* Sets the device of this thread; a cudaError_t. No other function sets it. */
int vly_cuda_select(int32_t device);
/* VLY_OK, or the stored error; sets the device of this thread. */
vly_status vly_cuda_enter(int32_t device, vly_error *error);

#endif
