/* SPDX-License-Identifier: Apache-2.0
 * The model of an area from SONATA's node types: see node_model.h. Everything
 * after this reads an ordinary area whose parameters are values of nodes.
 */
#include "genome/node_model.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "genome/foreign_names.h"
#include "genome/genome_file.h"
#include "genome/node_types.h"
#include "genome/node_values.h"
#include "genome/user_model.h"
#include "neuron/neuron_unit.h"

#define ID_MAX 9007199254740992.0 /* 2^53 */
#define KNOWN_MAX VLY_NEURON_PARAMS_MAX

/* Built-in models with the parameters of NEST's. iaf_psc_alpha is none: NEST's
 * has a time constant for each sign. */
static const struct {
    const char *theirs;
    const char *ours;
} same[] = {
    {"iaf_psc_delta", "lif_psc_delta"},
    {"iaf_psc_exp", "lif_psc_exp2"},
    {"iaf_cond_exp", "lif_cond_exp"},
    {"aeif_cond_exp", "adex"},
};

typedef struct node_model {
    vly_reader *reader;
    vly_toml_node *area;
    const vly_toml_node *item; /* the table `model` */
    const vly_toml_node *types_file;
    const vly_toml_node *params_dir;
    vly_node_types types;
    double *ids; /* [n_ids] types of the population, ascending */
    uint32_t n_ids;
    const char *name; /* of NEST's model; of types */
    const vly_model_info *model;
    char names[KNOWN_MAX][VLY_NAME_MAX + 1]; /* of its parameters, in SONATA */
    const char *known[KNOWN_MAX];
} node_model;

/* ---- types -------------------------------------------------------------- */

static int compare_ids(const void *a, const void *b)
{
    const double x = *(const double *)a;
    const double y = *(const double *)b;
    return (x > y) - (x < y);
}

/* Types of the nodes: node_type_id is a column of the table of types. */
static vly_status read_ids(node_model *of)
{
    const vly_value_spec spec = {
        .what = "node_type_id", .lo = -ID_MAX, .hi = ID_MAX, .whole = true};
    const vly_toml_node *given = vly_toml_get(of->item, "file");
    FILE *file = NULL;
    char *path = NULL;
    uint32_t n = 0;
    vly_status status;
    if (!given || !of->types_file)
        return vly_reader_fail_key(of->reader, of->item,
                                   "model without %s, wanted a [model], a "
                                   "[neuron] or a model's id, or { file = "
                                   "\"nodes.h5\", node_types_file = "
                                   "\"node_types.csv\" }",
                                   given ? "node_types_file" : "file");
    VLY_TRY(vly_file_open(of->reader, given, &path, &file));
    if (!vly_file_is_hdf5(file)) {
        status = vly_reader_fail(of->reader, given,
                                 "%.300s is not an HDF5 file, wanted SONATA "
                                 "nodes",
                                 given->u.string);
        goto out;
    }
    VLY_TRY(vly_values_from_nodes(of->reader, of->item, &spec, path,
                                  "node_type_id", &of->ids, &n));
    qsort(of->ids, n, sizeof(*of->ids), compare_ids);
    for (uint32_t i = 0; i < n; i++)
        if (i == 0 || of->ids[i] != of->ids[of->n_ids - 1])
            of->ids[of->n_ids++] = of->ids[i];
out:
    if (file)
        fclose(file);
    return status;
}

static vly_status read_types(node_model *of)
{
    FILE *file = NULL;
    char *path = NULL;
    vly_error why = VLY_ERROR_INIT;
    vly_status status;
    VLY_TRY(vly_file_open_key(of->reader, of->types_file, "node_types_file",
                              NULL, &path, &file));
    status = vly_node_types_init(&of->types, file, of->types_file->u.string,
                                 NULL, &why);
    status = vly_file_placed(of->reader, of->types_file, status, &why);
out:
    if (file)
        fclose(file);
    return status;
}

/* Refuses a type that is no point neuron of NEST. */
static vly_status check_type(const node_model *of, const vly_node_type *type)
{
    const char *kind = type->kind ? type->kind : "point_neuron";
    const char *model = type->model;
    const char *why = NULL;
    if (strcmp(kind, "virtual") == 0)
        why = "a node that only fires, wanted an [area] with generator = "
              "\"spikes\" and file";
    else if (strcmp(kind, "point_neuron") != 0 &&
             strcmp(kind, "point_process") != 0)
        why = "a neuron with compartments, wanted point_neuron with a "
              "model_template nest:NAME";
    else if (model && strncmp(model, "nest:", 5) == 0 && model[5])
        return VLY_OK;
    else if (model)
        why = "not a model of NEST, wanted nest:NAME";
    else
        why = "no model_template, wanted nest:NAME";
    return vly_reader_fail(of->reader, of->types_file,
                           "%.200s: node_type_id %lld: model_type %.40s, "
                           "model_template %.80s: %s",
                           of->types.name, (long long)type->id,
                           type->kind ? kind : "NULL", model ? model : "NULL",
                           why);
}

