/* SPDX-License-Identifier: Apache-2.0
 * Names of an included genome: areas, models, morphologies, plasticities and
 * ids get the prefix, bound areas get the name of the area that replaces them.
 */
#include <stdio.h>
#include <string.h>

#include "base/memory.h"
#include "genome/genome_copies.h"
#include "genome/genome_use.h"

#define NAME_BYTES 128

static vly_status no_memory(vly_reader *reader)
{
    return vly_reader_nomem(reader, 256, "a name");
}

/* ---- texts ------------------------------------------------------------ */

static const char *bound_name(const vly_use_names *names, const char *area)
{
    const vly_toml_node *to = vly_toml_get(names->bound, area);
    return to ? to->u.string : NULL;
}

/* The area that replaces the one of which `area` is a copy, or NULL. */
static const char *bound_copies(const vly_use_names *names, const char *area)
{
    const char *slash = strrchr(area, '/');
    if (!names->bound || !vly_copies_named(names->areas, area))
        return NULL;
    for (uint32_t i = 0; i < names->bound->n_children; i++) {
        const vly_toml_node *bound = &names->bound->u.children[i];
        size_t n = strlen(bound->key);
        if (n == (size_t)(slash - area) && strncmp(bound->key, area, n) == 0)
            return bound->u.string;
    }
    return NULL;
}

static char *area_name(const vly_use_names *names, const char *area)
{
    const char *bound = bound_name(names, area);
    const char *copies = bound ? NULL : bound_copies(names, area);
    if (copies)
        return vly_format("%s%s", copies, strrchr(area, '/'));
    return bound ? vly_strdup(bound) : vly_format("%s%s", names->prefix, area);
}

static vly_status set_text(vly_reader *reader, char **place, char *text)
{
    if (!text)
        return no_memory(reader);
    vly_free(*place);
    *place = text;
    return VLY_OK;
}

static vly_status put_prefix(vly_reader *reader, const vly_use_names *names,
                             char **place)
{
    return set_text(reader, place, vly_format("%s%s", names->prefix, *place));
}

/* A string at the place of another node, moved into a list. */
static vly_status add_text(vly_reader *reader, const vly_toml_node *like,
                           char *text, vly_toml_node *list)
{
    vly_toml_node node = *like;
    node.key = NULL;
    node.kind = VLY_TOML_STRING;
    node.n_children = 0;
    node.u.string = text;
    if (text && vly_toml_append(list, &node) == VLY_OK)
        return VLY_OK;
    vly_free(text);
    return no_memory(reader);
}

/* ---- areas ------------------------------------------------------------ */

static bool is_glob(const char *pattern)
{
    return strpbrk(pattern, "*?") != NULL;
}

/* Copies are made later: so many will be there of an area, 0 if it has none. */
static uint32_t copies_of(const vly_toml_node *area)
{
    const vly_toml_node *node = vly_toml_get(area, "copies");
    double n = !node                            ? 0
               : node->kind == VLY_TOML_INTEGER ? (double)node->u.integer
               : node->kind == VLY_TOML_FLOAT   ? node->u.number
                                                : 0;
    return n >= 1 && n <= VLY_AREAS_MAX ? (uint32_t)n : 0;
}

/* The k-th area that a glob matches, by its own name or as a copy. */
static bool nth_match(const vly_use_names *names, const char *pattern,
                      uint32_t k, char name[NAME_BYTES])
{
    uint32_t n_found = 0;
    for (uint32_t i = 0; names->areas && i < names->areas->n_children; i++) {
        const vly_toml_node *area = &names->areas->u.children[i];
        if (vly_copies_named(names->areas, area->key))
            continue; /* a table with other values of a copy */
        snprintf(name, NAME_BYTES, "%s", area->key);
        bool all = vly_glob_match(pattern, name);
        if (all && n_found++ == k)
            return true;
        for (uint32_t c = 0; !all && c < copies_of(area); c++) {
            snprintf(name, NAME_BYTES, "%s/%u", area->key, c);
            if (vly_glob_match(pattern, name) && n_found++ == k)
                return true;
        }
    }
    return false;
}

/* The k-th area that a name or a glob means, NULL after the last; an unknown
 * name is kept, so that the reader can report it. name: memory for it. */
static const char *meant(const vly_use_names *names, const char *pattern,
                         uint32_t k, char name[NAME_BYTES])
{
    if (is_glob(pattern) && nth_match(names, pattern, k, name))
        return name;
    return k == 0 ? pattern : NULL;
}

/* Replaces the content of a node by a list made of it. */
static void replace(vly_toml_node *node, vly_toml_node *list)
{
    char *key = node->key;
    node->key = NULL;
    vly_toml_deinit(node);
    node->key = key;
    node->kind = VLY_TOML_ARRAY;
    node->n_children = list->n_children;
    node->u.children = list->u.children;
}

