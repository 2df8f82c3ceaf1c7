/* SPDX-License-Identifier: Apache-2.0
 * The folder of a run: made, locked, and empty unless --force is given.
 */
#include "tools/run/run_job.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"
#include "base/memory.h"
#include "base/temporary.h"

char *run_folder_path(const char *folder, const char *name)
{
    return vly_format("%s/%s", folder, name);
}

static vly_status check_empty(const char *folder, vly_error *error)
{
    DIR *entries = opendir(folder);
    if (!entries)
        return vly_fail(error, errno == ENOTDIR ? VLY_E_INVALID : VLY_E_IO,
                        "%s: cannot be opened: %s", folder, strerror(errno));
    const struct dirent *entry;
    bool empty = true;
    while (empty && (entry = readdir(entries)) != NULL)
        empty =
            strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0;
    closedir(entries);
    if (empty)
        return VLY_OK;
    return vly_fail(error, VLY_E_INVALID,
                    "%s: the folder is not empty; wanted an empty or a new "
                    "one, or --force",
                    folder);
}

static vly_status fail_make(const char *folder, int reason, vly_error *error)
{
    return vly_fail(error, VLY_E_IO, "%s: the folder cannot be made: %s%s",
                    folder, strerror(reason),
                    reason == ENOENT ? ", wanted it in a folder that is there"
                    : reason == EACCES || reason == EPERM || reason == EROFS
                        ? ", wanted it in a folder where you may write"
                        : "");
}

/* Is the open folder still the one at the path? */
static bool is_folder_at(int file, const char *folder)
{
    struct stat ours;
    struct stat there;
    return fstat(file, &ours) == 0 && stat(folder, &there) == 0 &&
           ours.st_dev == there.st_dev && ours.st_ino == there.st_ino;
}

/* *lock -1: the folder was removed meanwhile, or (with E_OK) it may not be
 * read. */
static vly_status lock_folder(const char *folder, int *lock, bool *again,
                              vly_error *error)
{
    *again = false;
    *lock = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (*lock < 0 && errno == ENOTDIR)
        return vly_fail(error, VLY_E_INVALID, "%s: not a folder", folder);
    if (*lock < 0) {
        *again = errno == ENOENT;
        return VLY_OK;
    }
    bool taken = !vly_file_lock(*lock);
    *again = !taken && !is_folder_at(*lock, folder);
    if (!taken && !*again)
        return VLY_OK;
    close(*lock);
    *lock = -1;
    if (!taken)
        return VLY_OK;
    tool_folder_keep(); /* another process holds the lock, even if this process
                         * made the folder */
    return vly_fail(error, VLY_E_IO,
                    "%s: another process writes this folder, wanted another "
                    "folder, or the end of that process",
                    folder);
}

vly_status run_folder_open(const char *folder, bool force, int *lock,
                           vly_error *error)
{
    enum { TRIES = 100 };
    int found = -1;
    bool again = true;
    vly_status status = VLY_OK;
    for (int i = 0; i < TRIES && again; i++) {
        if (tool_folder_make(folder) != VLY_OK && errno != EEXIST)
            return fail_make(folder, errno, error);
        VLY_TRY(lock_folder(folder, &found, &again, error));
    }
    if (again)
        return vly_fail(error, VLY_E_IO,
                        "%s: the folder is removed by other processes", folder);
    if (!force)
        status = check_empty(folder, error);
    if (status != VLY_OK && found >= 0)
        close(found);
    else
        *lock = found;
out:
    return status;
}
