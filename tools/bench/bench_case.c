/* SPDX-License-Identifier: Apache-2.0
 * Results of suite cuda: what was reached beside what is wanted and what others
 * reached, what a network takes, and energy.
 */
#include "tools/bench/bench.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "tools/cli/tool.h"

enum { CELL_BYTES = 320, COLUMNS_MAX = 10 };

/* The device of the columns "required" and "aim". */
static const char limit_device[] = "H200";

typedef struct table {
    bool markdown;
    uint32_t n;
    const char *heads[COLUMNS_MAX];
    int widths[COLUMNS_MAX];
    char cells[COLUMNS_MAX][CELL_BYTES];
} table;

/* ---- tables ------------------------------------------------------------ */

static void print_line(const table *t)
{
    for (uint32_t i = 0; i < t->n; i++) {
        bool last = i + 1 == t->n;
        if (t->markdown)
            tool_print("| %s %s", t->cells[i], last ? "|\n" : "");
        else
            tool_print("%-*s%s", last ? 0 : t->widths[i], t->cells[i],
                       last ? "\n" : " ");
    }
}

static void print_heads(table *t)
{
    for (uint32_t i = 0; i < t->n; i++)
        snprintf(t->cells[i], CELL_BYTES, "%s", t->heads[i]);
    print_line(t);
    for (uint32_t i = 0; t->markdown && i < t->n; i++)
        tool_print("|---%s", i + 1 == t->n ? "|\n" : "");
}

static const char *figure(const bench_case *one, double value)
{
    static char ring[8][32];
    static uint32_t next;
    char *text = ring[next++ % 8];
    if (one->metric == BENCH_RTF)
        snprintf(text, sizeof ring[0], "%.3g", value);
    else
        snprintf(text, sizeof ring[0], "%s", tool_seconds(value * 1e-6));
    return text;
}

static const char *verdict(double value, double limit)
{
    return value <= limit ? "reached" : "missed";
}

/* ---- speed ------------------------------------------------------------- */

static void limit_cell(const bench_case *one, double limit, char *cell)
{
    double value = bench_case_value(one, one->device.seconds.median);
    if (limit > 0.0)
        snprintf(cell, CELL_BYTES, "%s %s", figure(one, limit),
                 verdict(value, limit));
}

static void cpu_cell(const bench_case *one, char *cell)
{
    const bench_blocks *cpu = &one->cpu;
    if (cpu->backend[0] == '\0')
        return;
    int n = snprintf(cell, CELL_BYTES, "%s (%.3gx)",
                     figure(one, bench_case_value(one, cpu->seconds.median)),
                     cpu->seconds.median / one->device.seconds.median);
    if (cpu->seconds.n < one->device.seconds.n)
        snprintf(cell + n, CELL_BYTES - (size_t)n, ", %u blocks",
                 cpu->seconds.n);
}

/* Ratio of the time of a burst there. */
static void beside_cell(const bench_case *one, char *cell)
{
    const bench_spread *spread = &one->beside.seconds;
    if (one->beside.backend[0] == '\0')
        return;
    snprintf(cell, CELL_BYTES, "%s %s..%s (%.3gx)",
             figure(one, bench_case_value(one, spread->median)),
             figure(one, bench_case_value(one, spread->low)),
             figure(one, bench_case_value(one, spread->high)),
             spread->median / one->device.seconds.median);
}

static void peers_cell(const bench_case *one, char *cell)
{
    double value = bench_case_value(one, one->device.seconds.median);
    size_t used = 0;
    for (uint32_t i = 0; i < BENCH_PEERS_MAX; i++) {
        const bench_peer *peer = &one->peers[i];
        if (!peer->name || used >= CELL_BYTES)
            continue;
        used += (size_t)snprintf(cell + used, CELL_BYTES - used, "%s%s",
                                 used > 0 ? "; " : "", peer->name);
        if (peer->value > 0.0 && used < CELL_BYTES)
            used +=
                (size_t)snprintf(cell + used, CELL_BYTES - used, " %s (%.3gx)",
                                 figure(one, peer->value), peer->value / value);
    }
}

