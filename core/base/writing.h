/* SPDX-License-Identifier: Apache-2.0
 * Opens output files that a user names; a pipe without a reader is an error.
 */
#ifndef VOLLEY_BASE_WRITING_H
#define VOLLEY_BASE_WRITING_H

/* open(path, flags, 0666). For a pipe it waits for a reader as long as
 * vly_reading_open waits for a writer; a signal whose handler returns does not
 * end the wait. Returns -1 and errno on failure; ETIMEDOUT: no process opened
 * the pipe. [any-thread] */
int vly_writing_open(const char *path, int flags);
/* The text for an errno of vly_writing_open; ETIMEDOUT has its own sentence. */
const char *vly_writing_reason(int number);

#endif
