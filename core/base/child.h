/* SPDX-License-Identifier: Apache-2.0
 * A process of its own for a library that may crash on what it reads, and a
 * pipe on which it tells what it found. What it tells is checked by who asked:
 * the library may have overwritten anything before it crashed.
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

/* ---- who asks ----------------------------------------------------------- */

/* Forks; the child calls work(context, out) and ends with exit code 0. Of a
 * host with many threads only the one that asks goes on in it, so work must
 * need no lock that another one may hold.
 * name    of the file, for messages
 * Errors  E_IO no pipe; E_NOMEM no process, as where no thread starts */
vly_status vly_child_start(vly_child *child, const char *name,
                           void (*work)(void *context, int out), void *context,
                           vly_error *error);
/* The same for another library than HDF5, which messages then name. */
vly_status vly_child_begin(vly_child *child, const char *name,
                           const char *library,
                           void (*work)(void *context, int out), void *context,
                           vly_error *error);
/* The next n bytes. False: it ended before. */
bool vly_child_receive(const vly_child *child, void *data, size_t n);
/* Waits for its end; at_once: kills it first, as it may have more to send.
 * Returns what waitpid says. */
int vly_child_stop(const vly_child *child, bool at_once);
/* E_PARSE, with how HDF5 in a child came to this end. */
vly_status vly_child_broke_down(const char *name, int end, vly_error *error);

/* ---- the child ---------------------------------------------------------- */

/* False: nobody listens any more. */
bool vly_child_send(int out, const void *data, size_t n);
/* Time for the next piece of work, far more than any disk needs: a signal ends
 * what computes for a minute, or waits for ten. */
void vly_child_wind_up(void);
/* No limit of time from here on: for work that is as long as its input. */
void vly_child_unwind(void);

#endif
