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
/* Whether a generator is called so. */
bool vly_generator_kind(const char *name);
/* Nothing reaches a generator: E_PARSE if area `to` of a map or a stimulus is
 * one. Asked before units are, which are those of a model nobody wrote. */
vly_status vly_generator_spared(vly_reader *reader, const vly_toml_node *node,
                                const char *label, bool map, uint32_t to);
/* E_PARSE if a [[stimulus]] that somebody wrote is called as those of
 * generators are: its area would take no injection, as it stands for one. id
 * NULL: it has none */
vly_status vly_generator_id(vly_reader *reader, const vly_toml_node *node,
                            const char *id);
/* Whether an area is one. */
bool vly_generator_is(const vly_reader *reader, uint32_t area);
/* Whether [[stimulus]] `index` is one that vly_generators_expand has written.
 */
bool vly_generator_own(const vly_reader *reader, const vly_toml_node *stimuli,
                       uint32_t index);
/* After all is read: as many lists of spikes as neurons, and no two spikes of
 * one in the same burst; names the areas. */
vly_status vly_generators_check(vly_reader *reader);

#endif
