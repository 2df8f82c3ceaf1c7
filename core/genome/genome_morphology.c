/* SPDX-License-Identifier: Apache-2.0
 * [morphology.NAME]: vectors, patterns, a composite of one of them or of a
 * function, or a function under another name; and the choice of one by a
 * [[map]].
 */
#include <string.h>

#include "genome/foreign_names.h"
#include "genome/genome_map.h"
#include "genome/genome_value.h"
#include "genome/voxel_rule.h"

/* ---- kinds -------------------------------------------------------------- */

static const char *const kinds[] = {"vectors", "patterns", "composite",
                                    "function"};
enum { VECTORS, PATTERNS, COMPOSITE, FUNCTION, N_KINDS };

#define KINDS_WANTED "vectors, patterns, composite or function"

/* The one kind of a table; N_KINDS without one. */
static vly_status find_kind(vly_reader *reader, const vly_toml_node *table,
                            int *kind)
{
    *kind = N_KINDS;
    for (int i = 0; i < N_KINDS; i++) {
        const vly_toml_node *node = vly_toml_get(table, kinds[i]);
        if (node && *kind != N_KINDS)
            return vly_reader_fail_key(reader, node,
                                       "both %s and %s, wanted one of "
                                       "them",
                                       kinds[*kind], kinds[i]);
        if (node)
            *kind = i;
    }
    return VLY_OK;
}

static vly_rule function_of(const char *name)
{
    vly_rule rule = vly_rule_find(name);
    return vly_rule_is_function(rule) ? rule : VLY_RULES;
}

static void offer_functions(vly_suggest *suggest, const char *name)
{
    for (uint32_t i = 0; i < VLY_RULES; i++)
        if (vly_rule_is_function((vly_rule)i))
            vly_foreign_offer(suggest, name, vly_rules[i].name);
}

static vly_status read_function(vly_reader *reader, const vly_toml_node *node,
                                vly_map_entry *map)
{
    const char *name = NULL;
    vly_suggest suggest = {0};
    char hint[100];
    vly_status status = VLY_OK;
    VLY_TRY(vly_reader_string(reader, node, "function", &name));
    map->mapper = function_of(name);
    if (map->mapper != VLY_RULES)
        return VLY_OK;
    offer_functions(&suggest, name);
    vly_suggest_text(&suggest, hint, sizeof(hint));
    status = vly_reader_fail(reader, node, "no function \"%.80s\"%s", name,
                             *hint ? hint
                                   : ", wanted projector or another of volley "
                                     "doc");
out:
    return status;
}

/* ---- composite ---------------------------------------------------------- */

static vly_status read_tiles(vly_reader *reader, const vly_toml_node *seed,
                             const vly_toml_node *pattern, vly_tiles *tiles)
{
    static const char *const what = "a number of src_pattern";
    uint64_t number = 0;
    vly_status status;
    if (seed->kind != VLY_TOML_ARRAY || seed->n_children != 3)
        return vly_reader_wrong(reader, seed, "src_seed", "[x, y, z] voxels");
    if (pattern->kind != VLY_TOML_ARRAY || pattern->n_children != 3)
        return vly_reader_wrong(reader, pattern, "src_pattern",
                                "[choose, skip] for each of x, y and z");
    for (uint32_t i = 0; i < 3; i++) {
        const vly_toml_node *axis = &pattern->u.children[i];
        VLY_TRY(vly_value_whole(reader, &seed->u.children[i],
                                "a size of src_seed", 1, VLY_NEURONS_MAX,
                                &number));
        tiles->seed[i] = (uint32_t)number;
        if (axis->kind != VLY_TOML_ARRAY || axis->n_children != 2)
            return vly_reader_wrong(reader, axis, "an axis of src_pattern",
                                    "[choose, skip]");
        VLY_TRY(vly_value_whole(reader, &axis->u.children[0], what, 1,
                                VLY_NEURONS_MAX, &number));
        tiles->choose[i] = (uint32_t)number;
        VLY_TRY(vly_value_whole(reader, &axis->u.children[1], what, 0,
                                VLY_NEURONS_MAX, &number));
        tiles->skip[i] = (uint32_t)number;
    }
out:
    return status;
}

static vly_status no_mapper(vly_reader *reader, const vly_toml_node *node,
                            const vly_toml_node *all)
{
    const char *name = node->u.string;
    vly_suggest suggest = {0};
    char hint[100];
    for (uint32_t i = 0; all && i < all->n_children; i++)
        vly_foreign_offer(&suggest, name, all->u.children[i].key);
    offer_functions(&suggest, name);
    vly_suggest_text(&suggest, hint, sizeof(hint));
    return vly_reader_fail(reader, node,
                           "mapper \"%.80s\" is not a morphology and no "
                           "function%s",
                           name, hint);
}

