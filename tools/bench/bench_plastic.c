/* SPDX-License-Identifier: Apache-2.0
 * Networks whose synapses learn: whole bursts, beside the same network without
 * learning and published figures of other programs, and the flush, which brings
 * every synapse up to the present burst before a snapshot.
 *
 * Before a network is timed, one thread of the CPU backend and the backend of
 * the bench must give the same digests of spikes and of the state with its
 * weights. Networks of more than CHECK_SYNAPSES are not compared.
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

/* A network that learns changes while it is timed: with WARM_BURSTS and BLOCKS
 * of BLOCK_BURSTS a fast device times the first 350 ms of hpc_benchmark, as its
 * authors do, and not seconds in which its weights and rates grow. */
enum {
    BLOCKS = 11,
    FLUSHES = 11,
    WARM_BURSTS = 200,
    BLOCK_BURSTS = 300,
    CHECK_BURSTS = 50
};
#define CHECK_SYNAPSES UINT64_C(200000000)
static const double block_s = 0.1;

typedef enum place { ANYWHERE, CPU_ONLY, DEVICE_ONLY } place;

/* Published figures are real-time factors, seconds of running a second of model
 * time. */
typedef struct plastic_case {
    const char *id;
    const char *file;
    const char *override; /* "PATH=VALUE", or NULL */
    place place;
    bool quick;
    bool learns;
    const char *published;
} plastic_case;

static const plastic_case cases[] = {
    {"brunel 10k frozen", "brunel_plastic.toml", "plasticity.learn.frozen=true",
     ANYWHERE, true, false, NULL},
    {"brunel 10k", "brunel_plastic.toml", NULL, ANYWHERE, true, true,
     "Spike 1.16, GeNN 2.44 (GTX 1070); Auryn 8.13, Brian 2 27.5, ANNarchy "
     "61.2, NEST 62.4 (i7-4770K)"},
    {"hpc scale 0.1", "hpc_benchmark.toml", "var.scale=0.1", CPU_ONLY, true,
     true, NULL},
    {"hpc scale 1", "hpc_benchmark.toml", "var.scale=1", DEVICE_ONLY, true,
     true, "GeNN 1.03 (Titan RTX)"},
    {"hpc scale 4", "hpc_benchmark.toml", "var.scale=4", DEVICE_ONLY, false,
     true, "GeNN 2.70 (Titan RTX)"},
    {"hpc scale 20", "hpc_benchmark.toml", "var.scale=20", DEVICE_ONLY, false,
     true, "GeNN 12.1 (Titan RTX)"},
    {"morrison", "morrison.toml", NULL, DEVICE_ONLY, false, true,
     "GeNN 5.6 (V100); the paper's cluster 216"},
    {"x1000 1% static", NULL, "", ANYWHERE, true, false, NULL},
    {"x1000 1% plastic", NULL, "plasticity = \"p\"\n", ANYWHERE, true, true,
     NULL},
};
enum { N_CASES = sizeof cases / sizeof cases[0] };

/* 1,000 synapses a neuron, of which all learn or none, 1% fires in a burst. */
static const char stress[] =
    "format = 1\n[run]\ndt_ms = 0.1\nbursts = 1\n[area.N]\n"
    "model = \"lif_psc_delta\"\nneurons = %u\nt_ref_ms = 0\n"
    "[plasticity.p]\nrule = \"stdp\"\nw_max_mv = 0.003\n[[map]]\nid = \"m\"\n"
    "from = \"N\"\nto = \"N\"\nrule = \"fixed_in_degree\"\nin_degree = 1000\n"
    "weight_mv = 0.001\ndelay_bursts = 1\n%s[[stimulus]]\n"
    "kind = \"poisson\"\nto = \"N\"\nrate_hz = %.17g\nweight_mv = 20\n";

typedef struct plastic_net {
    vly_genome *genome;
    vly_connectome *connectome;
    vly_net *net;
} plastic_net;

static void deinit(plastic_net *made)
{
    vly_net_destroy(made->net);
    vly_connectome_destroy(made->connectome);
    vly_genome_destroy(made->genome);
}

