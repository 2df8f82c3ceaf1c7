/* SPDX-License-Identifier: Apache-2.0
 * Devices and errors of CUDA.
 */
#include "accel_cuda.h"

#include <stdatomic.h>
#include <stdio.h>

#include <cuda_runtime_api.h>

#include "accel_common.h"

/* The error after which the device answers no more: written once. */
static _Atomic uint32_t is_dead;
static char dead_message[200];

static vly_status fail_dead(vly_error *error)
{
    return vly_accel_fail(error, VLY_E_DEVICE,
                          "the CUDA device failed and answers no more in this "
                          "process: %s",
                          dead_message);
}

vly_status vly_accel_cuda_check(int code, const char *what, vly_error *error)
{
    if (code == (int)cudaSuccess)
        return VLY_OK;
    if (atomic_load(&is_dead) == 2)
        return fail_dead(error);
    const char *text = cudaGetErrorString((cudaError_t)code);
    (void)cudaGetLastError();
    /* a call that is allowed while a stream is kept as a graph */
    size_t unused = 0, total = 0;
    cudaError_t again = cudaMemGetInfo(&unused, &total);
    uint32_t alive = 0;
    if (again != cudaSuccess &&
        atomic_compare_exchange_strong(&is_dead, &alive, 1)) {
        snprintf(dead_message, sizeof dead_message, "%s: %s", what, text);
        atomic_store(&is_dead, 2);
        return fail_dead(error);
    }
    (void)cudaGetLastError();
    return vly_accel_fail(error, VLY_E_DEVICE, "%s: %s", what, text);
}

vly_status vly_accel_cuda_detect(vly_error *error)
{
    int count = 0;
    cudaError_t code = cudaGetDeviceCount(&count);
    if (code == cudaSuccess && count > 0)
        return VLY_OK;
    (void)cudaGetLastError();
    if (code == cudaSuccess || code == cudaErrorNoDevice)
        return vly_accel_fail(error, VLY_E_DEVICE,
                              "no CUDA device detected: the driver is there, "
                              "but it lists no device");
    return vly_accel_fail(error, VLY_E_DEVICE, "CUDA driver not detected: %s",
                          cudaGetErrorString(code));
}

vly_status vly_accel_cuda_enter(uint32_t device, vly_error *error)
{
    if (atomic_load(&is_dead) == 2)
        return fail_dead(error);
    /* every run comes through here: one call of the runtime */
    cudaError_t code = cudaSetDevice((int)device);
    if (code != cudaErrorInvalidDevice)
        return vly_accel_cuda_check((int)code, "cudaSetDevice", error);
    int count = 0;
    (void)cudaGetLastError();
    if (cudaGetDeviceCount(&count) != cudaSuccess)
        (void)cudaGetLastError();
    return vly_accel_fail(error, VLY_E_INVALID,
                          "%s: device %u, but there are %d", vly_accel_plugin,
                          device, count);
}
