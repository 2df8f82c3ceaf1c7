/* SPDX-License-Identifier: Apache-2.0
 * volley monitor report: a page of text from the folder of a run. What the
 * monitor said while it ran stands in monitor.jsonl. A run that was not watched
 * but left its telemetry is judged now, by a windowed Gaussian, and the page
 * says so.
 */
#include "tools/monitor/monitor_commands.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/error.h"
#include "base/memory.h"
#include "base/reading.h"
#include "tools/cli/columns.h"
#include "tools/cli/tool.h"
#include "tools/monitor/report.h"

static const tool_option options[] = {
    {"telemetry", 0, false, TOOL_TEXT, "FILE",
     "telemetry of this run; default: RUN/telemetry.jsonl, or the file of "
     "the run's --telemetry",
     0, 0},
    {"all", 0, false, TOOL_FLAG, NULL,
     "list all unusual records; default: the 20 most unusual", 0, 0},
    {NULL, 0, false, TOOL_FLAG, NULL, NULL, 0, 0}};

/* Unusual things, and areas, on a page. */
enum { SHOWN = 20, AREAS_SHOWN = 40 };
static const char *text_of(const json_value *value, const char *key,
                           tool_plain_text *copy)
{
    const char *text = json_find_text(value, key);
    return tool_plain(text ? text : "?", copy);
}

static uint64_t count_of(const json_value *value, const char *key)
{
    const double number = json_find_number(value, key, 0);
    return number >= 0 && number < 0x1p63 ? (uint64_t)number : 0;
}

/* ---- findings of the monitor --------------------------------------------- */

static void copy_text(char *to, size_t capacity, const json_value *from,
                      const char *key)
{
    const char *text = json_find_text(from, key);
    (void)snprintf(to, capacity, "%s", text ? text : "");
}

static vly_status read_anomaly(report *page, const char *line, const char *name,
                               vly_error *error)
{
    json_value value = {0};
    report_finding found = {.number = 1};
    vly_status status = VLY_OK;
    VLY_TRY(json_parse(line, name, &value, error));
    const json_value *what = json_find(&value, "anomaly");
    if (what && what->kind == JSON_OBJECT) {
        found.burst = found.last = count_of(&value, "burst");
        found.score = json_find_number(what, "score", 0);
        found.threshold = json_find_number(what, "threshold", 0);
        copy_text(found.time, sizeof found.time, &value, "time");
        copy_text(found.area, sizeof found.area, what, "area");
        copy_text(found.metric, sizeof found.metric, what, "metric");
        copy_text(found.channel, sizeof found.channel, what, "channel");
        copy_text(found.text, sizeof found.text, what, "text");
        copy_text(found.cause, sizeof found.cause, what, "cause");
        status = report_add(page, &found, error);
    }
    json_free(&value);
out:
    return status;
}

static vly_status read_monitor(report *page, const char *path, vly_error *error)
{
    vly_lines lines = {.path = path};
    char name[512];
    vly_status status = VLY_OK;
    VLY_TRY(vly_reading_open(path, VLY_READ_FILE, &lines.file, error));
    while ((status = vly_lines_next(&lines, error)) == VLY_OK && lines.n > 0) {
        if (lines.line[lines.n - 1] != '\n')
            break; /* cut: the run was killed */
        (void)snprintf(name, sizeof name, "%s (from line %" PRIu64 ")", path,
                       lines.number);
        status = read_anomaly(page, lines.line, name, error);
        if (status != VLY_OK)
            break;
    }
    vly_lines_deinit(&lines);
    (void)fclose(lines.file);
out:
    return status;
}

/* ---- where the telemetry is --------------------------------------------- */

/* Value of --telemetry in the command line of the run; NULL: none. Relative
 * paths start at the folder of the command, which is unknown. */
static const char *told_telemetry(const json_value *manifest)
{
    const json_value *command = json_find(manifest, "command");
    for (uint32_t i = 0; command && i + 1 < command->n_items; i++) {
        const char *word = command->items[i].text;
        if (word && strcmp(word, "--telemetry") == 0)
            return command->items[i + 1].text;
        if (word && strncmp(word, "--telemetry=", 12) == 0)
            return word + 12;
    }
    return NULL;
}

/* ---- the page -------------------------------------------------------------
 */

