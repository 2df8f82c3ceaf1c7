/* SPDX-License-Identifier: Apache-2.0
 * A libnvidia-ml.so.1 that manages two fake GPUs. What it answers is
 * fixed, but for what the environment says at the time of the call:
 *   FAKE_NVML_FAIL=FUNCTION=CODE  this function returns the code ("*": all)
 *   FAKE_NVML_BLANK=1             numbers are those that stand for "none"
 *   FAKE_NVML_XID=N               N errors (Xid 79) wait to be fetched
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "nvml_api.h"

#define EXPORT __attribute__((visibility("default")))

enum { N_DEVICES = 2 };

static char handles[N_DEVICES]; /* addresses only */
static char samples[64];
static int n_samples;
static int n_fetched;

#define NVML_DECLARE(name, optional, parameters) EXPORT int32_t name parameters;
NVML_FUNCTIONS(NVML_DECLARE)
EXPORT const char *nvmlErrorString(int32_t code);

static int32_t code_of(const char *name)
{
    const char *fail = getenv("FAKE_NVML_FAIL");
    const char *equals = fail ? strrchr(fail, '=') : NULL;
    if (!equals)
        return NVML_OK;
    size_t n = (size_t)(equals - fail);
    if ((n == 1 && fail[0] == '*') ||
        (strncmp(fail, name, n) == 0 && name[n] == '\0'))
        return atoi(equals + 1);
    return NVML_OK;
}

static int blank(void)
{
    return getenv("FAKE_NVML_BLANK") != NULL;
}

/* 0 or 1; another handle is an error of the test. */
static uint32_t index_of(nvml_handle handle)
{
    for (uint32_t i = 0; i < N_DEVICES; i++)
        if (handle == &handles[i])
            return i;
    abort();
}

#define FAIL_IF_TOLD()                                                         \
    do {                                                                       \
        int32_t told_ = code_of(__func__);                                     \
        if (told_ != NVML_OK)                                                  \
            return told_;                                                      \
    } while (0)

int32_t nvmlInit_v2(void)
{
    FAIL_IF_TOLD();
    return NVML_OK;
}

int32_t nvmlShutdown(void)
{
    return NVML_OK;
}

const char *nvmlErrorString(int32_t code)
{
    return code == 15  ? "GPU is lost"
           : code == 3 ? "Not Supported"
           : code == 9 ? "Driver Not Loaded"
                       : "Unknown Error";
}

int32_t nvmlSystemGetDriverVersion(char *text, uint32_t n)
{
    FAIL_IF_TOLD();
    snprintf(text, n, "580.00");
    return NVML_OK;
}

int32_t nvmlDeviceGetCount_v2(uint32_t *n)
{
    FAIL_IF_TOLD();
    *n = N_DEVICES;
    return NVML_OK;
}

int32_t nvmlDeviceGetHandleByIndex_v2(uint32_t i, nvml_handle *handle)
{
    FAIL_IF_TOLD();
    *handle = &handles[i];
    return NVML_OK;
}

int32_t nvmlDeviceGetHandleByPciBusId_v2(const char *bus, nvml_handle *handle)
{
    FAIL_IF_TOLD();
    int i = strcmp(bus, "0000:01:00.0") == 0   ? 0
            : strcmp(bus, "0000:02:00.0") == 0 ? 1
                                               : -1;
    if (i < 0)
        return 6;
    *handle = &handles[i];
    return NVML_OK;
}

int32_t nvmlDeviceGetIndex(nvml_handle handle, uint32_t *index)
{
    FAIL_IF_TOLD();
    *index = index_of(handle);
    return NVML_OK;
}

int32_t nvmlDeviceGetName(nvml_handle handle, char *text, uint32_t n)
{
    FAIL_IF_TOLD();
    snprintf(text, n, "Fake GPU %u", index_of(handle));
    return NVML_OK;
}

