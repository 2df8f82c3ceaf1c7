/* SPDX-License-Identifier: Apache-2.0
 * The control socket against clients that behave badly: half lines, garbage,
 * lines without end, clients that never read or leave at once, more of them
 * than there are places. Whatever they do, the next one is answered, and no
 * block is lost.
 */
#include "volley_test.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/error.h"
#include "base/memory.h"
#include "tools/control/control_server.h"

static char folder[] = "/tmp/volley_ctl_XXXXXX";

typedef struct hub {
    control_listener listener;
    control_server *server;
    char path[CONTROL_PATH_BYTES];
    uint64_t blocks;
    char seen[CONTROL_LINE_BYTES]; /* the last line; the server's thread */
} hub;

/* "now X" is answered with X, "later ..." by the test, "large" with as much as
 * an answer may have, "none" with nothing. */
static char *on_line(void *arg, const char *line, bool *later)
{
    hub *h = arg;
    strcpy(h->seen, line);
    *later = strncmp(line, "later", 5) == 0;
    if (*later || strcmp(line, "none") == 0)
        return NULL;
    if (strcmp(line, "large") == 0) {
        char *text = vly_malloc(CONTROL_ANSWER_BYTES, 1);
        if (text != NULL) {
            memset(text, 'x', CONTROL_ANSWER_BYTES - 2);
            memcpy(text + CONTROL_ANSWER_BYTES - 2, "\n", 2);
        }
        return text;
    }
    return vly_format("%s\n", strncmp(line, "now ", 4) == 0 ? line + 4 : "?");
}

static void hub_open(hub *h)
{
    vly_error error = VLY_ERROR_INIT;
    *h = (hub){.blocks = vly_memory_live()};
    (void)snprintf(h->path, sizeof h->path, "%s/x.sock", folder);
    assert_ok(control_listen(h->path, &h->listener, &error), error);
    assert_ok(control_server_open(&h->listener, on_line, h, &h->server, &error),
              error);
}

static void hub_close(hub *h)
{
    struct stat info;
    control_server_close(h->server, "ended\n");
    control_unlisten(&h->listener);
    assert_int_equal(stat(h->path, &info), -1);
    assert_int_equal(vly_memory_live(), h->blocks);
}

static int join(const hub *h)
{
    vly_error error = VLY_ERROR_INIT;
    int fd = -1;
    vly_status status = VLY_E_IO;
    /* the queue may be full for a moment */
    for (int i = 0; i < 6000 && status != VLY_OK; i++) {
        status = control_connect(h->path, &fd, &error);
        if (status != VLY_OK)
            poll(NULL, 0, 10);
    }
    assert_ok(status, error);
    return fd;
}

static void put(int fd, const char *text, size_t n)
{
    assert_int_equal(send(fd, text, n, MSG_NOSIGNAL), n);
}

/* A line within a minute, or "" at the end of the connection. */
static const char *get(int fd)
{
    static char text[CONTROL_ANSWER_BYTES];
    size_t n = 0;
    while (n + 1 < sizeof text) {
        struct pollfd event = {.fd = fd, .events = POLLIN};
        if (poll(&event, 1, 60000) != 1)
            fail_msg("no answer, %d bytes so far", (int)n);
        ssize_t got = read(fd, text + n, 1);
        if (got <= 0)
            break;
        n += (size_t)got;
        if (text[n - 1] == '\n')
            break;
    }
    text[n] = 0;
    return text;
}

static void is_well(const hub *h)
{
    int fd = join(h);
    put(fd, "now well\n", 9);
    assert_string_equal(get(fd), "well\n");
    close(fd);
}

/* ---- clients ----------------------------------------------------------- */

static void half_lines(void **state)
{
    hub h;
    (void)state;
    hub_open(&h);
    int fd = join(&h);
    const char line[] = "now a b  \r\nnow c\n\nnow d\n";
    for (size_t i = 0; i + 1 < sizeof line; i++) {
        put(fd, line + i, 1);
        if (i % 5 == 0)
            is_well(&h);
    }
    assert_string_equal(get(fd), "a b\n");
    assert_string_equal(get(fd), "c\n");
    assert_string_equal(get(fd), "?\n"); /* the empty line */
    assert_string_equal(get(fd), "d\n");
    /* one that ends in the middle of a line; one that ends its side only */
    put(fd, "now e", 5);
    close(fd);
    fd = join(&h);
    put(fd, "now f\nnow g\n", 12);
    shutdown(fd, SHUT_WR);
    assert_string_equal(get(fd), "f\n");
    assert_string_equal(get(fd), "g\n");
    assert_string_equal(get(fd), "");
    close(fd);
    is_well(&h);
    hub_close(&h);
}

