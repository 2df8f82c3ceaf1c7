/* SPDX-License-Identifier: Apache-2.0
 * [[map]]: ends, rule and options.
 */
#include "genome/genome_map.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/number.h"
#include "genome/foreign_names.h"
#include "genome/genome_copies.h"
#include "genome/genome_file.h"
#include "genome/genome_generator.h"
#include "genome/genome_plasticity.h"
#include "genome/genome_space.h"
#include "genome/genome_value.h"
#include "genome/voxel_rule.h"

/* ", wanted one_to_one, ..." */
static const char rules_wanted[] = ", wanted "
#define VLY_RULE(id, name, keys, text) name ", "
#define VLY_FUNCTION(id, name, text, x, y, z, from_x, from_y, from_z)
#include "genome/rules/rules.def"
                                   "or a function (volley doc lists them)";

/* ---- ends --------------------------------------------------------------- */

static vly_status make_cells(vly_reader *reader, vly_map_entry *map,
                             const vly_toml_node *node, uint64_t n)
{
    const uint64_t total = n + reader->n_cells;
    if (total > VLY_PAIRS_MAX)
        return vly_reader_fail_key(reader, node,
                                   "%" PRIu64 " pairs of areas in all maps, "
                                   "wanted at most %u",
                                   total, VLY_PAIRS_MAX);
    vly_map_cell *grown = NULL;
    vly_status status = VLY_OK;
    VLY_TRY(vly_reader_alloc(reader, (size_t)n, sizeof(vly_map_cell), &grown));
    if (map->n_cells) /* links add up */
        memcpy(grown, map->cells, map->n_cells * sizeof(vly_map_cell));
    map->cells = grown;
out:
    return status;
}

static void set_ends(vly_map_cell *cell, const vly_end *source,
                     const vly_end *target)
{
    cell->source = source;
    cell->target = target;
    cell->from = source->parts[0].area;
    cell->to = target->parts[0].area;
}

static vly_status read_product(vly_reader *reader, vly_map_entry *map,
                               const vly_toml_node *from,
                               const vly_toml_node *to)
{
    vly_status status;
    VLY_TRY(vly_reader_ends(reader, from, "from", true, &map->from));
    VLY_TRY(vly_reader_ends(reader, to, "to", true, &map->to));
    uint64_t n = (uint64_t)map->from.n * map->to.n;
    VLY_TRY(make_cells(reader, map, from, n));
    map->n_rows = map->to.n;
    map->n_columns = map->from.n;
    for (uint32_t i = 0; i < n; i++) {
        map->cells[i].row = i / map->from.n;
        map->cells[i].column = i % map->from.n;
        set_ends(&map->cells[i], &map->from.ends[i % map->from.n],
                 &map->to.ends[i / map->from.n]);
    }
    map->n_cells = (uint32_t)n;
out:
    return status;
}

/* "A -> B", either side as in from and to; begins: where they are in it */
static vly_status split_link(vly_reader *reader, const vly_toml_node *node,
                             char *sides[2], uint32_t begins[2])
{
    const char *text = node->kind == VLY_TOML_STRING ? node->u.string : "";
    const char *arrow = strstr(text, "->");
    const char *starts[2] = {text, arrow ? arrow + 2 : text};
    vly_status status = VLY_OK;
    for (int i = 0; i < 2; i++) {
        const char *end = i ? text + strlen(text) : arrow;
        while (arrow && *starts[i] == ' ')
            starts[i]++;
        while (arrow && end > starts[i] && end[-1] == ' ')
            end--;
        if (!arrow || end <= starts[i] || strstr(arrow + 2, "->"))
            return vly_reader_wrong(reader, node, "link", "\"A -> B\"");
        VLY_TRY(vly_reader_alloc(reader, (size_t)(end - starts[i]) + 1, 1,
                                 &sides[i]));
        memcpy(sides[i], starts[i], (size_t)(end - starts[i]));
        begins[i] = (uint32_t)(starts[i] - text);
    }
out:
    return status;
}

static int compare_cells(const void *a, const void *b)
{
    const vly_map_cell *const *x = a;
    const vly_map_cell *const *y = b;
    int order = strcmp((*x)->source->name, (*y)->source->name);
    return order ? order : strcmp((*x)->target->name, (*y)->target->name);
}

static vly_status check_repeats(vly_reader *reader, const vly_map_entry *map,
                                const vly_toml_node *node)
{
    const vly_map_cell **cells = NULL;
    vly_status status = VLY_OK;
    VLY_TRY(vly_reader_alloc(reader, map->n_cells, sizeof(*cells), &cells));
    for (uint32_t i = 0; i < map->n_cells; i++)
        cells[i] = &map->cells[i];
    qsort(cells, map->n_cells, sizeof(*cells), compare_cells);
    for (uint32_t i = 1; i < map->n_cells; i++)
        if (cells[i]->source->n_neurons && cells[i]->target->n_neurons &&
            compare_cells(&cells[i], &cells[i - 1]) == 0)
            return vly_reader_fail(
                reader, node, "link names %s -> %s twice, wanted each once",
                cells[i]->source->name, cells[i]->target->name);
out:
    return status;
}

