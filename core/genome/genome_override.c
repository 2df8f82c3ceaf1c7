/* SPDX-License-Identifier: Apache-2.0
 * --set PATH=VALUE. PATH is dotted, segments in quotes as in TOML; maps and
 * stimuli are addressed by id or by their number from 1. VALUE is TOML, or a
 * bare word taken as a string. Which keys a table may have is checked later,
 * with the same tables as for the file.
 */
#include "genome/genome_override.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/utf8.h"
#include "genome/foreign_names.h"
#include "genome/genome_copies.h"

#define SEGMENTS_MAX 8
#define SEGMENT_SIZE 128

typedef struct override_path {
    char segments[SEGMENTS_MAX][SEGMENT_SIZE];
    uint32_t n;
} override_path;

/* at: "--set ..." or the place of a value that [use.X] gives. */
static vly_status fail(vly_reader *reader, const vly_toml_node *at,
                       const char *sentence, const char *word, const char *end)
{
    return vly_reader_fail_key(reader, at, "%s%.120s%s", sentence, word, end);
}

static bool split(const char *path, override_path *out)
{
    const char *at = path;
    out->n = 0;
    do {
        size_t n = 0;
        if (out->n == SEGMENTS_MAX)
            return false;
        char *segment = out->segments[out->n++];
        char quote = *at == '"' || *at == '\'' ? *at++ : 0;
        while (*at && (quote ? *at != quote : *at != '.')) {
            if (n + 1 >= SEGMENT_SIZE)
                return false;
            segment[n++] = *at++;
        }
        if (n == 0 || (quote && *at++ != quote))
            return false;
        segment[n] = 0;
        if (*at && *at != '.')
            return false;
    } while (*at++ == '.');
    return true;
}

/* ---- value -------------------------------------------------------------- */

/* A bare word, or an expression without quotes. */
static bool is_bare(const char *value)
{
    bool word = (*value >= 'a' && *value <= 'z') ||
                (*value >= 'A' && *value <= 'Z') || *value == '_' ||
                *value == '=';
    for (; *value; value++)
        if ((unsigned char)*value < ' ' || *value == '"' || *value == '\\')
            return false;
    return word;
}

/* Parses `v = VALUE`; *node owns itself. */
static vly_status parse_value(vly_reader *reader, const vly_toml_node *at,
                              const char *value, vly_toml_node *node)
{
    vly_toml_node root = {0};
    vly_toml_node made = {.kind = VLY_TOML_STRING};
    vly_status status = VLY_E_PARSE;
    for (size_t i = 0, n = strlen(value); i < n;) {
        const size_t length = vly_utf8_length(value + i, n - i);
        if (length == 0)
            return vly_reader_fail_key(
                reader, at,
                "character %zu of the value has byte 0x%02x, wanted UTF-8",
                vly_utf8_count(value, i) + 1, (unsigned char)value[i]);
        i += length;
    }
    char *text = vly_format("v = %s\n", value);
    if (!text)
        return vly_reader_nomem(reader, strlen(value) + 8, "an override");
    if (!strchr(value, '\n'))
        status = vly_toml_parse(text, strlen(text), "", &root, NULL);
    vly_free(text);
    if (status == VLY_E_PARSE && is_bare(value)) {
        made.u.string = vly_strdup(value);
        if (!made.u.string)
            return vly_reader_nomem(reader, strlen(value), "an override");
    } else if (status == VLY_E_PARSE) {
        return fail(reader, at, "the value does not parse, wanted a TOML value",
                    vly_toml_is_comma(value)
                        ? "; a number has a point, not a comma, as in 0.5"
                        : "",
                    "");
    } else if (status != VLY_OK) {
        return vly_reader_nomem(reader, strlen(value), "an override");
    } else {
        made = root.u.children[0];
        root.u.children[0].key = NULL;
        root.u.children[0].kind = VLY_TOML_BOOL;
        vly_toml_deinit(&root);
    }
    *node = made;
    return VLY_OK;
}

/* ---- path --------------------------------------------------------------- */

static vly_status no_such(vly_reader *reader, const vly_toml_node *at,
                          const vly_toml_node *among, const char *kind,
                          const char *word)
{
    vly_suggest suggest = {0};
    char hint[VLY_HINT_SIZE];
    char sentence[64];
    for (uint32_t i = 0; among && i < among->n_children; i++) {
        const vly_toml_node *child = &among->u.children[i];
        const vly_toml_node *id = vly_toml_get(child, "id");
        if (child->key)
            vly_foreign_offer(&suggest, word, child->key);
        else if (id && id->kind == VLY_TOML_STRING)
            vly_foreign_offer(&suggest, word, id->u.string);
    }
    vly_suggest_choice(&suggest, hint, sizeof(hint));
    if (!among || among->n_children == 0)
        snprintf(hint, sizeof(hint), ": the file has none");
    else if (!*hint && among->kind == VLY_TOML_ARRAY)
        snprintf(hint, sizeof(hint), ", wanted a number from 1 to %u or an id",
                 among->n_children);
    snprintf(sentence, sizeof(sentence), "no %s ", kind);
    return fail(reader, at, sentence, word,
                *hint ? hint : ", wanted one of the file");
}

