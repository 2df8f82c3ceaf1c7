/* SPDX-License-Identifier: Apache-2.0
 * Files that a genome names. A path is relative to the folder of the genome (to
 * the working folder if the genome came from standard input). The content of
 * the file becomes part of the genome and of its hash; the path does not. Only
 * regular files are read: a pipe or a device could block forever.
 */
#include "genome/genome_file.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/memory.h"
#include "base/number.h"
#include "base/reading.h"
#include "genome/csv_reader.h"
#include "genome/edge_list.h"
#include "genome/edge_types.h"
#include "genome/genome_inputs.h"
#include "genome/genome_keys.h"
#include "genome/genome_table.h"
#include "genome/node_values.h"

#define VALUES_MAX VLY_NEURONS_MAX

/* ---- paths -------------------------------------------------------------- */

static vly_status find_path(vly_reader *reader, const char *given, char **path)
{
    const char *slash = strrchr(reader->name, '/');
    size_t n_folder = slash ? (size_t)(slash - reader->name) + 1 : 0;
    size_t n_given = strlen(given);
    if (*given == '/')
        n_folder = 0;
    vly_status status = VLY_OK;
    VLY_TRY(vly_reader_alloc(reader, n_folder + n_given + 1, 1, path));
    memcpy(*path, reader->name, n_folder);
    memcpy(*path + n_folder, given, n_given);
out:
    return status;
}

vly_status vly_file_open_key(vly_reader *reader, const vly_toml_node *node,
                             const char *what, const char *given, char **path,
                             FILE **file)
{
    vly_error why = VLY_ERROR_INIT;
    struct stat about;
    vly_status status = VLY_OK;
    if (!given)
        VLY_TRY(vly_reader_string(reader, node, what, &given));
    if (!*given)
        return vly_reader_wrong(reader, node, what, "the path of a file");
    VLY_TRY(find_path(reader, given, path));
    status = vly_reading_open_as(*path, given, VLY_READ_FILE, file, &why);
    if (status != VLY_OK)
        return vly_reader_fail_file(reader, node, status, why.message);
    if (fstat(fileno(*file), &about) == 0)
        status =
            vly_genome_add_input(reader->genome, *path, &about, reader->error);
out:
    return status;
}

vly_status vly_file_open(vly_reader *reader, const vly_toml_node *node,
                         char **path, FILE **file)
{
    return vly_file_open_key(reader, node, "file", NULL, path, file);
}

vly_status vly_file_placed(vly_reader *reader, const vly_toml_node *node,
                           vly_status status, const vly_error *why)
{
    if (status == VLY_OK)
        return VLY_OK;
    if (status == VLY_E_NOMEM)
        return vly_reader_nomem(reader, why->bytes_requested, node->u.string);
    return vly_reader_fail_file(reader, node, status, why->message);
}

/* ---- synapses ----------------------------------------------------------- */

static bool key_begins(const vly_toml_node *table, const char *stem)
{
    size_t n = strlen(stem);
    for (uint32_t i = 0; i < table->n_children; i++) {
        const char *key = table->u.children[i].key;
        if (strncmp(key, stem, n) == 0 && (key[n] == 0 || key[n] == '_'))
            return true;
    }
    return false;
}

static vly_status check_map(vly_reader *reader, const vly_map_entry *map)
{
    const vly_toml_node *except = vly_toml_get(map->node, "except");
    if (map->n_cells != 1)
        return vly_reader_fail_key(reader, map->node,
                                   "%s has %u pairs of areas, wanted one: rule "
                                   "file takes one area in from and in to",
                                   map->label, map->n_cells);
    if (except)
        return vly_reader_fail_key(reader, except,
                                   "except: rule file takes no such key");
    return VLY_OK;
}

/* The signature of HDF5 (its specification III.A); comma-separated text does
 * not begin with it. */
bool vly_file_is_hdf5(FILE *file)
{
    static const char mark[] = "\x89HDF\r\n\x1a\n";
    char first[8];
    bool same = fread(first, 1, 8, file) == 8 && memcmp(first, mark, 8) == 0;
    rewind(file);
    return same;
}

