/* SPDX-License-Identifier: Apache-2.0
 * Libraries of vendors, opened when they are first needed: so a plugin loads,
 * and answers, where they are not installed.
 */
#ifndef VOLLEY_SHARED_LIBRARY_H
#define VOLLEY_SHARED_LIBRARY_H

#include <volley/plugin.h>

/* One function and the place for its address. */
typedef struct vly_library_function {
    const char *name;
    size_t offset;     /* of a function pointer in the caller's table */
    uint32_t optional; /* 1: NULL if the library lacks it */
    uint32_t reserved;
} vly_library_function;

/* Opens the first of `names` that the dynamic linker finds and that has all
 * functions that are not optional; it is never closed again.
 *
 * what    for the message: "cuBLASLt"
 * names   [n_names] "libcublasLt.so.13", or paths
 * table   filled (out)
 * index   which of the names (out), or NULL
 * Errors  E_UNSUPPORTED none: the linker's message for each name; table
 *         unchanged
 * Thread  [any-thread]
 */
vly_status vly_library_open(const char *what, const char *const *names,
                            uint32_t n_names,
                            const vly_library_function *functions,
                            uint32_t n_functions, void *table, uint32_t *index,
                            vly_error *error);

#endif
