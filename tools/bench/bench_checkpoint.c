/* SPDX-License-Identifier: Apache-2.0
 * What a checkpoint of the microcircuit costs: the time for which the burst
 * loop stands (the copy of the state), the time until the file is on disk
 * (compressed, written, synced, renamed; a thread's, beside the loop), the time
 * to read it back. The state that was read must be the one that was written.
 */
#include "tools/bench/bench.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"
#include "base/memory.h"
#include "base/thread.h"
#include "tools/cli/setup.h"
#include "tools/cli/tool.h"

enum { REPEATS = 11, WARM_BURSTS = 200, BURSTS_BETWEEN = 20 };

typedef enum step { STEP_COPY, STEP_SAVE, STEP_LOAD, N_STEPS } step;
static const char *const steps[N_STEPS] = {"copy, loop stands", "until on disk",
                                           "read back"};

typedef struct checkpoint_samples {
    double seconds[N_STEPS][REPEATS];
} checkpoint_samples;

static double since(uint64_t begin)
{
    return (double)(vly_clock_ns() - begin) * 1e-9;
}

static vly_status check_same(const vly_state *kept, const vly_state *read,
                             bench_results *results, vly_error *error)
{
    vly_state_info wanted = {.struct_size = sizeof wanted};
    vly_state_info found = {.struct_size = sizeof found};
    vly_status status = VLY_OK;
    VLY_TRY(vly_state_get_info(kept, &wanted, error));
    VLY_TRY(vly_state_get_info(read, &found, error));
    if (memcmp(&wanted, &found, sizeof wanted) != 0)
        return vly_fail(error, VLY_E_IO,
                        "the state that was read is not the one that was "
                        "written");
    results->state_bytes = wanted.n_bytes;
out:
    return status;
}

static vly_status time_once(vly_net *net, const char *path, uint32_t k,
                            checkpoint_samples *samples, bench_results *results,
                            vly_error *error)
{
    vly_state *kept = NULL;
    vly_state *read = NULL;
    struct stat info;
    vly_status status = VLY_OK;
    VLY_TRY(vly_net_run(net, BURSTS_BETWEEN, error));
    uint64_t begin = vly_clock_ns();
    VLY_TRY(vly_net_snapshot(net, &kept, error));
    samples->seconds[STEP_COPY][k] = since(begin);
    begin = vly_clock_ns();
    VLY_TRY(vly_state_save(kept, path, error));
    samples->seconds[STEP_SAVE][k] = since(begin);
    begin = vly_clock_ns();
    VLY_TRY(vly_state_load(path, &read, error));
    samples->seconds[STEP_LOAD][k] = since(begin);
    VLY_TRY(check_same(kept, read, results, error));
    if (stat(path, &info) == 0)
        results->checkpoint_bytes = (uint64_t)info.st_size;
out:
    vly_state_destroy(kept);
    vly_state_destroy(read);
    return status;
}

static void add_rows(const vly_stats *stats, checkpoint_samples *samples,
                     bench_results *results)
{
    for (int s = 0; s < N_STEPS && results->n_rows < BENCH_ROWS_MAX; s++) {
        bench_row row = {.unit = BENCH_STEP,
                         .neurons = stats->neurons,
                         .synapses = stats->synapses};
        snprintf(row.id, sizeof row.id, "%s", steps[s]);
        row.seconds = bench_spread_of(samples->seconds[s], REPEATS);
        results->rows[results->n_rows++] = row;
    }
}

static vly_status time_net(const bench_options *options, vly_net *net,
                           bench_results *results, vly_error *error)
{
    checkpoint_samples samples;
    char folder[] =
        "volley_bench_XXXXXX"; /* on the disk that a run would use */
    vly_stats stats = {.struct_size = sizeof stats};
    vly_status status = VLY_OK;
    if (!mkdtemp(folder))
        return vly_fail(error, VLY_E_IO,
                        "no folder for checkpoints can be made here");
    char *path = vly_format("%s/checkpoint", folder);
    if (!path) {
        status = vly_fail_nomem(error, sizeof folder, "a file name");
        goto out;
    }
    VLY_TRY(vly_net_run(net, WARM_BURSTS, error));
    VLY_TRY(vly_net_stats(net, &stats, error));
    VLY_TRY(
        bench_device_set(options, stats.backend, stats.device, results, error));
    for (uint32_t k = 0; k < REPEATS; k++)
        VLY_TRY(time_once(net, path, k, &samples, results, error));
    add_rows(&stats, &samples, results);
out:
    if (path)
        unlink(path);
    rmdir(folder);
    vly_free(path);
    return status;
}

vly_status bench_checkpoint(const bench_options *options,
                            bench_results *results, vly_error *error)
{
    tool_build build = {0};
    tool_overrides overrides = {0};
    vly_net *net = NULL;
    vly_status status = VLY_OK;
    const char *file =
        options->quick ? "microcircuit_10.toml" : "microcircuit.toml";
    char *path = vly_format("%s/%s", options->genomes, file);
    if (!path)
        return vly_fail_nomem(error, 4096, "a file name");
    tool_message("%s: compiling", file);
    VLY_TRY(
        tool_build_init(path, &overrides, options->n_threads, &build, error));
    VLY_TRY(vly_net_create(build.connectome, options->registry,
                           options->backend, options->n_threads, &net, error));
    tool_signals_defer(true); /* removes the folder */
    status = time_net(options, net, results, error);
    tool_signals_defer(false);
out:
    vly_net_destroy(net);
    tool_build_deinit(&build);
    vly_free(path);
    if (status == VLY_E_NOMEM) { /* a result, not a failure */
        bench_row_skip(results, file, error);
        return VLY_OK;
    }
    return status;
}
