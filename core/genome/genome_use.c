/* SPDX-License-Identifier: Apache-2.0
 * [use.NAME]: files are read, changed by `set`, their own [use] expanded, their
 * expressions evaluated with their own [var]; then their names get the prefix
 * and their tables go into the including genome's tree. So all later steps, the
 * hash too, see one genome. Their own [run] has no effect. `model_file` of a
 * [neuron] takes only the model of its name.
 */
#include "genome/genome_use.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/memory.h"
#include "genome/expression.h"
#include "genome/foreign_names.h"
#include "genome/genome_override.h"

/* What a file gives to the genome that includes it. */
static const char *const tables[] = {
    "area",       "model",  "map",     "stimulus", "record",     "morphology",
    "plasticity", "neuron", "synapse", "memory",   "association"};
enum { N_TABLES = sizeof(tables) / sizeof(tables[0]) };

/* Changes of a file, before or after its [use] is expanded. */
typedef struct use_changes {
    const vly_override *overrides; /* of the command, or */
    uint32_t n_overrides;
    vly_toml_node *set; /* of the [use]; its values are moved out */
} use_changes;

static vly_status expand(vly_reader *reader, const vly_use_chain *chain);
static vly_status take_models(vly_reader *reader, const vly_use_chain *chain);

/* ---- changes ---------------------------------------------------------- */

/* What [use], model_file and expressions in these files depend on. */
static bool comes_first(const char *path)
{
    static const char file[] = ".model_file";
    const size_t n = strlen(path);
    if (strncmp(path, "neuron.", 7) == 0 && n >= sizeof file &&
        strcmp(path + n - (sizeof file - 1), file) == 0)
        return true;
    return strncmp(path, "use.", 4) == 0 || strncmp(path, "var.", 4) == 0 ||
           strncmp(path, "run.", 4) == 0;
}

static vly_status change(vly_reader *reader, const use_changes *changes,
                         bool first)
{
    vly_status status = VLY_OK;
    for (uint32_t i = 0; i < changes->n_overrides; i++)
        if (comes_first(changes->overrides[i].path) == first)
            VLY_TRY(vly_override_apply(reader, &changes->overrides[i]));
    for (uint32_t i = 0; changes->set && i < changes->set->n_children; i++) {
        vly_toml_node *value = &changes->set->u.children[i];
        if (!value->key || comes_first(value->key) != first)
            continue;
        char *path = NULL;
        if (!strchr(value->key, '.') && value->kind == VLY_TOML_TABLE)
            return vly_reader_fail_key(reader, value,
                                       "set has a table %.80s, wanted a path "
                                       "in quotes: \"area.E.neurons\" = 100",
                                       value->key);
        VLY_TRY(vly_reader_alloc(reader, strlen(value->key) + 1, 1, &path));
        strcpy(path, value->key);
        /* moves the value out and leaves a node without a key */
        VLY_TRY(vly_override_put(reader, path, value));
    }
out:
    return status;
}

static vly_status change_and_expand(vly_reader *reader,
                                    const vly_use_chain *chain,
                                    const use_changes *changes)
{
    vly_status status;
    VLY_TRY(change(reader, changes, true));
    VLY_TRY(expand(reader, chain));
    VLY_TRY(take_models(reader, chain));
    VLY_TRY(change(reader, changes, false));
out:
    return status;
}

vly_status vly_uses_expand(vly_reader *reader, const vly_override *overrides,
                           uint32_t n_overrides)
{
    const use_changes changes = {overrides, n_overrides, NULL};
    const char *slash = strrchr(reader->name, '/');
    vly_use_chain chain = {.name = slash ? slash + 1 : reader->name};
    struct stat info;
    if (stat(reader->name, &info) == 0) {
        chain.known = true;
        chain.device = info.st_dev;
        chain.inode = info.st_ino;
    }
    return change_and_expand(reader, &chain, &changes);
}

/* ---- expressions ------------------------------------------------------ */

/* Replaces expressions by numbers: they belong to the file that contains them.
 */
static vly_status freeze(vly_reader *reader, vly_toml_node *node)
{
    vly_status status = VLY_OK;
    double number = 0;
    if (node->kind == VLY_TOML_STRING && node->u.string[0] == '=') {
        VLY_TRY(vly_expression_eval(reader, node, &number));
        vly_free(node->u.string);
        node->kind = VLY_TOML_FLOAT;
        node->u.number = number;
    }
    if (node->kind == VLY_TOML_TABLE || node->kind == VLY_TOML_ARRAY)
        for (uint32_t i = 0; i < node->n_children; i++)
            VLY_TRY(freeze(reader, &node->u.children[i]));
out:
    return status;
}

