/* SPDX-License-Identifier: Apache-2.0
 * Synapses from comma-separated text: columns source and target (indices in
 * their areas, from 0), weight or weight_<unit of the target's port>, delay or
 * delay_ms or delay_bursts. A file of several maps, as `volley run --weights`
 * writes it, has columns map, from and to as well: lines of another map (the
 * population) or of other areas are left out.
 */
#include <string.h>

#include "base/memory.h"
#include "genome/csv_reader.h"
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

/* The part that a name means; VLY_EDGE_PARTS if none. */
static vly_edge_part part_of(const char *name)
{
    if (strcmp(name, "source") == 0)
        return VLY_EDGE_SOURCE;
    if (strcmp(name, "target") == 0)
        return VLY_EDGE_TARGET;
    if (strcmp(name, "weight") == 0 || strncmp(name, "weight_", 7) == 0)
        return VLY_EDGE_WEIGHT;
    if (strcmp(name, "delay") == 0 || strncmp(name, "delay_", 6) == 0)
        return VLY_EDGE_DELAY;
    return VLY_EDGE_PARTS;
}

static vly_status check_unit(vly_csv *csv, uint32_t field, vly_edge_part part,
                             const vly_edge_spec *spec)
{
    const char *name = csv->names[field];
    const char *suffix = spec->weight_suffix;
    if (part == VLY_EDGE_WEIGHT && name[6] && strcmp(name + 7, suffix) != 0)
        return vly_csv_fail(csv, field, "%.40s: %s takes weight%s%s", name,
                            spec->to->model->id, *suffix ? "_" : "", suffix);
    if (part == VLY_EDGE_DELAY && name[5] && strcmp(name, "delay_ms") != 0 &&
        strcmp(name, "delay_bursts") != 0)
        return vly_csv_fail(
            csv, field, "column %.40s, wanted delay_ms or delay_bursts", name);
    bool given = part == VLY_EDGE_WEIGHT  ? spec->map_weight
                 : part == VLY_EDGE_DELAY ? spec->map_delay
                                          : false;
    if (given)
        return vly_csv_fail(csv, field,
                            "column %.40s, but the map has a %s too, wanted "
                            "one of them",
                            name, part == VLY_EDGE_WEIGHT ? "weight" : "delay");
    return VLY_OK;
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

static vly_status find_columns(vly_csv *csv, const vly_edge_spec *spec,
                               edge_columns *columns)
{
    vly_status status = VLY_OK;
    static const char *const names[] = {"source", "target", "weight", "delay"};
    uint32_t *fields = columns->part;
    for (int part = 0; part < VLY_EDGE_PARTS; part++)
        fields[part] = csv->n_fields;
    for (int owner = 0; owner < OWNERS; owner++)
        columns->owner[owner] = csv->n_fields;
    for (uint32_t i = 0; i < csv->n_fields; i++) {
        vly_edge_part part = part_of(csv->names[i]);
        edge_owner owner = owner_of(csv->names[i]);
        if (owner < OWNERS && columns->owner[owner] == csv->n_fields) {
            columns->owner[owner] = i;
            continue;
        }
        if (part == VLY_EDGE_PARTS)
            return not_ours(csv, i);
        if (fields[part] < csv->n_fields)
            return vly_csv_fail(csv, i, "column %.40s beside %.40s, wanted one",
                                csv->names[i], csv->names[fields[part]]);
        fields[part] = i;
        VLY_TRY(check_unit(csv, i, part, spec));
    }
    for (int part = 0; part < VLY_EDGE_PARTS; part++) {
        bool needed = part < VLY_EDGE_WEIGHT ||
                      (part == VLY_EDGE_WEIGHT && !spec->map_weight);
        if (needed && fields[part] == csv->n_fields)
            return vly_csv_fail(csv, csv->n_fields, "no column %s%s",
                                names[part],
                                part == VLY_EDGE_WEIGHT
                                    ? " and no weight in the map, wanted one "
                                      "of them"
                                    : ", wanted it");
    }
    if (spec->population && columns->owner[OWNER_MAP] == csv->n_fields)
        return vly_csv_fail(csv, csv->n_fields,
                            "no column map, wanted it or a file of HDF5, or no "
                            "population");
out:
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
        strcmp(csv.names[fields[VLY_EDGE_DELAY]], "delay_bursts") == 0;
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
