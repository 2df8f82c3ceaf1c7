/* SPDX-License-Identifier: Apache-2.0
 * A Prometheus endpoint: HTTP/1.1, GET /metrics, one request a connection, on a
 * thread of its own. Text format 0.0.4 of Prometheus: base units, counters end
 * in _total, ratios are 0 to 1. A client that does not send or read is dropped
 * after a second; meanwhile only others who ask wait.
 */
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <netdb.h>
#include <netinet/in.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/error.h"
#include "base/memory.h"
#include "base/thread.h"
#include "device_limits.h"
#include "run_watch.h"
#include "tool.h"
#include "volley_build.h"

enum { REQUEST_BYTES = 8192, PATIENCE_MS = 1000 };

/* Over how long gauges that are rates are taken. */
static const uint64_t rate_ns = 1000000000;

struct watch_metrics {
    const run_watch *watch;
    const watch_net *net;
    const vly_telemetry_ring *ring;
    watch_devices *devices; /* NULL: none tell */
    int listener;
    int wake[2]; /* a pipe: its other end closed ends the thread */
    pthread_t thread;
    bool runs;
    bool any;
    vly_telemetry_sample before; /* for rates: at least rate_ns old */
    vly_telemetry_sample middle; /* becomes before */
    vly_telemetry_sample now;
    uint64_t *areas[3]; /* [n_areas] of the three */
};

/* ---- text --------------------------------------------------------------- */

typedef struct metrics_page {
    char *text;
    size_t n;
    size_t capacity;
    bool failed;
} metrics_page;

