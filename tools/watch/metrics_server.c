/* SPDX-License-Identifier: Apache-2.0
 * Connections of the metrics endpoint.
 */
#include "tools/watch/metrics_server.h"

#include <errno.h>
#include <fcntl.h>
#include <netdb.h>
#include <netinet/in.h>
#include <poll.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/error.h"
#include "base/memory.h"
#include "base/thread.h"
#include "tools/cli/options.h"

enum { REQUEST_BYTES = 8192, HEAD_BYTES = 256 };

static const uint64_t patience_ns = 1000000000;
/* If no client can be accepted, the listener stays readable and poll would
 * never wait: so it is not polled for this time. */
static const uint64_t deaf_ns = 100000000;

/* A connection: reads its request, then writes the answer. */
typedef struct client {
    int fd;
    uint64_t end_ns; /* time at which it is closed */
    size_t n_request;
    char request[REQUEST_BYTES];
    bool answers;
    char head[HEAD_BYTES];
    const char *text; /* text after the head: page, or a constant */
    char *page;
    size_t n_head;
    size_t n_text;
    size_t n_sent; /* of both */
} client;

struct metrics_server {
    metrics_page_make *make;
    void *context;
    int listener;
    int wake[2]; /* a pipe: closing its other end ends the thread */
    pthread_t thread;
    bool runs;
    uint32_t n_clients;
    client *clients[METRICS_CLIENTS];
};

/* ---- answers ------------------------------------------------------------ */

static void answer(client *to, const char *status, const char *type,
                   const char *text, size_t n)
{
    const int m = snprintf(to->head, sizeof to->head,
                           "HTTP/1.1 %s\r\nContent-Type: %s\r\n"
                           "Content-Length: %zu\r\nConnection: close\r\n\r\n",
                           status, type, n);
    to->n_head = (size_t)m;
    to->text = text;
    to->n_text = n;
    to->answers = true;
    to->end_ns = vly_clock_ns() + patience_ns;
}

static bool asks_for(const char *request, const char *path)
{
    const size_t n = strlen(path);
    return strncmp(request, "GET ", 4) == 0 &&
           strncmp(request + 4, path, n) == 0 &&
           (request[4 + n] == ' ' || request[4 + n] == '?');
}

static void choose_answer(metrics_server *server, client *to)
{
    static const char elsewhere[] = "volley: the metrics are at /metrics\n";
    const size_t n_elsewhere = sizeof elsewhere - 1;
    size_t n = 0;
    if (strncmp(to->request, "GET ", 4) != 0) {
        answer(to, "405 Method Not Allowed", "text/plain", elsewhere,
               n_elsewhere);
        return;
    }
    if (!asks_for(to->request, "/metrics")) {
        answer(to, "404 Not Found", "text/plain", elsewhere, n_elsewhere);
        return;
    }
    to->page = server->make(server->context, &n);
    if (to->page)
        answer(to, "200 OK", "text/plain; version=0.0.4; charset=utf-8",
               to->page, n);
    else
        answer(to, "503 Service Unavailable", "text/plain", "no memory\n", 10);
}

/* ---- a connection ------------------------------------------------------- */

static bool would_wait(void)
{
    return errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR;
}

/* Reads the available part of the request, up to its empty line. false: close
 * the connection. */
static bool go_on_reading(metrics_server *server, client *from)
{
    const size_t room = REQUEST_BYTES - 1 - from->n_request;
    const ssize_t got =
        recv(from->fd, from->request + from->n_request, room, 0);
    if (got < 0)
        return would_wait();
    if (got == 0)
        return false;
    from->n_request += (size_t)got;
    from->request[from->n_request] = '\0';
    if (strstr(from->request, "\r\n\r\n") || strstr(from->request, "\n\n")) {
        choose_answer(server, from);
        return true;
    }
    return from->n_request < REQUEST_BYTES - 1;
}

/* false: everything is written, or writing failed. */
static bool go_on_writing(client *to)
{
    while (to->n_sent < to->n_head + to->n_text) {
        const bool in_head = to->n_sent < to->n_head;
        const char *at = in_head ? to->head + to->n_sent
                                 : to->text + (to->n_sent - to->n_head);
        const size_t left =
            (in_head ? to->n_head : to->n_head + to->n_text) - to->n_sent;
        const ssize_t sent = send(to->fd, at, left, MSG_NOSIGNAL);
        if (sent < 0)
            return would_wait();
        to->n_sent += (size_t)sent;
        to->end_ns = vly_clock_ns() + patience_ns;
    }
    return false;
}

