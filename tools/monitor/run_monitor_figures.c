/* SPDX-License-Identifier: Apache-2.0
 * What the monitor of a run did: the user reads what was looked at and what was
 * not, because only then does an alarm that did not come mean something.
 */
#include "tools/monitor/run_monitor_figures.h"

#include <math.h>
#include <stdio.h>

#include "monitor/tokens.h"
#include "tools/cli/tool.h"
#include "tools/watch/run_watch.h"

double run_monitor_share(const run_monitor_figures *figures)
{
    return figures->seconds > 0
               ? (double)figures->usage.spent_ns * 1e-9 / figures->seconds
               : 0;
}

/* Rounded down to one digit. */
static double one_digit(double x)
{
    const double unit = pow(10, floor(log10(x)));
    return floor(x / unit) * unit;
}

/* The settings that would have been enough, for a run with too few records.
 * More samples do not help if bursts are as long as samples, or below the
 * minimum of the option. */
static void put_way(const run_monitor_figures *figures, double wanted,
                    char *text, size_t capacity)
{
    const double records = (double)figures->watched.checked;
    const double asked = figures->every_ms;
    const double took = records > 0 ? figures->seconds * 1e3 / records : asked;
    const double least = RUN_WATCH_EVERY_LEAST_MS;
    const double every = figures->seconds * 1e3 / wanted;
    const double run_s = wanted * fmax(took, asked) * 1e-3;
    if (every < asked && every >= least && took < 1.5 * asked)
        snprintf(text, capacity,
                 "--telemetry-every %g (now %g ms), or a run of %.3g s, would "
                 "do",
                 one_digit(every), asked, run_s);
    else if (least < asked && every < least && took < 1.5 * asked)
        snprintf(text, capacity,
                 "a run of %.3g s, or of %.3g s with --telemetry-every %g (now "
                 "%g ms), would do",
                 run_s, wanted * least * 1e-3, least, asked);
    else
        snprintf(text, capacity, "a run of %.3g s would do", run_s);
}

bool run_monitor_unjudged(const run_monitor_figures *figures, char *text,
                          size_t capacity)
{
    const vly_watcher_figures *seen = &figures->watched;
    /* twice the records needed to learn the usual values: as many are judged
     * then */
    const double wanted = 2 * VLY_TOKENS_WARM;
    char way[160];
    put_way(figures, wanted, way, sizeof way);
    if (seen->records > seen->early)
        return false;
    if (seen->failure.status != VLY_OK)
        snprintf(text, capacity, "the model judged no record: %s",
                 seen->failure.message);
    else if (figures->usage.paused)
        snprintf(text, capacity,
                 "the model judged no record: it was paused; rules looked at "
                 "every one");
    else if (seen->early > VLY_TOKENS_WARM)
        snprintf(text, capacity,
                 "the model judged no record: it learns what is usual from the "
                 "first %d and from as many after each move of the net; a "
                 "longer run without a move is needed; rules looked at every "
                 "one",
                 VLY_TOKENS_WARM);
    else if (seen->checked >= (uint64_t)wanted && figures->usage.budget < 1 &&
             run_monitor_share(figures) >= figures->usage.budget / 2)
        snprintf(text, capacity,
                 "the model judged no record: it came to %llu of %llu, and the "
                 "first %d only tell what is usual; a --monitor-budget above "
                 "%g, or a longer run, would do; rules looked at every one",
                 (unsigned long long)seen->records,
                 (unsigned long long)seen->checked, VLY_TOKENS_WARM,
                 figures->usage.budget);
    else if (seen->checked >= (uint64_t)wanted)
        snprintf(text, capacity,
                 "the model judged no record: it came to %llu of %llu, and the "
                 "first %d only tell what is usual; a longer run, or one on "
                 "more cores, would do; rules looked at every one",
                 (unsigned long long)seen->records,
                 (unsigned long long)seen->checked, VLY_TOKENS_WARM);
    else
        snprintf(text, capacity,
                 "the model judged no record: of %llu the first %d only tell "
                 "what is usual; %s; rules looked at every one",
                 (unsigned long long)seen->records, VLY_TOKENS_WARM, way);
    return true;
}

void run_monitor_figures_json(const run_monitor_figures *figures,
                              json_writer *json)
{
    const vly_watcher_figures *seen = &figures->watched;
    const vly_gate_usage *usage = &figures->usage;
    char text[512];
    const bool judged = !run_monitor_unjudged(figures, text, sizeof text);
    json_u64(json, "samples", seen->samples);
    json_u64(json, "checked", seen->checked);
    json_u64(json, "records", seen->records);
    json_u64(json, "early", seen->early);
    json_u64(json, "judged", seen->records - seen->early);
    json_u64(json, "skipped", seen->skipped);
    json_u64(json, "lost", seen->lost);
    json_u64(json, "hurried", seen->hurried);
    json_u64(json, "tokens", seen->tokens);
    json_u64(json, "anomalies", seen->anomalies);
    json_u64(json, "anomalies_by_rule", seen->facts);
    json_number(json, "score", seen->score);
    json_number(json, "threshold", seen->threshold);
    json_number(json, "behind_s", seen->behind_s);
    json_number(json, "every_ms", figures->every_ms);
    json_number(json, "budget", usage->budget);
    json_number(json, "spent_s", (double)usage->spent_ns * 1e-9);
    json_number(json, "share", run_monitor_share(figures));
    json_number(json, "step_longest_s", (double)usage->longest_ns * 1e-9);
    json_u64(json, "burst_waits", usage->burst_waits);
    json_number(json, "burst_waited_s", (double)usage->burst_wait_ns * 1e-9);
    json_text(json, "priority", seen->background);
    json_text(json, "unjudged", judged ? NULL : text);
    json_text(json, "failure",
              seen->failure.status != VLY_OK ? seen->failure.message : NULL);
}

void run_monitor_figures_print(const run_monitor_figures *figures,
                               const char *device)
{
    const vly_watcher_figures *seen = &figures->watched;
    char text[512];
    tool_print(
        "monitor           %s anomal%s in %s record%s, %s by rules; "
        "%.2g%% of the time on %s\n",
        tool_thousands(seen->anomalies), seen->anomalies == 1 ? "y" : "ies",
        tool_thousands(seen->checked), seen->checked == 1 ? "" : "s",
        tool_thousands(seen->facts), 100 * run_monitor_share(figures), device);
    tool_print("                  rules looked at all of them; the model "
               "judged %s, %s are too early, %s it skipped\n",
               tool_thousands(seen->records - seen->early),
               tool_thousands(seen->early), tool_thousands(seen->skipped));
    if (run_monitor_unjudged(figures, text, sizeof text))
        tool_print("                  %s\n", text);
}
