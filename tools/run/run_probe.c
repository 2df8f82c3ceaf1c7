/* SPDX-License-Identifier: Apache-2.0
 * Probes and faults of a run.
 */
#include "tools/run/run_probe.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "base/writer.h"
#include "connectome/connectome.h"
#include "probe/probe.h"
#include "tools/cli/output_room.h"
#include "tools/run/run_job.h"
#include "tools/run/run_part.h"

static const tool_option options[] = {
    {"probe", 0, false, TOOL_TEXT, "POINT,...",
     "time calls, check, count: call.net_run, check, area.E, map.*, ...", 0, 0},
    {"probe-out", 0, false, TOOL_TEXT, "FILE",
     "write results of probes as JSON; - is stdout", 0, 0},
    {"inject", 0, true, TOOL_TEXT, "FAULT",
     "inject a fault at the backend: slow:at=2000,factor=3", 0, 0},
    {NULL, 0, false, TOOL_FLAG, NULL, NULL, 0, 0}};

static const char *only_plugin;

typedef struct probe_part {
    run_probe_plan plan;
    vly_probe *probe;    /* NULL: none */
    vly_writer *claimed; /* --probe-out */
} probe_part;

static probe_part *of(const run_job *job)
{
    return run_part_state(job, RUN_PART_probe);
}

const char *run_probe_place(const run_job *job, uint64_t burst,
                            const char *asked)
{
    return vly_probe_place(of(job)->probe, burst, asked);
}

void run_probe_clock(const run_job *job, int64_t *wall_ns, int64_t *steady_ns)
{
    vly_probe_clock(of(job)->probe, wall_ns, steady_ns);
}

static void plan_deinit(run_probe_plan *plan)
{
    vly_free(plan->faults);
    *plan = (run_probe_plan){0};
}

void run_probe_only(const char *plugin)
{
    only_plugin = plugin;
}

static vly_status read_options(run_job *job, const tool_args *args,
                               vly_error *error)
{
    run_probe_plan *plan = &of(job)->plan;
    const char *text;
    *plan = (run_probe_plan){.points = tool_text(args, "probe"),
                             .only = only_plugin,
                             .out = tool_text(args, "probe-out")};
    plan->faults = vly_calloc((size_t)args->n_values + 1, sizeof *plan->faults);
    if (!plan->faults)
        return vly_fail_nomem(error, args->n_values * sizeof *plan->faults,
                              "faults");
    while ((text = tool_text_at(args, "inject", plan->n_faults)) != NULL)
        plan->faults[plan->n_faults++] = text;
    if (plan->out && !plan->points && plan->n_faults == 0) {
        plan_deinit(plan);
        return vly_fail(error, VLY_E_INVALID,
                        "--probe-out without --probe and --inject, wanted one "
                        "of them");
    }
    return VLY_OK;
}

/* The option a message is about. */
static vly_status named(const char *option, const vly_error *why,
                        vly_error *error)
{
    if (why->status == VLY_E_INVALID)
        return vly_fail(error, why->status, "--%s %.900s", option,
                        why->message);
    *error = *why;
    return why->status;
}

/* Points are parsed alone first, so that a message names the right option. */
static vly_status create(const run_probe_plan *plan, vly_probe **probe,
                         vly_error *error)
{
    vly_error why = VLY_ERROR_INIT;
    vly_probe_plan wanted = {.points = plan->points, .only = plan->only};
    vly_probe *made = NULL;
    if (vly_probe_create(&wanted, &made, &why) != VLY_OK)
        return named("probe", &why, error);
    vly_probe_destroy(made);
    wanted.faults = plan->faults;
    wanted.n_faults = plan->n_faults;
    if (vly_probe_create(&wanted, probe, &why) != VLY_OK)
        return named("inject", &why, error);
    return VLY_OK;
}

static vly_status attach(run_job *job, vly_error *error)
{
    const run_probe_plan *plan = &of(job)->plan;
    vly_status status = VLY_OK;
    if (!plan->points && plan->n_faults == 0)
        return VLY_OK;
    VLY_TRY(output_probe(plan->out, error));
    VLY_TRY(create(plan, &of(job)->probe, error));
    status = vly_probe_attach(of(job)->probe, job->registry, error);
out:
    return status;
}

