/* SPDX-License-Identifier: Apache-2.0
 * Files that a user names, opened and read with bounds: devices are refused,
 * and pipes and lines have a maximum length. All code that reads text line by
 * line or a file as a whole uses these functions.
 */
#ifndef VOLLEY_BASE_READING_H
#define VOLLEY_BASE_READING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "base/error.h"

/* Limit of a pipe, a socket or a terminal: longer input is refused. Files have
 * no limit. */
#define VLY_PIPE_BYTES_MAX (UINT64_C(1) << 30)
/* How long a named pipe may be without a process that writes into it. */
#define VLY_PIPE_WAIT_MS 10000
/* Of a line, for readers without a bound of their own. */
#define VLY_LINE_BYTES_MAX ((size_t)16 << 20)

typedef enum vly_readable {
    VLY_READ_FILE,  /* a regular file, which has a length */
    VLY_READ_STREAM /* or a pipe, a socket, a terminal: read once, in order */
} vly_readable;

/* Opens for reading.
 * Errors  E_IO  it cannot be opened, or is a folder;
 * E_INVALID  it is a device, or a pipe where a file is wanted. Messages begin
 * with `path`. */
vly_status vly_reading_open(const char *path, vly_readable what, FILE **file,
                            vly_error *error);
/* The same with another name in messages. */
vly_status vly_reading_open_as(const char *path, const char *shown,
                               vly_readable what, FILE **file,
                               vly_error *error);
/* The same as a descriptor. Does not block on a named pipe without a writer. */
vly_status vly_reading_descriptor(const char *path, vly_readable what,
                                  int *descriptor, vly_error *error);
/* The most that is read from it: UINT64_MAX for a file. */
uint64_t vly_reading_most(FILE *file);

/* All that is left of the file, at most `most` bytes, and a final 0. what: as
 * in "wanted a vocabulary of at most so many". *bytes by vly_malloc.
 * Errors  E_PARSE  it has more; E_IO; E_NOMEM. */
vly_status vly_reading_whole(FILE *file, const char *path, const char *what,
                             size_t most, char **bytes, size_t *n,
                             vly_error *error);

/* Lines of a text. Zero-initialised but for file and path; `most` 0:
 * VLY_LINE_BYTES_MAX. */
typedef struct vly_lines {
    FILE *file;       /* borrowed */
    const char *path; /* in messages; borrowed */
    size_t most;      /* bytes of a line, its end included */
    char *line;       /* the current line with its "\n" and a final 0 */
    size_t n;         /* its bytes; 0: the text has ended */
    uint64_t number;  /* its number, from 1 */
    size_t capacity;
    uint64_t bytes; /* read so far */
    uint64_t limit; /* of bytes */
} vly_lines;

/* The next line into lines->line and ->n; n 0 at the end.
 * Errors  E_PARSE  a line, or a pipe, that is too long; E_IO; E_NOMEM. */
vly_status vly_lines_next(vly_lines *lines, vly_error *error);
void vly_lines_deinit(vly_lines *lines); /* closes nothing */

#endif
