/* SPDX-License-Identifier: Apache-2.0
 * Joules a synaptic event, from the counter of the board.
 *
 * NVML's nvmlDeviceGetTotalEnergyConsumption counts millijoules of the whole
 * board, memory and idle power included, since the driver was loaded. It moves
 * in steps of tens of milliseconds, so that a run of 20 s is known to less than
 * a percent; the step and the idle power are measured and stated. The library
 * comes with the driver and its header does not come with the CUDA toolkit:
 * opened at run time, own prototypes.
 */
#include "tools/bench/bench_energy.h"

#include <dlfcn.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "base/error.h"
#include "base/thread.h"

typedef struct nvml {
    void *library;
    void *board; /* nvmlDevice_t */
    int (*init)(void);
    int (*shutdown)(void);
    const char *(*error_string)(int code);
    int (*driver_version)(char *text, unsigned length);
    int (*by_bus)(const char *bus, void **board);
    int (*by_index)(unsigned index, void **board);
    int (*energy)(void *board, unsigned long long *millijoules);
} nvml;

static const double idle_s = 3.0;
static const double settle_s = 1.0;
static const double step_patience_s = 2.0;
enum { STEPS = 10, POLL_NS = 500000 };

static double now(void)
{
    return (double)vly_clock_ns() * 1e-9;
}

static void rest(double seconds)
{
    struct timespec time = {.tv_sec = (time_t)seconds};
    time.tv_nsec = (long)((seconds - (double)time.tv_sec) * 1e9);
    nanosleep(&time, NULL);
}

/* ---- finding the board ------------------------------------------------- */

/* A pointer to a function is copied, not cast: ISO C has no cast for it. */
static bool find(void *library, const char *name, void *function)
{
    void *symbol = dlsym(library, name);
    memcpy(function, &symbol, sizeof symbol);
    return symbol != NULL;
}

/* The driver numbers devices in another order than NVML and obeys
 * CUDA_VISIBLE_DEVICES; the bus id is the same in both. It is read from the
 * driver, which the plugin has already opened. */
static bool bus_of(uint32_t index, char *bus, int n_bus)
{
    int (*init)(unsigned) = NULL;
    int (*get)(int *, int) = NULL;
    int (*bus_id)(char *, int, int) = NULL;
    int device = 0;
    void *driver = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
    return driver && find(driver, "cuInit", &init) &&
           find(driver, "cuDeviceGet", &get) &&
           find(driver, "cuDeviceGetPCIBusId", &bus_id) && init(0) == 0 &&
           get(&device, (int)index) == 0 && bus_id(bus, n_bus, device) == 0;
}

static int find_board(nvml *lib, uint32_t index, bench_energy *energy)
{
    char bus[32] = "";
    if (bus_of(index, bus, sizeof bus)) {
        int code = lib->by_bus(bus, &lib->board);
        if (code == 0) {
            snprintf(energy->matched, sizeof energy->matched, "PCI bus id %s",
                     bus);
            return 0;
        }
    }
    snprintf(energy->matched, sizeof energy->matched,
             "index %u: the bus id is not known", index);
    return lib->by_index(index, &lib->board);
}

static bool open_library(nvml *lib, bench_energy *energy)
{
    lib->library = dlopen("libnvidia-ml.so.1", RTLD_NOW | RTLD_LOCAL);
    if (!lib->library) {
        snprintf(energy->reason, sizeof energy->reason,
                 "libnvidia-ml.so.1 is not there");
        return false;
    }
    if (find(lib->library, "nvmlInit_v2", &lib->init) &&
        find(lib->library, "nvmlShutdown", &lib->shutdown) &&
        find(lib->library, "nvmlErrorString", &lib->error_string) &&
        find(lib->library, "nvmlSystemGetDriverVersion",
             &lib->driver_version) &&
        find(lib->library, "nvmlDeviceGetHandleByPciBusId_v2", &lib->by_bus) &&
        find(lib->library, "nvmlDeviceGetHandleByIndex_v2", &lib->by_index) &&
        find(lib->library, "nvmlDeviceGetTotalEnergyConsumption", &lib->energy))
        return true;
    snprintf(energy->reason, sizeof energy->reason,
             "libnvidia-ml.so.1 has no energy counter");
    return false;
}

/* ---- the counter ------------------------------------------------------- */

