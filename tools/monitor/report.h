/* SPDX-License-Identifier: Apache-2.0
 * What `volley monitor report` collects before it writes its page.
 */
#ifndef VOLLEY_TOOLS_REPORT_H
#define VOLLEY_TOOLS_REPORT_H

#include <stdbool.h>
#include <stdint.h>

#include <volley/plugin.h>

#include "tools/cli/json_reader.h"
#include "tools/run/folder_state.h"

/* Deviations from which on the simple detector calls a record unusual. */
#define REPORT_UNUSUAL 12.0

/* Something unusual, as it is printed. */
typedef struct report_finding {
    uint64_t burst;
    uint64_t last;   /* burst of the last record of the episode */
    uint32_t number; /* records in it */
    double score;
    double threshold;
    char time[40];
    char area[80];
    char metric[32];
    char channel[16]; /* of the monitor */
    char text[320];
    char cause[256];
    char evidence[512];
} report_finding;

/* How the run ended, or what it left where it does not say. */
typedef struct report_end {
    char state[24];  /* exit_reason, or "killed"; "running": it has a lock */
    folder_end left; /* only where it did not say how it ended */
} report_end;

typedef struct report {
    const char *folder;
    json_value manifest;
    json_value summary; /* JSON_NULL: the run did not end */
    report_end end;
    report_finding *findings;
    uint32_t n_findings;
    uint32_t capacity;
    bool watched;      /* by the monitor, while it ran */
    uint32_t n_told;   /* things that it told */
    uint64_t n_judged; /* records that report_judge looked at */
    char other[160];   /* of what else its telemetry is; "": of this run */
    bool cut;          /* its last line is not whole, and left out */
} report;

/* Of a page with a manifest. Errors  E_NOMEM */
vly_status report_end_find(report *page, vly_error *error);
bool report_end_is(const report *page, const char *state);
/* Lines of how it went. */
void report_end_print(const report *page);
/* Prints what is unusual about it; false: nothing, and nothing is printed. */
bool report_end_unusual(const report *page);

/* What bursts took before and after each move of the net, and how long
 * its records were, by the telemetry of its folder; nothing without one. */
void report_moves_print(const report *page);

/* Errors  E_NOMEM */
vly_status report_add(report *page, const report_finding *found,
                      vly_error *error);
/* What a windowed Gaussian finds in a telemetry, records close to each other as
 * one; a file of another run is judged, and said to be one. Errors  those of
 * telemetry_file_open */
vly_status report_judge(report *page, const char *telemetry, vly_error *error);

#endif
