/* SPDX-License-Identifier: Apache-2.0
 * A [[map]] as TOML: lists in from and to with matrices where the pairs
 * differ; links with an exception for each pair that differs from the first.
 */
#include <inttypes.h>
#include <string.h>

#include "genome/genome_resolve.h"
#include "genome/genome_space.h"

static bool same_value(const vly_value *a, const vly_value *b)
{
    return a->kind == b->kind && a->a == b->a && a->b == b->b &&
           a->clipped == b->clipped && a->clip_lo == b->clip_lo &&
           a->clip_hi == b->clip_hi;
}

static bool same_cell(const vly_map_cell *a, const vly_map_cell *b,
                      vly_cell_key key)
{
    switch (key) {
    case VLY_CELL_P:
        return a->p == b->p;
    case VLY_CELL_COUNT:
        return a->count == b->count;
    case VLY_CELL_IN_DEGREE:
        return a->in_degree == b->in_degree &&
               same_value(&a->degree, &b->degree);
    case VLY_CELL_OUT_DEGREE:
        return a->out_degree == b->out_degree &&
               same_value(&a->degree, &b->degree);
    case VLY_CELL_WEIGHT:
        return same_value(&a->weight, &b->weight);
    default:
        return same_value(&a->delay_ms, &b->delay_ms);
    }
}

static void put_cell(vly_text *text, const vly_map_cell *cell, vly_cell_key key)
{
    vly_value number = {.kind = VLY_VALUE_NUMBER, .a = cell->p};
    switch (key) {
    case VLY_CELL_P:
        vly_text_value(text, &number);
        break;
    case VLY_CELL_COUNT:
        vly_text_put(text, "%" PRIu64, cell->count);
        break;
    case VLY_CELL_IN_DEGREE:
    case VLY_CELL_OUT_DEGREE:
        if (cell->degree.kind != VLY_VALUE_NUMBER)
            vly_text_value(text, &cell->degree);
        else
            vly_text_put(text, "%u",
                         key == VLY_CELL_IN_DEGREE ? cell->in_degree
                                                   : cell->out_degree);
        break;
    case VLY_CELL_WEIGHT:
        vly_text_value(text, &cell->weight);
        break;
    default:
        vly_text_value(text, &cell->delay_ms);
        break;
    }
}

static void put_key(vly_text *text, const vly_genome *genome,
                    const vly_map_entry *map, const vly_map_cell *cell,
                    vly_cell_key key)
{
    static const char *const names[] = {"p",          "count",  "in_degree",
                                        "out_degree", "weight", "delay_ms"};
    const vly_model_info *model = genome->areas[cell->to].model;
    const char *suffix =
        key == VLY_CELL_WEIGHT ? model->ports[map->port].suffix : "";
    vly_text_put(text, "%s%s%s = ", names[key], *suffix ? "_" : "", suffix);
}

/* ---- matrices ----------------------------------------------------------- */

static void put_matrix(vly_text *text, const vly_map_entry *map,
                       vly_cell_key key)
{
    bool rows_same = true;
    for (uint32_t i = map->from.n; i < map->n_cells; i++)
        rows_same &=
            same_cell(&map->cells[i], &map->cells[i % map->from.n], key);
    vly_text_put(text, "[");
    for (uint32_t i = 0; i < (rows_same ? map->from.n : map->n_cells); i++) {
        bool first = i % map->from.n == 0;
        if (first)
            vly_text_put(text, i ? "],\n    [" : rows_same ? "[" : "\n    [");
        vly_text_put(text, first ? "" : ", ");
        put_cell(text, &map->cells[i], key);
    }
    vly_text_put(text, rows_same ? "]]" : "]\n]");
}

