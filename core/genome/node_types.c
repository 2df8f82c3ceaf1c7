/* SPDX-License-Identifier: Apache-2.0
 * SONATA's node types: see node_types.h.
 */
#include "genome/node_types.h"

#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "base/memory.h"
#include "base/number.h"
#include "genome/csv_reader.h"

#define TYPES_MAX (1u << 20)
#define WHOLE_MAX 9007199254740992.0 /* 2^53 */

/* ---- the table ---------------------------------------------------------- */

typedef struct types_reader {
    vly_node_types *types;
    vly_csv csv;
    uint32_t id; /* columns; n_fields: none */
    uint32_t value;
    uint32_t params;
} types_reader;

static bool is_null(const vly_csv *csv, uint32_t column)
{
    return column == csv->n_fields || !*csv->fields[column] ||
           strcmp(csv->fields[column], "NULL") == 0;
}

static vly_status grow(vly_node_types *types, vly_csv *csv)
{
    if (types->n == TYPES_MAX)
        return vly_csv_fail(csv, csv->n_fields,
                            "more than %u node types, wanted fewer", TYPES_MAX);
    if (types->n < types->capacity)
        return VLY_OK;
    const size_t room = types->capacity ? 2 * (size_t)types->capacity : 16;
    vly_node_type *grown = vly_realloc(types->list, room, sizeof(*grown));
    if (!grown)
        return vly_fail_nomem(csv->error, room * sizeof(*grown), "node types");
    types->list = grown;
    types->capacity = (uint32_t)room;
    return VLY_OK;
}

static vly_status read_type(types_reader *reader)
{
    vly_node_types *types = reader->types;
    vly_csv *csv = &reader->csv;
    vly_node_type type = {0};
    double id = 0;
    vly_status status;
    VLY_TRY(grow(types, csv));
    VLY_TRY(vly_csv_number(csv, reader->id, &id));
    if (vly_floor(id) != id || id < -WHOLE_MAX || id > WHOLE_MAX)
        return vly_csv_fail(csv, reader->id,
                            "node_type_id is %.20s, wanted a whole number",
                            csv->fields[reader->id]);
    type.id = (int64_t)id;
    type.has = !is_null(csv, reader->value);
    if (type.has) {
        VLY_TRY(vly_csv_number(csv, reader->value, &type.value));
    } else if (!is_null(csv, reader->params)) {
        const char *params = csv->fields[reader->params];
        type.params = vly_strdup(params);
        if (!type.params)
            return vly_fail_nomem(csv->error, strlen(params) + 1, "a name");
    }
    types->list[types->n++] = type;
out:
    return status;
}

static int compare_types(const void *a, const void *b)
{
    const int64_t x = ((const vly_node_type *)a)->id;
    const int64_t y = ((const vly_node_type *)b)->id;
    return (x > y) - (x < y);
}

static vly_status read_all(types_reader *reader, const char *column)
{
    vly_node_types *types = reader->types;
    vly_csv *csv = &reader->csv;
    bool more = true;
    vly_status status = VLY_OK;
    reader->id = vly_csv_column(csv, "node_type_id");
    reader->value = vly_csv_column(csv, column);
    reader->params = vly_csv_column(csv, "dynamics_params");
    if (reader->id == csv->n_fields)
        return vly_csv_fail(csv, csv->n_fields,
                            "no column node_type_id, wanted SONATA's node "
                            "types: columns that blanks part");
    csv->is_ours = true; /* a table of node types, so messages may quote it */
    for (;;) {
        VLY_TRY(vly_csv_next(csv, &more));
        if (!more)
            break;
        VLY_TRY(read_type(reader));
    }
    if (types->n > 1)
        qsort(types->list, types->n, sizeof(*types->list), compare_types);
    for (uint32_t i = 1; i < types->n; i++)
        if (types->list[i].id == types->list[i - 1].id)
            return vly_fail(csv->error, VLY_E_PARSE,
                            "%.200s: node_type_id %lld stands twice, wanted "
                            "each once",
                            types->name, (long long)types->list[i].id);
out:
    return status;
}

vly_status vly_node_types_init(vly_node_types *types, FILE *file,
                               const char *name, const char *column,
                               vly_error *error)
{
    types_reader reader = {.types = types};
    *types = (vly_node_types){.name = name};
    vly_status status = vly_csv_init_blanks(&reader.csv, file, name, error);
    if (status == VLY_OK)
        status = read_all(&reader, column);
    vly_csv_deinit(&reader.csv);
    return status;
}

