/* SPDX-License-Identifier: Apache-2.0
 * JSON Schema of the forms of values (genome_keys.h) that need no other table.
 */
#ifndef VOLLEY_TOOLS_SCHEMA_FORMS_H
#define VOLLEY_TOOLS_SCHEMA_FORMS_H

#include "genome/genome_keys.h"

/* In the order of vly_key_form; NULL: made by cmd_schema.c from the tables of
 * models and rules. */
extern const char *const schema_forms[VLY_FORMS];

#endif
