/* SPDX-License-Identifier: Apache-2.0
 * The device of each thread, and errors of devices in words.
 */
#include "cuda_error.h"

#include <stdatomic.h>
#include <stdio.h>

/* Maximum number of devices of a process. */
#define N_DEVICES 64u

/* The error that made a device unusable, written once. A context belongs to one
 * device, so other devices can still be used. */
typedef struct lost_device {
    _Atomic uint32_t is_dead; /* 1: being written, 2: message is complete */
    char message[200];
} lost_device;

static lost_device lost[N_DEVICES];
/* the runtime's device of this thread */
static _Thread_local int32_t current;

static lost_device *lost_of(int32_t device)
{
    return &lost[(uint32_t)device < N_DEVICES ? (uint32_t)device
                                              : N_DEVICES - 1];
}

static vly_status fail_dead(int32_t device, vly_error *error)
{
    return vly_cuda_fail(error, VLY_E_DEVICE,
                         "CUDA device %d failed and answers no more in this "
                         "process: %s",
                         device, lost_of(device)->message);
}

vly_status vly_cuda_check(int code, const char *what, vly_error *error)
{
    lost_device *of = lost_of(current);
    if (code == (int)cudaSuccess)
        return VLY_OK;
    if (atomic_load(&of->is_dead) == 2)
        return fail_dead(current, error);
    /* an error that stays after it has been read has ended the context */
    (void)cudaGetLastError();
    cudaError_t again = cudaDeviceSynchronize();
    uint32_t alive = 0;
    if (again != cudaSuccess &&
        atomic_compare_exchange_strong(&of->is_dead, &alive, 1)) {
        snprintf(of->message, sizeof of->message, "%s: %s", what,
                 cudaGetErrorString((cudaError_t)code));
        atomic_store(&of->is_dead, 2);
        return fail_dead(current, error);
    }
    return vly_cuda_fail(error, VLY_E_DEVICE, "%s: %s", what,
                         cudaGetErrorString((cudaError_t)code));
}

int vly_cuda_select(int32_t device)
{
    current = device;
    return (int)cudaSetDevice(device);
}

vly_status vly_cuda_enter(int32_t device, vly_error *error)
{
    if (atomic_load(&lost_of(device)->is_dead) == 2)
        return fail_dead(device, error);
    return vly_cuda_check(vly_cuda_select(device), "cudaSetDevice", error);
}
