/* SPDX-License-Identifier: Apache-2.0
 * Closed loop: a host that injects into 1,000 neurons, runs one burst and reads
 * a field of 100 neurons, in every burst. What is timed is mostly the calls
 * around the burst; each loop is a sample of its own, so that the spread shows
 * the slow ones too. Before anything is timed, the backend and the CPU's must
 * read the same values and give the same digest.
 */
#include "tools/bench/bench.h"

#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "base/random.h"
#include "base/thread.h"
#include "tools/cli/setup.h"
#include "tools/cli/tool.h"

enum {
    LOOPS = 4000,
    WARM_LOOPS = 200,
    CHECK_LOOPS = 100,
    INJECTED = 1000,
    READ = 100
};

typedef struct loop_area {
    const char *name;
    uint32_t injected; /* number of injected neurons */
    uint32_t stride;   /* distance between two of them */
} loop_area;

typedef struct loop_case {
    const char *file;
    const char *name;
    const char *field;
    loop_area areas[2];
    double value; /* in units of the port; too small to make spikes */
} loop_case;

static const loop_case cases[] = {
    {"stress_1000.toml", "x1000", "v_mv", {{"N", INJECTED, 97}}, 0.25},
    {"izhikevich.toml", "izhikevich", "v", {{"E", 800, 1}, {"I", 200, 1}}, 0.5},
};
enum { N_CASES = sizeof cases / sizeof cases[0] };

/* Work of a loop beside the burst. */
typedef enum loop_kind { LOOP_RUN, LOOP_MANY, LOOP_EACH, LOOP_FIRED } loop_kind;
static const char *const kinds[] = {"run only", "inject, read",
                                    "inject one by one, read",
                                    "inject, read, fired"};
enum { N_KINDS = sizeof kinds / sizeof kinds[0] };

typedef struct loop_data {
    uint32_t indices[INJECTED];
    double values[INJECTED];
    double read[READ];
    double samples[LOOPS];
} loop_data;

static vly_status inject(vly_net *net, const loop_case *one, loop_kind kind,
                         loop_data *data, vly_error *error)
{
    vly_status status = VLY_OK;
    uint64_t burst = vly_net_burst(net);
    for (int a = 0; a < 2 && one->areas[a].name; a++) {
        const loop_area *area = &one->areas[a];
        if (kind != LOOP_EACH) {
            VLY_TRY(vly_net_inject_many(net, burst, area->name, 0,
                                        data->indices, data->values,
                                        area->injected, error));
            continue;
        }
        for (uint32_t i = 0; i < area->injected; i++) /* in another order */
            VLY_TRY(vly_net_inject(
                net, burst, area->name,
                data->indices[i * 7919ull % area->injected], 0,
                data->values[i * 7919ull % area->injected], error));
    }
out:
    return status;
}

static vly_status loop_once(vly_net *net, const loop_case *one, loop_kind kind,
                            loop_data *data, vly_error *error)
{
    const uint32_t *ids = NULL;
    uint32_t n_ids = 0;
    vly_status status = VLY_OK;
    if (kind != LOOP_RUN)
        VLY_TRY(inject(net, one, kind, data, error));
    VLY_TRY(vly_net_run(net, 1, error));
    if (kind != LOOP_RUN)
        VLY_TRY(vly_net_read(net, one->areas[0].name, one->field, 0, READ,
                             data->read, error));
    if (kind == LOOP_FIRED)
        VLY_TRY(vly_net_fired(net, &ids, &n_ids, error));
out:
    return status;
}

/* Indices of area a; both areas of a case have the same stride. */
static void fill_data(const loop_case *one, loop_data *data)
{
    for (uint32_t i = 0; i < INJECTED; i++) {
        data->indices[i] = i * one->areas[0].stride;
        data->values[i] = one->value * (double)(i % 7) / 7.0;
    }
}

/* ---- the check before the clock --------------------------------------- */

static vly_status hash_of(const bench_options *options,
                          const vly_connectome *connectome, const char *backend,
                          const loop_case *one, loop_data *data, uint64_t *hash,
                          vly_error *error)
{
    vly_net *net = NULL;
    vly_status status = VLY_OK;
    *hash = 0;
    VLY_TRY(vly_net_create(connectome, options->registry, backend,
                           options->n_threads, &net, error));
    for (uint32_t i = 0; i < CHECK_LOOPS; i++) {
        loop_kind kind = (loop_kind)(i % N_KINDS);
        VLY_TRY(loop_once(net, one, kind, data, error));
        if (kind == LOOP_RUN)
            continue;
        for (uint32_t k = 0; k < READ; k++) {
            uint64_t bits;
            memcpy(&bits, &data->read[k], sizeof bits);
            *hash = vly_mix64(*hash ^ bits);
        }
    }
    *hash = vly_mix64(*hash ^ vly_net_digest(net));
out:
    vly_net_destroy(net);
    return status;
}

