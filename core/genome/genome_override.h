/* SPDX-License-Identifier: Apache-2.0
 * --set PATH=VALUE: changes the tree before anything is evaluated.
 */
#ifndef VOLLEY_GENOME_GENOME_OVERRIDE_H
#define VOLLEY_GENOME_GENOME_OVERRIDE_H

#include "genome/genome_reader.h"

/* Puts a value (moved in; its key is created) at the path. Messages name the
 * origin of the value. */
vly_status vly_override_put(vly_reader *reader, const char *path,
                            vly_toml_node *value);
vly_status vly_override_apply(vly_reader *reader, const vly_override *override);

#endif
