/* SPDX-License-Identifier: Apache-2.0
 * A child process for a library that may crash on its input, and a pipe for its
 * results. The parent checks all results: the library may have overwritten any
 * memory before it crashed.
 */
#ifndef VOLLEY_BASE_CHILD_H
#define VOLLEY_BASE_CHILD_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include <volley/plugin.h>

typedef struct vly_child {
    pid_t process;
    int in; /* what it sends */
} vly_child;

/* ---- the parent --------------------------------------------------------- */

/* Forks; the child calls work(context, out) and ends with exit code 0. If the
 * host has many threads, only the calling thread exists in the child, so work
 * must not take a lock that another thread may hold.
 * name    of the file, for messages
 * Errors  E_IO no pipe; E_NOMEM no process could be started */
vly_status vly_child_start(vly_child *child, const char *name,
                           void (*work)(void *context, int out), void *context,
                           vly_error *error);
/* The same for a library other than HDF5; messages name it. */
vly_status vly_child_begin(vly_child *child, const char *name,
                           const char *library,
                           void (*work)(void *context, int out), void *context,
                           vly_error *error);
/* The next n bytes. False: the child ended first. */
bool vly_child_receive(const vly_child *child, void *data, size_t n);
/* Waits for the end of the child; at_once: kills it first, since it may have
 * more to send. Returns the status of waitpid. */
int vly_child_stop(const vly_child *child, bool at_once);
/* E_PARSE with a message that describes how HDF5 ended the child. */
vly_status vly_child_broke_down(const char *name, int end, vly_error *error);

/* ---- the child ---------------------------------------------------------- */

/* False: the parent no longer reads. */
bool vly_child_send(int out, const void *data, size_t n);
/* Sets the time limit of the next piece of work, far more than any disk needs:
 * a signal ends a child that computes for one minute or waits for ten. */
void vly_child_wind_up(void);
/* No time limit from here on: for work whose time grows with its input. */
void vly_child_unwind(void);

#endif
