/* SPDX-License-Identifier: Apache-2.0
 * The header of a .safetensors file: JSON of exactly one form, read in place.
 */
#ifndef VOLLEY_MONITOR_SAFETENSORS_HEADER_H
#define VOLLEY_MONITOR_SAFETENSORS_HEADER_H

#include <stddef.h>
#include <stdint.h>

#include "monitor/safetensors.h"

typedef struct safetensors_note {
    const char *key;
    const char *value;
} safetensors_note;

/* Names and texts point into the header's text. */
typedef struct safetensors_header {
    vly_safetensor *tensors; /* begin: counted from the first one's */
    safetensors_note *notes;
    uint32_t n_tensors;
    uint32_t n_notes;
} safetensors_header;

/* Parses text[0, n), which it overwrites; text[n] is 0. Each tensor's type,
 * shape and bytes agree; names and keys are sorted, none is there twice. The
 * positions of tensors relative to each other are not checked.
 * Errors  E_PARSE "path: byte N of the header: found ..., wanted ...", or the
 * tensor's name; E_NOMEM. On failure nothing is left. */
vly_status safetensors_header_parse(const char *path, char *text, size_t n,
                                    safetensors_header *header,
                                    vly_error *error);
void safetensors_header_deinit(safetensors_header *header);

#endif
