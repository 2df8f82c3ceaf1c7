/* SPDX-License-Identifier: Apache-2.0
 * Tables that a program hands over (vly_table of volley.h): each takes the
 * place of a file of the same name.
 */
#ifndef VOLLEY_GENOME_GENOME_TABLE_H
#define VOLLEY_GENOME_GENOME_TABLE_H

#include "genome/edge_list.h"
#include "genome/genome_value.h"

/* Checks the tables of a source and lends them to the reader.
 * Errors  E_INVALID a name, a type or a pointer is wrong; E_NOMEM */
vly_status vly_tables_init(vly_reader *reader, const vly_table *tables,
                           uint32_t n_tables);
/* The table that takes the place of this file; NULL: none, the file is read. */
const vly_table *vly_tables_find(vly_reader *reader, const char *name);
/* After the genome is read. Errors  E_INVALID a table that nothing named */
vly_status vly_tables_finish(const vly_reader *reader);

/* Synapses from the columns source, target, weight, delay, as in a file.
 * Errors  E_PARSE "NAME: row R of column C: found, wanted"; E_NOMEM */
vly_status vly_edges_from_columns(const vly_table *table,
                                  const vly_edge_spec *spec,
                                  vly_edge_list **list, vly_error *error);
/* One value for each neuron: *values belongs to the caller. Ranges are checked
 * as those of a file. Errors  E_PARSE; E_NOMEM */
vly_status vly_values_from_column(const vly_table *table, const char *column,
                                  const vly_value_spec *spec, double **values,
                                  uint32_t *n, vly_error *error);

#endif