static void print_what_ran(const report *page)
{
    tool_plain_text copy;
    const json_value *m = &page->manifest;
    const json_value *s = &page->summary;
    const bool ended = s->kind == JSON_OBJECT;
    const double dt_ms = json_find_number(m, "dt_ms", 0);
    tool_print("WHAT RAN\n  genome     %s", text_of(m, "genome", &copy));
    if (ended && json_find_text(s, "title"))
        tool_print(" (%s)", text_of(s, "title", &copy));
    tool_print("\n  network    %s neurons, %s synapses, a burst is %g ms\n",
               tool_thousands(count_of(m, "neurons")),
               tool_thousands(count_of(m, "synapses")), dt_ms);
    if (ended) {
        tool_print("  backend    %s", text_of(s, "backend", &copy));
        tool_print(", %s\n", text_of(s, "device", &copy));
    }
    tool_print("  version    %s", text_of(m, "version", &copy));
    tool_print(" (%s)\n", text_of(m, "commit", &copy));
    if (json_find_text(m, "start"))
        tool_print("  started    %s\n", text_of(m, "start", &copy));
}

static void print_areas(const json_value *areas)
{
    tool_plain_text copy;
    const uint32_t n = areas ? areas->n_items : 0;
    if (n == 0)
        return;
    tool_print("\n  %-20s %12s %14s %10s\n", "area", "neurons", "spikes",
               "rate_hz");
    for (uint32_t i = 0; i < n && i < AREAS_SHOWN; i++) {
        const json_value *area = &areas->items[i];
        const char *id = text_of(area, "id", &copy);
        tool_print("  %-*s %12s %14s %10.3g%s\n", TOOL_COLUMN(id, 20),
                   tool_thousands(count_of(area, "neurons")),
                   tool_thousands(count_of(area, "spikes")),
                   json_find_number(area, "rate_hz", 0),
                   count_of(area, "spikes") == 0 ? "  silent" : "");
    }
    if (n > AREAS_SHOWN)
        tool_print("  and %u more areas\n", n - AREAS_SHOWN);
}

/* Moves of the net to other backends, by swaps or failures. */
static void print_moves(const json_value *moves, const char *what)
{
    tool_plain_text from;
    tool_plain_text to;
    tool_plain_text reason;
    const uint32_t n = moves && moves->kind == JSON_ARRAY ? moves->n_items : 0;
    for (uint32_t i = 0; i < n && i < SHOWN; i++) {
        const json_value *move = &moves->items[i];
        const bool done = json_find_text(move, "to") != NULL;
        tool_print("  %s  burst %s: %s to %s%s", what,
                   tool_thousands(count_of(move, "burst")),
                   text_of(move, "from", &from),
                   text_of(move, done ? "to" : "backend", &to),
                   done ? "" : ", which was not done");
        if (json_find_text(move, "reason"))
            tool_print(": %s", text_of(move, "reason", &reason));
        tool_print("\n");
    }
    if (n > SHOWN)
        tool_print("  and %u more\n", n - SHOWN);
}

static void print_losses(const json_value *s)
{
    const json_value *telemetry = json_find(s, "telemetry");
    const json_value *swaps = json_find(s, "swaps");
    const json_value *failovers = json_find(s, "failovers");
    if (telemetry && count_of(telemetry, "lost") > 0)
        tool_print("  telemetry  %s samples of %s were lost\n",
                   tool_thousands(count_of(telemetry, "lost")),
                   tool_thousands(count_of(telemetry, "samples")));
    print_moves(swaps, "swap     ");
    print_moves(failovers, "fail-over");
}

/* Which records were judged and which not. */
static void print_watched(const json_value *monitor)
{
    tool_plain_text copy;
    tool_print("  monitor    %s unusual in %s record%s of %g ms or more, %s by "
               "rules, which looked at all of them\n",
               tool_thousands(count_of(monitor, "anomalies")),
               tool_thousands(count_of(monitor, "checked")),
               count_of(monitor, "checked") == 1 ? "" : "s",
               json_find_number(monitor, "every_ms", 0),
               tool_thousands(count_of(monitor, "anomalies_by_rule")));
    tool_print("             the model judged %s, %s are too early, %s it "
               "skipped\n",
               tool_thousands(count_of(monitor, "judged")),
               tool_thousands(count_of(monitor, "early")),
               tool_thousands(count_of(monitor, "skipped")));
    if (json_find_text(monitor, "unjudged"))
        tool_print("             %s\n", text_of(monitor, "unjudged", &copy));
}

static void print_monitor(const json_value *s)
{
    tool_plain_text copy;
    const json_value *monitor = json_find(s, "monitor");
    if (!monitor || monitor->kind != JSON_OBJECT)
        return;
    if (json_find_text(monitor, "reason"))
        tool_print("  monitor    none: %s\n",
                   text_of(monitor, "reason", &copy));
    else
        print_watched(monitor);
    if (json_find_text(monitor, "failure"))
        tool_print("             it ended early: %s\n",
                   text_of(monitor, "failure", &copy));
}