/* A [[map]] or [[stimulus]] by id or number */
static vly_toml_node *find_entry(vly_toml_node *list, const char *word)
{
    if (!list || list->kind != VLY_TOML_ARRAY)
        return NULL;
    char *end = NULL;
    unsigned long number = strtoul(word, &end, 10);
    if (*word >= '0' && *word <= '9' && *end == 0)
        return number >= 1 && number <= list->n_children
                   ? &list->u.children[number - 1]
                   : NULL;
    for (uint32_t i = 0; i < list->n_children; i++) {
        const vly_toml_node *id = vly_toml_get(&list->u.children[i], "id");
        if (id && id->kind == VLY_TOML_STRING &&
            strcmp(id->u.string, word) == 0)
            return &list->u.children[i];
    }
    return NULL;
}

/* [run] and `set` of a [use] may be missing in the file. */
static vly_status make_table(vly_reader *reader, vly_toml_node *parent,
                             const char *key, vly_toml_node **table)
{
    vly_toml_node made = {.kind = VLY_TOML_TABLE};
    made.key = vly_strdup(key);
    if (!made.key || vly_toml_append(parent, &made) != VLY_OK) {
        vly_free(made.key);
        return vly_reader_nomem(reader, sizeof(made), "an override");
    }
    *table = &parent->u.children[parent->n_children - 1];
    return VLY_OK;
}

/* [area."NAME/3"], which need not be there: the values of one copy. */
static vly_status make_copy(vly_reader *reader, const vly_toml_node *at,
                            vly_toml_node *areas, const char *key,
                            vly_toml_node **table)
{
    vly_status status = VLY_OK;
    VLY_TRY(make_table(reader, areas, key, table));
    (*table)->set = at->set;
out:
    return status;
}

/* From KIND.NAME on to the table that holds the last segment. */
static vly_status descend(vly_reader *reader, const vly_toml_node *at,
                          const override_path *path, vly_toml_node **table)
{
    vly_status status = VLY_OK;
    bool use = strcmp(path->segments[0], "use") == 0;
    for (uint32_t j = 2; j + 1 < path->n; j++) {
        vly_toml_node *next = vly_toml_child(*table, path->segments[j]);
        if (next && next->kind != VLY_TOML_TABLE)
            return fail(reader, at, path->segments[j],
                        " is not a table: its parts cannot be set one by one, "
                        "wanted its whole value",
                        "");
        if (!next && use && strcmp(path->segments[j], "set") == 0) {
            VLY_TRY(make_table(reader, *table, "set", table));
            continue;
        }
        if (!next)
            return no_such(reader, at, *table, "table", path->segments[j]);
        *table = next;
    }
out:
    return status;
}

/* The table that holds the last segment. */
static vly_status find_table(vly_reader *reader, const vly_toml_node *at,
                             const override_path *path, vly_toml_node **table)
{
    static const char *const tops[] = {
        "run",        "var",      "model",       "area",
        "map",        "stimulus", "record",      "morphology",
        "plasticity", "memory",   "association", "use",
        "neuron",     "synapse",  "title",       "source"};
    const uint32_t n_tops = sizeof(tops) / sizeof(tops[0]);
    const char *top = path->segments[0];
    uint32_t i = 0;
    vly_suggest suggest = {0};
    char hint[100];
    for (; i < n_tops && strcmp(top, tops[i]) != 0; i++)
        vly_foreign_offer(&suggest, top, tops[i]);
    uint32_t depth = i < 2 ? 2 : i < 14 ? 3 : 1;
    if (i == n_tops) {
        vly_suggest_text(&suggest, hint, sizeof(hint));
        return fail(reader, at, "unknown path, no ", top,
                    *hint
                        ? hint
                        : ", wanted run, var, model, area, map, stimulus, "
                          "record, morphology, plasticity, memory, "
                          "association, use, neuron, synapse, title or source");
    }
    if (path->n < depth || (path->n > depth && depth < 3))
        return fail(reader, at, "the path has ",
                    path->n < depth ? "too few parts" : "too many parts",
                    depth == 3   ? ", wanted KIND.NAME.KEY"
                    : depth == 2 ? ", wanted KIND.KEY"
                                 : ", wanted KEY");
    /* in an included file these have no effect */
    if (reader->included && (i == 0 || depth == 1))
        return fail(reader, at, "", top,
                    i == 0 ? " of an included file does not count, wanted the "
                             "key in [run] of the genome that includes it"
                           : " of an included file does not count, wanted it "
                             "in the genome that includes it");
    *table = &reader->root;
    if (depth == 1)
        return VLY_OK;
    vly_toml_node *group = vly_toml_child(&reader->root, top);
    if (!group && i == 0)
        return make_table(reader, &reader->root, top, table);
    *table = group;
    if (depth == 2)
        return group && group->kind == VLY_TOML_TABLE
                   ? VLY_OK
                   : no_such(reader, at, group, top, path->segments[1]);
    *table = i >= 4 && i < 7 ? find_entry(group, path->segments[1])
                             : vly_toml_child(group, path->segments[1]);
    if (!*table && strcmp(top, "area") == 0 &&
        vly_copies_named(group, path->segments[1]))
        return make_copy(reader, at, group, path->segments[1], table);
    if (!*table || (*table)->kind != VLY_TOML_TABLE)
        return no_such(reader, at, group, top, path->segments[1]);
    return descend(reader, at, path, table);
}

