/* SPDX-License-Identifier: Apache-2.0
 * Lines in, lines out. One thread, poll, nothing that blocks. A client is read
 * only while it has no answer to take and waits for none, so that what it can
 * make this process hold is a line and an answer.
 */
#define _GNU_SOURCE /* accept4, pipe2 */
#include "tools/control/control_server.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/error.h"
#include "base/memory.h"
#include "base/thread.h"

enum { CLIENTS = 16 };

typedef struct control_client {
    int fd;          /* -1: free */
    bool last_line;  /* to be closed after its answer is sent */
    uint64_t heard;  /* time of the last request, as a sequence number */
    uint64_t ticket; /* number of the awaited answer; 0: none */
    bool taken;
    size_t n_in;
    char in[CONTROL_LINE_BYTES];
    char line[CONTROL_LINE_BYTES];
    char *out; /* answer to send; NULL: none */
    size_t n_out;
    size_t n_sent;
} control_client;

struct control_server {
    int listener;
    int wake[2]; /* a pipe that wakes the thread */
    control_line_fn function;
    void *arg;
    pthread_t thread;
    pthread_mutex_t lock; /* for all members below; never held during a call
                           * that waits */
    control_client clients[CLIENTS];
    uint64_t n_tickets;
    uint64_t n_heard;
    bool deaf; /* no descriptor for one more client: pause accepting */
    bool ended;
};

/* ---- one client ------------------------------------------------------- */

static void drop(control_client *client)
{
    close(client->fd);
    vly_free(client->out);
    *client = (control_client){.fd = -1};
}

static void give(control_client *client, char *answer)
{
    client->ticket = 0;
    client->out = answer;
    client->n_out = answer ? strlen(answer) : 0;
    client->n_sent = 0;
    if (!answer)
        drop(client);
}

static void send_answer(control_client *client)
{
    while (client->n_sent < client->n_out) {
        ssize_t n =
            send(client->fd, client->out + client->n_sent,
                 client->n_out - client->n_sent, MSG_NOSIGNAL | MSG_DONTWAIT);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0 && (errno == EAGAIN || errno == EWOULDBLOCK))
            return;
        if (n <= 0) {
            drop(client);
            return;
        }
        client->n_sent += (size_t)n;
    }
    vly_free(client->out);
    client->out = NULL;
    if (client->last_line)
        drop(client);
}

/* Spaces and a carriage return at the end are ignored. */
static void handle_line(control_server *server, control_client *client,
                        const char *text, size_t n)
{
    bool later = false;
    while (n > 0 && (text[n - 1] == '\r' || text[n - 1] == ' '))
        n--;
    /* a 0 byte within the line would end it: no command contains one */
    memcpy(client->line, text, n);
    client->line[n] = '\0';
    char *answer = server->function(server->arg, client->line, &later);
    if (!later) {
        give(client, answer);
        return;
    }
    client->ticket = ++server->n_tickets;
    client->taken = false;
}

/* Handles whole lines of the input, one after the other as they are
 * answered. */
static void handle_lines(control_server *server, control_client *client)
{
    while (client->fd >= 0 && !client->out && client->ticket == 0) {
        const char *end = memchr(client->in, '\n', client->n_in);
        bool too_long = !end && client->n_in == sizeof client->in;
        if (!end && !too_long)
            return;
        size_t n = too_long ? client->n_in - 1 : (size_t)(end - client->in);
        client->last_line = client->last_line || too_long;
        handle_line(server, client, client->in, n);
        if (client->fd < 0)
            return;
        client->n_in -= n + 1;
        memmove(client->in, client->in + n + 1, client->n_in);
        if (client->out)
            send_answer(client);
    }
}

static void read_some(control_server *server, control_client *client)
{
    ssize_t n = recv(client->fd, client->in + client->n_in,
                     sizeof client->in - client->n_in, MSG_DONTWAIT);
    if (n < 0 && (errno == EAGAIN || errno == EINTR))
        return;
    if (n <= 0) {
        /* all requests before the end are answered; a client that waits for an
         * answer is kept */
        if (n < 0 || client->ticket == 0)
            drop(client);
        return;
    }
    client->heard = ++server->n_heard;
    client->n_in += (size_t)n;
    handle_lines(server, client);
}

/* ---- clients ---------------------------------------------------------- */

/* A free slot, or that of the client that has been silent for the longest time.
 * A client that waits for an answer keeps its slot. */
static control_client *find_place(control_server *server)
{
    control_client *oldest = NULL;
    for (int i = 0; i < CLIENTS; i++) {
        control_client *client = &server->clients[i];
        if (client->fd < 0)
            return client;
        if (client->ticket == 0 && (!oldest || client->heard < oldest->heard))
            oldest = client;
    }
    if (oldest)
        drop(oldest);
    return oldest;
}