vly_status vly_edges_keep(vly_reader *reader, vly_edge_list *edges)
{
    vly_genome *genome = reader->genome;
    vly_edge_list **grown = vly_realloc(
        genome->edges, genome->n_edge_lists + (size_t)1, sizeof(*grown));
    if (!grown) {
        vly_edges_destroy(edges);
        return vly_reader_nomem(reader, sizeof(*grown), "the maps");
    }
    genome->edges = grown;
    genome->edges[genome->n_edge_lists++] = edges;
    return VLY_OK;
}

vly_status vly_file_keep_name(vly_reader *reader, const char *name, char **out)
{
    vly_status status = VLY_OK;
    VLY_TRY(vly_reader_alloc(reader, strlen(name) + 1, 1, out));
    memcpy(*out, name, strlen(name));
out:
    return status;
}

vly_status vly_file_keep_path(vly_reader *reader, const char *path, char **out)
{
    char *absolute = realpath(path, NULL);
    vly_status status =
        vly_file_keep_name(reader, absolute ? absolute : path, out);
    free(absolute);
    return status;
}

/* Notes about the file. */
static vly_status note_edges(vly_reader *reader, const vly_toml_node *node,
                             const vly_edge_spec *spec,
                             const vly_edge_list *edges)
{
    char dt[VLY_NUMBER_SIZE];
    vly_status status = VLY_OK;
    vly_toml_print_number(spec->dt_ms, dt);
    if (edges->n_rounded)
        VLY_TRY(vly_reader_note(
            reader, node,
            "%.200s: %" PRIu64 " of %" PRIu64 " delays are no whole number of "
            "bursts of dt_ms = %s and were rounded",
            node->u.string, edges->n_rounded, edges->n, dt));
    if (*spec->left)
        VLY_TRY(vly_reader_note(reader, node, "%.200s: not taken over: %s",
                                node->u.string, spec->left));
    if (spec->types && *spec->types->left)
        VLY_TRY(vly_reader_note(reader, node, "%.200s: not taken over: %s",
                                spec->types->name, spec->types->left));
    /* synapses to FEAGI areas have a delay of one burst */
    if (!edges->delay && !spec->map_delay &&
        !(spec->to->model->flags & VLY_AREA_FEAGI))
        VLY_TRY(vly_reader_note(reader, node,
                                "%.200s has no delay and the map has none: its "
                                "synapses take one burst, %s ms",
                                node->u.string, dt));
out:
    return status;
}

/* Ids of a file count the neurons of the end: an end that is not a whole area
 * is like an area of its own. */
static const vly_area *area_of(const vly_genome *genome, const vly_end *end,
                               vly_area *own)
{
    const vly_area *area = &genome->areas[end->parts[0].area];
    if (vly_end_whole(genome, end))
        return area;
    *own = *area;
    own->name = end->name;
    own->n_neurons = end->n_neurons;
    return own;
}

static vly_status read_edges(vly_reader *reader, vly_map_entry *map,
                             const vly_toml_node *node, const char *path,
                             FILE *file, const vly_table *table,
                             const vly_edge_types *types)
{
    const vly_map_cell *cell = &map->cells[0];
    vly_area own[2];
    const vly_area *from = area_of(reader->genome, cell->source, &own[0]);
    const vly_area *to = area_of(reader->genome, cell->target, &own[1]);
    vly_error why = VLY_ERROR_INIT;
    vly_edge_list *edges = NULL;
    char left[VLY_EDGE_LEFT] = "";
    const vly_edge_spec spec = {
        .from = strcmp(from->name, to->name) == 0 ? to : from,
        .to = to,
        .weight_suffix = to->model->ports[map->port].suffix,
        .population = map->population,
        .types = types,
        .left = left,
        .self = map->self,
        .multiple = map->multiple,
        .map_weight = key_begins(map->node, "weight"),
        .map_delay = key_begins(map->node, "delay"),
        .dt_ms = reader->genome->dt_ms,
    };
    vly_status status;
    if (table && (map->population || types))
        status = vly_fail(
            &why, VLY_E_PARSE, "%.300s is a table of arrays, wanted no %s",
            table->name, map->population ? "population" : "edge_types_file");
    else if (table)
        status = vly_edges_from_columns(table, &spec, &edges, &why);
    else if (vly_file_is_hdf5(file))
        status =
            vly_edges_from_sonata(path, node->u.string, &spec, &edges, &why);
    else if (types)
        status = vly_fail(&why, VLY_E_PARSE,
                          "%.300s is not an HDF5 file, wanted one, or no "
                          "edge_types_file",
                          node->u.string);
    else
        status =
            vly_edges_from_table(file, node->u.string, &spec, &edges, &why);
    if (status == VLY_OK && edges->n == 0) {
        vly_edges_destroy(edges);
        status = vly_fail(&why, VLY_E_PARSE,
                          "%.300s has no synapse, wanted one at least",
                          node->u.string);
    }
    status = vly_file_placed(reader, node, status, &why);
    if (status != VLY_OK)
        return status;
    map->edges = edges;
    VLY_TRY(vly_edges_keep(reader, edges));
    VLY_TRY(note_edges(reader, node, &spec, edges));
out:
    return status;
}

