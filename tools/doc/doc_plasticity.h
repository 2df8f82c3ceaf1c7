/* SPDX-License-Identifier: Apache-2.0
 * volley doc: the plasticity rules.
 */
#ifndef VOLLEY_TOOLS_DOC_PLASTICITY_H
#define VOLLEY_TOOLS_DOC_PLASTICITY_H

#include <stdbool.h>

/* One line a rule. */
void doc_plasticity_list(void);
/* A rule, its equations and parameters; false: there is no such rule. */
bool doc_plasticity_print(const char *name);
/* All rules as Markdown. */
void doc_plasticity_markdown(void);
/* The topic: which events change a weight, here and in other simulators. */
void doc_plasticity_order(void);

#endif
