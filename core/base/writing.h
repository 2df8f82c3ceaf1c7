/* SPDX-License-Identifier: Apache-2.0
 * Outputs that a user names, opened without waiting for ever.
 */
#ifndef VOLLEY_BASE_WRITING_H
#define VOLLEY_BASE_WRITING_H

/* open(path, flags, 0666). A pipe that no process reads is waited for as long
 * as vly_reading_open waits for a writer; a signal whose handler returns does
 * not end that. -1 and errno, ETIMEDOUT where no process came. [any-thread] */
int vly_writing_open(const char *path, int flags);
/* strerror of an errno of vly_writing_open, ETIMEDOUT in words of its own. */
const char *vly_writing_reason(int number);

#endif
