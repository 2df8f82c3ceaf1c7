/* SPDX-License-Identifier: Apache-2.0
 * Is there room for a file that is written at the end of a long command?
 */
#ifndef VOLLEY_TOOLS_OUTPUT_ROOM_H
#define VOLLEY_TOOLS_OUTPUT_ROOM_H

#include <stdint.h>

#include <volley/volley.h>

/* tool_output_check, and asks a device for a write of no bytes: one that takes
 * none (/dev/full) says so. NULL and "-" are legal.
 * Errors  E_IO "path: cannot be written: reason" */
vly_status output_probe(const char *path, vly_error *error);
/* Refuses a new or replaced file that does not fit: the file system has fewer
 * free bytes, or files may not become so long (ulimit -f). Devices, pipes,
 * links and NULL are legal: they are not asked.
 * n_bytes: what it has at least
 * Errors  E_IO with both numbers */
vly_status output_room(const char *path, uint64_t n_bytes, vly_error *error);

#endif
