/* SPDX-License-Identifier: Apache-2.0
 * Synapses from comma-separated text, with the columns of edge_columns.c. A
 * file of several maps, as `volley run --weights` writes it, has columns map,
 * from and to as well: lines of another map (the population) or of other areas
 * are left out.
 */
#include <string.h>

#include "base/memory.h"
#include "genome/csv_reader.h"
#include "genome/edge_columns.h"
#include "genome/edge_list.h"

/* Columns that say to which map and areas a line belongs. */
typedef enum edge_owner { OWNER_MAP, OWNER_FROM, OWNER_TO, OWNERS } edge_owner;

typedef struct edge_columns {
    uint32_t part[VLY_EDGE_PARTS]; /* n_fields: none */
    uint32_t owner[OWNERS];
} edge_columns;

/* ---- columns ------------------------------------------------------------ */

/* Shows a name in a message only if the line has a column source or target, or
 * begins with one (separated by semicolons): the first line of a file that is
 * not a table of synapses is not shown. */
static vly_status not_ours(vly_csv *csv, uint32_t field)
{
    const char *name = csv->names[field];
    const bool is_ours = vly_csv_column(csv, "source") < csv->n_fields ||
                         vly_csv_column(csv, "target") < csv->n_fields ||
                         strncmp(name, "source", 6) == 0 ||
                         strncmp(name, "target", 6) == 0;
    if (is_ours)
        return vly_csv_fail(csv, field,
                            "column %.40s, wanted source, target, weight and "
                            "delay, separated by commas",
                            name);
    return vly_csv_fail(csv, field,
                        "column %u has another name, wanted source, target, "
                        "weight and delay, separated by commas",
                        field + 1);
}

/* OWNERS: the name is of no such column. */
static edge_owner owner_of(const char *name)
{
    static const char *const names[] = {"map", "from", "to"};
    edge_owner owner = OWNER_MAP;
    while (owner < OWNERS && strcmp(name, names[owner]) != 0)
        owner++;
    return owner;
}

/* The columns that say whose a line is; the others in names [n_fields] and
 * their places. Returns the number of the others. */
static uint32_t take_owners(const vly_csv *csv, edge_columns *columns,
                            const char **names, uint32_t *places)
{
    uint32_t n = 0;
    for (int owner = 0; owner < OWNERS; owner++)
        columns->owner[owner] = csv->n_fields;
    for (uint32_t i = 0; i < csv->n_fields; i++) {
        edge_owner owner = owner_of(csv->names[i]);
        if (owner < OWNERS && columns->owner[owner] == csv->n_fields) {
            columns->owner[owner] = i;
            continue;
        }
        names[n] = csv->names[i];
        places[n++] = i;
    }
    return n;
}

static vly_status find_columns(vly_csv *csv, const vly_edge_spec *spec,
                               edge_columns *columns)
{
    char sentence[VLY_EDGE_SENTENCE];
    uint32_t wrong = 0;
    vly_status status = VLY_OK;
    const char **names = vly_calloc(csv->n_fields, sizeof *names);
    uint32_t *places = vly_calloc(csv->n_fields, sizeof *places);
    if (!names || !places) {
        status = vly_fail_nomem(csv->error, csv->n_fields * sizeof *names,
                                "names of columns");
        goto out;
    }
    uint32_t n = take_owners(csv, columns, names, places);
    bool good =
        vly_edge_columns_find(spec, names, n, columns->part, &wrong, sentence);
    uint32_t field = wrong < n ? places[wrong] : csv->n_fields;
    for (int part = 0; part < VLY_EDGE_PARTS; part++)
        columns->part[part] = columns->part[part] < n
                                  ? places[columns->part[part]]
                                  : csv->n_fields;
    if (!good)
        status = *sentence ? vly_csv_fail(csv, field, "%s", sentence)
                           : not_ours(csv, field);
    else if (spec->population && columns->owner[OWNER_MAP] == csv->n_fields)
        status = vly_csv_fail(csv, csv->n_fields,
                              "no column map, wanted it or a file of HDF5, or "
                              "no population");

out:
    vly_free(names);
    vly_free(places);
    return status;
}

/* ---- lines -------------------------------------------------------------- */

