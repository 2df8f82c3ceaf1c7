/* SPDX-License-Identifier: Apache-2.0
 * The patterns that one memory area knows: one cell a neuron. A pattern is a
 * row of words, compared as a whole; its hash only finds the cells to compare.
 */
#ifndef VOLLEY_ENGINE_MEMORY_TABLE_H
#define VOLLEY_ENGINE_MEMORY_TABLE_H

#include <stdbool.h>
#include <stdint.h>

#include <volley/volley.h>

#define VLY_NO_CELL UINT32_MAX

typedef struct vly_memory_pattern {
    const uint32_t *words;
    uint64_t n_words;
} vly_memory_pattern;

typedef struct vly_memory_cell {
    uint32_t *words; /* owned; NULL: the cell is free */
    uint64_t n_words;
    uint64_t hash;
    uint32_t lifespan; /* bursts */
    uint32_t longterm; /* 1: it is never forgotten */
    uint32_t next;     /* of its bucket; VLY_NO_CELL: none */
} vly_memory_cell;

typedef struct vly_memory_table {
    vly_memory_cell *cells; /* [n_cells] the others are free */
    uint32_t n_cells;
    uint32_t n_room; /* of cells */
    uint32_t most;   /* cells: neurons of the area */
    uint32_t lowest; /* no free cell is before it */
    uint32_t *buckets;
    uint32_t n_buckets; /* a power of two */
    uint32_t *gone; /* [n_gone] cells that the last burst freed, ascending */
    uint32_t n_gone;
    uint32_t n_known;
    uint32_t n_longterm;
} vly_memory_table;

/* Empty; cleared by deinit. */
void vly_memory_table_init(vly_memory_table *table, uint32_t most);
void vly_memory_table_deinit(vly_memory_table *table);

/* The cell of the pattern; VLY_NO_CELL: not known. */
uint32_t vly_memory_table_find(const vly_memory_table *table,
                               const vly_memory_pattern *pattern);
/* The lowest free cell; VLY_NO_CELL: the table is full. */
uint32_t vly_memory_table_free(const vly_memory_table *table);
/* Puts a pattern that is not known into a free cell, with a lifespan.
 * Errors  E_NOMEM; the table is unchanged */
vly_status vly_memory_table_put(vly_memory_table *table, uint32_t cell,
                                const vly_memory_pattern *pattern,
                                uint32_t lifespan, vly_error *error);
/* One burst: cells with such a lifespan become long-term, then others age, and
 * those whose lifespan ends are free: `gone`. */
void vly_memory_table_age(vly_memory_table *table, uint32_t longterm);
/* The pattern of a cell was seen again. */
void vly_memory_table_seen(vly_memory_table *table, uint32_t cell,
                           uint32_t growth);

#endif