/* The one model of all nodes. */
static vly_status find_name(node_model *of)
{
    const vly_node_type *first = NULL;
    for (uint32_t i = 0; i < of->n_ids; i++) {
        const vly_node_type *type =
            vly_node_types_find(&of->types, (int64_t)of->ids[i]);
        if (!type) /* the file was replaced since */
            return vly_reader_fail(of->reader, of->types_file,
                                   "%.200s changes while it is read",
                                   of->types.name);
        vly_status status = check_type(of, type);
        if (status != VLY_OK)
            return status;
        first = first ? first : type;
        if (strcmp(first->model, type->model) != 0)
            return vly_reader_fail(
                of->reader, of->types_file,
                "%.200s: node_type_id %lld is %.80s, and %lld is %.80s, wanted "
                "one model, or a population for each",
                of->types.name, (long long)first->id, first->model,
                (long long)type->id, type->model);
    }
    of->name = first->model + strlen("nest:");
    return VLY_OK;
}

static vly_status find_model(node_model *of)
{
    char hint[VLY_HINT_SIZE];
    const vly_suggest none = {0};
    of->model = vly_neuron_find(of->reader->genome, of->name);
    for (size_t i = 0; !of->model && i < sizeof(same) / sizeof(same[0]); i++)
        if (strcmp(of->name, same[i].theirs) == 0)
            of->model = vly_model_find(same[i].ours);
    if (of->model && of->model->n_params <= KNOWN_MAX)
        return VLY_OK;
    return vly_reader_fail(
        of->reader, of->types_file,
        "%.200s: model_template nest:%.80s%s; wanted a [neuron.%.80s] in the "
        "genome, or iaf_psc_delta, iaf_psc_exp, iaf_cond_exp or aeif_cond_exp",
        of->types.name, of->name,
        vly_foreign_hint(&none, of->name, hint, sizeof(hint)), of->name);
}

/* ---- parameters --------------------------------------------------------- */

/* NEST's name of a parameter: a row of the table of names, otherwise the key
 * without its unit, as a [neuron] with NEST's names has it. */
static void nest_name(const vly_param_info *param, char *out, size_t size)
{
    char unit[VLY_UNIT_TEXT];
    const vly_foreign *row;
    for (uint32_t i = 0; (row = vly_foreign_at(i)); i++)
        if (row->ours && !row->where && strcmp(row->ours, param->name) == 0) {
            snprintf(out, size, "%s", row->theirs);
            return;
        }
    vly_unit_suffix(param->unit, unit);
    size_t n = strlen(param->name);
    const size_t end = strlen(unit) + 1; /* with the _ before it */
    if (n > end && param->name[n - end] == '_' &&
        strcmp(param->name + n - end + 1, unit) == 0)
        n -= end;
    snprintf(out, size, "%.*s", (int)n, param->name);
}

/* A text of table, at the place of `like`. */
static vly_status add_text(vly_reader *reader, vly_toml_node *table,
                           const vly_toml_node *like, const char *key,
                           const char *text)
{
    vly_toml_node node = *like;
    node.kind = VLY_TOML_STRING;
    node.n_children = 0;
    node.key = vly_strdup(key);
    node.u.string = vly_strdup(text);
    if (node.key && node.u.string && vly_toml_append(table, &node) == VLY_OK)
        return VLY_OK;
    vly_free(node.key);
    vly_free(node.u.string);
    return vly_reader_nomem(reader, sizeof(node), "a model of nodes");
}

/* { file = ..., column = NAME, ... } as the parameter of the area */
static vly_status add_value(node_model *of, const char *key, const char *name)
{
    vly_toml_node table = *of->item;
    vly_status status = VLY_OK;
    table.key = vly_strdup(key);
    table.u.children = NULL;
    table.n_children = 0;
    if (!table.key)
        return vly_reader_nomem(of->reader, strlen(key) + 1, "a name");
    for (uint32_t i = 0; i < of->item->n_children; i++) {
        const vly_toml_node *child = &of->item->u.children[i];
        VLY_TRY(
            add_text(of->reader, &table, child, child->key, child->u.string));
    }
    VLY_TRY(add_text(of->reader, &table, of->item, "column", name));
    if (vly_toml_append(of->area, &table) == VLY_OK)
        return VLY_OK;
    status = vly_reader_nomem(of->reader, sizeof(table), "a model of nodes");
out:
    vly_toml_deinit(&table);
    return status;
}

