/* SPDX-License-Identifier: Apache-2.0
 * volley.telemetry/1: numbers that a device reports: utilisation, memory,
 * clocks, power, errors. The rules of its structs are those of plugin.h. It is
 * independent of running nets: the devices are those of the plugin's own
 * library, found by the names that backends use.
 */
#ifndef VOLLEY_TELEMETRY_H
#define VOLLEY_TELEMETRY_H

#include <volley/plugin.h>

#ifdef __cplusplus
extern "C" {
#endif

#define VLY_TELEMETRY_INTERFACE "volley.telemetry/1"

enum {
    VLY_TELEMETRY_GAUGE = 0,   /* current value */
    VLY_TELEMETRY_COUNTER = 1, /* counter: only grows, except when its source
                                * restarts */
};

/* One number that a device may have. The unit is the end of the name, in base
 * units (seconds, bytes, hertz, watts, joules, celsius); a ratio is 0 to 1.
 * Metrics with the same name differ in the value of their label. */
typedef struct vly_telemetry_metric {
    const char *name;  /* [a-z][a-z0-9_]*, "power_watts"; no "_total" */
    const char *label; /* "reason"; NULL: none */
    const char *value; /* of the label: [a-z][a-z0-9_]*; NULL: none */
    const char *help;  /* one sentence for people */
    uint32_t kind;     /* VLY_TELEMETRY_* */
    uint32_t reserved;
} vly_telemetry_metric;
VLY_SEAL(vly_telemetry_metric, 40);

/* The caller sets struct_size. Texts are "" if the library does not report
 * them. */
typedef struct vly_telemetry_device {
    uint32_t struct_size;
    uint32_t index;
    char name[96];
    char uuid[96];
    char driver[96];
} vly_telemetry_device;
VLY_SEAL(vly_telemetry_device, 296);

/* Every function is [any-thread]; devices and metrics stay the same until the
 * plugin ends. */
typedef struct vly_telemetry_source {
    uint32_t struct_size;
    uint32_t
        metric_size; /* sizeof(vly_telemetry_metric) of the plugin: stride */
    uint32_t (*device_count)(void);
    /* Errors  E_INVALID no such device; E_DEVICE it cannot be queried */
    vly_status (*device_info)(uint32_t device, vly_telemetry_device *info,
                              vly_error *error);
    /* The device with this name in a backend ("cuda:1"), independent of the
     * backend's order and selection of devices.
     * Errors  E_UNSUPPORTED the name belongs to another library; E_DEVICE there
     *         is no such device */
    vly_status (*device_find)(const char *name, uint32_t *device,
                              vly_error *error);
    /* [n_metrics], the same for all devices */
    uint32_t (*metrics)(const vly_telemetry_metric **metrics);
    /* values [n_metrics]: NaN if this device or this driver does not report the
     * metric. May take tens of milliseconds. n_metrics may be smaller than the
     * number of metrics: then only the first ones.
     * Errors  E_INVALID no such device; E_DEVICE it is gone, and stays gone;
     *         values are then untouched */
    vly_status (*sample)(uint32_t device, double *values, uint32_t n_metrics,
                         vly_error *error);
    void *reserved[6]; /* NULL */
} vly_telemetry_source;
VLY_SEAL(vly_telemetry_source, 96);

#ifdef __cplusplus
}
#endif
#endif
