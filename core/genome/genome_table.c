/* SPDX-License-Identifier: Apache-2.0
 * Tables that a program hands over. A table is read in place, column by column:
 * the rules, the rounding and the order are those of a file with the same
 * columns, so a genome has the same hash either way.
 */
#include "genome/genome_table.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "base/memory.h"
#include "base/number.h"
#include "genome/edge_block.h"
#include "genome/edge_columns.h"

#define COLUMNS_MAX 64u

/* ---- the list ----------------------------------------------------------- */

static vly_status check_table(const vly_table *table, vly_error *error)
{
    if (!table->name || !*table->name)
        return vly_fail(error, VLY_E_INVALID,
                        "a table has no name, wanted that of a file in the "
                        "genome");
    if (table->n_columns < 1 || table->n_columns > COLUMNS_MAX ||
        !table->columns)
        return vly_fail(error, VLY_E_INVALID,
                        "table %.200s has %u columns, wanted 1 to %u",
                        table->name, table->n_columns, COLUMNS_MAX);
    for (uint32_t i = 0; i < table->n_columns; i++) {
        const vly_table_column *column = &table->columns[i];
        if (!column->name || !*column->name)
            return vly_fail(error, VLY_E_INVALID,
                            "table %.200s: column %u has no name", table->name,
                            i);
        if (column->type < VLY_COLUMN_F64 || column->type > VLY_COLUMN_U32)
            return vly_fail(error, VLY_E_INVALID,
                            "table %.200s: column %.80s has type %u, wanted "
                            "%d to %d",
                            table->name, column->name, column->type,
                            VLY_COLUMN_F64, VLY_COLUMN_U32);
        if (!column->data && table->n_rows > 0)
            return vly_fail(error, VLY_E_INVALID,
                            "table %.200s: column %.80s is NULL, wanted "
                            "%" PRIu64 " values",
                            table->name, column->name, table->n_rows);
    }
    return VLY_OK;
}

vly_status vly_tables_init(vly_reader *reader, const vly_table *tables,
                           uint32_t n_tables)
{
    vly_status status = VLY_OK;
    if (n_tables > 0 && !tables)
        return vly_fail(reader->error, VLY_E_INVALID,
                        "tables is NULL, wanted %u", n_tables);
    for (uint32_t i = 0; i < n_tables; i++) {
        VLY_TRY(check_table(&tables[i], reader->error));
        for (uint32_t k = 0; k < i; k++)
            if (strcmp(tables[i].name, tables[k].name) == 0)
                return vly_fail(reader->error, VLY_E_INVALID,
                                "table %.200s is given twice, wanted once",
                                tables[i].name);
    }
    if (n_tables > 0)
        VLY_TRY(vly_reader_alloc(reader, n_tables, sizeof(bool),
                                 &reader->tables_used));
    reader->tables = tables;
    reader->n_tables = n_tables;
out:
    return status;
}

const vly_table *vly_tables_find(vly_reader *reader, const char *name)
{
    for (uint32_t i = 0; i < reader->n_tables; i++)
        if (strcmp(reader->tables[i].name, name) == 0) {
            reader->tables_used[i] = true;
            return &reader->tables[i];
        }
    return NULL;
}

vly_status vly_tables_finish(const vly_reader *reader)
{
    for (uint32_t i = 0; i < reader->n_tables; i++)
        if (!reader->tables_used[i])
            return vly_fail(reader->error, VLY_E_INVALID,
                            "table %.200s is given and nothing in %.200s names "
                            "it, wanted file = \"%.200s\" in a map of rule "
                            "file, a parameter or a stimulus",
                            reader->tables[i].name, reader->name,
                            reader->tables[i].name);
    return VLY_OK;
}

/* ---- elements ----------------------------------------------------------- */

/* Any type as double; *exact false for a whole number beyond 2^53, which a
 * double cannot hold. */
static double number_at(const vly_table_column *column, uint64_t i, bool *exact)
{
    const double limit = 0x1p53;
    double number = 0;
    *exact = true;
    switch (column->type) {
    case VLY_COLUMN_F64:
        return ((const double *)column->data)[i];
    case VLY_COLUMN_F32:
        return (double)((const float *)column->data)[i];
    case VLY_COLUMN_I32:
        return ((const int32_t *)column->data)[i];
    case VLY_COLUMN_U32:
        return ((const uint32_t *)column->data)[i];
    case VLY_COLUMN_I64:
        number = (double)((const int64_t *)column->data)[i];
        break;
    default:
        number = (double)((const uint64_t *)column->data)[i];
        break;
    }
    *exact = number >= -limit && number <= limit;
    return number;
}

