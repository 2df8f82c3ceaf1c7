/* SPDX-License-Identifier: Apache-2.0
 * Metrics of the monitor. docs/monitor.md has their table.
 */
#include "tools/monitor/monitor_metrics.h"

#include <stdint.h>
#include <string.h>

#include "base/memory.h"

typedef struct metric {
    const char *name; /* after volley_monitor_; counters end in _total */
    const char *help;
    double value;
} metric;

/* Returns the text with one more metric; frees the previous text. */
static char *with(char *text, const metric *of)
{
    const size_t n = strlen(of->name);
    const char *type =
        n > 6 && strcmp(of->name + n - 6, "_total") == 0 ? "counter" : "gauge";
    char *more = text ? vly_format("%s# HELP volley_monitor_%s %s\n"
                                   "# TYPE volley_monitor_%s %s\n"
                                   "volley_monitor_%s %.17g\n",
                                   text, of->name, of->help, of->name, type,
                                   of->name, of->value)
                      : NULL;
    vly_free(text);
    return more;
}

char *monitor_metrics(const run_monitor_figures *figures, bool watches)
{
    const vly_watcher_figures *w = &figures->watched;
    const vly_gate_usage *u = &figures->usage;
    const double spent_s = (double)u->spent_ns * 1e-9;
    const bool works = watches && w->failure.status == VLY_OK;
    const metric metrics[] = {
        {"up", "1: a model judges this run; 0: it failed or has ended.", works},
        {"paused", "1: paused by volley ctl.", u->paused},
        {"samples_total", "Samples that were read.", (double)w->samples},
        {"checked_records_total", "Records that rules looked at.",
         (double)w->checked},
        {"records_total", "Records that the model read.", (double)w->records},
        {"judged_records_total",
         "Of these, records with enough earlier ones to be judged.",
         (double)(w->records - w->early)},
        {"skipped_samples_total",
         "Records that the model did not read: it was late, or they were "
         "joined with the next one.",
         (double)w->skipped},
        {"hurried_records_total",
         "Of the records read, those by the second thread, because the first "
         "was late.",
         (double)w->hurried},
        {"lost_samples_total", "Samples written over before they were read.",
         (double)w->lost},
        {"tokens_total", "Tokens that the model read.", (double)w->tokens},
        {"anomalies_total", "Anomalies reported.", (double)w->anomalies},
        {"facts_total", "Anomalies reported by a rule.", (double)w->facts},
        {"score", "Score of the last record.", w->score},
        {"threshold", "Score from which a record is an anomaly.", w->threshold},
        {"behind_seconds", "Age of the last record when it was judged.",
         w->behind_s},
        {"budget_ratio", "Share of the time that the model may take.",
         u->budget},
        {"used_ratio", "Share of the time that it used.",
         run_monitor_share(figures)},
        {"spent_seconds_total", "Time that it used.", spent_s},
        {"steps_total", "Steps that the model made.", (double)u->steps},
        {"burst_waits_total", "Bursts that waited for a step.",
         (double)u->burst_waits},
        {"burst_wait_seconds_total", "Time that they waited.",
         (double)u->burst_wait_ns * 1e-9},
    };
    char *text = vly_strdup("");
    for (size_t i = 0; i < sizeof metrics / sizeof *metrics; i++)
        text = with(text, &metrics[i]);
    return text;
}
