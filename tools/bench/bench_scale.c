/* SPDX-License-Identifier: Apache-2.0
 * Suite scale: the model beside what was measured on 1, 2 and 4 devices, its
 * predictions for more, published figures, and one rank replayed.
 */
#include "tools/bench/bench_scale.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "tools/cli/tool.h"

#define WITHIN 0.2 /* wanted of a prediction */

/* ---- rows that were measured --------------------------------------------- */

typedef struct scale_check {
    int fact;
    uint32_t devices;
    double neurons;
    double share;
    const char *note; /* a parameter comes from it, or why it is off */
} scale_check;

static const char from_it[] = "gives a parameter";
static const scale_check checks[] = {
    {SCALE_D1_1M, 1, 1e6, 0.01, from_it},
    {SCALE_D1_1M_10, 1, 1e6, 0.1, from_it},
    {SCALE_D1_2M, 1, 2e6, 0.01, ""},
    {SCALE_D1_4M, 1, 4e6, 0.01, ""},
    {SCALE_D1_4M_10, 1, 4e6, 0.1, ""},
    {SCALE_D2_1M, 2, 1e6, 0.01, ""},
    {SCALE_D2_1M_10, 2, 1e6, 0.1, ""},
    {SCALE_D2_4M, 2, 4e6, 0.01, ""},
    {SCALE_D2_4M_10, 2, 4e6, 0.1, ""},
    {SCALE_D2_16M, 2, 16e6, 0.01, from_it},
    {SCALE_D4_1M, 4, 1e6, 0.01, ""},
    {SCALE_D4_1M_10, 4, 1e6, 0.1, ""},
    {SCALE_D4_4M, 4, 4e6, 0.01, ""},
    {SCALE_D4_4M_10, 4, 4e6, 0.1, ""},
};
enum { N_CHECKS = sizeof checks / sizeof checks[0] };

static scale_time check_time(const bench_scale *scale, const scale_check *check)
{
    const scale_net net = {check->neurons, 1000.0, check->share};
    const scale_machine machine = {.devices = check->devices, .hosts = 1};
    return scale_predict(&scale->params, &net, &machine);
}

/* single: with the term of synapses that are read singly */
static double check_error(const scale_check *check, const scale_time *time,
                          bool single)
{
    const double us = single ? time->total : time->total - time->single;
    return us / scale_facts[check->fact].value - 1.0;
}

/* Rows that gave no parameter. */
static uint32_t count_checks(void)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < N_CHECKS; i++)
        n += checks[i].note != from_it;
    return n;
}

static uint32_t count_within(const bench_scale *scale)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < N_CHECKS; i++) {
        const scale_time time = check_time(scale, &checks[i]);
        n += checks[i].note != from_it &&
             fabs(check_error(&checks[i], &time, true)) <= WITHIN;
    }
    return n;
}

static void checks_print(const bench_scale *scale, bool markdown)
{
    tool_print(markdown ? "\n| devices | case | measured, us | predicted | "
                          "error | without single reads | |\n"
                          "|---|---|---|---|---|---|---|\n"
                        : "\ndevices  case              measured  predicted    "
                          "error  without single\n");
    for (uint32_t i = 0; i < N_CHECKS; i++) {
        const scale_check *check = &checks[i];
        const scale_time time = check_time(scale, check);
        const scale_fact *fact = &scale_facts[check->fact];
        const double error = check_error(check, &time, true);
        const double other = check_error(check, &time, false);
        const char *miss = fabs(error) > WITHIN ? "over 20%: " : "";
        char text[2][16];
        snprintf(text[0], sizeof text[0], "%+.0f%%", 100.0 * error);
        snprintf(text[1], sizeof text[1], "%+.0f%%", 100.0 * other);
        tool_print(markdown ? "| %u | %s | %.2f | %.1f | %s | %s | %s%s |\n"
                            : "%7u  %-16s %9.2f %10.1f %8s %14s  %s%s\n",
                   check->devices, fact->id, fact->value, time.total, text[0],
                   text[1], miss, check->note);
    }
    tool_print(
        "\nOf %u rows that gave no parameter %u are within 20%%. One H100 "
        "or several of one host;\nmicroseconds a burst. without single: "
        "with parts of one device only; no network on\none device reads "
        "synapses singly, so that part comes from 16M on two.\n",
        count_checks(), count_within(scale));
}

/* ---- predictions --------------------------------------------------------- */

