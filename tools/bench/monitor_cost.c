/* SPDX-License-Identifier: Apache-2.0
 * monitor_cost GENOME MODEL [BACKEND [DEVICE [BUDGET [SECONDS [EVERY_MS]]]]]
 * What a burst waits for because a model watches the run. One net, burst by
 * burst, every burst timed; blocks of 200 ms with the monitor (samples,
 * the gate, its thread) and without (no samples, no gate, its thread asleep)
 * follow each other, so that other load on the machine hits both alike. Prints
 * the distribution of both, what the monitor did, and the load.
 *
 * Exit codes: 0, 2 the call, else as the command's.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <volley/volley.h>

#include "base/error.h"
#include "base/memory.h"
#include "base/thread.h"
#include "monitor/watcher.h"
#include "monitor/watcher_model.h"
#include "record/telemetry.h"
#include "tools/cli/tool.h"

enum { WARM_BURSTS = 200, MOST_BURSTS = 1 << 24 };
static const uint64_t block_ns = 200000000;

typedef struct setup {
    const char *genome;
    const char *model;
    const char *backend;
    const char *device;
    double budget;
    double seconds;
    double every_ms;
} setup;

/* Latencies of one way, in us. */
typedef struct latencies {
    float *us;
    size_t n;
} latencies;

typedef struct bench {
    setup asked;
    vly_net *net;
    vly_registry *registry; /* of the model */
    vly_watcher_rwkv *rwkv;
    vly_telemetry_ring *ring;
    uint64_t *areas;
    uint32_t n_areas;
    vly_gate *gate;
    vly_watcher *watcher;
    latencies ways[2]; /* without, with */
    uint64_t next_sample_ns;
} bench;

static void ignore_anomaly(void *context, const vly_anomaly *anomaly)
{
    (void)anomaly;
    ++*(uint64_t *)context;
}

static int compare(const void *a, const void *b)
{
    const float x = *(const float *)a;
    const float y = *(const float *)b;
    return (x > y) - (x < y);
}

/* As tools/watch/run_watch.c does it. */
static void put_sample(bench *all, uint64_t now)
{
    vly_stats stats = {.struct_size = sizeof stats};
    struct timespec wall;
    if (vly_net_stats(all->net, &stats, NULL) != VLY_OK)
        return;
    for (uint32_t a = 0; a < all->n_areas; a++) {
        vly_area_stats area = {.struct_size = sizeof area};
        if (vly_net_area_stats(all->net, a, &area) == VLY_OK)
            all->areas[a] = area.spikes;
    }
    const uint64_t waited_ns = vly_thread_waited_ns();
    clock_gettime(CLOCK_REALTIME, &wall);
    const vly_telemetry_sample sample = {
        .at_ns = now,
        .unix_ns = (uint64_t)wall.tv_sec * 1000000000u + (uint64_t)wall.tv_nsec,
        .bursts = stats.bursts,
        .run_ns = stats.run_ns,
        .delivery_ns = stats.delivery_ns,
        .dynamics_ns = stats.dynamics_ns,
        .spikes = stats.spikes,
        .events = stats.events,
        .host_bytes = stats.host_bytes,
        .device_bytes = stats.device_bytes,
        .waited_ns = waited_ns,
        .engine_waited_ns = waited_ns, /* not distinguished: only costs
                                        * matter */
        .squares = stats.spikes_squared,
    };
    vly_telemetry_put(all->ring, &sample, all->areas);
    all->next_sample_ns = now + (uint64_t)(all->asked.every_ms * 1e6);
}

/* The time of a burst includes all work of the burst loop for it. */
static vly_status run_block(bench *all, int way, vly_error *error)
{
    latencies *made = &all->ways[way];
    const uint64_t end = vly_clock_ns() + block_ns;
    vly_gate *gate = way == 1 ? all->gate : NULL;
    vly_gate_pause(all->gate, way == 0);
    for (uint64_t now = vly_clock_ns(); now < end;) {
        const uint64_t begin = now;
        vly_gate_burst_begin(gate);
        vly_status status = vly_net_run(all->net, 1, error);
        vly_gate_burst_end(gate, 0);
        if (status != VLY_OK)
            return status;
        (void)vly_gate_offer(gate);
        now = vly_clock_ns();
        if (way == 1 && now >= all->next_sample_ns) {
            put_sample(all, now);
            now = vly_clock_ns();
        }
        if (made->n < MOST_BURSTS)
            made->us[made->n++] = (float)(now - begin) * 1e-3f;
    }
    return VLY_OK;
}

