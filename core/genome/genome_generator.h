/* SPDX-License-Identifier: Apache-2.0
 * Generator areas: neurons that only fire, as a rate, a list or a train says.
 */
#ifndef VOLLEY_GENOME_GENOME_GENERATOR_H
#define VOLLEY_GENOME_GENOME_GENERATOR_H

#include "genome/genome_reader.h"

/* Writes every [area] with `generator` as an area of lif_psc_delta and a
 * [[stimulus]] "generator/NAME" behind the others; what reads the tree later
 * sees only those. */
vly_status vly_generators_expand(vly_reader *reader);
/* Nothing reaches a generator: no map and no other stimulus. */
vly_status vly_generators_check(vly_reader *reader);

#endif
