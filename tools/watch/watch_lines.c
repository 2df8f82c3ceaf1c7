/* SPDX-License-Identifier: Apache-2.0
 * Telemetry as JSON lines. The first line says what is watched, each other one
 * what happened since the line before. A line goes out whole, so that a file of
 * a killed run ends in at most one cut line.
 */
#include <volley/ranks.h>

#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "base/error.h"
#include "base/memory.h"
#include "base/writer.h"
#include "tools/cli/device_limits.h"
#include "tools/watch/run_watch.h"

struct watch_lines {
    const run_watch *watch;
    const watch_net *net;
    const vly_telemetry_ring *ring;
    vly_writer *writer;
    watch_devices *devices; /* NULL: no telemetry of devices */
    uint64_t next;
    uint64_t lost;
    bool any; /* a previous sample exists */
    vly_telemetry_sample before;
    vly_telemetry_sample now;
    uint64_t *areas_before; /* [n_areas] */
    uint64_t *areas_now;
    uint64_t *ranks_before; /* [ranks] nanoseconds waited; NULL: one process */
    vly_error error;        /* the first error; nothing is written after it */
    pthread_mutex_t lock;   /* of notes */
    char *notes;            /* lines of other parts, not yet written; or NULL */
};

void watch_wall_json(json_writer *json, uint64_t unix_ns)
{
    char text[40];
    char seconds[24];
    struct tm parts;
    const time_t at = (time_t)(unix_ns / 1000000000u);
    gmtime_r(&at, &parts);
    strftime(seconds, sizeof seconds, "%Y-%m-%dT%H:%M:%S", &parts);
    snprintf(text, sizeof text, "%s.%03uZ", seconds,
             (unsigned)(unix_ns / 1000000u % 1000u));
    json_text(json, "time", text);
}

void watch_time_json(const run_watch *watch, watch_when when, json_writer *json)
{
    const int64_t since = (int64_t)(when.at_ns - watch_first_ns(watch));
    watch_wall_json(json, when.unix_ns);
    json_number(json, "steady_s", (double)since * 1e-9);
}

static void send_line(watch_lines *lines, json_writer *json)
{
    size_t n_text = 0;
    const char *text = json_finish(json, &n_text);
    vly_status status =
        text ? vly_writer_bytes(lines->writer, text, n_text, &lines->error)
             : vly_fail_nomem(&lines->error, json->capacity, "telemetry");
    if (status == VLY_OK)
        (void)vly_writer_flush(lines->writer, &lines->error);
    json_deinit(json);
}

static void put_head(watch_lines *lines)
{
    const watch_net *net = lines->net;
    json_writer json;
    char backend[64];
    watch_backend(lines->watch, backend, sizeof backend);
    json_init(&json, false);
    json_object(&json, NULL);
    json_u64(&json, "telemetry", 1); /* version of the format */
    json_text(&json, "genome", net->genome);
    json_text(&json, "start", net->start);
    json_text(&json, "backend", backend);
    json_number(&json, "dt_ms", net->dt_ms);
    json_u64(&json, "bursts_wanted", net->n_bursts);
    json_object(&json, "neurons");
    for (uint32_t a = 0; a < net->n_areas; a++)
        json_u64(&json, net->areas[a], net->neurons[a]);
    json_object_end(&json);
    json_object_end(&json);
    send_line(lines, &json);
}

/* Microseconds of a burst; null without a burst. */
static void put_us(json_writer *json, const char *key, uint64_t from,
                   uint64_t to, double bursts)
{
    json_number(json, key,
                bursts > 0 ? (double)(to - from) * 1e-3 / bursts : NAN);
}