int32_t nvmlDeviceGetUUID(nvml_handle handle, char *text, uint32_t n)
{
    FAIL_IF_TOLD();
    snprintf(text, n, "GPU-0000-%u", index_of(handle));
    return NVML_OK;
}

int32_t nvmlDeviceGetUtilizationRates(nvml_handle handle,
                                      nvml_utilization *rates)
{
    FAIL_IF_TOLD();
    rates->gpu = blank() ? UINT32_MAX : 90 + index_of(handle);
    rates->memory = blank() ? UINT32_MAX : 40;
    return NVML_OK;
}

int32_t nvmlDeviceGetMemoryInfo(nvml_handle handle, nvml_memory_v1 *memory)
{
    FAIL_IF_TOLD();
    memory->total = 1000;
    memory->used = blank() ? UINT64_MAX : 100 + index_of(handle);
    memory->free = blank() ? UINT64_MAX : 800;
    return NVML_OK;
}

int32_t nvmlDeviceGetMemoryInfo_v2(nvml_handle handle, nvml_memory_v2 *memory)
{
    FAIL_IF_TOLD();
    if (memory->version != (40u | 2u << 24))
        return 25;
    memory->total = 1000;
    memory->reserved = 50;
    memory->used = blank() ? UINT64_MAX : 200 + index_of(handle);
    memory->free = blank() ? UINT64_MAX : 750;
    return NVML_OK;
}

int32_t nvmlDeviceGetPowerUsage(nvml_handle handle, uint32_t *mw)
{
    FAIL_IF_TOLD();
    *mw = blank() ? UINT32_MAX : 300000 + index_of(handle);
    return NVML_OK;
}

int32_t nvmlDeviceGetTotalEnergyConsumption(nvml_handle handle, uint64_t *mj)
{
    FAIL_IF_TOLD();
    *mj = blank() ? UINT64_MAX : 5000 + index_of(handle);
    return NVML_OK;
}

int32_t nvmlDeviceGetTemperature(nvml_handle handle, uint32_t sensor,
                                 uint32_t *celsius)
{
    FAIL_IF_TOLD();
    *celsius = blank() ? UINT32_MAX : 40 + index_of(handle) + 100 * sensor;
    return NVML_OK;
}

int32_t nvmlDeviceGetTemperatureV(nvml_handle handle, nvml_temperature *hot)
{
    FAIL_IF_TOLD();
    if (hot->version != (12u | 1u << 24) || hot->sensor != NVML_SENSOR_CHIP)
        return 25;
    hot->celsius = blank() ? INT32_MAX : 50 + (int32_t)index_of(handle);
    return NVML_OK;
}

int32_t nvmlDeviceGetClockInfo(nvml_handle handle, uint32_t kind, uint32_t *mhz)
{
    FAIL_IF_TOLD();
    *mhz = blank()                 ? UINT32_MAX
           : kind == NVML_CLOCK_SM ? 1980 + index_of(handle)
                                   : 3201;
    return NVML_OK;
}

int32_t nvmlDeviceGetCurrentClocksEventReasons(nvml_handle handle,
                                               uint64_t *bits)
{
    FAIL_IF_TOLD();
    *bits = blank() ? UINT64_MAX
            : index_of(handle) == 0
                ? NVML_REASON_POWER_CAP | NVML_REASON_HW_THERMAL
                : 1; /* idle, which limits nothing */
    return NVML_OK;
}

int32_t nvmlDeviceGetCurrentClocksThrottleReasons(nvml_handle handle,
                                                  uint64_t *bits)
{
    FAIL_IF_TOLD();
    (void)index_of(handle);
    *bits = NVML_REASON_BRAKE;
    return NVML_OK;
}

int32_t nvmlDeviceGetPcieThroughput(nvml_handle handle, uint32_t way,
                                    uint32_t *kb)
{
    FAIL_IF_TOLD();
    (void)index_of(handle);
    *kb = blank() ? UINT32_MAX : way == NVML_PCIE_SENT ? 7 : 9;
    return NVML_OK;
}

