/* SPDX-License-Identifier: Apache-2.0
 * A sample of one GPU. Whatever a driver or a device does not have is left
 * out, by its answer or by the numbers that stand for "none" in some of them
 * (all ones, and the blank values near the largest int64), which would
 * otherwise be plotted.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "accel_common.h"
#include "nvml_device.h"

bool nvml_did(nvml_device *device, int32_t code)
{
    if (code == NVML_GPU_IS_LOST)
        device->lost = true;
    return code == NVML_OK;
}

/* ---- valid values -------------------------------------------------------- */

static const uint64_t blank64 = 0x7ffffffffffffff0u;

static double number32(uint32_t value, double unit)
{
    return value >= 0x7ffffff0u ? NAN : value * unit;
}

static double number64(uint64_t value, double unit)
{
    return value >= blank64 ? NAN : (double)value * unit;
}

static double temperature(int64_t celsius)
{
    return celsius > -273 && celsius < 1000 ? (double)celsius : NAN;
}

/* A share of time that is measured over a slightly shorter time may slightly
 * exceed 1. */
static double ratio(double value)
{
    if (!(value >= 0 && value <= 1.05))
        return NAN;
    return value > 1 ? 1 : value;
}

static double amount(double value)
{
    return value >= 0 && value <= 1e18 ? value : NAN;
}

/* ---- groups of metrics --------------------------------------------------- */

static void put_busy(const nvml_api *api, nvml_device *device, uint64_t now,
                     double *values)
{
    nvml_utilization busy;
    if (api->nvmlDeviceGetUtilizationRates &&
        nvml_did(device,
                 api->nvmlDeviceGetUtilizationRates(device->handle, &busy))) {
        values[NVML_METRIC_KERNEL_RESIDENT] = ratio(busy.gpu * 0.01);
        values[NVML_METRIC_MEMORY_ACCESS] = ratio(busy.memory * 0.01);
    }
    nvml_gpm_look(api, device, now);
    values[NVML_METRIC_SM_ACTIVE] = ratio(device->ratios[0]);
    values[NVML_METRIC_SM_OCCUPANCY] = ratio(device->ratios[1]);
    values[NVML_METRIC_TENSOR_ACTIVE] = ratio(device->ratios[2]);
    values[NVML_METRIC_DRAM_ACTIVE] = ratio(device->ratios[3]);
    values[NVML_METRIC_PCIE_SENT] = amount(device->ratios[4]);
    values[NVML_METRIC_PCIE_RECEIVED] = amount(device->ratios[5]);
}

static void put_pcie(const nvml_api *api, nvml_device *device, double *values)
{
    static const uint32_t way[] = {NVML_PCIE_SENT, NVML_PCIE_RECEIVED};
    static const int metric[] = {NVML_METRIC_PCIE_SENT,
                                 NVML_METRIC_PCIE_RECEIVED};
    /* the call measures for 20 ms: not used if GPM has the value */
    for (int i = 0; i < 2 && api->nvmlDeviceGetPcieThroughput; i++) {
        uint32_t kb = 0;
        if (isnan(values[metric[i]]) && !device->gpm[0] &&
            nvml_did(device, api->nvmlDeviceGetPcieThroughput(device->handle,
                                                              way[i], &kb)))
            values[metric[i]] = number32(kb, 1000);
    }
}

static void put_memory(const nvml_api *api, nvml_device *device, double *values)
{
    nvml_memory_v2 two = {.version = NVML_VERSION(nvml_memory_v2, 2)};
    nvml_memory_v1 one;
    if (api->nvmlDeviceGetMemoryInfo_v2 &&
        nvml_did(device,
                 api->nvmlDeviceGetMemoryInfo_v2(device->handle, &two))) {
        values[NVML_METRIC_MEMORY_USED] = number64(two.used, 1);
        values[NVML_METRIC_MEMORY_FREE] = number64(two.free, 1);
    } else if (api->nvmlDeviceGetMemoryInfo &&
               nvml_did(device,
                        api->nvmlDeviceGetMemoryInfo(device->handle, &one))) {
        values[NVML_METRIC_MEMORY_USED] = number64(one.used, 1);
        values[NVML_METRIC_MEMORY_FREE] = number64(one.free, 1);
    }
}

