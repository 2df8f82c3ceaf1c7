/* SPDX-License-Identifier: Apache-2.0
 * Files that a user names, opened and read with bounds. A file is opened
 * without blocking and checked before it is read: a device such as /dev/zero
 * has no end, and opening a named pipe for reading blocks until there is a
 * writer. If a pipe may be read, this file waits for it for as long as a shell
 * needs to start the writer.
 */
#define _GNU_SOURCE /* O_CLOEXEC with fdopen's "e" */
#include "base/reading.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/memory.h"

/* ---- open --------------------------------------------------------------- */

static vly_status cannot_read(const char *path, int why, vly_error *error)
{
    return vly_fail(error, VLY_E_IO, "%.300s: %s", path, strerror(why));
}

static const char *kind_of(mode_t mode)
{
    if (S_ISFIFO(mode))
        return "a pipe";
    if (S_ISSOCK(mode))
        return "a socket";
    return "a device";
}

static vly_status check_kind(const char *path, vly_readable what, int file,
                             vly_error *error)
{
    struct stat about;
    if (fstat(file, &about) != 0)
        return cannot_read(path, errno, error);
    if (S_ISREG(about.st_mode))
        return VLY_OK;
    if (S_ISDIR(about.st_mode))
        return vly_fail(error, VLY_E_IO, "%.300s: a folder, wanted a file",
                        path);
    if (what == VLY_READ_STREAM &&
        (S_ISFIFO(about.st_mode) || S_ISSOCK(about.st_mode) || isatty(file)))
        return VLY_OK;
    return vly_fail(error, VLY_E_INVALID, "%.300s: %s, wanted a file%s", path,
                    kind_of(about.st_mode),
                    what == VLY_READ_STREAM ? " or a pipe" : "");
}

static vly_status open_as(const char *path, const char *shown,
                          vly_readable what, int *descriptor, vly_error *error)
{
    const int file = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    /* ENXIO: a socket has a name and cannot be opened by it */
    if (file < 0 && errno == ENXIO)
        return vly_fail(error, VLY_E_INVALID, "%.300s: a socket, wanted a file",
                        shown);
    if (file < 0)
        return cannot_read(shown, errno, error);
    const vly_status status = check_kind(shown, what, file, error);
    if (status != VLY_OK)
        close(file);
    else
        *descriptor = file;
    return status;
}

vly_status vly_reading_descriptor(const char *path, vly_readable what,
                                  int *descriptor, vly_error *error)
{
    return open_as(path, path, what, descriptor, error);
}

/* Waits for the writer of a pipe, then makes reads block. *first: a byte that
 * was consumed meanwhile, -1 for none. */
static vly_status wait_for_writer(const char *path, int file, int *first,
                                  vly_error *error)
{
    struct stat about;
    unsigned char byte = 0;
    *first = -1;
    if (fstat(file, &about) != 0)
        return cannot_read(path, errno, error);
    if (S_ISFIFO(about.st_mode)) {
        struct pollfd wanted = {.fd = file, .events = POLLIN};
        int n = 0;
        do
            n = poll(&wanted, 1, VLY_PIPE_WAIT_MS);
        while (n < 0 && errno == EINTR);
        /* without a writer a read ends at once; with one it would wait */
        const ssize_t got = n == 0 ? read(file, &byte, 1) : -1;
        if (n == 0 && got == 0)
            return vly_fail(error, VLY_E_INVALID,
                            "%.300s: a pipe that no process has written into "
                            "for %d s",
                            path, VLY_PIPE_WAIT_MS / 1000);
        if (got == 1)
            *first = byte;
    }
    const int flags = fcntl(file, F_GETFL);
    if (flags < 0 || fcntl(file, F_SETFL, flags & ~O_NONBLOCK) != 0)
        return cannot_read(path, errno, error);
    return VLY_OK;
}

vly_status vly_reading_open(const char *path, vly_readable what, FILE **file,
                            vly_error *error)
{
    return vly_reading_open_as(path, path, what, file, error);
}

vly_status vly_reading_open_as(const char *path, const char *shown,
                               vly_readable what, FILE **file, vly_error *error)
{
    int descriptor = -1;
    int first = -1;
    FILE *opened = NULL;
    vly_status status = VLY_OK;
    VLY_TRY(open_as(path, shown, what, &descriptor, error));
    VLY_TRY(wait_for_writer(shown, descriptor, &first, error));
    opened = fdopen(descriptor, "rbe");
    if (!opened) {
        status = cannot_read(shown, errno, error);
        goto out;
    }
    if (first >= 0)
        ungetc(first, opened);
    *file = opened;
    return VLY_OK;
out:
    if (descriptor >= 0)
        close(descriptor);
    return status;
}

