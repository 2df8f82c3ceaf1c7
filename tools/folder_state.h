/* SPDX-License-Identifier: Apache-2.0
 * What the folder of a run tells of one that did not say how it ended: for
 * `status` and `monitor report`.
 */
#ifndef VOLLEY_TOOLS_FOLDER_STATE_H
#define VOLLEY_TOOLS_FOLDER_STATE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A run holds a lock on its log.jsonl as long as it lives. */
bool folder_is_locked(const char *folder);

/* No room is left where it is: a line of a run may be as long as what is. */
bool folder_is_full(const char *folder);

/* Why a run that did not say how it ended likely did not, from what its log
 * says last of an error ("": of none), whether its folder is full, and a file
 * whose last line is cut ("": none is). false: nothing but that it was killed.
 */
bool folder_likely(const char *message, bool full, const char *cut, char *text,
                   size_t capacity);

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

#endif
