/* SPDX-License-Identifier: Apache-2.0
 * What devices tell of themselves while a run goes on: as a member of the lines
 * of telemetry, as metrics, as numbers for the monitor.
 */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "accelerator/telemetry_source.h"
#include "base/error.h"
#include "base/memory.h"
#include "monitor/device_watch.h"
#include "tools/watch/run_watch.h"

/* The plugin with telemetry of CUDA devices. */
static const char source_id[] = "nvml";
/* Counters of a device over a shorter time are inaccurate (GPM requires as
 * much). */
static const double least_ms = 100;

typedef struct device_cursor {
    uint64_t next;
    bool told_gone;
} device_cursor;

/* One reader of the samples. */
struct watch_devices {
    vly_device_watch *watch; /* borrowed */
    uint32_t n;
    uint32_t n_metrics;
    device_cursor *cursors; /* [n] */
    double *values;         /* [n][n_metrics] newest value of each metric */
    bool *any;              /* [n] values exist */
    double *before;         /* [n_metrics] values at the last report */
    uint32_t before_of;     /* the device of before; UINT32_MAX: none */
    char **names;           /* [n_metrics] */
};

/* ---- choice of devices --------------------------------------------------- */

vly_status watch_devices_check(const vly_registry *registry,
                               const run_watch_plan *plan, vly_error *error)
{
    vly_telemetry_source source;
    vly_error why = VLY_ERROR_INIT;
    if (!plan->devices || strcmp(plan->devices, "all") != 0)
        return VLY_OK;
    const vly_status status =
        vly_telemetry_find(registry, source_id, &source, &why);
    return status == VLY_OK
               ? VLY_OK
               : vly_fail(error, status, "--device-telemetry: %s", why.message);
}

vly_status watch_devices_start(const vly_registry *registry,
                               const run_watch_plan *plan, const char *backend,
                               bool may_be_there, vly_device_watch **watch,
                               vly_error *error)
{
    const bool all = plan->devices && strcmp(plan->devices, "all") == 0;
    const bool off = plan->devices && strcmp(plan->devices, "off") == 0;
    const double every_ms =
        plan->every_ms > least_ms ? plan->every_ms : least_ms;
    vly_telemetry_source source;
    vly_error why = VLY_ERROR_INIT;
    if (off || (!all && !may_be_there))
        return VLY_OK;
    vly_status status = vly_telemetry_find(registry, source_id, &source, &why);
    /* without the option the run continues without this telemetry */
    if (status != VLY_OK && !plan->devices)
        return VLY_OK;
    if (status != VLY_OK)
        return vly_fail(error, status, "--device-telemetry: %s", why.message);
    status = vly_device_watch_create(&source, all, (uint64_t)(every_ms * 1e6),
                                     watch, error);
    if (status == VLY_OK)
        vly_device_watch_target(*watch, backend);
    return status;
}

/* ---- a reader ------------------------------------------------------------ */

/* "clock_limited_power_cap" */
static const char *key_of(const vly_telemetry_metric *metric, char text[200])
{
    snprintf(text, 200, "%.90s%s%.90s", metric->name, metric->value ? "_" : "",
             metric->value ? metric->value : "");
    return text;
}

/* false: memory ran out */
static bool make_names(watch_devices *devices)
{
    char key[200];
    bool made = true;
    devices->names =
        vly_calloc(devices->n_metrics + 1u, sizeof *devices->names);
    for (uint32_t m = 0; devices->names && m < devices->n_metrics; m++) {
        devices->names[m] =
            vly_strdup(key_of(vly_device_watch_metric(devices->watch, m), key));
        made = made && devices->names[m];
    }
    return made && devices->names;
}

