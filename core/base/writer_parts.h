/* SPDX-License-Identifier: Apache-2.0
 * What writer.c and writer_open.c share.
 */
#ifndef VOLLEY_BASE_WRITER_PARTS_H
#define VOLLEY_BASE_WRITER_PARTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <volley/volley.h>

#include "base/temporary.h"
#include "base/writer.h"

enum { VLY_WRITER_BYTES = 1 << 16 };

struct vly_writer {
    int fd;
    bool standard; /* descriptor 1, not ours to close */
    bool made;     /* there was no file: abandon removes it */
    bool begun;    /* bytes were written, the previous content is lost */
    bool cancelled;
    bool lines;       /* cut after the last whole one if a write fails */
    uint64_t n_done;  /* bytes of the file that were written, ... */
    uint64_t n_whole; /* ... of which so many are whole lines */
    char *path;
    vly_temporary temporary; /* file -1: written directly */
    uint64_t start;          /* bytes of an existing file that are kept */
    uint64_t n_bytes;        /* of the file, with what is still in the buffer */
    size_t n_buffer;
    char *early; /* [n_early] bytes that did not fit in the buffer before the
                  * file is begun */
    size_t n_early;
    vly_error failure; /* the first one */
    char buffer[VLY_WRITER_BYTES];
};

/* The first failure, or VLY_OK. */
vly_status vly_writer_report(const vly_writer *writer, vly_error *error);
void vly_writer_free(vly_writer *writer);
/* Whether n_bytes of the file can be kept.
 * Errors  E_INVALID not a file; E_PARSE shorter */
vly_status vly_writer_length_check(const vly_writer *writer, uint64_t n_bytes,
                                   vly_error *error);
/* Removes a file that open has made. Only this writer has it, since it is
 * locked. */
void vly_writer_remove_made(const vly_writer *writer);

#endif
