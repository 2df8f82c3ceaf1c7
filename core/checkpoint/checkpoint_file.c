/* SPDX-License-Identifier: Apache-2.0
 * Files of a checkpoint. After every step a complete file is at the path, if
 * there was one before: the new file is written and synced beside it, the old
 * one gets its second name by a link (not a rename, which would leave the path
 * empty for a moment), and the new one is then renamed to the path. A process
 * that is killed leaves path.tmp, which the next one takes over.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"
#include "base/memory.h"
#include "base/transfer.h"
#include "checkpoint/checkpoint_format.h"

enum { TAIL_BYTES = 4096 };

bool vly_checkpoint_write(int file, const void *bytes, size_t n)
{
    const unsigned char *at = bytes;
    while (n > 0) {
        ssize_t done = vly_transfer_write(file, at, n);
        if (done < 0 && errno == EINTR)
            continue;
        if (done <= 0)
            return false;
        at += done;
        n -= (size_t)done;
    }
    return true;
}

static vly_status fail_io(vly_error *error, const char *path, const char *what)
{
    return vly_fail(error, VLY_E_IO, "%s: %s: %s", path, what, strerror(errno));
}

/* ---- the temporary file ------------------------------------------------ */

static vly_status find_target(const char *path, char **target, vly_error *error)
{
    struct stat info;
    char *made = NULL;
    if (stat(path, &info) == 0 && !S_ISREG(info.st_mode))
        return vly_fail(error, VLY_E_INVALID,
                        "%s: not a file, wanted one for a checkpoint", path);
    if (lstat(path, &info) == 0 && S_ISLNK(info.st_mode)) {
        char *real = realpath(path, NULL);
        if (!real)
            return fail_io(error, path, "the link cannot be followed");
        made = vly_strdup(real);
        free(real);
    } else {
        made = vly_strdup(path);
    }
    if (!made)
        return vly_fail_nomem(error, strlen(path) + 1, "a path");
    *target = made;
    return VLY_OK;
}

static bool is_at(int file, const char *path)
{
    struct stat ours;
    struct stat there;
    return fstat(file, &ours) == 0 && lstat(path, &there) == 0 &&
           ours.st_dev == there.st_dev && ours.st_ino == there.st_ino;
}

/* The lock belongs to the file, which another process may just have renamed, so
 * check that it is still the file at the path. File systems without locks
 * return ENOLCK or EOPNOTSUPP. */
