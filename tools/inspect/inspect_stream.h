/* SPDX-License-Identifier: Apache-2.0
 * volley inspect of a recording that is a stream, and what a killed run left
 * made into what it was to become.
 */
#ifndef VOLLEY_TOOLS_INSPECT_STREAM_H
#define VOLLEY_TOOLS_INSPECT_STREAM_H

#include <volley/volley.h>

/* Errors  as vly_stream_reader_open; E_PARSE damaged, after what is good was
 *         printed */
vly_status inspect_stream(const char *path, vly_error *error);
/* path is a stream, FILE.h5.vls or FILE.vls, a CSV of spikes, or a folder:
 * every stream in it and spikes.csv. Of a CSV the last line is cut off if it
 * has no end. FILE.h5.vls is made into FILE.h5, of the blocks that are good;
 * nothing is changed in it. to: made into this one instead, NULL: by its name.
 * A stream that is what was asked for is as good as it is: a reader needs no
 * repair. Errors  E_PARSE damaged, after what is good was made into the file;
 *         E_INVALID no stream in the folder; those of vly_export */
vly_status inspect_repair(const char *path, const char *to, vly_error *error);

#endif
