/* SPDX-License-Identifier: Apache-2.0
 * volley doc: the plasticity rules.
 */
#ifndef VOLLEY_TOOLS_DOC_PLASTICITY_H
#define VOLLEY_TOOLS_DOC_PLASTICITY_H

#include <stdbool.h>

#include "genome/plasticity_info.h"

/* Words in lines of 76 characters. */
void doc_lines(const char *text);
/* One line a rule. */
void doc_plasticity_list(void);
/* A rule, its equations and parameters; false: there is no such rule. */
bool doc_plasticity_print(const char *name);
/* The parameters, as keys of a [plasticity]: a built-in rule or a user's. */
void doc_plasticity_params(const vly_plasticity_info *info);
/* All rules as Markdown. */
void doc_plasticity_markdown(void);
/* The topic: which events change a weight, here and in other simulators. */
void doc_plasticity_order(void);

#endif
