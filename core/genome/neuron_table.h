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
/* The table as TOML, [kind.NAME], the same for equal contents; NULL: no memory.
 * Owned by the caller. */
char *vly_table_text(const char *kind, const vly_toml_node *node);

/* Parts that [synapse] shares. A string, or (number) a number without a unit;
 * names with such, under `key` of a table of that kind. */
vly_status vly_table_text_read(vly_reader *reader, const vly_toml_node *node,
                               const char *what, bool number,
                               vly_neuron_text *out);
vly_status vly_table_names_read(vly_reader *reader, const vly_toml_node *table,
                                const char *kind, const char *key, bool number,
                                const vly_neuron_name **out, uint32_t *n);
/* Refuses a name whose key is one of the list already: what a table says with
 * it would be two things. of: "[area]" */
vly_status vly_table_key_free(vly_reader *reader, const vly_toml_node *place,
                              const char *key, const vly_key *list,
                              const char *of);
/* note of vly_neuron_source and vly_synapse_source: a note with [kind.NAME]. */
typedef struct vly_table_noting {
    vly_reader *reader;
    const vly_toml_node *node;
    const char *kind;
} vly_table_noting;
bool vly_table_note(void *context, const void *place, const char *sentence);
/* Refuses at the place of the fault. */
vly_status vly_table_fail(vly_reader *reader, const vly_toml_node *node,
                          const vly_neuron_fault *fault);

#endif
