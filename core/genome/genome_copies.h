/* SPDX-License-Identifier: Apache-2.0
 * The key `copies` of an area and of a map.
 */
#ifndef VOLLEY_GENOME_GENOME_COPIES_H
#define VOLLEY_GENOME_GENOME_COPIES_H

#include "genome/genome_map.h"

/* The areas NAME/0, NAME/1, ... of one [area.NAME]. */
typedef struct vly_copies {
    const char *name;
    uint32_t first; /* area */
    uint32_t n;
} vly_copies;

/* Puts the copies in place of each area that has the key; [area."NAME/3"] gives
 * that copy other values. */
vly_status vly_copies_expand(vly_reader *reader);
/* Whether `word` is the name of a copy of an area of the table, "NAME/3". */
bool vly_copies_named(const vly_toml_node *areas, const char *word);
/* The copies that an area belongs to; NULL: it is not a copy. */
const vly_copies *vly_copies_of(const vly_reader *reader, uint32_t area);

/* `copies` of a map: leaves the pairs of cells of the same copy, or of others;
 * matrices then have a row and a column for each NAME. */
vly_status vly_map_copies(vly_reader *reader, vly_map_entry *map);

#endif
