/* SPDX-License-Identifier: Apache-2.0
 * Cells of patterns. The index is a hash table with chains; nothing that it
 * gives depends on the order of a chain, because patterns are all different.
 * Source: feagi-core 0.0.1-beta.18, crates/feagi-npu/plasticity
 * (memory_neuron_array.rs), there one table for all areas.
 */
#include "engine/memory_table.h"

#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "base/random.h"

enum { FIRST_BUCKETS = 64 };

void vly_memory_table_init(vly_memory_table *table, uint32_t most)
{
    *table = (vly_memory_table){.most = most};
}

void vly_memory_table_deinit(vly_memory_table *table)
{
    for (uint32_t i = 0; i < table->n_cells; i++)
        vly_free(table->cells[i].words);
    vly_free(table->cells);
    vly_free(table->buckets);
    vly_free(table->gone);
    *table = (vly_memory_table){0};
}

static uint64_t hash_of(const vly_memory_pattern *pattern)
{
    const vly_hash none = {{0, 0}};
    return vly_hash_bytes(none, pattern->words,
                          (size_t)pattern->n_words * sizeof(*pattern->words))
        .lane[0];
}

static uint32_t *bucket_of(const vly_memory_table *table, uint64_t hash)
{
    return &table->buckets[hash & (table->n_buckets - 1u)];
}

uint32_t vly_memory_table_find(const vly_memory_table *table,
                               const vly_memory_pattern *pattern)
{
    if (table->n_buckets == 0)
        return VLY_NO_CELL;
    const uint64_t hash = hash_of(pattern);
    uint32_t i = *bucket_of(table, hash);
    while (i != VLY_NO_CELL) {
        const vly_memory_cell *cell = &table->cells[i];
        if (cell->hash == hash && cell->n_words == pattern->n_words &&
            memcmp(cell->words, pattern->words,
                   (size_t)pattern->n_words * sizeof(*cell->words)) == 0)
            return i;
        i = cell->next;
    }
    return VLY_NO_CELL;
}

uint32_t vly_memory_table_free(const vly_memory_table *table)
{
    uint32_t i = table->lowest;
    while (i < table->n_cells && table->cells[i].words)
        i++;
    return i < table->most ? i : VLY_NO_CELL;
}

/* ---- put ---------------------------------------------------------------- */

static void chain(vly_memory_table *table, uint32_t i)
{
    uint32_t *bucket = bucket_of(table, table->cells[i].hash);
    table->cells[i].next = *bucket;
    *bucket = i;
}

static vly_status grow_buckets(vly_memory_table *table, vly_error *error)
{
    uint32_t n = table->n_buckets ? 2u * table->n_buckets : FIRST_BUCKETS;
    if (table->n_known < table->n_buckets || n > UINT32_C(1) << 30)
        return VLY_OK;
    uint32_t *buckets = vly_malloc(n, sizeof(*buckets));
    if (!buckets)
        return vly_fail_nomem(error, n * sizeof(*buckets), "a memory");
    vly_free(table->buckets);
    table->buckets = buckets;
    table->n_buckets = n;
    for (uint32_t i = 0; i < n; i++)
        buckets[i] = VLY_NO_CELL;
    for (uint32_t i = 0; i < table->n_cells; i++)
        if (table->cells[i].words)
            chain(table, i);
    return VLY_OK;
}

static vly_status grow_cells(vly_memory_table *table, uint32_t cell,
                             vly_error *error)
{
    uint64_t n = table->n_room ? table->n_room : FIRST_BUCKETS;
    if (cell < table->n_room)
        return VLY_OK;
    while (n <= cell)
        n *= 2;
    n = n < table->most ? n : table->most;
    vly_memory_cell *cells =
        vly_realloc(table->cells, (size_t)n, sizeof(*cells));
    if (!cells)
        return vly_fail_nomem(error, n * sizeof(*cells), "a memory");
    table->cells = cells;
    uint32_t *gone = vly_realloc(table->gone, (size_t)n, sizeof(*gone));
    if (!gone)
        return vly_fail_nomem(error, n * sizeof(*gone), "a memory");
    table->gone = gone;
    table->n_room = (uint32_t)n;
    return VLY_OK;
}

vly_status vly_memory_table_put(vly_memory_table *table, uint32_t cell,
                                const vly_memory_pattern *pattern,
                                uint32_t lifespan, vly_error *error)
{
    vly_status status;
    VLY_TRY(grow_cells(table, cell, error));
    VLY_TRY(grow_buckets(table, error));
    uint32_t *words = vly_malloc((size_t)pattern->n_words, sizeof(*words));
    if (!words)
        return vly_fail_nomem(error, pattern->n_words * sizeof(*words),
                              "a pattern");
    memcpy(words, pattern->words, (size_t)pattern->n_words * sizeof(*words));
    for (; table->n_cells <= cell; table->n_cells++)
        table->cells[table->n_cells] = (vly_memory_cell){.next = VLY_NO_CELL};
    table->cells[cell] = (vly_memory_cell){.words = words,
                                           .n_words = pattern->n_words,
                                           .hash = hash_of(pattern),
                                           .lifespan = lifespan};
    chain(table, cell);
    table->n_known++;
    if (cell == table->lowest)
        table->lowest = cell + 1;
out:
    return status;
}

/* ---- ageing ------------------------------------------------------------- */

static void forget(vly_memory_table *table, uint32_t i)
{
    vly_memory_cell *cell = &table->cells[i];
    uint32_t *at = bucket_of(table, cell->hash);
    while (*at != i)
        at = &table->cells[*at].next;
    *at = cell->next;
    vly_free(cell->words);
    *cell = (vly_memory_cell){.next = VLY_NO_CELL};
    table->n_known--;
    table->lowest = i < table->lowest ? i : table->lowest;
}

void vly_memory_table_age(vly_memory_table *table, uint32_t longterm)
{
    table->n_gone = 0;
    for (uint32_t i = 0; i < table->n_cells; i++) {
        vly_memory_cell *cell = &table->cells[i];
        if (!cell->words || cell->longterm)
            continue;
        cell->longterm = cell->lifespan >= longterm ? 1u : 0u;
        table->n_longterm += cell->longterm;
        /* a lifespan of 0 at the start does not end, as in feagi-core */
        if (cell->longterm || cell->lifespan == 0 || --cell->lifespan > 0)
            continue;
        forget(table, i);
        table->gone[table->n_gone++] = i;
    }
}

void vly_memory_table_seen(vly_memory_table *table, uint32_t cell,
                           uint32_t growth)
{
    vly_memory_cell *to = &table->cells[cell];
    if (!to->longterm)
        to->lifespan = to->lifespan < UINT32_MAX - growth
                           ? to->lifespan + growth
                           : UINT32_MAX;
}
