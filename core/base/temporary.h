/* SPDX-License-Identifier: Apache-2.0
 * A file that is written beside the file that it replaces. Its writer locks it
 * until it is done, so two processes never write the same one, and a file
 * without a lock was left by a killed process.
 */
#ifndef VOLLEY_BASE_TEMPORARY_H
#define VOLLEY_BASE_TEMPORARY_H

#include <stdbool.h>

#include <volley/volley.h>

/* After the name of the file that is replaced. */
#define VLY_TEMPORARY_SUFFIX ".volley.tmp"

typedef struct vly_temporary {
    char *target; /* the file that is replaced */
    char *path;   /* the file that is written */
    int file;     /* open for writing and locked; -1: none */
} vly_temporary;

#define VLY_TEMPORARY_NONE                                                     \
    {                                                                          \
        .file = -1                                                             \
    }

/* Makes the file beside target. A file that a killed process left there is
 * removed first; a file that a living process writes is not touched.
 *
 * target   a regular file, or a name at which nothing is; links are replaced
 * Errors   E_IO "name: cannot be written: reason": another process writes
 *          target or the file beside it; no permission; E_NOMEM
 * Thread   [any-thread]
 */
vly_status vly_temporary_open(const char *target, const char *name,
                              vly_temporary *temporary, vly_error *error);
/* Syncs the file and gives it the target's name. On failure it is removed and
 * the target is unchanged.
 *
 * lock     NULL: the file is closed. Otherwise *lock becomes the file, which is
 *          locked as by vly_file_lock all the time; the caller closes it. It is
 *          unchanged on failure
 * Errors   E_IO "name: cannot be written: reason"
 * Thread   [any-thread]
 */
vly_status vly_temporary_keep(vly_temporary *temporary, const char *name,
                              int *lock, vly_error *error);
/* Removes the file, if there is one. Legal after keep. [any-thread] */
void vly_temporary_drop(vly_temporary *temporary);
/* Removes what a killed process left beside target. [any-thread] */
void vly_temporary_clean(const char *target);
/* Removes all open temporary files, before the process ends at once; later
 * operations on them fail.
 * Thread  [any-thread], also from a handler of a signal */
void vly_temporary_remove_all(void);

/* Locks an open file for this process alone. A process that only checks for a
 * lock holds it for a moment, so the lock is tried several times. false:
 * another process has it. On a file system without locks: true. [any-thread] */
bool vly_file_lock(int file);
/* Whether the open file is the one at the path; a link is not followed.
 * [any-thread] */
bool vly_file_is_at(int file, const char *path);
/* Whether a process holds the file at the path by vly_file_lock. [any-thread]
 */
bool vly_file_is_locked(const char *path);
/* Syncs the folder of a file: only then its name is safe on the disk, also if
 * another file is removed after it. If the file system does not support this or
 * the folder may not be read, no byte of the file is lost. [any-thread]
 * Errors  E_IO, E_NOMEM
 */
vly_status vly_folder_sync(const char *path, vly_error *error);

#endif
