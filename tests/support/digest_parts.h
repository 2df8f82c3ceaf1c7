/* SPDX-License-Identifier: Apache-2.0
 * The digest of a connectome, made in parts and by the second reader.
 */
#ifndef VOLLEY_TEST_DIGEST_PARTS_H
#define VOLLEY_TEST_DIGEST_PARTS_H

#include <stdbool.h>

#include "connectome/connectome.h"

/* Is the digest that of second_digest on the saved file, and the sum of parts,
 * cut at random and added in random order, at 1, 2, 3 and 8 threads? Prints
 * differences on stderr, after the name. seed: of the cuts and the order */
bool digest_parts_check(const vly_connectome *connectome, const char *path,
                        uint64_t seed, const char *name);

#endif
