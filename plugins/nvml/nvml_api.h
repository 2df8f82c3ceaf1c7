/* SPDX-License-Identifier: Apache-2.0
 * The part of NVIDIA's management library that is used here. The CUDA toolkit
 * has no nvml.h, and the library comes with the driver: so own prototypes, and
 * functions by name at run time. Sizes and numbers are those of the library's
 * ABI, which has only grown; structs with a version say so in it.
 */
#ifndef VOLLEY_NVML_API_H
#define VOLLEY_NVML_API_H

#include <volley/plugin.h>

typedef void *nvml_handle; /* a device, a GPM sample, a set of events */

/* Return codes; every other code means failure. */
enum {
    NVML_OK = 0,
    NVML_GPU_IS_LOST = 15,
};

enum {
    NVML_CLOCK_SM = 1,
    NVML_CLOCK_MEMORY = 2,
    NVML_SENSOR_CHIP = 0,
    NVML_ECC_CORRECTED = 0,
    NVML_ECC_UNCORRECTED = 1,
    NVML_ECC_SINCE_DRIVER = 0,
    NVML_PCIE_SENT = 0,
    NVML_PCIE_RECEIVED = 1,
    NVML_FIELD_POLICY_POWER = 74,   /* ns */
    NVML_FIELD_POLICY_THERMAL = 75, /* ns */
    NVML_FIELD_MEMORY_TEMPERATURE = 82,
    NVML_FIELD_POWER_INSTANT = 186, /* mW */
    NVML_EVENT_XID = 8,
    NVML_GPM_SM_ACTIVE = 2, /* percent, like those that follow */
    NVML_GPM_OCCUPANCY = 3,
    NVML_GPM_ANY_TENSOR = 5,
    NVML_GPM_DRAM = 10,
    NVML_GPM_PCIE_SENT = 20, /* MiB/s */
    NVML_GPM_PCIE_RECEIVED = 21,
};

/* Reasons of reduced clocks, as bits. */
enum {
    NVML_REASON_POWER_CAP = 0x4,
    NVML_REASON_SLOWDOWN = 0x8,
    NVML_REASON_SYNC_BOOST = 0x10,
    NVML_REASON_SW_THERMAL = 0x20,
    NVML_REASON_HW_THERMAL = 0x40,
    NVML_REASON_BRAKE = 0x80,
};

/* version of a struct: its size and its number */
#define NVML_VERSION(type, number)                                             \
    ((uint32_t)sizeof(type) | (uint32_t)(number) << 24)

typedef struct nvml_utilization {
    uint32_t gpu; /* percent */
    uint32_t memory;
} nvml_utilization;

typedef struct nvml_memory_v1 {
    uint64_t total, free, used;
} nvml_memory_v1;

typedef struct nvml_memory_v2 {
    uint32_t version, padding;
    uint64_t total, reserved, free, used;
} nvml_memory_v2;

typedef struct nvml_temperature {
    uint32_t version;
    int32_t sensor;
    int32_t celsius;
} nvml_temperature;

enum {
    NVML_VALUE_DOUBLE = 0,
    NVML_VALUE_UINT = 1,
    NVML_VALUE_ULONG = 2,
    NVML_VALUE_ULONGLONG = 3,
    NVML_VALUE_LONGLONG = 4,
    NVML_VALUE_INT = 5,
    NVML_VALUE_USHORT = 6,
};

typedef struct nvml_field {
    uint32_t field, scope;
    int64_t timestamp, latency_us;
    uint32_t type; /* NVML_VALUE_* */
    int32_t code;
    union {
        double d;
        int32_t i;
        uint32_t u;
        uint64_t ull;
        int64_t sll;
        uint16_t us;
    } value;
} nvml_field;

typedef struct nvml_event {
    nvml_handle device;
    uint64_t type, data;
    uint32_t gpu_instance, compute_instance;
} nvml_event;

typedef struct nvml_gpm_support {
    uint32_t version, supported;
} nvml_gpm_support;

typedef struct nvml_gpm_metric {
    uint32_t id;
    int32_t code;
    double value;
    void *texts[3];
} nvml_gpm_metric;

/* The array grew from one version of the library to the next (333 so far);
 * only `n` of it are looked at. */