static void accept_one(control_server *server)
{
    int fd =
        accept4(server->listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
    if (fd < 0) {
        server->deaf = errno == EMFILE || errno == ENFILE || errno == ENOMEM ||
                       errno == ENOBUFS;
        return;
    }
    control_client *place =
        control_peer_allowed(fd) ? find_place(server) : NULL;
    if (!place) {
        close(fd);
        return;
    }
    *place = (control_client){.fd = fd, .heard = ++server->n_heard};
}

/* ---- the thread ------------------------------------------------------- */

/* Entry 0 is the pipe, 1 the listener, then the clients. */
static void list_events(const control_server *server, struct pollfd *list)
{
    list[0] = (struct pollfd){.fd = server->wake[0], .events = POLLIN};
    list[1] = (struct pollfd){.fd = server->deaf ? -1 : server->listener,
                              .events = POLLIN};
    for (int i = 0; i < CLIENTS; i++) {
        const control_client *client = &server->clients[i];
        short events = client->out ? POLLOUT : client->ticket != 0 ? 0 : POLLIN;
        /* without events poll reports only that the other side has closed */
        list[2 + i] = (struct pollfd){.fd = client->fd, .events = events};
    }
}

static void handle_events(control_server *server, const struct pollfd *list)
{
    char bytes[64];
    while (read(server->wake[0], bytes, sizeof bytes) > 0) {
    }
    for (int i = 0; i < CLIENTS; i++) {
        control_client *client = &server->clients[i];
        short events = list[2 + i].revents;
        if (client->fd < 0 || client->fd != list[2 + i].fd)
            continue;
        if ((events & POLLOUT) != 0)
            send_answer(client);
        else if ((events & POLLIN) != 0)
            read_some(server, client);
        else if ((events & (POLLHUP | POLLERR | POLLNVAL)) != 0)
            drop(client);
        else if (client->out)
            send_answer(client);
        if (client->fd >= 0)
            handle_lines(server, client);
    }
    if ((list[1].revents & POLLIN) != 0)
        accept_one(server);
}

static void *serve(void *arg)
{
    enum { DEAF_MS = 100 };
    control_server *server = arg;
    struct pollfd list[2 + CLIENTS];
    for (;;) {
        pthread_mutex_lock(&server->lock);
        bool ended = server->ended;
        list_events(server, list);
        int patience = server->deaf ? DEAF_MS : -1;
        server->deaf = false;
        pthread_mutex_unlock(&server->lock);
        if (ended)
            return NULL;
        if (poll(list, 2 + CLIENTS, patience) < 0)
            continue;
        pthread_mutex_lock(&server->lock);
        handle_events(server, list);
        pthread_mutex_unlock(&server->lock);
    }
}

static void wake(control_server *server)
{
    ssize_t n = write(server->wake[1], "", 1);
    (void)n; /* a full pipe wakes the thread too */
}

/* ---- called by other threads --------------------------------------------- */

vly_status control_server_open(const control_listener *listener,
                               control_line_fn function, void *arg,
                               control_server **server, vly_error *error)
{
    control_server *made = vly_calloc(1, sizeof *made);
    if (!made)
        return vly_fail_nomem(error, sizeof *made, "control");
    made->listener = listener->fd;
    made->function = function;
    made->arg = arg;
    for (int i = 0; i < CLIENTS; i++)
        made->clients[i].fd = -1;
    if (pipe2(made->wake, O_CLOEXEC | O_NONBLOCK) != 0) {
        vly_free(made);
        return vly_fail(error, VLY_E_IO, "control: no pipe: %s",
                        strerror(errno));
    }
    pthread_mutex_init(&made->lock, NULL);
    if (vly_thread_start(&made->thread, serve, made, "control", error) !=
        VLY_OK) {
        close(made->wake[0]);
        close(made->wake[1]);
        vly_free(made);
        return VLY_E_NOMEM;
    }
    *server = made;
    return VLY_OK;
}

bool control_server_take(control_server *server, char *line, uint64_t *ticket)
{
    control_client *first = NULL;
    pthread_mutex_lock(&server->lock);
    for (int i = 0; i < CLIENTS; i++) {
        control_client *client = &server->clients[i];
        if (client->ticket != 0 && !client->taken &&
            (!first || client->ticket < first->ticket))
            first = client;
    }
    if (first) {
        first->taken = true;
        *ticket = first->ticket;
        memcpy(line, first->line, sizeof first->line);
    }
    pthread_mutex_unlock(&server->lock);
    return first != NULL;
}

void control_server_answer(control_server *server, uint64_t ticket,
                           char *answer)
{
    pthread_mutex_lock(&server->lock);
    for (int i = 0; i < CLIENTS && ticket != 0; i++) {
        control_client *client = &server->clients[i];
        if (client->ticket != ticket)
            continue;
        give(client, answer);
        answer = NULL;
        break;
    }
    pthread_mutex_unlock(&server->lock);
    vly_free(answer);
    wake(server);
}

void control_server_close(control_server *server, const char *last)
{
    if (!server)
        return;
    pthread_mutex_lock(&server->lock);
    server->ended = true;
    pthread_mutex_unlock(&server->lock);
    wake(server);
    pthread_join(server->thread, NULL);
    for (int i = 0; i < CLIENTS; i++) {
        control_client *client = &server->clients[i];
        if (client->fd < 0)
            continue;
        if (client->ticket != 0)
            give(client, vly_strdup(last));
        if (client->fd >= 0 && client->out)
            send_answer(client);
        if (client->fd >= 0)
            drop(client);
    }
    close(server->wake[0]);
    close(server->wake[1]);
    pthread_mutex_destroy(&server->lock);
    vly_free(server);
}