/* The last client takes the free slot. */
static void hang_up(metrics_server *server, uint32_t i)
{
    client *one = server->clients[i];
    server->clients[i] = server->clients[--server->n_clients];
    close(one->fd);
    vly_free(one->page);
    vly_free(one);
}

static void hang_up_oldest(metrics_server *server)
{
    uint32_t oldest = 0;
    for (uint32_t i = 1; i < server->n_clients; i++)
        if (server->clients[i]->end_ns < server->clients[oldest]->end_ns)
            oldest = i;
    hang_up(server, oldest);
}

/* false: no file descriptor or memory is available now. */
static bool take_client(metrics_server *server)
{
    const int fd = accept(server->listener, NULL, NULL);
    if (fd < 0)
        return would_wait() || errno == ECONNABORTED;
    client *made = vly_calloc(1, sizeof *made);
    if (!made) {
        close(fd);
        return false;
    }
    (void)fcntl(fd, F_SETFD, FD_CLOEXEC);
    (void)fcntl(fd, F_SETFL, O_NONBLOCK);
    made->fd = fd;
    made->end_ns = vly_clock_ns() + patience_ns;
    if (server->n_clients == METRICS_CLIENTS)
        hang_up_oldest(server);
    server->clients[server->n_clients++] = made;
    return true;
}

/* ---- the thread --------------------------------------------------------- */

/* Time until the first deadline, rounded up; -1: no deadline. deaf: the time
 * until the listener is polled again is a deadline too. */
static int patience_ms(const metrics_server *server, bool deaf)
{
    const uint64_t now = vly_clock_ns();
    uint64_t end = deaf ? now + deaf_ns : UINT64_MAX;
    for (uint32_t i = 0; i < server->n_clients; i++)
        if (server->clients[i]->end_ns < end)
            end = server->clients[i]->end_ns;
    if (end == UINT64_MAX)
        return -1;
    return end <= now ? 0 : (int)((end - now) / 1000000) + 1;
}

/* events [n_clients] of poll. Backwards, since the last client takes a free
 * slot. */
static void serve(metrics_server *server, const struct pollfd *events)
{
    const uint64_t now = vly_clock_ns();
    for (uint32_t i = server->n_clients; i-- > 0;) {
        client *one = server->clients[i];
        bool goes_on = true;
        if (events[i].revents != 0 && !one->answers)
            goes_on = go_on_reading(server, one);
        /* a page fits into the buffer of the system: most are written at
         * once */
        if (goes_on && one->answers)
            goes_on = go_on_writing(one);
        if (!goes_on || one->end_ns <= now)
            hang_up(server, i);
    }
}

static void *serve_all(void *arg)
{
    metrics_server *server = arg;
    bool deaf = false;
    for (;;) {
        struct pollfd fds[2 + METRICS_CLIENTS] = {
            {server->wake[0], POLLIN, 0},
            {server->listener, deaf ? 0 : POLLIN, 0}};
        for (uint32_t i = 0; i < server->n_clients; i++)
            fds[2 + i] = (struct pollfd){
                server->clients[i]->fd,
                server->clients[i]->answers ? POLLOUT : POLLIN, 0};
        if (poll(fds, 2 + server->n_clients, patience_ms(server, deaf)) < 0) {
            if (errno == EINTR)
                continue;
            return NULL;
        }
        if (fds[0].revents != 0)
            return NULL;
        serve(server, fds + 2);
        deaf = fds[1].revents != 0 && !take_client(server);
    }
}

/* ---- begin and end ------------------------------------------------------ */

/* "9100", "0.0.0.0:9100", "[::1]:9100" into two texts. */
static vly_status split(const char *address, char *host, size_t capacity,
                        const char **port, vly_error *error)
{
    const char *colon = strrchr(address, ':');
    uint64_t number = 0;
    *port = colon ? colon + 1 : address;
    snprintf(host, capacity, "127.0.0.1");
    if (colon) {
        const bool six =
            address[0] == '[' && colon > address + 1 && colon[-1] == ']';
        const char *first = six ? address + 1 : address;
        const size_t n = (size_t)(colon - first) - (six ? 1 : 0);
        if (n == 0 || n >= capacity)
            return vly_fail(error, VLY_E_INVALID,
                            "--metrics %s: wanted PORT or ADDRESS:PORT",
                            address);
        memcpy(host, first, n);
        host[n] = '\0';
    }
    if (!tool_read_count(*port, &number) || number > 65535)
        return vly_fail(error, VLY_E_INVALID,
                        "--metrics %s: the port is %s, wanted 0 to 65535 (0: "
                        "any that is free)",
                        address, *port);
    return VLY_OK;
}