static vly_status freeze_file(vly_reader *reader)
{
    vly_status status;
    VLY_TRY(vly_expression_vars(reader, vly_toml_get(&reader->root, "var")));
    for (uint32_t i = 0; i < N_TABLES; i++) {
        vly_toml_node *table = vly_toml_child(&reader->root, tables[i]);
        if (table)
            VLY_TRY(freeze(reader, table));
    }
out:
    return status;
}

/* ---- into the tree ---------------------------------------------------- */

static vly_status take_child(vly_reader *reader, vly_toml_node *parent,
                             vly_toml_node *child)
{
    if (vly_toml_append(parent, child) != VLY_OK)
        return vly_reader_nomem(reader, sizeof(*child), "an included genome");
    child->key = NULL;
    child->kind = VLY_TOML_BOOL;
    return VLY_OK;
}

static vly_status make_group(vly_reader *reader, const vly_toml_node *like,
                             vly_toml_node **group)
{
    vly_toml_node made = {.kind = like->kind, .file = like->file};
    made.line = made.key_line = like->key_line;
    made.column = made.key_column = like->key_column;
    made.key = vly_strdup(like->key);
    if (!made.key || vly_toml_append(&reader->root, &made) != VLY_OK) {
        vly_free(made.key);
        return vly_reader_nomem(reader, sizeof(made), "an included genome");
    }
    *group = &reader->root.u.children[reader->root.n_children - 1];
    return VLY_OK;
}

/* Moves [area], [[map]], ... of the included file to those of the genome. */
static vly_status take_group(vly_reader *reader, const vly_toml_node *use,
                             vly_toml_node *from, const vly_use_names *names)
{
    vly_toml_node *group = vly_toml_child(&reader->root, from->key);
    bool areas = from->kind == VLY_TOML_TABLE && strcmp(from->key, "area") == 0;
    size_t n_prefix = strlen(names->prefix);
    vly_status status = VLY_OK;
    if (!group)
        VLY_TRY(make_group(reader, from, &group));
    if (from->kind != group->kind)
        return vly_reader_wrong(
            reader, from->kind == VLY_TOML_TABLE ? group : from, from->key,
            from->kind == VLY_TOML_TABLE ? "a table" : "as in the other file");
    for (uint32_t i = 0; i < from->n_children; i++) {
        vly_toml_node *child = &from->u.children[i];
        if (areas && vly_toml_get(names->bound, child->key + n_prefix))
            continue;
        if (child->key && vly_toml_get(group, child->key))
            return vly_reader_fail_key(reader, use,
                                       "[use.%s] makes %s %s, which is there "
                                       "already, wanted another prefix",
                                       use->key, from->key, child->key);
        VLY_TRY(take_child(reader, group, child));
    }
out:
    return status;
}

static vly_status take_file(vly_reader *reader, const vly_toml_node *use,
                            vly_reader *part, const vly_use_names *names)
{
    vly_status status = VLY_OK;
    for (uint32_t i = 0; i < N_TABLES; i++) {
        vly_toml_node *group = vly_toml_child(&part->root, tables[i]);
        if (group && group->kind != VLY_TOML_TABLE &&
            group->kind != VLY_TOML_ARRAY)
            return vly_reader_wrong(part, group, group->key, "a table");
        if (group)
            VLY_TRY(take_group(reader, use, group, names));
    }
out:
    return status;
}

/* ---- a [use] ---------------------------------------------------------- */

static vly_status read_prefix(vly_reader *reader, const vly_toml_node *use,
                              const char **out)
{
    const vly_toml_node *node = vly_toml_get(use, "prefix");
    const char *word = use->key;
    char *prefix = NULL;
    vly_status status = VLY_OK;
    if (node)
        VLY_TRY(vly_reader_string(reader, node, "prefix", &word));
    if (*word && !vly_name_valid(word))
        return node ? vly_reader_wrong(reader, node, "prefix",
                                       "a letter or _, then letters, digits, "
                                       "_ / -, or nothing")
                    : vly_reader_name(reader, use, "use", word);
    VLY_TRY(vly_reader_alloc(reader, strlen(word) + 2, 1, &prefix));
    snprintf(prefix, strlen(word) + 2, "%s%s", word, *word ? "/" : "");
    *out = prefix;
out:
    return status;
}

