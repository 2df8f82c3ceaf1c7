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

/* A run holds a lock on its log.jsonl until its process ends. */
bool folder_is_locked(const char *folder);

/* The file system of the folder is full: less space is left than a line of a
 * run may need. */
bool folder_is_full(const char *folder);

/* The last contents of a file of JSON lines. */
typedef struct folder_last {
    bool any;       /* the file has a whole line with a burst */
    bool cut;       /* the last line is not whole */
    uint64_t burst; /* the highest */
    char time[40];  /* of the last whole line with a burst */
    char event[32]; /* of the last whole line, as log.jsonl has them, or "" */
    char text[512]; /* beside it */
} folder_last;

/* Reads the whole file. A missing file gives an empty result. */
void folder_last_read(const char *path, folder_last *last);

/* Files of a run that did not write how it ended. */
typedef struct folder_end {
    uint64_t burst; /* the highest burst in any file */
    char time[40];
    char by[24];       /* the file that has it; "": none */
    char cut[24];      /* a file whose last line is not whole; "": none */
    char message[512]; /* an error that is the last line of its log; or "" */
    bool full;         /* the file system of the folder is full */
} folder_end;

/* By log.jsonl, monitor.jsonl and telemetry.jsonl. Errors  E_NOMEM */
vly_status folder_end_read(const char *folder, folder_end *end,
                           vly_error *error);
/* The likely reason why the run did not write its end. false: only the kill is
 * known. */
bool folder_likely(const folder_end *end, char *text, size_t capacity);

#endif