vly_status metrics_address_check(const char *address, vly_error *error)
{
    const struct addrinfo hints = {.ai_flags = AI_NUMERICHOST | AI_NUMERICSERV,
                                   .ai_socktype = SOCK_STREAM};
    struct addrinfo *found = NULL;
    char host[64];
    const char *port = NULL;
    vly_status status = split(address, host, sizeof host, &port, error);
    if (status == VLY_OK && getaddrinfo(host, port, &hints, &found) != 0)
        return vly_fail(error, VLY_E_INVALID,
                        "--metrics %s: %s is not an address of numbers",
                        address, host);
    if (found)
        freeaddrinfo(found);
    return status;
}

static vly_status listen_at(const char *address, int *listener,
                            vly_error *error)
{
    const struct addrinfo hints = {.ai_flags = AI_NUMERICHOST | AI_NUMERICSERV |
                                               AI_PASSIVE,
                                   .ai_socktype = SOCK_STREAM};
    struct addrinfo *found = NULL;
    char host[64];
    const char *port = NULL;
    const int on = 1;
    vly_status status = VLY_OK;
    VLY_TRY(split(address, host, sizeof host, &port, error));
    if (getaddrinfo(host, port, &hints, &found) != 0)
        return vly_fail(error, VLY_E_INVALID,
                        "--metrics %s: %s is not an address of numbers",
                        address, host);
    const int fd = socket(found->ai_family, SOCK_STREAM, 0);
    if (fd >= 0)
        (void)setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    if (fd < 0 || bind(fd, found->ai_addr, found->ai_addrlen) != 0 ||
        listen(fd, 16) != 0) {
        status = vly_fail(
            error, VLY_E_IO, "--metrics %s: %s%s", address, strerror(errno),
            errno == EADDRINUSE ? ", wanted another port, or 0 for a free one"
            : errno == EACCES   ? ", wanted a port of 1024 and more"
            : errno == EADDRNOTAVAIL ? ", wanted an address of this machine"
                                     : "");
        if (fd >= 0)
            close(fd);
    } else {
        (void)fcntl(fd, F_SETFD, FD_CLOEXEC);
        (void)fcntl(fd, F_SETFL, O_NONBLOCK);
        *listener = fd;
    }
    freeaddrinfo(found);
out:
    return status;
}

void metrics_server_url(const metrics_server *server, char *text,
                        size_t capacity)
{
    struct sockaddr_storage at;
    socklen_t n = sizeof at;
    char host[64];
    char port[16];
    (void)snprintf(text, capacity, "?");
    if (getsockname(server->listener, (struct sockaddr *)&at, &n) == 0 &&
        getnameinfo((const struct sockaddr *)&at, n, host, sizeof host, port,
                    sizeof port, NI_NUMERICHOST | NI_NUMERICSERV) == 0)
        (void)snprintf(text, capacity,
                       at.ss_family == AF_INET6 ? "http://[%s]:%s/metrics"
                                                : "http://%s:%s/metrics",
                       host, port);
}

static vly_status start(metrics_server *server, vly_error *error)
{
    if (pipe(server->wake) != 0) {
        server->wake[0] = server->wake[1] = -1;
        return vly_fail(error, VLY_E_IO, "--metrics: no pipe: %s",
                        strerror(errno));
    }
    (void)fcntl(server->wake[0], F_SETFD, FD_CLOEXEC);
    (void)fcntl(server->wake[1], F_SETFD, FD_CLOEXEC);
    vly_status status =
        vly_thread_start(&server->thread, serve_all, server, "metrics", error);
    server->runs = status == VLY_OK;
    return status;
}

vly_status metrics_server_open(const char *address, metrics_page_make *make,
                               void *context, metrics_server **server,
                               vly_error *error)
{
    vly_status status = VLY_OK;
    metrics_server *made = vly_calloc(1, sizeof *made);
    if (!made)
        return vly_fail_nomem(error, sizeof *made, "metrics");
    made->make = make;
    made->context = context;
    made->listener = made->wake[0] = made->wake[1] = -1;
    VLY_TRY(listen_at(address, &made->listener, error));
    VLY_TRY(start(made, error));
    *server = made;
    made = NULL;
out:
    metrics_server_close(made);
    return status;
}

void metrics_server_close(metrics_server *server)
{
    if (!server)
        return;
    if (server->wake[1] >= 0)
        close(server->wake[1]);
    if (server->runs)
        pthread_join(server->thread, NULL);
    if (server->wake[0] >= 0)
        close(server->wake[0]);
    while (server->n_clients > 0)
        hang_up(server, server->n_clients - 1);
    if (server->listener >= 0)
        close(server->listener);
    vly_free(server);
}
