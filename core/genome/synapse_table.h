/* SPDX-License-Identifier: Apache-2.0
 * The table [synapse.NAME]: to a compiled rule.
 */
#ifndef VOLLEY_GENOME_SYNAPSE_TABLE_H
#define VOLLEY_GENOME_SYNAPSE_TABLE_H

#include "genome/genome_reader.h"
#include "neuron/synapse_model.h"

/* E_PARSE with the place, also within a text. */
vly_status vly_synapse_table_read(vly_reader *reader, const vly_toml_node *node,
                                  vly_synapse_model **model);

#endif
