/* SPDX-License-Identifier: Apache-2.0
 * [model.NAME] and [area.NAME]: default, then model, then area; --set is in
 * the tree already.
 */
#include "genome/genome_area.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/memory.h"
#include "base/number.h"
#include "genome/foreign_names.h"
#include "genome/genome_generator.h"
#include "genome/genome_space.h"
#include "genome/genome_step.h"
#include "genome/genome_value.h"
#include "genome/user_model.h"

/* ---- models ------------------------------------------------------------- */

/* ", wanted feagi, ... or adex" */
static void put_models(bool named, char *out, size_t size)
{
    uint32_t n = vly_model_count();
    size_t used =
        (size_t)snprintf(out, size, ", wanted %s", named ? "a [model]" : "");
    for (uint32_t i = 0; i < n && used < size; i++)
        used += (size_t)snprintf(out + used, size - used, "%s%s",
                                 i == 0 && !named ? ""
                                 : i + 1 < n      ? ", "
                                                  : " or ",
                                 vly_model_at(i)->id);
}

static const vly_model_info *find(const vly_reader *reader, const char *id)
{
    const vly_model_info *own = vly_neuron_find(reader->genome, id);
    return own ? own : vly_model_find(id);
}

static vly_status no_model(vly_reader *reader, const vly_toml_node *node,
                           const char *what, const char *id, bool named)
{
    vly_suggest suggest = {0};
    char hint[VLY_HINT_SIZE];
    const vly_toml_node *models = vly_toml_get(&reader->root, "model");
    for (uint32_t i = 0; named && models && i < models->n_children; i++)
        vly_foreign_offer(&suggest, id, models->u.children[i].key);
    for (uint32_t i = 0; i < reader->genome->n_neuron_models; i++)
        vly_foreign_offer(&suggest, id, reader->genome->neuron_models[i]->id);
    for (uint32_t i = 0; i < vly_model_count(); i++)
        vly_foreign_offer(&suggest, id, vly_model_at(i)->id);
    if (named && vly_generator_kind(id))
        return vly_reader_fail(reader, node,
                               "no model \"%.80s\", wanted generator = \"%s\" "
                               "for an area that only fires",
                               id, id);
    vly_foreign_hint(&suggest, id, hint, sizeof(hint));
    if (!*hint)
        put_models(named, hint, sizeof(hint));
    return vly_reader_fail(reader, node, "no %s \"%.80s\"%s", what, id, hint);
}

/* `type` of a [model] */
static vly_status model_type(vly_reader *reader, const vly_toml_node *node,
                             const vly_model_info **model)
{
    const char *id = NULL;
    const vly_toml_node *type = vly_toml_get(node, "type");
    if (!type)
        return vly_reader_fail_key(reader, node,
                                   "[model.%s] has no type, wanted type = "
                                   "\"lif_psc_exp\" or another model",
                                   node->key);
    vly_status status = VLY_OK;
    VLY_TRY(vly_reader_string(reader, type, "type", &id));
    *model = find(reader, id);
    status = *model ? VLY_OK : no_model(reader, type, "type", id, false);
out:
    return status;
}

/* ---- parameters and fields ---------------------------------------------- */

/* Overwrites params and fields with the values of the table. */
static vly_status read_values(vly_reader *reader, const vly_toml_node *table,
                              vly_origin_kind kind, vly_area *area)
{
    vly_status status = VLY_OK;
    const vly_model_info *model = area->model;
    for (uint32_t i = 0; i < model->n_params + model->n_fields; i++) {
        bool is_param = i < model->n_params;
        uint32_t j = is_param ? i : i - model->n_params;
        const vly_param_info *param = &model->params[is_param ? j : 0];
        const vly_field_info *field = &model->fields[is_param ? 0 : j];
        vly_value_spec spec = {
            .what = is_param ? param->name : field->name,
            .lo = is_param ? param->lo : field->lo,
            .hi = is_param ? param->hi : field->hi,
            .whole = vly_unit_is_whole(is_param ? param->unit : field->unit),
            .boolean = is_param && vly_unit_is_boolean(param->unit),
            .neurons = true,
            .n = area->n_neurons,
        };
        const vly_toml_node *node = vly_toml_get(table, spec.what);
        if (!node)
            continue;
        vly_value value = {0};
        VLY_TRY(vly_value_read(reader, node, &spec, &value));
        if (value.origin.kind == VLY_ORIGIN_FILE)
            value.origin.kind = kind;
        vly_value *place = is_param ? &area->params[j] : &area->fields[j];
        vly_value_deinit(place);
        *place = value;
    }
out:
    return status;
}

