/* SPDX-License-Identifier: Apache-2.0
 * FEAGI's memory areas as [memory] tables.
 */
#ifndef VOLLEY_TOOLS_FEAGI_MEMORY_H
#define VOLLEY_TOOLS_FEAGI_MEMORY_H

#include "genome/genome_resolve.h"
#include "tools/feagi/feagi_genome.h"

/* Before sizes are read: which areas are memories, and of which areas each
 * remembers patterns. Errors  E_PARSE; E_NOMEM */
vly_status feagi_memories_find(feagi_genome *genome, vly_error *error);
/* Neurons a voxel of a memory area of so many voxels. */
uint32_t feagi_memory_room(const feagi_genome *genome, double n_voxels);
/* Whether a morphology makes no synapses but has to do with memory areas. */
bool feagi_memory_morphology(const char *id);
/* Whether a mapping by this morphology makes no synapses, because memory areas
 * do with it what they do; a report where more is to be said. */
vly_status feagi_memory_mapping(feagi_genome *genome, uint32_t from,
                                uint32_t to, const char *morphology,
                                const char *subject, bool *taken,
                                vly_error *error);
/* After the maps: adds the areas that repeat patterns. */
vly_status feagi_twins_make(feagi_genome *genome, vly_error *error);
/* Whether a memory area has this parameter of its own. */
bool feagi_memory_param(const char *name);
/* The tables of all memories. */
void feagi_memory_tables(vly_text *text, const feagi_genome *genome);

#endif
