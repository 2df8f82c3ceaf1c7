/* SPDX-License-Identifier: Apache-2.0
 * Ports, parameters and fields of a model as text.
 */
#ifndef VOLLEY_TOOLS_DOC_MODEL_H
#define VOLLEY_TOOLS_DOC_MODEL_H

#include "genome/user_model.h"

/* Prints them with units, defaults and ranges: a built-in model or a user's. */
void doc_model_values(const vly_model_info *model);
/* The parameter of a user's model that is its input; NULL: none. */
const vly_param_info *doc_model_input(const vly_model_info *model);

#endif