/* Setting one of two mutually exclusive keys removes the other. */
static void remove_rivals(vly_toml_node *table, const char *key)
{
    static const char *const rivals[][2] = {
        {"dt_ms", "rate_hz"},
        {"ms", "bursts"},
        {"times_ms", "bursts"},
        {"p", "count"},
        {"delay_ms", "delay_bursts"},
        {"start_ms", "start_burst"},
        {"period_ms", "period_bursts"},
        {"width_ms", "width_bursts"},
        {"stop_ms", "stop_burst"},
        {"neurons", "voxels"},
        {"neurons", "neurons_per_voxel"},
        {"vectors", "morphology"},
        {"link", "from"},
        {"link", "to"},
    };
    for (uint32_t i = 0; i < sizeof(rivals) / sizeof(rivals[0]); i++) {
        if (strcmp(key, rivals[i][0]) == 0)
            vly_toml_remove(table, rivals[i][1]);
        else if (strcmp(key, rivals[i][1]) == 0 &&
                 strcmp(key, "neurons_per_voxel") != 0)
            vly_toml_remove(table, rivals[i][0]);
    }
}

vly_status vly_override_put(vly_reader *reader, const char *text,
                            vly_toml_node *value)
{
    override_path path;
    vly_toml_node *table = NULL;
    vly_status status;
    if (!split(text, &path))
        return fail(reader, value,
                    "the path does not parse, wanted area.NAME.KEY", "", "");
    VLY_TRY(find_table(reader, value, &path, &table));
    const char *key = path.segments[path.n - 1];
    if (strcmp(path.segments[0], "var") == 0 && !vly_toml_get(table, key))
        return no_such(reader, value, table, "variable", key);
    /* a new parameter would have no effect */
    if ((strcmp(path.segments[0], "neuron") == 0 ||
         strcmp(path.segments[0], "synapse") == 0) &&
        path.n == 4 && strcmp(path.segments[2], "on") != 0 &&
        !vly_toml_get(table, key))
        return no_such(reader, value, table, path.segments[2], key);
    char *copy = vly_strdup(key);
    if (!copy)
        return vly_reader_nomem(reader, strlen(key) + 1, "an override");
    vly_free(value->key);
    value->key = copy;
    /* only keys of the same table exclude each other; an unknown key is refused
     * later */
    remove_rivals(table, key);
    vly_toml_node *old = vly_toml_child(table, key);
    if (old) { /* keeps its position: the order of areas is that of the file */
        if (value->set) {
            value->key_line = old->key_line;
            value->key_column = old->key_column;
        }
        vly_toml_deinit(old);
        *old = *value;
    } else if (vly_toml_append(table, value) != VLY_OK) {
        return vly_reader_nomem(reader, sizeof(*value), "an override");
    }
    value->key = NULL;
    value->kind = VLY_TOML_BOOL;
out:
    return status;
}

vly_status vly_override_apply(vly_reader *reader, const vly_override *override)
{
    vly_toml_node value = {.kind = VLY_TOML_BOOL};
    char *set = NULL;
    vly_status status;
    size_t size = strlen(override->path) + strlen(override->value) + 2;
    VLY_TRY(vly_reader_alloc(reader, size, 1, &set));
    snprintf(set, size, "%s=%s", override->path, override->value);
    value.set = set;
    VLY_TRY(parse_value(reader, &value, override->value, &value));
    vly_toml_mark(&value, set);
    VLY_TRY(vly_override_put(reader, override->path, &value));
out:
    vly_toml_deinit(&value);
    return status;
}
