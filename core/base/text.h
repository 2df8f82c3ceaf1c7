/* SPDX-License-Identifier: Apache-2.0
 * Text that grows.
 */
#ifndef VOLLEY_BASE_TEXT_H
#define VOLLEY_BASE_TEXT_H

#include <stdbool.h>
#include <stddef.h>

/* Text that grows; `failed` is set if memory ran out. */
typedef struct vly_text {
    char *data;
    size_t n;
    size_t capacity;
    bool failed;
    char *const *files; /* of the genome, for origins; NULL: without */
} vly_text;
void vly_text_put(vly_text *text, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
void vly_text_bytes(vly_text *text, const void *bytes, size_t n);
/* A TOML string with its quotes. */
void vly_text_string(vly_text *text, const char *string);

#endif