static vly_status load(const bench_options *options, const plastic_case *one,
                       vly_genome **genome, vly_error *error)
{
    char text[1000];
    vly_override override = {0};
    if (!one->file) {
        snprintf(text, sizeof text, stress, options->quick ? 5000u : 100000u,
                 one->override, -vly_log1p(-0.01) * 1e4);
        return vly_genome_parse(text, strlen(text), one->id, NULL, 0, genome,
                                error);
    }
    char *path = vly_format("%s/%s", options->genomes, one->file);
    if (!path)
        return vly_fail_nomem(error, 4096, "a file name");
    snprintf(text, sizeof text, "%s", one->override ? one->override : "");
    char *equals = strchr(text, '=');
    if (equals) {
        *equals = '\0';
        override = (vly_override){text, equals + 1};
    }
    vly_status status =
        vly_genome_load(path, &override, equals ? 1 : 0, genome, error);
    vly_free(path);
    return status;
}

/* ---- the check before the clock ---------------------------------------- */

static vly_status digest_of(const bench_options *options,
                            const vly_connectome *connectome,
                            const char *backend, uint32_t n_threads,
                            uint64_t *digest, vly_error *error)
{
    vly_net *net = NULL;
    vly_status status = VLY_OK;
    VLY_TRY(vly_net_create(connectome, options->registry, backend, n_threads,
                           &net, error));
    VLY_TRY(vly_net_run(net, CHECK_BURSTS, error));
    VLY_TRY(vly_net_state_digest(net, digest, error));
    *digest = vly_mix64(*digest ^ vly_net_digest(net));
out:
    vly_net_destroy(net);
    return status;
}

static vly_status check_same(const bench_options *options,
                             const plastic_case *one,
                             const vly_connectome *connectome, vly_error *error)
{
    uint64_t wanted = 0;
    uint64_t found = 0;
    vly_status status = VLY_OK;
    VLY_TRY(digest_of(options, connectome, "cpu", 1, &wanted, error));
    VLY_TRY(digest_of(options, connectome, options->backend, options->n_threads,
                      &found, error));
    if (wanted != found)
        return vly_fail(error, VLY_E_DEVICE,
                        "%s: %s and one thread of the CPU backend do not give "
                        "the same digests; the network is not timed",
                        one->id, options->backend);
out:
    return status;
}

/* ---- timing ------------------------------------------------------------ */

static vly_status time_blocks(vly_net *net, bench_row *row, vly_error *error)
{
    double samples[BLOCKS];
    vly_stats before = {.struct_size = sizeof before};
    vly_stats after = {.struct_size = sizeof after};
    vly_status status = VLY_OK;
    uint64_t begin = vly_clock_ns();
    VLY_TRY(vly_net_run(net, WARM_BURSTS, error));
    double warm = (double)(vly_clock_ns() - begin) * 1e-9 / WARM_BURSTS;
    uint64_t block = warm < block_s ? (uint64_t)(block_s / warm) : 1;
    if (block > BLOCK_BURSTS)
        block = BLOCK_BURSTS;
    VLY_TRY(vly_net_stats(net, &before, error));
    for (uint32_t k = 0; k < BLOCKS; k++) {
        begin = vly_clock_ns();
        VLY_TRY(vly_net_run(net, block, error));
        samples[k] = (double)(vly_clock_ns() - begin) * 1e-9 / (double)block;
    }
    VLY_TRY(vly_net_stats(net, &after, error));
    double bursts = (double)(after.bursts - before.bursts);
    row->bursts = after.bursts - before.bursts;
    row->seconds = bench_spread_of(samples, BLOCKS);
    row->neurons = after.neurons;
    row->synapses = after.synapses;
    row->share = (double)(after.spikes - before.spikes) /
                 (bursts * (double)after.neurons);
    row->events_per_s =
        (double)(after.events - before.events) / bursts / row->seconds.median;
out:
    return status;
}

/* Snapshots, each after some bursts: the synapses have something to do. */
static vly_status time_flush(vly_net *net, bench_row *row, vly_error *error)
{
    double samples[FLUSHES];
    vly_status status = VLY_OK;
    for (uint32_t k = 0; k < FLUSHES; k++) {
        vly_state *kept = NULL;
        VLY_TRY(vly_net_run(net, 20, error));
        uint64_t begin = vly_clock_ns();
        VLY_TRY(vly_net_snapshot(net, &kept, error));
        samples[k] = (double)(vly_clock_ns() - begin) * 1e-9;
        vly_state_destroy(kept);
    }
    row->seconds = bench_spread_of(samples, FLUSHES);
out:
    return status;
}

