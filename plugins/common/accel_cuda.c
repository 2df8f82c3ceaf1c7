/* SPDX-License-Identifier: Apache-2.0
 * Devices and errors of CUDA.
 */
#include "accel_cuda.h"

#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

#include <cuda_runtime_api.h>

#include "accel_common.h"

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
static _Thread_local uint32_t current;

static lost_device *lost_of(uint32_t device)
{
    return &lost[device < N_DEVICES ? device : N_DEVICES - 1];
}

static vly_status fail_dead(uint32_t device, vly_error *error)
{
    return vly_support_fail(error, VLY_E_DEVICE,
                            "CUDA device %u failed and answers no more in this "
                            "process: %s",
                            device, lost_of(device)->message);
}

vly_status vly_accel_cuda_check(int code, const char *what, vly_error *error)
{
    lost_device *of = lost_of(current);
    if (code == (int)cudaSuccess)
        return VLY_OK;
    if (atomic_load(&of->is_dead) == 2)
        return fail_dead(current, error);
    const char *text = cudaGetErrorString((cudaError_t)code);
    (void)cudaGetLastError();
    /* a call that is allowed while a stream is captured */
    size_t unused = 0, total = 0;
    cudaError_t again = cudaMemGetInfo(&unused, &total);
    uint32_t alive = 0;
    if (again != cudaSuccess &&
        atomic_compare_exchange_strong(&of->is_dead, &alive, 1)) {
        snprintf(of->message, sizeof of->message, "%s: %s", what, text);
        atomic_store(&of->is_dead, 2);
        return fail_dead(current, error);
    }
    (void)cudaGetLastError();
    return vly_support_fail(error, VLY_E_DEVICE, "%s: %s", what, text);
}

/* The runtime returns one code for no driver and for an old driver. An old
 * driver reports its CUDA version; a runtime works with drivers of its major
 * version. */
static vly_status fail_driver(vly_error *error)
{
    int version = 0;
    if (cudaDriverGetVersion(&version) != cudaSuccess || version == 0)
        return vly_support_fail(error, VLY_E_DEVICE,
                                "CUDA driver not detected: libcuda.so.1 is "
                                "missing or cannot be loaded");
    return vly_support_fail(error, VLY_E_DEVICE,
                            "the CUDA driver is too old: it is for CUDA %d.%d, "
                            "wanted %d.0 or newer",
                            version / 1000, version % 1000 / 10,
                            CUDART_VERSION / 1000);
}

vly_status vly_accel_cuda_detect(vly_error *error)
{
    int count = 0;
    cudaError_t code = cudaGetDeviceCount(&count);
    if (code == cudaSuccess && count > 0)
        return VLY_OK;
    (void)cudaGetLastError();
    if (code == cudaErrorInsufficientDriver)
        return fail_driver(error);
    if (code == cudaSuccess || code == cudaErrorNoDevice) {
        const char *visible = getenv("CUDA_VISIBLE_DEVICES");
        return vly_support_fail(error, VLY_E_DEVICE,
                                "no CUDA device detected: the driver is there, "
                                "but it lists no device%s%.64s",
                                visible ? ", CUDA_VISIBLE_DEVICES is " : "",
                                visible ? visible : "");
    }
    return vly_support_fail(error, VLY_E_DEVICE,
                            "the CUDA driver is there, but cannot be used: %s",
                            cudaGetErrorString(code));
}

vly_status vly_accel_cuda_enter(uint32_t device, vly_error *error)
{
    if (atomic_load(&lost_of(device)->is_dead) == 2)
        return fail_dead(device, error);
    /* every run calls this function: only one call of the runtime */
    cudaError_t code = cudaSetDevice((int)device);
    if (code != cudaErrorInvalidDevice) {
        current = device;
        return vly_accel_cuda_check((int)code, "cudaSetDevice", error);
    }
    int count = 0;
    (void)cudaGetLastError();
    if (cudaGetDeviceCount(&count) != cudaSuccess)
        (void)cudaGetLastError();
    return vly_support_fail(
        error, VLY_E_INVALID, "%s: device %u, but there %s %d",
        vly_support_plugin, device, count == 1 ? "is" : "are", count);
}
