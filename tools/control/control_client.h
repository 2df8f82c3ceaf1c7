/* SPDX-License-Identifier: Apache-2.0
 * Asks a run something. Used by ctl and status.
 */
#ifndef VOLLEY_TOOLS_CONTROL_CLIENT_H
#define VOLLEY_TOOLS_CONTROL_CLIENT_H

#include "tools/cli/json_reader.h"
#include "tools/control/control_socket.h"

/* Sends one line to the socket and waits for one. text [CONTROL_ANSWER_BYTES]
 * gets the answer unchanged; answer is freed with json_free.
 * Errors  E_INVALID no process listens there, or not a process of this user, or
 * the line is too long; E_IO no answer in time, or an answer that is not
 * JSON */
vly_status control_ask(const char *path, const char *line, double timeout_s,
                       char *text, json_value *answer, vly_error *error);

#endif
