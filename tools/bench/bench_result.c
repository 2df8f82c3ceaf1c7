/* SPDX-License-Identifier: Apache-2.0
 * Results of a bench: table, JSON.
 */
#include "tools/bench/bench.h"

#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "tools/bench/bench_product.h"
#include "tools/cli/tool.h"
#include "volley_build.h"

static void print_head(const bench_results *results, const char *begin)
{
    const bench_machine *machine = &results->machine;
    const bench_probes *probes = &results->probes;
    tool_print("%svolley %s (%s), %s %s\n", begin, VLY_BUILD_VERSION,
               VLY_BUILD_COMMIT, VLY_BUILD_COMPILER, VLY_BUILD_FLAGS);
    tool_print("%s%s, %u cores, %s, %s%s%s, load %.2f\n", begin, machine->cpu,
               machine->cores, tool_bytes(machine->memory_bytes),
               machine->kernel, machine->governor[0] != '\0' ? ", " : "",
               machine->governor, machine->load);
    if (results->backend[0] != '\0')
        tool_print("%ssuite %s, backend %s (%s)\n", begin, results->suite,
                   results->backend, results->device);
    if (probes->threads > 0)
        tool_print(
            "%sthe machine, %u thread%s: reads %s/s in order; %s/s random "
            "increments of int32, %s accumulators\n\n",
            begin, probes->threads, probes->threads == 1 ? "" : "s",
            tool_bytes((uint64_t)probes->read_bytes_per_s),
            tool_rate_text(probes->increments_per_s),
            tool_thousands(probes->increment_elements));
    if (machine->load > 0.5)
        tool_message("the machine was not idle (load %.2f): figures are too "
                     "slow",
                     machine->load);
}

void bench_row_skip(bench_results *results, const char *id,
                    const vly_error *why)
{
    if (results->n_rows == BENCH_ROWS_MAX)
        return;
    bench_row *row = &results->rows[results->n_rows++];
    memset(row, 0, sizeof *row);
    snprintf(row->id, sizeof row->id, "%s", id);
    snprintf(row->reason, sizeof row->reason, "%.399s", why->message);
    tool_message("%s: skipped: %s", row->id, row->reason);
}

static void percent(double part, char *text, size_t n)
{
    if (part > 0.0)
        snprintf(text, n, "%.0f%%", 100.0 * part);
    else
        snprintf(text, n, "-");
}

static void print_row(const bench_row *row, const char *format)
{
    char spread[48];
    char share[16] = "-";
    char bandwidth[16];
    char increments[16];
    char peer[96] = "";
    snprintf(spread, sizeof spread, "%s..%s", tool_seconds(row->seconds.low),
             tool_seconds(row->seconds.high));
    if (row->unit == BENCH_BURST)
        snprintf(share, sizeof share, "%.3f%%", 100.0 * row->share);
    percent(row->of_bandwidth, bandwidth, sizeof bandwidth);
    percent(row->of_increments, increments, sizeof increments);
    if (row->peer)
        snprintf(peer, sizeof peer, "%.1fx (%s: %s)",
                 row->peer_s / row->seconds.median, row->peer,
                 tool_seconds(row->peer_s));
    char line[512];
    if (row->reason[0] != '\0') {
        tool_print(strcmp(format, "|") == 0
                       ? "| %s | skipped: %s | | | | | | |\n"
                       : "%-18s skipped: %s\n",
                   row->id, row->reason);
        return;
    }
    /* the two formats take the same columns */
    if (strcmp(format, "|") == 0)
        snprintf(line, sizeof line, "| %s | %s | %s | %s | %s | %s | %s | %s |",
                 row->id, tool_seconds(row->seconds.median), spread, share,
                 tool_rate_text(row->events_per_s), bandwidth, increments,
                 peer);
    else
        snprintf(line, sizeof line, "%-18s %10s %20s %9s %10s %9s %10s  %s",
                 row->id, tool_seconds(row->seconds.median), spread, share,
                 tool_rate_text(row->events_per_s), bandwidth, increments,
                 peer);
    tool_print("%s\n", line);
    if (row->note[0] != '\0')
        tool_print(strcmp(format, "|") == 0 ? "| | %s | | | | | | |\n"
                                            : "    %s\n",
                   row->note);
}