/* What each rank waited for others, as of its last call that has ended. */
static void put_ranks(watch_lines *lines, json_writer *json)
{
    const vly_rank_group *ranks = lines->net->ranks;
    if (!ranks)
        return;
    json_array(json, "rank_waited_s");
    for (uint32_t r = 0; r < vly_ranks_number(ranks); r++) {
        vly_rank_figures now = {.struct_size = sizeof now};
        vly_ranks_figures(ranks, r, &now);
        json_number(json, NULL,
                    (double)(now.waited_ns - lines->ranks_before[r]) * 1e-9);
        lines->ranks_before[r] = now.waited_ns;
    }
    json_array_end(json);
}

static void put_line(watch_lines *lines)
{
    const vly_telemetry_sample *from = &lines->before;
    const vly_telemetry_sample *to = &lines->now;
    const watch_rates rates = watch_rates_of(lines->net, from, to);
    json_writer json;
    json_init(&json, false);
    json_object(&json, NULL);
    watch_time_json(lines->watch, (watch_when){to->at_ns, to->unix_ns}, &json);
    json_u64(&json, "burst", to->bursts);
    json_u64(&json, "bursts", to->bursts - from->bursts);
    json_number(&json, "seconds", rates.seconds);
    json_number(&json, "waited_s",
                (double)(to->waited_ns - from->waited_ns) * 1e-9);
    json_number(&json, "engine_waited_s",
                (double)(to->engine_waited_ns - from->engine_waited_ns) * 1e-9);
    json_number(&json, "threads_waited_s",
                (double)(to->threads_waited_ns - from->threads_waited_ns) *
                    1e-9);
    json_number(&json, "paused_s",
                (double)(to->paused_ns - from->paused_ns) * 1e-9);
    json_text(&json, "backend", to->backend);
    json_u64(&json, "moves", to->moves - from->moves);
    json_u64(&json, "wrong_bursts", to->wrong_bursts - from->wrong_bursts);
    json_u64(&json, "failures", to->failures - from->failures);
    put_us(&json, "burst_us", from->run_ns, to->run_ns, rates.bursts);
    put_us(&json, "delivery_us", from->delivery_ns, to->delivery_ns,
           rates.bursts);
    put_us(&json, "dynamics_us", from->dynamics_ns, to->dynamics_ns,
           rates.bursts);
    put_us(&json, "exchange_us", from->exchange_ns, to->exchange_ns,
           rates.bursts);
    put_us(&json, "drain_us", from->drain_ns, to->drain_ns, rates.bursts);
    json_u64(&json, "spikes", to->spikes - from->spikes);
    json_u64(&json, "spikes_squared", to->squares - from->squares);
    json_u64(&json, "events", to->events - from->events);
    json_u64(&json, "candidates", to->candidates - from->candidates);
    json_u64(&json, "host_bytes", to->host_bytes);
    json_u64(&json, "device_bytes", to->device_bytes);
    put_ranks(lines, &json);
    device_limits_json(&json);
    watch_devices_json(lines->devices, &json);
    json_u64(&json, "lost", lines->lost);
    json_object(&json, "area_spikes");
    for (uint32_t a = 0; a < lines->net->n_areas; a++)
        json_u64(&json, lines->net->areas[a],
                 lines->areas_now[a] - lines->areas_before[a]);
    json_object_end(&json);
    json_object(&json, "rate_hz");
    /* no burst: no rate, which is not a rate of 0 */
    for (uint32_t a = 0; a < lines->net->n_areas; a++)
        json_number(&json, lines->net->areas[a],
                    rates.bursts > 0
                        ? watch_area_hz(lines->net, a, &rates,
                                        lines->areas_before, lines->areas_now)
                        : NAN);
    json_object_end(&json);
    json_object_end(&json);
    send_line(lines, &json);
}

