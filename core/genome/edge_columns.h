/* SPDX-License-Identifier: Apache-2.0
 * Names of the columns that give synapses, in a file and in a table.
 */
#ifndef VOLLEY_GENOME_EDGE_COLUMNS_H
#define VOLLEY_GENOME_EDGE_COLUMNS_H

#include "genome/edge_list.h"

/* fields[part]: its column, n if it is not there. Returns false for a wrong
 * column: *wrong is its index (n: one is missing), and sentence has the reason;
 * it is "" for a name that is not a column of synapses. */
bool vly_edge_columns_find(const vly_edge_spec *spec, const char *const *names,
                           uint32_t n, uint32_t fields[VLY_EDGE_PARTS],
                           uint32_t *wrong, char sentence[VLY_EDGE_SENTENCE]);
/* Whether the delays of a column of this name are bursts. */
bool vly_edge_column_bursts(const char *name);

#endif