/* Bytes: on the device, or of the connectome and the net, which the CPU backend
 * both needs. */
static void note(const plastic_case *one, const vly_stats *stats,
                 bench_row *row)
{
    double bytes = (double)(stats->device_bytes > 0
                                ? stats->device_bytes
                                : stats->connectome_bytes + stats->host_bytes);
    snprintf(row->note, sizeof row->note,
             "real-time factor %.3g, %.1f bytes a synapse%s%s",
             row->seconds.median * 1e3 / stats->dt_ms,
             bytes / (double)stats->synapses,
             one->published ? "; published: " : "",
             one->published ? one->published : "");
}

static vly_status time_case(const bench_options *options,
                            const plastic_case *one, bench_results *results,
                            vly_error *error)
{
    plastic_net made = {0};
    vly_stats stats = {.struct_size = sizeof stats};
    bench_row burst = {.unit = BENCH_BURST};
    bench_row flush = {.unit = BENCH_STEP};
    vly_status status = VLY_OK;
    tool_message("%s: compiling, comparing", one->id);
    VLY_TRY(load(options, one, &made.genome, error));
    VLY_TRY(vly_connectome_build(made.genome, options->n_threads,
                                 &made.connectome, error));
    VLY_TRY(vly_net_create(made.connectome, options->registry, options->backend,
                           options->n_threads, &made.net, error));
    VLY_TRY(vly_net_stats(made.net, &stats, error));
    VLY_TRY(
        bench_device_set(options, stats.backend, stats.device, results, error));
    if (stats.synapses <= CHECK_SYNAPSES)
        VLY_TRY(check_same(options, one, made.connectome, error));
    snprintf(burst.id, sizeof burst.id, "%s", one->id);
    VLY_TRY(time_blocks(made.net, &burst, error));
    note(one, &stats, &burst);
    results->rows[results->n_rows++] = burst;
    if (one->learns) {
        snprintf(flush.id, sizeof flush.id, "flush %s", one->id);
        flush.neurons = stats.neurons;
        flush.synapses = stats.synapses;
        VLY_TRY(time_flush(made.net, &flush, error));
        results->rows[results->n_rows++] = flush;
    }
out:
    deinit(&made);
    return status;
}

vly_status bench_plastic_check(const bench_options *options, vly_error *error)
{
    char list[400] = "";
    size_t n = 0;
    for (uint32_t i = 0; i < N_CASES; i++) {
        if (bench_case_wanted(options, cases[i].id))
            return VLY_OK;
        n += (size_t)snprintf(list + n, sizeof list - n, "%s%s",
                              i > 0 ? ", " : "", cases[i].id);
    }
    return vly_fail(error, VLY_E_INVALID,
                    "--case %s: no case contains it; the cases are %s",
                    options->pattern, list);
}

/* Not in this run. A case that was named is skipped with the reason. */
static bool is_left_out(const bench_options *options, const plastic_case *one,
                        bench_results *results)
{
    vly_error why = VLY_ERROR_INIT;
    bool cpu = strncmp(options->backend, "cpu", 3) == 0;
    bool elsewhere = one->place == (cpu ? DEVICE_ONLY : CPU_ONLY);
    if (!bench_case_wanted(options, one->id))
        return true;
    if (elsewhere && options->pattern) {
        (void)vly_fail(&why, VLY_E_UNSUPPORTED,
                       cpu ? "it is for a device: --backend cuda"
                           : "it is for the CPU: --backend cpu");
        bench_row_skip(results, one->id, &why);
    }
    return elsewhere || (options->quick && !one->quick && !options->pattern);
}

vly_status bench_plastic(const bench_options *options, bench_results *results,
                         vly_error *error)
{
    for (uint32_t i = 0; i < N_CASES; i++) {
        const plastic_case *one = &cases[i];
        if (results->n_rows + 2 > BENCH_ROWS_MAX ||
            is_left_out(options, one, results))
            continue;
        vly_status status = time_case(options, one, results, error);
        if (status == VLY_E_NOMEM) /* a result, not a failure */
            bench_row_skip(results, one->id, error);
        else if (status != VLY_OK)
            return status;
    }
    return VLY_OK;
}
