/* SPDX-License-Identifier: Apache-2.0
 * Suite cuda: whole bursts on a device beside the CPU backend of its machine.
 *
 * A network is compiled once for all its cases and freed before the next one.
 * Its digests on the device are compared with those of the CPU backend burst by
 * burst before anything of it is timed. What is required and what is aimed at
 * holds for one NVIDIA H200.
 */
#include <volley/host.h>

#include <fnmatch.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "base/number.h"
#include "tools/bench/bench_energy.h"
#include "tools/bench/bench_pair.h"
#include "tools/bench/bench_plan.h"
#include "tools/cli/tool.h"

/* ---- the cases --------------------------------------------------------- */

/* bench_loop.c: its rows become cases of this name and theirs. */
static const char loop_id[] = "closed loop";
static const bench_limit loop_limit = {25.0, 0.0};
static const bench_limit energy_limit = {0.0, 0.008e-6};
static const double slow_block_ms = 10000.0;
static const double slow_block_quick_ms = 500.0;
static const double energy_s = 22.0; /* at least 20 s of them count */
static const double energy_quick_s = 2.0;

bool bench_case_wanted(const bench_options *options, const char *id)
{
    char pattern[256];
    if (!options->pattern)
        return true;
    snprintf(pattern, sizeof pattern, "*%s*", options->pattern);
    return fnmatch(pattern, id, 0) == 0;
}

static bool net_wanted(const bench_options *options, const bench_net_plan *plan)
{
    if (options->quick && plan->check_quick == 0)
        return false;
    for (uint32_t i = 0; i < BENCH_NET_CASES; i++)
        if (plan->cases[i].id && bench_case_wanted(options, plan->cases[i].id))
            return true;
    return false;
}

/* ---- before anything is measured --------------------------------------- */

static vly_status fail_pattern(const bench_options *options, vly_error *error)
{
    char list[800] = "";
    size_t used = 0;
    for (uint32_t i = 0; i < bench_n_nets; i++) {
        for (uint32_t k = 0; k < BENCH_NET_CASES && used < sizeof list; k++) {
            const char *id = bench_nets[i].cases[k].id;
            if (!id || (options->quick && bench_nets[i].check_quick == 0))
                continue;
            used += (size_t)snprintf(list + used, sizeof list - used, "%s%s",
                                     used > 0 ? ", " : "", id);
        }
    }
    if (used < sizeof list)
        snprintf(list + used, sizeof list - used, ", %s", loop_id);
    return vly_fail(error, VLY_E_INVALID,
                    "--case %s: no case of this suite%s has it; they are: %s",
                    options->pattern, options->quick ? " with --quick" : "",
                    list);
}

vly_status bench_cuda_check(const bench_options *options, vly_error *error)
{
    for (uint32_t i = 0; i < bench_n_nets; i++)
        if (net_wanted(options, &bench_nets[i]))
            return VLY_OK;
    if (bench_case_wanted(options, loop_id))
        return VLY_OK;
    return fail_pattern(options, error);
}

static vly_status read_device(const bench_options *options,
                              bench_results *results, vly_error *error)
{
    vly_named_device wanted = {.struct_size = sizeof wanted};
    vly_device_info info = {.struct_size = sizeof info};
    const vly_backend *backend = NULL;
    vly_status status = VLY_OK;
    VLY_TRY(vly_device_find(options->registry, options->backend,
                            options->n_threads, &wanted, error));
    if (strcmp(wanted.id, "auto") == 0)
        return vly_fail(error, VLY_E_INVALID,
                        "--backend auto: wanted the name of a device, as in "
                        "cuda:1");
    VLY_TRY(
        vly_registry_backend(options->registry, wanted.id, &backend, error));
    VLY_TRY(backend->device_info(wanted.index, &info, error));
    bench_device *gpu = &results->gpu;
    memcpy(gpu->name, info.name, sizeof gpu->name);
    memcpy(gpu->capability, info.capability, sizeof gpu->capability);
    gpu->memory_bytes = info.memory_bytes;
    gpu->index = wanted.index;
out:
    return status;
}

/* ---- one case ---------------------------------------------------------- */