static void put(metrics_page *page, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
static void put(metrics_page *page, const char *format, ...)
{
    va_list args;
    for (int tries = 0; tries < 2 && !page->failed; tries++) {
        const size_t room = page->capacity - page->n;
        va_start(args, format);
        const int n = vsnprintf(page->text ? page->text + page->n : NULL,
                                page->text ? room : 0, format, args);
        va_end(args);
        if (n >= 0 && page->text && (size_t)n < room) {
            page->n += (size_t)n;
            return;
        }
        const size_t wanted = 2 * (page->capacity + (size_t)n + 1);
        char *more = n < 0 ? NULL : vly_realloc(page->text, wanted, 1);
        page->failed = more == NULL;
        if (more) {
            page->text = more;
            page->capacity = wanted;
        }
    }
    page->failed = true;
}

static void put_type(metrics_page *page, const char *name, const char *type,
                     const char *help)
{
    put(page, "# HELP %s %s\n# TYPE %s %s\n", name, help, name, type);
}

static void put_one(metrics_page *page, const char *name, const char *type,
                    const char *help, double value)
{
    put_type(page, name, type, help);
    put(page, "%s %.17g\n", name, value);
}

/* name{label="value"} with what the format escapes. */
static void put_label(metrics_page *page, const char *name, const char *label,
                      const char *value)
{
    put(page, "%s{%s=\"", name, label);
    for (const char *c = value; *c; c++) {
        if (*c == '\n')
            put(page, "\\n");
        else if (*c == '"' || *c == '\\')
            put(page, "\\%c", *c);
        else
            put(page, "%c", *c);
    }
    put(page, "\"}");
}

static void put_seconds(metrics_page *page, const char *phase, uint64_t ns)
{
    put_label(page, "volley_phase_seconds_total", "phase", phase);
    put(page, " %.9f\n", (double)ns * 1e-9);
}

static void put_bytes(metrics_page *page, const char *kind, uint64_t bytes)
{
    put_label(page, "volley_memory_bytes", "kind", kind);
    put(page, " %llu\n", (unsigned long long)bytes);
}

static void put_dropped(metrics_page *page, const char *what, uint64_t n)
{
    put_label(page, "volley_dropped_total", "what", what);
    put(page, " %llu\n", (unsigned long long)n);
}

static void put_counters(metrics_page *page, const watch_metrics *metrics)
{
    const vly_telemetry_sample *now = &metrics->now;
    const watch_net *net = metrics->net;
    put_one(page, "volley_bursts_total", "counter", "Bursts done.",
            (double)now->bursts);
    put_one(page, "volley_bursts_wanted", "gauge", "Length of the run.",
            (double)net->n_bursts);
    put_one(page, "volley_burst_length_seconds", "gauge",
            "Biological time of a burst.", net->dt_ms * 1e-3);
    put_one(page, "volley_engine_seconds_total", "counter",
            "Wall time inside the engine.", (double)now->run_ns * 1e-9);
    put_type(page, "volley_phase_seconds_total", "counter",
             "Wall time of each phase of a burst.");
    put_seconds(page, "delivery", now->delivery_ns);
    put_seconds(page, "dynamics", now->dynamics_ns);
    put_seconds(page, "exchange", now->exchange_ns);
    put_seconds(page, "drain", now->drain_ns);
    put_one(page, "volley_spikes_total", "counter", "Neurons that fired.",
            (double)now->spikes);
    put_one(page, "volley_synaptic_events_total", "counter",
            "Spikes that arrived at a synapse.", (double)now->events);
    put_one(page, "volley_candidates_total", "counter",
            "Neurons updated, summed over bursts.", (double)now->candidates);
    /* run_record waits where it has to and never drops */
    put_type(page, "volley_dropped_total", "counter",
             "What was lost on its way: recorded spikes and samples, telemetry "
             "lines.");
    put_dropped(page, "recording", 0);
    put_dropped(page, "telemetry", watch_lost(metrics->watch));
    put_type(page, "volley_memory_bytes", "gauge", "Memory held by the net.");
    put_bytes(page, "connectome", now->connectome_bytes);
    put_bytes(page, "host", now->host_bytes);
    put_bytes(page, "device", now->device_bytes);
}

static void put_rates(metrics_page *page, const watch_metrics *metrics)
{
    const watch_net *net = metrics->net;
    const watch_rates rates =
        watch_rates_of(net, &metrics->before, &metrics->now);
    put_one(page, "volley_progress_ratio", "gauge", "Share of the run done.",
            net->n_bursts > 0
                ? (double)metrics->now.bursts / (double)net->n_bursts
                : 1);
    put_one(page, "volley_real_time_factor", "gauge",
            "Wall time over biological time, of late.", rates.real_time);
    put_type(page, "volley_area_neurons", "gauge", "Neurons of an area.");
    for (uint32_t a = 0; a < net->n_areas; a++) {
        put_label(page, "volley_area_neurons", "area", net->areas[a]);
        put(page, " %u\n", net->neurons[a]);
    }
    put_type(page, "volley_area_spikes_total", "counter",
             "Spikes of an area since this process began.");
    for (uint32_t a = 0; a < net->n_areas; a++) {
        put_label(page, "volley_area_spikes_total", "area", net->areas[a]);
        put(page, " %llu\n", (unsigned long long)metrics->areas[2][a]);
    }
    put_type(page, "volley_area_rate_hertz", "gauge",
             "Mean rate of an area's neurons in biological time, of late.");
    for (uint32_t a = 0; a < net->n_areas; a++) {
        put_label(page, "volley_area_rate_hertz", "area", net->areas[a]);
        put(page, " %.9g\n",
            watch_area_hz(net, a, &rates, metrics->areas[0],
                          metrics->areas[2]));
    }
}

static void copy_areas(watch_metrics *metrics, int to, int from)
{
    memcpy(metrics->areas[to], metrics->areas[from],
           metrics->net->n_areas * sizeof *metrics->areas[0]);
}

/* Rates are of one to two times rate_ns, once there has been as much. */
static void take_sample(watch_metrics *metrics)
{
    (void)vly_telemetry_last(metrics->ring, &metrics->now, metrics->areas[2]);
    if (!metrics->any) {
        metrics->before = metrics->middle = metrics->now;
        copy_areas(metrics, 0, 2);
        copy_areas(metrics, 1, 2);
        metrics->any = true;
    }
    if (metrics->now.at_ns - metrics->middle.at_ns < rate_ns)
        return;
    metrics->before = metrics->middle;
    copy_areas(metrics, 0, 1);
    metrics->middle = metrics->now;
    copy_areas(metrics, 1, 2);
}

/* Takes the text; NULL: there was no memory for it. */
static void put_text(metrics_page *page, char *text)
{
    if (text)
        put(page, "%s", text);
    else
        page->failed = true;
    vly_free(text);
}

static void make_page(watch_metrics *metrics, metrics_page *page)
{
    char backend[64];
    watch_backend(metrics->watch, backend, sizeof backend);
    take_sample(metrics);
    put_type(page, "volley_info", "gauge", "Which build runs what, where.");
    put(page, "volley_info{version=\"%s\",commit=\"%s\",backend=\"%s\"} 1\n",
        VLY_BUILD_VERSION, VLY_BUILD_COMMIT, backend);
    put_counters(page, metrics);
    put_rates(page, metrics);
    put_text(page, device_limits_metrics());
    put_text(page, watch_devices_metrics(metrics->devices));
}

/* ---- HTTP --------------------------------------------------------------- */

static bool wait_for(int fd, short events)
{
    struct pollfd one = {fd, events, 0};
    return poll(&one, 1, PATIENCE_MS) > 0;
}

static void send_all(int fd, const char *text, size_t n)
{
    while (n > 0) {
        const ssize_t sent = send(fd, text, n, MSG_NOSIGNAL);
        if (sent < 0 && errno == EINTR)
            continue;
        if (sent < 0 && (errno == EAGAIN || errno == EWOULDBLOCK) &&
            wait_for(fd, POLLOUT))
            continue;
        if (sent <= 0)
            return;
        text += sent;
        n -= (size_t)sent;
    }
}

static void answer(int fd, const char *status, const char *type,
                   const char *text, size_t n)
{
    char head[256];
    const int m = snprintf(head, sizeof head,
                           "HTTP/1.1 %s\r\nContent-Type: %s\r\n"
                           "Content-Length: %zu\r\nConnection: close\r\n\r\n",
                           status, type, n);
    send_all(fd, head, (size_t)m);
    send_all(fd, text, n);
}

/* The head of a request, up to its empty line. false: none came. */
static bool read_request(int fd, char *request)
{
    size_t n = 0;
    const uint64_t end = vly_clock_ns() + PATIENCE_MS * UINT64_C(1000000);
    request[0] = '\0';
    while (n < REQUEST_BYTES - 1 && vly_clock_ns() < end) {
        if (!wait_for(fd, POLLIN))
            return false;
        const ssize_t got = recv(fd, request + n, REQUEST_BYTES - 1 - n, 0);
        if (got < 0 && (errno == EINTR || errno == EAGAIN))
            continue;
        if (got <= 0)
            return false;
        n += (size_t)got;
        request[n] = '\0';
        if (strstr(request, "\r\n\r\n") || strstr(request, "\n\n"))
            return true;
    }
    return false;
}

static bool asks_for(const char *request, const char *path)
{
    const size_t n = strlen(path);
    return strncmp(request, "GET ", 4) == 0 &&
           strncmp(request + 4, path, n) == 0 &&
           (request[4 + n] == ' ' || request[4 + n] == '?');
}

static void serve(watch_metrics *metrics, int fd)
{
    static const char elsewhere[] = "volley: the metrics are at /metrics\n";
    char request[REQUEST_BYTES];
    metrics_page page = {0};
    if (!read_request(fd, request))
        return;
    if (strncmp(request, "GET ", 4) != 0) {
        answer(fd, "405 Method Not Allowed", "text/plain", elsewhere,
               sizeof elsewhere - 1);
        return;
    }
    if (!asks_for(request, "/metrics")) {
        answer(fd, "404 Not Found", "text/plain", elsewhere,
               sizeof elsewhere - 1);
        return;
    }
    make_page(metrics, &page);
    if (page.failed)
        answer(fd, "503 Service Unavailable", "text/plain", "no memory\n", 10);
    else
        answer(fd, "200 OK", "text/plain; version=0.0.4; charset=utf-8",
               page.text, page.n);
    vly_free(page.text);
}

static void *serve_all(void *arg)
{
    watch_metrics *metrics = arg;
    for (;;) {
        struct pollfd fds[2] = {{metrics->listener, POLLIN, 0},
                                {metrics->wake[0], POLLIN, 0}};
        if (poll(fds, 2, -1) < 0 && errno != EINTR)
            return NULL;
        if (fds[1].revents != 0)
            return NULL;
        if (fds[0].revents == 0)
            continue;
        const int fd = accept(metrics->listener, NULL, NULL);
        if (fd < 0)
            continue;
        (void)fcntl(fd, F_SETFD, FD_CLOEXEC);
        (void)fcntl(fd, F_SETFL, O_NONBLOCK);
        serve(metrics, fd);
        close(fd);
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
    vly_status status = split(address, host, sizeof host, &port, error);
    if (status != VLY_OK)
        return status;
    if (getaddrinfo(host, port, &hints, &found) != 0)
        return vly_fail(error, VLY_E_INVALID,
                        "--metrics %s: %s is no address of numbers", address,
                        host);
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
    return status;
}

static void say_where(int listener)
{
    struct sockaddr_storage at;
    socklen_t n = sizeof at;
    char host[64];
    char port[16];
    if (getsockname(listener, (struct sockaddr *)&at, &n) == 0 &&
        getnameinfo((const struct sockaddr *)&at, n, host, sizeof host, port,
                    sizeof port, NI_NUMERICHOST | NI_NUMERICSERV) == 0)
        tool_message(at.ss_family == AF_INET6
                         ? "metrics at http://[%s]:%s/metrics"
                         : "metrics at http://%s:%s/metrics",
                     host, port);
}

static vly_status start(watch_metrics *metrics, vly_error *error)
{
    if (pipe(metrics->wake) != 0) {
        metrics->wake[0] = metrics->wake[1] = -1;
        return vly_fail(error, VLY_E_IO, "--metrics: no pipe: %s",
                        strerror(errno));
    }
    (void)fcntl(metrics->wake[0], F_SETFD, FD_CLOEXEC);
    (void)fcntl(metrics->wake[1], F_SETFD, FD_CLOEXEC);
    vly_status status = vly_thread_start(&metrics->thread, serve_all, metrics,
                                         "metrics", error);
    metrics->runs = status == VLY_OK;
    return status;
}

vly_status watch_metrics_open(const run_watch *watch, const watch_net *net,
                              const vly_telemetry_ring *ring,
                              vly_device_watch *devices, const char *address,
                              bool quiet, watch_metrics **metrics,
                              vly_error *error)
{
    vly_status status = VLY_OK;
    watch_metrics *made = vly_calloc(1, sizeof *made);
    if (!made)
        return vly_fail_nomem(error, sizeof *made, "metrics");
    made->watch = watch;
    made->net = net;
    made->ring = ring;
    made->listener = made->wake[0] = made->wake[1] = -1;
    for (int i = 0; i < 3; i++) {
        made->areas[i] =
            vly_calloc((size_t)net->n_areas + 1, sizeof *made->areas[i]);
        if (!made->areas[i]) {
            status = vly_fail_nomem(error, net->n_areas * UINT64_C(8), "areas");
            goto out;
        }
    }
    VLY_TRY(watch_devices_open(devices, &made->devices, error));
    take_sample(made);
    VLY_TRY(listen_at(address, &made->listener, error));
    VLY_TRY(start(made, error));
    if (!quiet)
        say_where(made->listener);
    *metrics = made;
    made = NULL;
out:
    watch_metrics_close(made);
    return status;
}

void watch_metrics_close(watch_metrics *metrics)
{
    if (!metrics)
        return;
    if (metrics->wake[1] >= 0)
        close(metrics->wake[1]);
    if (metrics->runs)
        pthread_join(metrics->thread, NULL);
    if (metrics->wake[0] >= 0)
        close(metrics->wake[0]);
    if (metrics->listener >= 0)
        close(metrics->listener);
    watch_devices_close(metrics->devices);
    for (int i = 0; i < 3; i++)
        vly_free(metrics->areas[i]);
    vly_free(metrics);
}
