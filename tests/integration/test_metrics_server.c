/* SPDX-License-Identifier: Apache-2.0
 * The metrics endpoint and clients that are slow, silent, half gone or too
 * many. The order of events shows that no other client waits for them: they are
 * still connected when another has been answered. A machine that stands still
 * for a second hangs up on them as well, so one of many tries must see it.
 */
#include "tools/watch/metrics_server.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/error.h"
#include "base/memory.h"
#include "volley_test.h"

enum { TRIES = 30, LARGE = 8 << 20 };

static const char request[] = "GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n";

/* Contents of the page, and the thread that made it. */
typedef struct fixture {
    metrics_server *server;
    size_t n_page;
    uint16_t port;
} fixture;

static char *make_page(void *context, size_t *n)
{
    const fixture *of = context;
    char *text = of->n_page > 0 ? vly_malloc(of->n_page, 1) : NULL;
    if (text)
        memset(text, 'x', of->n_page);
    *n = of->n_page;
    return text;
}

static void open_server(fixture *of, size_t n_page)
{
    char url[128];
    vly_error error = VLY_ERROR_INIT;
    of->n_page = n_page;
    if (metrics_server_open("0", make_page, of, &of->server, &error) != VLY_OK)
        fail_msg("%s", error.message);
    metrics_server_url(of->server, url, sizeof url);
    const char *colon = strrchr(url, ':');
    assert_non_null(colon);
    assert_int_equal(strncmp(url, "http://127.0.0.1:", 17), 0);
    of->port = (uint16_t)strtoul(colon + 1, NULL, 10);
    assert_true(of->port > 0);
}

static int connect_to(const fixture *of)
{
    const struct sockaddr_in at = {.sin_family = AF_INET,
                                   .sin_port = htons(of->port),
                                   .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    const int fd = socket(AF_INET, SOCK_STREAM, 0);
    assert_true(fd >= 0);
    assert_int_equal(connect(fd, (const struct sockaddr *)&at, sizeof at), 0);
    return fd;
}

static void say(int fd, const char *text)
{
    const size_t n = strlen(text);
    assert_int_equal(send(fd, text, n, MSG_NOSIGNAL), n);
}

/* Up to the end; bytes of it, of which the first are in text. */
static size_t hear(int fd, char *text, size_t capacity)
{
    static char rest[65536];
    size_t n = 0;
    for (;;) {
        const size_t room = n + 1 < capacity ? capacity - 1 - n : 0;
        const ssize_t got = recv(fd, room > 0 ? text + n : rest,
                                 room > 0 ? room : sizeof rest, 0);
        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0)
            break;
        n += (size_t)got;
    }
    text[n < capacity - 1 ? n : capacity - 1] = '\0';
    return n;
}

/* Asked and answered, the code of it. */
static int ask(const fixture *of, const char *what)
{
    char text[256];
    const int fd = connect_to(of);
    say(fd, what);
    (void)hear(fd, text, sizeof text);
    close(fd);
    return strncmp(text, "HTTP/1.1 ", 9) == 0 ? atoi(text + 9) : -1;
}

static bool is_open(int fd)
{
    char one;
    const ssize_t got = recv(fd, &one, 1, MSG_DONTWAIT | MSG_PEEK);
    return got > 0 || (got < 0 && (errno == EAGAIN || errno == EWOULDBLOCK));
}

static void test_answers(void **state)
{
    (void)state;
    fixture of;
    open_server(&of, 100);
    assert_int_equal(ask(&of, request), 200);
    assert_int_equal(ask(&of, "GET /metrics?a=b HTTP/1.0\n\n"), 200);
    assert_int_equal(ask(&of, "GET /metricsx HTTP/1.1\r\n\r\n"), 404);
    assert_int_equal(ask(&of, "POST /metrics HTTP/1.1\r\n\r\n"), 405);
    of.n_page = 0; /* no memory */
    assert_int_equal(ask(&of, request), 503);
    metrics_server_close(of.server);
}

/* Silent clients and partial requests do not delay a complete request. */
static void test_silent(void **state)
{
    (void)state;
    fixture of;
    bool seen = false;
    open_server(&of, 100);
    for (int t = 0; t < TRIES && !seen; t++) {
        const int silent = connect_to(&of);
        const int slow = connect_to(&of);
        say(slow, "GET /met");
        assert_int_equal(ask(&of, request), 200);
        seen = is_open(silent) && is_open(slow);
        close(silent);
        close(slow);
    }
    assert_true(seen);
    metrics_server_close(of.server);
}

/* A request may arrive byte by byte, or be followed by the end of the sender's
 * side. */