/* A term "E[0:100]" of an end: [name, name + n) and what follows it. */
typedef struct end_term {
    const char *name;
    int n;
    const char *range; /* "[0:100]" or "" */
    int n_range;
} end_term;

static end_term split_term(const char *begin, const char *end)
{
    while (begin < end && *begin == ' ')
        begin++;
    while (end > begin && end[-1] == ' ')
        end--;
    const char *open = memchr(begin, '[', (size_t)(end - begin));
    end_term term = {begin, 0, open ? open : end, 0};
    term.n_range = (int)(end - term.range);
    end = term.range;
    while (end > begin && end[-1] == ' ')
        end--;
    term.n = (int)(end - begin);
    return term;
}

/* Appends the k-th area of a term to *out, after `before`; *out is unchanged
 * after the last one. */
static vly_status add_area(vly_reader *reader, const vly_use_names *names,
                           const end_term *term, uint32_t k, const char *before,
                           char **out)
{
    char name[NAME_BYTES];
    char *pattern = vly_format("%.*s", term->n, term->name);
    const char *area = pattern ? meant(names, pattern, k, name) : NULL;
    char *own = area ? area_name(names, area) : NULL;
    char *text = own ? vly_format("%s%s%s%.*s", *out ? *out : "", before, own,
                                  term->n_range, term->range)
                     : NULL;
    bool last = pattern && !area;
    vly_free(pattern);
    vly_free(own);
    return last ? VLY_OK : set_text(reader, out, text);
}

/* The k-th end that a text means, renamed; *out is NULL after the last one. A
 * sum is one end, "+A+B". */
static vly_status nth_end(vly_reader *reader, const vly_use_names *names,
                          const char *text, uint32_t k, char **out)
{
    const char *end = text + strlen(text);
    const char *plus = strchr(text, '+');
    end_term term = split_term(text, end);
    vly_status status = VLY_OK;
    *out = NULL;
    if (!plus)
        return add_area(reader, names, &term, k, "", out);
    for (const char *begin = text; k == 0 && begin;) {
        plus = strchr(begin, '+');
        term = split_term(begin, plus ? plus : end);
        size_t length = 0;
        if (term.n == 0 && (begin != text || term.n_range > 0)) {
            /* the reader reports that a name is missing */
            VLY_TRY(set_text(reader, out,
                             vly_format("%s+%.*s", *out ? *out : "",
                                        term.n_range, term.range)));
        }
        for (uint32_t i = 0; term.n > 0; i++) {
            VLY_TRY(add_area(reader, names, &term, i, "+", out));
            if (!*out || strlen(*out) == length)
                break;
            length = strlen(*out);
        }
        begin = plus ? plus + 1 : NULL;
    }
out:
    return status;
}

/* Appends every end that a text means to a list. */
static vly_status add_ends(vly_reader *reader, const vly_toml_node *item,
                           const vly_use_names *names, vly_toml_node *list)
{
    vly_status status = VLY_OK;
    char *end = NULL;
    for (uint32_t k = 0;; k++) {
        VLY_TRY(nth_end(reader, names, item->u.string, k, &end));
        if (!end)
            return VLY_OK;
        VLY_TRY(add_text(reader, item, end, list));
    }
out:
    return status;
}

static vly_status rename_areas(vly_reader *reader, vly_toml_node *node,
                               const vly_use_names *names)
{
    vly_toml_node list = {.kind = VLY_TOML_ARRAY};
    bool one = node && node->kind == VLY_TOML_STRING;
    vly_status status = VLY_OK;
    char *end = NULL;
    if (one && (!is_glob(node->u.string) || strchr(node->u.string, '+'))) {
        status = nth_end(reader, names, node->u.string, 0, &end);
        return status || !end ? status : set_text(reader, &node->u.string, end);
    }
    if (!one && (!node || node->kind != VLY_TOML_ARRAY))
        return VLY_OK; /* the reader reports the error */
    for (uint32_t i = 0; i < (one ? 1 : node->n_children); i++) {
        const vly_toml_node *item = one ? node : &node->u.children[i];
        if (item->kind != VLY_TOML_STRING) {
            vly_toml_deinit(&list);
            return VLY_OK;
        }
        VLY_TRY(add_ends(reader, item, names, &list));
    }
    replace(node, &list);
    return VLY_OK;
out:
    vly_toml_deinit(&list);
    return status;
}

