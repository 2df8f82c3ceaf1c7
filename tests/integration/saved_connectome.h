/* SPDX-License-Identifier: Apache-2.0
 * A connectome that is saved and read back. For the integration tests.
 */
#ifndef VOLLEY_SAVED_CONNECTOME_H
#define VOLLEY_SAVED_CONNECTOME_H

#include <stdbool.h>

#include <volley/volley.h>

/* Whether the file at path, to which *connectome was saved, is read back, with
 * all checks and mapped as it is, with the same hash of the content, and saved
 * again with the same bytes. False: a sentence is on stderr. */
bool saved_connectome_same(const vly_connectome *connectome, const char *path);

#endif