static vly_status fail_at(const vly_table *table, uint32_t field, uint64_t row,
                          vly_error *error, const char *sentence)
{
    return vly_fail(error, VLY_E_PARSE,
                    "%.200s: row %" PRIu64 " (from 0) of column %.40s: %s",
                    table->name, row, table->columns[field].name, sentence);
}

static vly_status read_number(const vly_table *table, uint32_t field,
                              uint64_t row, double *out, vly_error *error)
{
    bool exact = true;
    double number = number_at(&table->columns[field], row, &exact);
    if (!isfinite(number))
        return fail_at(table, field, row, error,
                       "not a finite number, wanted one");
    if (!exact)
        return fail_at(table, field, row, error,
                       "a whole number beyond 2^53, wanted a smaller one");
    *out = number;
    return VLY_OK;
}

static vly_status read_index(const vly_table *table, uint32_t field,
                             uint64_t row, uint32_t limit, uint32_t *out,
                             vly_error *error)
{
    const vly_table_column *column = &table->columns[field];
    char sentence[VLY_EDGE_SENTENCE];
    char found[VLY_NUMBER_SIZE];
    bool exact = true;
    if (column->type == VLY_COLUMN_U32 || column->type == VLY_COLUMN_I64) {
        /* the most frequent types, without a conversion */
        uint64_t whole = column->type == VLY_COLUMN_U32
                             ? ((const uint32_t *)column->data)[row]
                             : ((const uint64_t *)column->data)[row];
        if (whole < limit) {
            *out = (uint32_t)whole;
            return VLY_OK;
        }
    }
    double number = number_at(column, row, &exact);
    if (number >= 0 && number < limit && vly_floor(number) == number) {
        *out = (uint32_t)number;
        return VLY_OK;
    }
    snprintf(sentence, sizeof sentence, "%s is %s, wanted 0 to %u",
             column->name, vly_toml_print_number(number, found), limit - 1);
    return fail_at(table, field, row, error, sentence);
}

/* ---- synapses ----------------------------------------------------------- */

static vly_status find_columns(const vly_table *table,
                               const vly_edge_spec *spec,
                               uint32_t fields[VLY_EDGE_PARTS],
                               vly_error *error)
{
    const char *names[COLUMNS_MAX];
    char sentence[VLY_EDGE_SENTENCE];
    uint32_t wrong = 0;
    for (uint32_t i = 0; i < table->n_columns; i++)
        names[i] = table->columns[i].name;
    if (vly_edge_columns_find(spec, names, table->n_columns, fields, &wrong,
                              sentence))
        return VLY_OK;
    if (!*sentence)
        return vly_fail(error, VLY_E_PARSE,
                        "%.200s: column %.40s, wanted source, target, weight "
                        "and delay",
                        table->name, names[wrong]);
    return vly_fail(error, VLY_E_PARSE, "%.200s: %s", table->name, sentence);
}

static vly_status read_row(const vly_table *table, uint64_t row,
                           const uint32_t fields[VLY_EDGE_PARTS],
                           vly_edge_maker *maker)
{
    vly_status status;
    vly_edge edge = {.place = row};
    vly_edge_part wrong;
    char sentence[VLY_EDGE_SENTENCE];
    VLY_TRY(read_index(table, fields[VLY_EDGE_SOURCE], row,
                       maker->spec->from->n_neurons, &edge.source,
                       maker->error));
    VLY_TRY(read_index(table, fields[VLY_EDGE_TARGET], row,
                       maker->spec->to->n_neurons, &edge.target, maker->error));
    if (maker->has_weight)
        VLY_TRY(read_number(table, fields[VLY_EDGE_WEIGHT], row, &edge.weight,
                            maker->error));
    if (maker->has_delay)
        VLY_TRY(read_number(table, fields[VLY_EDGE_DELAY], row, &edge.delay,
                            maker->error));
    VLY_TRY(vly_edges_add(maker, &edge, &wrong, sentence));
    if (wrong != VLY_EDGE_PARTS)
        status = fail_at(table, fields[wrong], row, maker->error, sentence);
out:
    return status;
}