static vly_status count_link(vly_reader *reader, const vly_toml_node *node,
                             vly_end_list lists[2])
{
    char *sides[2] = {NULL, NULL};
    uint32_t begins[2] = {0, 0};
    vly_status status;
    VLY_TRY(split_link(reader, node, sides, begins));
    for (int i = 0; i < 2; i++)
        VLY_TRY(vly_reader_ends_in(reader, node, "link", sides[i], begins[i],
                                   &lists[i]));
out:
    return status;
}

static vly_status read_links(vly_reader *reader, vly_map_entry *map,
                             const vly_toml_node *node)
{
    vly_status status;
    vly_end_list(*lists)[2] = NULL;
    uint64_t n = 0;
    if (node->kind != VLY_TOML_ARRAY || node->n_children == 0 ||
        node->n_children > VLY_PAIRS_MAX)
        return vly_reader_wrong(reader, node, "link", "[\"A -> B\", ...]");
    map->linked = true;
    VLY_TRY(vly_reader_alloc(reader, node->n_children, sizeof(*lists), &lists));
    for (uint32_t i = 0; i < node->n_children; i++) {
        VLY_TRY(count_link(reader, &node->u.children[i], lists[i]));
        n += (uint64_t)lists[i][0].n * lists[i][1].n;
    }
    VLY_TRY(make_cells(reader, map, node, n));
    for (uint32_t i = 0; i < node->n_children; i++)
        for (uint32_t to = 0; to < lists[i][1].n; to++)
            for (uint32_t from = 0; from < lists[i][0].n; from++)
                set_ends(&map->cells[map->n_cells++], &lists[i][0].ends[from],
                         &lists[i][1].ends[to]);
    VLY_TRY(check_repeats(reader, map, node));
out:
    return status;
}

static vly_status read_ends(vly_reader *reader, vly_map_entry *map)
{
    const vly_toml_node *from = vly_toml_get(map->node, "from");
    const vly_toml_node *to = vly_toml_get(map->node, "to");
    const vly_toml_node *link = vly_toml_get(map->node, "link");
    if (link && (from || to))
        return vly_reader_fail_key(reader, link,
                                   "%s has link and %s, wanted one of them",
                                   map->label, from ? "from" : "to");
    if (link)
        return read_links(reader, map, link);
    if (!from || !to)
        return vly_reader_fail_key(reader, map->node,
                                   "%s has no %s, wanted from and to, or link",
                                   map->label, from ? "to" : "from");
    return read_product(reader, map, from, to);
}

/* A pool has one unit of weights, and one set of ports. */
static vly_status check_pool(vly_reader *reader, const vly_map_entry *map,
                             const vly_end *to)
{
    const vly_area *areas = reader->genome->areas;
    const vly_area *first = &areas[to->parts[0].area];
    vly_status status = VLY_OK;
    for (uint32_t i = 0; i < to->n_parts; i++) {
        const vly_area *area = &areas[to->parts[i].area];
        VLY_TRY(vly_generator_spared(reader, map->node, map->label, true,
                                     to->parts[i].area));
        if (area->model != first->model)
            return vly_reader_fail_key(
                reader, map->node,
                "%s onto the pool %.80s of area %s (%s) and area %s (%s), "
                "wanted areas of one model",
                map->label, to->name, first->name, first->model->id, area->name,
                area->model->id);
    }
out:
    return status;
}

/* Voxels are those of whole areas; patterns and vectors choose among them. */
static vly_status check_whole(vly_reader *reader, const vly_map_entry *map)
{
    if (!vly_rule_of_voxels(map->rule))
        return VLY_OK;
    for (uint32_t i = 0; i < map->n_cells; i++) {
        const vly_map_cell *cell = &map->cells[i];
        const vly_end *part =
            !vly_end_whole(reader->genome, cell->source)   ? cell->source
            : !vly_end_whole(reader->genome, cell->target) ? cell->target
                                                           : NULL;
        if (part)
            return vly_reader_fail_key(
                reader, map->node,
                "%s: %.80s with rule %s, wanted whole areas: it connects "
                "voxels, and patterns choose them",
                map->label, part->name, vly_rules[map->rule].name);
    }
    return VLY_OK;
}

/* ---- rule and options --------------------------------------------------- */

static vly_status read_rule(vly_reader *reader, vly_map_entry *map)
{
    const char *name = NULL;
    const vly_toml_node *node = vly_toml_get(map->node, "rule");
    if (!node)
        return vly_reader_fail_key(reader, map->node, "%s has no rule%s",
                                   map->label, rules_wanted);
    vly_status status = VLY_OK;
    VLY_TRY(vly_reader_string(reader, node, "rule", &name));
    if (strcmp(name, "function") == 0)
        return vly_map_function(reader, map);
    vly_suggest suggest = {0};
    map->rule = vly_rule_find(name);
    if (map->rule != VLY_RULES)
        return VLY_OK;
    for (uint32_t i = 0; i < VLY_RULES; i++)
        vly_foreign_offer(&suggest, name, vly_rules[i].name);
    char hint[VLY_HINT_SIZE];
    vly_foreign_hint(&suggest, name, hint, sizeof(hint));
    status = vly_reader_fail(reader, node, "no rule \"%.80s\"%s", name,
                             *hint ? hint : rules_wanted);
out:
    return status;
}

