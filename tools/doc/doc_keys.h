/* SPDX-License-Identifier: Apache-2.0
 * volley doc: keys of a genome, and the names of other simulators.
 */
#ifndef VOLLEY_TOOLS_DOC_KEYS_H
#define VOLLEY_TOOLS_DOC_KEYS_H

#include <stdbool.h>
#include <stdint.h>

/* Name of the k-th part of a genome: "run", "map", "poisson"; NULL after the
 * last. */
const char *doc_section_name(uint32_t k);
void doc_sections_list(void);
/* All parts as Markdown, one table per part. */
void doc_sections_markdown(void);
/* One cell of a Markdown table: "|" is escaped. */
void doc_cell_markdown(const char *text);
/* The keys of one part; false if the part does not exist. */
bool doc_section_print(const char *name);

/* A key of any part, a parameter or field of any model; false: unknown name. */
bool doc_key_print(const char *name);

/* NEST and Brian 2 to Volley; word NULL prints all. False: word is not in the
 * table. */
bool doc_aliases_print(const char *word);
/* Name of the k-th row of that table; NULL after the last. */
const char *doc_alias_name(uint32_t k);

#endif