static vly_status open_locked(vly_checkpoint_temporary *temporary,
                              const char *path, vly_error *error)
{
    for (;;) {
        int file = open(temporary->path,
                        O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0666);
        if (file < 0)
            return fail_io(error, path,
                           "cannot be written: its temporary file");
        if (flock(file, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK) {
            close(file);
            return vly_fail(error, VLY_E_IO,
                            "%s: cannot be written: another process writes it",
                            path);
        }
        if (is_at(file, temporary->path)) {
            temporary->file = file;
            return VLY_OK;
        }
        close(file);
    }
}

vly_status vly_checkpoint_temporary_open(const char *path,
                                         vly_checkpoint_temporary *temporary,
                                         vly_error *error)
{
    vly_status status = VLY_OK;
    *temporary = (vly_checkpoint_temporary){.file = -1};
    VLY_TRY(find_target(path, &temporary->target, error));
    temporary->path = vly_format("%s.tmp", temporary->target);
    if (!temporary->path) {
        status = vly_fail_nomem(error, strlen(path) + 5, "a path");
        goto out;
    }
    VLY_TRY(open_locked(temporary, path, error));
    if (ftruncate(temporary->file, 0) != 0)
        status = fail_io(error, path, "cannot be written");
out:
    if (status != VLY_OK)
        vly_checkpoint_temporary_drop(temporary);
    return status;
}

void vly_checkpoint_temporary_drop(vly_checkpoint_temporary *temporary)
{
    if (temporary->file >= 0) {
        unlink(temporary->path); /* while the lock is held */
        close(temporary->file);
    }
    vly_free(temporary->target);
    vly_free(temporary->path);
    *temporary = (vly_checkpoint_temporary){.file = -1};
}

/* ---- older ones -------------------------------------------------------- */

static bool is_same(const char *a, const char *b)
{
    struct stat x;
    struct stat y;
    return stat(a, &x) == 0 && stat(b, &y) == 0 && x.st_dev == y.st_dev &&
           x.st_ino == y.st_ino;
}

/* Gives the file a second name, which replaces the file of that name. */
static bool link_over(const char *from, const char *to)
{
    if (link(from, to) == 0)
        return true;
    return errno == EEXIST && unlink(to) == 0 && link(from, to) == 0;
}

/* The newest one keeps its name as well: a rename would leave the path empty
 * until the new file takes it. A rename is used only on file systems without
 * links; meanwhile the old file is complete under its new name. */
static vly_status shift_newest(const char *from, const char *to,
                               vly_error *error)
{
    if (link_over(from, to) || errno == ENOENT)
        return VLY_OK;
    bool no_links = errno == EPERM || errno == EOPNOTSUPP || errno == ENOSYS;
    if (no_links && rename(from, to) == 0)
        return VLY_OK;
    return fail_io(error, to, "cannot be made");
}

static vly_status shift_one(const char *target, uint32_t k, vly_error *error)
{
    vly_status status = VLY_OK;
    char *older = vly_format("%s.%" PRIu32, target, k);
    char *newer = vly_format("%s.%" PRIu32, target, k - 1);
    if (!older || !newer)
        status = vly_fail_nomem(error, strlen(target) + 12, "a path");
    else if (k == 1)
        status = shift_newest(target, older, error);
    else if (rename(newer, older) != 0 && errno != ENOENT)
        status = fail_io(error, older, "cannot be made");
    vly_free(older);
    vly_free(newer);
    return status;
}

/* target.(keep - 2) to target.(keep - 1), ... , target to target.1 */
static vly_status shift(const char *target, uint32_t keep, vly_error *error)
{
    vly_status status = VLY_OK;
    char *second = vly_format("%s.1", target);
    if (!second)
        return vly_fail_nomem(error, strlen(target) + 3, "a path");
    /* killed after the shift and before the rename: it is done already */
    if (!is_same(target, second))
        for (uint32_t k = keep; k-- > 1;)
            VLY_TRY(shift_one(target, k, error));
out:
    vly_free(second);
    return status;
}

static vly_status open_folder(const char *target, int *file, vly_error *error)
{
    char *folder = vly_strdup(target);
    if (!folder)
        return vly_fail_nomem(error, strlen(target) + 1, "a path");
    char *slash = strrchr(folder, '/');
    if (slash)
        slash[slash == folder ? 1 : 0] = 0;
    *file = open(slash ? folder : ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    vly_status status = VLY_OK;
    if (*file < 0)
        status = fail_io(error, target, "its folder cannot be opened");
    vly_free(folder);
    return status;
}

/* A file system without fsync returns EINVAL; the bytes are not lost. */
static bool is_synced(int file)
{
    return fsync(file) == 0 || errno == EINVAL || errno == EROFS;
}

vly_status vly_checkpoint_temporary_keep(vly_checkpoint_temporary *temporary,
                                         uint32_t keep, vly_error *error)
{
    const char *target = temporary->target;
    int folder = -1;
    vly_status status = VLY_OK;
    VLY_TRY(open_folder(target, &folder, error));
    if (!is_synced(temporary->file)) {
        status = fail_io(error, target, "cannot be written");
        goto out;
    }
    VLY_TRY(shift(target, keep, error));
    if (rename(temporary->path, target) != 0) {
        status = fail_io(error, target, "the temporary file cannot be renamed");
        goto out;
    }
    const int closed = close(temporary->file);
    temporary->file = -1;
    if (closed != 0 && errno != EINTR) {
        status = fail_io(error, target, "cannot be written");
        goto out;
    }
    /* the new name is only safe on disk once the folder is */
    if (!is_synced(folder))
        status = fail_io(error, target, "its folder cannot be synced");
out:
    if (folder >= 0)
        close(folder);
    vly_checkpoint_temporary_drop(temporary);
    return status;
}

/* ---- recordings -------------------------------------------------------- */

static vly_status read_tail(int file, const char *path, uint64_t n_bytes,
                            vly_hash *tail, vly_error *error)
{
    unsigned char bytes[TAIL_BYTES];
    size_t n = (size_t)(n_bytes < TAIL_BYTES ? n_bytes : TAIL_BYTES);
    size_t got = 0;
    while (got < n) {
        ssize_t done =
            vly_transfer_read_at(file, bytes + got, n - got, n_bytes - n + got);
        if (done < 0 && errno == EINTR)
            continue;
        if (done < 0)
            return fail_io(error, path, "cannot be read");
        if (done == 0)
            return vly_fail(error, VLY_E_IO,
                            "%s: cannot be read: it became "
                            "shorter meanwhile",
                            path);
        got += (size_t)done;
    }
    *tail = vly_hash_bytes((vly_hash){{n_bytes, 0}}, bytes, n);
    return VLY_OK;
}

vly_status vly_recording_read_tail(const char *path, uint64_t n_bytes,
                                   bool sync, vly_hash *tail, vly_error *error)
{
    struct stat info;
    vly_status status = VLY_OK;
    int file = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
    if (file < 0)
        return fail_io(error, path, "cannot be read");
    if (fstat(file, &info) != 0)
        VLY_TRY(fail_io(error, path, "cannot be read"));
    else if (!S_ISREG(info.st_mode))
        VLY_TRY(vly_fail(
            error, VLY_E_INVALID,
            "%s: not a regular file; only a regular file can be continued",
            path));
    else if ((uint64_t)info.st_size < n_bytes)
        VLY_TRY(vly_fail(error, VLY_E_PARSE,
                         "%s: has %" PRIu64 " bytes, the checkpoint goes on "
                         "after %" PRIu64,
                         path, (uint64_t)info.st_size, n_bytes));
    else
        VLY_TRY(read_tail(file, path, n_bytes, tail, error));
    if (sync && fdatasync(file) != 0 && errno != EINVAL && errno != EROFS)
        VLY_TRY(fail_io(error, path, "cannot be written"));
out:
    close(file);
    return status;
}
