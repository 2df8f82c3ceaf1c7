/* SPDX-License-Identifier: Apache-2.0
 * Begins before the network is known: the context of a device, the kernel that
 * every net asks for, pinned memory for rows.
 *
 * Of several devices only the first: how many a net gets depends on its size,
 * and a context on a device that gets none would take 0.5 GB there. All codes
 * are ignored and the device is not marked as lost, since net_create does the
 * same again and reports it.
 */
#include "cuda_device.h"

#include "cuda_error.h"
#include "cuda_memory.h"
#include "cuda_store.h"

static bool is_wanted(const uint32_t *wanted)
{
    return __atomic_load_n(wanted, __ATOMIC_ACQUIRE) != 0;
}

/* The runtime makes a context with the first call that needs one; the kernel is
 * loaded when it is asked for first. */
static bool begin_device(int32_t device)
{
    vly_cuda_view view = {.n_ports = 1, .model = VLY_CUDA_N_MODELS};
    int blocks = 0;
    cudaError_t code = (cudaError_t)vly_cuda_select(device);
    if (code == cudaSuccess)
        code = cudaFree(NULL);
    if (code == cudaSuccess)
        code = vly_cuda_global_occupancy(&view, &blocks);
    (void)cudaGetLastError();
    return code == cudaSuccess;
}

void vly_cuda_prepare(const vly_device_spec *devices, uint32_t n_devices,
                      const uint32_t *wanted)
{
    if (n_devices == 0 || devices[0].index >= vly_cuda_device_count() ||
        is_wanted(wanted) || !begin_device((int32_t)devices[0].index))
        return;
    for (uint32_t n = 1; n <= VLY_CUDA_ROW_SLOTS && !is_wanted(wanted); n++)
        if (!vly_cuda_memory_keep(devices[0].index, n, VLY_CUDA_ROW_BYTES))
            return;
}