static void garbage(void **state)
{
    static char noise[CONTROL_LINE_BYTES * 4];
    hub h;
    (void)state;
    hub_open(&h);
    uint32_t seed = 1;
    for (int round = 0; round < 200; round++) {
        int fd = join(&h);
        size_t n = 1 + (size_t)round * 7 % sizeof noise;
        for (size_t i = 0; i < n; i++) {
            seed = seed * 1664525u + 1013904223u;
            noise[i] = (char)(seed >> 24);
        }
        /* it may be cut off before all is sent */
        (void)!send(fd, noise, n, MSG_NOSIGNAL);
        close(fd);
    }
    is_well(&h);
    /* a line without end is answered once, and the connection ended */
    int fd = join(&h);
    memset(noise, 'y', sizeof noise);
    put(fd, noise, CONTROL_LINE_BYTES + 10);
    assert_string_equal(get(fd), "?\n");
    assert_string_equal(get(fd), "");
    close(fd);
    /* the longest line that there may be */
    fd = join(&h);
    memcpy(noise, "now ", 4);
    noise[CONTROL_LINE_BYTES - 1] = '\n';
    put(fd, noise, CONTROL_LINE_BYTES);
    assert_int_equal(strlen(get(fd)), CONTROL_LINE_BYTES - 4);
    /* a 0 ends what counts of a line */
    put(fd, "now z\0 and more\n", 16);
    assert_string_equal(get(fd), "z\n");
    put(fd, "none\n", 5);
    assert_string_equal(get(fd), "");
    close(fd);
    is_well(&h);
    hub_close(&h);
}

/* It asks without end and takes nothing. */
static void never_reads(void **state)
{
    hub h;
    (void)state;
    hub_open(&h);
    int fd = join(&h);
    for (int i = 0; i < 100000; i++)
        if (send(fd, "large\n", 6, MSG_NOSIGNAL | MSG_DONTWAIT) < 0)
            break;
    assert_true(errno == EAGAIN || errno == EWOULDBLOCK);
    for (int i = 0; i < 50; i++)
        is_well(&h);
    /* what it holds is an answer and a line; besides there are the server, and
     * the last answer to the others until the thread has freed it */
    assert_true(vly_memory_live() <= h.blocks + 3);
    close(fd);
    is_well(&h);
    /* the same, cut off at the end */
    fd = join(&h);
    for (int i = 0; i < 100000; i++)
        if (send(fd, "large\n", 6, MSG_NOSIGNAL | MSG_DONTWAIT) < 0)
            break;
    hub_close(&h);
    close(fd);
}

/* More than there are places: the one silent for longest gives way. */
static void many(void **state)
{
    enum { MANY = 100 };
    int fds[MANY];
    hub h;
    (void)state;
    hub_open(&h);
    for (int i = 0; i < MANY; i++) {
        fds[i] = join(&h);
        put(fds[i], "now k\n", 6);
        assert_string_equal(get(fds[i]), "k\n");
        if (i % 10 == 0)
            put(fds[i], "half", 4);
    }
    assert_string_equal(get(fds[0]), ""); /* gave way */
    put(fds[MANY - 1], "now still here\n", 15);
    assert_string_equal(get(fds[MANY - 1]), "still here\n");
    is_well(&h);
    for (int i = 0; i < MANY; i++)
        close(fds[i]);
    is_well(&h);
    hub_close(&h);
}

/* ---- answers that come later ------------------------------------------- */

static uint64_t take(const hub *h, char *line)
{
    uint64_t ticket = 0;
    for (int i = 0; i < 6000; i++) {
        if (control_server_take(h->server, line, &ticket))
            return ticket;
        poll(NULL, 0, 10);
    }
    fail_msg("no line came");
    return 0;
}