int32_t nvmlDeviceGetTotalEccErrors(nvml_handle handle, uint32_t kind,
                                    uint32_t counter, uint64_t *n)
{
    FAIL_IF_TOLD();
    *n =
        blank() ? UINT64_MAX : 10 * kind + 2 + index_of(handle) + 100 * counter;
    return NVML_OK;
}

int32_t nvmlDeviceGetFieldValues(nvml_handle handle, int32_t n,
                                 nvml_field *fields)
{
    FAIL_IF_TOLD();
    for (int32_t i = 0; i < n; i++) {
        nvml_field *field = &fields[i];
        field->code = NVML_OK;
        field->type = NVML_VALUE_ULONGLONG;
        if (blank())
            field->value.ull = 9223372036854775794u;
        else if (field->field == NVML_FIELD_POLICY_POWER)
            field->value.ull = 2000000000u;
        else if (field->field == NVML_FIELD_POLICY_THERMAL)
            field->code = 3; /* not supported, alone of the four */
        else if (field->field == NVML_FIELD_POWER_INSTANT) {
            field->type = NVML_VALUE_UINT;
            field->value.u = 650000 + index_of(handle);
        } else {
            field->type = NVML_VALUE_INT;
            field->value.i = 77;
        }
    }
    return NVML_OK;
}

int32_t nvmlEventSetCreate(nvml_handle *set)
{
    FAIL_IF_TOLD();
    *set = samples;
    return NVML_OK;
}

int32_t nvmlDeviceRegisterEvents(nvml_handle handle, uint64_t types,
                                 nvml_handle set)
{
    FAIL_IF_TOLD();
    (void)index_of(handle);
    return types == NVML_EVENT_XID && set == samples ? NVML_OK : 2;
}

int32_t nvmlEventSetWait_v2(nvml_handle set, nvml_event *event,
                            uint32_t timeout)
{
    FAIL_IF_TOLD();
    const char *n = getenv("FAKE_NVML_XID");
    if (set != samples || timeout != 0)
        abort();
    if (n_fetched >= (n ? atoi(n) : 0))
        return 10; /* timeout */
    n_fetched++;
    event->type = NVML_EVENT_XID;
    event->data = 79;
    return NVML_OK;
}

int32_t nvmlEventSetFree(nvml_handle set)
{
    n_fetched = 0;
    return set == samples ? NVML_OK : 2;
}

int32_t nvmlGpmQueryDeviceSupport(nvml_handle handle, nvml_gpm_support *support)
{
    FAIL_IF_TOLD();
    if (support->version != 1)
        return 25;
    support->supported = index_of(handle) == 0; /* only the first */
    return NVML_OK;
}

int32_t nvmlGpmSampleAlloc(nvml_handle *sample)
{
    FAIL_IF_TOLD();
    *sample = malloc(1);
    n_samples++;
    return NVML_OK;
}

int32_t nvmlGpmSampleFree(nvml_handle sample)
{
    free(sample);
    n_samples--;
    return NVML_OK;
}

int32_t nvmlGpmSampleGet(nvml_handle handle, nvml_handle sample)
{
    FAIL_IF_TOLD();
    (void)index_of(handle);
    *(char *)sample = 1;
    return NVML_OK;
}

int32_t nvmlGpmMetricsGet(nvml_gpm_get *get)
{
    FAIL_IF_TOLD();
    if (get->version != 1 || get->first == get->second ||
        *(char *)get->first != 1 || *(char *)get->second != 1)
        return 2;
    for (uint32_t i = 0; i < get->n; i++) {
        get->metrics[i].code = NVML_OK;
        get->metrics[i].value = blank()                    ? 1e300
                                : get->metrics[i].id >= 20 ? 2
                                                           : 25;
    }
    return NVML_OK;
}