vly_status watch_devices_open(vly_device_watch *watch, watch_devices **devices,
                              vly_error *error)
{
    if (!watch)
        return VLY_OK;
    watch_devices *made = vly_calloc(1, sizeof *made);
    if (!made)
        return vly_fail_nomem(error, sizeof *made, "telemetry of devices");
    const size_t n = vly_device_watch_devices(watch);
    const size_t all = n * vly_device_watch_metrics(watch);
    made->watch = watch;
    made->n = (uint32_t)n;
    made->n_metrics = vly_device_watch_metrics(watch);
    made->cursors = vly_calloc(n + 1, sizeof *made->cursors);
    made->values = vly_calloc(all + 1, sizeof *made->values);
    made->any = vly_calloc(n + 1, sizeof *made->any);
    made->before = vly_calloc(made->n_metrics + 1u, sizeof *made->before);
    made->before_of = UINT32_MAX;
    if (made->cursors && made->values && made->before && made->any &&
        make_names(made)) {
        *devices = made;
        return VLY_OK;
    }
    watch_devices_close(made);
    return vly_fail_nomem(error, (all + n) * sizeof(double),
                          "telemetry of devices");
}

void watch_devices_close(watch_devices *devices)
{
    if (!devices)
        return;
    for (uint32_t m = 0; devices->names && m < devices->n_metrics; m++)
        vly_free(devices->names[m]);
    vly_free(devices->names);
    vly_free(devices->cursors);
    vly_free(devices->values);
    vly_free(devices->before);
    vly_free(devices->any);
    vly_free(devices);
}

static double *values_of(const watch_devices *devices, uint32_t device)
{
    return devices->values + (size_t)device * devices->n_metrics;
}

/* true: there is a new sample */
static bool renew(watch_devices *devices, uint32_t device,
                  vly_device_sample *sample)
{
    const bool any = vly_device_watch_newest(
        devices->watch, device, &devices->cursors[device].next, sample,
        values_of(devices, device));
    devices->any[device] = devices->any[device] || any;
    return any;
}

/* ---- JSON lines ---------------------------------------------------------- */

static void put_values(const watch_devices *devices, uint32_t device,
                       json_writer *json)
{
    const double *values = values_of(devices, device);
    for (uint32_t m = 0; m < devices->n_metrics; m++)
        if (!isnan(values[m]))
            json_number(json, devices->names[m], values[m]);
}

void watch_devices_json(watch_devices *devices, json_writer *json)
{
    bool open = false;
    for (uint32_t i = 0; devices && i < devices->n; i++) {
        const vly_telemetry_device *info =
            vly_device_watch_device(devices->watch, i);
        device_cursor *cursor = &devices->cursors[i];
        vly_device_sample sample = {0};
        char gone[200];
        const bool fresh = renew(devices, i, &sample);
        const bool lost =
            !cursor->told_gone &&
            vly_device_watch_failure(devices->watch, i, gone, sizeof gone);
        if (!fresh && !lost)
            continue;
        if (!open)
            json_array(json, "devices");
        open = true;
        json_object(json, NULL);
        json_u64(json, "gpu", i);
        json_text(json, "uuid", info->uuid);
        json_text(json, "name", info->name);
        if (fresh) {
            watch_wall_json(json, sample.unix_ns);
            put_values(devices, i, json);
        }
        if (lost)
            json_text(json, "gone", gone);
        cursor->told_gone = cursor->told_gone || lost;
        json_object_end(json);
    }
    if (open)
        json_array_end(json);
}

/* ---- metrics ------------------------------------------------------------- */

/* Appends more to *text and frees more; if memory runs out, *text is NULL. */
static void append(char **text, char *more)
{
    char *all = *text && more ? vly_format("%s%s", *text, more) : NULL;
    vly_free(*text);
    vly_free(more);
    *text = all;
}

/* Escapes for Prometheus' text format; cut if it does not fit. */
static const char *escaped(const char *value, char text[200])
{
    size_t n = 0;
    for (; *value && n < 197; value++) {
        if (*value == '"' || *value == '\\' || *value == '\n')
            text[n++] = '\\';
        text[n++] = (char)(*value == '\n' ? 'n' : *value);
    }
    text[n] = '\0';
    return text;
}

