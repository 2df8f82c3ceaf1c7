/* SPDX-License-Identifier: Apache-2.0
 * Lists of areas by name and glob (* and ?); ports of an area.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/utf8.h"
#include "genome/foreign_names.h"
#include "genome/genome_copies.h"
#include "genome/genome_reader.h"
#include "genome/genome_value.h"

/* Goes back to the last star only, so the cost is at most length times
 * length. */
/* Bytes of the first one. */
static size_t character(const char *text)
{
    const size_t n = vly_utf8_length(text, strlen(text));
    return n > 0 ? n : 1;
}

bool vly_glob_match(const char *pattern, const char *text)
{
    const char *star = NULL;
    const char *retry = NULL;
    while (*text) {
        if (*pattern == '*') {
            star = pattern++;
            retry = text;
        } else if (*pattern == '?' || *pattern == *text) {
            text += *pattern == '?' ? character(text) : 1;
            pattern++;
        } else if (star) {
            pattern = star + 1;
            retry += character(retry);
            text = retry;
        } else {
            return false;
        }
    }
    while (*pattern == '*')
        pattern++;
    return *pattern == 0;
}

static vly_status no_area(vly_reader *reader, const vly_toml_node *node,
                          const char *what, const char *pattern)
{
    const vly_genome *genome = reader->genome;
    if (strpbrk(pattern, "*?"))
        return vly_reader_fail(
            reader, node,
            "%s \"%.80s\" matches no area, wanted a glob that "
            "matches one at least",
            what, pattern);
    if (strpbrk(pattern, "[+"))
        return vly_reader_fail(
            reader, node,
            "%s: no area \"%.80s\", wanted whole areas: parts as E[0:100] are "
            "for maps, stimuli and records, pools as E+I for maps",
            what, pattern);
    vly_suggest suggest = {0};
    for (uint32_t i = 0; i < genome->n_areas; i++)
        vly_foreign_offer(&suggest, pattern,
                          vly_copies_of(reader, i)
                              ? vly_copies_of(reader, i)->name
                              : genome->areas[i].name);
    char hint[VLY_HINT_SIZE];
    return vly_reader_fail(reader, node, "%s: no area \"%.80s\"%s", what,
                           pattern,
                           vly_suggest_choice(&suggest, hint, sizeof(hint)));
}

/* By its own name, or by that of the area it is a copy of. */
static bool matches(const vly_reader *reader, uint32_t area,
                    const char *pattern, bool glob)
{
    const char *name = reader->genome->areas[area].name;
    const vly_copies *copies = vly_copies_of(reader, area);
    if (glob ? vly_glob_match(pattern, name) : strcmp(pattern, name) == 0)
        return true;
    return copies && (glob ? vly_glob_match(pattern, copies->name)
                           : strcmp(pattern, copies->name) == 0);
}

/* Adds what the pattern names to list (counts only while list->areas is
 * NULL). */
static vly_status collect(vly_reader *reader, const vly_toml_node *node,
                          const char *what, const char *pattern,
                          vly_area_list *list)
{
    const vly_genome *genome = reader->genome;
    bool glob = strpbrk(pattern, "*?") != NULL;
    uint32_t before = list->n;
    for (uint32_t i = 0; i < genome->n_areas; i++) {
        const char *name = genome->areas[i].name;
        if (!matches(reader, i, pattern, glob))
            continue;
        if (reader->seen[i] == reader->stamp)
            return vly_reader_fail(reader, node,
                                   "%s names area %s twice, wanted each area "
                                   "once",
                                   what, name);
        reader->seen[i] = reader->stamp;
        if (list->areas)
            list->areas[list->n] = i;
        list->n++;
        if (!glob && strcmp(pattern, name) == 0)
            break;
    }
    if (list->n == before)
        return no_area(reader, node, what, pattern);
    return VLY_OK;
}

static vly_status pass(vly_reader *reader, const vly_toml_node *node,
                       const char *what, const char *pattern,
                       vly_area_list *list)
{
    vly_status status = VLY_OK;
    reader->stamp++;
    list->n = 0;
    if (pattern)
        return collect(reader, node, what, pattern, list);
    for (uint32_t i = 0; i < node->n_children; i++) {
        const vly_toml_node *child = &node->u.children[i];
        if (child->kind != VLY_TOML_STRING)
            return vly_reader_wrong(reader, child, what, "names of areas");
        VLY_TRY(collect(reader, child, what, child->u.string, list));
    }
out:
    return status;
}

vly_status vly_reader_pattern(vly_reader *reader, const vly_toml_node *node,
                              const char *what, const char *pattern,
                              vly_area_list *list)
{
    vly_status status;
    vly_area_list made = {0};
    VLY_TRY(pass(reader, node, what, pattern, &made));
    VLY_TRY(vly_reader_alloc(reader, made.n, sizeof(uint32_t), &made.areas));
    VLY_TRY(pass(reader, node, what, pattern, &made));
    *list = made;
out:
    return status;
}

/* Whole areas are named by what needs their neurons. */
static vly_status check_neurons(vly_reader *reader, const vly_toml_node *node,
                                const char *what, const vly_area_list *list)
{
    for (uint32_t i = 0; i < list->n; i++) {
        const vly_area *area = &reader->genome->areas[list->areas[i]];
        if (area->n_neurons == 0)
            return vly_reader_fail(reader, node,
                                   "%s: area %s has 0 neurons, wanted one at "
                                   "least: only maps, stimuli and records "
                                   "leave such an area out",
                                   what, area->name);
    }
    return VLY_OK;
}