static void put_clocks(const nvml_api *api, nvml_device *device, double *values)
{
    static const struct {
        int metric;
        uint64_t bit;
    } reasons[] = {
        {NVML_METRIC_LIMITED_POWER, NVML_REASON_POWER_CAP},
        {NVML_METRIC_LIMITED_SLOWDOWN, NVML_REASON_SLOWDOWN},
        {NVML_METRIC_LIMITED_SYNC, NVML_REASON_SYNC_BOOST},
        {NVML_METRIC_LIMITED_SW_THERMAL, NVML_REASON_SW_THERMAL},
        {NVML_METRIC_LIMITED_HW_THERMAL, NVML_REASON_HW_THERMAL},
        {NVML_METRIC_LIMITED_BRAKE, NVML_REASON_BRAKE},
    };
    uint32_t mhz = 0;
    uint64_t bits = 0;
    if (api->nvmlDeviceGetClockInfo &&
        nvml_did(device, api->nvmlDeviceGetClockInfo(device->handle,
                                                     NVML_CLOCK_SM, &mhz)))
        values[NVML_METRIC_SM_CLOCK] = number32(mhz, 1e6);
    if (api->nvmlDeviceGetClockInfo &&
        nvml_did(device, api->nvmlDeviceGetClockInfo(device->handle,
                                                     NVML_CLOCK_MEMORY, &mhz)))
        values[NVML_METRIC_MEMORY_CLOCK] = number32(mhz, 1e6);
    /* the older name of the same function */
    int32_t (*why)(nvml_handle, uint64_t *) =
        api->nvmlDeviceGetCurrentClocksEventReasons
            ? api->nvmlDeviceGetCurrentClocksEventReasons
            : api->nvmlDeviceGetCurrentClocksThrottleReasons;
    if (!why || !nvml_did(device, why(device->handle, &bits)) ||
        bits >= blank64)
        return;
    for (size_t i = 0; i < sizeof reasons / sizeof reasons[0]; i++)
        values[reasons[i].metric] = (bits & reasons[i].bit) != 0;
}

static double field_value(const nvml_field *field)
{
    if (field->code != NVML_OK)
        return NAN;
    switch (field->type) {
    case NVML_VALUE_DOUBLE:
        return field->value.d;
    case NVML_VALUE_UINT:
        return number32(field->value.u, 1);
    case NVML_VALUE_ULONG:
    case NVML_VALUE_ULONGLONG:
        return number64(field->value.ull, 1);
    case NVML_VALUE_LONGLONG:
        return field->value.sll < 0 ? NAN
                                    : number64((uint64_t)field->value.sll, 1);
    case NVML_VALUE_INT:
        return field->value.i < 0 ? NAN : number32((uint32_t)field->value.i, 1);
    case NVML_VALUE_USHORT:
        return field->value.us;
    default:
        return NAN;
    }
}

static void put_fields(const nvml_api *api, nvml_device *device, double *values)
{
    static const struct {
        uint32_t field;
        int metric;
        double unit;
    } wanted[] = {
        {NVML_FIELD_POLICY_POWER, NVML_METRIC_LIMITED_POWER_S, 1e-9},
        {NVML_FIELD_POLICY_THERMAL, NVML_METRIC_LIMITED_THERMAL_S, 1e-9},
        {NVML_FIELD_MEMORY_TEMPERATURE, NVML_METRIC_MEMORY_TEMPERATURE, 1},
        {NVML_FIELD_POWER_INSTANT, NVML_METRIC_POWER, 1e-3},
    };
    enum { N = sizeof wanted / sizeof wanted[0] };
    nvml_field fields[N];
    memset(fields, 0, sizeof fields);
    for (int i = 0; i < N; i++) {
        fields[i].field = wanted[i].field;
        fields[i].code = -1; /* an entry that is not filled has no value */
    }
    if (!api->nvmlDeviceGetFieldValues ||
        !nvml_did(device,
                  api->nvmlDeviceGetFieldValues(device->handle, N, fields)))
        return;
    for (int i = 0; i < N; i++) {
        double value = field_value(&fields[i]) * wanted[i].unit;
        values[wanted[i].metric] = amount(value);
    }
}

