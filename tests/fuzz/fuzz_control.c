/* SPDX-License-Identifier: Apache-2.0
 * Any bytes from a client of a run's control socket, in any pieces: whole lines
 * are handed out as they came, each is answered once, in order, and nothing
 * else is. The server's functions are called as its thread does; its source is
 * part of this file. The first byte says how long pieces are.
 */
#define _GNU_SOURCE /* accept4, pipe2 of the server */
#include "fuzz_support.h"

#include <sys/socket.h>

#include "tools/control/control_server.c" /* its functions are static */

typedef struct listener {
    uint32_t n_lines;
    uint32_t n_later;
} listener;

static char *on_line(void *arg, const char *line, bool *later)
{
    listener *by = arg;
    const size_t n = strlen(line);
    demand(n < CONTROL_LINE_BYTES, "a line of more bytes than there are");
    demand(strchr(line, '\n') == NULL, "a line with a break in it");
    by->n_lines++;
    *later = line[0] == 's'; /* as swap, stop */
    by->n_later += *later;
    if (*later || line[0] == 'x')
        return NULL; /* x: the client is sent away */
    return vly_format("{\"line\":%u}\n", (unsigned)by->n_lines);
}

/* Acts as the burst loop. Returns the number of answers. */
static uint32_t answer_all(control_server *server)
{
    char line[CONTROL_LINE_BYTES];
    uint64_t ticket = 0;
    uint32_t n = 0;
    while (control_server_take(server, line, &ticket)) {
        demand(line[0] == 's', "another line than the one that waits");
        control_server_answer(server, ticket, vly_strdup("later\n"));
        n++;
    }
    return n;
}

static uint32_t count_breaks(int fd)
{
    char text[4096];
    uint32_t n = 0;
    ssize_t got = 0;
    while ((got = recv(fd, text, sizeof text, MSG_DONTWAIT)) > 0)
        for (ssize_t i = 0; i < got; i++)
            n += text[i] == '\n';
    return n;
}

/* One more round of the thread's. */
static void look(control_server *server, control_client *client)
{
    if (client->fd >= 0 && client->out != NULL)
        send_answer(client);
    else if (client->fd >= 0 && client->ticket == 0)
        read_some(server, client);
    if (client->fd >= 0)
        handle_lines(server, client);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const uint64_t live = vly_memory_live();
    static control_server server;
    listener by = {0};
    int ends[2];
    uint32_t n_answered = 0;
    uint32_t n_heard = 0;
    if (size == 0)
        return 0;
    const size_t piece = data[0] < 200 ? (size_t)data[0] + 1 : 2000;
    demand(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, ends) == 0,
           "no sockets");
    memset(&server, 0, sizeof server);
    server.function = on_line;
    server.arg = &by;
    server.wake[1] = -1; /* there is no thread to wake */
    pthread_mutex_init(&server.lock, NULL);
    for (int i = 0; i < CLIENTS; i++)
        server.clients[i].fd = -1;
    control_client *client = &server.clients[0];
    *client = (control_client){.fd = ends[0]};
    for (size_t at = 1; at < size && client->fd >= 0;) {
        const size_t n = size - at < piece ? size - at : piece;
        demand(send(ends[1], data + at, n, MSG_NOSIGNAL) == (ssize_t)n,
               "not sent");
        at += n;
        look(&server, client);
        n_answered += answer_all(&server);
        look(&server, client);
        n_heard += count_breaks(ends[1]);
    }
    for (int i = 0; i < 4096 && client->fd >= 0; i++) {
        const uint32_t before = by.n_lines;
        look(&server, client);
        n_answered += answer_all(&server);
        n_heard += count_breaks(ends[1]);
        if (by.n_lines == before && client->out == NULL && client->ticket == 0)
            break;
    }
    demand(n_answered == by.n_later, "a line that was not answered later");
    n_heard += count_breaks(ends[1]);
    demand(n_heard <= by.n_lines, "more answers than lines");
    demand(client->fd < 0 || n_heard == by.n_lines, "fewer answers than lines");
    if (client->fd >= 0)
        drop(client);
    close(ends[1]);
    pthread_mutex_destroy(&server.lock);
    demand(vly_memory_live() == live, "blocks of memory are left");
    return 0;
}
