/* SPDX-License-Identifier: Apache-2.0
 * One network on a device, or two, and on the CPU backend: made, compared,
 * timed.
 *
 * The device's net is made first and alone, so that the time from the genome
 * file to the first burst has nothing of the reference in it.
 */
#include "tools/bench/bench_pair.h"

#include <volley/host.h>

#include <inttypes.h>
#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "base/thread.h"
#include "tools/cli/check_size.h"
#include "tools/cli/tool.h"

enum { BLOCKS = 31, BLOCKS_FEWEST = 3, ESTIMATE_BURSTS = 16 };
static const double estimate_s = 5e-3; /* long compared with a launch */

/* ---- making ------------------------------------------------------------ */

/* Linux grants memory that does not exist, and kills the process that touches
 * it. So the size is compared with the free memory. */
static vly_status check_memory(const vly_genome *genome, vly_error *error)
{
    check_size size;
    uint64_t available = vly_memory_available();
    check_size_of(genome, &size);
    if (available == 0 || size.peak_bytes < (double)available)
        return VLY_OK;
    vly_fail(error, VLY_E_NOMEM,
             "out of memory: compiling it needs %s on the host, %s available",
             tool_bytes((uint64_t)size.peak_bytes), tool_bytes(available));
    error->bytes_requested = (uint64_t)size.peak_bytes;
    error->bytes_available = available;
    return VLY_E_NOMEM;
}

static vly_status compile(const char *path, const tool_overrides *overrides,
                          uint32_t n_threads, tool_build *build,
                          vly_error *error)
{
    uint64_t begin = vly_clock_ns();
    vly_status status = vly_genome_load(path, overrides->list, overrides->n,
                                        &build->genome, error);
    uint64_t loaded = vly_clock_ns();
    if (status == VLY_OK)
        status = check_memory(build->genome, error);
    uint64_t checked = vly_clock_ns();
    if (status == VLY_OK)
        status = vly_connectome_build(build->genome, n_threads,
                                      &build->connectome, error);
    build->seconds.load = (double)(loaded - begin) * 1e-9;
    build->seconds.build = (double)(vly_clock_ns() - checked) * 1e-9;
    return status;
}

static vly_status compare_first(bench_pair *pair, vly_net *net,
                                vly_error *error)
{
    vly_stats stats = {.struct_size = sizeof stats};
    uint64_t state[2] = {0};
    vly_status status = VLY_OK;
    VLY_TRY(vly_net_state_digest(net, &state[0], error));
    VLY_TRY(vly_net_state_digest(pair->cpu, &state[1], error));
    VLY_TRY(vly_net_stats(net, &stats, error));
    pair->bursts = 1;
    pair->spikes = stats.spikes;
    if (state[0] != state[1] ||
        vly_net_digest(net) != vly_net_digest(pair->cpu))
        status = vly_fail(error, VLY_E_DEVICE,
                          "burst 0 on %s differs from the CPU backend: digest "
                          "%016" PRIx64 " and %016" PRIx64 ", state %016" PRIx64
                          " and %016" PRIx64 "; nothing is timed",
                          stats.backend, vly_net_digest(net),
                          vly_net_digest(pair->cpu), state[0], state[1]);
out:
    return status;
}

static vly_status open_beside(const bench_options *options, bench_pair *pair,
                              vly_error *error)
{
    vly_status status = VLY_OK;
    VLY_TRY(vly_net_create(pair->build.connectome, options->registry,
                           options->beside, options->n_threads, &pair->beside,
                           error));
    VLY_TRY(vly_net_run(pair->beside, 1, error));
    status = compare_first(pair, pair->beside, error);
out:
    return status;
}

vly_status bench_pair_open(const bench_options *options, const char *path,
                           const tool_overrides *overrides, bench_pair *pair,
                           vly_error *error)
{
    vly_status status = VLY_OK;
    memset(pair, 0, sizeof *pair);
    VLY_TRY(compile(path, overrides, options->n_threads, &pair->build, error));
    uint64_t begin = vly_clock_ns();
    VLY_TRY(vly_net_create(pair->build.connectome, options->registry,
                           options->backend, options->n_threads, &pair->device,
                           error));
    VLY_TRY(vly_net_run(pair->device, 1, error));
    pair->setup_s = (double)(vly_clock_ns() - begin) * 1e-9;
    VLY_TRY(vly_net_create(pair->build.connectome, options->registry, "cpu",
                           options->n_threads, &pair->cpu, error));
    VLY_TRY(vly_net_run(pair->cpu, 1, error));
    VLY_TRY(compare_first(pair, pair->device, error));
    if (options->beside)
        status = open_beside(options, pair, error);
out:
    if (status != VLY_OK)
        bench_pair_close(pair);
    return status;
}

