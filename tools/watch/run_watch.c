/* SPDX-License-Identifier: Apache-2.0
 * Sampling a run, and the thread that hands samples on.
 */
#include "tools/watch/run_watch.h"

#include <volley/host.h>

#include <pthread.h>
#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "base/steal.h"
#include "base/thread.h"
#include "monitor/device_watch.h"
#include "tools/run/run_job.h"
#include "tools/run/run_part.h"
#include "tools/run/run_probe.h"
#include "tools/run/run_ranks.h"
#include "tools/watch/run_place.h"

/* Interval between two checks of the thread for samples; memory of the ring. */
static const uint64_t tick_ns = 50000000;
static const uint64_t ring_bytes = 1 << 22;

struct run_watch {
    run_job *job; /* for metrics of its other parts */
    watch_net net;
    const char **names;
    uint32_t *neurons;
    uint64_t *area_spikes; /* scratch of the burst loop */
    vly_telemetry_ring *ring;
    uint64_t every_ns;
    uint64_t next_ns; /* when a sample is due */
    uint64_t n_samples;
    uint64_t first_ns;          /* at_ns of the first one */
    uint64_t spent_ns;          /* time spent in the burst loop by telemetry */
    run_place place;            /* used by the burst loop only, like the members
                                 * that follow */
    uint64_t threads_waited_ns; /* of the samples so far */
    vly_steal steal;            /* the burst loop's */
    uint64_t entered_at_ns;     /* clock when the engine was entered */
    uint64_t entered_ns;        /* the same, minus the processor time of the
                                 * thread */
    uint64_t missing_ns;        /* clock minus processor time in the engine
                                 * since the last sample */
    uint64_t call_ns;           /* duration of the last call */
    uint64_t waited_ns;         /* up to the last sample, without stolen time */
    vly_telemetry_sample last;
    uint64_t pool_ns; /* at the last sample; UINT64_MAX: not read */
    uint64_t exchange_ns;

    vly_device_watch *devices; /* NULL: none are sampled */
    watch_lines *lines;
    watch_metrics *metrics;
    watch_live *live;
    pthread_t thread;
    bool runs; /* the thread runs */
    pthread_mutex_t lock;
    pthread_cond_t changed;
    bool ended; /* under the lock, like the members that follow */
    uint64_t n_lost;
    char backend[64];
};

/* ---- samples ------------------------------------------------------------ */

/* Only this thread writes watch->backend, so it reads it without the lock: a
 * preempted reader may hold the lock. */
static void note_backend(run_watch *watch, const char *backend)
{
    if (strcmp(watch->backend, backend) == 0)
        return;
    pthread_mutex_lock(&watch->lock);
    (void)snprintf(watch->backend, sizeof watch->backend, "%s", backend);
    pthread_mutex_unlock(&watch->lock);
    if (watch->devices)
        vly_device_watch_target(watch->devices, backend);
}

static void look_where(run_job *job)
{
    run_watch *watch = run_watch_state(job)->watch;
    const char *backend = job->result.stats.backend; /* new after each move */
    if (watch &&
        run_place_look(&watch->place, job, backend, vly_net_burst(job->net)))
        note_backend(watch, backend);
}

static uint64_t since(uint64_t *before, uint64_t now)
{
    const uint64_t from = *before;
    *before = now;
    return now > from ? now - from : 0;
}

/* In the exchange the burst loop waits for threads of the net that wait for a
 * processor. If the exchange is slow for another reason (a link, another
 * device), no thread waited. */
static uint64_t threads_waited(run_watch *watch, const vly_stats *stats)
{
    const uint64_t in = since(&watch->exchange_ns, stats->exchange_ns);
    /* a device has no threads here: reading a file of /proc for each thread
     * would be useless */
    if (stats->device_bytes > 0) {
        watch->pool_ns = UINT64_MAX; /* the next difference starts again */
        return watch->threads_waited_ns;
    }
    const uint64_t pool = since(&watch->pool_ns, vly_thread_pool_waited_ns());
    watch->threads_waited_ns += in < pool ? in : pool;
    return watch->threads_waited_ns;
}

/* Clock minus processor time of the thread: time in which it waited for a
 * processor, or slept. */
static uint64_t missing_ns(uint64_t now)
{
    const uint64_t own = vly_thread_ns();
    return now > own ? now - own : 0;
}

void run_watch_enter(run_job *job)
{
    run_watch *watch = run_watch_state(job)->watch;
    if (!watch)
        return;
    look_where(job);
    watch->entered_at_ns = vly_clock_ns();
    watch->entered_ns = missing_ns(watch->entered_at_ns);
}

