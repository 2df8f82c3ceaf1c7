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
    uint32_t kind;
    uint32_t model;
} types_reader;

static bool is_null(const vly_csv *csv, uint32_t column)
{
    return column == csv->n_fields || !*csv->fields[column] ||
           strcmp(csv->fields[column], "NULL") == 0;
}

/* A text of the line; NULL: no value. */
static vly_status copy_field(vly_csv *csv, uint32_t column, char **out)
{
    if (is_null(csv, column))
        return VLY_OK;
    *out = vly_strdup(csv->fields[column]);
    return *out ? VLY_OK
                : vly_fail_nomem(csv->error, strlen(csv->fields[column]) + 1,
                                 "a name");
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
    if (type.has)
        VLY_TRY(vly_csv_number(csv, reader->value, &type.value));
    types->list[types->n] = type;
    vly_node_type *put = &types->list[types->n++];
    if (!put->has)
        VLY_TRY(copy_field(csv, reader->params, &put->params));
    VLY_TRY(copy_field(csv, reader->kind, &put->kind));
    VLY_TRY(copy_field(csv, reader->model, &put->model));
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
    reader->value = column ? vly_csv_column(csv, column) : csv->n_fields;
    reader->params = vly_csv_column(csv, "dynamics_params");
    reader->kind = column ? csv->n_fields : vly_csv_column(csv, "model_type");
    reader->model =
        column ? csv->n_fields : vly_csv_column(csv, "model_template");
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
    vly_status status = VLY_OK;
    VLY_TRY(vly_csv_init_blanks(&reader.csv, file, name, error));
    VLY_TRY(read_all(&reader, column));
out:
    vly_csv_deinit(&reader.csv);
    return status;
}

void vly_node_types_deinit(vly_node_types *types)
{
    for (uint32_t i = 0; i < types->n; i++) {
        vly_free(types->list[i].params);
        vly_free(types->list[i].kind);
        vly_free(types->list[i].model);
    }
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

/* What is done with each member: json is at its value. Returns what is wanted,
 * NULL: it was read. */
typedef const char *(*member_fn)(void *context, vly_json *json, const char *key,
                                 size_t at);

static const char *read_members(vly_json *json, member_fn member, void *context)
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
        wanted = wanted ? wanted : member(context, json, key, at);
        if (wanted)
            return wanted;
    } while (vly_json_take(json, ','));
    return vly_json_take(json, '}') ? NULL : "a comma or the closing bracket";
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

static vly_status read_object(const char *text, size_t n, const char *name,
                              member_fn member, void *context, vly_error *error)
{
    vly_status status = VLY_OK;
    char *copy = vly_malloc(n + 1, 1);
    if (!copy)
        return vly_fail_nomem(error, n + 1, "parameters of a node type");
    memcpy(copy, text, n);
    copy[n] = 0;
    vly_json json = {copy, n, 0};
    const char *wanted = read_members(&json, member, context);
    vly_json_space(&json);
    if (!wanted && json.at < n)
        wanted = "the end of it";
    if (wanted) {
        memcpy(copy, text, n); /* as before texts in it were decoded */
        status = wrong_params(&json, name, wanted, error);
    }
    vly_free(copy);
    return status;
}

typedef struct one_member {
    const char *name;
    bool has;
    double value;
} one_member;

static const char *find_member(void *context, vly_json *json, const char *key,
                               size_t at)
{
    one_member *one = context;
    if (strcmp(key, one->name) != 0)
        return skip(json, 0);
    if (one->has) {
        json->at = at;
        return "each parameter once";
    }
    const char *wanted = vly_json_number(json, &one->value);
    one->has = !wanted;
    return wanted;
}

vly_status vly_node_params_find(const char *text, size_t n, const char *name,
                                const char *member, bool *has, double *value,
                                vly_error *error)
{
    one_member one = {.name = member};
    vly_status status = VLY_OK;
    VLY_TRY(read_object(text, n, name, find_member, &one, error));
    *has = one.has;
    *value = one.has ? one.value + 0.0 : *value; /* -0 becomes 0 */
out:
    return status;
}

typedef struct other_members {
    const char *const *known;
    uint32_t n_known;
    char *out;
    size_t size;
} other_members;

/* Whether text is one of the names in list, "a, b". */
static bool is_listed(const char *list, const char *text)
{
    const size_t n = strlen(text);
    for (const char *at = list; *at; at += strcspn(at, ",")) {
        at += strspn(at, ", ");
        if (strncmp(at, text, n) == 0 && (at[n] == ',' || at[n] == 0))
            return true;
    }
    return false;
}

static const char *list_member(void *context, vly_json *json, const char *key,
                               size_t at)
{
    const other_members *of = context;
    const size_t used = strlen(of->out);
    bool known = is_listed(of->out, key);
    (void)at;
    for (uint32_t i = 0; i < of->n_known; i++)
        known = known || strcmp(of->known[i], key) == 0;
    if (used + strlen(key) + sizeof(", , ...") > of->size) {
        known = known || is_listed(of->out, "...");
        key = "...";
    }
    if (!known)
        snprintf(of->out + used, of->size - used, "%s%s", used ? ", " : "",
                 key);
    return skip(json, 0);
}

vly_status vly_node_params_others(const char *text, size_t n, const char *name,
                                  const char *const *known, uint32_t n_known,
                                  char *out, size_t size, vly_error *error)
{
    other_members of = {known, n_known, out, size};
    return read_object(text, n, name, list_member, &of, error);
}
