/* SPDX-License-Identifier: Apache-2.0
 * Status codes in words and filling of vly_error.
 */
#ifndef VOLLEY_BASE_ERROR_H
#define VOLLEY_BASE_ERROR_H

#include <volley/volley.h>

#define VLY_ERROR_INIT                                                         \
    {                                                                          \
        .struct_size = sizeof(vly_error)                                       \
    }

/* vly_status_name, _text and _exit_code are declared in volley.h. */

/* Fills *error (NULL is legal) and returns status, so that
 * `return vly_fail(error, VLY_E_IO, "%s: ...", path)` is one line. */
vly_status vly_fail(vly_error *error, vly_status status, const char *format,
                    ...) __attribute__((format(printf, 3, 4)));
/* The same for E_NOMEM: "out of memory: <what> needs N bytes, M available".
 * bytes 0: the caller does not know, those of the allocation that failed. */
vly_status vly_fail_nomem(vly_error *error, uint64_t bytes, const char *what);

/* Fills a caller's struct, which begins with its struct_size (uint32_t), up to
 * that size: a program that was built with an older header has a shorter one.
 * E_INVALID: struct_size is not set. */
vly_status vly_struct_fill(void *to, const void *from, size_t size);
/* The check of vly_struct_fill with a message, for functions that make it
 * before they begin. name: of the argument; size: of this library's struct. */
vly_status vly_struct_check(const void *to, size_t size, const char *name,
                            vly_error *error);

/* For functions with one `out:` label and a vly_status named status. */
#define VLY_TRY(expression)                                                    \
    do {                                                                       \
        status = (expression);                                                 \
        if (status != VLY_OK)                                                  \
            goto out;                                                          \
    } while (0)

#endif