static uint64_t least(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

void run_watch_leave(run_job *job)
{
    run_watch *watch = run_watch_state(job)->watch;
    if (!watch)
        return;
    const uint64_t now = vly_clock_ns();
    watch->missing_ns += since(&watch->entered_ns, missing_ns(now));
    watch->call_ns = now - watch->entered_at_ns;
}

/* Time in which the thread was ready but had no processor: another thread had
 * it (waited_ns, so far), or another virtual machine. The latter is measured in
 * the engine only: outside of it a paced or paused run sleeps. Time without a
 * processor in the engine is at most the clock minus processor time there, and
 * equal to it if the thread does not sleep in the engine. */
static void put_waited(run_watch *watch, uint64_t waited_ns,
                       vly_telemetry_sample *sample)
{
    vly_telemetry_sample *last = &watch->last;
    const uint64_t more = since(&watch->waited_ns, waited_ns);
    const uint64_t missing = watch->missing_ns;
    const uint64_t before = watch->steal.stolen_ns;
    const uint64_t stolen =
        vly_steal_look(&watch->steal, missing > more ? missing - more : 0);
    /* a late report may exceed the time of the sample */
    const uint64_t all =
        least(more + stolen - before, sample->at_ns - last->at_ns);
    const uint64_t inside =
        least(least(missing, all), sample->run_ns - last->run_ns);
    watch->missing_ns = 0;
    sample->waited_ns = last->waited_ns + all;
    sample->engine_waited_ns = last->engine_waited_ns + inside;
    *last = *sample;
}

void run_watch_clock(const run_job *job, uint64_t *at_ns, uint64_t *unix_ns)
{
    int64_t wall = 0;
    int64_t steady = 0;
    /* both clocks are read at one time: if the thread is preempted between two
     * reads, a clock seems to jump (by 13 ms and back on two cores shared by
     * six builds) */
    vly_clock_both(at_ns, unix_ns);
    run_probe_clock(job, &wall, &steady);
    *at_ns += (uint64_t)steady;
    *unix_ns += (uint64_t)wall;
}

static void put_sample(run_job *job)
{
    run_watch *watch = run_watch_state(job)->watch;
    vly_stats stats = {.struct_size = sizeof stats};
    uint64_t at_ns = 0;
    uint64_t unix_ns = 0;
    /* the failure of a net is reported elsewhere */
    if (vly_net_stats(job->net, &stats, NULL) != VLY_OK)
        return;
    for (uint32_t a = 0; a < watch->net.n_areas; a++) {
        vly_area_stats area = {.struct_size = sizeof area};
        if (vly_net_area_stats(job->net, a, &area) == VLY_OK)
            watch->area_spikes[a] = area.spikes;
    }
    /* repeated if the thread waited meanwhile: otherwise the waiting time could
     * exceed that of the record */
    uint64_t waited_ns = vly_thread_waited_ns();
    for (int i = 0; i < 3; i++) {
        run_watch_clock(job, &at_ns, &unix_ns);
        const uint64_t before = waited_ns;
        waited_ns = vly_thread_waited_ns();
        if (waited_ns == before)
            break;
    }
    if (watch->n_samples == 0)
        watch->first_ns = at_ns;
    run_place_look(&watch->place, job, stats.backend, stats.bursts);
    vly_telemetry_sample sample = {
        .at_ns = at_ns,
        .unix_ns = unix_ns,
        .bursts = stats.bursts,
        .run_ns = stats.run_ns,
        .delivery_ns = stats.delivery_ns,
        .dynamics_ns = stats.dynamics_ns,
        .exchange_ns = stats.exchange_ns,
        .drain_ns = stats.drain_ns,
        .spikes = stats.spikes,
        .events = stats.events,
        .candidates = stats.candidates,
        .host_bytes = stats.host_bytes,
        .device_bytes = stats.device_bytes,
        .connectome_bytes = stats.connectome_bytes,
        .threads_waited_ns = threads_waited(watch, &stats),
        .paused_ns = (uint64_t)(job->result.paused_s * 1e9),
        .squares = stats.spikes_squared,
    };
    put_waited(watch, waited_ns, &sample);
    run_place_fill(&watch->place, &sample);
    vly_telemetry_put(watch->ring, &sample, watch->area_spikes);
    watch->n_samples++;
    note_backend(watch, stats.backend);
}

uint64_t run_watch_due(const run_job *job)
{
    return run_watch_state(job)->watch->next_ns;
}

void run_watch_look(run_job *job)
{
    run_watch *watch = run_watch_state(job)->watch;
    if (!watch)
        return;
    const uint64_t now = vly_clock_ns();
    /* a call that ended slightly early needs no further call before the sample;
     * with short calls the next end is closer to the due time */
    const uint64_t half = watch->call_ns / 2;
    const uint64_t early = watch->every_ns / 16;
    if (now + (half < early ? half : early) < watch->next_ns)
        return;
    put_sample(job);
    const uint64_t after = vly_clock_ns();
    watch->spent_ns += after - now;
    watch->next_ns = now + watch->every_ns;
}

void watch_backend(const run_watch *watch, char *backend, size_t capacity)
{
    /* a lock is modified even if the data is constant */
    pthread_mutex_t *lock = (pthread_mutex_t *)(uintptr_t)&watch->lock;
    pthread_mutex_lock(lock);
    (void)snprintf(backend, capacity, "%s", watch->backend);
    pthread_mutex_unlock(lock);
}

const vly_telemetry_ring *run_watch_ring(const run_watch *watch)
{
    return watch->ring;
}

const watch_net *run_watch_net(const run_watch *watch)
{
    return &watch->net;
}

vly_device_watch *run_watch_devices(const run_watch *watch)
{
    return watch->devices;
}

void run_watch_note(run_watch *watch, const char *line)
{
    if (watch->lines)
        watch_lines_note(watch->lines, line);
}

char *watch_other_metrics(const run_watch *watch)
{
    return run_parts_metrics(watch->job);
}

uint64_t watch_lost(const run_watch *watch)
{
    pthread_mutex_t *lock = (pthread_mutex_t *)(uintptr_t)&watch->lock;
    pthread_mutex_lock(lock);
    const uint64_t lost = watch->n_lost;
    pthread_mutex_unlock(lock);
    return lost;
}

uint64_t watch_first_ns(const run_watch *watch)
{
    return watch->first_ns;
}

watch_rates watch_rates_of(const watch_net *net,
                           const vly_telemetry_sample *from,
                           const vly_telemetry_sample *to)
{
    watch_rates rates = {
        .seconds = (double)(to->at_ns - from->at_ns) * 1e-9,
        .bursts = (double)(to->bursts - from->bursts),
    };
    rates.biological_s = rates.bursts * net->dt_ms * 1e-3;
    if (rates.biological_s > 0)
        rates.real_time = rates.seconds / rates.biological_s;
    if (rates.seconds > 0)
        rates.events_per_s =
            (double)(to->events - from->events) / rates.seconds;
    return rates;
}

double watch_area_hz(const watch_net *net, uint32_t area,
                     const watch_rates *rates, const uint64_t *from,
                     const uint64_t *to)
{
    const double neurons = net->neurons[area];
    if (!(rates->biological_s > 0) || !(neurons > 0))
        return 0;
    return (double)(to[area] - from[area]) / neurons / rates->biological_s;
}

/* ---- the thread --------------------------------------------------------- */

static void *watch_all(void *arg)
{
    run_watch *watch = arg;
    bool ended = false;
    while (!ended) {
        pthread_mutex_lock(&watch->lock);
        if (!watch->ended)
            vly_condition_wait(&watch->changed, &watch->lock, tick_ns);
        ended = watch->ended;
        pthread_mutex_unlock(&watch->lock);
        if (watch->lines) {
            const uint64_t lost = watch_lines_drain(watch->lines);
            pthread_mutex_lock(&watch->lock);
            watch->n_lost = lost;
            pthread_mutex_unlock(&watch->lock);
        }
        if (watch->live)
            watch_live_look(watch->live);
    }
    return NULL;
}

static vly_status start_thread(run_watch *watch, vly_error *error)
{
    vly_status status =
        vly_thread_start(&watch->thread, watch_all, watch, "telemetry", error);
    watch->runs = status == VLY_OK;
    return status;
}

/* ---- begin and end ------------------------------------------------------ */

static vly_status describe(run_watch *watch, const run_job *job,
                           vly_error *error)
{
    const vly_connectome *connectome = job->build.connectome;
    const vly_connectome_info info = tool_connectome_info(connectome);
    const vly_genome_info about = tool_genome_info(job->build.genome);
    const uint32_t n = info.n_areas;
    watch->names = vly_calloc((size_t)n + 1, sizeof *watch->names);
    watch->neurons = vly_calloc((size_t)n + 1, sizeof *watch->neurons);
    watch->area_spikes = vly_calloc((size_t)n + 1, sizeof *watch->area_spikes);
    if (!watch->names || !watch->neurons || !watch->area_spikes)
        return vly_fail_nomem(error, n * UINT64_C(20), "areas");
    for (uint32_t a = 0; a < n; a++) {
        const vly_area_info area = tool_area_info(connectome, a);
        watch->names[a] = area.name;
        watch->neurons[a] = area.n_neurons;
    }
    watch->net = (watch_net){.genome = job->plan.path,
                             .title = about.title,
                             .start = job->result.start,
                             .areas = watch->names,
                             .neurons = watch->neurons,
                             .n_areas = n,
                             .n_bursts = job->plan.n_bursts,
                             .first_burst = job->first_burst,
                             .dt_ms = info.dt_ms,
                             .ranks = run_ranks_group(job)};
    uint32_t n_samples = 4096;
    while (n_samples > 64 &&
           n_samples * (sizeof(vly_telemetry_sample) + UINT64_C(8) * n) >
               ring_bytes)
        n_samples /= 2;
    return vly_telemetry_create(n_samples, n, &watch->ring, error);
}

static vly_status open_readers(run_job *job, vly_error *error)
{
    run_watch *watch = run_watch_state(job)->watch;
    const run_watch_plan *plan = &run_watch_state(job)->plan;
    vly_status status = VLY_OK;
    VLY_TRY(watch_devices_start(job->registry, plan, job->result.stats.backend,
                                run_watch_may_be_cuda(job), &watch->devices,
                                error));
    if (plan->telemetry)
        VLY_TRY(watch_lines_open(watch, &watch->net, watch->ring,
                                 watch->devices, plan->telemetry, &watch->lines,
                                 error));
    if (plan->live && !job->plan.quiet)
        VLY_TRY(watch_live_open(watch, &watch->net, watch->ring, &watch->live,
                                error));
    if (plan->metrics)
        VLY_TRY(watch_metrics_open(watch, &watch->net, watch->ring,
                                   watch->devices, plan->metrics,
                                   job->plan.quiet, &watch->metrics, error));
    if (watch->lines || watch->live)
        status = start_thread(watch, error);
out:
    return status;
}

vly_status run_watch_open(run_job *job, vly_error *error)
{
    const run_watch_plan *plan = &run_watch_state(job)->plan;
    if (!plan->telemetry && !plan->metrics && !plan->live && !plan->wanted)
        return VLY_OK;
    run_watch *watch = vly_calloc(1, sizeof *watch);
    if (!watch)
        return vly_fail_nomem(error, sizeof *watch, "telemetry");
    pthread_mutex_init(&watch->lock, NULL);
    vly_condition_init(&watch->changed);
    watch->every_ns = (uint64_t)(plan->every_ms * 1e6);
    watch->job = job;
    run_watch_state(job)->watch = watch;
    vly_status status = describe(watch, job, error);
    if (status == VLY_OK) {
        run_place_begin(&watch->place, job);
        put_sample(job);
        status = open_readers(job, error);
    }
    if (status != VLY_OK)
        (void)run_watch_close(job, NULL);
    return status;
}

vly_status run_watch_begin(run_job *job, vly_error *error)
{
    watch_lines *lines =
        run_watch_state(job)->watch ? run_watch_state(job)->watch->lines : NULL;
    return lines ? watch_lines_begin(lines, error) : VLY_OK;
}

void run_watch_last(run_job *job)
{
    if (run_watch_state(job)->watch)
        put_sample(job);
}

vly_status run_watch_close(run_job *job, vly_error *error)
{
    run_watch *watch = run_watch_state(job)->watch;
    vly_status status = VLY_OK;
    if (!watch)
        return VLY_OK;
    if (watch->runs) {
        pthread_mutex_lock(&watch->lock);
        watch->ended = true;
        pthread_cond_broadcast(&watch->changed);
        pthread_mutex_unlock(&watch->lock);
        pthread_join(watch->thread, NULL);
    }
    watch_metrics_close(watch->metrics);
    watch_live_close(watch->live);
    if (!job->began)
        watch_lines_cancel(watch->lines);
    status = watch_lines_close(watch->lines, &watch->n_lost, error);
    run_watch_state(job)->watched = (run_watched){
        watch->n_samples, watch->n_lost, (double)watch->spent_ns * 1e-9};
    vly_device_watch_destroy(watch->devices);
    vly_telemetry_destroy(watch->ring);
    pthread_mutex_destroy(&watch->lock);
    pthread_cond_destroy(&watch->changed);
    vly_free(watch->names);
    vly_free(watch->neurons);
    vly_free(watch->area_spikes);
    vly_free(watch);
    run_watch_state(job)->watch = NULL;
    return status;
}
