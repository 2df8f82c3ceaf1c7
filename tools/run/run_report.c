/* SPDX-License-Identifier: Apache-2.0
 * What a run says: the first line, the summary for people, the same as JSON.
 */
#include "tools/run/run_job.h"
#include "tools/run/run_output.h"
#include "tools/run/run_part.h"
#include "tools/run/run_summary.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "tools/cli/columns.h"
#include "tools/cli/device_limits.h"
#include "tools/cli/weight_notes.h"

static double biological_s(const run_job *job)
{
    return (double)vly_net_burst(job->net) * job->result.stats.dt_ms * 1e-3;
}

/* Counts of this process only: the part of a run before a resume had its own
 * time. */
static double biological_run_s(const run_job *job)
{
    return (double)(vly_net_burst(job->net) - job->first_burst) *
           job->result.stats.dt_ms * 1e-3;
}

static double events_per_s(const run_job *job)
{
    const run_result *result = &job->result;
    double events = (double)(result->stats.events - job->first_events);
    return result->run_s > 0.0 ? events / result->run_s : 0.0;
}

/* x / y, or 0 where there is nothing to divide by */
static double ratio(double x, double y)
{
    return y > 0.0 ? x / y : 0.0;
}

/* Hz, of the bursts of the summary; NaN: the run ended before them. */
static double area_rate(const run_job *job, uint32_t a)
{
    const vly_area_info area = tool_area_info(job->build.connectome, a);
    const double seconds =
        (double)run_summary_bursts(job) * job->result.stats.dt_ms * 1e-3;
    if (run_summary_state(job)->asked > 0 && !(seconds > 0.0))
        return NAN;
    return ratio((double)run_summary_spikes(job, a),
                 (double)area.n_neurons * seconds);
}

void run_report_head(const run_job *job)
{
    const vly_genome_info genome = tool_genome_info(job->build.genome);
    const vly_stats *stats = &job->result.stats;
    tool_plain_text backend;
    tool_plain_text device;
    if (job->plan.quiet)
        return;
    tool_message(
        "%s%s%s: %s neurons, %s synapses (%s), %s bursts of %g ms "
        "(%s), %s (%s)",
        job->plan.path, genome.title ? ", " : "",
        genome.title ? genome.title : "", tool_thousands(stats->neurons),
        tool_thousands(stats->synapses), tool_bytes(stats->connectome_bytes),
        tool_thousands(job->plan.n_bursts), genome.dt_ms,
        tool_seconds((double)job->plan.n_bursts * genome.dt_ms * 1e-3),
        tool_plain(stats->backend, &backend),
        tool_plain(stats->device, &device));
    run_parts_print(job, RUN_LINES_HEAD);
}

/* A dash if there are none, as in an area without spikes. */
static void print_figure(double value, const char *format, int width)
{
    char text[32] = "-";
    if (value - value <= 0.0)
        snprintf(text, sizeof text, format, value);
    tool_print(" %*s", width, text);
}

static void print_figures(const run_job *job, uint32_t a)
{
    vly_area_spikes figures = {.struct_size = sizeof figures};
    uint32_t n = tool_area_info(job->build.connectome, a).n_neurons;
    if (!run_output_figures(job, a, &figures))
        return;
    print_figure(figures.cv, "%.3f", 8);
    tool_print("  ");
    print_figure(figures.fano, "%.3g", 8);
    print_figure(100.0 * ratio((double)figures.n_silent, (double)n), "%.1f%%",
                 8);
}

static void print_areas(const run_job *job)
{
    const vly_connectome *connectome = job->build.connectome;
    const uint32_t n_areas = tool_connectome_info(connectome).n_areas;
    int width = 4;
    for (uint32_t a = 0; a < n_areas; a++) {
        int n = tool_columns(tool_area_info(connectome, a).name);
        width = n > width ? n : width;
    }
    width = width > 40 ? 40 : width;
    bool figured = run_output_state(job)->output.sink.stats != NULL;
    tool_print("%-*s %14s %16s %12s%s\n", width, "area", "neurons", "spikes",
               "rate_hz", figured ? "       cv       fano   silent" : "");
    for (uint32_t a = 0; a < n_areas; a++) {
        const vly_area_info area = tool_area_info(connectome, a);
        tool_print("%-*s %14s %16s", TOOL_COLUMN(area.name, width),
                   tool_thousands(area.n_neurons),
                   tool_thousands(run_summary_spikes(job, a)));
        print_figure(area_rate(job, a), "%.4g", 12);
        print_figures(job, a);
        tool_print("\n");
    }
}

/* The parts of the time up to the end of the first burst. Those of the device
 * run beside the network, but for what was waited for. */