/* A duration that the model counts in bursts, given or by default. */
static vly_status note_bursts(vly_reader *reader, const vly_toml_node *model,
                              const vly_toml_node *table, const vly_area *area,
                              uint32_t param)
{
    const char *key = area->model->params[param].name;
    const vly_value *value = &area->params[param];
    const double dt_ms = reader->genome->dt_ms;
    const vly_toml_node *node = vly_toml_get(table, key);
    char by_default[80];
    uint64_t n_rounded = 0;
    uint64_t bursts = 0;
    if (!node && model)
        node = vly_toml_get(model, key);
    (void)snprintf(by_default, sizeof by_default, "%s, by default,", key);
    if (value->kind == VLY_VALUE_NUMBER &&
        vly_bursts_from_ms(value->a, dt_ms, &bursts))
        return vly_value_rounded(reader, node ? node : table,
                                 node ? key : by_default, value->a, bursts);
    for (uint32_t i = 0; value->array && i < value->n_array; i++)
        n_rounded += vly_value_off_grid(value->array[i], dt_ms);
    return vly_values_rounded(reader, node ? node : table, key, n_rounded,
                              value->n_array);
}

static vly_status make_values(vly_reader *reader, vly_area *area)
{
    const vly_model_info *model = area->model;
    area->params = vly_calloc(model->n_params, sizeof(vly_value));
    area->fields = vly_calloc(model->n_fields, sizeof(vly_value));
    if (!area->params || !area->fields)
        return vly_reader_nomem(
            reader, (model->n_params + model->n_fields) * sizeof(vly_value),
            "an area's parameters");
    for (uint32_t i = 0; i < model->n_params; i++)
        area->params[i].a = model->params[i].init;
    return VLY_OK;
}

void vly_area_deinit(vly_area *area)
{
    for (uint32_t i = 0; area->params && i < area->model->n_params; i++)
        vly_value_deinit(&area->params[i]);
    for (uint32_t i = 0; area->fields && i < area->model->n_fields; i++)
        vly_value_deinit(&area->fields[i]);
    for (uint32_t i = 0; i < 3; i++)
        vly_value_deinit(&area->positions[i]);
    vly_model_drop(area->recorded);
    vly_free(area->params);
    vly_free(area->fields);
    vly_free(area->name);
    vly_free(area->model_name);
}

static vly_status read_model(vly_reader *reader, const vly_toml_node *node)
{
    vly_status status;
    vly_area area = {0};
    VLY_TRY(vly_reader_table(reader, node, "model"));
    VLY_TRY(vly_reader_name(reader, node, "model", node->key));
    if (find(reader, node->key))
        return vly_reader_fail_key(reader, node,
                                   "[model.%s] has the name of a [neuron] or "
                                   "built-in "
                                   "model, wanted another name",
                                   node->key);
    VLY_TRY(model_type(reader, node, &area.model));
    const vly_key_list list = {"a [model]", vly_keys_model, area.model};
    VLY_TRY(vly_reader_keys(reader, node, &list));
    VLY_TRY(make_values(reader, &area));
    VLY_TRY(read_values(reader, node, VLY_ORIGIN_MODEL, &area));
out:
    vly_area_deinit(&area);
    return status;
}

vly_status vly_models_read(vly_reader *reader)
{
    const vly_toml_node *models = vly_toml_get(&reader->root, "model");
    if (!models)
        return VLY_OK;
    vly_status status = VLY_OK;
    VLY_TRY(vly_reader_table(reader, models, "model"));
    for (uint32_t i = 0; i < models->n_children; i++)
        VLY_TRY(read_model(reader, &models->u.children[i]));
out:
    return status;
}

/* ---- areas -------------------------------------------------------------- */

