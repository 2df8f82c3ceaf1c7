/* SPDX-License-Identifier: Apache-2.0
 * Any bytes from a client of the metrics endpoint, in two pieces, and as its
 * address: one answer of HTTP or none, the page only for GET /metrics. The
 * server's functions are called as its thread does; its source is part of this
 * file.
 */
#include "fuzz_support.h"

#include "tools/watch/metrics_server.c" /* its functions are static */

static char *make_page(void *context, size_t *n)
{
    ++*(uint32_t *)context;
    *n = 12;
    return vly_strdup("volley_up 1\n");
}

/* The bytes as text; NULL if they contain a 0. */
static void check_address(const uint8_t *data, size_t size)
{
    char host[64];
    const char *port = NULL;
    vly_error error = VLY_ERROR_INIT;
    char *text = malloc(size + 1);
    demand(text != NULL, "no memory");
    memcpy(text, data, size);
    text[size] = '\0';
    const vly_status status = split(text, host, sizeof host, &port, &error);
    if (status == VLY_OK) {
        demand(strlen(host) > 0 && strlen(port) > 0, "an address of nothing");
        demand(port >= text && port <= text + strlen(text), "a port elsewhere");
    } else {
        demand(status == VLY_E_INVALID, "refused with another status");
    }
    free(text);
}

/* The answer as it came; returns its bytes. */
static size_t receive(int fd, char *text, size_t capacity)
{
    size_t n = 0;
    ssize_t got = 0;
    while (n < capacity - 1 &&
           (got = recv(fd, text + n, capacity - 1 - n, MSG_DONTWAIT)) > 0)
        n += (size_t)got;
    text[n] = '\0';
    return n;
}

static void check_answer(const uint8_t *data, size_t size, const char *text,
                         size_t n, uint32_t pages)
{
    static const char get[] = "GET /metrics";
    const bool asked =
        size > sizeof get - 1 && memcmp(data, get, sizeof get - 1) == 0;
    demand(pages <= 1, "the page was made twice");
    demand(pages == 0 || asked, "the page for another path");
    if (n == 0)
        return;
    demand(strncmp(text, "HTTP/1.1 ", 9) == 0, "no HTTP");
    const char *body = strstr(text, "\r\n\r\n");
    const char *length = strstr(text, "Content-Length: ");
    demand(body != NULL && length != NULL && length < body, "no head");
    demand(strtoul(length + 16, NULL, 10) ==
               (unsigned long)(text + n - (body + 4)),
           "another length than it says");
    demand((strncmp(text + 9, "200", 3) == 0) == (pages == 1),
           "another answer than the page");
}

static bool go_on(metrics_server *server, client *one)
{
    bool goes_on = !one->answers ? go_on_reading(server, one) : true;
    if (goes_on && one->answers)
        goes_on = go_on_writing(one);
    demand(one->n_request < REQUEST_BYTES, "more than a request");
    return goes_on;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const uint64_t live = vly_memory_live();
    uint32_t pages = 0;
    metrics_server server = {.make = make_page, .context = &pages};
    static client one;
    static char text[4096];
    int ends[2];
    if (size > 60000)
        return 0; /* what a socket holds */
    check_address(data, size);
    demand(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, ends) == 0,
           "no sockets");
    memset(&one, 0, sizeof one);
    one.fd = ends[0];
    bool goes_on = true;
    const size_t half = size / 2;
    if (half > 0) {
        demand(send(ends[1], data, half, MSG_NOSIGNAL) == (ssize_t)half,
               "not sent");
        goes_on = go_on(&server, &one);
    }
    demand(send(ends[1], data + half, size - half, MSG_NOSIGNAL) ==
               (ssize_t)(size - half),
           "not sent");
    for (int i = 0; i < 16 && goes_on; i++)
        goes_on = go_on(&server, &one);
    const size_t n = receive(ends[1], text, sizeof text);
    check_answer(data, size, text, n, pages);
    close(ends[0]);
    close(ends[1]);
    vly_free(one.page);
    demand(vly_memory_live() == live, "blocks of memory are left");
    return 0;
}