static void speed_line(const bench_case *one, table *t)
{
    for (uint32_t i = 0; i < t->n; i++)
        t->cells[i][0] = '\0';
    snprintf(t->cells[0], CELL_BYTES, "%s", one->id);
    if (one->skipped) {
        snprintf(t->cells[1], CELL_BYTES, "skipped");
        if (one->bytes_requested > 0)
            snprintf(t->cells[t->n - 1], CELL_BYTES,
                     "does not fit: %s requested, %s available",
                     tool_bytes(one->bytes_requested),
                     tool_bytes(one->bytes_available));
        else
            snprintf(t->cells[t->n - 1], CELL_BYTES, "%.300s", one->reason);
        print_line(t);
        return;
    }
    const bench_spread *spread = &one->device.seconds;
    snprintf(t->cells[1], CELL_BYTES, "%s",
             figure(one, bench_case_value(one, spread->median)));
    snprintf(t->cells[2], CELL_BYTES, "%s..%s",
             figure(one, bench_case_value(one, spread->low)),
             figure(one, bench_case_value(one, spread->high)));
    snprintf(t->cells[3], CELL_BYTES, "%.3f%%", 100.0 * one->device.share);
    snprintf(t->cells[4], CELL_BYTES, "%s",
             tool_rate_text(one->device.events / spread->median));
    limit_cell(one, one->limit.required, t->cells[5]);
    limit_cell(one, one->limit.aim, t->cells[6]);
    cpu_cell(one, t->cells[7]);
    if (t->n == COLUMNS_MAX)
        beside_cell(one, t->cells[8]);
    peers_cell(one, t->cells[t->n - 1]);
    print_line(t);
}

static int id_width(const bench_results *results)
{
    size_t width = sizeof "case";
    for (uint32_t i = 0; i < results->n_cases; i++) {
        size_t n = strlen(results->cases[i].id);
        width = n > width ? n : width;
    }
    return (int)width;
}

/* The backend of --beside in any case, or NULL */
static const char *name_beside(const bench_results *results)
{
    for (uint32_t i = 0; i < results->n_cases; i++)
        if (results->cases[i].beside.backend[0] != '\0')
            return results->cases[i].beside.backend;
    return NULL;
}

static void print_speed(const bench_results *results, bool markdown)
{
    const char *beside = name_beside(results);
    table t = {.markdown = markdown,
               .n = 9,
               .heads = {"case", "median", "10..90%", "fired", "events/s",
                         "required", "aim", "CPU backend", "peers"},
               .widths = {id_width(results), 9, 19, 7, 8, 15, 15, 22, 0}};
    if (beside) { /* before the last */
        t.n = COLUMNS_MAX;
        t.heads[9] = t.heads[8];
        t.heads[8] = beside;
        t.widths[8] = 40;
    }
    print_heads(&t);
    for (uint32_t i = 0; i < results->n_cases; i++)
        speed_line(&results->cases[i], &t);
}

/* ---- size and start ---------------------------------------------------- */

static void start_cell(double limit, double seconds, char *cell)
{
    if (limit > 0.0)
        snprintf(cell, CELL_BYTES, "%g s %s", limit, verdict(seconds, limit));
}

static void size_line(const bench_case *one, table *t)
{
    double start = one->load_s + one->build_s + one->setup_s;
    double synapses = one->synapses > 0 ? (double)one->synapses : 1.0;
    for (uint32_t i = 0; i < t->n; i++)
        t->cells[i][0] = '\0';
    snprintf(t->cells[0], CELL_BYTES, "%s", one->id);
    snprintf(t->cells[1], CELL_BYTES, "%s",
             tool_rate_text((double)one->synapses));
    snprintf(t->cells[2], CELL_BYTES, "%s, %s spikes",
             tool_thousands(one->checked_bursts),
             tool_rate_text((double)one->checked_spikes));
    snprintf(t->cells[3], CELL_BYTES, "%s = %s + %s", tool_seconds(start),
             tool_seconds(one->load_s + one->build_s),
             tool_seconds(one->setup_s));
    start_cell(one->start_limit.required, start, t->cells[4]);
    start_cell(one->start_limit.aim, start, t->cells[5]);
    snprintf(t->cells[6], CELL_BYTES, "%s + %s",
             tool_bytes(one->connectome_bytes), tool_bytes(one->host_bytes));
    snprintf(t->cells[7], CELL_BYTES, "%s, %.2f", tool_bytes(one->device_bytes),
             (double)one->device_bytes / synapses);
    snprintf(t->cells[8], CELL_BYTES, "%s", one->plan);
    print_line(t);
}

