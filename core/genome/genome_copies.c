/* SPDX-License-Identifier: Apache-2.0
 * Areas that are there several times, as clusters and columns are:
 * [area.E] with copies = 20 is the areas E/0 to E/19. The number is a key, not
 * part of the name, so that it can be an expression and --set can change it.
 * The name "E" stands for all of them, like a glob.
 */
#include "genome/genome_copies.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "genome/expression.h"
#include "genome/genome_value.h"

/* ---- trees -------------------------------------------------------------- */

static bool has_children(const vly_toml_node *node)
{
    return node->kind == VLY_TOML_TABLE || node->kind == VLY_TOML_ARRAY;
}

/* Depth is bounded as that of the file. */
static bool copy_node(const vly_toml_node *from, vly_toml_node *to)
{
    *to = *from;
    to->key = from->key ? vly_strdup(from->key) : NULL;
    if (from->key && !to->key) {
        to->kind = VLY_TOML_BOOL;
        return false;
    }
    if (from->kind == VLY_TOML_STRING)
        to->u.string = vly_strdup(from->u.string);
    if (from->kind == VLY_TOML_STRING)
        return to->u.string != NULL;
    if (!has_children(from))
        return true;
    to->u.children = vly_calloc(from->n_children, sizeof(*to->u.children));
    to->n_children = 0;
    for (uint32_t i = 0; to->u.children && i < from->n_children; i++) {
        bool good = copy_node(&from->u.children[i], &to->u.children[i]);
        to->n_children = i + 1;
        if (!good)
            return false;
    }
    return to->u.children || from->n_children == 0;
}

/* ---- names -------------------------------------------------------------- */

/* The area with copies of which `word` may be one, "NAME/3"; *copy: its number.
 */
static const vly_toml_node *base_of(const vly_toml_node *areas,
                                    const char *word, uint64_t *copy)
{
    const char *slash = strrchr(word, '/');
    size_t n = slash ? strlen(slash + 1) : 0;
    if (n == 0 || n > 9 || strspn(slash + 1, "0123456789") != n ||
        (n > 1 && slash[1] == '0'))
        return NULL;
    *copy = strtoull(slash + 1, NULL, 10);
    for (uint32_t i = 0; areas && i < areas->n_children; i++) {
        const vly_toml_node *area = &areas->u.children[i];
        if (strncmp(area->key, word, (size_t)(slash - word)) == 0 &&
            area->key[slash - word] == 0 && vly_toml_get(area, "copies"))
            return area;
    }
    return NULL;
}

bool vly_copies_named(const vly_toml_node *areas, const char *word)
{
    uint64_t copy = 0;
    return base_of(areas, word, &copy) != NULL;
}

const vly_copies *vly_copies_of(const vly_reader *reader, uint32_t area)
{
    for (uint32_t i = 0; i < reader->n_copies; i++)
        if (area >= reader->copies[i].first &&
            area - reader->copies[i].first < reader->copies[i].n)
            return &reader->copies[i];
    return NULL;
}

/* ---- areas -------------------------------------------------------------- */

/* Puts the keys of [area."NAME/3"] over those of the copy. */
static bool overlay(const vly_toml_node *areas, vly_toml_node *copy)
{
    const vly_toml_node *own = vly_toml_get(areas, copy->key);
    for (uint32_t i = 0; own && i < own->n_children; i++) {
        vly_toml_node made = {0};
        bool good = copy_node(&own->u.children[i], &made);
        if (good)
            vly_toml_remove(copy, made.key);
        if (!good || vly_toml_append(copy, &made) != VLY_OK) {
            vly_toml_deinit(&made);
            return false;
        }
    }
    return true;
}

static bool add_copy(const vly_toml_node *areas, const vly_toml_node *area,
                     uint64_t number, vly_toml_node *made)
{
    vly_toml_node copy = {0};
    bool good = copy_node(area, &copy);
    char *key = good ? vly_format("%s/%" PRIu64, area->key, number) : NULL;
    if (key) {
        vly_free(copy.key);
        copy.key = key;
        vly_toml_remove(&copy, "copies");
    }
    if (key && overlay(areas, &copy) && vly_toml_append(made, &copy) == VLY_OK)
        return true;
    vly_toml_deinit(&copy);
    return false;
}

