/* SPDX-License-Identifier: Apache-2.0
 * What a running net is watched by: telemetry as JSON lines (--telemetry), a
 * Prometheus endpoint (--metrics), a view in the terminal (--live). The burst
 * loop puts a sample into a ring now and then; everything else happens on
 * threads of their own.
 */
#ifndef VOLLEY_TOOLS_RUN_WATCH_H
#define VOLLEY_TOOLS_RUN_WATCH_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include <volley/volley.h>

#include "record/telemetry.h"
#include "tools/cli/json_writer.h"
#include "tools/cli/options.h"

typedef struct run_job run_job;
typedef struct run_watch run_watch;
typedef struct vly_device_watch vly_device_watch;

/* Minimum of --telemetry-every. */
#define RUN_WATCH_EVERY_LEAST_MS 1

/* The options. */
typedef struct run_watch_plan {
    const char *telemetry; /* a file; NULL: none */
    double every_ms;       /* between two samples */
    const char *metrics;   /* PORT or ADDRESS:PORT; NULL: none */
    const char *devices;   /* "own", "all", "off"; NULL: own, if telemetry of
                            * devices is available */
    bool live;
    bool wanted; /* needed by --monitor, whatever the other options are */
} run_watch_plan;

/* Figures of telemetry itself. */
typedef struct run_watched {
    uint64_t n_samples; /* 0: no telemetry */
    uint64_t n_lost;    /* not written: the ring was full */
    double seconds;     /* spent in the burst loop */
} run_watched;

/* The state of the part. */
typedef struct watch_part {
    run_watch_plan plan;
    char *telemetry;  /* owned text of plan.telemetry, if the file is in the
                       * folder */
    run_watch *watch; /* NULL: no telemetry in this run */
    run_watched watched;
} watch_part;
watch_part *run_watch_state(const run_job *job);

/* Opens files and sockets of the options; without such options the watch stays
 * NULL.
 * Errors  E_INVALID no address or port; E_IO the file cannot be written, the
 * port is in use; E_NOMEM */
vly_status run_watch_open(run_job *job, vly_error *error);
/* Writes the head of --telemetry: nothing can refuse the run any more. */
vly_status run_watch_begin(run_job *job, vly_error *error);
/* Called before and after each call of the engine; the net may have moved
 * before. Time in between without a processor is counted in the samples as time
 * of the engine. [burst loop] */
void run_watch_enter(run_job *job);
void run_watch_leave(run_job *job);
/* Takes a sample if one is due or almost due. [burst loop] */
void run_watch_look(run_job *job);
/* Time of the next sample (vly_clock_ns), in a run with telemetry. */
uint64_t run_watch_due(const run_job *job);
/* Takes the last sample: work after the last burst is in no record. [burst
 * loop] */
void run_watch_last(run_job *job);
/* Ends the threads, closes the file. NULL is legal. Errors are those of the
 * file. */
vly_status run_watch_close(run_job *job, vly_error *error);
/* Can the run be on a CUDA device at some time? */
bool run_watch_may_be_cuda(const run_job *job);

/* Constants of the run for readers of the samples; borrowed. */
typedef struct watch_net {
    const char *genome;
    const char *title;
    const char *start;        /* as the manifest has it */
    const char *const *areas; /* [n_areas] names */
    const uint32_t *neurons;  /* [n_areas] */
    uint32_t n_areas;
    uint64_t n_bursts; /* wanted */
    uint64_t first_burst;
    double dt_ms;
    const struct vly_rank_group *ranks; /* engine/ranks.h; NULL: one process */
} watch_net;

/* From one sample to the next. A rate over a time of 0 is 0. */
typedef struct watch_rates {
    double seconds; /* of the wall clock */
    double bursts;
    double biological_s;
    double real_time; /* wall time over biological time */
    double events_per_s;
} watch_rates;
watch_rates watch_rates_of(const watch_net *net,
                           const vly_telemetry_sample *from,
                           const vly_telemetry_sample *to);
/* The mean rate of an area's neurons in Hz. */
double watch_area_hz(const watch_net *net, uint32_t area,
                     const watch_rates *rates, const uint64_t *from,
                     const uint64_t *to);
/* The backend of the run, as the engine reports it; changes with a swap. The
 * text is copied. */
void watch_backend(const run_watch *watch, char *backend, size_t capacity);
/* The samples and the net, for other readers; borrowed. */
const vly_telemetry_ring *run_watch_ring(const run_watch *watch);
const watch_net *run_watch_net(const run_watch *watch);
/* Steady clock of the first sample. */
uint64_t watch_first_ns(const run_watch *watch);
vly_device_watch *run_watch_devices(const run_watch *watch); /* or NULL */
/* Adds a line of JSON, with its line break, between the lines of telemetry;
 * copied. Without a telemetry file or without memory the line is dropped.
 * [any-thread]
 */
