/* SPDX-License-Identifier: Apache-2.0
 * Buffered output to a file that reports every error.
 */
#include "record/writer.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"
#include "base/memory.h"
#include "base/temporary.h"
#include "base/transfer.h"
#include "base/writing.h"

enum { BUFFER_BYTES = 1 << 16, EARLY_BYTES = 1 << 24 };

struct vly_writer {
    int fd;
    bool standard; /* descriptor 1, not ours to close */
    bool made;     /* there was no file: abandon removes it */
    bool begun;    /* bytes were written, the previous content is lost */
    bool cancelled;
    char *path;
    vly_temporary temporary; /* file -1: written directly */
    uint64_t start;          /* bytes of an existing file that are kept */
    uint64_t n_bytes;        /* of the file, with what is still in the buffer */
    size_t n_buffer;
    char *early; /* [n_early] bytes that did not fit in the buffer before the
                  * file is begun */
    size_t n_early;
    vly_error failure; /* the first one */
    char buffer[BUFFER_BYTES];
};

static vly_status fail(vly_writer *writer, int number)
{
    return vly_fail(&writer->failure, VLY_E_IO, "%s: cannot be written: %s",
                    writer->standard ? "standard output" : writer->path,
                    strerror(number));
}

static vly_status report(const vly_writer *writer, vly_error *error)
{
    const vly_error *failure = &writer->failure;
    if (failure->status == VLY_OK)
        return VLY_OK;
    if (error != NULL)
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

static void write_out(vly_writer *writer, const char *bytes, size_t n)
{
    while (n > 0 && writer->failure.status == VLY_OK) {
        ssize_t done = vly_transfer_write(writer->fd, bytes, n);
        if (done < 0) {
            if (errno != EINTR)
                fail(writer, errno);
            continue;
        }
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

static void free_writer(vly_writer *writer)
{
    vly_free(writer->early);
    vly_free(writer->path);
    vly_free(writer);
}

/* A device or a pipe cannot be replaced by a file, and a link must keep its
 * target. */
static bool is_replaceable(const char *path)
{
    struct stat info;
    if (lstat(path, &info) != 0)
        return true;
    return S_ISREG(info.st_mode);
}

/* An existing file, or a new one. A dangling link can neither be opened nor
 * created with O_EXCL: then its target is created. */
static void open_direct(vly_writer *writer)
{
    const int flags = O_WRONLY | O_CLOEXEC;
    const char *path = writer->path;
    for (int i = 0; i < 2; i++) {
        writer->made = false;
        writer->fd = vly_writing_open(path, flags);
        if (writer->fd >= 0 || errno != ENOENT)
            return;
        writer->made = true;
        writer->fd = open(path, flags | O_CREAT | O_EXCL, 0666);
        if (writer->fd >= 0 || errno != EEXIST)
            return;
    }
    writer->fd = open(path, flags | O_CREAT, 0666);
}

/* The name of the open file, links followed; false: not known. */
static bool find_name(const vly_writer *writer, char name[PATH_MAX])
{
    char link[64];
    snprintf(link, sizeof link, "/proc/self/fd/%d", writer->fd);
    ssize_t n = readlink(link, name, PATH_MAX - 1);
    if (n <= 0)
        return false;
    name[n] = '\0';
    return vly_file_is_at(writer->fd, name);
}

/* Only this writer has it, since it is locked. */
static void remove_made(const vly_writer *writer)
{
    char name[PATH_MAX];
    if (vly_file_is_at(writer->fd, writer->path))
        unlink(writer->path);
    else if (find_name(writer, name))
        unlink(name);
}

/* Whether another process is about to replace the file. */
static bool is_replaced(const vly_writer *writer)
{
    char beside[PATH_MAX + sizeof VLY_TEMPORARY_SUFFIX];
    snprintf(beside, sizeof beside, "%s" VLY_TEMPORARY_SUFFIX, writer->path);
    return vly_file_is_locked(beside);
}

/* Another process that was refused may have removed its new file after it was
 * opened here. */
static bool is_still_there(const vly_writer *writer)
{
    struct stat info;
    return fstat(writer->fd, &info) == 0 && info.st_nlink > 0;
}

/* A file that grows belongs to one process: if a job is started again while it
 * still runs, the second one would truncate the file of the first. The kernel
 * releases the lock when the process ends; on a file system without locks there
 * is none. Returns whether the file has to be opened again. */
static bool claim_file(vly_writer *writer)
{
    struct stat info;
    if (fstat(writer->fd, &info) != 0 || !S_ISREG(info.st_mode))
        return false;
    bool taken = !vly_file_lock(writer->fd);
    if (!taken && !is_still_there(writer))
        return true;
    if (!taken && is_replaced(writer)) {
        taken = true;
        if (writer->made)
            remove_made(writer);
    }
    if (taken)
        vly_fail(&writer->failure, VLY_E_IO,
                 "%s: cannot be written: another process writes it",
                 writer->path);
    return false;
}

static void open_and_claim(vly_writer *writer, bool resume)
{
    enum { TRIES = 100 };
    for (int i = 0; i < TRIES; i++) {
        if (resume)
            writer->fd = vly_writing_open(writer->path, O_WRONLY | O_CLOEXEC);
        else
            open_direct(writer);
        if (writer->fd < 0) {
            vly_fail(&writer->failure, VLY_E_IO, "%s: cannot be written: %s",
                     writer->path, vly_writing_reason(errno));
            return;
        }
        if (!claim_file(writer))
            break;
        close(writer->fd);
        writer->fd = -1;
    }
    if (writer->fd < 0)
        vly_fail(&writer->failure, VLY_E_IO,
                 "%s: cannot be written: other processes remove it",
                 writer->path);
    else if (writer->failure.status != VLY_OK)
        close(writer->fd);
}

static vly_status make_writer(const char *path, vly_writer **writer,
                              vly_error *error)
{
    vly_writer *made = vly_malloc(1, sizeof *made);
    if (!made)
        return vly_fail_nomem(error, sizeof *made, "an output buffer");
    memset(made, 0, offsetof(vly_writer, buffer));
    made->failure.struct_size = sizeof made->failure;
    made->standard = strcmp(path, "-") == 0;
    made->fd = STDOUT_FILENO;
    made->temporary = (vly_temporary)VLY_TEMPORARY_NONE;
    made->path = vly_strdup(path);
    if (!made->path) {
        free_writer(made);
        return vly_fail_nomem(error, strlen(path), "a file name");
    }
    *writer = made;
    return VLY_OK;
}

vly_status vly_writer_open(const char *path, bool replace, vly_writer **writer,
                           vly_error *error)
{
    vly_writer *made = NULL;
    vly_status status = VLY_OK;
    VLY_TRY(make_writer(path, &made, error));
    if (!made->standard && (!replace || !is_replaceable(path)))
        open_and_claim(made, false);
    else if (!made->standard && vly_temporary_open(path, path, &made->temporary,
                                                   &made->failure) == VLY_OK)
        made->fd = made->temporary.file;
    status = report(made, error);
    if (status != VLY_OK) {
        free_writer(made);
        return status;
    }
    *writer = made;
out:
    return status;
}

/* ---- a file that goes on ---------------------------------------------- */

/* Whether n_bytes of the file can be kept. */
static vly_status check_length(const vly_writer *writer, uint64_t n_bytes,
                               vly_error *error)
{
    struct stat info;
    if (writer->standard || fstat(writer->fd, &info) != 0 ||
        !S_ISREG(info.st_mode))
        return vly_fail(error, VLY_E_INVALID,
                        "%s: not a file, which alone can be cut", writer->path);
    if ((uint64_t)info.st_size < n_bytes)
        return vly_fail(error, VLY_E_PARSE,
                        "%s: has %" PRIu64 " bytes, wanted at least %" PRIu64,
                        writer->path, (uint64_t)info.st_size, n_bytes);
    return VLY_OK;
}

vly_status vly_writer_rewind(vly_writer *writer, uint64_t n_bytes,
                             vly_error *error)
{
    write_all(writer, writer->buffer, writer->n_buffer);
    writer->n_buffer = 0;
    if (writer->failure.status != VLY_OK)
        return report(writer, error);
    vly_status status = VLY_OK;
    VLY_TRY(check_length(writer, n_bytes, error));
    if (ftruncate(writer->fd, (off_t)n_bytes) != 0 ||
        lseek(writer->fd, (off_t)n_bytes, SEEK_SET) < 0)
        fail(writer, errno);
    writer->n_bytes = n_bytes;
    return report(writer, error);
out:
    return status;
}

vly_status vly_writer_resume(const char *path, uint64_t n_bytes,
                             vly_writer **writer, vly_error *error)
{
    vly_writer *made = NULL;
    vly_status status = VLY_OK;
    VLY_TRY(make_writer(path, &made, error));
    if (!made->standard)
        open_and_claim(made, true);
    status = report(made, error);
    if (status == VLY_OK) {
        status = check_length(made, n_bytes, error);
        if (status != VLY_OK && !made->standard)
            close(made->fd);
    }
    if (status != VLY_OK) {
        free_writer(made);
        return status;
    }
    made->start = n_bytes;
    made->n_bytes = n_bytes;
    *writer = made;
    return VLY_OK;
out:
    return status;
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
    return report(writer, error);
}

vly_status vly_writer_bytes(vly_writer *writer, const void *bytes, size_t n,
                            vly_error *error)
{
    vly_status status = VLY_OK;
    if (n > BUFFER_BYTES - writer->n_buffer) {
        if (put_early(writer, bytes, n)) {
            writer->n_bytes += n;
            return report(writer, error);
        }
        VLY_TRY(vly_writer_flush(writer, error));
    }
    writer->n_bytes += n;
    if (n > BUFFER_BYTES) {
        write_all(writer, bytes, n);
        return report(writer, error);
    }
    memcpy(writer->buffer + writer->n_buffer, bytes, n);
    writer->n_buffer += n;
    return report(writer, error);
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
        (void)vly_temporary_keep(&writer->temporary, writer->path,
                                 &writer->failure);
    vly_temporary_drop(&writer->temporary);
}

void vly_writer_cancel(vly_writer *writer)
{
    if (writer != NULL)
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
    vly_status status = report(writer, error);
    free_writer(writer);
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
            remove_made(writer);
        close(writer->fd);
    }
    free_writer(writer);
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
    return vly_writer_close(writer, error);
out:
    return status;
}
