/* SPDX-License-Identifier: Apache-2.0
 * A telemetry judged after its run, by a windowed Gaussian.
 */
#include "tools/monitor/report.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "monitor/detectors.h"
#include "monitor/surprise.h"
#include "tools/cli/tool.h"
#include "tools/monitor/telemetry_file.h"

/* Number of usual records that end an episode. */
enum { APART = 16 };

vly_status report_add(report *page, const report_finding *found,
                      vly_error *error)
{
    if (page->n_findings == page->capacity) {
        const uint32_t capacity = page->capacity ? 2 * page->capacity : 16;
        report_finding *more =
            vly_realloc(page->findings, capacity, sizeof *page->findings);
        if (!more)
            return vly_fail_nomem(error, capacity * sizeof *more,
                                  "what was unusual");
        page->findings = more;
        page->capacity = capacity;
    }
    page->findings[page->n_findings++] = *found;
    return VLY_OK;
}

/* ---- judged afterwards ----------------------------------------------------
 */

/* "rate +5.2, raised +8.1": the metrics that moved most, in spreads. */
static void put_evidence(const vly_record_note *note, char *text,
                         size_t capacity)
{
    bool used[VLY_METRICS] = {false};
    size_t n = 0;
    text[0] = '\0';
    for (int i = 0; i < 4; i++) {
        uint32_t best = VLY_METRICS;
        for (uint32_t m = 0; m < VLY_METRICS; m++)
            if (!used[m] && (best == VLY_METRICS ||
                             abs(note->z16[m]) > abs(note->z16[best])))
                best = m;
        used[best] = true;
        if (abs(note->z16[best]) < 48 || n >= capacity)
            break;
        n += (size_t)snprintf(text + n, capacity - n, "%s%s %+.1f",
                              i > 0 ? ", " : "", vly_metric_name(best),
                              note->z16[best] / 16.0);
    }
}

static void describe(const telemetry_file *file, const telemetry_entry *entry,
                     uint32_t metric, report_finding *found)
{
    const uint32_t told = vly_note_metric(&entry->note, metric);
    const vly_verdict verdict = {.metric = told,
                                 .area = vly_note_area(&entry->note, told),
                                 .burst = entry->record.burst};
    const char *const *names = telemetry_file_names(file);
    const char *cause = vly_verdict_cause(&entry->record, &entry->note);
    vly_verdict_text(&verdict, &entry->record, &entry->note, names, NULL,
                     found->text, sizeof found->text);
    (void)snprintf(found->cause, sizeof found->cause, "%s", cause ? cause : "");
    (void)snprintf(found->metric, sizeof found->metric, "%s",
                   vly_metric_name(told));
    (void)snprintf(found->area, sizeof found->area, "%s",
                   verdict.area == VLY_NO_AREA ? "" : names[verdict.area]);
    put_evidence(&entry->note, found->evidence, sizeof found->evidence);
}

/* Unusual records; those close to each other are one episode, described by the
 * most unusual one. */
static vly_status judge(report *page, telemetry_file *file,
                        vly_detector *detector, vly_error *error)
{
    vly_status status = VLY_OK;
    telemetry_entry entry;
    report_finding found = {.number = 0};
    uint32_t quiet = 0;
    for (;;) {
        bool more = false;
        uint32_t metric = 0;
        VLY_TRY(telemetry_file_next(file, &more, &entry, error));
        if (!more)
            break;
        page->n_judged++;
        if (entry.moved)
            vly_detector_forget(detector);
        const double score = vly_detector_score(detector, &entry.note, &metric);
        if (!(score >= REPORT_UNUSUAL)) {
            if (found.number > 0 && ++quiet >= APART) {
                const vly_status added = report_add(page, &found, error);
                if (added != VLY_OK)
                    return added;
                found = (report_finding){.number = 0};
            }
            continue;
        }
        quiet = 0;
        if (found.number++ == 0) {
            found.burst = entry.record.burst;
            found.threshold = REPORT_UNUSUAL;
            memcpy(found.time, entry.time, sizeof entry.time);
        }
        found.last = entry.record.burst;
        if (score > found.score) {
            found.score = score;
            describe(file, &entry, metric, &found);
        }
    }
    return found.number > 0 ? report_add(page, &found, error) : VLY_OK;
out:
    return status;
}

/* The file may be of another run, by mistake or because a later run overwrote
 * it. */
static void compare(report *page, const telemetry_file *file)
{
    const double neurons = json_find_number(&page->manifest, "neurons", 0);
    const double dt_ms = json_find_number(&page->manifest, "dt_ms", 0);
    const char *start = json_find_text(&page->manifest, "start");
    const char *began = telemetry_file_start(file);
    tool_plain_text copy;
    uint64_t sum = 0;
    for (uint32_t a = 0; a < telemetry_file_areas(file); a++)
        sum += telemetry_file_neurons(file)[a];
    if ((double)sum != neurons || telemetry_file_dt_ms(file) != dt_ms)
        (void)snprintf(page->other, sizeof page->other,
                       "another network: %s neuron%s, a burst is %g ms",
                       tool_thousands(sum), sum == 1 ? "" : "s",
                       telemetry_file_dt_ms(file));
    else if (began[0] && start && strcmp(began, start) != 0)
        (void)snprintf(page->other, sizeof page->other,
                       "another run, started %s", tool_plain(began, &copy));
}

vly_status report_judge(report *page, const char *telemetry, vly_error *error)
{
    telemetry_file *file = NULL;
    vly_detector *detector = NULL;
    vly_status status = telemetry_file_open(telemetry, &file, error);
    if (status == VLY_OK)
        status = vly_detector_create(VLY_DETECTOR_GAUSSIAN, &detector, error);
    if (status == VLY_OK) {
        compare(page, file);
        status = judge(page, file, detector, error);
        page->cut = telemetry_file_cut(file);
    }
    vly_detector_destroy(detector);
    telemetry_file_close(file);
    return status;
}
