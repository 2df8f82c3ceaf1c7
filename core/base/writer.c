/* SPDX-License-Identifier: Apache-2.0
 * Buffered output to a file that reports every error.
 */
#include "base/writer.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"
#include "base/memory.h"
#include "base/temporary.h"
#include "base/transfer.h"
#include "base/writer_parts.h"

enum { EARLY_BYTES = 1 << 24 };

static vly_status fail(vly_writer *writer, int number)
{
    return vly_fail(&writer->failure, VLY_E_IO, "%s: cannot be written: %s",
                    writer->standard ? "standard output" : writer->path,
                    strerror(number));
}

vly_status vly_writer_report(const vly_writer *writer, vly_error *error)
{
    const vly_error *failure = &writer->failure;
    if (failure->status == VLY_OK)
        return VLY_OK;
    if (error)
        *error = *failure;
    return failure->status;
}

/* An existing file is not changed before the first byte is written: a run that
 * is refused before that leaves the file unchanged. */
static void begin(vly_writer *writer)
{
    struct stat info;
    if (writer->begun || writer->failure.status != VLY_OK)
        return;
    writer->begun = true;
    if (writer->standard || writer->temporary.file >= 0 ||
        fstat(writer->fd, &info) != 0 || !S_ISREG(info.st_mode))
        return;
    if (ftruncate(writer->fd, (off_t)writer->start) != 0 ||
        lseek(writer->fd, (off_t)writer->start, SEEK_SET) < 0)
        fail(writer, errno);
}

/* Bytes of a file of lines were written. */
static void count_lines(vly_writer *writer, const char *bytes, size_t n)
{
    for (size_t i = n; i > 0; i--)
        if (bytes[i - 1] == '\n') {
            writer->n_whole = writer->n_done + i;
            break;
        }
    writer->n_done += n;
}

/* A full disk takes a part of a write. Half a line would be read as a whole one
 * with another number. */
static void fail_write(vly_writer *writer, int number)
{
    struct stat info;
    fail(writer, number);
    if (!writer->lines || writer->n_done == writer->n_whole ||
        fstat(writer->fd, &info) != 0 || !S_ISREG(info.st_mode) ||
        ftruncate(writer->fd, (off_t)writer->n_whole) != 0)
        return;
    vly_fail(&writer->failure, VLY_E_IO,
             "%s: cannot be written: %s; it ends after its last whole line",
             writer->path, strerror(number));
}

static void write_out(vly_writer *writer, const char *bytes, size_t n)
{
    while (n > 0 && writer->failure.status == VLY_OK) {
        ssize_t done = vly_transfer_write(writer->fd, bytes, n);
        if (done < 0) {
            if (errno != EINTR)
                fail_write(writer, errno);
            continue;
        }
        if (writer->lines)
            count_lines(writer, bytes, (size_t)done);
        bytes += done;
        n -= (size_t)done;
    }
}

static void write_all(vly_writer *writer, const char *bytes, size_t n)
{
    if (writer->cancelled)
        return;
    begin(writer);
    write_out(writer, writer->early, writer->n_early);
    vly_free(writer->early);
    writer->early = NULL;
    writer->n_early = 0;
    write_out(writer, bytes, n);
}

/* The head of a network with many areas is longer than the buffer; false: the
 * file is begun, or this is too long for a head. */
static bool put_early(vly_writer *writer, const char *bytes, size_t n)
{
    if (writer->begun || writer->temporary.file >= 0 || writer->standard ||
        writer->n_early + writer->n_buffer + n > EARLY_BYTES)
        return false;
    char *grown =
        vly_realloc(writer->early, writer->n_early + writer->n_buffer + n, 1);
    if (!grown) {
        vly_fail_nomem(&writer->failure, n, "the head of a file");
        return true;
    }
    memcpy(grown + writer->n_early, writer->buffer, writer->n_buffer);
    memcpy(grown + writer->n_early + writer->n_buffer, bytes, n);
    writer->early = grown;
    writer->n_early += writer->n_buffer + n;
    writer->n_buffer = 0;
    return true;
}

void vly_writer_free(vly_writer *writer)
{
    vly_free(writer->early);
    vly_free(writer->path);
    vly_free(writer);
}

/* ---- a file that goes on ---------------------------------------------- */

vly_status vly_writer_rewind(vly_writer *writer, uint64_t n_bytes,
                             vly_error *error)
{
    write_all(writer, writer->buffer, writer->n_buffer);
    writer->n_buffer = 0;
    if (writer->failure.status != VLY_OK)
        return vly_writer_report(writer, error);
    vly_status status = VLY_OK;
    VLY_TRY(vly_writer_length_check(writer, n_bytes, error));
    if (ftruncate(writer->fd, (off_t)n_bytes) != 0 ||
        lseek(writer->fd, (off_t)n_bytes, SEEK_SET) < 0)
        fail(writer, errno);
    writer->n_bytes = n_bytes;
    writer->n_done = n_bytes;
    writer->n_whole = n_bytes;
    status = vly_writer_report(writer, error);
out:
    return status;
}