static void print_how_it_went(const report *page)
{
    tool_plain_text copy;
    const json_value *s = &page->summary;
    tool_print("\nHOW IT WENT\n");
    report_end_print(page);
    if (s->kind != JSON_OBJECT)
        return;
    tool_print("  bursts     %s\n", tool_thousands(count_of(s, "bursts")));
    tool_print("  time       %s, real-time factor %.3g\n",
               tool_seconds(json_find_number(s, "wall_s", 0)),
               json_find_number(s, "rtf", 0));
    tool_print("  spikes     %s, synaptic events %s (%s/s)\n",
               tool_thousands(count_of(s, "spikes")),
               tool_thousands(count_of(s, "synaptic_events")),
               tool_rate_text(json_find_number(s, "events_per_s", 0)));
    tool_print("  digest     %s\n", text_of(s, "digest", &copy));
    if (json_find_number(s, "paused_s", 0) > 0)
        tool_print("  paused     %s on request; no record includes this time\n",
                   tool_seconds(json_find_number(s, "paused_s", 0)));
    print_losses(s);
    report_moves_print(page);
    print_monitor(s);
    print_areas(json_find(s, "areas"));
}

static int stranger(const void *a, const void *b)
{
    const report_finding *x = a;
    const report_finding *y = b;
    if (x->score != y->score)
        return x->score < y->score ? 1 : -1;
    return x->burst < y->burst ? -1 : x->burst > y->burst;
}

static int earlier(const void *a, const void *b)
{
    const report_finding *x = a;
    const report_finding *y = b;
    return x->burst < y->burst ? -1 : x->burst > y->burst;
}

static void print_finding(const report_finding *found)
{
    tool_plain_text copy;
    tool_print("\n  %s\n", tool_plain(found->text, &copy));
    tool_print("    when      %s, burst %s", tool_plain(found->time, &copy),
               tool_thousands(found->burst));
    if (found->last > found->burst)
        tool_print(" to %s (%u records)", tool_thousands(found->last),
                   found->number);
    tool_print("\n");
    if (found->area[0])
        tool_print("    area      %s\n", tool_plain(found->area, &copy));
    tool_print("    likely    %s\n",
               found->cause[0] ? tool_plain(found->cause, &copy)
                               : "no row of the table of causes fits");
    tool_print("    evidence  score %.1f, threshold %.1f", found->score,
               found->threshold);
    if (found->metric[0])
        tool_print(", by %s", tool_plain(found->metric, &copy));
    if (found->channel[0])
        tool_print(" (%s)", tool_plain(found->channel, &copy));
    if (found->evidence[0])
        tool_print("; in usual deviations: %s",
                   tool_plain(found->evidence, &copy));
    tool_print("\n");
}

static void print_unusual(report *page, bool all, const char *telemetry)
{
    uint32_t n = page->n_findings;
    const bool own = !page->watched && !page->other[0];
    tool_plain_text copy;
    tool_print("\nWHAT WAS UNUSUAL\n");
    const bool ended_badly = report_end_unusual(page);
    if (!page->watched && !telemetry) {
        tool_print("  not known: no monitor watched this run, and it left no "
                   "telemetry (--monitor,\n  --telemetry)\n");
        return;
    }
    if (!page->watched && page->summary.kind == JSON_OBJECT &&
        json_find_number(json_find(&page->summary, "monitor"), "checked", -1) >=
            0)
        tool_print("  The monitor watched this run, but its findings are "
                   "missing: there is no monitor.jsonl.\n"
                   "  ");
    else if (!page->watched)
        tool_print("  No monitor watched this run. ");
    else if (telemetry)
        tool_print(
            "  The monitor watched this run and reported %u unusual episode%s, "
            "which the page without\n"
            "  --telemetry shows. ",
            page->n_told, page->n_told == 1 ? "" : "s");
    if (telemetry && page->other[0])
        tool_print("This telemetry is not its own:\n  %s is of %s.\n  ",
                   tool_plain(telemetry, &copy), page->other);
    if (telemetry && page->cut)
        tool_print("Its last line is cut and was left out: later records are "
                   "unknown.\n"
                   "  ");
    if (telemetry && page->n_judged == 0) {
        tool_print("%s telemetry has no record that\n  could be judged.\n",
                   own ? "Its" : "That");
        return;
    }
    if (telemetry)
        tool_print("This is what a windowed Gaussian finds in %s\n  "
                   "telemetry, from %g deviations on.\n",
                   own ? "its" : "that", REPORT_UNUSUAL);
    if (n == 0) {
        tool_print("  nothing%s\n", ended_badly ? " else" : "");
        return;
    }
    if (!all && n > SHOWN) {
        qsort(page->findings, n, sizeof *page->findings, stranger);
        tool_print("  %u episodes; the %d most unusual:\n", n, SHOWN);
        n = SHOWN;
    }
    qsort(page->findings, n, sizeof *page->findings, earlier);
    for (uint32_t i = 0; i < n; i++)
        print_finding(&page->findings[i]);
}

