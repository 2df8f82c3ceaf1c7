/* SPDX-License-Identifier: Apache-2.0
 * Buffered output to a file that loses no error. A full disk shows only when a
 * buffer is written out or the file is closed, so the first failure is kept
 * and returned by every later call up to close.
 */
#ifndef VOLLEY_RECORD_WRITER_H
#define VOLLEY_RECORD_WRITER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <volley/plugin.h>

typedef struct vly_writer vly_writer;

/* path "-" is standard output. replace: the bytes go to a temporary file
 * beside path, which takes its place in close, so that nobody ever sees half a
 * file; a path that is no regular file (a pipe, a device) is written directly.
 * A file that is not replaced is locked until it is closed.
 * Errors  E_IO "path: cannot be written: reason", also if another process has
 * locked it: nothing was changed then; E_NOMEM */
vly_status vly_writer_open(const char *path, bool replace, vly_writer **writer,
                           vly_error *error);
/* Goes on in a file that is there, after its first n_bytes; what is behind them
 * is cut off. Only files, "-" is none.
 * Errors  E_IO cannot be written, locked by another process; E_PARSE shorter
 * than that; E_INVALID a pipe or a device: nothing was changed; E_NOMEM */
vly_status vly_writer_resume(const char *path, uint64_t n_bytes,
                             vly_writer **writer, vly_error *error);
/* The same for one that is open: forgets what came after n_bytes. */
vly_status vly_writer_rewind(vly_writer *writer, uint64_t n_bytes,
                             vly_error *error);
/* Bytes of the file so far, those in the buffer included. */
uint64_t vly_writer_tell(const vly_writer *writer);
vly_status vly_writer_bytes(vly_writer *writer, const void *bytes, size_t n,
                            vly_error *error);
vly_status vly_writer_text(vly_writer *writer, const char *text,
                           vly_error *error);
/* At most 4095 characters a call. */
vly_status vly_writer_print(vly_writer *writer, vly_error *error,
                            const char *format, ...)
    __attribute__((format(printf, 3, 4)));
vly_status vly_writer_flush(vly_writer *writer, vly_error *error);
/* Writes what is left, closes, and renames if it replaces; writer is gone,
 * also on failure, and the temporary file too. NULL is legal.
 * Errors  E_IO also where the file was removed while it was written */
vly_status vly_writer_close(vly_writer *writer, vly_error *error);
/* Closes without a word; a temporary file is removed. NULL is legal. */
void vly_writer_abandon(vly_writer *writer);

/* A whole file at once, replaced. */
vly_status vly_writer_save(const char *path, const void *bytes, size_t n,
                           vly_error *error);

/* The folder of a file: only then its name is safe on the disk, also where
 * something else is removed after it. A file system that cannot is no error.
 * Errors  E_IO, E_NOMEM */
vly_status vly_writer_sync_folder(const char *path, vly_error *error);

#endif