vly_status watch_lines_open(const run_watch *watch, const watch_net *net,
                            const vly_telemetry_ring *ring,
                            vly_device_watch *devices, const char *path,
                            watch_lines **lines, vly_error *error)
{
    vly_status status = VLY_OK;
    watch_lines *made = vly_calloc(1, sizeof *made);
    if (!made)
        return vly_fail_nomem(error, sizeof *made, "telemetry");
    made->watch = watch;
    made->net = net;
    made->ring = ring;
    made->error.struct_size = sizeof made->error;
    pthread_mutex_init(&made->lock, NULL);
    made->areas_before =
        vly_calloc((size_t)net->n_areas + 1, sizeof *made->areas_before);
    made->areas_now =
        vly_calloc((size_t)net->n_areas + 1, sizeof *made->areas_now);
    if (!made->areas_before || !made->areas_now) {
        status = vly_fail_nomem(error, net->n_areas * UINT64_C(16), "areas");
        goto out;
    }
    if (net->ranks) {
        const size_t n = vly_ranks_number(net->ranks);
        made->ranks_before = vly_calloc(n, sizeof *made->ranks_before);
        if (!made->ranks_before) {
            status = vly_fail_nomem(error, 8 * n, "ranks");
            goto out;
        }
    }
    VLY_TRY(watch_devices_open(devices, &made->devices, error));
    VLY_TRY(vly_writer_open(path, false, &made->writer, error));
    vly_writer_set_lines(made->writer);
    *lines = made;
    made = NULL;
out:
    if (made) {
        vly_writer_abandon(made->writer);
        pthread_mutex_destroy(&made->lock);
        watch_devices_close(made->devices);
        vly_free(made->areas_before);
        vly_free(made->areas_now);
        vly_free(made->ranks_before);
        vly_free(made);
    }
    return status;
}

vly_status watch_lines_begin(watch_lines *lines, vly_error *error)
{
    put_head(lines);
    if (lines->error.status != VLY_OK && error)
        *error = lines->error;
    return lines->error.status;
}

void watch_lines_cancel(watch_lines *lines)
{
    if (lines)
        vly_writer_cancel(lines->writer);
}

void watch_lines_note(watch_lines *lines, const char *text)
{
    pthread_mutex_lock(&lines->lock);
    const size_t before = lines->notes ? strlen(lines->notes) : 0;
    const size_t more = strlen(text) + 1;
    char *grown = vly_realloc(lines->notes, before + more, 1);
    if (grown) {
        memcpy(grown + before, text, more);
        lines->notes = grown;
    }
    pthread_mutex_unlock(&lines->lock);
}

static void put_notes(watch_lines *lines)
{
    pthread_mutex_lock(&lines->lock);
    char *notes = lines->notes;
    lines->notes = NULL;
    pthread_mutex_unlock(&lines->lock);
    if (notes && lines->error.status == VLY_OK &&
        vly_writer_text(lines->writer, notes, &lines->error) == VLY_OK)
        (void)vly_writer_flush(lines->writer, &lines->error);
    vly_free(notes);
}

uint64_t watch_lines_drain(watch_lines *lines)
{
    put_notes(lines);
    while (vly_telemetry_take(lines->ring, &lines->next, &lines->lost,
                              &lines->now, lines->areas_now)) {
        if (lines->any && lines->error.status == VLY_OK)
            put_line(lines);
        uint64_t *areas = lines->areas_before;
        lines->areas_before = lines->areas_now;
        lines->areas_now = areas;
        lines->before = lines->now;
        lines->any = true;
    }
    return lines->lost;
}

vly_status watch_lines_close(watch_lines *lines, uint64_t *lost,
                             vly_error *error)
{
    if (!lines)
        return VLY_OK;
    put_notes(lines);
    vly_status status = lines->error.status;
    if (status != VLY_OK && error)
        *error = lines->error;
    vly_status closed =
        vly_writer_close(lines->writer, status == VLY_OK ? error : NULL);
    *lost = lines->lost;
    watch_devices_close(lines->devices);
    pthread_mutex_destroy(&lines->lock);
    vly_free(lines->areas_before);
    vly_free(lines->areas_now);
    vly_free(lines->ranks_before);
    vly_free(lines);
    return status != VLY_OK ? status : closed;
}
