/* SPDX-License-Identifier: Apache-2.0
 * Expressions: strings that start with `=`.
 */
#ifndef VOLLEY_GENOME_EXPRESSION_H
#define VOLLEY_GENOME_EXPRESSION_H

#include "genome/genome_reader.h"

/* Finds the variables of [var] (NULL: none), then evaluates them all. */
vly_status vly_expression_vars(vly_reader *reader, const vly_toml_node *table);
/* node is a string that starts with `=`; the result is finite. */
vly_status vly_expression_eval(vly_reader *reader, const vly_toml_node *node,
                               double *out);

#endif
