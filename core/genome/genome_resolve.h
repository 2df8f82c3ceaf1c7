/* SPDX-License-Identifier: Apache-2.0
 * The resolved genome as text, and its hash.
 */
#ifndef VOLLEY_GENOME_GENOME_RESOLVE_H
#define VOLLEY_GENOME_GENOME_RESOLVE_H

#include "base/text.h"
#include "genome/genome_map.h"
#include "genome/genome_reader.h"

/* A value as TOML. */
void vly_text_value(vly_text *text, const vly_value *value);
/* Where the value of a key is from: its line, or the default. */
vly_origin vly_resolve_origin(const vly_toml_node *table, const char *key);
/* "  # line 12" and the line's end */
void vly_text_origin(vly_text *text, const vly_origin *origin,
                     const char *model);

/* Fills genome->resolved. */
vly_status vly_genome_resolve(vly_reader *reader);
/* The [[map]] part of it (resolve_map.c). */
void vly_resolve_map(vly_text *text, const vly_genome *genome,
                     const vly_map_entry *map);
/* Fills genome->hash. */
vly_status vly_genome_make_hash(vly_genome *genome);

#endif
