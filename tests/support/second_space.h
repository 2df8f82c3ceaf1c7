/* SPDX-License-Identifier: Apache-2.0
 * What the second rules say of rule distance and of synapses from a file.
 */
#ifndef VOLLEY_SECOND_SPACE_H
#define VOLLEY_SECOND_SPACE_H

#include <stdbool.h>

#include "connectome/connectome.h"
#include "genome/genome.h"
#include "second_joined.h"

/* joined: all synapses of pair `index`. False, with what is wrong in *why:
 * synapses that the rule does not say, or weights and delays that a slope or
 * the file does not give. */
bool second_distance_check(const vly_genome *genome,
                           const vly_connectome *connectome, uint32_t index,
                           const second_joined *joined, const char **why);
bool second_file_check(const vly_genome *genome,
                       const vly_connectome *connectome, uint32_t index,
                       const second_joined *joined, const char **why);

#endif
