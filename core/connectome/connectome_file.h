/* SPDX-License-Identifier: Apache-2.0
 * A file, mapped or read, from which a connectome is made. Nothing in it is
 * trusted: sizes are checked before they are used.
 */
#ifndef VOLLEY_CONNECTOME_CONNECTOME_FILE_H
#define VOLLEY_CONNECTOME_CONNECTOME_FILE_H

#include "connectome/connectome_image.h"

typedef struct vly_file_view {
    const char *path;
    const unsigned char *bytes;
    uint64_t n_bytes;
    vly_file_header header;
    vly_file_section table[VLY_SECTIONS];
    vly_error *error;
} vly_file_view;

/* "PATH: damaged connectome: ..." as E_PARSE */
vly_status vly_file_damaged(const vly_file_view *file, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
/* First byte of a section */
const unsigned char *vly_file_section_bytes(const vly_file_view *file,
                                            uint32_t section);
/* An array of n elements of its section at an offset of the file; NULL if it
 * is not inside the section or not aligned. n 0: not NULL, not to be read. */
const void *vly_file_array(const vly_file_view *file, uint32_t section,
                           uint64_t offset, uint64_t n, uint64_t align);

/* connectome_records.c: every record checked and made into *connectome, whose
 * storage is set. Errors E_PARSE, E_NOMEM. */
vly_status vly_file_records_read(const vly_file_view *file,
                                 vly_connectome *connectome);
/* connectome_check.c: checksums, gaps, and every index in the arrays. */
vly_status vly_checksums_verify(const vly_file_view *file, uint32_t n_threads);
vly_status vly_content_verify(const vly_file_view *file,
                              const vly_connectome *connectome,
                              uint32_t n_threads);

#endif