/* [area."NAME/3"] where there are fewer copies */
static vly_status check_own(vly_reader *reader, const vly_toml_node *areas,
                            const vly_toml_node *area)
{
    uint64_t number = 0;
    const vly_toml_node *base = base_of(areas, area->key, &number);
    uint64_t n = 0;
    vly_status status;
    if (area->kind != VLY_TOML_TABLE)
        return vly_reader_fail_key(
            reader, area,
            "%.80s is not a table, wanted [area.\"%.80s\"] "
            "with other values of that copy",
            area->key, area->key);
    if (vly_toml_get(area, "copies"))
        return vly_reader_fail_key(reader, vly_toml_get(area, "copies"),
                                   "copies of area %s, which is a copy of %s "
                                   "itself, wanted other values only",
                                   area->key, base->key);
    VLY_TRY(vly_value_whole(reader, vly_toml_get(base, "copies"), "copies", 1,
                            VLY_AREAS_MAX, &n));
    if (number >= n)
        return vly_reader_fail_key(reader, area,
                                   "area %s, wanted a copy of %s from 0 to "
                                   "%" PRIu64,
                                   area->key, base->key, n - 1);
out:
    return status;
}

static vly_status expand_area(vly_reader *reader, const vly_toml_node *areas,
                              vly_toml_node *area, vly_toml_node *made)
{
    const vly_toml_node *node = vly_toml_get(area, "copies");
    vly_copies *copies = &reader->copies[reader->n_copies];
    uint64_t n = 0;
    char *name = NULL;
    vly_status status;
    VLY_TRY(vly_value_whole(reader, node, "copies", 1, VLY_AREAS_MAX, &n));
    if (made->n_children + n > VLY_AREAS_MAX)
        return vly_reader_fail(reader, node,
                               "copies is %" PRIu64 ", which makes %" PRIu64
                               " areas, wanted at most %u in all",
                               n, made->n_children + n, VLY_AREAS_MAX);
    VLY_TRY(vly_reader_alloc(reader, strlen(area->key) + 1, 1, &name));
    memcpy(name, area->key, strlen(area->key));
    *copies = (vly_copies){name, made->n_children, (uint32_t)n};
    for (uint64_t k = 0; k < n; k++)
        if (!add_copy(areas, area, k, made))
            return vly_reader_nomem(reader, sizeof(*area), "copies of areas");
    reader->n_copies++;
out:
    return status;
}

static vly_status keep_area(vly_reader *reader, const vly_toml_node *area,
                            vly_toml_node *made)
{
    vly_toml_node copy = {0};
    if (copy_node(area, &copy) && vly_toml_append(made, &copy) == VLY_OK)
        return VLY_OK;
    vly_toml_deinit(&copy);
    return vly_reader_nomem(reader, sizeof(copy), "copies of areas");
}

static vly_status expand_all(vly_reader *reader, vly_toml_node *areas,
                             vly_toml_node *made)
{
    vly_status status = VLY_OK;
    for (uint32_t i = 0; i < areas->n_children; i++)
        if (vly_copies_named(areas, areas->u.children[i].key))
            VLY_TRY(check_own(reader, areas, &areas->u.children[i]));
    for (uint32_t i = 0; i < areas->n_children; i++) {
        vly_toml_node *area = &areas->u.children[i];
        if (vly_toml_get(area, "copies"))
            VLY_TRY(expand_area(reader, areas, area, made));
        else if (!vly_copies_named(areas, area->key))
            VLY_TRY(keep_area(reader, area, made));
    }
out:
    return status;
}

vly_status vly_copies_expand(vly_reader *reader)
{
    vly_toml_node *areas = vly_toml_child(&reader->root, "area");
    vly_toml_node made = {.kind = VLY_TOML_TABLE};
    uint32_t n = 0;
    vly_status status = VLY_OK;
    for (uint32_t i = 0;
         areas && areas->kind == VLY_TOML_TABLE && i < areas->n_children; i++)
        n += vly_toml_get(&areas->u.children[i], "copies") != NULL;
    if (n == 0)
        return VLY_OK;
    VLY_TRY(
        vly_reader_alloc(reader, n, sizeof(*reader->copies), &reader->copies));
    VLY_TRY(vly_expression_vars(reader, vly_toml_get(&reader->root, "var")));
    VLY_TRY(expand_all(reader, areas, &made));
    for (uint32_t i = 0; i < areas->n_children; i++)
        vly_toml_deinit(&areas->u.children[i]);
    vly_free(areas->u.children);
    areas->u.children = made.u.children;
    areas->n_children = made.n_children;
    made = (vly_toml_node){0};
out:
    vly_toml_deinit(&made);
    return status;
}

