/* SPDX-License-Identifier: Apache-2.0
 * volley doc import: what becomes of FEAGI's properties.
 */
#ifndef VOLLEY_TOOLS_FEAGI_DOC_H
#define VOLLEY_TOOLS_FEAGI_DOC_H

/* To stdout. */
void feagi_doc_print(void);

#endif