static void print_rows(const bench_results *results, bool markdown)
{
    if (results->n_rows == 0)
        return;
    if (markdown)
        tool_print("| case | median | 10..90%% | fired | events/s | of "
                   "bandwidth | of increments | faster than |\n"
                   "|---|---|---|---|---|---|---|---|\n");
    else
        tool_print("%-18s %10s %20s %9s %10s %9s %10s  %s\n", "case", "median",
                   "10..90%", "fired", "events/s", "of bandw.", "of incr.",
                   "faster than");
    for (uint32_t i = 0; i < results->n_rows; i++)
        print_row(&results->rows[i], markdown ? "|" : " ");
    if (results->checkpoint_bytes > 0)
        tool_print("\nThe state has %s bytes in memory and %s in the file.\n",
                   tool_thousands(results->state_bytes),
                   tool_thousands(results->checkpoint_bytes));
    tool_print("\nA burst is delivery, dynamics, compaction and digest; median "
               "of blocks. A build's\nevents are synapses made. of bandwidth: "
               "bytes of the synapses read.\n");
}

void bench_print(const bench_results *results, bool markdown)
{
    print_head(results, markdown ? "- " : "");
    print_rows(results, markdown);
    bench_cases_print(results, markdown);
    bench_products_print(results->products, markdown);
    bench_scale_print(results, markdown);
    if (results->failure[0] != '\0')
        tool_print("\nNOT COMPLETE: %s\n", results->failure);
}

static void put_machine(const bench_results *results, json_writer *json)
{
    const bench_machine *machine = &results->machine;
    json_object(json, "machine");
    json_text(json, "cpu", machine->cpu);
    json_u64(json, "cores", machine->cores);
    json_u64(json, "memory_bytes", machine->memory_bytes);
    json_text(json, "kernel", machine->kernel);
    json_text(json, "governor", machine->governor);
    json_number(json, "load", machine->load);
    json_object_end(json);
    json_object(json, "probes");
    json_u64(json, "threads", results->probes.threads);
    json_number(json, "read_bytes_per_s", results->probes.read_bytes_per_s);
    json_number(json, "increments_per_s", results->probes.increments_per_s);
    json_u64(json, "increment_elements", results->probes.increment_elements);
    json_object_end(json);
}

static void put_row(const bench_row *row, json_writer *json)
{
    json_object(json, NULL);
    json_text(json, "id", row->id);
    if (row->reason[0] != '\0') {
        json_text(json, "reason", row->reason);
        json_object_end(json);
        return;
    }
    json_text(json, "unit",
              row->unit == BENCH_BURST   ? "burst"
              : row->unit == BENCH_BUILD ? "build"
                                         : "step");
    json_number(json, "median_s", row->seconds.median);
    json_number(json, "p10_s", row->seconds.low);
    json_number(json, "p90_s", row->seconds.high);
    json_u64(json, "samples", row->seconds.n);
    json_u64(json, "bursts", row->bursts);
    json_u64(json, "neurons", row->neurons);
    json_u64(json, "synapses", row->synapses);
    json_number(json, "share", row->share);
    json_number(json, "events_per_s", row->events_per_s);
    json_number(json, "of_bandwidth", row->of_bandwidth);
    json_number(json, "of_increments", row->of_increments);
    json_text(json, "peer", row->peer);
    json_number(json, "peer_s", row->peer_s);
    json_text(json, "note", row->note[0] != '\0' ? row->note : NULL);
    json_object_end(json);
}

void bench_json(const bench_results *results, json_writer *json)
{
    json_object(json, NULL);
    json_u64(json, "bench", 1);
    json_text(json, "time", tool_time_text());
    json_text(json, "version", VLY_BUILD_VERSION);
    json_text(json, "commit", VLY_BUILD_COMMIT);
    json_text(json, "compiler", VLY_BUILD_COMPILER);
    json_text(json, "flags", VLY_BUILD_FLAGS);
    json_text(json, "suite", results->suite);
    json_text(json, "backend", results->backend);
    json_text(json, "device", results->device);
    json_bool(json, "quick", results->quick);
    json_text(json, "failure",
              results->failure[0] != '\0' ? results->failure : NULL);
    put_machine(results, json);
    json_array(json, "rows");
    for (uint32_t i = 0; i < results->n_rows; i++)
        put_row(&results->rows[i], json);
    bench_cases_json(results, json);
    bench_products_json(results->products, json);
    json_array_end(json);
    if (results->products)
        json_text(json, "plugin", results->products->plugin);
    if (results->products)
        json_u64(json, "seed", results->products->seed);
    if (results->products)
        json_number(json, "ceiling_bytes_per_s",
                    results->products->bytes_per_s);
    bench_energy_json(results, json);
    bench_scale_json(results, json);
    json_u64(json, "state_bytes", results->state_bytes);
    json_u64(json, "checkpoint_bytes", results->checkpoint_bytes);
    json_object_end(json);
}
