/* SPDX-License-Identifier: Apache-2.0
 * Any bytes as a table of synapses: it is refused, or it is the list that a
 * file of the same numbers gives; nothing left in memory. Byte 0: the columns'
 * types; byte 1: which columns, their order, multiple, self; then 8 bytes a
 * row: source, target, weight (i16, a 256th mV; the least is not a number),
 * delay (i16, a 100th ms), 2 unused.
 */
#include <math.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "genome/genome_table.h"

#define N_NEURONS 12
#define ROWS_MAX 400
#define ROW_BYTES 8
#define LINE_BYTES 120

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Not assert(), which is off in release builds. */
static void demand(bool holds, const char *what)
{
    if (holds)
        return;
    fprintf(stderr, "fuzz_tables: %s\n", what);
    abort();
}

/* Numbers of one column, in each type. */
typedef union column {
    double f64[ROWS_MAX];
    float f32[ROWS_MAX];
    int64_t i64[ROWS_MAX];
    int32_t i32[ROWS_MAX];
    uint64_t u64[ROWS_MAX];
    uint32_t u32[ROWS_MAX];
} column;

static void put(column *to, uint32_t type, size_t row, double number)
{
    switch (type) {
    case VLY_COLUMN_F64:
        to->f64[row] = number;
        break;
    case VLY_COLUMN_F32:
        to->f32[row] = (float)number;
        break;
    case VLY_COLUMN_I64:
        to->i64[row] = (int64_t)number;
        break;
    case VLY_COLUMN_I32:
        to->i32[row] = (int32_t)number;
        break;
    case VLY_COLUMN_U64:
        to->u64[row] = (uint64_t)number;
        break;
    default:
        to->u32[row] = (uint32_t)number;
        break;
    }
}

static double word_at(const uint8_t *at)
{
    return (int16_t)(uint16_t)(at[0] | at[1] << 8);
}

static void same(const vly_edge_list *a, const vly_edge_list *b)
{
    demand(a->n == b->n && a->n_rounded == b->n_rounded, "other counts");
    demand(!a->weight == !b->weight && !a->delay == !b->delay, "other parts");
    for (uint64_t i = 0; i < a->n; i++)
        demand(a->source[i] == b->source[i] && a->target[i] == b->target[i] &&
                   (!a->weight || a->weight[i] == b->weight[i]) &&
                   (!a->delay || a->delay[i] == b->delay[i]),
               "another edge");
}

/* The same rows as text, read as a file. */
static vly_status read_text(const vly_table *table, const double (*rows)[4],
                            const uint32_t *parts, const vly_edge_spec *spec,
                            vly_edge_list **list)
{
    static char text[(ROWS_MAX + 1) * LINE_BYTES];
    vly_error error = VLY_ERROR_INIT;
    size_t n = 0;
    for (uint32_t c = 0; c < table->n_columns; c++)
        n += (size_t)snprintf(text + n, sizeof text - n, "%s%s",
                              c > 0 ? "," : "", table->columns[c].name);
    for (uint64_t row = 0; row < table->n_rows; row++)
        for (uint32_t c = 0; c < table->n_columns; c++)
            n += (size_t)snprintf(text + n, sizeof text - n, "%c%.17g",
                                  c > 0 ? ',' : '\n', rows[row][parts[c]]);
    FILE *file = fmemopen(text, n, "r");
    demand(file != NULL, "no file");
    vly_status status = vly_edges_from_table(file, "text", spec, list, &error);
    fclose(file);
    return status;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const char *const names[] = {"source", "target", "weight_mv",
                                        "delay_ms"};
    static column columns[4];
    static double rows[ROWS_MAX][4];
    vly_table_column made[4];
    uint32_t parts[4];
    uint64_t before = vly_memory_live();
    if (size < 2)
        return 0;
    size_t n = (size - 2) / ROW_BYTES;
    n = n > ROWS_MAX ? ROWS_MAX : n;
    vly_table table = {.name = "table", .columns = made, .n_rows = n};
    const bool whole = data[0] & 64; /* weights of an integer type */
    const uint32_t types[4] = {data[0] & 1 ? VLY_COLUMN_U32 : VLY_COLUMN_I64,
                               data[0] & 2 ? VLY_COLUMN_I32 : VLY_COLUMN_F64,
                               whole         ? VLY_COLUMN_I32
                               : data[0] & 4 ? VLY_COLUMN_F32
                                             : VLY_COLUMN_F64,
                               VLY_COLUMN_F64};
    for (uint32_t k = 0; k < 4; k++) {
        uint32_t part = data[1] & 1 ? 3 - k : k;
        if (data[1] & (4u << part) && part >= 2)
            continue; /* without weights or delays */
        parts[table.n_columns] = part;
        made[table.n_columns++] =
            (vly_table_column){names[part], &columns[part], types[part], 0};
    }
    for (size_t row = 0; row < n; row++) {
        const uint8_t *at = data + 2 + row * ROW_BYTES;
        double weight = word_at(at + 2) / (whole ? 1 : 256);
        rows[row][0] = at[0];
        rows[row][1] = types[1] == VLY_COLUMN_I32 ? (int8_t)at[1] : at[1] / 2.0;
        rows[row][2] = !whole && weight == -32768.0 / 256 ? NAN : weight;
        rows[row][3] = word_at(at + 4) / 100;
        for (int part = 0; part < 4; part++)
            put(&columns[part], types[part], row, rows[row][part]);
    }
    vly_area area = {.n_neurons = N_NEURONS,
                     .model = vly_model_find("lif_psc_delta")};
    const vly_edge_spec spec = {.from = &area,
                                .to = &area,
                                .weight_suffix = "mv",
                                .self = data[1] & 64,
                                .multiple = data[1] & 2,
                                .map_weight = data[1] & 128,
                                .dt_ms = 0.1};
    vly_edge_list *list = NULL;
    vly_edge_list *other = NULL;
    vly_error error = VLY_ERROR_INIT;
    vly_status status = vly_edges_from_columns(&table, &spec, &list, &error);
    vly_status wanted =
        read_text(&table, (const double(*)[4])rows, parts, &spec, &other);
    demand(status == wanted, "a file is judged otherwise");
    if (status == VLY_OK)
        same(list, other);
    else
        demand(status == VLY_E_PARSE && strlen(error.message) > 10,
               "refused without a sentence");
    vly_edges_destroy(list);
    vly_edges_destroy(other);
    demand(vly_memory_live() == before, "memory is left");
    return 0;
}
