/* SPDX-License-Identifier: Apache-2.0
 * Generator areas: neurons that only fire, by a rate, a list or a pulse train.
 */
#ifndef VOLLEY_GENOME_GENOME_GENERATOR_H
#define VOLLEY_GENOME_GENOME_GENERATOR_H

#include "genome/genome_reader.h"

/* Writes every [area] with `generator` as an area of lif_psc_delta and a
 * [[stimulus]] "generator/NAME" after the others; later readers of the tree see
 * only those. */
vly_status vly_generators_expand(vly_reader *reader);
/* Whether a generator has this name. */
bool vly_generator_kind(const char *name);
/* Generators take no input: E_PARSE if area `to` of a map or a stimulus is one.
 * Checked before units, since a generator's model is not written in the genome.
 */
vly_status vly_generator_spared(vly_reader *reader, const vly_toml_node *node,
                                const char *label, bool map, uint32_t to);
/* E_PARSE if the user's [[stimulus]] has a name reserved for generators: its
 * area would be taken for a generator and refuse injection. id NULL: it has
 * none */
vly_status vly_generator_id(vly_reader *reader, const vly_toml_node *node,
                            const char *id);
/* Whether an area is one. */
bool vly_generator_is(const vly_reader *reader, uint32_t area);
/* Whether [[stimulus]] `index` is one that vly_generators_expand has written.
 */
bool vly_generator_own(const vly_reader *reader, const vly_toml_node *stimuli,
                       uint32_t index);
/* After reading: checks that there are as many spike lists as neurons and that
 * no neuron has two spikes in one burst; names the areas. */
vly_status vly_generators_check(vly_reader *reader);

#endif
