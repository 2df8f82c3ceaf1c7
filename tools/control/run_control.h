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

/* --control: "off" or NULL, a path, or "": the user's folder. */
const char *run_control_path(const struct run_job *job);
/* Can the run be controlled? */
bool run_control_is_open(const struct run_job *job);
/* The next run_control_between pauses the run until a client resumes it. Legal
 * without a control socket. [burst loop] */
void run_control_pause(struct run_job *job);
#endif