double bench_case_value(const bench_case *one, double seconds)
{
    return one->metric == BENCH_RTF ? seconds * 1e3 / one->dt_ms
                                    : seconds * 1e6;
}

bench_case *bench_case_add(bench_results *results, const char *id)
{
    if (results->n_cases == BENCH_CASES_MAX)
        return NULL;
    bench_case *one = &results->cases[results->n_cases++];
    memset(one, 0, sizeof *one);
    snprintf(one->id, sizeof one->id, "%s", id);
    return one;
}

static bench_case *add_case(bench_results *results, const bench_net_plan *net,
                            const bench_case_plan *plan)
{
    bench_case *one = bench_case_add(results, plan->id);
    if (!one)
        return NULL;
    one->metric = net->slow ? BENCH_RTF : BENCH_US;
    one->limit = plan->limit;
    one->start_limit = net->start_limit;
    memcpy(one->peers, plan->peers, sizeof one->peers);
    return one;
}

/* Printed at once: the table comes minutes later. */
static void print_reached(const bench_case *one)
{
    char wanted[64] = "";
    double value = bench_case_value(one, one->device.seconds.median);
    if (one->limit.required > 0.0)
        snprintf(wanted, sizeof wanted, ", required %g: %s",
                 one->limit.required,
                 value <= one->limit.required ? "reached" : "missed");
    tool_message("%s: %.6g%s%s", one->id, value,
                 one->metric == BENCH_RTF ? " real-time factor" : " us a burst",
                 wanted);
}

/* Both nets continue with the share of the case. Until the delay line has
 * passed, arriving events are still those of the previous share. */
static vly_status set_share(const bench_net_plan *net,
                            const bench_case_plan *plan, vly_net *one,
                            bool settle, vly_error *error)
{
    vly_stats stats = {.struct_size = sizeof stats};
    vly_status status = VLY_OK;
    if (!(plan->share > 0.0))
        return VLY_OK;
    VLY_TRY(vly_net_stats(one, &stats, error));
    double rate_hz = -vly_log1p(-plan->share) * 1000.0 / stats.dt_ms;
    VLY_TRY(vly_net_set(one, "stimulus.kick.rate_hz", rate_hz, error));
    if (settle)
        status = vly_net_run(one, net->delay_max + 1u, error);
out:
    return status;
}

static vly_status check_case(const bench_options *options,
                             const bench_net_plan *net,
                             const bench_case_plan *plan, bench_pair *pair,
                             vly_error *error)
{
    uint64_t n = options->quick ? net->check_quick : net->check_bursts;
    vly_status status = VLY_OK;
    VLY_TRY(set_share(net, plan, pair->device, false, error));
    VLY_TRY(set_share(net, plan, pair->cpu, false, error));
    if (pair->beside)
        VLY_TRY(set_share(net, plan, pair->beside, false, error));
    /* the first burst was compared when the nets were made */
    status = bench_pair_check(pair, pair->bursts == 1 ? n - 1 : n,
                              net->state_every, error);
out:
    return status;
}

static vly_status describe(const bench_options *options, const bench_pair *pair,
                           bench_case *one, bench_results *results,
                           vly_error *error)
{
    vly_stats stats = {.struct_size = sizeof stats};
    vly_status status = VLY_OK;
    VLY_TRY(vly_net_stats(pair->device, &stats, error));
    VLY_TRY(
        bench_device_set(options, stats.backend, stats.device, results, error));
    memcpy(one->plan, stats.plan, sizeof one->plan);
    one->dt_ms = stats.dt_ms;
    one->neurons = stats.neurons;
    one->synapses = stats.synapses;
    one->device_bytes = stats.device_bytes;
    one->host_bytes = stats.host_bytes;
    one->connectome_bytes = stats.connectome_bytes;
    one->checked_bursts = pair->bursts;
    one->checked_spikes = pair->spikes;
    one->load_s = pair->build.seconds.load;
    one->build_s = pair->build.seconds.build;
    one->setup_s = pair->setup_s;
out:
    return status;
}