static vly_status add_values(node_model *of)
{
    vly_status status = VLY_OK;
    for (uint32_t i = 0; i < of->model->n_params; i++) {
        const char *key = of->model->params[i].name;
        nest_name(&of->model->params[i], of->names[i], sizeof(of->names[i]));
        of->known[i] = of->names[i];
        if (!vly_toml_get(of->area, key))
            VLY_TRY(add_value(of, key, of->names[i]));
    }
out:
    return status;
}

/* Members of dynamics_params that are no parameters of the model. */
static vly_status note_others(node_model *of)
{
    char others[200] = "";
    vly_error why = VLY_ERROR_INIT;
    vly_status status = VLY_OK;
    for (uint32_t i = 0; i < of->n_ids; i++) {
        const vly_node_type *type =
            vly_node_types_find(&of->types, (int64_t)of->ids[i]);
        char *name = NULL;
        char *text = NULL;
        size_t n = 0;
        if (!type->params)
            continue;
        VLY_TRY(vly_node_params_text(of->reader, of->types_file, of->params_dir,
                                     type->params, &name, &text, &n));
        status = vly_node_params_others(text, n, name, of->known,
                                        of->model->n_params, others,
                                        sizeof(others), &why);
        vly_free(text);
        VLY_TRY(vly_file_placed(of->reader, of->types_file, status, &why));
    }
    if (*others)
        return vly_reader_note(of->reader, of->types_file,
                               "dynamics_params of %.200s: %s: not used, no "
                               "parameter of %s",
                               of->types.name, others, of->model->id);
out:
    return status;
}

/* ---- areas -------------------------------------------------------------- */

static vly_status check_table(node_model *of)
{
    const vly_key_list list = {"a model of SONATA nodes", vly_keys_node_model,
                               NULL};
    const char *text = NULL;
    vly_status status;
    VLY_TRY(vly_reader_keys(of->reader, of->item, &list));
    for (uint32_t i = 0; i < of->item->n_children; i++)
        VLY_TRY(vly_reader_string(of->reader, &of->item->u.children[i],
                                  of->item->u.children[i].key, &text));
out:
    return status;
}

static vly_status expand(node_model *of)
{
    vly_status status;
    VLY_TRY(check_table(of));
    of->types_file = vly_toml_get(of->item, "node_types_file");
    of->params_dir = vly_toml_get(of->item, "dynamics_params_dir");
    VLY_TRY(read_ids(of));
    VLY_TRY(read_types(of));
    VLY_TRY(find_name(of));
    VLY_TRY(find_model(of));
    VLY_TRY(add_values(of));
    status = note_others(of);
out:
    return status;
}

/* The table leaves the area before children are added, which may move. */
static vly_status expand_area(vly_reader *reader, vly_toml_node *area)
{
    vly_toml_node *model = vly_toml_child(area, "model");
    vly_toml_node item = *model;
    vly_status status;
    node_model of = {.reader = reader, .area = area, .item = &item};
    item.key = vly_strdup("model");
    if (!item.key)
        return vly_reader_nomem(reader, sizeof("model"), "a name");
    model->kind = VLY_TOML_BOOL;
    model->n_children = 0;
    vly_toml_remove(area, "model");
    VLY_TRY(expand(&of));
    VLY_TRY(add_text(reader, area, &item, "model", of.model->id));
out:
    vly_node_types_deinit(&of.types);
    vly_free(of.ids);
    vly_toml_deinit(&item);
    return status;
}

vly_status vly_node_models_expand(vly_reader *reader)
{
    vly_toml_node *areas = vly_toml_child(&reader->root, "area");
    vly_status status = VLY_OK;
    if (!areas || areas->kind != VLY_TOML_TABLE)
        return VLY_OK;
    for (uint32_t i = 0; i < areas->n_children; i++) {
        vly_toml_node *area = &areas->u.children[i];
        const vly_toml_node *model = vly_toml_get(area, "model");
        if (model && model->kind == VLY_TOML_TABLE)
            VLY_TRY(expand_area(reader, area));
    }
out:
    return status;
}
