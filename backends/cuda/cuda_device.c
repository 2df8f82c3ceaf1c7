/* SPDX-License-Identifier: Apache-2.0
 * Which devices there are.
 */
#include "cuda_device.h"

#include <stdio.h>

#include "cuda_error.h"

/* The runtime returns one code for no driver and for an old driver. An old
 * driver reports its CUDA version; a runtime works with drivers of its major
 * version. */
static vly_status fail_driver(vly_error *error)
{
    int version = 0;
    if (cudaDriverGetVersion(&version) != cudaSuccess || version == 0)
        return vly_cuda_fail(error, VLY_E_DEVICE,
                             "CUDA driver not detected: libcuda.so.1 is "
                             "missing or cannot be loaded");
    return vly_cuda_fail(error, VLY_E_DEVICE,
                         "the CUDA driver is too old: it is for CUDA %d.%d, "
                         "wanted %d.0 or newer",
                         version / 1000, version % 1000 / 10,
                         CUDART_VERSION / 1000);
}

vly_status vly_cuda_detect(vly_error *error)
{
    int count = 0;
    cudaError_t code = cudaGetDeviceCount(&count);
    if (code == cudaSuccess && count > 0)
        return VLY_OK;
    (void)cudaGetLastError();
    if (code == cudaErrorInsufficientDriver)
        return fail_driver(error);
    if (code == cudaSuccess || code == cudaErrorNoDevice)
        return vly_cuda_fail(error, VLY_E_DEVICE,
                             "no CUDA device detected: the driver is there, "
                             "but it lists no device");
    return vly_cuda_fail(error, VLY_E_DEVICE,
                         "the CUDA driver is there, but cannot be used: %s",
                         cudaGetErrorString(code));
}

uint32_t vly_cuda_device_count(void)
{
    int count = 0;
    if (cudaGetDeviceCount(&count) != cudaSuccess) {
        (void)cudaGetLastError();
        return 0;
    }
    return count > 0 ? (uint32_t)count : 0;
}

/* Whether a net may run on this device and others. */
static const char *links_of(int index, int count)
{
    int n = 0;
    for (int i = 0; i < count; i++) {
        int can = 0;
        if (i != index &&
            cudaDeviceCanAccessPeer(&can, index, i) == cudaSuccess)
            n += can;
    }
    (void)cudaGetLastError();
    return count == 1       ? ""
           : n == count - 1 ? ", peer of all"
           : n > 0          ? ", peer of some"
                            : ", no peers";
}

vly_status vly_cuda_device_info(uint32_t index, vly_device_info *info,
                                vly_error *error)
{
    vly_status status = VLY_OK;
    VLY_TRY(vly_cuda_detect(error));
    uint32_t count = vly_cuda_device_count();
    if (index >= count)
        return vly_cuda_fail(error, VLY_E_DEVICE,
                             "cuda: device %u, but there are %u", index, count);
    VLY_TRY(vly_support_check_info(info, error));
    struct cudaDeviceProp properties;
    VLY_TRY(
        vly_cuda_check((int)cudaGetDeviceProperties(&properties, (int)index),
                       "cudaGetDeviceProperties", error));
    info->index = index;
    snprintf(info->name, sizeof info->name, "%.127s", properties.name);
    snprintf(info->capability, sizeof info->capability,
             "compute capability %d.%d, %d multiprocessors%s", properties.major,
             properties.minor, properties.multiProcessorCount,
             links_of((int)index, (int)count));
    info->memory_bytes = properties.totalGlobalMem;
out:
    return status;
}
