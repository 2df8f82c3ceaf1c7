/* SPDX-License-Identifier: Apache-2.0
 * The page of the Prometheus endpoint (metrics_server), made on its thread.
 * Text format 0.0.4 of Prometheus: base units, counters end in _total, ratios
 * are 0 to 1.
 */
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "tools/cli/device_limits.h"
#include "tools/cli/tool.h"
#include "tools/watch/metrics_server.h"
#include "tools/watch/run_watch.h"
#include "volley_build.h"

/* Time over which gauges of rates are measured. */
static const uint64_t rate_ns = 1000000000;

struct watch_metrics {
    const run_watch *watch;
    const watch_net *net;
    const vly_telemetry_ring *ring;
    watch_devices *devices; /* NULL: no telemetry of devices */
    metrics_server *server;
    bool any;
    vly_telemetry_sample before; /* for rates: at least rate_ns old */
    vly_telemetry_sample middle; /* becomes before */
    vly_telemetry_sample now;
    uint64_t *areas[3]; /* [n_areas] of the three */
};

/* ---- text --------------------------------------------------------------- */

typedef struct metrics_page {
    char *text;
    size_t n;
    size_t capacity;
    bool failed;
} metrics_page;

static void put(metrics_page *page, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
static void put(metrics_page *page, const char *format, ...)
{
    va_list args;
    for (int tries = 0; tries < 2 && !page->failed; tries++) {
        const size_t room = page->capacity - page->n;
        va_start(args, format);
        const int n = vsnprintf(page->text ? page->text + page->n : NULL,
                                page->text ? room : 0, format, args);
        va_end(args);
        if (n >= 0 && page->text && (size_t)n < room) {
            page->n += (size_t)n;
            return;
        }
        const size_t wanted = 2 * (page->capacity + (size_t)n + 1);
        char *more = n < 0 ? NULL : vly_realloc(page->text, wanted, 1);
        page->failed = !more;
        if (more) {
            page->text = more;
            page->capacity = wanted;
        }
    }
    page->failed = true;
}

static void put_type(metrics_page *page, const char *name, const char *type,
                     const char *help)
{
    put(page, "# HELP %s %s\n# TYPE %s %s\n", name, help, name, type);
}

static void put_one(metrics_page *page, const char *name, const char *type,
                    const char *help, double value)
{
    put_type(page, name, type, help);
    put(page, "%s %.17g\n", name, value);
}

/* name{label="value"}, escaped as the format requires. */
static void put_label(metrics_page *page, const char *name, const char *label,
                      const char *value)
{
    put(page, "%s{%s=\"", name, label);
    for (const char *c = value; *c; c++) {
        if (*c == '\n')
            put(page, "\\n");
        else if (*c == '"' || *c == '\\')
            put(page, "\\%c", *c);
        else
            put(page, "%c", *c);
    }
    put(page, "\"}");
}

static void put_seconds(metrics_page *page, const char *phase, uint64_t ns)
{
    put_label(page, "volley_phase_seconds_total", "phase", phase);
    put(page, " %.9f\n", (double)ns * 1e-9);
}

static void put_bytes(metrics_page *page, const char *kind, uint64_t bytes)
{
    put_label(page, "volley_memory_bytes", "kind", kind);
    put(page, " %llu\n", (unsigned long long)bytes);
}

static void put_dropped(metrics_page *page, const char *what, uint64_t n)
{
    put_label(page, "volley_dropped_total", "what", what);
    put(page, " %llu\n", (unsigned long long)n);
}

static void put_counters(metrics_page *page, const watch_metrics *metrics)
{
    const vly_telemetry_sample *now = &metrics->now;
    const watch_net *net = metrics->net;
    put_one(page, "volley_bursts_total", "counter", "Bursts done.",
            (double)now->bursts);
    put_one(page, "volley_bursts_wanted", "gauge", "Length of the run.",
            (double)net->n_bursts);
    put_one(page, "volley_burst_length_seconds", "gauge",
            "Biological time of a burst.", net->dt_ms * 1e-3);
    put_one(page, "volley_engine_seconds_total", "counter",
            "Wall time inside the engine.", (double)now->run_ns * 1e-9);
    put_type(page, "volley_phase_seconds_total", "counter",
             "Wall time of each phase of a burst.");
    put_seconds(page, "delivery", now->delivery_ns);
    put_seconds(page, "dynamics", now->dynamics_ns);
    put_seconds(page, "exchange", now->exchange_ns);
    put_seconds(page, "drain", now->drain_ns);
    put_one(page, "volley_spikes_total", "counter", "Neurons that fired.",
            (double)now->spikes);
    put_one(page, "volley_synaptic_events_total", "counter",
            "Spikes that arrived at a synapse.", (double)now->events);
    put_one(page, "volley_candidates_total", "counter",
            "Neurons updated, summed over bursts.", (double)now->candidates);
    /* run_record waits if necessary and never drops data */
    put_type(page, "volley_dropped_total", "counter",
             "Lost items: recorded spikes and samples, telemetry lines.");
    put_dropped(page, "recording", 0);
    put_dropped(page, "telemetry", watch_lost(metrics->watch));
    put_type(page, "volley_memory_bytes", "gauge", "Memory held by the net.");
    put_bytes(page, "connectome", now->connectome_bytes);
    put_bytes(page, "host", now->host_bytes);
    put_bytes(page, "device", now->device_bytes);
}

static void put_rates(metrics_page *page, const watch_metrics *metrics)
{
    const watch_net *net = metrics->net;
    const watch_rates rates =
        watch_rates_of(net, &metrics->before, &metrics->now);
    put_one(page, "volley_progress_ratio", "gauge", "Share of the run done.",
            net->n_bursts > 0
                ? (double)metrics->now.bursts / (double)net->n_bursts
                : 1);
    put_one(page, "volley_real_time_factor", "gauge",
            "Wall time over biological time, recent.", rates.real_time);
    put_type(page, "volley_area_neurons", "gauge", "Neurons of an area.");
    for (uint32_t a = 0; a < net->n_areas; a++) {
        put_label(page, "volley_area_neurons", "area", net->areas[a]);
        put(page, " %u\n", net->neurons[a]);
    }
    put_type(page, "volley_area_spikes_total", "counter",
             "Spikes of an area since this process began.");
    for (uint32_t a = 0; a < net->n_areas; a++) {
        put_label(page, "volley_area_spikes_total", "area", net->areas[a]);
        put(page, " %llu\n", (unsigned long long)metrics->areas[2][a]);
    }
    put_type(page, "volley_area_rate_hertz", "gauge",
             "Recent mean rate of an area's neurons in biological time.");
    for (uint32_t a = 0; a < net->n_areas; a++) {
        put_label(page, "volley_area_rate_hertz", "area", net->areas[a]);
        put(page, " %.9g\n",
            watch_area_hz(net, a, &rates, metrics->areas[0],
                          metrics->areas[2]));
    }
}

static void copy_areas(watch_metrics *metrics, int to, int from)
{
    memcpy(metrics->areas[to], metrics->areas[from],
           metrics->net->n_areas * sizeof *metrics->areas[0]);
}

/* Rates are measured over one to two times rate_ns, once that time has
 * passed. */
static void take_sample(watch_metrics *metrics)
{
    (void)vly_telemetry_last(metrics->ring, &metrics->now, metrics->areas[2]);
    if (!metrics->any) {
        metrics->before = metrics->middle = metrics->now;
        copy_areas(metrics, 0, 2);
        copy_areas(metrics, 1, 2);
        metrics->any = true;
    }
    if (metrics->now.at_ns - metrics->middle.at_ns < rate_ns)
        return;
    metrics->before = metrics->middle;
    copy_areas(metrics, 0, 1);
    metrics->middle = metrics->now;
    copy_areas(metrics, 1, 2);
}

/* Takes ownership of the text; NULL: memory ran out. */
static void put_text(metrics_page *page, char *text)
{
    if (text)
        put(page, "%s", text);
    else
        page->failed = true;
    vly_free(text);
}

/* [server's thread] */
static char *make_page(void *context, size_t *n)
{
    watch_metrics *metrics = context;
    metrics_page whole = {0};
    metrics_page *page = &whole;
    char backend[64];
    watch_backend(metrics->watch, backend, sizeof backend);
    take_sample(metrics);
    put_type(page, "volley_info", "gauge",
             "Version and commit of this build, and "
             "the backend of the run.");
    put(page, "volley_info{version=\"%s\",commit=\"%s\",backend=\"%s\"} 1\n",
        VLY_BUILD_VERSION, VLY_BUILD_COMMIT, backend);
    put_counters(page, metrics);
    put_rates(page, metrics);
    put_text(page, device_limits_metrics());
    put_text(page, watch_devices_metrics(metrics->devices));
    put_text(page, watch_other_metrics(metrics->watch));
    if (page->failed) {
        vly_free(page->text);
        return NULL;
    }
    *n = page->n;
    return page->text;
}

/* ---- begin and end ------------------------------------------------------ */

vly_status watch_metrics_open(const run_watch *watch, const watch_net *net,
                              const vly_telemetry_ring *ring,
                              vly_device_watch *devices, const char *address,
                              bool quiet, watch_metrics **metrics,
                              vly_error *error)
{
    char url[128];
    vly_status status = VLY_OK;
    watch_metrics *made = vly_calloc(1, sizeof *made);
    if (!made)
        return vly_fail_nomem(error, sizeof *made, "metrics");
    made->watch = watch;
    made->net = net;
    made->ring = ring;
    for (int i = 0; i < 3; i++) {
        made->areas[i] =
            vly_calloc((size_t)net->n_areas + 1, sizeof *made->areas[i]);
        if (!made->areas[i]) {
            status = vly_fail_nomem(error, net->n_areas * UINT64_C(8), "areas");
            goto out;
        }
    }
    VLY_TRY(watch_devices_open(devices, &made->devices, error));
    take_sample(made);
    VLY_TRY(
        metrics_server_open(address, make_page, made, &made->server, error));
    metrics_server_url(made->server, url, sizeof url);
    if (!quiet)
        tool_message("metrics at %s", url);
    *metrics = made;
    made = NULL;
out:
    watch_metrics_close(made);
    return status;
}

void watch_metrics_close(watch_metrics *metrics)
{
    if (!metrics)
        return;
    metrics_server_close(metrics->server);
    watch_devices_close(metrics->devices);
    for (int i = 0; i < 3; i++)
        vly_free(metrics->areas[i]);
    vly_free(metrics);
}
