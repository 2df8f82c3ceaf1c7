/* SPDX-License-Identifier: Apache-2.0
 * [neuron.NAME]: a user's model as data like that of a built-in one.
 */
#ifndef VOLLEY_GENOME_USER_MODEL_H
#define VOLLEY_GENOME_USER_MODEL_H

#include "genome/genome_reader.h"
#include "genome/model_info.h"
#include "neuron/neuron_model.h"

/* Reads all [neuron.NAME] into the genome. */
vly_status vly_neurons_read(vly_reader *reader);
/* The user's model of this name; NULL: none */
const vly_model_info *vly_neuron_find(const vly_genome *genome,
                                      const char *name);

/* A user's model as it was compiled; NULL: a built-in one. Borrowed. */
const vly_neuron_model *vly_model_neuron(const vly_model_info *model);

/* The model that vly_model_definition gave. E_PARSE with name (of a file) first
 * in the message. The caller drops it (vly_model_drop). */
vly_status vly_model_define(const char *definition, const char *name,
                            const vly_model_info **model, vly_error *error);

#endif