vly_status vly_reader_areas(vly_reader *reader, const vly_toml_node *node,
                            const char *what, vly_area_list *list)
{
    const bool one = node->kind == VLY_TOML_STRING;
    vly_status status;
    if (!one && (node->kind != VLY_TOML_ARRAY || node->n_children == 0))
        return vly_reader_wrong(reader, node, what,
                                "the name of an area or a list of names");
    VLY_TRY(vly_reader_pattern(reader, node, what, one ? node->u.string : NULL,
                               list));
    status = check_neurons(reader, node, what, list);
out:
    return status;
}

/* ---- ids ---------------------------------------------------------------- */

vly_status vly_reader_label(vly_reader *reader, const vly_toml_node *node,
                            const char *what, uint32_t index, const char **id,
                            char **label)
{
    vly_status status;
    const vly_toml_node *item = vly_toml_get(node, "id");
    *id = NULL;
    VLY_TRY(vly_reader_alloc(reader, VLY_NAME_MAX + 1, 1, label));
    snprintf(*label, VLY_NAME_MAX + 1, "%s:%u", what, index + 1);
    if (!item)
        return VLY_OK;
    VLY_TRY(vly_reader_string(reader, item, "id", id));
    if (!vly_name_valid(*id))
        return vly_reader_wrong(reader, item, "id",
                                "a letter or _, then letters, digits, _ / -, "
                                "at most 63 bytes");
    snprintf(*label, VLY_NAME_MAX + 1, "%s", *id);
out:
    return status;
}

static int compare_ids(const void *a, const void *b)
{
    const vly_toml_node *const *x = a;
    const vly_toml_node *const *y = b;
    int order = strcmp((*x)->u.string, (*y)->u.string);
    if (order != 0)
        return order;
    /* keys of --set have no line: they come last and are reported */
    uint32_t line_x = (*x)->line - 1;
    uint32_t line_y = (*y)->line - 1;
    return (line_x > line_y) - (line_x < line_y);
}

vly_status vly_reader_unique(vly_reader *reader, const vly_toml_node *list,
                             const char *what)
{
    const vly_toml_node **ids = NULL;
    uint32_t n = 0;
    vly_status status;
    VLY_TRY(vly_reader_alloc(reader, list->n_children, sizeof(*ids), &ids));
    for (uint32_t i = 0; i < list->n_children; i++) {
        const vly_toml_node *id = vly_toml_get(&list->u.children[i], "id");
        if (id && id->kind == VLY_TOML_STRING)
            ids[n++] = id;
    }
    qsort(ids, n, sizeof(*ids), compare_ids);
    for (uint32_t i = 1; i < n; i++)
        if (strcmp(ids[i - 1]->u.string, ids[i]->u.string) == 0) {
            char where[40] = "is given twice";
            if (ids[i - 1]->line)
                snprintf(where, sizeof(where), "stands on line %u too",
                         ids[i - 1]->line);
            return vly_reader_fail(reader, ids[i],
                                   "id %.80s of a [[%s]] %s, wanted another",
                                   ids[i]->u.string, what, where);
        }
out:
    return status;
}

/* ---- ports -------------------------------------------------------------- */

/* "ampa, nmda or gaba"; of a built-in model "0 or 1" */
static const char *port_names(const vly_model_info *model, char *out,
                              size_t size)
{
    size_t n = 0;
    *out = 0;
    if (!vly_model_definition(model)) {
        (void)snprintf(out, size, model->n_ports > 1 ? "0 or 1" : "0");
        return out;
    }
    for (uint32_t i = 0; i < model->n_ports && n < size; i++) {
        const char *between = i == 0                   ? ""
                              : i + 1 < model->n_ports ? ", "
                                                       : " or ";
        n += (size_t)snprintf(out + n, size - n, "%s%s", between,
                              model->ports[i].text);
    }
    return out;
}

vly_status vly_reader_port(vly_reader *reader, const vly_toml_node *node,
                           const vly_area *area, uint32_t *port)
{
    const vly_model_info *model = area->model;
    char names[VLY_HINT_SIZE];
    uint64_t number = 0;
    vly_status status = VLY_OK;
    if (node->kind == VLY_TOML_STRING && *node->u.string != '=') {
        uint32_t i = 0;
        const char *name = node->u.string;
        const bool named = vly_model_definition(model) != NULL;
        while (i < model->n_ports &&
               (!named || strcmp(model->ports[i].text, name) != 0))
            i++;
        if (i == model->n_ports)
            return vly_reader_fail(
                reader, node,
                "port is \"%.80s\", wanted %s: the ports of %s of area %s",
                name, port_names(model, names, sizeof names), model->id,
                area->name);
        *port = i;
        return VLY_OK;
    }
    VLY_TRY(
        vly_value_whole(reader, node, "port", 0, VLY_PORTS_MAX - 1, &number));
    if (number >= model->n_ports)
        return vly_reader_fail(
            reader, node,
            "port is %u, wanted %s: %s of area %s has %u "
            "port%s",
            (unsigned)number,
            model->n_ports == 1 ? "0" : port_names(model, names, sizeof names),
            model->id, area->name, model->n_ports,
            model->n_ports == 1 ? "" : "s");
    *port = (uint32_t)number;
out:
    return status;
}

vly_status vly_reader_no_port(vly_reader *reader, const vly_toml_node *table,
                              const char *label, const vly_area *area)
{
    char names[VLY_HINT_SIZE];
    if (area->model->n_ports <= 2)
        return VLY_OK;
    return vly_reader_fail_key(
        reader, table, "%s has no port, wanted %s: %s of area %s has %u ports",
        label, port_names(area->model, names, sizeof names), area->model->id,
        area->name, area->model->n_ports);
}
