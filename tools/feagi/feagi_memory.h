/* SPDX-License-Identifier: Apache-2.0
 * FEAGI's memory areas as [memory] tables, its associative memory as
 * [association] tables.
 */
#ifndef VOLLEY_TOOLS_FEAGI_MEMORY_H
#define VOLLEY_TOOLS_FEAGI_MEMORY_H

#include "base/text.h"
#include "tools/feagi/feagi_plastic.h"

/* Before sizes are read: which areas are memories, and of which areas each
 * remembers patterns. Errors  E_PARSE; E_NOMEM */
vly_status feagi_memories_find(feagi_genome *genome, vly_error *error);
/* Neurons a voxel of a memory area of so many voxels. */
uint32_t feagi_memory_room(const feagi_genome *genome, double n_voxels);
/* Whether a morphology makes no synapses but has to do with memory areas. */
bool feagi_memory_morphology(const char *id);
/* A rule of a mapping. where: of messages; subject: of the report. */
typedef struct feagi_mapping {
    uint32_t from;
    uint32_t to;
    const char *morphology;
    const char *where;
    const char *subject;
    const feagi_plastic_values *plastic;
    const feagi_value *multiplier; /* NULL: not given */
} feagi_mapping;

/* Whether it makes no synapses, because memory areas or associations do with it
 * what they do; a report where more is to be said. Errors  E_PARSE; E_NOMEM */
vly_status feagi_memory_mapping(feagi_genome *genome, const feagi_mapping *of,
                                bool *taken, vly_error *error);
/* feagi_association.c: one by associative_memory. */
vly_status feagi_association_read(feagi_genome *genome, const feagi_mapping *of,
                                  vly_error *error);
void feagi_association_tables(vly_text *text, const feagi_genome *genome);
/* After the maps: adds the areas that repeat patterns. */
vly_status feagi_twins_make(feagi_genome *genome, vly_error *error);
/* Whether a memory area has this parameter of its own. */
bool feagi_memory_param(const char *name);
/* The tables of all memories. */
void feagi_memory_tables(vly_text *text, const feagi_genome *genome);

#endif
