/* SPDX-License-Identifier: Apache-2.0
 * [memory.NAME]: the area NAME remembers patterns of spikes of other areas, as
 * FEAGI's memory areas do.
 */
#ifndef VOLLEY_GENOME_GENOME_MEMORY_H
#define VOLLEY_GENOME_GENOME_MEMORY_H

#include "genome/genome_reader.h"
#include "genome/genome_resolve.h"

/* The whole numbers of a [memory] that are in the genome. */
typedef struct vly_memory_number {
    const char *key;
    uint32_t lo;
    uint32_t hi;
    uint32_t init;
    size_t at; /* in vly_memory_rule */
} vly_memory_number;
enum { VLY_MEMORY_NUMBERS = 4 };
extern const vly_memory_number vly_memory_numbers[VLY_MEMORY_NUMBERS];

/* Fills genome->memories; the areas are read. */
vly_status vly_memories_read(vly_reader *reader);
/* Gives the areas of memories the parameters with which a neuron fires whenever
 * something arrives. Refuses other ones. */
vly_status vly_memories_make(vly_reader *reader);
/* After the maps: refuses one onto a memory. */
vly_status vly_memories_check(vly_reader *reader);
/* Fills memories and associations of a genome that has areas
 * only (names, sizes, models), from the text of a resolved one.
 * Errors  E_PARSE with name; E_NOMEM */
vly_status vly_memories_parse(vly_genome *genome, const char *text,
                              const char *name, vly_error *error);
void vly_memories_free(vly_genome *genome);
/* The tables as TOML. */
void vly_memories_resolve(vly_text *text, const vly_reader *reader);

#endif