static const char *owner_field(const vly_csv *csv, const edge_columns *columns,
                               edge_owner owner)
{
    uint32_t field = columns->owner[owner];
    return field < csv->n_fields ? csv->fields[field] : NULL;
}

static bool other(const char *found, const char *wanted)
{
    return found && wanted && strcmp(found, wanted) != 0;
}

/* Whether the line belongs to this map and these areas. *map: the map of the
 * first line that does, if the population is not given; owned. */
static vly_status is_mine(vly_csv *csv, const edge_columns *columns,
                          const vly_edge_spec *spec, char **map, bool *mine)
{
    const char *found = owner_field(csv, columns, OWNER_MAP);
    *mine = !other(found, spec->population) &&
            !other(owner_field(csv, columns, OWNER_FROM), spec->from->name) &&
            !other(owner_field(csv, columns, OWNER_TO), spec->to->name);
    if (!*mine || !found || spec->population)
        return VLY_OK;
    if (other(found, *map))
        return vly_csv_fail(csv, columns->owner[OWNER_MAP],
                            "map %.60s after %.60s, wanted one, or population "
                            "= \"NAME\" in the map",
                            found, *map);
    if (!*map)
        *map = vly_strdup(found);
    return *map ? VLY_OK
                : vly_fail_nomem(csv->error, strlen(found) + 1, "a name");
}

static vly_status read_line(vly_csv *csv, const uint32_t fields[VLY_EDGE_PARTS],
                            vly_edge_maker *maker)
{
    vly_status status;
    vly_edge edge = {.place = csv->line};
    vly_edge_part wrong;
    char sentence[VLY_EDGE_SENTENCE];
    VLY_TRY(vly_csv_index(csv, fields[VLY_EDGE_SOURCE],
                          maker->spec->from->n_neurons, &edge.source));
    VLY_TRY(vly_csv_index(csv, fields[VLY_EDGE_TARGET],
                          maker->spec->to->n_neurons, &edge.target));
    if (maker->has_weight)
        VLY_TRY(vly_csv_number(csv, fields[VLY_EDGE_WEIGHT], &edge.weight));
    if (maker->has_delay)
        VLY_TRY(vly_csv_number(csv, fields[VLY_EDGE_DELAY], &edge.delay));
    VLY_TRY(vly_edges_add(maker, &edge, &wrong, sentence));
    if (wrong != VLY_EDGE_PARTS)
        VLY_TRY(vly_csv_fail(csv, fields[wrong], "%s", sentence));
out:
    return status;
}

vly_status vly_edges_from_table(FILE *file, const char *name,
                                const vly_edge_spec *spec, vly_edge_list **list,
                                vly_error *error)
{
    vly_status status;
    vly_csv csv;
    vly_edge_maker maker;
    edge_columns columns;
    const uint32_t *fields = columns.part;
    char *map = NULL;
    bool more = true;
    bool mine = true;
    uint64_t twice = 0;
    vly_edges_init(&maker, spec, error);
    VLY_TRY(vly_csv_init(&csv, file, name, error));
    VLY_TRY(find_columns(&csv, spec, &columns));
    csv.is_ours = true;
    maker.has_weight = fields[VLY_EDGE_WEIGHT] < csv.n_fields;
    maker.has_delay = fields[VLY_EDGE_DELAY] < csv.n_fields;
    maker.delay_bursts =
        maker.has_delay &&
        vly_edge_column_bursts(csv.names[fields[VLY_EDGE_DELAY]]);
    for (;;) {
        VLY_TRY(vly_csv_next(&csv, &more));
        if (!more)
            break;
        VLY_TRY(is_mine(&csv, &columns, spec, &map, &mine));
        if (mine)
            VLY_TRY(read_line(&csv, fields, &maker));
    }
    VLY_TRY(vly_edges_finish(&maker, &twice, list));
    if (twice) {
        csv.line = twice;
        VLY_TRY(vly_csv_fail(&csv, csv.n_fields,
                             "the second synapse from this source to this "
                             "target, wanted one, or multiple = true in the "
                             "map"));
    }
out:
    vly_free(map);
    vly_csv_deinit(&csv);
    vly_edges_deinit(&maker);
    return status;
}
