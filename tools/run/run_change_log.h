/* SPDX-License-Identifier: Apache-2.0
 * Changes that earlier processes of a resumed run made, as log.jsonl of its
 * folder has them.
 */
#ifndef VOLLEY_TOOLS_RUN_CHANGE_LOG_H
#define VOLLEY_TOOLS_RUN_CHANGE_LOG_H

#include <stdbool.h>
#include <stdint.h>

#include <volley/volley.h>

typedef struct run_change {
    uint64_t burst; /* number of bursts after which it takes place */
    char *path;
    double value;
} run_change;

typedef struct run_change_past {
    run_change *changes; /* [n] ascending bursts */
    uint32_t n;
    bool is_whole; /* they are all that the checkpoint has: the log begins with
                    * the run, and has the checkpoint of that burst */
} run_change_past;

/* The text of the event of a change, to be freed; NULL: no memory. */
char *run_change_text(const run_change *change);
/* Those before the burst at which the run goes on. Without such a file there
 * are none, and is_whole is false. run_change_past_free frees.
 * Errors  E_NOMEM */
vly_status run_change_past_read(const char *path, uint64_t burst,
                                run_change_past *past, vly_error *error);
void run_change_past_free(run_change_past *past);

#endif