static vly_status time_case(const bench_options *options,
                            const bench_net_plan *net,
                            const bench_case_plan *plan, bench_pair *pair,
                            bench_case *one, vly_error *error)
{
    bench_timing timing = {.block_s = options->quick ? 5e-3 : 20e-3,
                           .budget_s = options->quick ? 10.0 : 60.0};
    double block_ms = options->quick ? slow_block_quick_ms : slow_block_ms;
    vly_status status = VLY_OK;
    if (net->slow)
        timing.block_bursts = (uint64_t)(block_ms / one->dt_ms + 0.5);
    VLY_TRY(set_share(net, plan, pair->device, true, error));
    VLY_TRY(bench_pair_time(pair->device, &timing, &one->device, error));
    print_reached(one);
    if (pair->beside) {
        VLY_TRY(set_share(net, plan, pair->beside, true, error));
        VLY_TRY(bench_pair_time(pair->beside, &timing, &one->beside, error));
    }
    timing.budget_s = options->quick ? 1.0 : 2.0;
    VLY_TRY(set_share(net, plan, pair->cpu, true, error));
    VLY_TRY(bench_pair_time(pair->cpu, &timing, &one->cpu, error));
out:
    return status;
}

static vly_status measure_energy(const bench_options *options,
                                 const bench_pair *pair, const bench_case *one,
                                 bench_results *results, vly_error *error)
{
    bench_energy *energy = &results->energy;
    energy->wanted = true;
    energy->limit = energy_limit;
    if (strncmp(results->backend, "cuda:", 5) != 0) {
        snprintf(energy->reason, sizeof energy->reason,
                 "%s has no board with a counter", results->backend);
        return VLY_OK;
    }
    tool_message("%s: energy", one->id);
    return bench_energy_measure(
        pair->device, results->gpu.index, one->device.seconds.median,
        options->quick ? energy_quick_s : energy_s, energy, error);
}

/* ---- one network ------------------------------------------------------- */

static vly_status open_net(const bench_options *options,
                           const bench_net_plan *net, bench_pair *pair,
                           vly_error *error)
{
    char text[96];
    tool_overrides overrides = {0};
    vly_status status = VLY_OK;
    char *path = vly_format("%s/%s", options->genomes, net->file);
    if (!path)
        return vly_fail_nomem(error, 4096, "a file name");
    if (net->neurons > 0) {
        snprintf(text, sizeof text, "area.N.neurons=%u", net->neurons);
        VLY_TRY(tool_overrides_add(&overrides, text, error));
        snprintf(text, sizeof text, "var.delay_max=%u", net->delay_max);
        VLY_TRY(tool_overrides_add(&overrides, text, error));
    }
    status = bench_pair_open(options, path, &overrides, pair, error);
out:
    tool_overrides_deinit(&overrides);
    vly_free(path);
    return status;
}

static void skip(bench_case *one, const vly_error *why)
{
    one->skipped = true;
    snprintf(one->reason, sizeof one->reason, "%s", why->message);
    one->bytes_requested = why->bytes_requested;
    one->bytes_available = why->bytes_available;
    tool_message("%s: skipped: %s", one->id, one->reason);
}

/* Missing memory is a result, not a failure. */
static void add_skipped(const bench_options *options, const bench_net_plan *net,
                        bench_results *results, const vly_error *why)
{
    for (uint32_t i = 0; i < BENCH_NET_CASES; i++) {
        if (!net->cases[i].id || !bench_case_wanted(options, net->cases[i].id))
            continue;
        bench_case *one = add_case(results, net, &net->cases[i]);
        if (!one)
            return;
        skip(one, why);
    }
}

/* A partial case is not reported. */
static vly_status run_case(const bench_options *options,
                           const bench_net_plan *net,
                           const bench_case_plan *plan, bench_pair *pair,
                           bench_results *results, vly_error *error)
{
    bench_case *one = add_case(results, net, plan);
    if (!one)
        return VLY_OK;
    tool_message("%s: %s bursts alike, timing", one->id,
                 tool_thousands(pair->bursts));
    vly_status status = describe(options, pair, one, results, error);
    if (status == VLY_OK)
        status = time_case(options, net, plan, pair, one, error);
    if (status != VLY_OK)
        results->n_cases--;
    else if (net->energy)
        status = measure_energy(options, pair, one, results, error);
    if (results->energy.wanted && status != VLY_OK)
        snprintf(results->energy.reason, sizeof results->energy.reason,
                 "%.250s", error->message);
    return status;
}

