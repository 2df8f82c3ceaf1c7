/* SPDX-License-Identifier: Apache-2.0
 * Telemetry of weights that learn.
 */
#ifndef VOLLEY_TOOLS_WATCH_WEIGHTS_H
#define VOLLEY_TOOLS_WATCH_WEIGHTS_H

typedef struct run_job run_job;

/* Between two bursts: writes a line if one is due. */
void watch_weights_look(run_job *job);

#endif
