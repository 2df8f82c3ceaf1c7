/* SPDX-License-Identifier: Apache-2.0
 * Samples the telemetry of devices (volley.telemetry/1) on a separate thread,
 * because a sample may take tens of milliseconds. Each device has a ring like
 * that of a run, with metrics in place of areas.
 */
#ifndef VOLLEY_MONITOR_DEVICE_WATCH_H
#define VOLLEY_MONITOR_DEVICE_WATCH_H

#include <stdbool.h>
#include <stdint.h>

#include <volley/telemetry.h>

typedef struct vly_device_watch vly_device_watch;

/* One sample. */
typedef struct vly_device_sample {
    uint64_t at_ns;   /* vly_clock_ns */
    uint64_t unix_ns; /* of the wall clock */
} vly_device_sample;

/* source is copied; its plugin stays until destroy. all: every device is
 * sampled, otherwise the one of vly_device_watch_target.
 * Errors  E_NOMEM also: no thread */
vly_status vly_device_watch_create(const vly_telemetry_source *source, bool all,
                                   uint64_t every_ns, vly_device_watch **watch,
                                   vly_error *error);
void vly_device_watch_destroy(vly_device_watch *watch); /* NULL is legal */

/* The net is on this backend now ("cuda:1"): its device is sampled, and no
 * other but with `all`. A backend of another library has none. Does not wait.
 * [any-thread] */
void vly_device_watch_target(vly_device_watch *watch, const char *backend);

/* These do not change. [any-thread] */
uint32_t vly_device_watch_devices(const vly_device_watch *watch);
uint32_t vly_device_watch_metrics(const vly_device_watch *watch);
const vly_telemetry_metric *
vly_device_watch_metric(const vly_device_watch *watch, uint32_t metric);
/* Texts are "" if a device does not report them. */
const vly_telemetry_device *
vly_device_watch_device(const vly_device_watch *watch, uint32_t device);

/* Whether this device is sampled now. */
bool vly_device_watch_active(vly_device_watch *watch, uint32_t device);
/* Whether the net is on this device, as known to the sampling thread. */
bool vly_device_watch_is_target(vly_device_watch *watch, uint32_t device);
/* A copy of the reason why a device is no longer sampled; false: it is still
 * sampled. */
bool vly_device_watch_failure(vly_device_watch *watch, uint32_t device,
                              char *text, size_t capacity);
/* The newest sample, if it is newer than number *next, which is then that of
 * the following one. values [n_metrics], NaN where there is none. */
bool vly_device_watch_newest(const vly_device_watch *watch, uint32_t device,
                             uint64_t *next, vly_device_sample *sample,
                             double *values);

#endif
