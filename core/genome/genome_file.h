/* SPDX-License-Identifier: Apache-2.0
 * Files that a genome names: synapses of a map, a parameter's values.
 */
#ifndef VOLLEY_GENOME_GENOME_FILE_H
#define VOLLEY_GENOME_GENOME_FILE_H

#include <stdio.h>

#include "genome/genome_map.h"
#include "genome/genome_value.h"

/* Opens the file that node names; *path lives as long as the reader. */
vly_status vly_file_open(vly_reader *reader, const vly_toml_node *node,
                         char **path, FILE **file);
/* The same for the path of another key, `what`. given: a path that node only
 * leads to, NULL: that of node itself. */
vly_status vly_file_open_key(vly_reader *reader, const vly_toml_node *node,
                             const char *what, const char *given, char **path,
                             FILE **file);
/* Adds the genome's place before the message of a failure; OK stays OK. */
vly_status vly_file_placed(vly_reader *reader, const vly_toml_node *node,
                           vly_status status, const vly_error *why);
/* Does it begin as HDF5 does? It is rewound. */
bool vly_file_is_hdf5(FILE *file);
vly_status vly_file_keep_name(vly_reader *reader, const char *name, char **out);
/* Absolute if possible, so that the resolved genome can be read from another
 * folder. */
vly_status vly_file_keep_path(vly_reader *reader, const char *path, char **out);

/* `file`, `population` and `edge_types_file` of a map, read if its rule is
 * file, otherwise refused. */
vly_status vly_map_file(vly_reader *reader, vly_map_entry *map);
/* The genome owns the list from here, also if this fails.
 * Errors  E_NOMEM */
vly_status vly_edges_keep(vly_reader *reader, vly_edge_list *edges);

/* Those of the map's synapses that are between two parts of a cell; NULL: none.
 * Owned by the genome (edge_part.c). */
vly_status vly_edges_between(vly_reader *reader, const vly_map_entry *map,
                             const vly_map_cell *cell, uint32_t f, uint32_t t,
                             const vly_edge_list **edges);

/* { file = "NAME", column = "NAME" }: becomes an array. Without `column` the
 * column has the name of the value. Checks every number against the range. */
vly_status vly_value_from_file(vly_reader *reader, const vly_toml_node *node,
                               const vly_value_spec *spec, vly_value *value);

#endif
