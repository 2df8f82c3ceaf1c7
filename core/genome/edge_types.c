/* SPDX-License-Identifier: Apache-2.0
 * SONATA's edge types: see edge_types.h.
 */
#include "genome/edge_types.h"

#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/number.h"
#include "genome/csv_reader.h"

#define TYPES_MAX (1u << 20)
#define WHOLE_MAX 9007199254740992.0 /* 2^53 */

/* Columns whose values have no effect on an existing synapse. */
static const char *const silent[] = {"target_query", "source_query",
                                     "population", NULL};

typedef struct types_reader {
    vly_edge_types *types;
    vly_csv csv;
    uint32_t id;                            /* column */
    uint32_t columns[VLY_EDGE_TYPE_VALUES]; /* n_fields: none */
    bool noted[VLY_CSV_FIELDS_MAX];
} types_reader;

static bool is_null(const char *field)
{
    return !*field || strcmp(field, "NULL") == 0;
}

static vly_status find_columns(types_reader *reader)
{
    static const char *const names[] = {"syn_weight", "delay", "nsyns"};
    vly_csv *csv = &reader->csv;
    reader->id = vly_csv_column(csv, "edge_type_id");
    if (reader->id == csv->n_fields)
        return vly_csv_fail(csv, csv->n_fields,
                            "no column edge_type_id, wanted SONATA's edge "
                            "types: columns that blanks part");
    csv->is_ours = true; /* a table of edge types, so messages may quote it */
    for (int k = 0; k < VLY_EDGE_TYPE_VALUES; k++)
        reader->columns[k] = vly_csv_column(csv, names[k]);
    for (uint32_t i = 0; i < csv->n_fields; i++) {
        const char *const *name = silent;
        while (*name && strcmp(*name, csv->names[i]) != 0)
            name++;
        reader->noted[i] = *name || i == reader->id;
        for (int k = 0; k < VLY_EDGE_TYPE_VALUES; k++)
            reader->noted[i] |= i == reader->columns[k];
    }
    return VLY_OK;
}

/* Names columns once they have a value. */
static void note_left(types_reader *reader)
{
    char *left = reader->types->left;
    for (uint32_t i = 0; i < reader->csv.n_fields; i++) {
        if (reader->noted[i] || is_null(reader->csv.fields[i]))
            continue;
        size_t n = strlen(left);
        reader->noted[i] = true;
        snprintf(left + n, VLY_EDGE_LEFT - n, "%s%.60s", n ? ", " : "",
                 reader->csv.names[i]);
    }
}

static vly_status grow(vly_edge_types *types, vly_csv *csv)
{
    if (types->n == TYPES_MAX)
        return vly_csv_fail(csv, csv->n_fields,
                            "more than %u edge types, wanted fewer", TYPES_MAX);
    if (types->n < types->capacity)
        return VLY_OK;
    size_t room = types->capacity ? 2 * (size_t)types->capacity : 16;
    vly_edge_type *grown = vly_realloc(types->list, room, sizeof(*grown));
    if (!grown)
        return vly_fail_nomem(csv->error, room * sizeof(*grown), "edge types");
    types->list = grown;
    types->capacity = (uint32_t)room;
    return VLY_OK;
}

static vly_status read_type(types_reader *reader)
{
    vly_edge_types *types = reader->types;
    vly_csv *csv = &reader->csv;
    vly_edge_type type = {0};
    double id = 0;
    vly_status status;
    VLY_TRY(grow(types, csv));
    VLY_TRY(vly_csv_number(csv, reader->id, &id));
    if (vly_floor(id) != id || id < -WHOLE_MAX || id > WHOLE_MAX)
        return vly_csv_fail(csv, reader->id,
                            "edge_type_id is %.20s, wanted a whole number",
                            csv->fields[reader->id]);
    type.id = (int64_t)id;
    for (int k = 0; k < VLY_EDGE_TYPE_VALUES; k++) {
        uint32_t column = reader->columns[k];
        if (column == csv->n_fields || is_null(csv->fields[column]))
            continue;
        VLY_TRY(vly_csv_number(csv, column, &type.value[k]));
        type.has[k] = types->has[k] = true;
    }
    note_left(reader);
    types->list[types->n++] = type;
out:
    return status;
}

static int compare_types(const void *a, const void *b)
{
    int64_t x = ((const vly_edge_type *)a)->id;
    int64_t y = ((const vly_edge_type *)b)->id;
    return (x > y) - (x < y);
}

static vly_status read_all(types_reader *reader)
{
    vly_edge_types *types = reader->types;
    vly_status status;
    bool more = true;
    VLY_TRY(find_columns(reader));
    for (;;) {
        VLY_TRY(vly_csv_next(&reader->csv, &more));
        if (!more)
            break;
        VLY_TRY(read_type(reader));
    }
    if (types->n > 1)
        qsort(types->list, types->n, sizeof(*types->list), compare_types);
    for (uint32_t i = 1; i < types->n; i++)
        if (types->list[i].id == types->list[i - 1].id)
            return vly_fail(reader->csv.error, VLY_E_PARSE,
                            "%.200s: edge_type_id %lld stands twice, wanted "
                            "each once",
                            types->name, (long long)types->list[i].id);
out:
    return status;
}

vly_status vly_edge_types_init(vly_edge_types *types, FILE *file,
                               const char *name, vly_error *error)
{
    types_reader reader = {.types = types};
    *types = (vly_edge_types){.name = name};
    vly_status status = VLY_OK;
    VLY_TRY(vly_csv_init_blanks(&reader.csv, file, name, error));
    VLY_TRY(read_all(&reader));
out:
    vly_csv_deinit(&reader.csv);
    return status;
}

void vly_edge_types_deinit(vly_edge_types *types)
{
    vly_free(types->list);
    *types = (vly_edge_types){0};
}

const vly_edge_type *vly_edge_types_find(const vly_edge_types *types,
                                         int64_t id)
{
    const vly_edge_type key = {.id = id};
    return types->n > 0 ? bsearch(&key, types->list, types->n,
                                  sizeof(*types->list), compare_types)
                        : NULL;
}