/* ---- the command ----------------------------------------------------------
 */

/* *path NULL: the folder has no such file. */
static vly_status find(const char *folder, const char *name, char **path,
                       vly_error *error)
{
    *path = vly_format("%s/%s", folder, name);
    if (!*path)
        return vly_fail_nomem(error, strlen(folder), "a path");
    if (access(*path, F_OK) != 0) {
        vly_free(*path);
        *path = NULL;
    }
    return VLY_OK;
}

static vly_status load(report *page, vly_error *error)
{
    char *path = vly_format("%s/manifest.json", page->folder);
    if (!path)
        return vly_fail_nomem(error, strlen(page->folder), "a path");
    vly_status status = VLY_OK;
    if (access(path, F_OK) != 0)
        status = vly_fail(error,
                          errno == ENOENT || errno == ENOTDIR ? VLY_E_INVALID
                                                              : VLY_E_IO,
                          "%s: %s, wanted the folder of `volley run -o`", path,
                          strerror(errno));
    else
        status = json_load(path, &page->manifest, error);
    vly_free(path);
    if (status != VLY_OK)
        return status;
    status = report_end_find(page, error);
    /* a folder that is used again may have the summary of the earlier run */
    if (status != VLY_OK || !json_find_text(&page->manifest, "end") ||
        report_end_is(page, "refused"))
        return status;
    status = find(page->folder, "summary.json", &path, error);
    if (status == VLY_OK && path)
        status = json_load(path, &page->summary, error);
    vly_free(path);
    return status;
}

/* Findings of monitor.jsonl; with another telemetry only their number. */
static vly_status look_at_monitor(report *page, bool counts_only,
                                  vly_error *error)
{
    char *path = NULL;
    vly_status status = find(page->folder, "monitor.jsonl", &path, error);
    if (status != VLY_OK || !path)
        return status;
    page->watched = true;
    status = read_monitor(page, path, error);
    page->n_told = page->n_findings;
    if (counts_only)
        page->n_findings = 0;
    vly_free(path);
    return status;
}

/* Findings of monitor.jsonl, otherwise of telemetry. *telemetry: its file. */
static vly_status look(report *page, const char *given, char **telemetry,
                       vly_error *error)
{
    vly_status status = look_at_monitor(page, given != NULL, error);
    if (status != VLY_OK || (page->watched && !given))
        return status;
    if (!given)
        status = find(page->folder, "telemetry.jsonl", telemetry, error);
    const char *told = given ? given : told_telemetry(&page->manifest);
    if (status == VLY_OK && !*telemetry && told &&
        (given || access(told, F_OK) == 0)) {
        *telemetry = vly_strdup(told);
        if (!*telemetry)
            status = vly_fail_nomem(error, strlen(told), "a path");
    }
    if (status == VLY_OK && *telemetry)
        status = report_judge(page, *telemetry, error);
    return status;
}

static int run(const tool_args *args)
{
    vly_error error = VLY_ERROR_INIT;
    report page = {.folder = args->positional[0]};
    char *telemetry = NULL;
    vly_status status = load(&page, &error);
    if (status == VLY_OK)
        status = look(&page, tool_text(args, "telemetry"), &telemetry, &error);
    if (status == VLY_OK) {
        tool_plain_text copy;
        tool_print("REPORT of %s\n\n", tool_plain(page.folder, &copy));
        print_what_ran(&page);
        print_how_it_went(&page);
        print_unusual(&page, tool_has(args, "all"), telemetry);
    }
    json_free(&page.manifest);
    json_free(&page.summary);
    vly_free(page.findings);
    vly_free(telemetry);
    return status == VLY_OK ? TOOL_EXIT_DONE : tool_fail(&error);
}

const tool_command monitor_report = {
    .name = "monitor report",
    .arguments = "RUN",
    .summary = "Reports on a run: its course, unusual records, and likely "
               "causes.",
    .details =
        "RUN is the folder of `volley run -o`. Findings of the monitor "
        "(--monitor) are in its\n"
        "monitor.jsonl. Without them, or with --telemetry, a simpler "
        "detector judges the\n"
        "telemetry of the run now. Causes are likely ones, from the table "
        "in\n"
        "core/monitor/RECORDS.md.\n",
    .options = options,
    .n_positional_min = 1,
    .n_positional_max = 1,
    .run = run};