typedef struct scale_case {
    const char *id;
    scale_net net; /* neurons: in all, or of a device */
    bool weak;
} scale_case;

static const scale_case cases[] = {
    {"1M x1000 1%", {1e6, 1000.0, 0.01}, false},
    {"4M x1000 1%", {4e6, 1000.0, 0.01}, false},
    {"16M x1000 1%", {16e6, 1000.0, 0.01}, false},
    {"1M x1000 1% a device", {1e6, 1000.0, 0.01}, true},
    {"4M x1000 1% a device", {4e6, 1000.0, 0.01}, true},
    {"16M x1000 1% a device", {16e6, 1000.0, 0.01}, true},
    {"500k x1000 0.05% a device", {5e5, 1000.0, 0.0005}, true},
};
enum { N_CASES = sizeof cases / sizeof cases[0] };

enum { MACHINES = 16 };

/* 1, 2, 4 ... devices of one host, then 2, 16, 128 ... hosts of as many. */
static uint32_t list_machines(const bench_scale *scale,
                              scale_machine list[MACHINES])
{
    const scale_machine *most = &scale->machine;
    uint32_t n = 0;
    for (uint32_t d = 1; d < most->devices && n < MACHINES; d *= 2) {
        list[n] = *most;
        list[n].devices = d;
        list[n++].hosts = 1;
    }
    for (uint32_t h = 1; h < most->hosts && n < MACHINES - 1;
         h *= h == 1 ? 2 : 8) {
        list[n] = *most;
        list[n++].hosts = h;
    }
    list[n++] = *most;
    return n;
}

static scale_time case_time(const bench_scale *scale, const scale_case *one,
                            const scale_machine *machine, double *neurons)
{
    scale_net net = one->net;
    if (one->weak)
        net.neurons *= (double)machine->devices * machine->hosts;
    *neurons = net.neurons;
    return scale_predict(&scale->params, &net, machine);
}

static void machine_text(const scale_machine *machine, char text[24])
{
    if (machine->hosts == 1)
        snprintf(text, 24, "%u", machine->devices);
    else
        snprintf(text, 24, "%u x %u", machine->hosts, machine->devices);
}

static void cell_print(bool markdown, const char *text)
{
    tool_print(markdown ? " %s |" : " %10s", text);
}

static void case_print(const bench_scale *scale, const scale_case *one,
                       const scale_machine *list, uint32_t n, bool markdown)
{
    double neurons = 0.0;
    tool_print(markdown ? "| %s |" : "%-26s", one->id);
    for (uint32_t i = 0; i < n; i++) {
        char text[24];
        const scale_time time = case_time(scale, one, &list[i], &neurons);
        if (time.reason)
            snprintf(text, sizeof text, "%s",
                     strcmp(time.reason, "no room") == 0 ? "no room" : "-");
        else
            snprintf(text, sizeof text, time.total < 100.0 ? "%.1f" : "%.0f",
                     time.total);
        cell_print(markdown, text);
    }
    tool_print("\n");
}

static void cases_print(const bench_scale *scale, bool markdown)
{
    scale_machine list[MACHINES];
    const uint32_t n = list_machines(scale, list);
    char text[24];
    tool_print(
        "\nPredicted, H100, microseconds a burst; hosts x devices, delay "
        "1.\n\n");
    tool_print(markdown ? "| case |" : "%-26s", "case");
    for (uint32_t i = 0; i < n; i++) {
        machine_text(&list[i], text);
        cell_print(markdown, text);
    }
    tool_print(markdown ? "\n|---|" : "\n");
    for (uint32_t i = 0; markdown && i < n; i++)
        tool_print("---|");
    tool_print(markdown ? "\n" : "");
    tool_print(markdown ? "| microcircuit |" : "%-26s", "microcircuit");
    snprintf(text, sizeof text, "%.2f", scale_facts[SCALE_MICROCIRCUIT].value);
    for (uint32_t i = 0; i < n; i++)
        cell_print(markdown, text);
    tool_print("\n");
    for (uint32_t i = 0; i < N_CASES; i++)
        case_print(scale, &cases[i], list, n, markdown);
    tool_print(
        "\nThe microcircuit takes one device. no room: rows and index exceed a "
        "device, or its\nneurons exceed the shared memory of its blocks. -: "
        "over 2^32 neurons, or too few for a\ndevice. State is not counted. "
        "Hosts are assumed to have %g us a message and\n%g GB/s a device; that "
        "a rank has several devices is a plan: today it has\none.\n",
        scale->machine.latency_us, scale->machine.net_bytes_us / 1e3);
}

