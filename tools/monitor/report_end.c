/* SPDX-License-Identifier: Apache-2.0
 * How a run ended, on the page of `monitor report`. A run that was killed
 * cannot say so; the page says what its files have, and what follows from that.
 */
#include "tools/monitor/report.h"

#include <stdio.h>
#include <string.h>

#include "tools/cli/tool.h"

static uint64_t count_of(const json_value *value, const char *key)
{
    const double number = json_find_number(value, key, 0);
    return number >= 0 && number < 0x1p63 ? (uint64_t)number : 0;
}

vly_status report_end_find(report *page, vly_error *error)
{
    report_end *end = &page->end;
    const char *reason = json_find_text(&page->manifest, "exit_reason");
    (void)snprintf(end->state, sizeof end->state, "%s",
                   reason ? reason : "running");
    if (strcmp(end->state, "running") != 0)
        return VLY_OK;
    if (!folder_is_locked(page->folder))
        (void)snprintf(end->state, sizeof end->state, "killed");
    return folder_end_read(page->folder, &end->left, error);
}

bool report_end_is(const report *page, const char *state)
{
    return strcmp(page->end.state, state) == 0;
}

/* ---- output -------------------------------------------------------------- */

static void print_likely(const folder_end *end)
{
    tool_plain_text copy;
    char text[640];
    if (folder_likely(end, text, sizeof text))
        tool_print("  likely     %s\n", tool_plain(text, &copy));
    else
        tool_print(
            "  likely     killed (kill -9, the system out of memory, a "
            "machine that went down), or it\n"
            "             crashed: all it wrote is whole, and none of it "
            "says which\n");
}

static void print_last(const report *page)
{
    const folder_end *end = &page->end.left;
    tool_plain_text copy;
    if (!end->by[0]) {
        tool_print("  last       nothing that it left has a burst\n");
        return;
    }
    tool_print("  last       burst %s of %s, %s (%s)\n",
               tool_thousands(end->burst),
               tool_thousands(count_of(&page->manifest, "bursts_wanted")),
               tool_plain(end->time, &copy), end->by);
}

/* The reason in the manifest: a signal, an error, ... */
static const char *way_of(const report *page)
{
    return report_end_is(page, "done")       ? "done"
           : report_end_is(page, "error")    ? "by an error"
           : report_end_is(page, "signal")   ? "by a signal"
           : report_end_is(page, "ctl")      ? "by volley ctl"
           : report_end_is(page, "deadline") ? "by a missed deadline"
           : report_end_is(page, "refused")
               ? "refused before its first burst; what is below is of no run"
               : page->end.state;
}

static void print_told(const report *page)
{
    const json_value *m = &page->manifest;
    tool_plain_text copy;
    const char *message = json_find_text(m, "message");
    const char *time = json_find_text(m, "end");
    tool_print("  end        %s, burst %s of %s", way_of(page),
               tool_thousands(count_of(m, "bursts")),
               tool_thousands(count_of(m, "bursts_wanted")));
    if (time)
        tool_print(", %s", tool_plain(time, &copy));
    if (!report_end_is(page, "done"))
        tool_print(", exit code %s\n",
                   tool_thousands(count_of(m, "exit_code")));
    else
        tool_print("\n");
    if (message)
        tool_print("  message    %s\n", tool_plain(message, &copy));
}

void report_end_print(const report *page)
{
    const json_value *resumed = json_find(&page->manifest, "resumed");
    tool_plain_text copy;
    if (report_end_is(page, "running")) {
        tool_print("  end        none yet: the run continues (`volley "
                   "status` shows it)\n");
        print_last(page);
    } else if (report_end_is(page, "killed")) {
        tool_print("  end        none: its manifest does not say how\n");
        print_last(page);
        print_likely(&page->end.left);
    } else {
        print_told(page);
    }
    if (resumed && resumed->kind == JSON_OBJECT) {
        const char *file = json_find_text(resumed, "file");
        const uint64_t times = count_of(resumed, "times");
        tool_print("  resumed    after burst %s from %s, %s time%s in all; "
                   "figures and telemetry are of the last part\n",
                   tool_thousands(count_of(resumed, "burst")),
                   tool_plain(file ? file : "?", &copy), tool_thousands(times),
                   times == 1 ? "" : "s");
    }
    if (report_end_is(page, "killed") && page->watched)
        tool_print("  monitor    it has no last line: what it looked at before "
                   "the end is not known\n");
}

bool report_end_unusual(const report *page)
{
    tool_plain_text copy;
    const folder_end *end = &page->end.left;
    const char *message = json_find_text(&page->manifest, "message");
    if (report_end_is(page, "done") || report_end_is(page, "running") ||
        report_end_is(page, "ctl"))
        return false;
    if (report_end_is(page, "killed"))
        tool_print("  The run has no end. Its last record is of burst %s%s%s; "
                   "of what came\n  after it nothing is known.\n",
                   tool_thousands(end->burst), end->time[0] ? ", " : "",
                   tool_plain(end->time, &copy));
    else
        tool_print("  The run %s%s%s%s.\n",
                   report_end_is(page, "refused")
                       ? "was refused before its first burst"
                       : "ended ",
                   report_end_is(page, "refused") ? "" : way_of(page),
                   message ? ": " : "",
                   message ? tool_plain(message, &copy) : "");
    return true;
}
