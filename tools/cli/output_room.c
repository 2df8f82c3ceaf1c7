/* SPDX-License-Identifier: Apache-2.0
 * Asked before a run, so that hours of bursts are not lost to a full disk. Room
 * may still be taken later: then the write reports it.
 */
#include "tools/cli/output_room.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "base/error.h"
#include "tools/cli/setup.h"
#include "tools/cli/tool.h"

vly_status output_probe(const char *path, vly_error *error)
{
    struct stat info;
    vly_status status = VLY_OK;
    VLY_TRY(tool_output_check(path, error));
    if (!path || strcmp(path, "-") == 0 || stat(path, &info) != 0 ||
        !S_ISCHR(info.st_mode))
        return VLY_OK;
    const int fd = open(path, O_WRONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    const int reason = fd < 0 || write(fd, "", 0) < 0 ? errno : 0;
    if (fd >= 0)
        close(fd);
    if (reason != 0 && reason != EAGAIN)
        status = vly_fail(error, VLY_E_IO, "%s: cannot be written: %s", path,
                          strerror(reason));
out:
    return status;
}

/* Free bytes of the file system of the path's folder; UINT64_MAX: not known. */
static uint64_t room_beside(const char *path)
{
    struct statvfs disk;
    char folder[PATH_MAX] = ".";
    const char *slash = strrchr(path, '/');
    if (slash)
        snprintf(folder, sizeof folder, "%.*s", (int)(slash - path + 1), path);
    /* a file system without blocks does not count them */
    if (statvfs(folder, &disk) != 0 || disk.f_blocks == 0)
        return UINT64_MAX;
    const double bytes = (double)disk.f_bavail * (double)disk.f_frsize;
    return bytes < 0x1p63 ? (uint64_t)bytes : UINT64_MAX;
}

vly_status output_room(const char *path, uint64_t n_bytes, vly_error *error)
{
    struct stat info;
    struct rlimit limit;
    if (!path || strcmp(path, "-") == 0 ||
        (lstat(path, &info) == 0 && !S_ISREG(info.st_mode)))
        return VLY_OK;
    const uint64_t room = room_beside(path);
    char needed[32];
    snprintf(needed, sizeof needed, "%s", tool_bytes(n_bytes));
    if (room < n_bytes)
        return vly_fail(error, VLY_E_IO,
                        "%s: cannot be written: it needs %s or more, and its "
                        "disk has %s free",
                        path, needed, tool_bytes(room));
    if (getrlimit(RLIMIT_FSIZE, &limit) == 0 &&
        limit.rlim_cur != RLIM_INFINITY && limit.rlim_cur < n_bytes)
        return vly_fail(error, VLY_E_IO,
                        "%s: cannot be written: it needs %s or more, and the "
                        "limit of a file is %s (ulimit -f)",
                        path, needed, tool_bytes((uint64_t)limit.rlim_cur));
    return VLY_OK;
}