/* ---- others -------------------------------------------------------------- */

/* The balanced network of NEST GPU's weak scaling: in-degree 11,250; 8.4 Hz are
 * assumed, its rate is not in the published data. */
static const struct {
    int fact;
    uint32_t devices; /* 8 a host */
    double own;       /* neurons of a device */
} balanced[] = {
    {SCALE_BALANCED_128, 128, 337500.0},
    {SCALE_BALANCED_1024, 1024, 337500.0},
    {SCALE_BALANCED_225_128, 128, 225000.0},
    {SCALE_BALANCED_225_1024, 1024, 225000.0},
    {SCALE_BALANCED_112_128, 128, 112500.0},
    {SCALE_BALANCED_112_1024, 1024, 112500.0},
};

/* The prediction for as many devices; 0: none. */
static double beside_us(const bench_scale *scale, int fact)
{
    scale_machine machine = scale->machine;
    machine.devices = 8;
    for (size_t i = 0; i < sizeof balanced / sizeof balanced[0]; i++) {
        if (balanced[i].fact != fact)
            continue;
        const scale_net net = {balanced[i].own * balanced[i].devices, 11250.0,
                               8.4e-4};
        machine.hosts = balanced[i].devices / machine.devices;
        const scale_time time = scale_predict(&scale->params, &net, &machine);
        return !time.reason ? time.total : 0.0;
    }
    return 0.0;
}

static void others_print(const bench_scale *scale, bool markdown)
{
    tool_print("\nPublished by others: real-time factor at steps of 0.1 ms. "
               "Beside NEST GPU's balanced\nnetwork a prediction for as many "
               "H100, 8 a host, 8.4 Hz assumed: neurons and synapses\nare "
               "theirs, but with delay 1 and lif_psc_delta. Sizes or rates of "
               "the others are not\nin what was published.\n\n");
    if (markdown)
        tool_print("| network | by | on | factor | us a step | predicted, us "
                   "|\n|---|---|---|---|---|---|\n");
    else
        tool_print("%-38s %-9s %-10s %7s %10s %10s\n", "network", "by", "on",
                   "factor", "us a step", "predicted");
    for (int i = SCALE_BALANCED_128; i < SCALE_N_FACTS; i++) {
        const scale_fact *fact = &scale_facts[i];
        const double us = beside_us(scale, i);
        char text[24] = "";
        if (us > 0.0)
            snprintf(text, sizeof text, "%.0f", us);
        tool_print(markdown ? "| %s | %s | %s | %g | %.0f | %s |\n"
                            : "%-38s %-9s %-10s %7g %10.0f %10s\n",
                   fact->id, fact->variant, fact->machine, fact->value,
                   100.0 * fact->value, text);
    }
}

static void replay_print(const bench_scale *scale)
{
    const scale_replay *replay = &scale->replay;
    if (!replay->done)
        return;
    const double us = scale_network_us(&scale->params, &scale->machine,
                                       replay->message_bytes);
    tool_print(
        "\nRank %u of %u alone, on this machine: what its burst takes is "
        "measured (above). Messages\nbetween hosts add %.1f us by the "
        "assumed network.\n",
        replay->rank, replay->n_ranks, us);
}

void bench_scale_print(const bench_results *results, bool markdown)
{
    const bench_scale *scale = results->scale;
    if (!scale)
        return;
    checks_print(scale, markdown);
    cases_print(scale, markdown);
    others_print(scale, markdown);
    replay_print(scale);
}

/* ---- JSON ---------------------------------------------------------------- */

static void params_json(const bench_scale *scale, json_writer *json)
{
    const scale_params *p = &scale->params;
    json_object(json, "parameters");
    json_number(json, "fixed_us", p->fixed);
    json_number(json, "update_us_million", p->update);
    json_number(json, "copy_us_million", p->copy);
    json_number(json, "lookup_us_million", p->lookup);
    json_number(json, "single_us_million", p->single);
    json_number(json, "row_bytes_per_s", 1e6 * p->bytes_per_us);
    json_number(json, "span_us", p->span);
    json_number(json, "span_more_us", p->span_more);
    json_number(json, "link_bytes_per_s", 1e6 * p->link_bytes_us);
    json_number(json, "hop_us", p->hop);
    json_number(json, "gather_us", p->gather);
    json_number(json, "net_latency_us", scale->machine.latency_us);
    json_number(json, "net_bytes_per_s", 1e6 * scale->machine.net_bytes_us);
    json_object_end(json);
}