uint64_t vly_reading_most(FILE *file)
{
    struct stat about;
    /* a stream of memory has no descriptor, and an end */
    if (fileno(file) < 0 || fstat(fileno(file), &about) != 0 ||
        S_ISREG(about.st_mode))
        return UINT64_MAX;
    return VLY_PIPE_BYTES_MAX;
}

/* ---- as a whole --------------------------------------------------------- */

vly_status vly_reading_whole(FILE *file, const char *path, const char *what,
                             size_t most, char **bytes, size_t *n,
                             vly_error *error)
{
    size_t have = 0;
    size_t room = (size_t)1 << 16;
    char *got = NULL;
    for (;;) {
        /* one byte above the limit shows that there is more; one for the 0 */
        if (room > most)
            room = most + 1;
        char *grown = vly_realloc(got, room + 1, 1);
        if (!grown) {
            vly_free(got);
            return vly_fail_nomem(error, room + 1, path);
        }
        got = grown;
        errno = 0;
        have += fread(got + have, 1, room - have, file);
        if (have < room || have > most)
            break;
        room *= 2;
    }
    vly_status status = VLY_OK;
    if (ferror(file))
        status = cannot_read(path, errno, error);
    else if (have > most)
        status = vly_fail(error, VLY_E_PARSE,
                          "%.300s: more than %zu bytes, wanted %s of at most "
                          "so many",
                          path, most, what);
    if (status != VLY_OK) {
        vly_free(got);
        return status;
    }
    got[have] = '\0';
    *bytes = got;
    *n = have;
    return VLY_OK;
}

/* ---- lines -------------------------------------------------------------- */

static vly_status grow_line(vly_lines *lines, vly_error *error)
{
    const size_t most = lines->most + 1; /* the 0 */
    size_t capacity = lines->capacity > 0 ? 2 * lines->capacity : 256;
    capacity = capacity < most ? capacity : most;
    char *grown = vly_realloc(lines->line, capacity, 1);
    if (!grown)
        return vly_fail_nomem(error, capacity, "a line of a text");
    lines->line = grown;
    lines->capacity = capacity;
    return VLY_OK;
}

static void begin_line(vly_lines *lines)
{
    if (lines->most == 0)
        lines->most = VLY_LINE_BYTES_MAX;
    if (lines->limit == 0)
        lines->limit = vly_reading_most(lines->file);
    lines->n = 0;
}

static vly_status end_line(vly_lines *lines, vly_error *error)
{
    if (ferror(lines->file))
        return cannot_read(lines->path, errno, error);
    if (lines->n == 0)
        return VLY_OK;
    lines->line[lines->n] = '\0';
    lines->number++;
    lines->bytes += lines->n;
    if (lines->bytes > lines->limit)
        return vly_fail(error, VLY_E_PARSE,
                        "%.300s:%" PRIu64 ": a pipe of more than %" PRIu64
                        " bytes, wanted a file",
                        lines->path, lines->number, lines->limit);
    return VLY_OK;
}

vly_status vly_lines_next(vly_lines *lines, vly_error *error)
{
    vly_status status = VLY_OK;
    int c = 0;
    begin_line(lines);
    errno = 0;
    flockfile(lines->file);
    while (status == VLY_OK && c != '\n' &&
           (c = getc_unlocked(lines->file)) != EOF) {
        if (lines->n == lines->most)
            status = vly_fail(error, VLY_E_PARSE,
                              "%.300s:%" PRIu64
                              ": a line of more than %zu bytes, wanted "
                              "shorter ones",
                              lines->path, lines->number + 1, lines->most);
        else if (lines->n + 2 > lines->capacity)
            status = grow_line(lines, error);
        if (status == VLY_OK)
            lines->line[lines->n++] = (char)c;
    }
    funlockfile(lines->file);
    return status == VLY_OK ? end_line(lines, error) : status;
}

void vly_lines_deinit(vly_lines *lines)
{
    vly_free(lines->line);
    lines->line = NULL;
    lines->capacity = lines->n = 0;
}