static void test_slow_words(void **state)
{
    (void)state;
    fixture of;
    char text[256];
    bool whole = false;
    open_server(&of, 100);
    for (int t = 0; t < TRIES && !whole; t++) {
        const int fd = connect_to(&of);
        for (size_t i = 0; i + 1 < sizeof request; i++)
            (void)send(fd, request + i, 1, MSG_NOSIGNAL);
        assert_int_equal(shutdown(fd, SHUT_WR), 0);
        (void)hear(fd, text, sizeof text);
        whole = strstr(text, "\r\n\r\nxxx") != NULL;
        close(fd);
    }
    assert_true(whole);
    const int half = connect_to(&of);
    say(half, "GET /metrics HTTP/1.1\r\n");
    assert_int_equal(shutdown(half, SHUT_WR), 0);
    assert_int_equal(hear(half, text, sizeof text), 0);
    close(half);
    /* nor is what never ends */
    const int endless = connect_to(&of);
    for (int i = 0; i < 10000; i++)
        if (send(endless, "no HTTP", 7, MSG_NOSIGNAL) < 0)
            break;
    (void)hear(endless, text, sizeof text);
    assert_null(strstr(text, "HTTP/1.1"));
    close(endless);
    metrics_server_close(of.server);
}

/* A client that does not read a page larger than the buffers of the system. */
static void test_slow_reader(void **state)
{
    (void)state;
    fixture of;
    bool seen = false;
    bool whole = false;
    char text[256];
    open_server(&of, LARGE);
    for (int t = 0; t < TRIES && !seen; t++) {
        const int slow = connect_to(&of);
        say(slow, request);
        assert_int_equal(recv(slow, text, 9, MSG_WAITALL), 9);
        assert_int_equal(ask(&of, "GET / HTTP/1.1\r\n\r\n"), 404);
        seen = is_open(slow);
        /* it is not forgotten either: the rest is there if it reads now */
        whole = hear(slow, text, sizeof text) > LARGE;
        close(slow);
    }
    assert_true(seen);
    for (int t = 0; t < TRIES && !whole; t++) {
        const int fd = connect_to(&of);
        say(fd, request);
        whole = hear(fd, text, sizeof text) > LARGE;
        close(fd);
    }
    assert_true(whole);
    metrics_server_close(of.server);
}

/* Too many clients: the oldest is disconnected, the new one is answered.
 * Clients at the end of the server do not block it. */
static void test_many(void **state)
{
    (void)state;
    fixture of;
    enum { MANY = METRICS_CLIENTS + 8 };
    int fds[MANY];
    char text[64];
    open_server(&of, 100);
    for (int i = 0; i < MANY; i++)
        fds[i] = connect_to(&of);
    assert_int_equal(ask(&of, request), 200);
    /* of the first ones nothing is waited for */
    for (int i = 0; i < MANY - METRICS_CLIENTS; i++)
        assert_int_equal(hear(fds[i], text, sizeof text), 0);
    /* and the last one is hung up on when its second is over */
    assert_int_equal(hear(fds[MANY - 1], text, sizeof text), 0);
    const int late = connect_to(&of);
    assert_int_equal(ask(&of, request), 200);
    metrics_server_close(of.server);
    (void)hear(late, text, sizeof text);
    for (int i = 0; i < MANY; i++)
        close(fds[i]);
    close(late);
}

static void test_addresses(void **state)
{
    (void)state;
    static const char *const wrong[][2] = {
        {"99999", "--metrics 99999: the port is 99999, wanted 0 to 65535"},
        {"-1", "the port is -1"},
        {"", "the port is "},
        {":9", "wanted PORT or ADDRESS:PORT"},
        {"nowhere:1", "nowhere is not an address of numbers"},
        {"[::1]:x", "the port is x"},
    };
    fixture of = {.n_page = 1};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        vly_error error = VLY_ERROR_INIT;
        assert_int_equal(metrics_address_check(wrong[i][0], &error),
                         VLY_E_INVALID);
        assert_non_null(strstr(error.message, wrong[i][1]));
        assert_int_equal(
            metrics_server_open(wrong[i][0], make_page, &of, &of.server, NULL),
            VLY_E_INVALID);
    }
    assert_int_equal(metrics_address_check("0", NULL), VLY_OK);
    assert_int_equal(metrics_address_check("0.0.0.0:65535", NULL), VLY_OK);
    assert_int_equal(metrics_address_check("[::1]:80", NULL), VLY_OK);
    /* a port that is taken */
    vly_error error = VLY_ERROR_INIT;
    fixture other;
    char text[32];
    open_server(&other, 1);
    (void)snprintf(text, sizeof text, "%u", (unsigned)other.port);
    assert_int_equal(
        metrics_server_open(text, make_page, &of, &of.server, &error),
        VLY_E_IO);
    assert_non_null(strstr(error.message, "wanted another port"));
    metrics_server_close(other.server);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_answers),    cmocka_unit_test(test_silent),
        cmocka_unit_test(test_slow_words), cmocka_unit_test(test_slow_reader),
        cmocka_unit_test(test_many),       cmocka_unit_test(test_addresses),
    };
    return cmocka_run_group_tests(tests, NULL, NULL) ? 1 : 0;
}