/* All cases of a network are compared before the first of them is timed, while
 * both nets are at the same burst. */
static vly_status run_cases(const bench_options *options,
                            const bench_net_plan *net, bench_pair *pair,
                            bench_results *results, vly_error *error)
{
    vly_status status = VLY_OK;
    for (uint32_t i = 0; i < BENCH_NET_CASES; i++)
        if (net->cases[i].id && bench_case_wanted(options, net->cases[i].id))
            VLY_TRY(check_case(options, net, &net->cases[i], pair, error));
    for (uint32_t i = 0; i < BENCH_NET_CASES; i++) {
        if (!net->cases[i].id || !bench_case_wanted(options, net->cases[i].id))
            continue;
        VLY_TRY(run_case(options, net, &net->cases[i], pair, results, error));
    }
out:
    return status;
}

static vly_status run_net(const bench_options *options,
                          const bench_net_plan *net, bench_results *results,
                          vly_error *error)
{
    bench_pair pair = {.bursts = 0};
    vly_error why = VLY_ERROR_INIT;
    tool_message("%s%s: compiling", net->cases[0].id,
                 net->cases[1].id ? " and more" : "");
    vly_status status = open_net(options, net, &pair, &why);
    if (status == VLY_E_NOMEM) {
        add_skipped(options, net, results, &why);
        return VLY_OK;
    }
    if (status == VLY_OK)
        status = run_cases(options, net, &pair, results, &why);
    bench_pair_close(&pair);
    if (status != VLY_OK)
        return vly_fail(error, status, "%s: %s", net->cases[0].id, why.message);
    return VLY_OK;
}

/* ---- closed loop ------------------------------------------------------- */

/* The limit holds for rows that inject and read; a row that does neither shows
 * the time of the burst alone. */
static void adopt_row(const bench_row *row, bench_results *results)
{
    char id[BENCH_ID_BYTES];
    snprintf(id, sizeof id, "%s %.35s", loop_id, row->id);
    bench_case *one = bench_case_add(results, id);
    if (!one)
        return;
    if (strstr(row->id, "inject, read"))
        one->limit = loop_limit;
    one->neurons = row->neurons;
    one->synapses = row->synapses;
    one->device.seconds = row->seconds;
    one->device.block_bursts = 1;
    one->device.share = row->share;
    one->device.events = row->events_per_s * row->seconds.median;
    memcpy(one->device.backend, results->backend, sizeof one->device.backend);
    print_reached(one);
}

static vly_status run_loop(const bench_options *options, bench_results *results,
                           vly_error *error)
{
    uint32_t first = results->n_rows;
    vly_status status = bench_loop(options, results, error);
    for (uint32_t i = first; i < results->n_rows; i++)
        adopt_row(&results->rows[i], results);
    results->n_rows = first;
    if (status == VLY_E_NOMEM) {
        bench_case *one = bench_case_add(results, loop_id);
        if (!one)
            return VLY_OK;
        one->limit = loop_limit;
        skip(one, error);
        return VLY_OK;
    }
    return status;
}

/* The cases of --quick come first: they take seconds, the others minutes. */
vly_status bench_cuda(const bench_options *options, bench_results *results,
                      vly_error *error)
{
    vly_status status = VLY_OK;
    VLY_TRY(read_device(options, results, error));
    for (uint32_t i = 0; i < bench_n_nets; i++)
        if (bench_nets[i].check_quick > 0 &&
            net_wanted(options, &bench_nets[i]))
            VLY_TRY(run_net(options, &bench_nets[i], results, error));
    if (bench_case_wanted(options, loop_id))
        VLY_TRY(run_loop(options, results, error));
    for (uint32_t i = 0; i < bench_n_nets; i++)
        if (bench_nets[i].check_quick == 0 &&
            net_wanted(options, &bench_nets[i]))
            VLY_TRY(run_net(options, &bench_nets[i], results, error));
out:
    return status;
}