static void print_start(const run_job *job)
{
    const run_start *start = &job->start;
    if (start->total_ns == 0)
        return;
    tool_print("start             %s: genome %s, ",
               tool_seconds((double)start->total_ns * 1e-9),
               tool_seconds(job->build.seconds.load));
    tool_print("plugins %s, ", tool_seconds((double)start->plugins_ns * 1e-9));
    tool_print("network %s, ", tool_seconds(job->build.seconds.build));
    tool_print("wait for the device %s, ",
               tool_seconds((double)start->device.waited_ns * 1e-9));
    tool_print("net %s, first burst %s\n",
               tool_seconds(job->build.seconds.setup),
               tool_seconds((double)start->burst_ns * 1e-9));
}

static void put_start(const run_job *job, json_writer *json)
{
    const run_start *start = &job->start;
    json_object(json, "start");
    json_number(json, "genome_s", job->build.seconds.load);
    json_number(json, "plugins_s", (double)start->plugins_ns * 1e-9);
    json_number(json, "network_s", job->build.seconds.build);
    json_number(json, "driver_s", (double)start->device.start_ns * 1e-9);
    json_number(json, "prepare_s", (double)start->device.prepare_ns * 1e-9);
    json_number(json, "waited_s", (double)start->device.waited_ns * 1e-9);
    json_number(json, "net_s", job->build.seconds.setup);
    json_number(json, "burst_s", (double)start->burst_ns * 1e-9);
    json_number(json, "total_s",
                start->total_ns > 0 ? (double)start->total_ns * 1e-9 : NAN);
    json_object_end(json);
}

void run_report_print(const run_job *job)
{
    const vly_genome *genome = job->build.genome;
    const vly_genome_info seeds = tool_genome_info(genome);
    const run_result *result = &job->result;
    const vly_stats *stats = &result->stats;
    uint64_t bursts = vly_net_burst(job->net);
    print_areas(job);
    tool_print("\nbursts            %s of %s (%g ms)\n", tool_thousands(bursts),
               tool_thousands(job->plan.n_bursts), biological_s(job) * 1e3);
    tool_print("spikes            %s\n", tool_thousands(stats->spikes));
    tool_print("synaptic events   %s, %s/s\n", tool_thousands(stats->events),
               tool_rate_text(events_per_s(job)));
    tool_print("time              %s, real-time factor %.3g (compiled in %s)\n",
               tool_seconds(result->run_s),
               ratio(result->run_s, biological_run_s(job)),
               tool_seconds(job->build.seconds.build));
    print_start(job);
    if (stats->delivery_ns + stats->dynamics_ns > 0)
        tool_print("phases            delivery %s, dynamics %s, exchange %s, "
                   "drain %s\n",
                   tool_seconds((double)stats->delivery_ns * 1e-9),
                   tool_seconds((double)stats->dynamics_ns * 1e-9),
                   tool_seconds((double)stats->exchange_ns * 1e-9),
                   tool_seconds((double)stats->drain_ns * 1e-9));
    if (strcmp(job->plan.backend, "auto") == 0) {
        tool_plain_text plan;
        tool_print("chosen            %s: %s\n", stats->backend,
                   tool_plain(stats->plan, &plan));
    }
    if (result->paused_s > 0)
        tool_print("paused            %s, not counted above\n",
                   tool_seconds(result->paused_s));
    run_parts_print(job, RUN_LINES);
    tool_print("memory            connectome %s, net %s\n",
               tool_bytes(stats->connectome_bytes),
               tool_bytes(stats->host_bytes + stats->device_bytes));
    run_parts_print(job, RUN_LINES_LAST);
    tool_print("seeds             network %" PRIu64 ", state %" PRIu64
               ", input %" PRIu64 "\n",
               seeds.seed_network, seeds.seed_state, seeds.seed_input);
    tool_print("digest            %016" PRIx64 "\n", result->digest);
    tool_print("state digest      %016" PRIx64 "\n", result->state_digest);
    weight_notes_print(genome, job->build.connectome);
    if (stats->spikes == 0 && bursts > 0)
        tool_message("no neuron fired");
}

/* null without statistics, and for a figure that is not defined */
static void put_figures(const run_job *job, uint32_t a, json_writer *json)
{
    vly_area_spikes figures = {.struct_size = sizeof figures};
    double n = tool_area_info(job->build.connectome, a).n_neurons;
    bool figured = run_output_figures(job, a, &figures);
    json_number(json, "isi_cv", figured ? figures.cv : NAN);
    json_number(json, "isi_cv_neurons", figured ? (double)figures.n_cv : NAN);
    json_number(json, "fano", figured ? figures.fano : NAN);
    json_number(json, "silent_share",
                figured ? ratio((double)figures.n_silent, n) : NAN);
}