static void resolve_key(vly_text *text, const vly_genome *genome,
                        const vly_map_entry *map, vly_cell_key key)
{
    const vly_map_cell *first = &map->cells[0];
    bool same = true;
    uint32_t line = first->origin[key].line;
    uint32_t last = line;
    for (uint32_t i = 1; i < map->n_cells; i++) {
        const vly_origin *origin = &map->cells[i].origin[key];
        same &= same_cell(first, &map->cells[i], key);
        line = origin->line && origin->line < line ? origin->line : line;
        last = origin->line > last ? origin->line : last;
    }
    put_key(text, genome, map, first, key);
    if (same || map->linked || map->chosen)
        put_cell(text, first, key);
    else
        put_matrix(text, map, key);
    if (line != last)
        vly_text_put(text, "  # lines %u to %u\n", line, last);
    else
        vly_text_origin(text, &first->origin[key], NULL);
}

/* ---- exceptions of links ------------------------------------------------ */

static void resolve_exceptions(vly_text *text, const vly_genome *genome,
                               const vly_map_entry *map,
                               const vly_cell_key *keys, uint32_t n_keys)
{
    uint32_t n = 0;
    for (uint32_t i = 1; i < map->n_cells; i++) {
        const vly_map_cell *cell = &map->cells[i];
        bool same = true;
        for (uint32_t k = 0; k < n_keys; k++)
            same &= same_cell(cell, &map->cells[0], keys[k]);
        if (same)
            continue;
        vly_text_put(text, n++ ? ",\n" : "except = [\n");
        vly_text_put(text, "    { from = \"%s\", to = \"%s\"",
                     cell->source->name, cell->target->name);
        for (uint32_t k = 0; k < n_keys; k++) {
            if (same_cell(cell, &map->cells[0], keys[k]))
                continue;
            vly_text_put(text, ", ");
            put_key(text, genome, map, cell, keys[k]);
            put_cell(text, cell, keys[k]);
        }
        vly_text_put(text, " }");
    }
    vly_text_put(text, n ? "\n]\n" : "");
}

/* ---- one map ------------------------------------------------------------ */

static void put_names(vly_text *text, const char *key, const vly_end_list *list)
{
    vly_text_put(text, "%s = [", key);
    for (uint32_t i = 0; i < list->n; i++)
        vly_text_put(text, "%s\"%s\"", i ? ", " : "", list->ends[i].name);
    vly_text_put(text, "]\n");
}

static void resolve_ends(vly_text *text, const vly_map_entry *map)
{
    if (!map->linked && !map->chosen) {
        put_names(text, "from", &map->from);
        put_names(text, "to", &map->to);
        return;
    }
    vly_text_put(text, "link = [");
    for (uint32_t i = 0; i < map->n_cells; i++)
        vly_text_put(text, "%s\"%s -> %s\"", i ? ", " : "",
                     map->cells[i].source->name, map->cells[i].target->name);
    vly_text_put(text, "]\n");
}

static void put_vectors(vly_text *text, const vly_map_entry *map)
{
    vly_text_put(text, "vectors = [");
    for (uint32_t i = 0; i < map->n_vectors; i++)
        vly_text_put(text, "%s[%d, %d, %d]", i ? ", " : "", map->vectors[i][0],
                     map->vectors[i][1], map->vectors[i][2]);
    vly_text_put(text, "]");
}

static void put_tokens(vly_text *text, const int32_t tokens[3])
{
    static const char *const words[] = {"\"*\"", "\"?\"", "\"!\""};
    for (int i = 0; i < 3; i++) {
        vly_text_put(text, i ? ", " : "[");
        if (tokens[i] < 0)
            vly_text_put(text, "%s", words[VLY_PATTERN_ANY - tokens[i]]);
        else
            vly_text_put(text, "%d", tokens[i]);
    }
    vly_text_put(text, "]");
}

static void put_patterns(vly_text *text, const vly_map_entry *map)
{
    vly_text_put(text, "patterns = [");
    for (uint32_t i = 0; i < map->n_patterns; i++) {
        vly_text_put(text, i ? ", [" : "[");
        put_tokens(text, map->patterns[i].from);
        vly_text_put(text, ", ");
        put_tokens(text, map->patterns[i].to);
        vly_text_put(text, "]");
    }
    vly_text_put(text, "]");
}

