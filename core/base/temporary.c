/* SPDX-License-Identifier: Apache-2.0
 * Files that take the place of others. The name is the same for every process,
 * so the lock (flock) decides which process writes; the kernel releases it when
 * the process ends, in any way. A file that a killed process left is never
 * written to, since another user may have put it there: it is removed and a new
 * one is created.
 */
#include "base/temporary.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/error.h"
#include "base/memory.h"

enum { TRIES = 10 };

static void wait_a_moment(void)
{
    static const struct timespec moment = {0, 20000000};
    nanosleep(&moment, NULL);
}

/* ---- locks ------------------------------------------------------------- */

bool vly_file_lock(int file)
{
    for (int i = 0; i < TRIES; i++) {
        if (flock(file, LOCK_EX | LOCK_NB) == 0 || errno != EWOULDBLOCK)
            return true;
        wait_a_moment();
    }
    return false;
}

bool vly_file_is_at(int file, const char *path)
{
    struct stat ours;
    struct stat there;
    return fstat(file, &ours) == 0 && lstat(path, &there) == 0 &&
           ours.st_dev == there.st_dev && ours.st_ino == there.st_ino;
}

/* A shared lock, so that two processes that only check do not disturb each
 * other. */
bool vly_file_is_locked(const char *path)
{
    int file = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
    if (file < 0)
        return false;
    bool locked = flock(file, LOCK_SH | LOCK_NB) != 0 && errno == EWOULDBLOCK;
    close(file);
    return locked;
}

/* ---- those of this process --------------------------------------------- */

enum { SLOTS = 32, SLOT_FREE = 0, SLOT_BUSY = -1 };

/* For a handler of a signal, which may not take a lock. Files beyond these
 * places are left if a signal ends the process, as after a kill. */
static struct slot {
    _Atomic int state; /* or the file and 1 */
    char path[PATH_MAX];
} slots[SLOTS];

static void remember(const char *path, int file)
{
    size_t n = strlen(path) + 1;
    for (int i = 0; i < SLOTS && n <= PATH_MAX; i++) {
        int wanted = SLOT_FREE;
        if (!atomic_compare_exchange_strong(&slots[i].state, &wanted,
                                            SLOT_BUSY))
            continue;
        memcpy(slots[i].path, path, n);
        atomic_store(&slots[i].state, file + 1);
        return;
    }
}

static void forget_slot(int file)
{
    for (int i = 0; i < SLOTS; i++) {
        int wanted = file + 1;
        if (atomic_compare_exchange_strong(&slots[i].state, &wanted, SLOT_FREE))
            return;
    }
}

void vly_temporary_remove_all(void)
{
    for (int i = 0; i < SLOTS; i++) {
        int state = atomic_load(&slots[i].state);
        /* it is locked: no other process has the name meanwhile */
        if (state > 0 && vly_file_is_at(state - 1, slots[i].path))
            unlink(slots[i].path);
    }
}

/* ---- what a killed process left ---------------------------------------- */

typedef enum leaving {
    LEAVING_GONE,   /* removed, or no longer there */
    LEAVING_LIVING, /* a process writes it */
    LEAVING_UNKNOWN /* not a file of ours, or a file system without locks */
} leaving;

static leaving remove_left(const char *path)
{
    struct stat info;
    leaving found = LEAVING_UNKNOWN;
    int file = open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    if (file < 0)
        return errno == ENOENT ? LEAVING_GONE : LEAVING_UNKNOWN;
    if (fstat(file, &info) == 0 && S_ISREG(info.st_mode)) {
        if (flock(file, LOCK_EX | LOCK_NB) == 0) {
            /* no other process writes a locked file */
            bool left = !vly_file_is_at(file, path) || unlink(path) == 0;
            found = left ? LEAVING_GONE : LEAVING_UNKNOWN;
        } else if (errno == EWOULDBLOCK) {
            found = LEAVING_LIVING;
        }
    }
    close(file);
    return found;
}

static char *name_of(const char *target)
{
    return vly_format("%s" VLY_TEMPORARY_SUFFIX, target);
}

void vly_temporary_clean(const char *target)
{
    char *path = name_of(target);
    if (path)
        (void)remove_left(path);
    vly_free(path);
}

/* ---- open -------------------------------------------------------------- */