static void put_areas(const run_job *job, json_writer *json)
{
    const vly_connectome *connectome = job->build.connectome;
    const uint32_t n_areas = tool_connectome_info(connectome).n_areas;
    json_array(json, "areas");
    for (uint32_t a = 0; a < n_areas; a++) {
        const vly_area_info area = tool_area_info(connectome, a);
        vly_area_info given = {.struct_size = sizeof given};
        (void)vly_genome_area_info(job->build.genome, a, &given);
        json_object(json, NULL);
        json_text(json, "id", area.name);
        if (given.generator)
            json_text(json, "generator", given.generator);
        else
            json_text(json, "model", area.model);
        json_u64(json, "neurons", area.n_neurons);
        json_u64(json, "spikes", run_summary_spikes(job, a));
        json_number(json, "rate_hz", area_rate(job, a));
        put_figures(job, a, json);
        json_object_end(json);
    }
    json_array_end(json);
}

void run_report_json(const run_job *job, json_writer *json)
{
    const vly_genome_info genome = tool_genome_info(job->build.genome);
    const run_result *result = &job->result;
    const vly_stats *stats = &result->stats;
    json_object(json, NULL);
    json_text(json, "genome", job->plan.path);
    json_text(json, "title", genome.title);
    json_text(json, "genome_hash", tool_hash_text(genome.hash));
    uint64_t digest[2];
    vly_connectome_get_digest(job->build.connectome, job->plan.n_threads,
                              digest);
    json_text(json, "connectome_hash",
              tool_hash_text(tool_connectome_info(job->build.connectome).hash));
    json_text(json, "connectome_digest", tool_hash_text(digest));
    json_text(json, "backend", stats->backend);
    json_text(json, "device", stats->device);
    json_text(json, "plan", stats->plan);
    json_number(json, "dt_ms", stats->dt_ms);
    json_u64(json, "bursts", vly_net_burst(job->net));
    json_bool(json, "stopped", result->stopped);
    run_parts_json(job, RUN_MEMBERS_FIRST, json);
    json_u64(json, "neurons", stats->neurons);
    json_u64(json, "synapses", stats->synapses);
    json_number(json, "load_s", job->build.seconds.load);
    json_number(json, "build_s", job->build.seconds.build);
    json_number(json, "setup_s", job->build.seconds.setup);
    put_start(job, json);
    json_number(json, "wall_s", result->run_s);
    json_number(json, "thread_s", result->thread_s);
    json_number(json, "rtf", ratio(result->run_s, biological_run_s(job)));
    json_number(json, "paused_s", result->paused_s);
    run_parts_json(job, RUN_MEMBERS, json);
    json_object(json, "phases");
    json_number(json, "delivery_s", (double)stats->delivery_ns * 1e-9);
    json_number(json, "dynamics_s", (double)stats->dynamics_ns * 1e-9);
    json_number(json, "exchange_s", (double)stats->exchange_ns * 1e-9);
    json_number(json, "drain_s", (double)stats->drain_ns * 1e-9);
    json_object_end(json);
    json_u64(json, "spikes", stats->spikes);
    json_u64(json, "synaptic_events", stats->events);
    json_number(json, "events_per_s", events_per_s(job));
    json_u64(json, "candidates", stats->candidates);
    json_u64(json, "connectome_bytes", stats->connectome_bytes);
    json_u64(json, "host_bytes", stats->host_bytes);
    json_u64(json, "device_bytes", stats->device_bytes);
    run_parts_json(job, RUN_MEMBERS_LAST, json);
    json_object(json, "seeds");
    json_u64(json, "network", genome.seed_network);
    json_u64(json, "state", genome.seed_state);
    json_u64(json, "input", genome.seed_input);
    json_object_end(json);
    json_hex(json, "digest", result->digest);
    json_hex(json, "state_digest", result->state_digest);
    put_areas(job, json);
    weight_notes_json(job->build.genome, job->build.connectome, json);
    json_object_end(json);
}

vly_status run_report_save(run_job *job, const char *path, vly_error *error)
{
    json_writer json;
    size_t n_text = 0;
    json_init(&json, true);
    run_report_json(job, &json);
    const char *text = json_finish(&json, &n_text);
    vly_status status = VLY_OK;
    if (!text)
        status = vly_fail_nomem(error, json.capacity, "the summary");
    else
        status = run_files_save(&job->json, path, text, n_text, error);
    json_deinit(&json);
    return status;
}
