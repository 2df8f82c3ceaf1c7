/* SPDX-License-Identifier: Apache-2.0
 * Opening the libraries of vendors. RTLD_LOCAL: two plugins may use two
 * versions. Libraries are never closed: CUDA libraries leave threads and
 * registered code in the process.
 */
#include "shared_library.h"

#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

/* Appends "; text" to the sentence. */
static void append(char *sentence, size_t bytes, const char *text)
{
    size_t length = strlen(sentence);
    if (length + 1 < bytes)
        snprintf(sentence + length, bytes - length, "%s%s",
                 length > 0 ? "; " : "", text);
}

/* Loads all functions, or returns the name of the first missing one. */
static const char *resolve(void *library, const vly_library_function *functions,
                           uint32_t n_functions, void *table)
{
    /* checks first, then writes: a table is filled completely or not at all */
    for (uint32_t i = 0; i < n_functions; i++)
        if (!functions[i].optional && !dlsym(library, functions[i].name))
            return functions[i].name;
    for (uint32_t i = 0; i < n_functions; i++) {
        void *address = dlsym(library, functions[i].name);
        memcpy((char *)table + functions[i].offset, &address, sizeof address);
    }
    return NULL;
}

vly_status vly_library_open(const char *what, const char *const *names,
                            uint32_t n_names,
                            const vly_library_function *functions,
                            uint32_t n_functions, void *table, uint32_t *index,
                            vly_error *error)
{
    char reasons[700] = "", reason[300];
    for (uint32_t i = 0; i < n_names; i++) {
        void *library = dlopen(names[i], RTLD_NOW | RTLD_LOCAL);
        if (!library) {
            const char *text = dlerror(); /* overwritten by the next call */
            append(reasons, sizeof reasons, text ? text : names[i]);
            continue;
        }
        const char *missing = resolve(library, functions, n_functions, table);
        if (!missing) {
            if (index)
                *index = i;
            return VLY_OK;
        }
        snprintf(reason, sizeof reason, "%s has no function %s", names[i],
                 missing);
        append(reasons, sizeof reasons, reason);
    }
    if (error) {
        error->status = VLY_E_UNSUPPORTED;
        error->bytes_requested = 0;
        error->bytes_available = 0;
        snprintf(error->message, sizeof error->message,
                 "%s cannot be opened: %s", what, reasons);
    }
    return VLY_E_UNSUPPORTED;
}