static vly_status no_area(vly_reader *reader, const vly_toml_node *node,
                          const char *word, const vly_toml_node *areas,
                          const char *whose)
{
    vly_suggest suggest = {0};
    char hint[VLY_HINT_SIZE];
    for (uint32_t i = 0; areas && i < areas->n_children; i++)
        if (areas->u.children[i].key)
            vly_foreign_offer(&suggest, word, areas->u.children[i].key);
    return vly_reader_fail_key(
        reader, node, "areas: no area \"%.80s\" in %s%s", word, whose,
        vly_suggest_choice(&suggest, hint, sizeof(hint)));
}

/* { E = "cortex" }: E of the file, cortex of the genome so far. */
static vly_status check_bound(vly_reader *reader, const vly_toml_node *bound,
                              const vly_toml_node *areas)
{
    const vly_toml_node *own = vly_toml_get(&reader->root, "area");
    const char *name = NULL;
    vly_status status;
    VLY_TRY(vly_reader_table(reader, bound, "areas"));
    for (uint32_t i = 0; i < bound->n_children; i++) {
        const vly_toml_node *node = &bound->u.children[i];
        VLY_TRY(vly_reader_string(reader, node, "areas", &name));
        if (!vly_toml_get(areas, node->key))
            return no_area(reader, node, node->key, areas, "the file");
        if (!vly_toml_get(own, name))
            return no_area(reader, node, name, own, "this genome");
    }
out:
    return status;
}

static vly_status read_part(vly_reader *reader, const vly_toml_node *use,
                            vly_reader *part, vly_use_chain *chain,
                            vly_toml_node *set)
{
    vly_use_names names = {.bound = vly_toml_get(use, "areas")};
    const use_changes changes = {NULL, 0, set};
    vly_status status;
    VLY_TRY(vly_use_open_file(reader, vly_toml_get(use, "file"), chain, part));
    VLY_TRY(vly_top_check(part));
    VLY_TRY(change_and_expand(part, chain, &changes));
    VLY_TRY(freeze_file(part));
    VLY_TRY(read_prefix(reader, use, &names.prefix));
    const vly_toml_node *areas = vly_toml_get(&part->root, "area");
    names.areas = areas && areas->kind == VLY_TOML_TABLE ? areas : NULL;
    if (names.bound)
        VLY_TRY(check_bound(reader, names.bound, names.areas));
    const vly_toml_node *maps = vly_toml_get(&reader->root, "map");
    if (maps && maps->kind == VLY_TOML_ARRAY)
        names.n_maps = maps->n_children;
    VLY_TRY(vly_use_rename(reader, &part->root, &names));
    VLY_TRY(take_file(reader, use, part, &names));
out:
    return status;
}

static vly_status plain_name(vly_reader *reader, const vly_toml_node *node,
                             const char *name)
{
    for (const char *c = name; *c; c++)
        if ((unsigned char)*c < ' ') /* it comes in messages and comments */
            return vly_reader_wrong(reader, node, node->key,
                                    "a plain file name");
    return VLY_OK;
}

static vly_status expand_one(vly_reader *reader, const vly_use_chain *chain,
                             vly_toml_node *use)
{
    const vly_key_list list = {"a [use]", vly_keys_use, NULL};
    const vly_toml_node *node = vly_toml_get(use, "file");
    vly_toml_node *set = vly_toml_child(use, "set");
    vly_reader part = {.included = true,
                       .outer = reader,
                       .genome = reader->genome,
                       .error = reader->error};
    vly_use_chain inner = {.outer = chain};
    vly_status status;
    VLY_TRY(vly_reader_table(reader, use, "use"));
    VLY_TRY(vly_reader_keys(reader, use, &list));
    if (!node)
        return vly_reader_fail_key(reader, use,
                                   "[use.%s] has no file, wanted file = "
                                   "\"other.toml\"",
                                   use->key);
    VLY_TRY(vly_reader_string(reader, node, "file", &inner.name));
    VLY_TRY(plain_name(reader, node, inner.name));
    if (set) { /* its expressions are of the including genome */
        VLY_TRY(vly_reader_table(reader, set, "set"));
        VLY_TRY(freeze(reader, set));
    }
    VLY_TRY(vly_use_add_file(reader, node));
    part.name = reader->genome->files[reader->genome->n_files - 1];
    status = read_part(reader, use, &part, &inner, set);
out:
    vly_reader_deinit(&part);
    return status;
}

