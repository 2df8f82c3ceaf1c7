/* SPDX-License-Identifier: Apache-2.0
 * Positions of neurons and rule "distance": kernel, mask, periodic edges.
 */
#ifndef VOLLEY_GENOME_GENOME_SPACE_H
#define VOLLEY_GENOME_GENOME_SPACE_H

#include "genome/genome_map.h"
#include "genome/genome_resolve.h"

/* `positions` of an area. */
vly_status vly_area_positions(vly_reader *reader, const vly_toml_node *node,
                              vly_area *area);
/* The keys of rule distance; refused with any other rule. */
vly_status vly_map_space(vly_reader *reader, vly_map_entry *map);
/* Slopes of such a map; a note if delays are rounded (genome_slope.c). */
vly_status vly_space_slopes(vly_reader *reader, vly_map_entry *map);
/* `periodic` of such a map, once its mask is read (genome_periodic.c). */
vly_status vly_space_periodic(vly_reader *reader, vly_map_entry *map);
/* Checks that both ends have positions and that values are in range. */
vly_status vly_space_check(vly_reader *reader, const vly_map_entry *map,
                           const vly_map_cell *cell);
/* The box of d in which kernel and mask can be above 0; huge on open sides. */
void vly_space_reach(const vly_space *space, double lo[3], double hi[3]);
/* Number of synapses; for Bernoulli an upper estimate. */
double vly_space_synapses(const vly_area *from, const vly_area *to,
                          const vly_space *space);
/* The same between the ends of a map, and of the pool of a pair. */
double vly_space_between(const vly_genome *genome, const vly_end *from,
                         const vly_end *to, const vly_space *space);
double vly_space_pair(const vly_genome *genome, const vly_pair *pair);

void vly_resolve_positions(vly_text *text, const vly_area *area);
void vly_resolve_space(vly_text *text, const vly_genome *genome,
                       const vly_map_entry *map);

#endif