static vly_status check(run_job *job, vly_error *error)
{
    vly_error why = VLY_ERROR_INIT;
    if (vly_probe_fits(of(job)->probe, &job->build.connectome->desc, &why) ==
        VLY_OK)
        return VLY_OK;
    return named("probe", &why, error);
}

static bool found(const run_job *job)
{
    vly_probe_checked checked;
    for (uint32_t k = 0; vly_probe_checked_get(of(job)->probe, k, &checked);
         k++)
        if (checked.failed != 0)
            return true;
    return false;
}

static vly_status claim(run_job *job, vly_error *error)
{
    probe_part *part = of(job);
    return part->probe ? run_files_claim(part->plan.out, &part->claimed, error)
                       : VLY_OK;
}

static void deinit(run_job *job)
{
    probe_part *part = of(job);
    vly_writer_abandon(part->claimed);
    vly_probe_destroy(part->probe);
    plan_deinit(&part->plan);
}

/* ---- JSON --------------------------------------------------------------- */

static bool is_time(const vly_probe_series *series)
{
    return strcmp(series->unit, "ns") == 0;
}

/* The largest value of bin k. */
static double bin_most(uint32_t k)
{
    return k == 0 ? 0 : exp2((double)k) - 1;
}

static void put_series(const vly_probe_series *series, json_writer *json)
{
    /* times in seconds, as everywhere */
    const double scale = is_time(series) ? 1e-9 : 1;
    json_object(json, NULL);
    json_text(json, "point", series->point);
    json_text(json, "backend",
              series->backend[0] != '\0' ? series->backend : NULL);
    json_text(json, "unit", is_time(series) ? "s" : series->unit);
    json_u64(json, "count", series->count);
    json_u64(json, "failed", series->failed);
    json_number(json, "sum", (double)series->sum * scale);
    json_number(json, "mean",
                series->count != 0
                    ? (double)series->sum * scale / (double)series->count
                    : NAN);
    json_number(json, "most", (double)series->most * scale);
    json_u64(json, "most_burst", series->most_burst);
    json_array(json, "bins");
    for (uint32_t k = 0; k < VLY_PROBE_BINS; k++) {
        if (series->bins[k] == 0)
            continue;
        json_object(json, NULL);
        json_number(json, "most", bin_most(k) * scale);
        json_u64(json, "count", series->bins[k]);
        json_object_end(json);
    }
    json_array_end(json);
    json_object_end(json);
}

static void put_checks(const run_job *job, json_writer *json)
{
    vly_probe_checked checked;
    json_array(json, "checks");
    for (uint32_t k = 0; vly_probe_checked_get(of(job)->probe, k, &checked);
         k++) {
        const bool bad = checked.failed != 0;
        json_object(json, NULL);
        json_text(json, "check", checked.name);
        json_u64(json, "looked", checked.looked);
        json_u64(json, "failed", checked.failed);
        json_number(json, "first_burst", bad ? (double)checked.burst : NAN);
        json_text(json, "first", bad ? checked.what : NULL);
        json_object_end(json);
    }
    json_array_end(json);
}

static void put_faults(const run_job *job, json_writer *json)
{
    vly_probe_injected fault;
    json_array(json, "faults");
    for (uint32_t k = 0; vly_probe_injected_get(of(job)->probe, k, &fault);
         k++) {
        const bool acted = fault.times != 0;
        json_object(json, NULL);
        json_text(json, "fault", fault.text);
        json_u64(json, "times", fault.times);
        json_number(json, "began", acted ? (double)fault.began : NAN);
        json_number(json, "last", acted ? (double)fault.last : NAN);
        json_text(json, "what", acted ? fault.what : NULL);
        json_object_end(json);
    }
    json_array_end(json);
}

static void put_members(const run_job *job, json_writer *json)
{
    vly_probe_series series;
    json_array(json, "points");
    for (uint32_t k = 0; vly_probe_series_get(of(job)->probe, k, &series); k++)
        put_series(&series, json);
    json_array_end(json);
    put_checks(job, json);
    put_faults(job, json);
}

static void put(const run_job *job, json_writer *json)
{
    if (!of(job)->probe)
        return;
    json_object(json, "probes");
    put_members(job, json);
    json_object_end(json);
}

