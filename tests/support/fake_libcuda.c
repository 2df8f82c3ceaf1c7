/* SPDX-License-Identifier: Apache-2.0
 * A libcuda.so.1 that says where its devices are, in another order than
 * fake_nvml.c's: CUDA's order is not that of the bus.
 */
#include <stdint.h>
#include <stdio.h>

#define EXPORT __attribute__((visibility("default")))

EXPORT int32_t cuInit(uint32_t flags);
EXPORT int32_t cuDeviceGet(int32_t *device, int32_t ordinal);
EXPORT int32_t cuDeviceGetPCIBusId(char *text, int32_t n, int32_t device);

int32_t cuInit(uint32_t flags)
{
    return flags == 0 ? 0 : 1;
}

int32_t cuDeviceGet(int32_t *device, int32_t ordinal)
{
    if (ordinal < 0 || ordinal > 1)
        return 101;
    *device = ordinal;
    return 0;
}

int32_t cuDeviceGetPCIBusId(char *text, int32_t n, int32_t device)
{
    snprintf(text, (size_t)n, "0000:%02x:00.0", device == 0 ? 2 : 1);
    return 0;
}