static bool read_joules(const nvml *lib, double *joules, bench_energy *energy)
{
    unsigned long long millijoules = 0;
    int code = lib->energy(lib->board, &millijoules);
    if (code != 0)
        snprintf(energy->reason, sizeof energy->reason,
                 "the board's energy counter cannot be read: %s",
                 lib->error_string(code));
    *joules = (double)millijoules * 1e-3;
    return code == 0;
}

/* Waits until the counter changes: its value is exact at that moment. */
static bool next_step(const nvml *lib, double *when, double *joules,
                      bench_energy *energy)
{
    double first = 0.0;
    double begin = now();
    const struct timespec pause = {.tv_nsec = POLL_NS};
    if (!read_joules(lib, &first, energy))
        return false;
    do {
        nanosleep(&pause, NULL);
        if (!read_joules(lib, joules, energy))
            return false;
        *when = now();
        if (*joules > first)
            return true;
    } while (*when - begin < step_patience_s);
    snprintf(energy->reason, sizeof energy->reason,
             "the board's energy counter stands still");
    return false;
}

static bool measure_idle(const nvml *lib, bench_energy *energy)
{
    double t0 = 0.0;
    double t1 = 0.0;
    double e0 = 0.0;
    double e1 = 0.0;
    rest(settle_s);
    if (!next_step(lib, &t0, &e0, energy))
        return false;
    double t = t0;
    double e = e0;
    energy->step_j = 1e9;
    for (int i = 0; i < STEPS; i++, t = t1, e = e1) {
        if (!next_step(lib, &t1, &e1, energy))
            return false;
        energy->step_j = e1 - e < energy->step_j ? e1 - e : energy->step_j;
    }
    energy->step_s = (t - t0) / STEPS;
    rest(idle_s);
    if (!next_step(lib, &t1, &e1, energy))
        return false;
    energy->idle_w = (e1 - e0) / (t1 - t0);
    return true;
}

static vly_status measure_run(const nvml *lib, vly_net *net, double burst_s,
                              double run_s, bench_energy *energy,
                              vly_error *error)
{
    vly_stats before = {.struct_size = sizeof before};
    vly_stats after = {.struct_size = sizeof after};
    double t0 = 0.0;
    double t1 = 0.0;
    double e0 = 0.0;
    double e1 = 0.0;
    uint64_t block = (uint64_t)(0.25 / burst_s) + 1;
    vly_status status = VLY_OK;
    VLY_TRY(vly_net_stats(net, &before, error));
    if (!next_step(lib, &t0, &e0, energy))
        goto out;
    do {
        VLY_TRY(vly_net_run(net, block, error));
        t1 = now();
    } while (t1 - t0 < run_s);
    if (!read_joules(lib, &e1, energy))
        goto out;
    VLY_TRY(vly_net_stats(net, &after, error));
    energy->seconds = t1 - t0;
    energy->joules = e1 - e0;
    energy->events = after.events - before.events;
    if (energy->events == 0 || !(energy->joules > 0.0)) {
        snprintf(energy->reason, sizeof energy->reason,
                 "%.3g J and %llu synaptic events: no quotient", energy->joules,
                 (unsigned long long)energy->events);
        goto out;
    }
    energy->idle_share = energy->idle_w * energy->seconds / energy->joules;
    energy->joules_per_event = energy->joules / (double)energy->events;
out:
    return status;
}

vly_status bench_energy_measure(vly_net *net, uint32_t index, double burst_s,
                                double run_s, bench_energy *energy,
                                vly_error *error)
{
    nvml lib = {.library = NULL};
    vly_status status = VLY_OK;
    if (!open_library(&lib, energy))
        return VLY_OK;
    int code = lib.init();
    if (code != 0) {
        snprintf(energy->reason, sizeof energy->reason, "NVML: %s",
                 lib.error_string(code));
        return VLY_OK;
    }
    if (lib.driver_version(energy->driver, sizeof energy->driver) != 0)
        energy->driver[0] = '\0';
    code = find_board(&lib, index, energy);
    if (code != 0)
        snprintf(energy->reason, sizeof energy->reason,
                 "NVML does not find the board: %s", lib.error_string(code));
    else if (measure_idle(&lib, energy))
        status = measure_run(&lib, net, burst_s, run_s, energy, error);
    lib.shutdown();
    return status;
}
