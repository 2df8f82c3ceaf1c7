/* SPDX-License-Identifier: Apache-2.0
 * Memory areas in the second simulator: plain loops over lists of patterns, and
 * an own reader of their tables in the resolved genome.
 */
#ifndef VOLLEY_SECOND_MEMORY_H
#define VOLLEY_SECOND_MEMORY_H

#include "second_simulator.h"

/* A pattern that is known: what its neuron stands for. */
typedef struct second_pattern {
    uint32_t *words; /* NULL: the neuron is free */
    uint32_t n_words;
    uint32_t lifespan;
    int longterm;
} second_pattern;

typedef struct second_memory {
    uint32_t area;
    uint32_t n_sources;
    uint32_t *sources; /* areas ascending */
    uint32_t *twins;   /* UINT32_MAX: none */
    uint32_t depth;
    uint32_t init;
    uint32_t growth;
    uint32_t longterm;
    char *window; /* [depth][n_neurons] 1 if fired; of burst b in b % depth */
    second_pattern *patterns; /* [neurons of the area] */
    uint64_t made, seen, forgotten, dropped;
} second_memory;

/* Synapses that come to be between two areas. */
typedef struct second_association {
    uint32_t areas[2];
    uint32_t window;
    int up;
    int down;
    int sign;
    int *weight; /* [n of areas[0]][n of areas[1]] -1: no synapse */
    char *fired; /* [window][n_neurons] of burst b in b % window */
} second_association;

/* Something that arrives later. */
typedef struct second_due {
    uint64_t burst;
    uint32_t neuron;
    int64_t value;
} second_due;

typedef struct second_memories {
    second_memory *memories;
    uint32_t n;
    second_association *associations;
    uint32_t n_associations;
    second_due *due;
    uint64_t n_due;
    uint64_t due_room;
} second_memories;

/* From the resolved genome. 0, or -1 with a sentence on stderr. */
int second_memories_read(const second_file *file, const char *resolved,
                         second_memories *to);
void second_memories_free(second_memories *of);
/* After the burst in which the neurons of `fired` fired, with these gains. 0,
 * or -1. */
int second_memories_step(const second_file *file, second_memories *of,
                         const char *fired, const uint32_t *gain,
                         uint64_t burst);
/* Their part of the state digest after so many bursts; 0 without memories. */
uint64_t second_memories_digest(const second_file *file,
                                const second_memories *of, uint64_t bursts);

/* ---- shared by second_memory.c and second_association.c ---------------- */

/* The line of a key in the table that begins at `table`; NULL: none. */
const char *second_line(const char *table, const char *key);
/* The areas of a line, to be freed. */
uint32_t *second_areas(const second_file *file, const char *line, uint32_t *n);
uint32_t second_number(const char *table, const char *key);
double second_real(const char *table, const char *key);
/* 0, or -1 without memory. */
int second_due_add(second_memories *of, uint64_t burst, uint32_t neuron,
                   int64_t value);

typedef struct second_words {
    unsigned char *bytes; /* NULL: only counted */
    uint64_t n;
} second_words;
void second_put(second_words *to, uint32_t word);
void second_put_both(second_words *to, uint64_t number);

int second_association_read(const second_file *file, const char *table,
                            second_association *to);
/* One burst. 0, or -1 without memory. */
int second_associate(const second_file *file, second_memories *to,
                     second_association *of, const char *fired,
                     const uint32_t *gain, uint64_t burst);
/* The neuron of a memory has no part in it any more. */
void second_association_leave(const second_file *file,
                              const second_memories *all, uint32_t area,
                              uint32_t neuron);
void second_association_put(second_words *to, const second_file *file,
                            const second_association *of, uint64_t bursts);

#endif
