/* SPDX-License-Identifier: Apache-2.0
 * What every subcommand uses: messages, exit codes, numbers for people, the
 * stop flag. Messages go to stderr, results to stdout.
 */
#ifndef VOLLEY_TOOLS_TOOL_H
#define VOLLEY_TOOLS_TOOL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <volley/volley.h>

#include "base/random.h"

enum {
    TOOL_EXIT_DONE = 0,
    TOOL_EXIT_DIFFERS = 1,
    TOOL_EXIT_WRONG = 2,
    TOOL_EXIT_DEVICE = 3,
    TOOL_EXIT_IO = 4,
    TOOL_EXIT_NOMEM = 5,
    TOOL_EXIT_STOPPED = 6,
    TOOL_EXIT_LATE = 7
};

/* "volley: ..." and a line break, on stderr. One line: control sequences of
 * terminals are escaped (base/plain.h), line breaks too. */
void tool_message(const char *format, ...)
    __attribute__((format(printf, 1, 2)));
/* The error's message; returns the exit code of its status. */
int tool_fail(const vly_error *error);

/* Numbers for people; the text is in a ring of 16 buffers per thread. */
const char *tool_thousands(uint64_t value);         /* "12,500" */
const char *tool_bytes(uint64_t bytes);             /* "1.25 GB" */
const char *tool_seconds(double seconds);           /* "3.2 s", "4 min 10 s" */
const char *tool_hash_text(const uint64_t hash[2]); /* 32 hex digits */
const char *tool_time_text(void);                   /* now, UTC, ISO 8601 */
const char *tool_rate_text(double value);           /* three digits: "12.3 M" */
const char *tool_number_text(double value);         /* shortest that is exact */

/* printf to stdout. Control sequences of terminals are escaped, line breaks are
 * kept. Errors of stdout are checked once, at the end of main. */
void tool_print(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* The text as one line without control sequences of terminals (base/plain.h); a
 * long text is cut. For values whose line breaks must not look like those of
 * the command. */
typedef struct tool_plain_text {
    char text[4096];
} tool_plain_text;
const char *tool_plain(const char *text, tool_plain_text *copy);

/* Does the text end with this, after at least one other character? As a file
 * name in ".svg". */
bool tool_ends_in(const char *text, const char *end);

/* SIGINT, SIGTERM and SIGHUP (unless it was ignored) end the command at once,
 * exit code 6, unless deferred: then the first one sets the flag and stops the
 * watched net (NULL: none) after its current burst, the second one kills.
 * Commands defer signals while they write files. The end of deferring ends the
 * command if a signal came meanwhile. SIGPIPE and SIGXFSZ are ignored: a closed
 * pipe or a file too large for the user's limit is a write error like any
 * other. */
void tool_signals_init(void);
void tool_signals_defer(bool on);
void tool_signals_watch(vly_net *net);
bool tool_signals_stopped(void);

/* The plugins, searched as vly_registry_create does and in ../lib beside the
 * command. */
vly_status tool_registry_create(vly_registry **registry, vly_error *error);
/* Every later tool_registry_create searches this file first: the user named it
 * as a plugin. *real is its path as the registry lists it, valid until the next
 * call.
 * Errors  E_IO the file does not exist */
vly_status tool_plugin_first(const char *path, const char **real,
                             vly_error *error);
/* mkdir; sets errno on failure. If the command fails or is stopped by a signal
 * while the folder is still empty, the folder is removed. */
vly_status tool_folder_make(const char *folder);
/* remove: removes that folder now if it is empty. keep: from here on it is
 * never removed. */
void tool_folder_remove(void);
void tool_folder_keep(void);
/* While a file is mapped: if a page is missing because the file was cut, the
 * command ends with a message and exit code 4 instead of SIGBUS. NULL: end of
 * the watch. */
void tool_signals_guard(const char *path);

/* Progress on stderr: on a terminal the same line is rewritten five times a
 * second; elsewhere one line a minute. */
typedef struct tool_progress {
    bool shown;
    bool lines; /* no terminal */
    uint64_t begin_ns;
    uint64_t next_ns;
    uint64_t first;
    uint64_t last;
    double dt_ms;
} tool_progress;
void tool_progress_begin(tool_progress *progress, bool quiet, uint64_t first,
                         uint64_t last, double dt_ms);
/* bursts done so far; cheap */
void tool_progress_update(tool_progress *progress, uint64_t burst);
void tool_progress_end(tool_progress *progress);

#endif
