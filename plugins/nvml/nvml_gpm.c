/* SPDX-License-Identifier: Apache-2.0
 * GPM (from Hopper on): means between two samples of the device's counters.
 * They say how busy multiprocessors, tensor cores and memory were, which
 * utilisation does not: that is only whether a kernel was resident.
 */
#include <math.h>
#include <string.h>

#include "nvml_device.h"

static const uint64_t least_ns = 100000000;

static const struct {
    uint32_t id;
    double unit;
} wanted[NVML_N_GPM] = {
    {NVML_GPM_SM_ACTIVE, 0.01},      {NVML_GPM_OCCUPANCY, 0.01},
    {NVML_GPM_ANY_TENSOR, 0.01},     {NVML_GPM_DRAM, 0.01},
    {NVML_GPM_PCIE_SENT, 1048576.0}, {NVML_GPM_PCIE_RECEIVED, 1048576.0},
};

static void forget(nvml_device *device)
{
    for (int i = 0; i < NVML_N_GPM; i++)
        device->ratios[i] = NAN;
}

void nvml_gpm_init(const nvml_api *api, nvml_device *device)
{
    nvml_gpm_support support = {1, 0};
    forget(device);
    if (!api->nvmlGpmQueryDeviceSupport || !api->nvmlGpmSampleAlloc ||
        !api->nvmlGpmSampleFree || !api->nvmlGpmSampleGet ||
        !api->nvmlGpmMetricsGet)
        return;
    if (!nvml_did(device,
                  api->nvmlGpmQueryDeviceSupport(device->handle, &support)) ||
        support.supported == 0)
        return;
    for (int i = 0; i < 2; i++)
        if (api->nvmlGpmSampleAlloc(&device->gpm[i]) != NVML_OK)
            device->gpm[i] = NULL;
    if (!device->gpm[0] || !device->gpm[1])
        nvml_gpm_deinit(api, device);
}

static void read_metrics(const nvml_api *api, nvml_device *device)
{
    nvml_gpm_get get;
    memset(&get, 0, sizeof get);
    get.version = 1;
    get.n = NVML_N_GPM;
    get.first = device->gpm[0];
    get.second = device->gpm[1];
    for (int i = 0; i < NVML_N_GPM; i++)
        get.metrics[i].id = wanted[i].id;
    forget(device);
    if (!nvml_did(device, api->nvmlGpmMetricsGet(&get)))
        return;
    for (int i = 0; i < NVML_N_GPM; i++)
        if (get.metrics[i].code == NVML_OK)
            device->ratios[i] = get.metrics[i].value * wanted[i].unit;
}

void nvml_gpm_look(const nvml_api *api, nvml_device *device, uint64_t clock_ns)
{
    if (!device->gpm[0])
        return;
    const bool first = device->gpm_ns == 0;
    if (!first && clock_ns - device->gpm_ns < least_ns)
        return;
    nvml_handle newer = device->gpm[0];
    if (!nvml_did(device, api->nvmlGpmSampleGet(device->handle, newer))) {
        forget(device);
        return;
    }
    device->gpm[0] = device->gpm[1];
    device->gpm[1] = newer;
    device->gpm_ns = clock_ns;
    if (!first)
        read_metrics(api, device);
}

void nvml_gpm_deinit(const nvml_api *api, nvml_device *device)
{
    for (int i = 0; i < 2; i++) {
        if (device->gpm[i])
            (void)api->nvmlGpmSampleFree(device->gpm[i]);
        device->gpm[i] = NULL;
    }
}
