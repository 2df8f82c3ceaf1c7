/* SPDX-License-Identifier: Apache-2.0
 * volley doc: what holds for a whole genome and is not a single key.
 */
#ifndef VOLLEY_TOOLS_DOC_TOPICS_H
#define VOLLEY_TOOLS_DOC_TOPICS_H

#include <stdbool.h>
#include <stdint.h>

/* Name of the k-th topic; NULL after the last. */
const char *doc_topic_name(uint32_t k);
void doc_topics_list(void);
/* false: unknown topic. A plural counts as its singular. */
bool doc_topic_print(const char *name);
/* "area" for "areas", "stimulus" for "stimuli", "file" for "csv"; otherwise the
 * word itself. */
const char *doc_word(const char *word);

#endif
