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

/* Number of deviations from which the simple detector reports a record. */
#define REPORT_UNUSUAL 12.0

/* An unusual episode, as printed. */
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

/* How the run ended; without a recorded end, what its files show. */
typedef struct report_end {
    char state[24];  /* exit_reason, or "killed"; "running": the run holds a
                      * lock */
    folder_end left; /* only if the run did not record its end */
} report_end;

typedef struct report {
    const char *folder;
    json_value manifest;
    json_value summary; /* JSON_NULL: the run did not end */
    report_end end;
    report_finding *findings;
    uint32_t n_findings;
    uint32_t capacity;
    bool watched;      /* by the monitor during the run */
    uint32_t n_told;   /* number of its findings */
    uint64_t n_judged; /* records that report_judge looked at */
    char other[160];   /* the other run of the telemetry; "": this run */
    bool cut;          /* the last line is incomplete and was left out */
} report;

/* For a run with a manifest.
 * Errors  E_NOMEM */
vly_status report_end_find(report *page, vly_error *error);
bool report_end_is(const report *page, const char *state);
/* Prints the lines about its end. */
void report_end_print(const report *page);
/* Prints unusual facts about the end; false: there are none. */
bool report_end_unusual(const report *page);

/* Prints the time of bursts before and after each move of the net, and the
 * length of records, from the telemetry of the folder; nothing without
 * telemetry. */
void report_moves_print(const report *page);

/* Errors  E_NOMEM */
vly_status report_add(report *page, const report_finding *found,
                      vly_error *error);
/* Findings of a windowed Gaussian in a telemetry; records close to each other
 * are one episode. A file of another run is judged too and marked as such.
 * Errors  those of telemetry_file_open */
vly_status report_judge(report *page, const char *telemetry, vly_error *error);

#endif
