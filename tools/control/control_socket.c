/* SPDX-License-Identifier: Apache-2.0
 * Unix-domain sockets through which a run is controlled. The folder is the
 * user's alone. The kernel reports the user of each client, because a socket at
 * another path may be in a folder of other users.
 */
#define _GNU_SOURCE /* SO_PEERCRED, SOCK_CLOEXEC */
#include "tools/control/control_socket.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/error.h"

/* ---- the folder ------------------------------------------------------- */

/* Must be a folder of this user and not a link. */
static bool is_own_folder(const char *path, struct stat *info)
{
    return lstat(path, info) == 0 && S_ISDIR(info->st_mode) &&
           info->st_uid == geteuid();
}

/* The sticky bit of /tmp prevents other users from replacing the folder after
 * this check. */
static vly_status check_folder(const char *folder, vly_error *error)
{
    struct stat info;
    if (lstat(folder, &info) != 0)
        return vly_fail(error, errno == ENOENT ? VLY_E_INVALID : VLY_E_IO,
                        "%s: no control socket: %s", folder, strerror(errno));
    if (!S_ISDIR(info.st_mode))
        return vly_fail(error, VLY_E_IO,
                        "%s: is %s, wanted a folder for control sockets",
                        folder, S_ISLNK(info.st_mode) ? "a link" : "a file");
    if (info.st_uid != geteuid())
        return vly_fail(error, VLY_E_IO,
                        "%s: belongs to user %lu, wanted a folder of user %lu",
                        folder, (unsigned long)info.st_uid,
                        (unsigned long)geteuid());
    if ((info.st_mode & 077) != 0)
        return vly_fail(error, VLY_E_IO,
                        "%s: mode %04o, wanted 0700: others could reach the "
                        "sockets in it",
                        folder, (unsigned)(info.st_mode & 07777));
    return VLY_OK;
}

vly_status control_folder(bool make, char *folder, size_t capacity,
                          vly_error *error)
{
    const char *given = getenv("XDG_RUNTIME_DIR");
    struct stat info;
    int n;
    if (given && given[0] == '/' && is_own_folder(given, &info))
        n = snprintf(folder, capacity, "%s/volley", given);
    else
        n = snprintf(folder, capacity, "/tmp/volley-%lu",
                     (unsigned long)geteuid());
    if (n < 0 || (size_t)n >= capacity)
        return vly_fail(error, VLY_E_INVALID,
                        "XDG_RUNTIME_DIR is too long for a control socket: %d "
                        "bytes, wanted at most %zu",
                        n, capacity - 1);
    if (make && mkdir(folder, 0700) != 0 && errno != EEXIST)
        return vly_fail(error, VLY_E_IO, "%s: cannot be made: %s", folder,
                        strerror(errno));
    return check_folder(folder, error);
}

vly_status control_path(bool make, int64_t pid, char *path, size_t capacity,
                        vly_error *error)
{
    char folder[CONTROL_PATH_BYTES];
    vly_status status = VLY_OK;
    VLY_TRY(control_folder(make, folder, sizeof folder, error));
    int n = snprintf(path, capacity, "%s/%" PRId64 ".sock", folder, pid);
    if (n < 0 || (size_t)n >= capacity)
        return vly_fail(error, VLY_E_INVALID,
                        "control socket: a path of %d bytes, wanted at most "
                        "%zu",
                        n, capacity - 1);
out:
    return status;
}

/* ---- another user's run, for root ------------------------------------- */

/* XDG_RUNTIME_DIR of a process, as it was started; false if it has none. */
static bool runtime_folder_of(int64_t pid, char *folder, size_t capacity)
{
    static const char name[] = "XDG_RUNTIME_DIR=";
    char path[48];
    char *entry = NULL;
    size_t size = 0;
    bool found = false;
    snprintf(path, sizeof path, "/proc/%" PRId64 "/environ", pid);
    FILE *file = fopen(path, "re");
    while (file && !found && getdelim(&entry, &size, '\0', file) > 0) {
        const char *value = entry + sizeof name - 1;
        found = strncmp(entry, name, sizeof name - 1) == 0;
        if (found && strlen(value) < capacity)
            memcpy(folder, value, strlen(value) + 1);
        else if (found)
            folder[0] = '\0';
    }
    free(entry);
    if (file)
        fclose(file);
    return found && folder[0] == '/';
}

/* Folder of the sockets of that process's user, as control_folder finds it for
 * that user. false: the process is root's own, or there is no folder. */