/* edge_types_file of a map of SONATA edges */
static vly_status read_types(vly_reader *reader, vly_map_entry *map,
                             const vly_toml_node *node, vly_edge_types *types)
{
    vly_error why = VLY_ERROR_INIT;
    FILE *file = NULL;
    char *path = NULL;
    vly_status status;
    VLY_TRY(
        vly_file_open_key(reader, node, "edge_types_file", NULL, &path, &file));
    status = vly_edge_types_init(types, file, node->u.string, &why);
    VLY_TRY(vly_file_placed(reader, node, status, &why));
    VLY_TRY(vly_file_keep_path(reader, path, &map->edge_types));
out:
    if (file)
        fclose(file);
    return status;
}

/* Keys of rule file under another rule. */
static vly_status spare_file_keys(vly_reader *reader, const vly_map_entry *map)
{
    static const char *const keys[] = {"file", "population", "edge_types_file"};
    for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++) {
        const vly_toml_node *extra = vly_toml_get(map->node, keys[i]);
        if (extra)
            return vly_reader_fail_key(reader, extra,
                                       "%s: rule %s takes no such key",
                                       extra->key, vly_rules[map->rule].name);
    }
    return VLY_OK;
}

vly_status vly_map_file(vly_reader *reader, vly_map_entry *map)
{
    const vly_toml_node *node = vly_toml_get(map->node, "file");
    const vly_toml_node *population = vly_toml_get(map->node, "population");
    const vly_toml_node *given = vly_toml_get(map->node, "edge_types_file");
    const vly_table *table = NULL;
    vly_edge_types types = {0};
    FILE *file = NULL;
    char *path = NULL;
    vly_status status = VLY_OK;
    if (map->rule != VLY_RULE_FILE)
        return spare_file_keys(reader, map);
    if (!node)
        return vly_reader_fail_key(reader, map->node,
                                   "%s has no file, wanted file = \"NAME\"",
                                   map->label);
    VLY_TRY(check_map(reader, map));
    if (population)
        VLY_TRY(vly_reader_string(reader, population, "population",
                                  &map->population));
    if (given)
        VLY_TRY(read_types(reader, map, given, &types));
    table = node->kind == VLY_TOML_STRING
                ? vly_tables_find(reader, node->u.string)
                : NULL;
    if (!table)
        VLY_TRY(vly_file_open(reader, node, &path, &file));
    VLY_TRY(read_edges(reader, map, node, path, file, table,
                       given ? &types : NULL));
    VLY_TRY(table ? vly_file_keep_name(reader, table->name, &map->file)
                  : vly_file_keep_path(reader, path, &map->file));
out:
    if (file)
        fclose(file);
    vly_edge_types_deinit(&types);
    return status;
}

/* ---- values ------------------------------------------------------------- */

typedef struct value_column {
    const vly_value_spec *spec;
    vly_csv csv;
    uint32_t field;
    double *values;
    uint32_t n;
    uint32_t capacity;
} value_column;

