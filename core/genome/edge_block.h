/* SPDX-License-Identifier: Apache-2.0
 * Synapses of a table, many rows at once.
 */
#ifndef VOLLEY_GENOME_EDGE_BLOCK_H
#define VOLLEY_GENOME_EDGE_BLOCK_H

#include "genome/edge_list.h"

#define VLY_EDGE_BLOCK 1024u

/* Appends rows from `first` on, block by block, as long as all of a block are
 * good and of the types that NumPy makes. Returns the rows appended; the next
 * one is read by itself, which finds what is wrong and says it. fields: the
 * columns of each part; n_columns: none. The maker has room for all rows. */
uint64_t vly_edges_add_block(vly_edge_maker *maker, const vly_table *table,
                             const uint32_t fields[VLY_EDGE_PARTS],
                             uint64_t first);

#endif
