/* SPDX-License-Identifier: Apache-2.0
 * Whole bursts of the stress genomes: delivery, dynamics, compaction, digest.
 *
 * One net is timed in blocks of so many bursts that a block takes some
 * milliseconds; the median of the blocks is the result. Before anything is
 * timed, one thread and all threads must give the same digest.
 */
#include "tools/bench/bench.h"

#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "base/number.h"
#include "base/thread.h"
#include "tools/cli/setup.h"
#include "tools/cli/tool.h"

enum { BLOCKS = 31, WARM_BURSTS = 40, CHECK_BURSTS = 20, BUILD_REPEATS = 3 };
static const double block_s = 5e-3;

typedef struct stress_case {
    const char *file;
    const char *name;
    uint32_t delay_max;
    bool quick;
} stress_case;

static const stress_case cases[] = {
    {"stress_100.toml", "x100", 1, true},
    {"stress_100.toml", "x100", 16, true},
    {"stress_1000.toml", "x1000", 1, false},
    {"stress_1000.toml", "x1000", 16, false},
};
enum { N_CASES = sizeof cases / sizeof cases[0] };
static const double shares[] = {0.001, 0.01, 0.1};
enum { N_SHARES = sizeof shares / sizeof shares[0] };

static vly_status build_case(const bench_options *options,
                             const stress_case *stress, tool_build *build,
                             vly_error *error)
{
    char text[64];
    tool_overrides overrides = {0};
    vly_status status = VLY_OK;
    char *path = vly_format("%s/%s", options->genomes, stress->file);
    if (!path)
        return vly_fail_nomem(error, 4096, "a file name");
    snprintf(text, sizeof text, "var.delay_max=%u", stress->delay_max);
    VLY_TRY(tool_overrides_add(&overrides, text, error));
    VLY_TRY(
        tool_build_init(path, &overrides, options->n_threads, build, error));
out:
    tool_overrides_deinit(&overrides);
    vly_free(path);
    return status;
}

/* ---- the check before the clock --------------------------------------- */

static vly_status digest_of(const bench_options *options,
                            const vly_connectome *connectome,
                            uint32_t n_threads, uint64_t *digest,
                            vly_error *error)
{
    vly_net *net = NULL;
    vly_status status = VLY_OK;
    VLY_TRY(vly_net_create(connectome, options->registry, options->backend,
                           n_threads, &net, error));
    VLY_TRY(vly_net_run(net, CHECK_BURSTS, error));
    VLY_TRY(vly_net_state_digest(net, digest, error));
    *digest = vly_mix64(*digest ^ vly_net_digest(net));
out:
    vly_net_destroy(net);
    return status;
}

static vly_status check_threads(const bench_options *options,
                                const vly_connectome *connectome,
                                const char *name, vly_error *error)
{
    uint64_t one = 0;
    uint64_t many = 0;
    vly_status status = digest_of(options, connectome, 1, &one, error);
    if (status == VLY_OK)
        status =
            digest_of(options, connectome, options->n_threads, &many, error);
    if (status == VLY_OK && one != many)
        return vly_fail(error, VLY_E_DEVICE,
                        "%s: one thread and %u threads do not give the same "
                        "digest; nothing is timed",
                        name, options->n_threads);
    return status;
}

/* ---- timing ----------------------------------------------------------- */

static double time_block(vly_net *net, uint64_t n_bursts, vly_status *status,
                         vly_error *error)
{
    uint64_t begin = vly_clock_ns();
    *status = vly_net_run(net, n_bursts, error);
    return (double)(vly_clock_ns() - begin) * 1e-9 / (double)n_bursts;
}

static vly_status time_blocks(vly_net *net, double *samples, uint64_t *bursts,
                              vly_error *error)
{
    vly_status status = VLY_OK;
    double warm = time_block(net, WARM_BURSTS, &status, error);
    double length = warm > 0.0 ? block_s / warm : 1.0;
    uint64_t block = length < 1.0 ? 1 : length > 1e4 ? 10000 : (uint64_t)length;
    for (uint32_t i = 0; i < BLOCKS && status == VLY_OK; i++) {
        samples[i] = time_block(net, block, &status, error);
    }
    *bursts = BLOCKS * block;
    return status;
}

static void fill_row(bench_row *row, const vly_stats *before,
                     const vly_stats *after, const bench_probes *probes,
                     double synapse_bytes)
{
    double bursts = (double)(after->bursts - before->bursts);
    double events = (double)(after->events - before->events) / bursts;
    row->unit = BENCH_BURST;
    row->neurons = after->neurons;
    row->synapses = after->synapses;
    row->share = (double)(after->spikes - before->spikes) /
                 (bursts * (double)after->neurons);
    row->events_per_s = events / row->seconds.median;
    row->of_bandwidth =
        row->events_per_s * synapse_bytes / probes->read_bytes_per_s;
    row->of_increments = row->events_per_s / probes->increments_per_s;
}