/* 0, or the reason; EWOULDBLOCK: another process writes it. */
static int open_at(const char *path, int *file)
{
    for (int i = 0; i < TRIES; i++) {
        int made = open(
            path, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0666);
        if (made >= 0) {
            /* until it was locked another process could take it for left */
            if (vly_file_lock(made) && vly_file_is_at(made, path)) {
                *file = made;
                return 0;
            }
            close(made);
            continue;
        }
        if (errno != EEXIST)
            return errno;
        leaving left = remove_left(path);
        if (left == LEAVING_UNKNOWN)
            return EEXIST;
        if (left == LEAVING_LIVING)
            wait_a_moment();
    }
    return EWOULDBLOCK;
}

vly_status vly_temporary_open(const char *target, const char *name,
                              vly_temporary *temporary, vly_error *error)
{
    int file = -1;
    char *copy = vly_strdup(target);
    char *path = name_of(target);
    int reason = ENOMEM;
    if (path && copy)
        reason = open_at(path, &file);
    if (reason == EEXIST) { /* the existing file cannot be checked: use another
                             * name */
        vly_free(path);
        path =
            vly_format("%s.%ld" VLY_TEMPORARY_SUFFIX, target, (long)getpid());
        reason = path ? open_at(path, &file) : ENOMEM;
    }
    /* a process may write the target itself, as recordings are */
    if (reason == 0 && vly_file_is_locked(target)) {
        unlink(path);
        close(file);
        reason = EWOULDBLOCK;
    }
    if (reason == 0) {
        *temporary = (vly_temporary){copy, path, file};
        remember(path, file);
        return VLY_OK;
    }
    vly_free(copy);
    vly_free(path);
    if (reason == ENOMEM)
        return vly_fail_nomem(error, strlen(target), "a file name");
    return vly_fail(error, VLY_E_IO, "%s: cannot be written: %s", name,
                    reason == EWOULDBLOCK ? "another process writes it"
                                          : strerror(reason));
}

/* ---- end --------------------------------------------------------------- */

static void forget(vly_temporary *temporary)
{
    if (temporary->file >= 0)
        close(temporary->file);
    vly_free(temporary->target);
    vly_free(temporary->path);
    *temporary = (vly_temporary)VLY_TEMPORARY_NONE;
}

/* Some file systems report write errors only on close, so close while the
 * target is unchanged. A second descriptor keeps the lock until the file has
 * its name. 0, or the reason. */
static int close_first(vly_temporary *temporary)
{
    int second = fcntl(temporary->file, F_DUPFD_CLOEXEC, 0);
    int reason = second < 0 ? errno : 0;
    if (close(temporary->file) != 0 && errno != EINTR && reason == 0)
        reason = errno;
    temporary->file = second;
    return reason;
}

vly_status vly_temporary_keep(vly_temporary *temporary, const char *name,
                              int *lock, vly_error *error)
{
    int reason = 0;
    /* a file system without fsync returns EINVAL; the bytes are not lost */
    if (fsync(temporary->file) != 0 && errno != EINVAL && errno != EROFS)
        reason = errno;
    forget_slot(temporary->file);
    bool ours = vly_file_is_at(temporary->file, temporary->path);
    if (reason == 0 && !ours)
        reason = ENOENT;
    int closed = close_first(temporary);
    if (reason == 0)
        reason = closed;
    if (reason == 0 && rename(temporary->path, temporary->target) != 0)
        reason = errno;
    if (reason != 0 && ours)
        unlink(temporary->path);
    if (reason == 0 && lock) {
        *lock = temporary->file;
        temporary->file = -1;
    }
    forget(temporary);
    if (reason == 0)
        return VLY_OK;
    return vly_fail(error, VLY_E_IO, "%s: cannot be written: %s", name,
                    strerror(reason));
}

void vly_temporary_drop(vly_temporary *temporary)
{
    if (temporary->file >= 0) {
        forget_slot(temporary->file);
        if (vly_file_is_at(temporary->file, temporary->path))
            unlink(temporary->path); /* while it is locked */
    }
    forget(temporary);
}

vly_status vly_folder_sync(const char *path, vly_error *error)
{
    const char *slash = strrchr(path, '/');
    const int n = !slash ? 1 : slash == path ? 1 : (int)(slash - path);
    char *folder = vly_format("%.*s", n, !slash ? "." : path);
    if (!folder)
        return vly_fail_nomem(error, strlen(path), "a file name");
    vly_status status = VLY_OK;
    const int file = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    /* a folder without read permission cannot be synced; no written byte is
     * lost */
    if (file >= 0 && fsync(file) != 0 && errno != EINVAL && errno != EROFS)
        status = vly_fail(error, VLY_E_IO, "%s: cannot be synced: %s", folder,
                          strerror(errno));
    if (file >= 0)
        close(file);
    vly_free(folder);
    return status;
}
