/* SPDX-License-Identifier: Apache-2.0
 * volley inspect of a recording that is a stream, and what a killed run left
 * made into what it was to become.
 */
#ifndef VOLLEY_TOOLS_INSPECT_STREAM_H
#define VOLLEY_TOOLS_INSPECT_STREAM_H

#include <volley/volley.h>

/* Errors  as vly_stream_reader_open; E_PARSE damaged, after the intact part was
 * printed */
vly_status inspect_stream(const char *path, vly_error *error);
/* path is a stream, FILE.h5.vls or FILE.vls, a CSV of spikes, or a folder:
 * every stream in it and spikes.csv. An incomplete last line of a CSV is cut
 * off. FILE.h5.vls is converted to FILE.h5 from its intact blocks and is not
 * changed. to: the file to make; NULL: by the name of the stream. If a stream
 * itself was requested, nothing is done: a reader needs no repair.
 * Errors  E_PARSE damaged, after the intact part was converted; E_INVALID no
 * stream in the folder; those of vly_export */
vly_status inspect_repair(const char *path, const char *to, vly_error *error);

#endif
