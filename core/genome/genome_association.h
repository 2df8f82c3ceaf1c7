/* SPDX-License-Identifier: Apache-2.0
 * [association.NAME]: FEAGI's associative memory, synapses that are made
 * between neurons of two areas when they fire together.
 */
#ifndef VOLLEY_GENOME_GENOME_ASSOCIATION_H
#define VOLLEY_GENOME_GENOME_ASSOCIATION_H

#include "genome/genome_reader.h"
#include "genome/genome_resolve.h"

/* Fills genome->associations; the areas are read. */
vly_status vly_associations_read(vly_reader *reader);
void vly_associations_free(vly_genome *genome);
/* The tables as TOML. */
void vly_associations_resolve(vly_text *text, const vly_reader *reader);

#endif