vly_status vly_edges_from_columns(const vly_table *table,
                                  const vly_edge_spec *spec,
                                  vly_edge_list **list, vly_error *error)
{
    vly_status status;
    vly_edge_maker maker;
    uint32_t fields[VLY_EDGE_PARTS];
    uint64_t twice = 0;
    vly_edges_init(&maker, spec, error);
    VLY_TRY(find_columns(table, spec, fields, error));
    maker.has_weight = fields[VLY_EDGE_WEIGHT] < table->n_columns;
    maker.has_delay = fields[VLY_EDGE_DELAY] < table->n_columns;
    maker.delay_bursts =
        maker.has_delay &&
        vly_edge_column_bursts(table->columns[fields[VLY_EDGE_DELAY]].name);
    maker.counted = true;
    if (maker.has_weight &&
        table->columns[fields[VLY_EDGE_WEIGHT]].type == VLY_COLUMN_F64)
        maker.lent = table->columns[fields[VLY_EDGE_WEIGHT]].data;
    VLY_TRY(vly_edges_reserve(&maker, table->n_rows));
    for (uint64_t row = 0; row < table->n_rows; row++) {
        if (row % VLY_EDGE_BLOCK == 0)
            row += vly_edges_add_block(&maker, table, fields, row);
        if (row < table->n_rows)
            VLY_TRY(read_row(table, row, fields, &maker));
    }
    VLY_TRY(vly_edges_finish(&maker, &twice, list));
    if (twice) /* the first row is not the second of a pair */
        status = vly_fail(error, VLY_E_PARSE,
                          "%.200s: row %" PRIu64 " (from 0): the second "
                          "synapse from this source to this target, wanted "
                          "one, or multiple = true in the map",
                          table->name, twice);
out:
    vly_edges_deinit(&maker);
    return status;
}

/* ---- values ------------------------------------------------------------- */

static vly_status check_value(const vly_table *table, uint32_t field,
                              uint64_t row, const vly_value_spec *spec,
                              double value, vly_error *error)
{
    char sentence[VLY_EDGE_SENTENCE];
    char found[VLY_NUMBER_SIZE], lo[VLY_NUMBER_SIZE], hi[VLY_NUMBER_SIZE];
    if (!(value >= spec->lo && value <= spec->hi))
        snprintf(sentence, sizeof sentence, "%s is %s, wanted %s to %s",
                 spec->what, vly_toml_print_number(value, found),
                 vly_toml_print_number(spec->lo, lo),
                 vly_toml_print_number(spec->hi, hi));
    else if ((spec->whole || spec->boolean) && vly_floor(value) != value)
        snprintf(sentence, sizeof sentence, "%s is %s, wanted a whole number",
                 spec->what, vly_toml_print_number(value, found));
    else
        return VLY_OK;
    return fail_at(table, field, row, error, sentence);
}

vly_status vly_values_from_column(const vly_table *table, const char *column,
                                  const vly_value_spec *spec, double **values,
                                  uint32_t *n, vly_error *error)
{
    vly_status status = VLY_OK;
    uint32_t field = 0;
    double *made = NULL;
    while (field < table->n_columns &&
           strcmp(table->columns[field].name, column) != 0)
        field++;
    if (field == table->n_columns)
        return vly_fail(error, VLY_E_PARSE,
                        "%.200s: no column %.80s, wanted it, or column = "
                        "\"NAME\" in the genome",
                        table->name, column);
    if (table->n_rows == 0 || table->n_rows > VLY_NEURONS_MAX ||
        (spec->n && table->n_rows != spec->n))
        return vly_fail(error, VLY_E_PARSE,
                        "%.200s has %" PRIu64 " rows, wanted %u, one a neuron",
                        table->name, table->n_rows, spec->n ? spec->n : 1);
    made = vly_malloc((size_t)table->n_rows, sizeof *made);
    if (!made)
        return vly_fail_nomem(error, table->n_rows * sizeof *made, spec->what);
    for (uint64_t row = 0; row < table->n_rows; row++) {
        VLY_TRY(read_number(table, field, row, &made[row], error));
        VLY_TRY(check_value(table, field, row, spec, made[row], error));
    }
    *values = made;
    *n = (uint32_t)table->n_rows;
    made = NULL;
out:
    vly_free(made);
    return status;
}