typedef struct nvml_gpm_get {
    uint32_t version, n;
    nvml_handle first, second;
    nvml_gpm_metric metrics[333];
} nvml_gpm_get;

VLY_SEAL(nvml_memory_v1, 24);
VLY_SEAL(nvml_memory_v2, 40);
VLY_SEAL(nvml_temperature, 12);
VLY_SEAL(nvml_field, 40);
VLY_SEAL(nvml_event, 32);
VLY_SEAL(nvml_gpm_metric, 40);

/* X(name, optional, parameters): without an optional function only its values
 * are missing. All return a code. */
#define NVML_FUNCTIONS(X)                                                      \
    X(nvmlInit_v2, 0, (void))                                                  \
    X(nvmlDeviceGetCount_v2, 0, (uint32_t *))                                  \
    X(nvmlDeviceGetHandleByIndex_v2, 0, (uint32_t, nvml_handle *))             \
    X(nvmlShutdown, 1, (void))                                                 \
    X(nvmlSystemGetDriverVersion, 1, (char *, uint32_t))                       \
    X(nvmlDeviceGetHandleByPciBusId_v2, 1, (const char *, nvml_handle *))      \
    X(nvmlDeviceGetIndex, 1, (nvml_handle, uint32_t *))                        \
    X(nvmlDeviceGetName, 1, (nvml_handle, char *, uint32_t))                   \
    X(nvmlDeviceGetUUID, 1, (nvml_handle, char *, uint32_t))                   \
    X(nvmlDeviceGetUtilizationRates, 1, (nvml_handle, nvml_utilization *))     \
    X(nvmlDeviceGetMemoryInfo, 1, (nvml_handle, nvml_memory_v1 *))             \
    X(nvmlDeviceGetMemoryInfo_v2, 1, (nvml_handle, nvml_memory_v2 *))          \
    X(nvmlDeviceGetPowerUsage, 1, (nvml_handle, uint32_t *))                   \
    X(nvmlDeviceGetTotalEnergyConsumption, 1, (nvml_handle, uint64_t *))       \
    X(nvmlDeviceGetTemperature, 1, (nvml_handle, uint32_t, uint32_t *))        \
    X(nvmlDeviceGetTemperatureV, 1, (nvml_handle, nvml_temperature *))         \
    X(nvmlDeviceGetClockInfo, 1, (nvml_handle, uint32_t, uint32_t *))          \
    X(nvmlDeviceGetCurrentClocksEventReasons, 1, (nvml_handle, uint64_t *))    \
    X(nvmlDeviceGetCurrentClocksThrottleReasons, 1, (nvml_handle, uint64_t *)) \
    X(nvmlDeviceGetPcieThroughput, 1, (nvml_handle, uint32_t, uint32_t *))     \
    X(nvmlDeviceGetTotalEccErrors, 1,                                          \
      (nvml_handle, uint32_t, uint32_t, uint64_t *))                           \
    X(nvmlDeviceGetFieldValues, 1, (nvml_handle, int32_t, nvml_field *))       \
    X(nvmlEventSetCreate, 1, (nvml_handle *))                                  \
    X(nvmlDeviceRegisterEvents, 1, (nvml_handle, uint64_t, nvml_handle))       \
    X(nvmlEventSetWait_v2, 1, (nvml_handle, nvml_event *, uint32_t))           \
    X(nvmlEventSetFree, 1, (nvml_handle))                                      \
    X(nvmlGpmQueryDeviceSupport, 1, (nvml_handle, nvml_gpm_support *))         \
    X(nvmlGpmSampleAlloc, 1, (nvml_handle *))                                  \
    X(nvmlGpmSampleFree, 1, (nvml_handle))                                     \
    X(nvmlGpmSampleGet, 1, (nvml_handle, nvml_handle))                         \
    X(nvmlGpmMetricsGet, 1, (nvml_gpm_get *))

typedef struct nvml_api {
#define NVML_MEMBER(name, optional, parameters) int32_t(*name) parameters;
    NVML_FUNCTIONS(NVML_MEMBER)
#undef NVML_MEMBER
    /* this one returns a text, never NULL */
    const char *(*nvmlErrorString)(int32_t);
} nvml_api;

#endif
