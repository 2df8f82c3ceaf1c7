/* SPDX-License-Identifier: Apache-2.0
 * --pace: a burst waits until it is due, and what became of the schedule.
 */
#include <math.h>

#include "base/error.h"
#include "base/thread.h"
#include "tools/run/run_job.h"
#include "tools/run/run_pace.h"
#include "tools/run/run_part.h"

typedef struct pace_part {
    run_pace_policy policy; /* asked for */
    double rate_hz;         /* 0: that of the genome */
    run_pace pace;
} pace_part;

static pace_part *of(const run_job *job)
{
    return run_part_state(job, RUN_PART_pace);
}

static const tool_option options[] = {
    {"pace", 0, false, TOOL_CHOICE, "[slip|skip|stop]",
     "run in real time; the action after a missed deadline, default slip", 0,
     0},
    {"pace-hz", 0, false, TOOL_NUMBER, "N",
     "bursts a second; default: [run] rate_hz, that is 1000 / dt_ms", 1e-3,
     1e7},
    {NULL, 0, false, TOOL_FLAG, NULL, NULL, 0, 0}};

/* dt_ms is 1000 / rate_hz: recover the number of the genome. */
static double genome_rate(const vly_genome *genome)
{
    const double dt_ms = tool_genome_info(genome).dt_ms;
    double rate = 1000 / dt_ms;
    double whole = round(rate);
    bool exact = whole >= 1 && fabs(1000 / whole - dt_ms) <= 0;
    return exact ? whole : rate;
}

static vly_status read_pace(run_job *job, const tool_args *args,
                            vly_error *error)
{
    if (tool_has(args, "pace-hz") && !tool_has(args, "pace"))
        return vly_fail(error, VLY_E_INVALID,
                        "--pace-hz without --pace, wanted both");
    if (tool_has(args, "pace"))
        of(job)->policy = run_pace_policy_read(tool_text(args, "pace"));
    of(job)->rate_hz = tool_number(args, "pace-hz", 0);
    return VLY_OK;
}

static void start(run_job *job, uint64_t now_ns)
{
    pace_part *part = of(job);
    if (part->policy == RUN_PACE_NONE)
        return;
    if (part->rate_hz <= 0)
        part->rate_hz = genome_rate(job->build.genome);
    run_pace_begin(&part->pace, part->policy, part->rate_hz, now_ns);
}

static bool must_wake(void)
{
    return tool_signals_stopped() || run_parts_want();
}

static bool wait_for_time(run_job *job)
{
    if (of(job)->policy == RUN_PACE_NONE)
        return true;
    if (!run_pace_wait(&of(job)->pace, must_wake))
        return false;
    run_pace_started(&of(job)->pace, vly_clock_ns());
    return true;
}

/* The schedule, ignoring changes by missed deadlines. */
static uint64_t next_ns(const run_job *job)
{
    return of(job)->policy != RUN_PACE_NONE ? run_pace_due_ns(&of(job)->pace)
                                            : 0;
}

static bool goes_on(run_job *job)
{
    if (of(job)->policy == RUN_PACE_NONE ||
        run_pace_done(&of(job)->pace, vly_clock_ns()) ||
        of(job)->policy != RUN_PACE_STOP)
        return true;
    job->result.late = true;
    return false;
}

static void stood(run_job *job, uint64_t ns)
{
    of(job)->pace.origin_ns += ns;
}

/* ---- the summary -------------------------------------------------------- */

/* x / y, or 0 where there is nothing to divide by */
static double ratio(double x, double y)
{
    return y > 0.0 ? x / y : 0.0;
}

static void print_pace(const run_job *job)
{
    const run_pace *pace = &of(job)->pace;
    if (of(job)->policy == RUN_PACE_NONE)
        return;
    tool_print("pace              %g bursts/s, %s: %s of %s deadlines missed, "
               "%s skipped, %s slipped\n",
               pace->rate_hz, run_pace_policy_name(pace->policy),
               tool_thousands(pace->n_missed), tool_thousands(pace->n_bursts),
               tool_thousands(pace->n_skipped),
               tool_seconds((double)pace->slipped_ns * 1e-9));
    tool_print(
        "jitter            half below %s, 99%% below %s, most %s\n",
        tool_seconds((double)run_pace_jitter_below_us(pace, 0.5) * 1e-6),
        tool_seconds((double)run_pace_jitter_below_us(pace, 0.99) * 1e-6),
        tool_seconds((double)pace->jitter_max_ns * 1e-9));
}

/* null if the run was not paced */
static void put_pace(const run_job *job, json_writer *json)
{
    const run_pace *pace = &of(job)->pace;
    if (of(job)->policy == RUN_PACE_NONE) {
        json_text(json, "pace", NULL);
        return;
    }
    json_object(json, "pace");
    json_text(json, "policy", run_pace_policy_name(pace->policy));
    json_number(json, "pace_hz", pace->rate_hz);
    json_u64(json, "missed", pace->n_missed);
    json_u64(json, "skipped", pace->n_skipped);
    json_number(json, "slipped_s", (double)pace->slipped_ns * 1e-9);
    json_number(json, "jitter_mean_s",
                ratio(pace->jitter_sum_ns * 1e-9, (double)pace->n_bursts));
    json_number(json, "jitter_max_s", (double)pace->jitter_max_ns * 1e-9);
    json_array(json, "jitter");
    for (uint32_t b = 0; b < RUN_PACE_BINS; b++) {
        bool last = b == RUN_PACE_BINS - 1;
        if (pace->bins[b] == 0)
            continue;
        json_object(json, NULL);
        json_number(json, "below_s",
                    last ? INFINITY : (double)(UINT64_C(1) << b) * 1e-6);
        json_u64(json, "bursts", pace->bins[b]);
        json_object_end(json);
    }
    json_array_end(json);
    json_object_end(json);
}

const run_part run_part_pace = {
    .name = "pace",
    .state_bytes = sizeof(pace_part),
    .help = 6,
    .options = options,
    .read_more = read_pace,
    .start = start,
    .wait = wait_for_time,
    .next_ns = next_ns,
    .goes_on = goes_on,
    .stood = stood,
    .print = {[RUN_LINES] = print_pace},
    .json = {[RUN_MEMBERS] = put_pace},
};