/* ---- maps --------------------------------------------------------------- */

static vly_status copies_at(vly_reader *reader, const vly_map_entry *map,
                            const vly_end *end, const vly_copies **copies)
{
    *copies = vly_copies_of(reader, end->parts[0].area);
    if (*copies && end->n_parts == 1)
        return VLY_OK;
    return vly_reader_fail_key(reader, vly_toml_get(map->node, "copies"),
                               "%s has copies and the %s %.80s, wanted an area "
                               "with copies",
                               map->label, end->n_parts > 1 ? "pool" : "area",
                               end->name);
}

/* For each end of a list the place of its NAME among those of the list. */
static vly_status places_of(vly_reader *reader, const vly_end_list *list,
                            uint32_t **places, uint32_t *n)
{
    uint32_t *place_of = NULL; /* from 1, of each of reader->copies */
    vly_status status;
    VLY_TRY(vly_reader_alloc(reader, list->n, sizeof(**places), places));
    VLY_TRY(vly_reader_alloc(reader, (size_t)reader->n_copies + 1,
                             sizeof(*place_of), &place_of));
    *n = 0;
    for (uint32_t i = 0; i < list->n; i++) {
        const vly_copies *copies =
            vly_copies_of(reader, list->ends[i].parts[0].area);
        if (!copies) /* refused with its cell */
            continue;
        uint32_t *place = &place_of[copies - reader->copies];
        *place = *place ? *place : ++*n;
        (*places)[i] = *place - 1;
    }
out:
    return status;
}

/* Rows and columns of matrices. */
static vly_status set_places(vly_reader *reader, vly_map_entry *map)
{
    uint32_t *rows = NULL;
    uint32_t *columns = NULL;
    vly_status status;
    VLY_TRY(places_of(reader, &map->from, &columns, &map->n_columns));
    VLY_TRY(places_of(reader, &map->to, &rows, &map->n_rows));
    for (uint32_t i = 0; i < map->n_cells; i++) {
        map->cells[i].row = rows[map->cells[i].row];
        map->cells[i].column = columns[map->cells[i].column];
    }
out:
    return status;
}

static vly_status keep_cell(vly_reader *reader, const vly_map_entry *map,
                            const vly_map_cell *cell, bool same, bool *keep)
{
    const vly_copies *from = NULL;
    const vly_copies *to = NULL;
    vly_status status;
    VLY_TRY(copies_at(reader, map, cell->source, &from));
    VLY_TRY(copies_at(reader, map, cell->target, &to));
    if (from->n != to->n)
        return vly_reader_fail_key(reader, vly_toml_get(map->node, "copies"),
                                   "%s from %s (%u copies) to %s (%u), wanted "
                                   "as many",
                                   map->label, from->name, from->n, to->name,
                                   to->n);
    *keep = (cell->from - from->first == cell->to - to->first) == same;
out:
    return status;
}

vly_status vly_map_copies(vly_reader *reader, vly_map_entry *map)
{
    const vly_toml_node *node = vly_toml_get(map->node, "copies");
    const char *text = NULL;
    uint32_t n = 0;
    vly_status status = VLY_OK;
    if (!node)
        return VLY_OK;
    VLY_TRY(vly_reader_string(reader, node, "copies", &text));
    bool same = strcmp(text, "same") == 0;
    if (!same && strcmp(text, "other") != 0)
        return vly_reader_wrong(reader, node, "copies",
                                "\"same\" or \"other\"");
    for (uint32_t i = 0; i < map->n_cells; i++) {
        bool keep = false;
        VLY_TRY(keep_cell(reader, map, &map->cells[i], same, &keep));
        if (keep)
            map->cells[n++] = map->cells[i];
    }
    map->n_cells = n;
    if (!map->linked)
        VLY_TRY(set_places(reader, map));
    map->chosen = true;
    if (n == 0)
        status = vly_reader_note(reader, map->node,
                                 "%s makes no synapse: there is one copy",
                                 map->label);
out:
    return status;
}
