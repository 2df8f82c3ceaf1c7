/* SPDX-License-Identifier: Apache-2.0
 * What the folder of a run tells of one that did not say how it ended: for
 * `status` and `monitor report`.
 */
#ifndef VOLLEY_TOOLS_FOLDER_STATE_H
#define VOLLEY_TOOLS_FOLDER_STATE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <volley/plugin.h>

/* A run holds a lock on its log.jsonl as long as it lives. */
bool folder_is_locked(const char *folder);

/* No room is left where it is: a line of a run may be as long as what is. */
bool folder_is_full(const char *folder);

/* The last that a file of JSON lines says. */
typedef struct folder_last {
    bool any;       /* there is a whole line with a burst */
    bool cut;       /* a line behind it is not whole */
    uint64_t burst; /* the highest */
    char time[40];  /* of the last whole line that has one */
    char event[32]; /* of the last whole line, as log.jsonl has them, or "" */
    char text[512]; /* beside it */
} folder_last;

/* Reads all of it. A file that is not there tells nothing. */
void folder_last_read(const char *path, folder_last *last);

/* What a run left that did not say how it ended. */
typedef struct folder_end {
    uint64_t burst; /* the highest that a file tells of */
    char time[40];
    char by[24];       /* the file that has it; "": none */
    char cut[24];      /* a file whose last line is not whole; "": none */
    char message[512]; /* an error that is the last line of its log; or "" */
    bool full;         /* there is no room where its folder is */
} folder_end;

/* By log.jsonl, monitor.jsonl and telemetry.jsonl. Errors  E_NOMEM */
vly_status folder_end_read(const char *folder, folder_end *end,
                           vly_error *error);
/* Why it likely does not say so. false: nothing but that it was killed. */
bool folder_likely(const folder_end *end, char *text, size_t capacity);

#endif