static void checks_json(const bench_scale *scale, json_writer *json)
{
    json_array(json, "checks");
    for (uint32_t i = 0; i < N_CHECKS; i++) {
        const scale_fact *fact = &scale_facts[checks[i].fact];
        const scale_time time = check_time(scale, &checks[i]);
        json_object(json, NULL);
        json_u64(json, "devices", checks[i].devices);
        json_text(json, "case", fact->id);
        json_text(json, "state", fact->state);
        json_number(json, "measured_us", fact->value);
        json_number(json, "predicted_us", time.total);
        json_number(json, "error", check_error(&checks[i], &time, true));
        json_number(json, "error_without_single",
                    check_error(&checks[i], &time, false));
        json_bool(json, "gives_parameter", checks[i].note == from_it);
        json_object_end(json);
    }
    json_array_end(json);
    json_u64(json, "n_checks", count_checks());
    json_u64(json, "n_within_20", count_within(scale));
}

static void prediction_json(const bench_scale *scale, const scale_case *one,
                            const scale_machine *machine, json_writer *json)
{
    double neurons = 0.0;
    const scale_time time = case_time(scale, one, machine, &neurons);
    json_object(json, NULL);
    json_text(json, "case", one->id);
    json_u64(json, "devices", machine->devices);
    json_u64(json, "hosts", machine->hosts);
    json_number(json, "neurons", neurons);
    json_text(json, "reason", time.reason);
    if (!time.reason) {
        json_number(json, "us", time.total);
        json_number(json, "update_us", time.update);
        json_number(json, "delivery_us", time.delivery + time.single);
        json_number(json, "exchange_us", time.exchange);
        json_number(json, "network_us", time.network);
        json_number(json, "device_bytes", time.bytes);
        json_u64(json, "slices", time.slices);
    }
    json_object_end(json);
}

static void published_json(const bench_scale *scale, json_writer *json)
{
    json_array(json, "published");
    for (int i = SCALE_BALANCED_128; i < SCALE_N_FACTS; i++) {
        const scale_fact *fact = &scale_facts[i];
        const double us = beside_us(scale, i);
        json_object(json, NULL);
        json_text(json, "case", fact->id);
        json_text(json, "by", fact->variant);
        json_text(json, "machine", fact->machine);
        json_number(json, "real_time_factor", fact->value);
        if (us > 0.0)
            json_number(json, "predicted_us", us);
        json_object_end(json);
    }
    json_array_end(json);
}

void bench_scale_json(const bench_results *results, json_writer *json)
{
    const bench_scale *scale = results->scale;
    scale_machine list[MACHINES];
    if (!scale)
        return;
    const uint32_t n = list_machines(scale, list);
    json_object(json, "scale");
    params_json(scale, json);
    checks_json(scale, json);
    json_number(json, "microcircuit_us", /* takes one device of any number */
                scale_facts[SCALE_MICROCIRCUIT].value);
    json_array(json, "predictions");
    for (uint32_t i = 0; i < N_CASES; i++)
        for (uint32_t k = 0; k < n; k++)
            prediction_json(scale, &cases[i], &list[k], json);
    json_array_end(json);
    published_json(scale, json);
    json_object_end(json);
}

/* ---- the suite ----------------------------------------------------------- */

vly_status bench_scale_run(const bench_options *options, bench_results *results,
                           vly_error *error)
{
    bench_scale *scale = vly_calloc(1, sizeof *scale);
    if (!scale)
        return vly_fail_nomem(error, sizeof *scale, "predictions");
    results->scale = scale;
    scale->machine = (scale_machine){
        .devices = options->devices,
        .hosts = options->hosts,
        .latency_us = options->net_latency_us > 0.0 ? options->net_latency_us
                                                    : SCALE_LATENCY_US,
        .net_bytes_us =
            1e3 * (options->net_gbs > 0.0 ? options->net_gbs : SCALE_NET_GBS)};
    scale_params_init(&scale->params);
    if (options->hosts == 1) /* there is no rank but one */
        return VLY_OK;
    return scale_replay_run(options, results, error);
}

void bench_scale_free(bench_results *results)
{
    vly_free(results->scale);
    results->scale = NULL;
}