static vly_status check_value(value_column *column, double value)
{
    const vly_value_spec *spec = column->spec;
    char a[VLY_NUMBER_SIZE], b[VLY_NUMBER_SIZE], c[VLY_NUMBER_SIZE];
    if (!(value >= spec->lo && value <= spec->hi))
        return vly_csv_fail(&column->csv, column->field,
                            "%s is %s, wanted %s to %s", spec->what,
                            vly_toml_print_number(value, a),
                            vly_toml_print_number(spec->lo, b),
                            vly_toml_print_number(spec->hi, c));
    if ((spec->whole || spec->boolean) && vly_floor(value) != value)
        return vly_csv_fail(&column->csv, column->field,
                            "%s is %s, wanted a whole number", spec->what,
                            vly_toml_print_number(value, a));
    return VLY_OK;
}

static vly_status add_value(value_column *column)
{
    double value = 0;
    vly_status status = VLY_OK;
    VLY_TRY(vly_csv_number(&column->csv, column->field, &value));
    VLY_TRY(check_value(column, value));
    uint32_t most = column->spec->n ? column->spec->n : VALUES_MAX;
    if (column->n == most)
        return vly_csv_fail(&column->csv, column->csv.n_fields,
                            "more than %u lines of values, wanted one a neuron",
                            most);
    if (column->n == column->capacity) {
        size_t room = column->capacity ? (size_t)column->capacity * 2 : 1024;
        double *grown = vly_realloc(column->values, room, sizeof(*grown));
        if (!grown)
            return vly_fail_nomem(column->csv.error, room * sizeof(*grown),
                                  column->spec->what);
        column->values = grown;
        column->capacity = (uint32_t)room;
    }
    column->values[column->n++] = value;
out:
    return status;
}

static vly_status read_column(value_column *column, FILE *file,
                              const char *name, const char *wanted,
                              vly_error *error)
{
    vly_status status;
    vly_csv *csv = &column->csv;
    uint32_t n = column->spec->n;
    bool more = true;
    VLY_TRY(vly_csv_init(csv, file, name, error));
    column->field = vly_csv_column(csv, wanted);
    if (column->field == csv->n_fields)
        return vly_csv_fail(csv, csv->n_fields,
                            "no column %.80s, wanted it, or column = \"NAME\" "
                            "in the genome",
                            wanted);
    for (;;) {
        VLY_TRY(vly_csv_next(csv, &more));
        if (!more)
            break;
        VLY_TRY(add_value(column));
    }
    if (column->n == 0 || (n && column->n != n))
        return vly_fail(error, VLY_E_PARSE,
                        "%.300s has %u lines of values, wanted %u, one a "
                        "neuron",
                        name, column->n, n ? n : 1);
out:
    return status;
}

vly_status vly_value_from_file(vly_reader *reader, const vly_toml_node *node,
                               const vly_value_spec *spec, vly_value *value)
{
    const vly_key_list list = {"a value from a file", vly_keys_column, NULL};
    const vly_toml_node *given = vly_toml_get(node, "file");
    const vly_toml_node *named = vly_toml_get(node, "column");
    const char *wanted = spec->what;
    vly_error why = VLY_ERROR_INIT;
    value_column column = {.spec = spec};
    const vly_table *table = NULL;
    FILE *file = NULL;
    char *path = NULL;
    vly_status status;
    VLY_TRY(vly_reader_keys(reader, node, &list));
    if (!spec->neurons)
        return vly_reader_wrong(reader, given, spec->what,
                                "a number or a distribution");
    if (named)
        VLY_TRY(vly_reader_string(reader, named, "column", &wanted));
    table = given->kind == VLY_TOML_STRING
                ? vly_tables_find(reader, given->u.string)
                : NULL;
    if (!table)
        VLY_TRY(vly_file_open(reader, given, &path, &file));
    const bool nodes = file && vly_file_is_hdf5(file);
    if (!nodes)
        VLY_TRY(vly_values_no_nodes(reader, node));
    if (table)
        status = vly_values_from_column(table, wanted, spec, &column.values,
                                        &column.n, &why);
    else if (nodes)
        VLY_TRY(vly_values_from_nodes(reader, node, spec, path, wanted,
                                      &column.values, &column.n));
    else
        status = read_column(&column, file, given->u.string, wanted, &why);
    VLY_TRY(vly_file_placed(reader, given, status, &why));
    value->kind = VLY_VALUE_ARRAY;
    value->array = column.values;
    value->n_array = column.n;
    column.values = NULL;
out:
    if (file)
        fclose(file);
    vly_csv_deinit(&column.csv);
    vly_free(column.values);
    return status;
}