static void put_power(const nvml_api *api, nvml_device *device, double *values)
{
    uint32_t mw = 0;
    uint64_t mj = 0;
    nvml_temperature hot = {NVML_VERSION(nvml_temperature, 1), NVML_SENSOR_CHIP,
                            0};
    uint32_t celsius = 0;
    if (api->nvmlDeviceGetPowerUsage &&
        nvml_did(device, api->nvmlDeviceGetPowerUsage(device->handle, &mw)))
        values[NVML_METRIC_POWER_MEAN] = number32(mw, 1e-3);
    if (api->nvmlDeviceGetTotalEnergyConsumption &&
        nvml_did(device,
                 api->nvmlDeviceGetTotalEnergyConsumption(device->handle, &mj)))
        values[NVML_METRIC_ENERGY] = number64(mj, 1e-3);
    if (api->nvmlDeviceGetTemperatureV &&
        nvml_did(device, api->nvmlDeviceGetTemperatureV(device->handle, &hot)))
        values[NVML_METRIC_TEMPERATURE] = temperature(hot.celsius);
    else if (api->nvmlDeviceGetTemperature &&
             nvml_did(device, api->nvmlDeviceGetTemperature(
                                  device->handle, NVML_SENSOR_CHIP, &celsius)))
        values[NVML_METRIC_TEMPERATURE] = temperature(celsius);
}

static void put_errors(const nvml_api *api, nvml_device *device, double *values)
{
    static const struct {
        uint32_t kind;
        int metric;
    } ecc[] = {{NVML_ECC_CORRECTED, NVML_METRIC_ECC_CORRECTED},
               {NVML_ECC_UNCORRECTED, NVML_METRIC_ECC_UNCORRECTED}};
    enum { MOST_EVENTS = 64 }; /* the others come with the next sample */
    for (int i = 0; i < 2 && api->nvmlDeviceGetTotalEccErrors; i++) {
        uint64_t n = 0;
        if (nvml_did(device, api->nvmlDeviceGetTotalEccErrors(
                                 device->handle, ecc[i].kind,
                                 NVML_ECC_SINCE_DRIVER, &n)))
            values[ecc[i].metric] = number64(n, 1);
    }
    if (!device->events)
        return;
    for (int i = 0; i < MOST_EVENTS; i++) {
        nvml_event event = {0};
        if (!nvml_did(device,
                      api->nvmlEventSetWait_v2(device->events, &event, 0)))
            break;
        if (event.type != NVML_EVENT_XID)
            continue;
        device->n_xid++;
        device->last_xid = event.data;
    }
    values[NVML_METRIC_XID_ERRORS] = (double)device->n_xid;
    values[NVML_METRIC_XID_LAST] = (double)device->last_xid;
}

/* ---- one device ---------------------------------------------------------- */

static void listen_to_errors(const nvml_api *api, nvml_device *device)
{
    nvml_handle events = NULL;
    if (!api->nvmlEventSetCreate || !api->nvmlDeviceRegisterEvents ||
        !api->nvmlEventSetWait_v2 || !api->nvmlEventSetFree ||
        !nvml_did(device, api->nvmlEventSetCreate(&events)))
        return;
    if (nvml_did(device, api->nvmlDeviceRegisterEvents(device->handle,
                                                       NVML_EVENT_XID, events)))
        device->events = events;
    else
        (void)api->nvmlEventSetFree(events);
}

vly_status nvml_sample(const nvml_api *api, nvml_device *device,
                       uint64_t clock_ns, double *values, vly_error *error)
{
    double made[NVML_N_METRICS];
    char text[64];
    if (!device->handle)
        return vly_support_fail(error, VLY_E_DEVICE,
                                "NVML does not give it: %s",
                                nvml_text(api, device->code, text));
    for (int i = 0; i < NVML_N_METRICS; i++)
        made[i] = NAN;
    if (!device->asked) {
        nvml_gpm_init(api, device);
        listen_to_errors(api, device);
        device->asked = true;
    }
    if (!device->lost) {
        put_busy(api, device, clock_ns, made);
        put_pcie(api, device, made);
        put_memory(api, device, made);
        put_clocks(api, device, made);
        put_fields(api, device, made);
        put_power(api, device, made);
        put_errors(api, device, made);
    }
    if (device->lost)
        return vly_support_fail(error, VLY_E_DEVICE, "the GPU is gone: %s",
                                nvml_text(api, NVML_GPU_IS_LOST, text));
    memcpy(values, made, sizeof made);
    return VLY_OK;
}

void nvml_device_deinit(const nvml_api *api, nvml_device *device)
{
    if (device->asked)
        nvml_gpm_deinit(api, device);
    if (device->events)
        (void)api->nvmlEventSetFree(device->events);
    device->events = NULL;
}
