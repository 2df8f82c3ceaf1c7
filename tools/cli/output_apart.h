/* SPDX-License-Identifier: Apache-2.0
 * Outputs are apart from what a command reads, and from each other. Files are
 * compared by device and inode, so other names and links are found; those that
 * are not there yet by the real path of their folder.
 */
#ifndef VOLLEY_TOOLS_OUTPUT_APART_H
#define VOLLEY_TOOLS_OUTPUT_APART_H

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>

#include <volley/volley.h>

/* Refuses an output that is also an input; `what` names the input in the
 * message: "the vocabulary". NULL and "-" are legal for both.
 * Errors  E_INVALID */
vly_status output_apart(const char *output, const char *input, const char *what,
                        vly_error *error);
/* The same for every file that the genome was read from. */
vly_status output_apart_genome(const char *output, const vly_genome *genome,
                               vly_error *error);
/* The same for every file in a folder except pictures. A path that is not a
 * folder is legal. */
vly_status output_apart_folder(const char *output, const char *folder,
                               const char *what, vly_error *error);

typedef struct output_name {
    const char *option; /* "--json" */
    const char *path;   /* NULL: option not given */
} output_name;

/* Refuses two outputs that are the same file.
 * Errors  E_INVALID */
vly_status outputs_apart(const output_name *outputs, uint32_t n,
                         vly_error *error);
/* Two paths name the same file, which need not exist. "-" is not a file. */
bool output_is_same(const char *a, const char *b);
/* As realpath, but the last two parts (the folder of a run and a file in it)
 * need not exist. A path that is too long is left as it is. */
void output_real(const char *path, char real[PATH_MAX]);

#endif