static void later(void **state)
{
    char line[CONTROL_LINE_BYTES];
    uint64_t none = 0;
    hub h;
    (void)state;
    hub_open(&h);
    int a = join(&h);
    int b = join(&h);
    put(a, "later a\nnow x\n", 14);
    uint64_t first = take(&h, line);
    assert_string_equal(line, "later a");
    put(b, "later b\n", 8);
    uint64_t second = take(&h, line);
    assert_string_equal(line, "later b");
    assert_false(control_server_take(h.server, line, &none));
    is_well(&h);
    /* in any order, each to his own; the next line only after it */
    control_server_answer(h.server, second, vly_strdup("to b\n"));
    assert_string_equal(get(b), "to b\n");
    control_server_answer(h.server, first, vly_strdup("to a\n"));
    assert_string_equal(get(a), "to a\n");
    assert_string_equal(get(a), "x\n");
    /* one that has gone, a ticket that never was, no memory for an answer */
    put(b, "later c\n", 8);
    first = take(&h, line);
    close(b);
    is_well(&h);
    control_server_answer(h.server, first, vly_strdup("to nobody\n"));
    control_server_answer(h.server, 12345, vly_strdup("to nobody\n"));
    put(a, "later d\n", 8);
    control_server_answer(h.server, take(&h, line), NULL);
    assert_string_equal(get(a), "");
    close(a);
    /* all clients wait for an answer: the next one is refused, and the waiting
     * ones get the last answer */
    int fds[16];
    for (int i = 0; i < 16; i++) {
        fds[i] = join(&h);
        put(fds[i], "later e\n", 8);
        take(&h, line);
    }
    a = join(&h);
    assert_string_equal(get(a), "");
    close(a);
    hub_close(&h);
    for (int i = 0; i < 16; i++) {
        assert_string_equal(get(fds[i]), "ended\n");
        close(fds[i]);
    }
}

/* ---- allocations -------------------------------------------------------- */

static void without_memory(void **state)
{
    hub h;
    vly_error error = VLY_ERROR_INIT;
    (void)state;
    hub_open(&h);
    hub other = h;
    vly_memory_fail_at(1);
    assert_int_equal(control_server_open(&h.listener, on_line, &other,
                                         &other.server, &error),
                     VLY_E_NOMEM);
    vly_memory_fail_at(0);
    int fd = join(&h);
    vly_memory_fail_at(1);
    put(fd, "now x\n", 6);
    assert_string_equal(get(fd), "");
    vly_memory_fail_at(0);
    close(fd);
    is_well(&h);
    hub_close(&h);
}

static int make_folder(void **state)
{
    (void)state;
    return mkdtemp(folder) == NULL;
}

static int remove_folder(void **state)
{
    (void)state;
    return rmdir(folder); /* fails if a socket is left */
}

enum { BEGINNINGS = 300 };

typedef struct beginner {
    char path[CONTROL_PATH_BYTES];
    _Atomic uint32_t n_failed;
    _Atomic bool done;
} beginner;

/* No asserts: not the main thread. */
static void *listen_often(void *arg)
{
    beginner *b = arg;
    for (int i = 0; i < BEGINNINGS; i++) {
        control_listener listener;
        if (control_listen(b->path, &listener, NULL) == VLY_OK)
            control_unlisten(&listener);
        else
            b->n_failed++;
    }
    b->done = true;
    return NULL;
}

/* A run that begins or ends is never taken for a killed one, however late its
 * threads are; a killed run is recognized. */
static void begins(void **state)
{
    beginner b = {.done = false};
    pthread_t thread;
    uint32_t n_removed = 0;
    (void)state;
    (void)snprintf(b.path, sizeof b.path, "%s/b.sock", folder);
    assert_int_equal(pthread_create(&thread, NULL, listen_often, &b), 0);
    while (!b.done)
        n_removed += control_remove_stale(b.path);
    pthread_join(thread, NULL);
    assert_int_equal(n_removed, 0);
    assert_int_equal(b.n_failed, 0);
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    memcpy(address.sun_path, b.path, sizeof b.path);
    int fd = socket(AF_UNIX, SOCK_STREAM, 0);
    assert_true(fd >= 0);
    assert_int_equal(bind(fd, (struct sockaddr *)&address, sizeof address), 0);
    close(fd);
    assert_true(control_remove_stale(b.path));
    assert_int_not_equal(access(b.path, F_OK), 0);
    assert_false(control_remove_stale(b.path));
}

/* If two runs want the same name, the second is refused and leaves no file. */
static void two_of_a_name(void **state)
{
    char path[CONTROL_PATH_BYTES];
    control_listener first, second;
    vly_error error = VLY_ERROR_INIT;
    (void)state;
    (void)snprintf(path, sizeof path, "%s/two.sock", folder);
    assert_int_equal(control_listen(path, &first, &error), VLY_OK);
    assert_int_equal(control_listen(path, &second, &error), VLY_E_IO);
    assert_non_null(strstr(error.message, "another process listens there"));
    assert_false(control_remove_stale(path));
    control_unlisten(&first);
    assert_int_equal(control_listen(path, &second, &error), VLY_OK);
    control_unlisten(&second);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(half_lines),  cmocka_unit_test(garbage),
        cmocka_unit_test(never_reads), cmocka_unit_test(many),
        cmocka_unit_test(later),       cmocka_unit_test(without_memory),
        cmocka_unit_test(begins),      cmocka_unit_test(two_of_a_name),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder) ? 1 : 0;
}