void bench_pair_close(bench_pair *pair)
{
    vly_net_destroy(pair->device);
    vly_net_destroy(pair->cpu);
    vly_net_destroy(pair->beside);
    tool_build_deinit(&pair->build);
    memset(pair, 0, sizeof *pair);
}

/* ---- comparing --------------------------------------------------------- */

vly_status bench_pair_check(bench_pair *pair, uint64_t n_bursts,
                            uint32_t state_every, vly_error *error)
{
    vly_net *const nets[] = {pair->device, pair->cpu, pair->beside};
    vly_stats stats = {.struct_size = sizeof stats};
    vly_stats beside = {.struct_size = sizeof beside};
    vly_validate_result result = {.struct_size = sizeof result};
    vly_status status = VLY_OK;
    VLY_TRY(vly_net_stats(pair->device, &stats, error));
    if (pair->beside)
        VLY_TRY(vly_net_stats(pair->beside, &beside, error));
    const char *const names[] = {stats.backend, "cpu", beside.backend};
    VLY_TRY(vly_validate(nets, pair->beside ? 3 : 2, n_bursts, state_every,
                         NULL, NULL, &result, error));
    pair->bursts += result.bursts;
    pair->spikes += result.spikes;
    if (result.difference != VLY_DIFFERENCE_NONE) {
        char text[2048];
        tool_message("%s",
                     vly_validate_text(&result, names, text, sizeof text));
        status = vly_fail(error, VLY_E_DEVICE,
                          "%s%s%s differs from the CPU backend in burst "
                          "%" PRIu64 "; nothing is timed",
                          stats.backend, pair->beside ? " or " : "",
                          beside.backend, result.burst);
    }
out:
    return status;
}

/* ---- timing ------------------------------------------------------------ */

static double time_block(vly_net *net, uint64_t n_bursts, vly_status *status,
                         vly_error *error)
{
    uint64_t begin = vly_clock_ns();
    *status = vly_net_run(net, n_bursts, error);
    return (double)(vly_clock_ns() - begin) * 1e-9 / (double)n_bursts;
}

/* Seconds of a burst; warms up too. */
static double estimate(vly_net *net, double budget_s, vly_status *status,
                       vly_error *error)
{
    double burst = time_block(net, 1, status, error);
    for (uint64_t n = ESTIMATE_BURSTS; *status == VLY_OK; n *= 4) {
        if (burst * (double)n > budget_s)
            break;
        burst = time_block(net, n, status, error);
        if (burst * (double)n > estimate_s)
            break;
    }
    return burst > 1e-9 ? burst : 1e-9;
}

static uint64_t block_length(const bench_timing *timing, double burst)
{
    double most = timing->budget_s / (BLOCKS * burst);
    double length = timing->block_bursts > 0 ? (double)timing->block_bursts
                                             : timing->block_s / burst;
    length = length < most ? length : most;
    return length < 1.0 ? 1 : (uint64_t)length;
}

static uint32_t block_count(const bench_timing *timing, double burst)
{
    double n = timing->budget_s / burst;
    return n < BLOCKS_FEWEST ? BLOCKS_FEWEST
           : n < BLOCKS      ? (uint32_t)n
                             : BLOCKS;
}

vly_status bench_pair_time(vly_net *net, const bench_timing *timing,
                           bench_blocks *blocks, vly_error *error)
{
    double samples[BLOCKS];
    vly_stats before = {.struct_size = sizeof before};
    vly_stats after = {.struct_size = sizeof after};
    vly_status status = VLY_OK;
    double burst = estimate(net, timing->budget_s, &status, error);
    VLY_TRY(status);
    uint32_t n = block_count(timing, burst);
    blocks->block_bursts = block_length(timing, burst);
    VLY_TRY(vly_net_stats(net, &before, error));
    for (uint32_t i = 0; i < n && status == VLY_OK; i++)
        samples[i] = time_block(net, blocks->block_bursts, &status, error);
    VLY_TRY(status);
    VLY_TRY(vly_net_stats(net, &after, error));
    double bursts = (double)(after.bursts - before.bursts);
    blocks->seconds = bench_spread_of(samples, n);
    blocks->events = (double)(after.events - before.events) / bursts;
    blocks->share = (double)(after.spikes - before.spikes) /
                    (bursts * (double)after.neurons);
    memcpy(blocks->backend, after.backend, sizeof blocks->backend);
out:
    return status;
}
