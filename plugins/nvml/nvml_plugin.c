/* SPDX-License-Identifier: Apache-2.0
 * The plugin nvml: volley.telemetry/1 over NVIDIA's management library. Without
 * a driver init fails with that reason.
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "accel_common.h"
#include "nvml_device.h"

static const char *const library_names[] = {"libnvidia-ml.so.1"};
static const char cuda_library[] = "libcuda.so.1";

const char vly_support_plugin[] = "nvml";

static nvml_api api;
static nvml_device *devices; /* [n_devices], under the lock */
static uint32_t n_devices;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static const vly_telemetry_metric metrics[NVML_N_METRICS] = {
#define X(id, kind, name, label, value, help)                                  \
    {name, label, value, help, VLY_TELEMETRY_##kind, 0},
#include "nvml_metrics.def"
#undef X
};

static uint32_t device_count(void)
{
    return n_devices;
}

static vly_status check(uint32_t device, vly_error *error)
{
    if (device < n_devices)
        return VLY_OK;
    return vly_support_fail(error, VLY_E_INVALID,
                            "nvml: device %u, but there %s %u", device,
                            n_devices == 1 ? "is only" : "are", n_devices);
}

/* A text of the library must end within its capacity, otherwise it is
 * ignored. */
static void end_text(char *text, size_t capacity, int32_t code)
{
    text[code == NVML_OK ? capacity - 1 : 0] = '\0';
}

static vly_status device_info(uint32_t device, vly_telemetry_device *info,
                              vly_error *error)
{
    vly_telemetry_device made = {.struct_size = info->struct_size,
                                 .index = device};
    vly_status status = check(device, error);
    char text[64];
    if (status != VLY_OK)
        return status;
    if (info->struct_size < sizeof made)
        return vly_support_fail(error, VLY_E_INVALID,
                                "nvml: struct_size is too small");
    pthread_mutex_lock(&lock);
    const nvml_device *asked = &devices[device];
    if (!asked->handle) {
        status =
            vly_support_fail(error, VLY_E_DEVICE, "NVML does not give it: %s",
                             nvml_text(&api, asked->code, text));
    } else {
        if (api.nvmlDeviceGetName)
            end_text(made.name, sizeof made.name,
                     api.nvmlDeviceGetName(asked->handle, made.name,
                                           sizeof made.name));
        if (api.nvmlDeviceGetUUID)
            end_text(made.uuid, sizeof made.uuid,
                     api.nvmlDeviceGetUUID(asked->handle, made.uuid,
                                           sizeof made.uuid));
        if (api.nvmlSystemGetDriverVersion)
            end_text(made.driver, sizeof made.driver,
                     api.nvmlSystemGetDriverVersion(made.driver,
                                                    sizeof made.driver));
        memcpy(info, &made, sizeof made);
    }
    pthread_mutex_unlock(&lock);
    return status;
}

/* "cuda:1" gives 1; false: not a CUDA device. */
static bool cuda_number(const char *name, uint32_t *number)
{
    char *end = NULL;
    if (strncmp(name, "cuda", 4) != 0)
        return false;
    if (name[4] == '\0' || name[4] == ',') {
        *number = 0;
        return true;
    }
    if (name[4] != ':' || name[5] < '0' || name[5] > '9')
        return false;
    unsigned long value = strtoul(name + 5, &end, 10);
    *number = value < UINT32_MAX ? (uint32_t)value : UINT32_MAX;
    return *end == '\0' || *end == ',';
}

static vly_status device_find(const char *name, uint32_t *device,
                              vly_error *error)
{
    char bus[32];
    char text[64];
    uint32_t number = 0;
    uint32_t index = 0;
    nvml_handle handle = NULL;
    if (!cuda_number(name, &number))
        return vly_support_fail(error, VLY_E_UNSUPPORTED,
                                "nvml: \"%.40s\" is no device of CUDA", name);
    if (!api.nvmlDeviceGetHandleByPciBusId_v2 || !api.nvmlDeviceGetIndex)
        return vly_support_fail(error, VLY_E_UNSUPPORTED,
                                "nvml: this driver finds no device by its bus");
    vly_status status = VLY_OK;
    VLY_TRY(nvml_cuda_bus(cuda_library, number, bus, error));
    int32_t code = api.nvmlDeviceGetHandleByPciBusId_v2(bus, &handle);
    if (code == NVML_OK)
        code = api.nvmlDeviceGetIndex(handle, &index);
    if (code != NVML_OK || index >= n_devices)
        return vly_support_fail(error, VLY_E_DEVICE,
                                "nvml: no device at %s, which is cuda:%u: %s",
                                bus, number,
                                code != NVML_OK ? nvml_text(&api, code, text)
                                                : "not among those listed");
    *device = index;
out:
    return status;
}

static uint32_t list_metrics(const vly_telemetry_metric **list)
{
    *list = metrics;
    return NVML_N_METRICS;
}

static vly_status sample(uint32_t device, double *values, uint32_t n_metrics,
                         vly_error *error)
{
    double all[NVML_N_METRICS];
    vly_status status = VLY_OK;
    VLY_TRY(check(device, error));
    pthread_mutex_lock(&lock);
    status = nvml_sample(&api, &devices[device],
                         vly_support_host->clock_ns(vly_support_host->context),
                         all, error);
    pthread_mutex_unlock(&lock);
    if (n_metrics > NVML_N_METRICS)
        n_metrics = NVML_N_METRICS;
    if (status == VLY_OK)
        memcpy(values, all, n_metrics * sizeof *values);
out:
    return status;
}

/* ---- the plugin ---------------------------------------------------------- */

static const vly_telemetry_source telemetry = {
    .struct_size = sizeof(vly_telemetry_source),
    .metric_size = sizeof(vly_telemetry_metric),
    .device_count = device_count,
    .device_info = device_info,
    .device_find = device_find,
    .metrics = list_metrics,
    .sample = sample,
};

static vly_status list_devices(vly_error *error)
{
    char text[64];
    uint32_t n = 0;
    int32_t code = api.nvmlDeviceGetCount_v2(&n);
    if (code != NVML_OK)
        return vly_support_fail(error, VLY_E_DEVICE,
                                "NVML counts no devices: %s",
                                nvml_text(&api, code, text));
    if (n == 0)
        return vly_support_fail(error, VLY_E_DEVICE, "NVML has no device");
    vly_status status = VLY_OK;
    VLY_TRY(vly_accel_alloc(n, sizeof *devices, &devices, error));
    for (uint32_t i = 0; i < n; i++) {
        devices[i].code =
            api.nvmlDeviceGetHandleByIndex_v2(i, &devices[i].handle);
        if (devices[i].code != NVML_OK)
            devices[i].handle = NULL;
    }
    n_devices = n;
out:
    return status;
}

static void end_library(void)
{
    if (api.nvmlShutdown)
        (void)api.nvmlShutdown();
}

static vly_status init(const vly_host *given, vly_error *error)
{
    vly_status status = VLY_OK;
    VLY_TRY(vly_support_start(given, error));
    status = nvml_open(library_names, 1, &api, error);
    if (status == VLY_OK) {
        status = list_devices(error);
        if (status != VLY_OK)
            end_library();
    }
    if (status != VLY_OK)
        vly_support_stop();
out:
    return status;
}

static void deinit(void)
{
    for (uint32_t i = 0; i < n_devices; i++)
        nvml_device_deinit(&api, &devices[i]);
    vly_accel_free(devices);
    devices = NULL;
    n_devices = 0;
    end_library();
    vly_support_stop();
}

static const void *get_interface(const char *id)
{
    return strcmp(id, VLY_TELEMETRY_INTERFACE) == 0 ? &telemetry : NULL;
}

extern const vly_plugin vly_plugin_entry; /* for -Wmissing-declarations */
VLY_EXPORT const vly_plugin vly_plugin_entry = {
    .struct_size = sizeof(vly_plugin),
    .abi_version = VLY_ABI_VERSION,
    .id = "nvml",
    .version = "1.0",
    .build = "C11, NVML at run time",
    .init = init,
    .deinit = deinit,
    .get_interface = get_interface,
};
