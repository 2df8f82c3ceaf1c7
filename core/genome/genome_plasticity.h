/* SPDX-License-Identifier: Apache-2.0
 * [plasticity.NAME], and the key `plasticity` of a [[map]].
 */
#ifndef VOLLEY_GENOME_GENOME_PLASTICITY_H
#define VOLLEY_GENOME_GENOME_PLASTICITY_H

#include "genome/genome_map.h"
#include "genome/genome_reader.h"
#include "genome/genome_resolve.h"

/* Checks every [plasticity] and fills genome->plasticities. */
vly_status vly_plasticities_read(vly_reader *reader);
void vly_plasticities_free(vly_genome *genome);
/* map->plasticity, once the cells of the map are read; refuses what cannot
 * learn. */
vly_status vly_map_plasticity(vly_reader *reader, vly_map_entry *map);
/* After the maps: notes tables that no map names. */
vly_status vly_plasticities_unused(vly_reader *reader);
/* The port of a map's synapses onto a model, if the map gives none: that of
 * w_max's sign. */
uint32_t vly_plasticity_port(const vly_plasticity *plasticity,
                             const vly_model_info *model);
/* The key of the bound, before the unit. */
#define VLY_PLASTICITY_BOUND "w_max"
/* The key of a parameter as the table has it. */
void vly_plasticity_key(const vly_plasticity *of, uint32_t param, char *out,
                        size_t size);
/* resolve_plasticity.c: the tables as TOML. */
void vly_plasticities_resolve(vly_text *text, const vly_reader *reader);

#endif