static bool path_of_other(int64_t pid, char *path, size_t capacity)
{
    char folder[CONTROL_PATH_BYTES];
    char process[32];
    struct stat owner;
    struct stat info;
    snprintf(process, sizeof process, "/proc/%" PRId64, pid);
    if (stat(process, &owner) != 0 || owner.st_uid == geteuid())
        return false;
    int n = -1;
    if (runtime_folder_of(pid, folder, sizeof folder) &&
        lstat(folder, &info) == 0 && S_ISDIR(info.st_mode) &&
        info.st_uid == owner.st_uid)
        n = snprintf(path, capacity, "%s/volley/%" PRId64 ".sock", folder, pid);
    else
        n = snprintf(path, capacity, "/tmp/volley-%lu/%" PRId64 ".sock",
                     (unsigned long)owner.st_uid, pid);
    return n > 0 && (size_t)n < capacity && lstat(path, &info) == 0 &&
           S_ISSOCK(info.st_mode) && info.st_uid == owner.st_uid;
}

vly_status control_find(int64_t pid, char *path, size_t capacity,
                        vly_error *error)
{
    char other[CONTROL_PATH_BYTES];
    vly_status status = control_path(false, pid, path, capacity, error);
    const bool is_own = status == VLY_OK && access(path, F_OK) == 0;
    if (is_own || geteuid() != 0 || !path_of_other(pid, other, sizeof other) ||
        strlen(other) >= capacity)
        return status;
    memcpy(path, other, strlen(other) + 1);
    return VLY_OK;
}

/* ---- the socket ------------------------------------------------------- */

static vly_status make_address(const char *path, struct sockaddr_un *address,
                               vly_error *error)
{
    size_t n = strlen(path);
    memset(address, 0, sizeof *address);
    address->sun_family = AF_UNIX;
    if (n == 0 || n >= sizeof address->sun_path)
        return vly_fail(error, VLY_E_INVALID,
                        "control socket: a path of %zu bytes, wanted 1 to %zu",
                        n, sizeof address->sun_path - 1);
    memcpy(address->sun_path, path, n);
    return VLY_OK;
}

/* 0, or errno: EAGAIN if a process listens but is slow to accept. */
static int try_connect(const char *path, int *fd)
{
    struct sockaddr_un address;
    if (make_address(path, &address, NULL) != VLY_OK)
        return ENAMETOOLONG;
    int made = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (made < 0)
        return errno;
    if (connect(made, (const struct sockaddr *)&address, sizeof address) == 0) {
        *fd = made;
        return 0;
    }
    int reason = errno;
    close(made);
    return reason;
}

/* (uid_t)-1: unknown */
static uid_t peer_of(int fd)
{
    struct ucred peer;
    socklen_t n = sizeof peer;
    return getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &n) == 0 ? peer.uid
                                                                   : (uid_t)-1;
}

bool control_peer_allowed(int fd)
{
    const uid_t peer = peer_of(fd);
    return peer != (uid_t)-1 && (peer == geteuid() || peer == 0);
}

/* A server of another user could answer anything, so it is refused; root may
 * ask every server. */
static bool server_allowed(int fd)
{
    const uid_t peer = peer_of(fd);
    return peer != (uid_t)-1 && (peer == geteuid() || geteuid() == 0);
}

/* "FOLDER/.4711a": a name beside path, with the number of this process. No run
 * has such a name and `ctl` does not list it. */
static vly_status name_beside(const char *path, char kind,
                              struct sockaddr_un *address, vly_error *error)
{
    char name[CONTROL_PATH_BYTES + 32];
    const char *slash = strrchr(path, '/');
    int folder = slash ? (int)(slash + 1 - path) : 0;
    snprintf(name, sizeof name, "%.*s.%lx%c", folder, path,
             (unsigned long)getpid(), kind);
    return make_address(name, address, error);
}

static bool is_refused(const char *path)
{
    int fd = -1;
    int reason = try_connect(path, &fd);
    if (reason == 0)
        close(fd);
    return reason == ECONNREFUSED;
}

/* The socket `info`, which is held open so that no other has its number. */
static bool remove_refused(const char *path, const struct stat *info)
{
    struct sockaddr_un aside;
    struct stat moved;
    if (!S_ISSOCK(info->st_mode) || info->st_uid != geteuid() ||
        !is_refused(path) || name_beside(path, 'b', &aside, NULL) != VLY_OK ||
        rename(path, aside.sun_path) != 0)
        return false;
    const bool same = lstat(aside.sun_path, &moved) == 0 &&
                      moved.st_dev == info->st_dev &&
                      moved.st_ino == info->st_ino;
    const bool stale = is_refused(aside.sun_path);
    const bool settled = stale || link(aside.sun_path, path) == 0;
    return unlink(aside.sun_path) == 0 && settled && stale && same;
}

