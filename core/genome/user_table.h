/* SPDX-License-Identifier: Apache-2.0
 * What [neuron.NAME] and [synapse.NAME] share on the way to data like that of
 * built-in ones.
 */
#ifndef VOLLEY_GENOME_USER_TABLE_H
#define VOLLEY_GENOME_USER_TABLE_H

#include "genome/genome_reader.h"
#include "genome/model_info.h"
#include "neuron/neuron_model.h"

/* *list: the tables [kind.NAME] of the genome; NULL: there are none. what: the
 * word for them in a message. */
vly_status vly_user_tables(vly_reader *reader, const char *kind,
                           const char *what, uint32_t most,
                           const vly_toml_node **list);
/* As a [model], [area] or [plasticity] has it; params [n] */
void vly_user_params(const vly_neuron_param *from, uint32_t n,
                     vly_param_info *params);

/* A table that is read without a genome. */
typedef struct vly_user_definition {
    vly_genome genome;
    vly_reader reader;
} vly_user_definition;

/* *table: the [kind.NAME] that text is. name (of a file) is first in messages,
 * and is borrowed. deinit is needed in any case.
 * Errors  E_PARSE, E_NOMEM */
vly_status vly_user_definition_read(vly_user_definition *definition,
                                    const char *text, const char *kind,
                                    const char *name,
                                    const vly_toml_node **table,
                                    vly_error *error);
void vly_user_definition_deinit(vly_user_definition *definition);

#endif