/* A table of vectors or patterns, or the name of a morphology or function. */
static vly_status read_mapper(vly_reader *reader, const vly_toml_node *node,
                              vly_map_entry *map)
{
    const vly_toml_node *all = vly_toml_get(&reader->root, "morphology");
    const vly_toml_node *table = node;
    int kind = N_KINDS;
    vly_status status;
    if (node->kind == VLY_TOML_STRING) {
        table = vly_toml_get(all, node->u.string);
        map->mapper = function_of(node->u.string);
        if (!table && map->mapper != VLY_RULES)
            return VLY_OK;
        if (!table)
            return no_mapper(reader, node, all);
    }
    if (table->kind != VLY_TOML_TABLE)
        return vly_reader_wrong(reader, node, "mapper",
                                "the name of a [morphology] or of a function, "
                                "{ vectors = ... } or { patterns = ... }");
    VLY_TRY(find_kind(reader, table, &kind));
    const vly_toml_node *item =
        kind < N_KINDS ? vly_toml_get(table, kinds[kind]) : NULL;
    if (!item || kind == COMPOSITE)
        return vly_reader_fail(reader, node,
                               "mapper has %s, wanted vectors, patterns or "
                               "function",
                               item ? "composite" : "none");
    map->mapper = kind == VECTORS ? VLY_RULE_VECTORS : VLY_RULE_PATTERNS;
    if (kind == VECTORS)
        VLY_TRY(vly_vectors_read(reader, item, map));
    else if (kind == PATTERNS)
        VLY_TRY(vly_patterns_read(reader, item, map));
    else
        VLY_TRY(read_function(reader, item, map));
out:
    return status;
}

static vly_status read_composite(vly_reader *reader, const vly_toml_node *node,
                                 vly_map_entry *map)
{
    static const char *const keys[] = {"src_seed", "src_pattern", "mapper"};
    const vly_key_list list = {"a composite", vly_keys_composite, NULL};
    const vly_toml_node *items[3];
    vly_status status;
    VLY_TRY(vly_reader_table(reader, node, "composite"));
    VLY_TRY(vly_reader_keys(reader, node, &list));
    for (uint32_t i = 0; i < 3; i++) {
        items[i] = vly_toml_get(node, keys[i]);
        if (!items[i])
            return vly_reader_fail_key(reader, node,
                                       "a composite has no %s, wanted "
                                       "src_seed, src_pattern and mapper",
                                       keys[i]);
    }
    VLY_TRY(read_tiles(reader, items[0], items[1], &map->tiles));
    VLY_TRY(read_mapper(reader, items[2], map));
out:
    return status;
}

/* ---- [morphology] ------------------------------------------------------- */

static vly_status read_kind(vly_reader *reader, const vly_toml_node *node,
                            int kind, vly_map_entry *map)
{
    map->shape_origin = vly_reader_origin(node, VLY_ORIGIN_FILE);
    switch (kind) {
    case VECTORS:
        return vly_vectors_read(reader, node, map);
    case PATTERNS:
        return vly_patterns_read(reader, node, map);
    case COMPOSITE:
        return read_composite(reader, node, map);
    default:
        return read_function(reader, node, map);
    }
}

static vly_status read_morphology(vly_reader *reader, const vly_toml_node *node)
{
    const vly_key_list list = {"a [morphology]", vly_keys_morphology, NULL};
    vly_map_entry scratch = {0};
    int kind = N_KINDS;
    vly_status status;
    VLY_TRY(vly_reader_table(reader, node, "morphology"));
    VLY_TRY(vly_reader_name(reader, node, "morphology", node->key));
    VLY_TRY(vly_reader_keys(reader, node, &list));
    VLY_TRY(find_kind(reader, node, &kind));
    if (kind == N_KINDS)
        return vly_reader_fail_key(
            reader, node, "[morphology.%s] is empty, wanted " KINDS_WANTED,
            node->key);
    VLY_TRY(read_kind(reader, vly_toml_get(node, kinds[kind]), kind, &scratch));
out:
    return status;
}

vly_status vly_morphologies_read(vly_reader *reader)
{
    const vly_toml_node *all = vly_toml_get(&reader->root, "morphology");
    if (!all)
        return VLY_OK;
    vly_status status = VLY_OK;
    VLY_TRY(vly_reader_table(reader, all, "morphology"));
    for (uint32_t i = 0; i < all->n_children; i++)
        VLY_TRY(read_morphology(reader, &all->u.children[i]));
out:
    return status;
}

/* ---- of a map ----------------------------------------------------------- */

