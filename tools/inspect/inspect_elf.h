/* SPDX-License-Identifier: Apache-2.0
 * A shared object described without loading it: nothing of it runs.
 */
#ifndef VOLLEY_TOOLS_INSPECT_ELF_H
#define VOLLEY_TOOLS_INSPECT_ELF_H

#include <volley/plugin.h>

/* Prints the contents of its tables on stdout.
 * Errors  E_IO; E_ABI not an ELF file, cut off, of another machine, not a
 * shared object, or without the symbol of a plugin */
vly_status inspect_elf(const char *path, vly_error *error);

#endif
