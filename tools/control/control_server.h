/* SPDX-License-Identifier: Apache-2.0
 * Lines in, lines out, for several clients of a Unix-domain socket, on a thread
 * of its own. A client that sends half a line or never reads holds up itself
 * only.
 */
#ifndef VOLLEY_TOOLS_CONTROL_SERVER_H
#define VOLLEY_TOOLS_CONTROL_SERVER_H

#include <stdbool.h>
#include <stdint.h>

#include <volley/plugin.h>

#include "tools/control/control_socket.h"

typedef struct control_server control_server;

/* Returns the answer to a line, with its line break, to be freed with vly_free;
 * NULL disconnects the client. *later = true: control_server_answer will give
 * the answer. Called on the server's thread, which must not wait here. */
typedef char *(*control_line_fn)(void *arg, const char *line, bool *later);

/* The caller keeps ownership of the listener.
 * Errors  E_NOMEM; E_IO no pipe */
vly_status control_server_open(const control_listener *listener,
                               control_line_fn function, void *arg,
                               control_server **server, vly_error *error);
/* The next line that waits for an answer and was not taken yet; false if there
 * is none. line [CONTROL_LINE_BYTES]. [any-thread] */
bool control_server_take(control_server *server, char *line, uint64_t *ticket);
/* Takes ownership of the answer; the client may have disconnected.
 * [any-thread] */
void control_server_answer(control_server *server, uint64_t ticket,
                           char *answer);
/* Sends `last` (borrowed) to every waiting client and disconnects all. NULL is
 * legal.
 */
void control_server_close(control_server *server, const char *last);

#endif
