/* SPDX-License-Identifier: Apache-2.0
 * Built-in models as a user writes them: where a record of input needs fields
 * more, an area runs this text in the place of the built-in model, with the
 * same spikes to the bit.
 */
#ifndef VOLLEY_GENOME_WRITTEN_MODEL_H
#define VOLLEY_GENOME_WRITTEN_MODEL_H

#include "genome/genome_reader.h"
#include "genome/model_info.h"

/* [neuron.NAME] of a built-in model as TOML, to be freed by vly_free. sums:
 * with record_input. NULL: no memory, or the model has no such text (feagi) */
char *vly_written_text(const vly_model_info *model, const char *name,
                       bool sums);
bool vly_written_has(const vly_model_info *model);
/* *like: the built-in model that text [n], as vly_table_text made it of the
 * table `name`, is with record_input; NULL: it is a model of a user. Errors
 * E_NOMEM */
vly_status vly_written_like(const char *name, const char *text, size_t n,
                            const vly_model_info **like, vly_error *error);

/* The model with record_input, of a built-in model that has a text or of a
 * user's one; the caller drops it (vly_model_drop). A user's model keeps its
 * name, which is the key of its draws. name: of a file, for messages.
 * Errors  E_PARSE the model cannot have more fields or operations: the sentence
 *         begins with name; E_NOMEM */
vly_status vly_model_recorded(const vly_model_info *model, const char *name,
                              const vly_model_info **made, vly_error *error);
/* The field of a model with record_input that has the sum of a port;
 * UINT32_MAX: the model has no sums. */
uint32_t vly_model_sum(const vly_model_info *model, uint32_t port);

#endif
