/* SPDX-License-Identifier: Apache-2.0
 * Output files: opened, locked, continued.
 */
#include "base/writer.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"
#include "base/memory.h"
#include "base/writer_parts.h"
#include "base/writing.h"

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

void vly_writer_remove_made(const vly_writer *writer)
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
            vly_writer_remove_made(writer);
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
        vly_writer_free(made);
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
    status = vly_writer_report(made, error);
    if (status != VLY_OK) {
        vly_writer_free(made);
        return status;
    }
    *writer = made;
out:
    return status;
}

/* ---- a file that goes on ---------------------------------------------- */

vly_status vly_writer_length_check(const vly_writer *writer, uint64_t n_bytes,
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

vly_status vly_writer_resume(const char *path, uint64_t n_bytes,
                             vly_writer **writer, vly_error *error)
{
    vly_writer *made = NULL;
    vly_status status = VLY_OK;
    VLY_TRY(make_writer(path, &made, error));
    if (!made->standard)
        open_and_claim(made, true);
    status = vly_writer_report(made, error);
    if (status == VLY_OK) {
        status = vly_writer_length_check(made, n_bytes, error);
        if (status != VLY_OK && !made->standard)
            close(made->fd);
    }
    if (status != VLY_OK) {
        vly_writer_free(made);
        return status;
    }
    made->start = n_bytes;
    made->n_bytes = n_bytes;
    made->n_done = n_bytes;
    made->n_whole = n_bytes;
    *writer = made;
out:
    return status;
}
