/* SPDX-License-Identifier: Apache-2.0
 * A question to a run through its control socket, and the answer.
 */
#include "tools/control/control_client.h"

#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/error.h"
#include "base/thread.h"

/* The line without its break. Errors  E_IO */
static vly_status receive(int fd, double timeout_s, char *answer,
                          vly_error *error)
{
    uint64_t end_ns = vly_clock_ns() + (uint64_t)(timeout_s * 1e9);
    size_t n = 0;
    for (;;) {
        uint64_t now = vly_clock_ns();
        uint64_t left_ms = now < end_ns ? (end_ns - now) / 1000000 + 1 : 0;
        struct pollfd event = {.fd = fd, .events = POLLIN};
        if (left_ms == 0)
            return vly_fail(error, VLY_E_IO,
                            "no answer in %g s; the run may still execute "
                            "the command",
                            timeout_s);
        if (poll(&event, 1, left_ms < INT_MAX ? (int)left_ms : INT_MAX) <= 0)
            continue;
        ssize_t got = read(fd, answer + n, CONTROL_ANSWER_BYTES - 1 - n);
        if (got < 0 && (errno == EINTR || errno == EAGAIN))
            continue;
        if (got <= 0)
            return vly_fail(error, VLY_E_IO, "no answer: %s",
                            got < 0 ? strerror(errno)
                                    : "the run has ended the connection");
        n += (size_t)got;
        answer[n] = '\0';
        char *line_end = strchr(answer, '\n');
        if (line_end) {
            *line_end = '\0';
            return VLY_OK;
        }
        if (n == CONTROL_ANSWER_BYTES - 1)
            return vly_fail(error, VLY_E_IO, "an answer of more than %d bytes",
                            (int)n);
    }
}

static vly_status send_line(int fd, const char *line, vly_error *error)
{
    char text[CONTROL_LINE_BYTES];
    int n = snprintf(text, sizeof text, "%s\n", line);
    if (n < 0 || (size_t)n >= sizeof text)
        return vly_fail(error, VLY_E_INVALID,
                        "a command of %d bytes, wanted at most %zu", n,
                        sizeof text - 1);
    /* the line fits into the buffer of a new connection */
    if (write(fd, text, (size_t)n) != n)
        return vly_fail(error, VLY_E_IO, "not sent: %s", strerror(errno));
    return VLY_OK;
}

vly_status control_ask(const char *path, const char *line, double timeout_s,
                       char *text, json_value *answer, vly_error *error)
{
    int fd = -1;
    vly_error why = VLY_ERROR_INIT;
    vly_status status = VLY_OK;
    VLY_TRY(control_connect(path, &fd, error));
    text[0] = '\0';
    status = send_line(fd, line, &why);
    if (status == VLY_OK)
        status = receive(fd, timeout_s, text, &why);
    close(fd);
    if (status == VLY_OK)
        status = json_parse(text, path, answer, &why);
    if (status == VLY_OK && answer->kind != JSON_OBJECT) {
        json_free(answer);
        status = vly_fail(&why, VLY_E_IO, "the answer is not a JSON object");
    }
    if (status == VLY_OK)
        return VLY_OK;
    return vly_fail(error, status == VLY_E_PARSE ? VLY_E_IO : status, "%s: %s",
                    path, why.message);
out:
    return status;
}