/* The lines of metric m. */
static void append_metric(const watch_devices *devices, uint32_t m, char **text)
{
    const vly_telemetry_metric *metric =
        vly_device_watch_metric(devices->watch, m);
    const char *end = metric->kind == VLY_TELEMETRY_COUNTER ? "_total" : "";
    char uuid[200];
    for (uint32_t i = 0; i < devices->n; i++) {
        const double value = values_of(devices, i)[m];
        if (!devices->any[i] || isnan(value) ||
            !vly_device_watch_active(devices->watch, i))
            continue;
        (void)escaped(vly_device_watch_device(devices->watch, i)->uuid, uuid);
        append(text, metric->label
                         ? vly_format("volley_gpu_%s%s{gpu=\"%u\",uuid=\"%s\","
                                      "%s=\"%s\"} %.17g\n",
                                      metric->name, end, i, uuid, metric->label,
                                      metric->value, value)
                         : vly_format("volley_gpu_%s%s{gpu=\"%u\",uuid=\"%s\"} "
                                      "%.17g\n",
                                      metric->name, end, i, uuid, value));
    }
}

char *watch_devices_metrics(watch_devices *devices)
{
    char *text = vly_strdup("");
    char *lines = NULL;
    for (uint32_t i = 0; devices && i < devices->n; i++)
        (void)renew(devices, i, &(vly_device_sample){0});
    for (uint32_t m = 0; devices && text && m < devices->n_metrics; m++) {
        const vly_telemetry_metric *metric =
            vly_device_watch_metric(devices->watch, m);
        const vly_telemetry_metric *next =
            m + 1 < devices->n_metrics
                ? vly_device_watch_metric(devices->watch, m + 1)
                : NULL;
        const char *end = metric->kind == VLY_TELEMETRY_COUNTER ? "_total" : "";
        if (!lines)
            lines = vly_strdup("");
        append_metric(devices, m, &lines);
        if (next && strcmp(next->name, metric->name) == 0)
            continue; /* one head for all labels */
        if (!lines || lines[0] != '\0') {
            append(&text,
                   vly_format("# HELP volley_gpu_%s%s %s\n"
                              "# TYPE volley_gpu_%s%s %s\n",
                              metric->name, end, metric->help, metric->name,
                              end,
                              metric->kind == VLY_TELEMETRY_COUNTER ? "counter"
                                                                    : "gauge"));
            append(&text, lines);
        } else {
            vly_free(lines);
        }
        lines = NULL;
    }
    return text;
}

/* ---- the monitor --------------------------------------------------------- */

/* Thousandths; a value below 0 or out of range counts as 0. */
static uint64_t thousandths(double value)
{
    const double whole = value * 1000;
    return whole >= 0 && whole < 0x1p63 ? (uint64_t)whole : 0;
}

uint32_t watch_devices_count(const watch_devices *devices)
{
    return devices ? devices->n_metrics : 0;
}

const char *const *watch_devices_names(const watch_devices *devices)
{
    return devices ? (const char *const *)devices->names : NULL;
}

/* Replaces counters by their increase. false: no earlier sample of this
 * device. */
static bool tell(watch_devices *devices, uint32_t device, uint64_t *numbers)
{
    const double *now = values_of(devices, device);
    const bool again = devices->before_of == device;
    for (uint32_t m = 0; m < devices->n_metrics; m++) {
        const bool counts = vly_device_watch_metric(devices->watch, m)->kind ==
                            VLY_TELEMETRY_COUNTER;
        numbers[m] = thousandths(counts ? now[m] - devices->before[m] : now[m]);
        devices->before[m] = now[m];
    }
    devices->before_of = device;
    return again;
}

bool watch_devices_values(watch_devices *devices, uint64_t *numbers)
{
    bool told = false;
    for (uint32_t i = 0; i < devices->n; i++) {
        const bool fresh = renew(devices, i, &(vly_device_sample){0});
        if (vly_device_watch_is_target(devices->watch, i))
            told = fresh && tell(devices, i, numbers);
        else if (devices->before_of == i)
            devices->before_of = UINT32_MAX; /* the net was on another device */
    }
    return told;
}