static vly_status read_port(vly_reader *reader, vly_map_entry *map)
{
    const vly_toml_node *node = vly_toml_get(map->node, "port");
    vly_status status = VLY_OK;
    for (uint32_t i = 0; i < map->n_cells; i++) {
        const vly_area *to = &reader->genome->areas[map->cells[i].to];
        uint32_t port = 0;
        if (!node) {
            VLY_TRY(vly_reader_no_port(reader, map->node, map->label, to));
            continue;
        }
        VLY_TRY(vly_reader_port(reader, node, to, &port));
        if (i > 0 && port != map->port)
            return vly_reader_fail(
                reader, node,
                "port %s is port %u of area %s and port %u of area %s, wanted "
                "a map for each",
                node->u.string, map->port,
                reader->genome->areas[map->cells[0].to].name, port, to->name);
        map->port = port;
        map->has_port = true;
    }
out:
    return status;
}

static vly_status read_options(vly_reader *reader, vly_map_entry *map)
{
    const vly_toml_node *self = vly_toml_get(map->node, "self");
    const vly_toml_node *multiple = vly_toml_get(map->node, "multiple");
    bool listed = map->rule == VLY_RULE_FILE; /* twice only if asked for */
    bool repeats = vly_rule_is(map->rule, VLY_TRAIT_DRAWS_PAIRS) ||
                   (map->rule == VLY_RULE_DISTANCE &&
                    map->space.draw != VLY_SPACE_BERNOULLI);
    vly_status status = VLY_OK;
    map->self = true;
    map->multiple = repeats;
    if (self) {
        VLY_TRY(vly_reader_bool(reader, self, "self", &map->self));
        map->self_origin = vly_reader_origin(self, VLY_ORIGIN_FILE);
    }
    if (multiple) {
        VLY_TRY(vly_reader_bool(reader, multiple, "multiple", &map->multiple));
        map->multiple_origin = vly_reader_origin(multiple, VLY_ORIGIN_FILE);
        if (map->multiple && !repeats && !listed)
            return vly_reader_fail(reader, multiple,
                                   "multiple is true, wanted false: rule %s "
                                   "makes no pair of neurons twice",
                                   vly_rules[map->rule].name);
    }
    status = read_port(reader, map);
out:
    return status;
}

/* ---- all maps ----------------------------------------------------------- */

static vly_status read_map(vly_reader *reader, const vly_toml_node *node,
                           vly_map_entry *map, double *n_synapses)
{
    const vly_key_list list = {"a [[map]]", vly_keys_map, NULL};
    vly_status status;
    map->node = node;
    VLY_TRY(vly_reader_label(reader, node, "map", reader->n_maps, &map->id,
                             &map->label));
    VLY_TRY(vly_reader_keys(reader, node, &list));
    VLY_TRY(read_ends(reader, map));
    VLY_TRY(vly_map_copies(reader, map));
    for (uint32_t i = 0; i < map->n_cells; i++)
        VLY_TRY(check_pool(reader, map, map->cells[i].target));
    VLY_TRY(read_rule(reader, map));
    VLY_TRY(check_whole(reader, map));
    VLY_TRY(vly_map_shape(reader, map));
    VLY_TRY(vly_map_space(reader, map));
    VLY_TRY(read_options(reader, map));
    VLY_TRY(vly_map_file(reader, map));
    VLY_TRY(vly_cells_read(reader, map));
    VLY_TRY(vly_map_plasticity(reader, map));
    VLY_TRY(vly_pairs_make(reader, map, n_synapses));
out:
    return status;
}

vly_status vly_maps_read(vly_reader *reader)
{
    const vly_toml_node *maps = vly_toml_get(&reader->root, "map");
    double n_synapses = 0;
    vly_status status;
    VLY_TRY(vly_morphologies_read(reader));
    if (!maps)
        return VLY_OK;
    VLY_TRY(vly_reader_tables(reader, maps, "map"));
    VLY_TRY(vly_reader_unique(reader, maps, "map"));
    VLY_TRY(vly_reader_alloc(reader, maps->n_children, sizeof(vly_map_entry),
                             &reader->maps));
    for (uint32_t i = 0; i < maps->n_children; i++) {
        VLY_TRY(read_map(reader, &maps->u.children[i], &reader->maps[i],
                         &n_synapses));
        reader->n_cells += reader->maps[i].n_cells;
        reader->n_maps++;
    }
    reader->genome->n_synapses_max = vly_count_of(n_synapses);
    if ((double)reader->genome->n_synapses_max < n_synapses)
        reader->genome->n_synapses_max++;
out:
    return status;
}
