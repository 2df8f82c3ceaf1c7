/* SPDX-License-Identifier: Apache-2.0
 * [synapse.NAME]: a user's rule as data like that of a built-in one.
 */
#ifndef VOLLEY_GENOME_USER_RULE_H
#define VOLLEY_GENOME_USER_RULE_H

#include "genome/genome_reader.h"
#include "genome/genome_resolve.h"
#include "genome/plasticity_info.h"

/* Reads all [synapse.NAME] into the genome. */
vly_status vly_synapses_read(vly_reader *reader);
void vly_synapses_free(vly_genome *genome);
/* The tables as TOML. */
void vly_synapses_resolve(vly_text *text, const vly_genome *genome);
/* The rule of this name, built in or of the genome; NULL: none */
const vly_plasticity_info *vly_rule_named(const vly_genome *genome,
                                          const char *name);
/* The rule that vly_plasticity_definition gave. E_PARSE with name (of a file)
 * first in the message. The caller drops it (vly_plasticity_drop). */
vly_status vly_plasticity_define(const char *definition, const char *name,
                                 const vly_plasticity_info **rule,
                                 vly_error *error);

#endif