/* Both sides of "A -> B"; false: the text is not a link. */
static bool split_link(const char *text, const char *sides[2], int n[2])
{
    const char *arrow = strstr(text, "->");
    if (!arrow || strstr(arrow + 2, "->"))
        return false;
    for (int i = 0; i < 2; i++) {
        const char *begin = i ? arrow + 2 : text;
        const char *end = i ? text + strlen(text) : arrow;
        while (begin < end && *begin == ' ')
            begin++;
        while (end > begin && end[-1] == ' ')
            end--;
        if (begin == end)
            return false;
        sides[i] = begin;
        n[i] = (int)(end - begin);
    }
    return true;
}

/* "A -> B", either side a name or a glob; `to` outermost, as the reader
 * does. */
static vly_status rename_link(vly_reader *reader, const vly_toml_node *item,
                              const vly_use_names *names, vly_toml_node *list)
{
    const char *begins[2];
    int n[2];
    vly_status status = VLY_OK;
    char *sides[2] = {NULL, NULL};
    char *from = NULL;
    char *to = NULL;
    if (!split_link(item->u.string, begins, n)) /* the reader reports it */
        return add_text(reader, item, vly_strdup(item->u.string), list);
    for (int i = 0; i < 2; i++)
        VLY_TRY(
            set_text(reader, &sides[i], vly_format("%.*s", n[i], begins[i])));
    for (uint32_t t = 0;; t++) {
        VLY_TRY(nth_end(reader, names, sides[1], t, &to));
        if (!to)
            break;
        for (uint32_t f = 0;; f++) {
            VLY_TRY(nth_end(reader, names, sides[0], f, &from));
            if (!from)
                break;
            char *text = vly_format("%s -> %s", from, to);
            vly_free(from);
            from = NULL;
            VLY_TRY(add_text(reader, item, text, list));
        }
        vly_free(to);
        to = NULL;
    }
out:
    vly_free(sides[0]);
    vly_free(sides[1]);
    vly_free(from);
    vly_free(to);
    return status;
}

static vly_status rename_links(vly_reader *reader, vly_toml_node *node,
                               const vly_use_names *names)
{
    vly_toml_node list = {.kind = VLY_TOML_ARRAY};
    vly_status status = VLY_OK;
    if (!node || node->kind != VLY_TOML_ARRAY)
        return VLY_OK;
    for (uint32_t i = 0; i < node->n_children; i++) {
        const vly_toml_node *item = &node->u.children[i];
        if (item->kind != VLY_TOML_STRING) {
            vly_toml_deinit(&list);
            return VLY_OK;
        }
        VLY_TRY(rename_link(reader, item, names, &list));
    }
    replace(node, &list);
    return VLY_OK;
out:
    vly_toml_deinit(&list);
    return status;
}

/* ---- tables ----------------------------------------------------------- */

/* A map is named by its id, or "map:N" if it has none: then N counts from the
 * first map of the file, and has to count from that of the genome. */
static vly_status rename_map(vly_reader *reader, const vly_use_names *names,
                             char **place)
{
    static const char word[] = "map:";
    const char *digits = *place + strlen(word);
    uint32_t n = 0;
    if (strncmp(*place, word, strlen(word)) != 0 || strlen(digits) > 9 ||
        strspn(digits, "0123456789") != strlen(digits))
        return put_prefix(reader, names, place);
    for (const char *c = digits; *c; c++)
        n = 10 * n + (uint32_t)(*c - '0');
    return set_text(reader, place, vly_format("map:%u", n + names->n_maps));
}

static vly_status rename_entry(vly_reader *reader, vly_toml_node *entry,
                               const vly_use_names *names)
{
    static const char *const ends[] = {"from", "to"};
    static const char *const words[] = {"id", "morphology", "plasticity"};
    vly_toml_node *map = vly_toml_child(entry, "map");
    vly_toml_node *except = vly_toml_child(entry, "except");
    vly_status status = VLY_OK;
    for (int i = 0; i < 2; i++)
        VLY_TRY(rename_areas(reader, vly_toml_child(entry, ends[i]), names));
    if (map && map->kind == VLY_TOML_STRING)
        VLY_TRY(rename_map(reader, names, &map->u.string));
    for (int i = 0; i < 3; i++) {
        vly_toml_node *word = vly_toml_child(entry, words[i]);
        if (word && word->kind == VLY_TOML_STRING)
            VLY_TRY(put_prefix(reader, names, &word->u.string));
    }
    VLY_TRY(rename_links(reader, vly_toml_child(entry, "link"), names));
    if (except && except->kind == VLY_TOML_ARRAY)
        for (uint32_t i = 0; i < except->n_children; i++)
            for (int end = 0; end < 2; end++)
                VLY_TRY(rename_areas(
                    reader, vly_toml_child(&except->u.children[i], ends[end]),
                    names));
out:
    return status;
}