void run_watch_note(run_watch *watch, const char *line);
/* Metrics of the other parts of the run, as watch_devices_metrics. */
char *watch_other_metrics(const run_watch *watch);
/* Samples missing in the JSON lines so far. */
uint64_t watch_lost(const run_watch *watch);

/* Both clocks now, plus the offset of an injected fault. [burst loop] */
void run_watch_clock(const run_job *job, uint64_t *at_ns, uint64_t *unix_ns);

/* The member "time": the wall clock. */
void watch_wall_json(json_writer *json, uint64_t unix_ns);
/* The time of an event in a line. */
typedef struct watch_when {
    uint64_t at_ns;   /* steady clock */
    uint64_t unix_ns; /* wall clock */
} watch_when;
/* The members "time", of the wall clock, which may be set back, and "steady_s",
 * seconds since the first sample, which is not. */
void watch_time_json(const run_watch *watch, watch_when when,
                     json_writer *json);

/* ---- watch_devices.c: telemetry of devices ------------------------------- */

typedef struct watch_devices watch_devices;
/* Called before anything is built or written.
 * Errors  E_UNSUPPORTED --device-telemetry all, and no source of telemetry */
vly_status watch_devices_check(const vly_registry *registry,
                               const run_watch_plan *plan, vly_error *error);
/* Starts sampling, if the run may be on such a device at some time or all
 * devices were requested. Otherwise *watch stays NULL, also if no telemetry is
 * available and none was requested. backend is that of the run now.
 * Errors  E_UNSUPPORTED --device-telemetry, and no telemetry is available;
 * E_NOMEM */
vly_status watch_devices_start(const vly_registry *registry,
                               const run_watch_plan *plan, const char *backend,
                               bool may_be_there, vly_device_watch **watch,
                               vly_error *error);
/* A reader of the samples; NULL if the watch is NULL.
 * Errors  E_NOMEM */
vly_status watch_devices_open(vly_device_watch *watch, watch_devices **devices,
                              vly_error *error);
void watch_devices_close(watch_devices *devices); /* NULL is legal */
/* The member "devices", if there is a new sample. NULL is legal, as below. */
void watch_devices_json(watch_devices *devices, json_writer *json);
/* Metrics of Prometheus. NULL: no memory. The caller frees it (vly_free). */
char *watch_devices_metrics(watch_devices *devices);
/* Number of metrics of a device. */
uint32_t watch_devices_count(const watch_devices *devices);
/* Names of the metrics [watch_devices_count]; borrowed. NULL if there are
 * none. */
const char *const *watch_devices_names(const watch_devices *devices);
/* Metrics of the net's device, in thousandths. A counter gives its increase
 * since the last sample; a metric without a value gives 0. false: no new
 * sample, or no sample before it. */
bool watch_devices_values(watch_devices *devices, uint64_t *numbers);

/* ---- watch_lines.c: JSON lines ------------------------------------------ */

typedef struct watch_lines watch_lines;
/* Opens the file; it is written from begin on. "-" is standard output. */
vly_status watch_lines_open(const run_watch *watch, const watch_net *net,
                            const vly_telemetry_ring *ring,
                            vly_device_watch *devices, const char *path,
                            watch_lines **lines, vly_error *error);
/* The head. [main-thread] before the first burst */
vly_status watch_lines_begin(watch_lines *lines, vly_error *error);
/* Removes the file at close. NULL is legal. */
void watch_lines_cancel(watch_lines *lines);
/* Writes new samples; returns the number of samples lost so far. [watcher's
 * thread] */
uint64_t watch_lines_drain(watch_lines *lines);
/* Adds a line of another kind, written before the next sample. [any-thread] */
void watch_lines_note(watch_lines *lines, const char *text);
/* *lost: samples that were overwritten before they were read. NULL is legal. */
vly_status watch_lines_close(watch_lines *lines, uint64_t *lost,
                             vly_error *error);

/* ---- watch_metrics.c: Prometheus ---------------------------------------- */

typedef struct watch_metrics watch_metrics;
/* Listens, and answers GET /metrics on a separate thread. The address is
 * printed on stderr unless quiet. */
vly_status watch_metrics_open(const run_watch *watch, const watch_net *net,
                              const vly_telemetry_ring *ring,
                              vly_device_watch *devices, const char *address,
                              bool quiet, watch_metrics **metrics,
                              vly_error *error);
void watch_metrics_close(watch_metrics *metrics); /* NULL is legal */

/* ---- watch_live.c: the terminal ----------------------------------------- */

typedef struct watch_live watch_live;
vly_status watch_live_open(const run_watch *watch, const watch_net *net,
                           const vly_telemetry_ring *ring, watch_live **live,
                           vly_error *error);
/* Draws if a drawing is due. [watcher's thread] */
void watch_live_look(watch_live *live);
void watch_live_close(watch_live *live); /* NULL is legal */

#endif