static void print_sizes(const bench_results *results, bool markdown)
{
    table t = {.markdown = markdown,
               .n = 9,
               .heads = {"case", "synapses", "compared bursts",
                         "start = build + set-up", "required", "aim",
                         "host: connectome + net", "device, a synapse", "plan"},
               .widths = {id_width(results), 8, 22, 30, 11, 13, 22, 17, 0}};
    bool begun = false;
    for (uint32_t i = 0; i < results->n_cases; i++) {
        if (results->cases[i].plan[0] == '\0')
            continue;
        if (!begun) {
            tool_print("\n");
            print_heads(&t);
        }
        begun = true;
        size_line(&results->cases[i], &t);
    }
}

/* ---- energy and notes -------------------------------------------------- */

static void print_energy(const bench_energy *energy)
{
    if (!energy->wanted)
        return;
    if (energy->reason[0] != '\0') {
        tool_print("\nenergy, microcircuit Poisson: not measured: %s\n",
                   energy->reason);
        return;
    }
    tool_print("\nenergy, microcircuit Poisson: %.4g uJ a synaptic event "
               "(aim %.3g: %s; published best 0.048 FPGAs, 0.074 GeNN)\n",
               energy->joules_per_event * 1e6, energy->limit.aim * 1e6,
               verdict(energy->joules_per_event, energy->limit.aim));
    tool_print("  %.0f J over %.1f s = %.0f W for %s events; idle with the net "
               "on the device %.0f W, which is %.0f%% of it\n",
               energy->joules, energy->seconds,
               energy->joules / energy->seconds,
               tool_rate_text((double)energy->events), energy->idle_w,
               100.0 * energy->idle_share);
    tool_print(
        "  the board's counter by %s, driver %s; it moves every %.0f ms, "
        "by %.3g J at the least: known to %.1f%%\n",
        energy->matched, energy->driver, energy->step_s * 1e3, energy->step_j,
        100.0 * energy->step_s / energy->seconds);
}

void bench_cases_print(const bench_results *results, bool markdown)
{
    const bench_device *gpu = &results->gpu;
    if (results->n_cases == 0)
        return;
    tool_print("device %u: %s, %s%s%s\n", gpu->index, gpu->name,
               gpu->capability, gpu->memory_bytes > 0 ? ", " : "",
               gpu->memory_bytes > 0 ? tool_bytes(gpu->memory_bytes) : "");
    tool_print(
        "required and aim are limits for one NVIDIA %s%s\n\n", limit_device,
        strstr(gpu->name, limit_device) ? "" : "; this is another device");
    print_speed(results, markdown);
    print_sizes(results, markdown);
    print_energy(&results->energy);
    tool_print(
        "\nA burst is delivery, dynamics, compaction and digest; recording is "
        "off. Median of 31\nblocks, fewer where it says so; closed loop: of "
        "single loops. Microcircuit: real-time\nfactor, blocks of %s or what "
        "takes a fair time. Compared bursts: their digests\nwere those of the "
        "CPU backend, before anything was timed. Start: genome file to end "
        "of\nthe first burst; the first case makes the device's context "
        "too.\n",
        results->quick ? "0.5 s (--quick)" : "10 s");
}

/* ---- JSON -------------------------------------------------------------- */

static void put_blocks(const char *key, const bench_case *one,
                       const bench_blocks *blocks, json_writer *json)
{
    if (blocks->backend[0] == '\0')
        return;
    double median = blocks->seconds.median;
    json_object(json, key);
    json_text(json, "backend", blocks->backend);
    json_number(json, "value", bench_case_value(one, median));
    json_number(json, "median_s", median);
    json_number(json, "p10_s", blocks->seconds.low);
    json_number(json, "p90_s", blocks->seconds.high);
    json_u64(json, "blocks", blocks->seconds.n);
    json_u64(json, "block_bursts", blocks->block_bursts);
    json_number(json, "share", blocks->share);
    json_number(json, "events_per_burst", blocks->events);
    json_number(json, "events_per_s", blocks->events / median);
    json_object_end(json);
}

static void put_limit(const char *key, bench_limit limit, double value,
                      json_writer *json)
{
    json_object(json, key);
    if (limit.required > 0.0) {
        json_number(json, "required", limit.required);
        json_bool(json, "required_reached", value <= limit.required);
    }
    if (limit.aim > 0.0) {
        json_number(json, "aim", limit.aim);
        json_bool(json, "aim_reached", value <= limit.aim);
    }
    json_object_end(json);
}

