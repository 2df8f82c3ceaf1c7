/* SPDX-License-Identifier: Apache-2.0
 * Lists of vectors and of patterns, of a [[map]] or a [morphology.NAME].
 */
#include <stdlib.h>
#include <string.h>

#include "genome/genome_map.h"
#include "genome/genome_value.h"
#include "genome/voxel_rule.h"

/* ---- vectors ------------------------------------------------------------ */

static int compare_vectors(const void *a, const void *b)
{
    return memcmp(a, b, 3 * sizeof(int32_t));
}

vly_status vly_vectors_read(vly_reader *reader, const vly_toml_node *node,
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
out:
    return status;
}

/* ---- patterns ----------------------------------------------------------- */

static vly_status read_token(vly_reader *reader, const vly_toml_node *node,
                             int32_t *token)
{
    const char *word = node->kind == VLY_TOML_STRING ? node->u.string : "";
    uint64_t number = 0;
    if (strcmp(word, "*") == 0) {
        *token = VLY_PATTERN_ANY;
    } else if (strcmp(word, "?") == 0) {
        *token = VLY_PATTERN_SAME;
    } else if (strcmp(word, "!") == 0) {
        *token = VLY_PATTERN_OTHER;
    } else if (node->kind == VLY_TOML_INTEGER || *word == '=') {
        vly_status status = vly_value_whole(
            reader, node, "a coordinate of a pattern", 0, INT32_MAX, &number);
        *token = (int32_t)number;
        return status;
    } else {
        return vly_reader_wrong(reader, node, "a coordinate of a pattern",
                                "a whole number, \"*\", \"?\" or \"!\"");
    }
    return VLY_OK;
}

static vly_status read_pattern(vly_reader *reader, const vly_toml_node *node,
                               vly_pattern *pattern)
{
    vly_status status;
    bool pair = node->kind == VLY_TOML_ARRAY && node->n_children == 2;
    for (uint32_t side = 0; pair && side < 2; side++)
        pair = node->u.children[side].kind == VLY_TOML_ARRAY &&
               node->u.children[side].n_children == 3;
    if (!pair)
        return vly_reader_wrong(reader, node, "a pattern",
                                "[[x, y, z] of the source, [x, y, z] of the "
                                "target]");
    const vly_toml_node *from = node->u.children[0].u.children;
    const vly_toml_node *to = node->u.children[1].u.children;
    for (uint32_t i = 0; i < 3; i++) {
        VLY_TRY(read_token(reader, &from[i], &pattern->from[i]));
        VLY_TRY(read_token(reader, &to[i], &pattern->to[i]));
        if ((pattern->from[i] == VLY_PATTERN_SAME &&
             pattern->to[i] == VLY_PATTERN_OTHER) ||
            (pattern->from[i] == VLY_PATTERN_OTHER &&
             pattern->to[i] == VLY_PATTERN_SAME))
            return vly_reader_fail(reader, &to[i],
                                   "\"?\" and \"!\" on axis %c of a pattern "
                                   "never hold together, wanted one of them",
                                   "xyz"[i]);
    }
out:
    return status;
}

vly_status vly_patterns_read(vly_reader *reader, const vly_toml_node *node,
                             vly_map_entry *map)
{
    vly_status status;
    uint32_t n = node->n_children;
    if (node->kind != VLY_TOML_ARRAY || n == 0 || n > VLY_PATTERNS_MAX)
        return vly_reader_wrong(reader, node, "patterns",
                                "a list of 1 to 64 [[x, y, z], [x, y, z]]");
    VLY_TRY(
        vly_reader_alloc(reader, n, sizeof(*map->patterns), &map->patterns));
    for (uint32_t i = 0; i < n; i++) {
        VLY_TRY(read_pattern(reader, &node->u.children[i], &map->patterns[i]));
        for (uint32_t k = 0; k < i; k++)
            if (memcmp(&map->patterns[k], &map->patterns[i],
                       sizeof(vly_pattern)) == 0)
                return vly_reader_fail(reader, &node->u.children[i],
                                       "pattern %u is pattern %u again, wanted "
                                       "each once",
                                       i + 1, k + 1);
    }
    map->n_patterns = n;
out:
    return status;
}
