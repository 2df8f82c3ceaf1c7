/* SPDX-License-Identifier: Apache-2.0
 * Buffered output to a file that loses no error.
 */
#include "record/writer.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/error.h"
#include "base/memory.h"

enum { BUFFER_BYTES = 1 << 16 };

struct vly_writer {
    int fd;
    bool standard; /* descriptor 1, not ours to close */
    char *path;
    char *temporary;  /* NULL: written directly */
    uint64_t n_bytes; /* of the file, with what is still in the buffer */
    size_t n_buffer;
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
    return vly_fail(error, failure->status, "%s", failure->message);
}

static void write_all(vly_writer *writer, const char *bytes, size_t n)
{
    while (n > 0 && writer->failure.status == VLY_OK) {
        ssize_t done = write(writer->fd, bytes, n);
        if (done < 0) {
            if (errno != EINTR)
                fail(writer, errno);
            continue;
        }
        bytes += done;
        n -= (size_t)done;
    }
}

static void free_writer(vly_writer *writer)
{
    vly_free(writer->path);
    vly_free(writer->temporary);
    vly_free(writer);
}

/* A device or a pipe cannot be replaced by a file, and a link shall go on
 * leading to its file. */
static bool is_replaceable(const char *path)
{
    struct stat info;
    if (lstat(path, &info) != 0)
        return true;
    return S_ISREG(info.st_mode);
}

/* Who only looks whether a file is locked (volley status) holds it for a
 * moment, so it is asked for some times. */
static bool is_taken(int fd)
{
    enum { TRIES = 10 };
    static const struct timespec moment = {0, 20000000};
    for (int i = 0; i < TRIES; i++) {
        if (flock(fd, LOCK_EX | LOCK_NB) == 0 || errno != EWOULDBLOCK)
            return false;
        nanosleep(&moment, NULL);
    }
    return true;
}

/* A file that grows belongs to one process: a job that is started again while
 * it still runs would cut what the first one writes. The lock goes with the
 * process, however it ends; a file system without locks has none. */
static void claim_file(vly_writer *writer, bool empty)
{
    struct stat info;
    if (fstat(writer->fd, &info) != 0 || !S_ISREG(info.st_mode))
        return;
    if (is_taken(writer->fd))
        vly_fail(&writer->failure, VLY_E_IO,
                 "%s: cannot be written: another process writes it",
                 writer->path);
    else if (empty && ftruncate(writer->fd, 0) != 0)
        fail(writer, errno);
}

static void open_file(vly_writer *writer, bool replace)
{
    int flags = O_WRONLY | O_CREAT | O_CLOEXEC;
    if (!replace) {
        writer->fd = open(writer->path, flags, 0666);
    } else {
        unlink(writer->temporary); /* of a killed process with our number */
        writer->fd = open(writer->temporary, flags | O_EXCL, 0666);
    }
    if (writer->fd < 0)
        fail(writer, errno);
    else if (!replace)
        claim_file(writer, true);
    if (writer->failure.status != VLY_OK && writer->fd >= 0)
        close(writer->fd);
}

