/* SPDX-License-Identifier: Apache-2.0
 * The management library, opened at run time, and the one question to CUDA's
 * driver that finds a CUDA device in it.
 */
#include "nvml_device.h"

#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "accel_common.h"
#include "shared_library.h"

static const vly_library_function functions[] = {
#define ROW(name, optional, parameters)                                        \
    {#name, offsetof(nvml_api, name), (optional), 0},
    NVML_FUNCTIONS(ROW)
#undef ROW
        {"nvmlErrorString", offsetof(nvml_api, nvmlErrorString), 1, 0},
};

const char *nvml_text(const nvml_api *api, int32_t code, char text[64])
{
    const char *said = api->nvmlErrorString ? api->nvmlErrorString(code) : NULL;
    if (said)
        snprintf(text, 64, "%s", said);
    else
        snprintf(text, 64, "code %d", (int)code);
    return text;
}

vly_status nvml_open(const char *const *names, uint32_t n, nvml_api *api,
                     vly_error *error)
{
    char text[64];
    memset(api, 0, sizeof *api);
    vly_status status = VLY_OK;
    VLY_TRY(vly_library_open("NVML", names, n, functions,
                             (uint32_t)(sizeof functions / sizeof functions[0]),
                             api, NULL, error));
    int32_t code = api->nvmlInit_v2();
    if (code != NVML_OK)
        return vly_support_fail(error, VLY_E_DEVICE, "NVML does not start: %s",
                                nvml_text(api, code, text));
out:
    return status;
}

typedef struct cuda_api {
    int32_t (*init)(uint32_t flags);
    int32_t (*get)(int32_t *device, int32_t ordinal);
    int32_t (*bus)(char *text, int32_t bytes, int32_t device);
} cuda_api;

vly_status nvml_cuda_bus(const char *library, uint32_t number, char bus[32],
                         vly_error *error)
{
    static const vly_library_function wanted[] = {
        {"cuInit", offsetof(cuda_api, init), 0, 0},
        {"cuDeviceGet", offsetof(cuda_api, get), 0, 0},
        {"cuDeviceGetPCIBusId", offsetof(cuda_api, bus), 0, 0},
    };
    cuda_api cuda;
    int32_t device = 0;
    char text[32] = "";
    if (vly_library_open("CUDA's driver", &library, 1, wanted, 3, &cuda, NULL,
                         error) != VLY_OK) {
        if (error)
            error->status = VLY_E_DEVICE;
        return VLY_E_DEVICE;
    }
    int32_t code = cuda.init(0);
    if (code == 0)
        code = number <= INT32_MAX ? cuda.get(&device, (int32_t)number) : -1;
    if (code == 0)
        code = cuda.bus(text, (int32_t)sizeof text, device);
    if (code != 0)
        return vly_support_fail(error, VLY_E_DEVICE,
                                "CUDA's driver has no device %u: error %d",
                                number, (int)code);
    text[sizeof text - 1] = '\0';
    memcpy(bus, text, sizeof text);
    return VLY_OK;
}
