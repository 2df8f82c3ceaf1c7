/* SPDX-License-Identifier: Apache-2.0
 * The table [neuron.NAME]: to a compiled model, and back to text for files.
 */
#ifndef VOLLEY_GENOME_NEURON_TABLE_H
#define VOLLEY_GENOME_NEURON_TABLE_H

#include "genome/genome_reader.h"
#include "neuron/neuron_model.h"

/* E_PARSE with the place, also within a text. */
vly_status vly_neuron_table_read(vly_reader *reader, const vly_toml_node *node,
                                 vly_neuron_model **model);
/* The table as TOML, the same for equal contents; NULL: no memory. Owned by the
 * caller. */
char *vly_neuron_table_text(const vly_toml_node *node);

#endif