void vly_node_types_deinit(vly_node_types *types)
{
    for (uint32_t i = 0; i < types->n; i++)
        vly_free(types->list[i].params);
    vly_free(types->list);
    *types = (vly_node_types){0};
}

const vly_node_type *vly_node_types_find(const vly_node_types *types,
                                         int64_t id)
{
    const vly_node_type key = {.id = id};
    return types->n > 0 ? bsearch(&key, types->list, types->n,
                                  sizeof(*types->list), compare_types)
                        : NULL;
}

/* ---- dynamics_params ---------------------------------------------------- */

enum { DEPTH_MAX = 64 };

/* The same as skip, of no list and no object. */
static const char *skip_scalar(vly_json *json, char first)
{
    char *text = NULL;
    double number = 0;
    if (first == '"')
        return vly_json_text(json, &text);
    if (vly_json_word(json, "true") || vly_json_word(json, "false") ||
        vly_json_word(json, "null"))
        return NULL;
    return first && strchr("-0123456789", first)
               ? vly_json_number(json, &number)
               : "a value";
}

/* Passes a value of any kind; returns what is wanted, NULL: it is good. */
static const char *skip(vly_json *json, uint32_t depth)
{
    const char *wanted = NULL;
    char *text = NULL;
    vly_json_space(json);
    const char first = json->at < json->n ? json->text[json->at] : 0;
    if (first != '{' && first != '[')
        return skip_scalar(json, first);
    if (depth == DEPTH_MAX)
        return "fewer brackets within each other";
    const char end = first == '{' ? '}' : ']';
    (void)vly_json_take(json, first);
    if (vly_json_take(json, end))
        return NULL;
    do {
        if (first == '{') {
            wanted = vly_json_text(json, &text);
            if (!wanted && !vly_json_take(json, ':'))
                wanted = "a colon";
        }
        if (!wanted)
            wanted = skip(json, depth + 1);
    } while (!wanted && vly_json_take(json, ','));
    if (!wanted && !vly_json_take(json, end))
        wanted = "a comma or the closing bracket";
    return wanted;
}

static const char *read_members(vly_json *json, const char *member, bool *has,
                                double *value)
{
    const char *wanted = NULL;
    if (!vly_json_take(json, '{'))
        return "an object of parameters";
    if (vly_json_take(json, '}'))
        return NULL;
    do {
        char *key = NULL;
        vly_json_space(json);
        const size_t at = json->at;
        wanted = vly_json_text(json, &key);
        if (!wanted && !vly_json_take(json, ':'))
            wanted = "a colon";
        if (wanted)
            return wanted;
        if (strcmp(key, member) != 0) {
            wanted = skip(json, 0);
        } else if (*has) {
            json->at = at;
            return "each parameter once";
        } else {
            wanted = vly_json_number(json, value);
            *has = !wanted;
        }
    } while (!wanted && vly_json_take(json, ','));
    if (!wanted && !vly_json_take(json, '}'))
        wanted = "a comma or the closing bracket";
    return wanted;
}

static vly_status wrong_params(const vly_json *json, const char *name,
                               const char *wanted, vly_error *error)
{
    char found[VLY_JSON_FOUND];
    uint32_t line = 1;
    size_t begin = 0;
    for (size_t i = 0; i < json->at; i++)
        if (json->text[i] == '\n') {
            line++;
            begin = i + 1;
        }
    return vly_fail(error, VLY_E_PARSE, "%.200s:%u:%zu: %s, wanted %s", name,
                    line, json->at - begin + 1, vly_json_found(json, found),
                    wanted);
}

vly_status vly_node_params_find(const char *text, size_t n, const char *name,
                                const char *member, bool *has, double *value,
                                vly_error *error)
{
    double number = 0;
    bool there = false;
    vly_status status = VLY_OK;
    char *copy = vly_malloc(n + 1, 1);
    if (!copy)
        return vly_fail_nomem(error, n + 1, "parameters of a node type");
    memcpy(copy, text, n);
    copy[n] = 0;
    vly_json json = {copy, n, 0};
    const char *wanted = read_members(&json, member, &there, &number);
    vly_json_space(&json);
    if (!wanted && json.at < n)
        wanted = "the end of it";
    if (wanted) {
        memcpy(copy, text, n); /* as before texts in it were decoded */
        status = wrong_params(&json, name, wanted, error);
    } else {
        *has = there;
        *value = there ? number + 0.0 : *value; /* -0 becomes 0 */
    }
    vly_free(copy);
    return status;
}
