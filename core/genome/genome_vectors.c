/* SPDX-License-Identifier: Apache-2.0
 * [morphology.NAME] and the vectors of a [[map]].
 */
#include <stdlib.h>
#include <string.h>

#include "genome/genome_map.h"
#include "genome/genome_value.h"
#include "genome/suggest.h"

static int compare_vectors(const void *a, const void *b)
{
    return memcmp(a, b, 3 * sizeof(int32_t));
}

static vly_status read_vectors(vly_reader *reader, const vly_toml_node *node,
                               vly_map_entry *map)
{
    vly_status status;
    uint32_t n = node->n_children;
    if (node->kind != VLY_TOML_ARRAY || n == 0 || n > VLY_VECTORS_MAX)
        return vly_reader_wrong(reader, node, "vectors",
                                "a list of 1 to 4096 [dx, dy, dz]");
    int32_t(*sorted)[3] = NULL;
    VLY_TRY(vly_reader_alloc(reader, n, sizeof(*map->vectors), &map->vectors));
    VLY_TRY(vly_reader_alloc(reader, n, sizeof(*sorted), &sorted));
    for (uint32_t i = 0; i < n; i++)
        VLY_TRY(vly_value_vector(reader, &node->u.children[i], "a vector",
                                 map->vectors[i]));
    memcpy(sorted, map->vectors, n * sizeof(*sorted));
    qsort(sorted, n, sizeof(*sorted), compare_vectors);
    for (uint32_t i = 1; i < n; i++)
        if (compare_vectors(sorted[i - 1], sorted[i]) == 0)
            return vly_reader_fail(reader, node,
                                   "vector [%d, %d, %d] stands twice, wanted "
                                   "each once",
                                   sorted[i][0], sorted[i][1], sorted[i][2]);
    map->n_vectors = n;
    map->vectors_origin = vly_reader_origin(node, VLY_ORIGIN_FILE);
out:
    return status;
}

static vly_status read_morphology(vly_reader *reader, const vly_toml_node *node)
{
    static const char *const later[] = {"patterns", "composite", "function"};
    static const char *const keys[] = {"vectors", NULL};
    const vly_key_list list = {"a [morphology]", keys, NULL};
    vly_map_entry scratch = {0};
    vly_status status;
    VLY_TRY(vly_reader_table(reader, node, "morphology"));
    VLY_TRY(vly_reader_name(reader, node, "morphology", node->key));
    for (uint32_t i = 0; i < 3; i++) {
        const vly_toml_node *item = vly_toml_get(node, later[i]);
        if (item)
            return vly_reader_fail_key(reader, item,
                                       "morphology kind %s is not available "
                                       "in this version, wanted vectors",
                                       later[i]);
    }
    VLY_TRY(vly_reader_keys(reader, node, &list));
    const vly_toml_node *vectors = vly_toml_get(node, "vectors");
    if (!vectors)
        return vly_reader_fail_key(reader, node,
                                   "[morphology.%s] has no vectors, wanted "
                                   "vectors = [[dx, dy, dz], ...]",
                                   node->key);
    VLY_TRY(read_vectors(reader, vectors, &scratch));
out:
    return status;
}

vly_status vly_map_vectors(vly_reader *reader, vly_map_entry *map)
{
    const vly_toml_node *vectors = vly_toml_get(map->node, "vectors");
    const vly_toml_node *morphology = vly_toml_get(map->node, "morphology");
    const char *name = NULL;
    if (map->rule != VLY_RULE_VECTORS) {
        const vly_toml_node *extra = vectors ? vectors : morphology;
        if (extra)
            return vly_reader_fail_key(reader, extra,
                                       "%s: rule %s takes no such key",
                                       extra->key, vly_rule_names[map->rule]);
        return VLY_OK;
    }
    if (!vectors == !morphology)
        return vly_reader_fail_key(reader, map->node,
                                   "%s has %s, wanted vectors or morphology",
                                   map->label, vectors ? "both" : "neither");
    if (vectors)
        return read_vectors(reader, vectors, map);
    vly_status status =
        vly_reader_string(reader, morphology, "morphology", &name);
    if (status != VLY_OK)
        return status;
    const vly_toml_node *all = vly_toml_get(&reader->root, "morphology");
    const vly_toml_node *found = vly_toml_get(all, name);
    if (found)
        return read_vectors(reader, vly_toml_get(found, "vectors"), map);
    vly_suggest suggest = {0};
    char hint[100];
    for (uint32_t i = 0; all && i < all->n_children; i++)
        vly_suggest_offer(&suggest, name, all->u.children[i].key);
    return vly_reader_fail(reader, morphology, "no morphology \"%.80s\"%s",
                           name,
                           vly_suggest_text(&suggest, hint, sizeof(hint)));
}

vly_status vly_morphologies_read(vly_reader *reader)
{
    const vly_toml_node *all = vly_toml_get(&reader->root, "morphology");
    if (!all)
        return VLY_OK;
    vly_status status = vly_reader_table(reader, all, "morphology");
    for (uint32_t i = 0; status == VLY_OK && i < all->n_children; i++)
        status = read_morphology(reader, &all->u.children[i]);
    return status;
}
