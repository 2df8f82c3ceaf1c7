/* SPDX-License-Identifier: Apache-2.0
 * Models and rules of a genome's own: [neuron.NAME], [synapse.NAME].
 */
#ifndef VOLLEY_TOOLS_DOC_OWN_H
#define VOLLEY_TOOLS_DOC_OWN_H

#include <volley/volley.h>

#include "tools/cli/options.h"
#include "tools/doc/doc_model.h"

/* The genome that the call names first, with its --set and, if the command has
 * that, --seed. A file may have no area: then it is one of models and rules. */
vly_status doc_own_load(const tool_args *args, vly_genome **genome,
                        vly_error *error);
/* Names of all, models with their scheme. */
void doc_own_list(const vly_genome *genome);
/* Scheme with its order, size, input, and doc_model_values. */
void doc_own_model_print(const vly_model_info *model);
/* The [neuron] or [synapse] of this name.
 * Errors  E_INVALID there is none; the message has what there is */
vly_status doc_own_print(const vly_genome *genome, const char *name,
                         vly_error *error);

#endif