static vly_status begin(bench *all, uint64_t *n_anomalies, vly_error *error)
{
    const setup *asked = &all->asked;
    vly_status status = VLY_OK;
    /* first, because it sets the places of plugins for the net's registry */
    VLY_TRY(tool_registry_create(&all->registry, error));
    VLY_TRY(vly_net_open(asked->genome, asked->backend, &all->net, error));
    VLY_TRY(vly_net_run(all->net, WARM_BURSTS, error));
    vly_area_stats area = {.struct_size = sizeof area};
    while (vly_net_area_stats(all->net, all->n_areas, &area) == VLY_OK)
        all->n_areas++;
    all->areas = vly_calloc((size_t)all->n_areas + 1, sizeof *all->areas);
    all->ways[0].us = vly_malloc(MOST_BURSTS, sizeof(float));
    all->ways[1].us = vly_malloc(MOST_BURSTS, sizeof(float));
    if (!all->areas || !all->ways[0].us || !all->ways[1].us)
        return vly_fail_nomem(error, 0, "latencies");
    VLY_TRY(vly_watcher_rwkv_open(all->registry, asked->model, asked->device,
                                  &all->rwkv, error));
    VLY_TRY(vly_telemetry_create(1024, all->n_areas, &all->ring, error));
    const bool on_host = vly_watcher_rwkv_on_host(all->rwkv);
    const vly_gate_options gate = {.exclusive = !on_host,
                                   .budget = asked->budget};
    VLY_TRY(vly_gate_create(&gate, &all->gate, error));
    const vly_watcher_options options = {
        .ring = all->ring,
        .gate = all->gate,
        .wall = !on_host,
        .model = vly_watcher_rwkv_model(all->rwkv),
        .tails = vly_watcher_rwkv_tails(all->rwkv),
        .alarms_an_hour = 1,
        .record_s = asked->every_ms * 1e-3,
        .on_anomaly = ignore_anomaly,
        .context = n_anomalies};
    status = vly_watcher_create(&options, &all->watcher, error);
out:
    return status;
}

static void end(bench *all)
{
    vly_watcher_destroy(all->watcher);
    vly_gate_destroy(all->gate);
    vly_telemetry_destroy(all->ring);
    vly_watcher_rwkv_close(all->rwkv);
    vly_registry_destroy(all->registry);
    vly_free(all->areas);
    vly_free(all->ways[0].us);
    vly_free(all->ways[1].us);
    vly_net_close(all->net);
}

/* ---- results ------------------------------------------------------------- */

static double percentile(const latencies *way, double share)
{
    return way->n > 0 ? (double)way->us[(size_t)(share * (double)(way->n - 1))]
                      : 0;
}

static void print_load(void)
{
    char line[128] = "unknown\n";
    FILE *file = fopen("/proc/loadavg", "r");
    if (file && !fgets(line, sizeof line, file))
        snprintf(line, sizeof line, "unknown\n");
    if (file)
        fclose(file);
    printf("load %s", line);
}

static void report(bench *all, double seconds)
{
    static const double shares[] = {0.1, 0.5, 0.9, 0.99, 0.999};
    vly_watcher_figures figures;
    vly_gate_usage usage;
    vly_gate_usage_get(all->gate, &usage);
    vly_watcher_figures_get(all->watcher, &figures);
    print_load();
    printf("| us a burst | bursts | p10 | median | p90 | p99 | p99.9 |\n"
           "|---|---|---|---|---|---|---|\n");
    for (int way = 0; way < 2; way++) {
        latencies *made = &all->ways[way];
        qsort(made->us, made->n, sizeof *made->us, compare);
        printf("| %s | %zu", way == 0 ? "without" : "monitor", made->n);
        for (size_t i = 0; i < sizeof shares / sizeof shares[0]; i++)
            printf(" | %.2f", percentile(made, shares[i]));
        printf(" |\n");
    }
    for (size_t i = 1; i < 4; i += 2)
        printf("%s: %+.2f%%\n", i == 1 ? "median" : "p99",
               100 * (percentile(&all->ways[1], shares[i]) /
                          percentile(&all->ways[0], shares[i]) -
                      1));
    printf("monitor: %llu records, %llu skipped, %llu steps, %.2f%% of the "
           "time it was on, longest step %.0f us, %llu bursts waited %.0f us "
           "at most, %s\n",
           (unsigned long long)figures.records,
           (unsigned long long)figures.skipped, (unsigned long long)usage.steps,
           100 * (double)usage.spent_ns * 1e-9 / (seconds / 2),
           (double)usage.longest_ns * 1e-3,
           (unsigned long long)usage.burst_waits,
           (double)usage.burst_wait_longest_ns * 1e-3,
           figures.background ? figures.background : "no lower priority");
}

static bool read_setup(int argc, char **argv, setup *asked)
{
    *asked = (setup){.backend = "cpu:1",
                     .device = "cpu:1",
                     .budget = 0.05,
                     .seconds = 20,
                     .every_ms = 100};
    if (argc < 3 || argc > 8)
        return false;
    asked->genome = argv[1];
    asked->model = argv[2];
    if (argc > 3)
        asked->backend = argv[3];
    if (argc > 4)
        asked->device = argv[4];
    if (argc > 5)
        asked->budget = strtod(argv[5], NULL);
    if (argc > 6)
        asked->seconds = strtod(argv[6], NULL);
    if (argc > 7)
        asked->every_ms = strtod(argv[7], NULL);
    return asked->seconds > 0 && asked->every_ms > 0;
}

int main(int argc, char **argv)
{
    bench all = {.net = NULL};
    vly_error error = VLY_ERROR_INIT;
    uint64_t n_anomalies = 0;
    if (!read_setup(argc, argv, &all.asked)) {
        fprintf(stderr, "usage: monitor_cost GENOME MODEL [BACKEND [DEVICE "
                        "[BUDGET [SECONDS [EVERY_MS]]]]]\n");
        return 2;
    }
    vly_status status = begin(&all, &n_anomalies, &error);
    const uint64_t first = vly_clock_ns();
    const uint64_t last = first + (uint64_t)(all.asked.seconds * 1e9);
    for (int way = 0; status == VLY_OK && vly_clock_ns() < last; way = !way)
        status = run_block(&all, way, &error);
    if (status == VLY_OK)
        report(&all, (double)(vly_clock_ns() - first) * 1e-9);
    else
        fprintf(stderr, "monitor_cost: %s\n", error.message);
    end(&all);
    return vly_status_exit_code(status);
}