static vly_status check(const bench_options *options,
                        const vly_connectome *connectome, const loop_case *one,
                        loop_data *data, vly_error *error)
{
    uint64_t here = 0;
    uint64_t reference = 0;
    vly_status status =
        hash_of(options, connectome, options->backend, one, data, &here, error);
    if (status == VLY_OK)
        status =
            hash_of(options, connectome, "cpu", one, data, &reference, error);
    if (status == VLY_OK && here != reference)
        return vly_fail(error, VLY_E_DEVICE,
                        "%s, burst by burst: %s and cpu do not agree; nothing "
                        "is timed",
                        one->file, options->backend);
    return status;
}

/* ---- timing ----------------------------------------------------------- */

static vly_status time_kind(const loop_case *one, loop_kind kind, vly_net *net,
                            loop_data *data, bench_results *results,
                            vly_error *error)
{
    vly_stats before = {.struct_size = sizeof before};
    vly_stats after = {.struct_size = sizeof after};
    bench_row row = {.unit = BENCH_BURST, .bursts = LOOPS};
    vly_status status = VLY_OK;
    for (uint32_t i = 0; i < WARM_LOOPS; i++)
        VLY_TRY(loop_once(net, one, kind, data, error));
    VLY_TRY(vly_net_stats(net, &before, error));
    for (uint32_t i = 0; i < LOOPS; i++) {
        uint64_t begin = vly_clock_ns();
        VLY_TRY(loop_once(net, one, kind, data, error));
        data->samples[i] = (double)(vly_clock_ns() - begin) * 1e-9;
    }
    VLY_TRY(vly_net_stats(net, &after, error));
    snprintf(row.id, sizeof row.id, "%s: %s", one->name, kinds[kind]);
    row.seconds = bench_spread_of(data->samples, LOOPS);
    row.neurons = after.neurons;
    row.synapses = after.synapses;
    row.share = (double)(after.spikes - before.spikes) /
                ((double)LOOPS * (double)after.neurons);
    row.events_per_s = (double)(after.events - before.events) / (double)LOOPS /
                       row.seconds.median;
    if (results->n_rows < BENCH_ROWS_MAX)
        results->rows[results->n_rows++] = row;
out:
    return status;
}

static vly_status run_case(const bench_options *options, const loop_case *one,
                           loop_data *data, bench_results *results,
                           vly_error *error)
{
    tool_build build = {0};
    tool_overrides overrides = {0};
    vly_net *net = NULL;
    vly_stats stats = {.struct_size = sizeof stats};
    vly_status status = VLY_OK;
    char *path = vly_format("%s/%s", options->genomes, one->file);
    if (!path)
        return vly_fail_nomem(error, 4096, "a file name");
    tool_message("%s: compiling, comparing %s and cpu burst by burst",
                 one->file, options->backend);
    fill_data(one, data);
    VLY_TRY(
        tool_build_init(path, &overrides, options->n_threads, &build, error));
    VLY_TRY(check(options, build.connectome, one, data, error));
    for (uint32_t k = 0; k < N_KINDS; k++) {
        /* a new net: fired lists are recorded from the first request on */
        VLY_TRY(vly_net_create(build.connectome, options->registry,
                               options->backend, options->n_threads, &net,
                               error));
        VLY_TRY(vly_net_stats(net, &stats, error));
        VLY_TRY(bench_device_set(options, stats.backend, stats.device, results,
                                 error));
        VLY_TRY(time_kind(one, (loop_kind)k, net, data, results, error));
        vly_net_destroy(net);
        net = NULL;
    }
out:
    vly_net_destroy(net);
    tool_build_deinit(&build);
    vly_free(path);
    return status;
}

vly_status bench_loop(const bench_options *options, bench_results *results,
                      vly_error *error)
{
    vly_status status = VLY_OK;
    loop_data *data = vly_calloc(1, sizeof *data);
    if (!data)
        return vly_fail_nomem(error, sizeof *data, "the closed loop");
    for (uint32_t i = 0; i < N_CASES; i++)
        VLY_TRY(run_case(options, &cases[i], data, results, error));
out:
    vly_free(data);
    return status;
}