static vly_status read_voxels(vly_reader *reader, const vly_toml_node *node,
                              const vly_toml_node *voxels, vly_area *area)
{
    uint64_t total = 1;
    uint64_t number = 0;
    vly_status status;
    if (voxels->kind != VLY_TOML_ARRAY || voxels->n_children != 3)
        return vly_reader_wrong(reader, voxels, "voxels", "[x, y, z]");
    area->has_voxels = true;
    for (uint32_t i = 0; i <= 3; i++) {
        const vly_toml_node *item =
            i < 3 ? &voxels->u.children[i]
                  : vly_toml_get(node, "neurons_per_voxel");
        const char *what = i < 3 ? "voxels" : "neurons_per_voxel";
        if (!item)
            continue;
        VLY_TRY(
            vly_value_whole(reader, item, what, 1, VLY_NEURONS_MAX, &number));
        if (i < 3)
            area->voxels[i] = (uint32_t)number;
        else
            area->neurons_per_voxel = (uint32_t)number;
        total *= number;
        if (total > VLY_NEURONS_MAX)
            return vly_reader_fail(reader, item,
                                   "area %s has more than %u neurons, wanted "
                                   "fewer voxels",
                                   area->name, VLY_NEURONS_MAX);
    }
    area->n_neurons = (uint32_t)total;
out:
    return status;
}

static vly_status read_size(vly_reader *reader, const vly_toml_node *node,
                            vly_area *area)
{
    const vly_toml_node *neurons = vly_toml_get(node, "neurons");
    const vly_toml_node *voxels = vly_toml_get(node, "voxels");
    const vly_toml_node *per_voxel = vly_toml_get(node, "neurons_per_voxel");
    uint64_t number = 0;
    area->neurons_per_voxel = 1;
    if (!neurons == !voxels)
        return vly_reader_fail_key(
            reader, neurons ? neurons : node,
            "area %s has %s, wanted neurons or voxels", area->name,
            neurons ? "both neurons and voxels" : "no size");
    if (voxels)
        return read_voxels(reader, node, voxels, area);
    if (per_voxel)
        return vly_reader_fail_key(reader, per_voxel,
                                   "neurons_per_voxel without voxels, wanted "
                                   "voxels = [x, y, z]");
    vly_status status = vly_value_whole(reader, neurons, "neurons", 0,
                                        VLY_NEURONS_MAX, &number);
    area->n_neurons = (uint32_t)number;
    if (status == VLY_OK && number == 0)
        return vly_reader_note(reader, neurons,
                               "area %s has 0 neurons: it is left out, with "
                               "its maps, stimuli and records",
                               area->name);
    return status;
}

/* The key itself may be mistyped. */
static vly_status no_model_key(vly_reader *reader, const vly_toml_node *node,
                               const char *name)
{
    for (uint32_t i = 0; i < node->n_children; i++) {
        const vly_toml_node *child = &node->u.children[i];
        vly_suggest near = {0};
        bool known = false;
        for (const vly_key *key = vly_keys_area; key->name; key++)
            known = known || strcmp(key->name, child->key) == 0;
        vly_foreign_offer(&near, child->key, "model");
        char hint[VLY_HINT_SIZE];
        if (!known && *vly_suggest_text(&near, hint, sizeof(hint)))
            return vly_reader_fail_key(reader, child,
                                       "unknown key %.80s in area %s, which "
                                       "has no model%s",
                                       child->key, name, hint);
    }
    return vly_reader_fail_key(reader, node,
                               "area %s has no model, wanted the name of "
                               "a [model] or a model's id",
                               name);
}

/* *table: the [model] of the area, NULL if the area names a model id */
static vly_status find_model(vly_reader *reader, const vly_toml_node *node,
                             vly_area *area, const vly_toml_node **table)
{
    const char *name = NULL;
    const vly_toml_node *item = vly_toml_get(node, "model");
    if (!item)
        return no_model_key(reader, node, area->name);
    vly_status status = VLY_OK;
    VLY_TRY(vly_reader_string(reader, item, "model", &name));
    *table = vly_toml_get(vly_toml_get(&reader->root, "model"), name);
    if (*table)
        VLY_TRY(model_type(reader, *table, &area->model));
    else if (!(area->model = find(reader, name)))
        VLY_TRY(no_model(reader, item, "model", name, true));
    area->model_name = vly_strdup(name);
    if (!area->model_name)
        return vly_reader_nomem(reader, strlen(name) + 1, "a name");
out:
    return status;
}

