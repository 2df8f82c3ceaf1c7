/* SPDX-License-Identifier: Apache-2.0
 * Buffered output to a file that reports every error. A full disk shows only
 * when a buffer is written out or the file is closed, so the first failure is
 * kept and returned by every later call up to close.
 */
#ifndef VOLLEY_BASE_WRITER_H
#define VOLLEY_BASE_WRITER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <volley/plugin.h>

typedef struct vly_writer vly_writer;

/* path "-" is standard output. replace: the bytes go to a temporary file beside
 * path, which takes its place in close, so that no other program ever sees half
 * a file; a path that is not a regular file (a pipe, a device, a link) is
 * written directly. The file is locked until it is closed. The content of an
 * existing file is lost when the first bytes are written (flush, close, or a
 * full buffer), not before. Errors  E_IO "path: cannot be written: reason",
 * also if another process writes it or is about to replace it: nothing was
 * changed then; E_NOMEM */
vly_status vly_writer_open(const char *path, bool replace, vly_writer **writer,
                           vly_error *error);
/* Continues an existing file after its first n_bytes; the rest is truncated
 * when the first bytes are written. Only files, not "-".
 * Errors  E_IO cannot be written, locked by another process; E_PARSE shorter
 * than that; E_INVALID a pipe or a device: nothing was changed; E_NOMEM */
vly_status vly_writer_resume(const char *path, uint64_t n_bytes,
                             vly_writer **writer, vly_error *error);
/* The same for an open one: discards everything after n_bytes. */
vly_status vly_writer_rewind(vly_writer *writer, uint64_t n_bytes,
                             vly_error *error);
/* The file is text that grows line by line. If a write fails (a full disk), it
 * is cut after its last whole line, and the message tells it. A pipe keeps what
 * it was given. */
void vly_writer_set_lines(vly_writer *writer);
/* A second descriptor of the file: the lock stays until this one is closed too.
 * -1: it could not be duplicated. */
int vly_writer_hold(const vly_writer *writer);
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
/* Begins the file even without a byte: the previous content is lost. */
vly_status vly_writer_flush(vly_writer *writer, vly_error *error);
/* Writes the rest, closes, and renames if it replaces; frees writer, also on
 * failure, and removes the temporary file. NULL is legal.
 * Errors  E_IO also where the file was removed while it was written */
vly_status vly_writer_close(vly_writer *writer, vly_error *error);
/* Closes without reporting errors. Removes a temporary file, and a file that
 * did not exist before open; an existing file is unchanged unless bytes were
 * written. NULL is legal. */
void vly_writer_abandon(vly_writer *writer);
/* From now on flush writes nothing, and close acts like abandon. NULL is legal.
 * For a writer that other objects own. */
void vly_writer_cancel(vly_writer *writer);

/* Writes a complete file at once, replacing an existing one. */
vly_status vly_writer_save(const char *path, const void *bytes, size_t n,
                           vly_error *error);

#endif