/* A socket has its name only while a process listens (control_listen), so a
 * socket that refuses is of a killed run. It is renamed and checked again,
 * because a new run may have taken the name meanwhile; one that did, and has
 * ended since, was not killed. */
bool control_remove_stale(const char *path)
{
    struct stat info;
    const int held = open(path, O_PATH | O_NOFOLLOW | O_CLOEXEC);
    if (held < 0)
        return false;
    const bool removed = fstat(held, &info) == 0 && remove_refused(path, &info);
    close(held);
    return removed;
}

vly_status control_check(const char *path, vly_error *error)
{
    struct sockaddr_un address;
    struct stat info;
    vly_status status = VLY_OK;
    VLY_TRY(make_address(path, &address, error));
    if (lstat(path, &info) != 0) {
        if (errno == ENOENT)
            return VLY_OK; /* or its folder is missing: bind will report that */
        return vly_fail(error, VLY_E_IO, "%s: %s", path, strerror(errno));
    }
    if (!S_ISSOCK(info.st_mode))
        return vly_fail(error, VLY_E_INVALID,
                        "%s: is %s, wanted a new name for a control socket",
                        path,
                        S_ISLNK(info.st_mode)   ? "a link"
                        : S_ISDIR(info.st_mode) ? "a folder"
                                                : "a file");
out:
    return status;
}

/* fchmod before bind sets the mode of the socket's file, which is never open to
 * other users; umask would change all threads. The socket gets its final name
 * after listen: between bind and listen it looks like that of a killed run. */
static int bind_and_listen(int fd, const struct sockaddr_un *address,
                           struct stat *info)
{
    enum { QUEUE = 16 };
    struct sockaddr_un made;
    if (name_beside(address->sun_path, 'a', &made, NULL) != VLY_OK)
        return ENAMETOOLONG;
    unlink(made.sun_path); /* left by a killed process with our number */
    if (fchmod(fd, 0600) != 0 ||
        bind(fd, (const struct sockaddr *)&made, sizeof made) != 0)
        return errno;
    /* before another process can see and move it (control_remove_stale) */
    int reason = listen(fd, QUEUE) != 0 || lstat(made.sun_path, info) != 0 ||
                         link(made.sun_path, address->sun_path) != 0
                     ? errno
                     : 0;
    unlink(made.sun_path);
    return reason;
}

vly_status control_listen(const char *path, control_listener *listener,
                          vly_error *error)
{
    struct sockaddr_un address;
    struct stat info;
    vly_status status = control_check(path, error);
    if (status == VLY_OK)
        status = make_address(path, &address, error);
    if (status != VLY_OK)
        return status;
    control_remove_stale(path);
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0)
        return vly_fail(error, VLY_E_IO, "control socket: %s", strerror(errno));
    int reason = bind_and_listen(fd, &address, &info);
    if (reason != 0) {
        close(fd);
        return vly_fail(error, VLY_E_IO, "%s: no control socket: %s", path,
                        reason == EEXIST ? "another process listens there"
                                         : strerror(reason));
    }
    *listener = (control_listener){
        .fd = fd, .device = info.st_dev, .inode = info.st_ino};
    memcpy(listener->path, address.sun_path, sizeof listener->path);
    return VLY_OK;
}

void control_unlisten(control_listener *listener)
{
    struct stat info;
    if (lstat(listener->path, &info) == 0 && info.st_dev == listener->device &&
        info.st_ino == listener->inode)
        unlink(listener->path);
    close(listener->fd);
}

vly_status control_connect(const char *path, int *fd, vly_error *error)
{
    struct sockaddr_un address;
    int made = -1;
    vly_status status = VLY_OK;
    VLY_TRY(make_address(path, &address, error));
    int reason = try_connect(path, &made);
    if (reason == ENOENT || reason == ECONNREFUSED)
        return vly_fail(error, VLY_E_INVALID,
                        "%s: no run is controlled there: %s", path,
                        strerror(reason));
    if (reason != 0)
        return vly_fail(error, VLY_E_IO, "%s: %s", path, strerror(reason));
    if (!server_allowed(made)) {
        close(made);
        return vly_fail(error, VLY_E_INVALID,
                        "%s: the process there is not of this user", path);
    }
    *fd = made;
out:
    return status;
}