static vly_status read_area(vly_reader *reader, const vly_toml_node *node,
                            vly_area *area)
{
    vly_status status;
    const vly_toml_node *model = NULL;
    const vly_toml_node *at = vly_toml_get(node, "at");
    if (node->kind != VLY_TOML_TABLE)
        return vly_reader_fail_key(reader, node,
                                   "%.80s of no area, wanted the name of one "
                                   "before it: [area.NAME]",
                                   node->key);
    VLY_TRY(vly_reader_name(reader, node, "area", node->key));
    area->origin.kind = VLY_ORIGIN_FILE;
    area->origin.line = node->key_line;
    area->origin.column = node->key_column;
    area->origin.file = node->file;
    area->name = vly_strdup(node->key);
    if (!area->name)
        return vly_reader_nomem(reader, strlen(node->key) + 1, "a name");
    VLY_TRY(find_model(reader, node, area, &model));
    const vly_key_list list = {"an [area]", vly_keys_area, area->model};
    VLY_TRY(vly_reader_keys(reader, node, &list));
    VLY_TRY(read_size(reader, node, area));
    VLY_TRY(make_values(reader, area));
    if (at && (at->kind != VLY_TOML_ARRAY || at->n_children != 3))
        return vly_reader_wrong(reader, at, "at", "[x, y, z]");
    for (uint32_t i = 0; at && i < 3; i++)
        VLY_TRY(vly_value_ranged(reader, &at->u.children[i], "at", -1e9, 1e9,
                                 &area->at[i]));
    VLY_TRY(vly_area_positions(reader, node, area));
    if (model)
        VLY_TRY(read_values(reader, model, VLY_ORIGIN_MODEL, area));
    VLY_TRY(read_values(reader, node, VLY_ORIGIN_FILE, area));
    for (uint32_t i = 0; i < area->model->n_params; i++)
        if (vly_model_is(area->model, VLY_ROLE_IN_BURSTS, i) &&
            vly_model_substeps(area->model) == 1)
            VLY_TRY(note_bursts(reader, model, node, area, i));
out:
    return status;
}

vly_status vly_areas_read(vly_reader *reader)
{
    vly_genome *genome = reader->genome;
    const vly_toml_node *areas = vly_toml_get(&reader->root, "area");
    uint64_t total = 0;
    if (!areas || (areas->kind == VLY_TOML_TABLE && areas->n_children == 0))
        return vly_reader_fail(reader, &reader->root,
                               "no area, wanted at least one [area.NAME]");
    vly_status status;
    VLY_TRY(vly_reader_table(reader, areas, "area"));
    if (areas->n_children > VLY_AREAS_MAX)
        return vly_reader_fail(reader, areas, "%u areas, wanted at most %u",
                               areas->n_children, VLY_AREAS_MAX);
    genome->areas = vly_calloc(areas->n_children, sizeof(vly_area));
    if (!genome->areas)
        return vly_reader_nomem(reader, areas->n_children * sizeof(vly_area),
                                "the areas");
    for (uint32_t i = 0; i < areas->n_children; i++) {
        const vly_toml_node *node = &areas->u.children[i];
        vly_area *area = &genome->areas[genome->n_areas++];
        VLY_TRY(read_area(reader, node, area));
        if (!vly_generator_is(reader, i))
            VLY_TRY(vly_step_note(reader, node, area));
        area->first = (uint32_t)total;
        total += area->n_neurons;
        if (total > VLY_NEURONS_MAX)
            return vly_reader_fail_key(reader, node,
                                       "%" PRIu64 " neurons up to area %s, "
                                       "wanted at most %u in all",
                                       total, area->name, VLY_NEURONS_MAX);
    }
    genome->n_neurons = (uint32_t)total;
    VLY_TRY(vly_reader_alloc(reader, genome->n_areas, sizeof(uint32_t),
                             &reader->seen));
out:
    return status;
}