/* Vectors or patterns are written in place of their morphology. */
static void put_composite(vly_text *text, const vly_map_entry *map)
{
    const vly_tiles *tiles = &map->tiles;
    vly_text_put(text, "composite = { src_seed = [%u, %u, %u], src_pattern = ",
                 tiles->seed[0], tiles->seed[1], tiles->seed[2]);
    for (int i = 0; i < 3; i++)
        vly_text_put(text, "%s[%u, %u]", i ? ", " : "[", tiles->choose[i],
                     tiles->skip[i]);
    vly_text_put(text, "], mapper = ");
    if (map->mapper == VLY_RULE_VECTORS || map->mapper == VLY_RULE_PATTERNS) {
        vly_text_put(text, "{ ");
        if (map->mapper == VLY_RULE_VECTORS)
            put_vectors(text, map);
        else
            put_patterns(text, map);
        vly_text_put(text, " } }");
    } else {
        vly_text_put(text, "\"%s\" }", vly_rules[map->mapper].name);
    }
}

static void resolve_shape(vly_text *text, const vly_map_entry *map)
{
    if (map->rule == VLY_RULE_VECTORS)
        put_vectors(text, map);
    else if (map->rule == VLY_RULE_PATTERNS)
        put_patterns(text, map);
    else if (map->rule == VLY_RULE_COMPOSITE)
        put_composite(text, map);
    else
        return;
    vly_text_origin(text, &map->shape_origin, NULL);
}

static void resolve_file(vly_text *text, const vly_map_entry *map)
{
    vly_text_put(text, "file = ");
    vly_text_string(text, map->file);
    vly_text_put(text, "\n");
    if (map->population) {
        vly_text_put(text, "population = ");
        vly_text_string(text, map->population);
        vly_text_put(text, "\n");
    }
    if (map->edge_types) {
        vly_text_put(text, "edge_types_file = ");
        vly_text_string(text, map->edge_types);
        vly_text_put(text, "\n");
    }
}

void vly_resolve_map(vly_text *text, const vly_genome *genome,
                     const vly_map_entry *map)
{
    vly_cell_key keys[3];
    uint32_t n_keys = 0;
    if (map->n_cells == 0)
        return; /* no pair of copies */
    if (vly_rules[map->rule].size != VLY_SIZE_NONE)
        keys[n_keys++] = vly_rule_size_cell(map->rule);
    if (!(map->edges && map->edges->weight))
        keys[n_keys++] = VLY_CELL_WEIGHT;
    if (!(map->edges && map->edges->delay))
        keys[n_keys++] = VLY_CELL_DELAY;
    vly_text_put(text, "\n[[map]]  # line %u\n", map->node->key_line);
    if (map->id)
        vly_text_put(text, "id = \"%s\"\n", map->id);
    resolve_ends(text, map);
    vly_text_put(text, "rule = \"%s\"\n", vly_rules[map->rule].name);
    resolve_shape(text, map);
    if (map->file)
        resolve_file(text, map);
    if (map->rule == VLY_RULE_DISTANCE)
        vly_resolve_space(text, genome, map);
    for (uint32_t k = 0; k < n_keys; k++)
        resolve_key(text, genome, map, keys[k]);
    vly_text_put(text, "self = %s", map->self ? "true" : "false");
    vly_text_origin(text, &map->self_origin, NULL);
    vly_text_put(text, "multiple = %s", map->multiple ? "true" : "false");
    vly_text_origin(text, &map->multiple_origin, NULL);
    if (map->has_port)
        vly_text_put(text, "port = %u\n", map->port);
    if (map->plasticity)
        vly_text_put(text, "plasticity = \"%s\"\n", map->plasticity->name);
    if (map->linked || map->chosen)
        resolve_exceptions(text, genome, map, keys, n_keys);
}