static vly_status make_writer(const char *path, bool replace,
                              vly_writer **writer, vly_error *error)
{
    vly_writer *made = vly_malloc(1, sizeof *made);
    if (made == NULL)
        return vly_fail_nomem(error, sizeof *made, "an output buffer");
    memset(made, 0, offsetof(vly_writer, buffer));
    made->failure.struct_size = sizeof made->failure;
    made->standard = strcmp(path, "-") == 0;
    made->fd = STDOUT_FILENO;
    made->path = vly_strdup(path);
    replace = replace && !made->standard && is_replaceable(path);
    if (replace)
        made->temporary = vly_format("%s.%ld.tmp", path, (long)getpid());
    if (made->path == NULL || (replace && made->temporary == NULL)) {
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
    vly_status status = make_writer(path, replace, &made, error);
    if (status != VLY_OK)
        return status;
    if (!made->standard)
        open_file(made, made->temporary != NULL);
    status = report(made, error);
    if (status != VLY_OK) {
        free_writer(made);
        return status;
    }
    *writer = made;
    return VLY_OK;
}

/* ---- a file that goes on ---------------------------------------------- */

vly_status vly_writer_rewind(vly_writer *writer, uint64_t n_bytes,
                             vly_error *error)
{
    struct stat info;
    write_all(writer, writer->buffer, writer->n_buffer);
    writer->n_buffer = 0;
    if (writer->failure.status != VLY_OK)
        return report(writer, error);
    if (writer->standard || fstat(writer->fd, &info) != 0 ||
        !S_ISREG(info.st_mode))
        return vly_fail(error, VLY_E_INVALID,
                        "%s: not a file, which alone can be cut", writer->path);
    if ((uint64_t)info.st_size < n_bytes)
        return vly_fail(error, VLY_E_PARSE,
                        "%s: has %" PRIu64 " bytes, wanted at least %" PRIu64,
                        writer->path, (uint64_t)info.st_size, n_bytes);
    if (ftruncate(writer->fd, (off_t)n_bytes) != 0 ||
        lseek(writer->fd, (off_t)n_bytes, SEEK_SET) < 0)
        fail(writer, errno);
    writer->n_bytes = n_bytes;
    return report(writer, error);
}

vly_status vly_writer_resume(const char *path, uint64_t n_bytes,
                             vly_writer **writer, vly_error *error)
{
    vly_writer *made = NULL;
    vly_status status = make_writer(path, false, &made, error);
    if (status != VLY_OK)
        return status;
    if (!made->standard)
        made->fd = open(path, O_WRONLY | O_CLOEXEC);
    if (made->fd < 0)
        fail(made, errno);
    else
        claim_file(made, false);
    status = report(made, error);
    if (status == VLY_OK)
        status = vly_writer_rewind(made, n_bytes, error);
    if (status != VLY_OK) {
        if (made->fd >= 0 && !made->standard)
            close(made->fd);
        free_writer(made);
        return status;
    }
    *writer = made;
    return VLY_OK;
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
    if (n > BUFFER_BYTES - writer->n_buffer) {
        vly_status status = vly_writer_flush(writer, error);
        if (status != VLY_OK)
            return status;
    }
    writer->n_bytes += n;
    if (n > BUFFER_BYTES) {
        write_all(writer, bytes, n);
        return report(writer, error);
    }
    memcpy(writer->buffer + writer->n_buffer, bytes, n);
    writer->n_buffer += n;
    return report(writer, error);
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

/* A file that someone removed or replaced while it was written: every write
 * went well, and nothing of it can be found. */
static void find_vanished(vly_writer *writer)
{
    struct stat info;
    if (writer->failure.status != VLY_OK || fstat(writer->fd, &info) != 0 ||
        !S_ISREG(info.st_mode) || info.st_nlink > 0)
        return;
    vly_fail(&writer->failure, VLY_E_IO,
             "%s: cannot be written: the file was removed meanwhile",
             writer->path);
}

/* A file that takes another one's place has every byte that was written. */
static void count_bytes(vly_writer *writer)
{
    struct stat info;
    if (writer->temporary == NULL || writer->failure.status != VLY_OK)
        return;
    if (fstat(writer->fd, &info) != 0)
        fail(writer, errno);
    else if ((uint64_t)info.st_size != writer->n_bytes)
        vly_fail(&writer->failure, VLY_E_IO,
                 "%s: cannot be written: it has %" PRIu64 " bytes of %" PRIu64,
                 writer->path, (uint64_t)info.st_size, writer->n_bytes);
}

static void close_file(vly_writer *writer)
{
    if (writer->standard)
        return;
    find_vanished(writer);
    /* a file system without fsync says EINVAL; the bytes are not lost */
    if (writer->temporary != NULL && writer->failure.status == VLY_OK &&
        fsync(writer->fd) != 0 && errno != EINVAL && errno != EROFS)
        fail(writer, errno);
    count_bytes(writer);
    if (close(writer->fd) != 0 && errno != EINTR &&
        writer->failure.status == VLY_OK)
        fail(writer, errno);
}

vly_status vly_writer_close(vly_writer *writer, vly_error *error)
{
    if (writer == NULL)
        return VLY_OK;
    write_all(writer, writer->buffer, writer->n_buffer);
    close_file(writer);
    if (writer->temporary != NULL) {
        if (writer->failure.status == VLY_OK &&
            rename(writer->temporary, writer->path) != 0)
            fail(writer, errno);
        if (writer->failure.status != VLY_OK)
            unlink(writer->temporary);
    }
    vly_status status = report(writer, error);
    free_writer(writer);
    return status;
}

void vly_writer_abandon(vly_writer *writer)
{
    if (writer == NULL)
        return;
    if (!writer->standard)
        close(writer->fd);
    if (writer->temporary != NULL)
        unlink(writer->temporary);
    free_writer(writer);
}

vly_status vly_writer_save(const char *path, const void *bytes, size_t n,
                           vly_error *error)
{
    vly_writer *writer = NULL;
    vly_status status = vly_writer_open(path, true, &writer, error);
    if (status != VLY_OK)
        return status;
    status = vly_writer_bytes(writer, bytes, n, error);
    if (status != VLY_OK) {
        vly_writer_abandon(writer);
        return status;
    }
    return vly_writer_close(writer, error);
}

vly_status vly_writer_sync_folder(const char *path, vly_error *error)
{
    const char *slash = strrchr(path, '/');
    const int n = slash == NULL ? 1 : slash == path ? 1 : (int)(slash - path);
    char *folder = vly_format("%.*s", n, slash == NULL ? "." : path);
    if (folder == NULL)
        return vly_fail_nomem(error, strlen(path), "a file name");
    vly_status status = VLY_OK;
    const int file = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    /* who may not read a folder cannot sync it, and loses no byte of now */
    if (file >= 0 && fsync(file) != 0 && errno != EINVAL && errno != EROFS)
        status = vly_fail(error, VLY_E_IO, "%s: cannot be synced: %s", folder,
                          strerror(errno));
    if (file >= 0)
        close(file);
    vly_free(folder);
    return status;
}