static vly_status time_share(const stress_case *stress, vly_net *net,
                             double share, double dt_ms, bench_results *results,
                             vly_error *error)
{
    double samples[BENCH_SAMPLES_MAX];
    vly_stats before = {.struct_size = sizeof before};
    vly_stats after = {.struct_size = sizeof after};
    bench_row row = {.unit = BENCH_BURST};
    double rate_hz = -vly_log1p(-share) * 1000.0 / dt_ms;
    vly_status status = VLY_OK;
    snprintf(row.id, sizeof row.id, "%s %g%% d%u", stress->name, 100.0 * share,
             stress->delay_max);
    VLY_TRY(vly_net_set(net, "stimulus.kick.rate_hz", rate_hz, error));
    /* until the delay line contains spikes of the new rate */
    VLY_TRY(vly_net_run(net, stress->delay_max + 1u, error));
    VLY_TRY(vly_net_stats(net, &before, error));
    VLY_TRY(time_blocks(net, samples, &row.bursts, error));
    VLY_TRY(vly_net_stats(net, &after, error));
    row.seconds = bench_spread_of(samples, BLOCKS);
    /* target and weight, and a delay if delays differ */
    fill_row(&row, &before, &after, &results->probes,
             stress->delay_max > 1 ? 7.0 : 6.0);
    if (strcmp(row.id, "x100 1% d1") == 0) {
        row.peer = "FEAGI, CPU, by its authors";
        row.peer_s = 3.26e-3;
    }
    if (results->n_rows < BENCH_ROWS_MAX)
        results->rows[results->n_rows++] = row;
out:
    return status;
}

static vly_status run_case(const bench_options *options,
                           const stress_case *stress, bench_results *results,
                           vly_error *error)
{
    tool_build build = {0};
    vly_net *net = NULL;
    vly_stats stats = {.struct_size = sizeof stats};
    vly_status status = VLY_OK;
    tool_message("%s, delays 1 to %u: compiling, comparing 1 and %u threads",
                 stress->file, stress->delay_max, options->n_threads);
    VLY_TRY(build_case(options, stress, &build, error));
    VLY_TRY(check_threads(options, build.connectome, stress->file, error));
    VLY_TRY(vly_net_create(build.connectome, options->registry,
                           options->backend, options->n_threads, &net, error));
    VLY_TRY(vly_net_stats(net, &stats, error));
    VLY_TRY(
        bench_device_set(options, stats.backend, stats.device, results, error));
    for (uint32_t i = 0; i < N_SHARES; i++)
        VLY_TRY(
            time_share(stress, net, shares[i], stats.dt_ms, results, error));
out:
    vly_net_destroy(net);
    tool_build_deinit(&build);
    return status;
}

/* Missing memory is a result, not a failure. */
static void skip_case(const char *what, const stress_case *stress,
                      bench_results *results, const vly_error *why)
{
    char id[BENCH_ID_BYTES];
    snprintf(id, sizeof id, "%s%s d%u", what, stress->name, stress->delay_max);
    bench_row_skip(results, id, why);
}

vly_status bench_stress(const bench_options *options, bench_results *results,
                        vly_error *error)
{
    for (uint32_t i = 0; i < N_CASES; i++) {
        if (options->quick && !cases[i].quick)
            continue;
        vly_status status = run_case(options, &cases[i], results, error);
        if (status == VLY_E_NOMEM)
            skip_case("", &cases[i], results, error);
        else if (status != VLY_OK)
            return status;
    }
    return VLY_OK;
}

/* ---- compiling -------------------------------------------------------- */

static vly_status time_build(const bench_options *options,
                             const stress_case *stress, bench_results *results,
                             vly_error *error)
{
    double samples[BUILD_REPEATS];
    bench_row row = {.unit = BENCH_BUILD};
    vly_status status = VLY_OK;
    tool_message("%s, delays 1 to %u: compiling %u times", stress->file,
                 stress->delay_max, BUILD_REPEATS);
    for (uint32_t k = 0; k < BUILD_REPEATS; k++) {
        tool_build build = {0};
        VLY_TRY(build_case(options, stress, &build, error));
        samples[k] = build.seconds.build;
        const vly_connectome_info info = tool_connectome_info(build.connectome);
        row.neurons = info.n_neurons;
        row.synapses = info.n_synapses;
        tool_build_deinit(&build);
    }
    snprintf(row.id, sizeof row.id, "build %s d%u", stress->name,
             stress->delay_max);
    row.seconds = bench_spread_of(samples, BUILD_REPEATS);
    row.events_per_s = (double)row.synapses / row.seconds.median;
    results->rows[results->n_rows++] = row;
out:
    return status;
}

vly_status bench_build(const bench_options *options, bench_results *results,
                       vly_error *error)
{
    for (uint32_t i = 0; i < N_CASES; i++) {
        if ((options->quick && !cases[i].quick) ||
            results->n_rows == BENCH_ROWS_MAX)
            continue;
        vly_status status = time_build(options, &cases[i], results, error);
        if (status == VLY_E_NOMEM)
            skip_case("build ", &cases[i], results, error);
        else if (status != VLY_OK)
            return status;
    }
    return VLY_OK;
}
