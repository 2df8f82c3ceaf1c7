/* SPDX-License-Identifier: Apache-2.0
 * Control of a run that is going on: `volley ctl`. A thread of its own talks to
 * the clients; what changes the run is done by the burst loop, between two
 * calls of the engine. docs/command.md has the protocol.
 */
#ifndef VOLLEY_TOOLS_RUN_CONTROL_H
#define VOLLEY_TOOLS_RUN_CONTROL_H

#include <stdbool.h>

#include <volley/volley.h>

struct run_job;
typedef struct run_control run_control;

/* plan.control: "off" or NULL, a path, or "": the user's folder. Before
 * anything is built.
 * Errors  E_INVALID, E_IO of a path that was asked for */
vly_status run_control_check(const struct run_job *job, vly_error *error);
/* Listens, if it is not off. That there can be no socket in the user's folder
 * is said and no error.
 * Errors  E_INVALID, E_IO of a path that was asked for; E_NOMEM */
vly_status run_control_open(struct run_job *job, vly_error *error);
/* What was asked for since the last call is done, and the figures for `status`
 * are renewed; while the run is paused it does not return. [burst loop]
 * Errors  those that end the run; E_STOPPED by `stop` or a signal */
vly_status run_control_between(struct run_job *job, vly_error *error);
/* Is there something to be done? For a loop that sleeps. */
bool run_control_wanted(void);
/* The run is paused with the next run_control_between, until a client resumes
 * it. Legal without. [burst loop] */
void run_control_pause(struct run_job *job);
/* Answers who still waits; removes the socket. Legal without. */
void run_control_close(struct run_job *job);

#endif