static void put_peers(const bench_case *one, json_writer *json)
{
    json_array(json, "peers");
    for (uint32_t i = 0; i < BENCH_PEERS_MAX; i++) {
        if (!one->peers[i].name)
            continue;
        json_object(json, NULL);
        json_text(json, "name", one->peers[i].name);
        json_number(json, "value", one->peers[i].value);
        json_object_end(json);
    }
    json_array_end(json);
}

static void put_start(const bench_case *one, json_writer *json)
{
    double start = one->load_s + one->build_s + one->setup_s;
    json_number(json, "load_s", one->load_s);
    json_number(json, "build_s", one->build_s);
    json_number(json, "setup_s", one->setup_s);
    json_number(json, "start_s", start);
    put_limit("start_limit", one->start_limit, start, json);
    json_u64(json, "connectome_bytes", one->connectome_bytes);
    json_u64(json, "host_bytes", one->host_bytes);
    json_u64(json, "device_bytes", one->device_bytes);
    json_number(json, "device_bytes_per_synapse",
                one->synapses > 0
                    ? (double)one->device_bytes / (double)one->synapses
                    : 0.0);
    json_text(json, "plan", one->plan);
}

static void put_case(const bench_case *one, json_writer *json)
{
    double median = one->device.seconds.median;
    json_object(json, NULL);
    json_text(json, "id", one->id);
    json_text(json, "unit",
              one->metric == BENCH_RTF ? "real-time factor" : "us a burst");
    json_bool(json, "skipped", one->skipped);
    put_peers(one, json);
    if (one->skipped) {
        /* a case without a figure has reached no limit */
        put_limit("limit", one->limit, INFINITY, json);
        json_text(json, "reason", one->reason);
        json_u64(json, "bytes_requested", one->bytes_requested);
        json_u64(json, "bytes_available", one->bytes_available);
        json_object_end(json);
        return;
    }
    json_number(json, "value", bench_case_value(one, median));
    json_number(json, "median_s", median); /* members that --compare reads */
    put_limit("limit", one->limit, bench_case_value(one, median), json);
    put_blocks("device", one, &one->device, json);
    put_blocks("cpu", one, &one->cpu, json);
    put_blocks("beside", one, &one->beside, json);
    json_u64(json, "neurons", one->neurons);
    json_u64(json, "synapses", one->synapses);
    json_number(json, "dt_ms", one->dt_ms);
    json_u64(json, "compared_bursts", one->checked_bursts);
    json_u64(json, "compared_spikes", one->checked_spikes);
    if (one->plan[0] != '\0')
        put_start(one, json);
    json_object_end(json);
}

void bench_cases_json(const bench_results *results, json_writer *json)
{
    for (uint32_t i = 0; i < results->n_cases; i++)
        put_case(&results->cases[i], json);
}

void bench_energy_json(const bench_results *results, json_writer *json)
{
    const bench_energy *energy = &results->energy;
    if (results->gpu.name[0] != '\0') {
        json_object(json, "gpu");
        json_u64(json, "index", results->gpu.index);
        json_text(json, "name", results->gpu.name);
        json_text(json, "capability", results->gpu.capability);
        json_u64(json, "memory_bytes", results->gpu.memory_bytes);
        json_text(json, "limits_are_for", limit_device);
        json_object_end(json);
    }
    if (!energy->wanted)
        return;
    json_object(json, "energy");
    json_text(json, "case", "microcircuit Poisson");
    json_text(json, "reason",
              energy->reason[0] != '\0' ? energy->reason : NULL);
    json_text(json, "matched", energy->matched);
    json_text(json, "driver", energy->driver);
    json_number(json, "seconds", energy->seconds);
    json_number(json, "joules", energy->joules);
    json_u64(json, "events", energy->events);
    json_number(json, "joules_per_event", energy->joules_per_event);
    json_number(json, "idle_w", energy->idle_w);
    json_number(json, "idle_share", energy->idle_share);
    json_number(json, "counter_step_s", energy->step_s);
    json_number(json, "counter_step_j", energy->step_j);
    if (energy->reason[0] == '\0')
        put_limit("limit", energy->limit, energy->joules_per_event, json);
    json_object_end(json);
}
