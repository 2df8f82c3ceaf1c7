/* SPDX-License-Identifier: Apache-2.0
 * The file this code was loaded from: its folder and its ELF header.
 */
#ifndef VOLLEY_PLUGIN_OWN_FILE_H
#define VOLLEY_PLUGIN_OWN_FILE_H

#include <stdbool.h>
#include <stddef.h>

#include <link.h>

/* The absolute folder of libvolley, or of the program that contains it.
 * false if it is not known for sure: it was loaded by a relative path, and the
 * working folder may have changed since. [any-thread] */
bool vly_own_folder(char *folder, size_t capacity);
/* NULL if it is not mapped. [any-thread] */
const ElfW(Ehdr) * vly_own_elf(void);

#endif
