/* SPDX-License-Identifier: Apache-2.0
 * The file this code was loaded from: its path, folder and ELF header.
 */
#ifndef VOLLEY_BASE_OWN_FILE_H
#define VOLLEY_BASE_OWN_FILE_H

#include <stdbool.h>
#include <stddef.h>

#include <link.h>

/* The real path of libvolley, or of the program that contains it, as the kernel
 * knows it: neither argv[0] nor a link changes it. A file that was removed has
 * " (deleted)" after its name. false without /proc, or if it does not fit.
 * [any-thread] */
bool vly_own_path(char *path, size_t capacity);
/* The folder of that file; "" is the root. [any-thread] */
bool vly_own_folder(char *folder, size_t capacity);
/* NULL if it is not mapped. [any-thread] */
const ElfW(Ehdr) * vly_own_elf(void);

#endif