void vly_writer_set_lines(vly_writer *writer)
{
    writer->lines = true;
}

int vly_writer_hold(const vly_writer *writer)
{
    return writer->standard ? -1 : fcntl(writer->fd, F_DUPFD_CLOEXEC, 0);
}

uint64_t vly_writer_tell(const vly_writer *writer)
{
    return writer->n_bytes;
}

/* ---- bytes ------------------------------------------------------------ */

vly_status vly_writer_flush(vly_writer *writer, vly_error *error)
{
    write_all(writer, writer->buffer, writer->n_buffer);
    writer->n_buffer = 0;
    return vly_writer_report(writer, error);
}

vly_status vly_writer_bytes(vly_writer *writer, const void *bytes, size_t n,
                            vly_error *error)
{
    vly_status status = VLY_OK;
    if (n > VLY_WRITER_BYTES - writer->n_buffer) {
        if (put_early(writer, bytes, n)) {
            writer->n_bytes += n;
            return vly_writer_report(writer, error);
        }
        VLY_TRY(vly_writer_flush(writer, error));
    }
    writer->n_bytes += n;
    if (n > VLY_WRITER_BYTES) {
        write_all(writer, bytes, n);
        return vly_writer_report(writer, error);
    }
    memcpy(writer->buffer + writer->n_buffer, bytes, n);
    writer->n_buffer += n;
    status = vly_writer_report(writer, error);
out:
    return status;
}

vly_status vly_writer_text(vly_writer *writer, const char *text,
                           vly_error *error)
{
    return vly_writer_bytes(writer, text, strlen(text), error);
}

vly_status vly_writer_print(vly_writer *writer, vly_error *error,
                            const char *format, ...)
{
    char text[4096];
    va_list arguments;
    va_start(arguments, format);
    int n = vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    if (n < 0)
        return vly_fail(error, VLY_E_INVALID, "%s: bad format", writer->path);
    size_t length = (size_t)n < sizeof text ? (size_t)n : sizeof text - 1;
    return vly_writer_bytes(writer, text, length, error);
}

/* Errors that writes do not show: the file was removed, or a file that replaces
 * another one lacks bytes. */
static void look_again(vly_writer *writer)
{
    struct stat info;
    if (writer->failure.status != VLY_OK)
        return;
    if (fstat(writer->fd, &info) != 0)
        fail(writer, errno);
    else if (S_ISREG(info.st_mode) && info.st_nlink == 0)
        vly_fail(&writer->failure, VLY_E_IO,
                 "%s: cannot be written: the file was removed meanwhile",
                 writer->path);
    else if (writer->temporary.file >= 0 &&
             (uint64_t)info.st_size != writer->n_bytes)
        vly_fail(&writer->failure, VLY_E_IO,
                 "%s: cannot be written: it has %" PRIu64 " bytes of %" PRIu64,
                 writer->path, (uint64_t)info.st_size, writer->n_bytes);
}

/* What was written directly. */
static void close_direct(vly_writer *writer)
{
    if (writer->standard)
        return;
    look_again(writer);
    if (close(writer->fd) != 0 && errno != EINTR &&
        writer->failure.status == VLY_OK)
        fail(writer, errno);
}

static void close_temporary(vly_writer *writer)
{
    look_again(writer);
    if (writer->failure.status == VLY_OK)
        (void)vly_temporary_keep(&writer->temporary, writer->path, NULL,
                                 &writer->failure);
    vly_temporary_drop(&writer->temporary);
}

void vly_writer_cancel(vly_writer *writer)
{
    if (writer)
        writer->cancelled = true;
}

vly_status vly_writer_close(vly_writer *writer, vly_error *error)
{
    if (!writer)
        return VLY_OK;
    if (writer->cancelled) {
        vly_writer_abandon(writer);
        return VLY_OK;
    }
    write_all(writer, writer->buffer, writer->n_buffer);
    if (writer->temporary.file >= 0)
        close_temporary(writer);
    else
        close_direct(writer);
    vly_status status = vly_writer_report(writer, error);
    vly_writer_free(writer);
    return status;
}

void vly_writer_abandon(vly_writer *writer)
{
    if (!writer)
        return;
    if (writer->temporary.file >= 0) {
        vly_temporary_drop(&writer->temporary);
    } else if (!writer->standard) {
        if (writer->made)
            vly_writer_remove_made(writer);
        close(writer->fd);
    }
    vly_writer_free(writer);
}

vly_status vly_writer_save(const char *path, const void *bytes, size_t n,
                           vly_error *error)
{
    vly_writer *writer = NULL;
    vly_status status = VLY_OK;
    VLY_TRY(vly_writer_open(path, true, &writer, error));
    status = vly_writer_bytes(writer, bytes, n, error);
    if (status != VLY_OK) {
        vly_writer_abandon(writer);
        return status;
    }
    status = vly_writer_close(writer, error);
out:
    return status;
}