/* The item of that kind in the morphology that a map names. */
static vly_status find_morphology(vly_reader *reader, const vly_toml_node *node,
                                  int kind, const vly_toml_node **item)
{
    const char *name = NULL;
    vly_status status = VLY_OK;
    VLY_TRY(vly_reader_string(reader, node, "morphology", &name));
    const vly_toml_node *all = vly_toml_get(&reader->root, "morphology");
    const vly_toml_node *found = vly_toml_get(all, name);
    vly_suggest suggest = {0};
    char hint[100];
    for (uint32_t i = 0; !found && all && i < all->n_children; i++)
        vly_foreign_offer(&suggest, name, all->u.children[i].key);
    if (!found)
        return vly_reader_fail(reader, node, "no morphology \"%.80s\"%s", name,
                               vly_suggest_text(&suggest, hint, sizeof(hint)));
    *item = vly_toml_get(found, kinds[kind]);
    if (*item)
        return VLY_OK;
    /* read before the maps: it has one kind */
    status = vly_reader_fail(
        reader, node, "morphology %.80s has %s, rule %s wants %s", name,
        found->u.children[0].key, kinds[kind], kinds[kind]);
out:
    return status;
}

vly_status vly_map_function(vly_reader *reader, vly_map_entry *map)
{
    const vly_toml_node *node = vly_toml_get(map->node, "morphology");
    const vly_toml_node *item = NULL;
    if (!node)
        return vly_reader_fail_key(reader, map->node,
                                   "%s has no morphology, rule function wants "
                                   "it (or name the function as the rule)",
                                   map->label);
    vly_status status = VLY_OK;
    VLY_TRY(find_morphology(reader, node, FUNCTION, &item));
    VLY_TRY(read_function(reader, item, map));
out:
    map->rule = map->mapper;
    return status;
}

static bool named_by_morphology(const vly_map_entry *map)
{
    const vly_toml_node *rule = vly_toml_get(map->node, "rule");
    return vly_rule_is_function(map->rule) &&
           strcmp(rule->u.string, "function") == 0;
}

static vly_status refuse_key(vly_reader *reader, const vly_map_entry *map,
                             const vly_toml_node *extra)
{
    return vly_reader_fail_key(reader, extra, "%s: rule %s takes no such key",
                               extra->key, vly_rules[map->rule].name);
}

vly_status vly_map_shape(vly_reader *reader, vly_map_entry *map)
{
    const vly_toml_node *morphology = vly_toml_get(map->node, "morphology");
    const vly_toml_node *item = NULL;
    int kind = map->rule == VLY_RULE_VECTORS     ? VECTORS
               : map->rule == VLY_RULE_PATTERNS  ? PATTERNS
               : map->rule == VLY_RULE_COMPOSITE ? COMPOSITE
                                                 : N_KINDS;
    map->mapper = map->rule;
    for (int i = 0; i < FUNCTION; i++) {
        const vly_toml_node *extra = vly_toml_get(map->node, kinds[i]);
        if (extra && i != kind)
            return refuse_key(reader, map, extra);
    }
    if (kind == N_KINDS && morphology && !named_by_morphology(map))
        return refuse_key(reader, map, morphology);
    if (kind == N_KINDS)
        return VLY_OK;
    item = vly_toml_get(map->node, kinds[kind]);
    if (!item == !morphology)
        return vly_reader_fail_key(
            reader, map->node, "%s has %s, wanted %s or morphology", map->label,
            item ? "both" : "neither", kinds[kind]);
    vly_status status = VLY_OK;
    if (!item)
        VLY_TRY(find_morphology(reader, morphology, kind, &item));
    VLY_TRY(read_kind(reader, item, kind, map));
out:
    return status;
}

/* ---- checks of a cell --------------------------------------------------- */

vly_status vly_shape_check(vly_reader *reader, const vly_map_entry *map,
                           const vly_map_cell *cell)
{
    const vly_area *from = &reader->genome->areas[cell->from];
    const vly_area *to = &reader->genome->areas[cell->to];
    if (!vly_rule_of_voxels(map->rule))
        return VLY_OK;
    if (!(from->has_voxels && to->has_voxels))
        return vly_reader_fail_key(reader, map->node,
                                   "%s from %s to %s, wanted voxels = "
                                   "[x, y, z] for area %s",
                                   vly_rules[map->rule].name, from->name,
                                   to->name,
                                   from->has_voxels ? to->name : from->name);
    for (int i = 0; map->rule == VLY_RULE_COMPOSITE && i < 3; i++)
        if (map->tiles.seed[i] > from->voxels[i])
            return vly_reader_fail_key(reader, map->node,
                                       "src_seed is %u along %c, wanted at "
                                       "most the %u voxels of area %s",
                                       map->tiles.seed[i], "xyz"[i],
                                       from -> voxels[i], from -> name);
    return VLY_OK;
}

double vly_shape_synapses(const vly_genome *genome, const vly_map_entry *map,
                          const vly_map_cell *cell)
{
    const vly_pair pair = {.from = cell->from,
                           .to = cell->to,
                           .rule = map->rule,
                           .mapper = map->mapper,
                           .vectors = map->vectors,
                           .n_vectors = map->n_vectors,
                           .patterns = map->patterns,
                           .n_patterns = map->n_patterns,
                           .tiles = map->tiles};
    return vly_voxel_synapses(genome, &pair);
}
