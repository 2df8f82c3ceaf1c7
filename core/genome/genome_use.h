/* SPDX-License-Identifier: Apache-2.0
 * [use.NAME]: another genome as a part of this one.
 */
#ifndef VOLLEY_GENOME_GENOME_USE_H
#define VOLLEY_GENOME_GENOME_USE_H

#include <stdio.h>
#include <sys/stat.h>

#include "genome/genome_reader.h"

/* Applies the overrides and puts the content of every included file into the
 * tree; no [use] is left. The content of a file is appended in the order of the
 * [use] tables, so an include changes no id of the including genome's own
 * neurons. Overrides of `use` and `var` come first, because they decide what is
 * included; the others may address what was included. */
vly_status vly_uses_expand(vly_reader *reader, const vly_override *overrides,
                           uint32_t n_overrides);

/* The areas of an included file under their names in the including genome. */
typedef struct vly_use_names {
    const char *prefix;         /* "V1/" or "" */
    const vly_toml_node *areas; /* its [area], a table, or NULL */
    const vly_toml_node *bound; /* `areas` of the [use], or NULL */
    uint32_t n_maps; /* [[map]]s of the genome that come before its own */
} vly_use_names;

/* The files that are being read, the innermost first. */
typedef struct vly_use_chain {
    const struct vly_use_chain *outer;
    const char *name; /* as written */
    bool known;       /* it is a file */
    dev_t device;
    ino_t inode;
} vly_use_chain;

/* genome_use_file.c. Adds the file that `node` names to those of the genome. */
vly_status vly_use_add_file(vly_reader *reader, const vly_toml_node *node);
/* Parses it (part->name) into part->root.
 * Errors  E_PARSE it cannot be read, is not a genome, or includes
 *         itself */
vly_status vly_use_open_file(vly_reader *reader, const vly_toml_node *node,
                             vly_use_chain *chain, vly_reader *part);

/* Renames everything in the tree of an included file (genome_use_names.c):
 * globs become lists of their matches in that file, so that they match nothing
 * outside it.
 * Errors  E_NOMEM */
vly_status vly_use_rename(vly_reader *reader, vly_toml_node *root,
                          const vly_use_names *names);

/* ---- genome.c --------------------------------------------------------- */

/* format, the keys at the top, title and source. */
vly_status vly_top_check(vly_reader *reader);
/* Reads to the end, since standard input has no size to ask for. */
vly_status vly_genome_text(FILE *file, const char *path, char **text,
                           size_t *n_bytes, vly_error *error);

#endif