static vly_status save(run_job *job, vly_error *error)
{
    json_writer json;
    size_t n_text = 0;
    vly_status status = VLY_OK;
    if (!of(job)->probe || !of(job)->plan.out)
        return VLY_OK;
    json_init(&json, true);
    json_object(&json, NULL);
    json_text(&json, "genome", job->plan.path);
    json_text(&json, "backend", job->result.stats.backend);
    json_u64(&json, "bursts", vly_net_burst(job->net));
    json_hex(&json, "digest", job->result.digest);
    put_members(job, &json);
    json_object_end(&json);
    const char *text = json_finish(&json, &n_text);
    if (!text)
        status = vly_fail_nomem(error, json.capacity, "what probes saw");
    else
        status = run_files_save(&of(job)->claimed, of(job)->plan.out, text,
                                n_text, error);
    json_deinit(&json);
    return status;
}

/* ---- the summary -------------------------------------------------------- */

static const char *value_text(const vly_probe_series *series, double value)
{
    return is_time(series) ? tool_seconds(value * 1e-9)
                           : tool_number_text(floor(value * 100 + 0.5) / 100);
}

/* The quantile of a share, from the bins. */
static double quantile(const vly_probe_series *series, double share)
{
    uint64_t below = 0;
    for (uint32_t k = 0; k < VLY_PROBE_BINS; k++) {
        below += series->bins[k];
        if ((double)below >= share * (double)series->count)
            return bin_most(k) < (double)series->most ? bin_most(k)
                                                      : (double)series->most;
    }
    return (double)series->most;
}

static void print_series(const vly_probe_series *series)
{
    char failed[48] = "";
    if (series->failed != 0)
        (void)snprintf(failed, sizeof failed, ", %s failed",
                       tool_thousands(series->failed));
    tool_print("probe             %s%s%s: %s%s, mean %s, 99%% below %s, most "
               "%s (burst %s)%s\n",
               series->backend, series->backend[0] != '\0' ? " " : "",
               series->point, tool_thousands(series->count),
               is_time(series) ? "" : " bursts",
               value_text(series, (double)series->sum / (double)series->count),
               value_text(series, quantile(series, 0.99)),
               value_text(series, (double)series->most),
               tool_thousands(series->most_burst), failed);
}

static void print_checks(const run_job *job)
{
    vly_probe_checked checked;
    uint64_t looked = 0;
    uint32_t n = 0;
    uint32_t bad = 0;
    for (; vly_probe_checked_get(of(job)->probe, n, &checked); n++) {
        looked += checked.looked;
        if (checked.failed == 0)
            continue;
        bad++;
        tool_print("check             %s: %s of %s failed, first at burst %s: "
                   "%s\n",
                   checked.name, tool_thousands(checked.failed),
                   tool_thousands(checked.looked),
                   tool_thousands(checked.burst), checked.what);
    }
    if (n != 0)
        tool_print("checks            %u kinds, %s looks, %u kinds failed\n", n,
                   tool_thousands(looked), bad);
}

static void print(const run_job *job)
{
    vly_probe_series series;
    vly_probe_injected fault;
    if (!of(job)->probe)
        return;
    for (uint32_t k = 0; vly_probe_series_get(of(job)->probe, k, &series); k++)
        if (series.count != 0)
            print_series(&series);
    print_checks(job);
    for (uint32_t k = 0; vly_probe_injected_get(of(job)->probe, k, &fault);
         k++) {
        if (fault.times == 0)
            tool_print("fault             %s: it never began\n", fault.text);
        else
            tool_print("fault             %s: from burst %s to %s: %s\n",
                       fault.text, tool_thousands(fault.began),
                       tool_thousands(fault.last), fault.what);
    }
}

static const char *output(const run_job *job, uint32_t k)
{
    return k == 0 ? of(job)->plan.out : NULL;
}

/* It compares events with lengths of rows. */
static bool whole(const run_job *job)
{
    const run_probe_plan *plan = &of(job)->plan;
    return plan->points || plan->n_faults > 0;
}

const run_part run_part_probe = {
    .name = "probes",
    .state_bytes = sizeof(probe_part),
    .help = 13,
    .options = options,
    .read_more = read_options,
    .output = output,
    .at = {[RUN_ATTACH] = attach,
           [RUN_FIT] = check,
           [RUN_OPEN] = claim,
           [RUN_SAVE] = save},
    .print = {[RUN_LINES] = print},
    .json = {[RUN_MEMBERS] = put},
    .found = found,
    .whole = whole,
    .close = deinit,
};
