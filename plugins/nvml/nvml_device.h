/* SPDX-License-Identifier: Apache-2.0
 * One GPU as the management library shows it. nvml_library.c opens the library,
 * nvml_sample.c and nvml_gpm.c read a device, nvml_plugin.c makes a plugin of
 * it.
 */
#ifndef VOLLEY_NVML_DEVICE_H
#define VOLLEY_NVML_DEVICE_H

#include <stdbool.h>

#include <volley/telemetry.h>

#include "nvml_api.h"

enum {
#define X(id, kind, name, label, value, help) NVML_METRIC_##id,
#include "nvml_metrics.def"
#undef X
    NVML_N_METRICS
};

enum { NVML_N_GPM = 6 };

/* Used by one thread at a time. */
typedef struct nvml_device {
    nvml_handle handle; /* NULL: the library does not give it */
    int32_t code;       /* why not */
    bool lost;
    bool asked;                /* the first sample has determined the supported
                                * values */
    nvml_handle gpm[2];        /* NULL: it has no GPM. [0] is the older one */
    uint64_t gpm_ns;           /* time of [1], 0: not taken yet */
    double ratios[NVML_N_GPM]; /* of the two; NaN: none */
    nvml_handle events;        /* NULL: the device does not report errors */
    uint64_t n_xid;
    uint64_t last_xid;
} nvml_device;

/* ---- nvml_library.c ------------------------------------------------------ */

/* Opens the library and starts it. names [n] "libnvidia-ml.so.1", or paths.
 * Errors  E_UNSUPPORTED no library, or a required function is missing; E_DEVICE
 * it does not start: its message */
vly_status nvml_open(const char *const *names, uint32_t n, nvml_api *api,
                     vly_error *error);
/* "GPU is lost"; "code 15" if the library has no text */
const char *nvml_text(const nvml_api *api, int32_t code, char text[64]);
/* The PCI bus id of CUDA's device `number` of this process: CUDA has an order
 * and a selection (CUDA_VISIBLE_DEVICES) of its own.
 * Errors  E_DEVICE no driver of CUDA, or no such device */
vly_status nvml_cuda_bus(const char *library, uint32_t number, char bus[32],
                         vly_error *error);

/* ---- nvml_sample.c ------------------------------------------------------- */

/* true: success. Marks a lost device. */
bool nvml_did(nvml_device *device, int32_t code);
/* values [NVML_N_METRICS]. clock_ns: now, of the host.
 * Errors  E_DEVICE the device is lost; values unchanged */
vly_status nvml_sample(const nvml_api *api, nvml_device *device,
                       uint64_t clock_ns, double *values, vly_error *error);
void nvml_device_deinit(const nvml_api *api, nvml_device *device);

/* ---- nvml_gpm.c ---------------------------------------------------------- */

/* Finds out whether the device has GPM; without it ratios stay NaN. */
void nvml_gpm_init(const nvml_api *api, nvml_device *device);
/* Updates device->ratios, at most once in 100 ms: they are means since the
 * previous sample, and the library requires that interval. */
void nvml_gpm_look(const nvml_api *api, nvml_device *device, uint64_t clock_ns);
void nvml_gpm_deinit(const nvml_api *api, nvml_device *device);

#endif
