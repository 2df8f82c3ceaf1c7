/* SPDX-License-Identifier: Apache-2.0
 * An HTTP endpoint that answers GET /metrics with a page of text: HTTP/1.1, one
 * request a connection. One thread of its own serves all connections in turn as
 * they can go on (poll), so a client that says nothing, sends a byte now and
 * then or does not read delays no other client. Each has a second for its
 * request and as long for each part of the answer that it takes; of more than
 * METRICS_CLIENTS the connection of the one that has waited longest is closed.
 */
#ifndef VOLLEY_TOOLS_METRICS_SERVER_H
#define VOLLEY_TOOLS_METRICS_SERVER_H

#include <stddef.h>

#include <volley/plugin.h>

/* Connections at once. */
#define METRICS_CLIENTS 32

typedef struct metrics_server metrics_server;

/* Returns the present page, [*n] bytes to be freed with vly_free; NULL: memory
 * ran out. [server's thread] */
typedef char *metrics_page_make(void *context, size_t *n);

/* "9100", "0.0.0.0:9100", "[::1]:9100": is it a valid address?
 * Errors  E_INVALID the wrong part */
vly_status metrics_address_check(const char *address, vly_error *error);
/* Listens and starts the thread.
 * Errors  as above; E_IO the port is in use or not permitted; E_NOMEM */
vly_status metrics_server_open(const char *address, metrics_page_make *make,
                               void *context, metrics_server **server,
                               vly_error *error);
/* "http://127.0.0.1:9100/metrics" */
void metrics_server_url(const metrics_server *server, char *text,
                        size_t capacity);
/* Ends the thread and closes all connections, also those without an answer.
 * NULL is legal. */
void metrics_server_close(metrics_server *server);

#endif