static vly_status rename_lists(vly_reader *reader, vly_toml_node *root,
                               const vly_use_names *names)
{
    static const char *const lists[] = {"map", "stimulus", "record"};
    vly_status status = VLY_OK;
    for (int i = 0; i < 3; i++) {
        vly_toml_node *list = vly_toml_child(root, lists[i]);
        for (uint32_t k = 0;
             list && list->kind == VLY_TOML_ARRAY && k < list->n_children; k++)
            VLY_TRY(rename_entry(reader, &list->u.children[k], names));
    }
out:
    return status;
}

/* The area that modulates a [plasticity], and a rule of the same file. */
static vly_status rename_plasticities(vly_reader *reader, vly_toml_node *table,
                                      const vly_toml_node *rules,
                                      const vly_use_names *names)
{
    vly_status status = VLY_OK;
    for (uint32_t i = 0;
         table && table->kind == VLY_TOML_TABLE && i < table->n_children; i++) {
        vly_toml_node *node =
            vly_toml_child(&table->u.children[i], "modulator");
        if (node && node->kind == VLY_TOML_STRING)
            VLY_TRY(set_text(reader, &node->u.string,
                             area_name(names, node->u.string)));
        node = vly_toml_child(&table->u.children[i], "rule");
        if (rules && node && node->kind == VLY_TOML_STRING &&
            vly_toml_get(rules, node->u.string))
            VLY_TRY(put_prefix(reader, names, &node->u.string));
    }
out:
    return status;
}

/* [memory.NAME] is named after its area; it and [association.NAME] name areas.
 */
static vly_status rename_memories(vly_reader *reader, vly_toml_node *table,
                                  bool by_area, const vly_use_names *names)
{
    static const char *const keys[] = {"from", "to", "twins"};
    vly_status status = VLY_OK;
    for (uint32_t i = 0;
         table && table->kind == VLY_TOML_TABLE && i < table->n_children; i++) {
        vly_toml_node *node = &table->u.children[i];
        for (int k = 0; k < 3 && node->kind == VLY_TOML_TABLE; k++)
            VLY_TRY(rename_areas(reader, vly_toml_child(node, keys[k]), names));
        if (by_area)
            VLY_TRY(set_text(reader, &node->key, area_name(names, node->key)));
    }
out:
    return status;
}

/* Other values for copies of an area that is replaced. */
static void drop_copies(vly_toml_node *areas, const vly_use_names *names)
{
    for (uint32_t i = names->areas ? areas->n_children : 0; i > 0; i--)
        if (bound_copies(names, areas->u.children[i - 1].key))
            vly_toml_remove(areas, areas->u.children[i - 1].key);
}

vly_status vly_use_rename(vly_reader *reader, vly_toml_node *root,
                          const vly_use_names *names)
{
    static const char *const tables[] = {"area",       "model",  "morphology",
                                         "plasticity", "neuron", "synapse",
                                         "association"};
    vly_toml_node *models = vly_toml_child(root, "model");
    vly_toml_node *neurons = vly_toml_child(root, "neuron");
    vly_status status = VLY_OK;
    VLY_TRY(rename_lists(reader, root, names));
    VLY_TRY(rename_plasticities(reader, vly_toml_child(root, "plasticity"),
                                vly_toml_get(root, "synapse"), names));
    VLY_TRY(
        rename_memories(reader, vly_toml_child(root, "memory"), true, names));
    VLY_TRY(rename_memories(reader, vly_toml_child(root, "association"), false,
                            names));
    vly_toml_node *areas = vly_toml_child(root, "area");
    drop_copies(areas, names);
    for (uint32_t i = 0; names->areas && i < areas->n_children; i++) {
        vly_toml_node *model = vly_toml_child(&areas->u.children[i], "model");
        if (model && model->kind == VLY_TOML_STRING &&
            (vly_toml_get(models, model->u.string) ||
             vly_toml_get(neurons, model->u.string)))
            VLY_TRY(put_prefix(reader, names, &model->u.string));
    }
    for (uint32_t i = 0;
         models && models->kind == VLY_TOML_TABLE && i < models->n_children;
         i++) {
        vly_toml_node *type = vly_toml_child(&models->u.children[i], "type");
        if (type && type->kind == VLY_TOML_STRING &&
            vly_toml_get(neurons, type->u.string))
            VLY_TRY(put_prefix(reader, names, &type->u.string));
    }
    for (size_t t = 0; t < sizeof(tables) / sizeof(tables[0]); t++) {
        vly_toml_node *table = vly_toml_child(root, tables[t]);
        for (uint32_t i = 0;
             table && table->kind == VLY_TOML_TABLE && i < table->n_children;
             i++)
            VLY_TRY(put_prefix(reader, names, &table->u.children[i].key));
    }
out:
    return status;
}