static vly_status expand(vly_reader *reader, const vly_use_chain *chain)
{
    vly_toml_node *uses = vly_toml_child(&reader->root, "use");
    vly_toml_node taken = {.kind = VLY_TOML_BOOL};
    vly_status status;
    if (!uses)
        return VLY_OK;
    if (uses->kind != VLY_TOML_TABLE)
        return vly_reader_wrong(reader, uses, "use",
                                "[use.NAME]: a table with a name");
    VLY_TRY(vly_expression_vars(reader, vly_toml_get(&reader->root, "var")));
    /* taken out of the tree first: the children of the root move as it grows */
    taken = *uses;
    uses->key = vly_strdup("use");
    uses->kind = VLY_TOML_BOOL;
    uses->n_children = 0;
    if (!uses->key)
        VLY_TRY(vly_reader_nomem(reader, 4, "a name"));
    vly_toml_remove(&reader->root, "use");
    for (uint32_t i = 0; i < taken.n_children; i++)
        VLY_TRY(expand_one(reader, chain, &taken.u.children[i]));
out:
    vly_toml_deinit(&taken);
    return status;
}

/* ---- model_file of a [neuron] ------------------------------------------- */

/* The [neuron] of this name in the file; the rest of the file is not taken. */
static vly_status find_model(vly_reader *reader, const vly_toml_node *file,
                             const char *name, vly_reader *part,
                             vly_toml_node **found)
{
    vly_toml_node *models = vly_toml_child(&part->root, "neuron");
    vly_suggest near = {0};
    char hint[VLY_HINT_SIZE];
    bool table = models && models->kind == VLY_TOML_TABLE;
    for (uint32_t i = 0; table && i < models->n_children; i++)
        vly_foreign_offer(&near, name, models->u.children[i].key);
    *found = table ? vly_toml_child(models, name) : NULL;
    if (!*found)
        return vly_reader_fail(reader, file, "%.200s has no [neuron.%.60s]%s",
                               file->u.string, name,
                               vly_suggest_choice(&near, hint, sizeof hint));
    const vly_toml_node *again = vly_toml_get(*found, "model_file");
    if (again)
        return vly_reader_fail_key(part, again,
                                   "model_file in the file of a model, wanted "
                                   "the model");
    return VLY_OK;
}

static vly_status take_model(vly_reader *reader, const vly_use_chain *chain,
                             vly_toml_node *model, const vly_toml_node *file)
{
    vly_reader part = {.included = true,
                       .outer = reader,
                       .genome = reader->genome,
                       .error = reader->error};
    vly_use_chain inner = {.outer = chain};
    vly_toml_node *found = NULL;
    vly_status status;
    for (uint32_t i = 0; i < model->n_children; i++)
        if (&model->u.children[i] != file)
            return vly_reader_fail_key(reader, &model->u.children[i],
                                       "%.60s beside model_file, wanted it in "
                                       "that file",
                                       model->u.children[i].key);
    VLY_TRY(vly_reader_string(reader, file, "model_file", &inner.name));
    VLY_TRY(plain_name(reader, file, inner.name));
    VLY_TRY(vly_use_add_file(reader, file));
    part.name = reader->genome->files[reader->genome->n_files - 1];
    VLY_TRY(vly_use_open_file(reader, file, &inner, &part));
    VLY_TRY(vly_top_check(&part));
    VLY_TRY(find_model(reader, file, model->key, &part, &found));
    VLY_TRY(vly_expression_vars(&part, vly_toml_get(&part.root, "var")));
    VLY_TRY(freeze(&part, found));
    vly_toml_node named = *model; /* freed with the file */
    *model = *found;
    *found = named;
out:
    vly_reader_deinit(&part);
    return status;
}

static vly_status take_models(vly_reader *reader, const vly_use_chain *chain)
{
    vly_toml_node *models = vly_toml_child(&reader->root, "neuron");
    vly_status status = VLY_OK;
    if (!models || models->kind != VLY_TOML_TABLE)
        return VLY_OK;
    for (uint32_t i = 0; i < models->n_children; i++) {
        vly_toml_node *model = &models->u.children[i];
        const vly_toml_node *file = vly_toml_get(model, "model_file");
        if (file)
            VLY_TRY(take_model(reader, chain, model, file));
    }
out:
    return status;
}
