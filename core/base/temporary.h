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

/* Makes the file beside target. What a killed process left there is removed
 * first; what a living process writes is left alone.
 *
 * target   a regular file, or a name at which nothing is; links are replaced
 * Errors   E_IO "name: cannot be written: reason": another process writes
 *          target or the file beside it; no permission; E_NOMEM
 * Thread   [any-thread]
 */
vly_status vly_temporary_open(const char *target, const char *name,
                              vly_temporary *temporary, vly_error *error);
/* Syncs the file and gives it the target's name. The file is closed, and gone
 * if that fails; what was at the target is then as it was. [any-thread]
 * Errors  E_IO "name: cannot be written: reason" */
vly_status vly_temporary_keep(vly_temporary *temporary, const char *name,
                              vly_error *error);
/* The same for a process that keeps the target for itself: *lock is the file,
 * locked as vly_file_lock does it, without a moment in between. Whoever has
 * *lock closes it; untouched on failure. [any-thread] */
vly_status vly_temporary_keep_locked(vly_temporary *temporary, const char *name,
                                     int *lock, vly_error *error);
/* Removes the file, if there is one. Legal after keep. [any-thread] */
void vly_temporary_drop(vly_temporary *temporary);
/* Removes what a killed process left beside target. [any-thread] */
void vly_temporary_clean(const char *target);
/* Removes all files that are open here, before the process ends at once; what
 * is done with them afterwards fails. Thread  [any-thread], also from a handler
 * of a signal */
void vly_temporary_remove_all(void);

/* Locks an open file for this process alone; what only looks whether a file is
 * locked holds it for a moment, so it is asked for several times. false:
 * another process has it. A file system without locks has none: true.
 * [any-thread] */
bool vly_file_lock(int file);
/* Whether the open file is the one at the path; a link is not followed.
 * [any-thread] */
bool vly_file_is_at(int file, const char *path);
/* Whether a process holds the file at the path by vly_file_lock. [any-thread]
 */
bool vly_file_is_locked(const char *path);
/* Syncs the folder of a file: only then its name is safe on the disk, also
 * where something else is removed after it. A file system that cannot, and a
 * folder that may not be read, lose no byte. [any-thread] Errors  E_IO, E_NOMEM
 */
vly_status vly_folder_sync(const char *path, vly_error *error);

#endif
