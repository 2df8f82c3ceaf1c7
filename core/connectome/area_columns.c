/* SPDX-License-Identifier: Apache-2.0
 * Columns of the neurons of one area: parameters, the state at burst 0, and the
 * coefficients that the model's step reads.
 */
#include "connectome/connectome_make.h"

#include <math.h>
#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "base/number.h"

/* ---- what the expressions of a model read ----------------------------- */

typedef struct neuron_reader {
    const vly_model_info *model;
    const vly_param_column *columns;
    const double *dc; /* NULL: 0 */
    bool dc_uniform;
    bool voxels;
    uint32_t size[3];
    uint32_t per_voxel;
    vly_model_input input;
    double *params; /* [model->n_params] */
} neuron_reader;

static bool reader_init(neuron_reader *reader, double dt_ms)
{
    reader->params =
        vly_calloc(reader->model->n_params, sizeof(*reader->params));
    reader->input.params = reader->params;
    reader->input.dt_ms = dt_ms;
    return reader->params;
}

/* One evaluation is enough for all neurons. */
static bool reader_uniform(const neuron_reader *reader)
{
    for (uint32_t p = 0; p < reader->model->n_params; p++)
        if (!reader->columns[p].uniform)
            return false;
    return !reader->voxels && (!reader->dc || reader->dc_uniform);
}

static void reader_at(neuron_reader *reader, uint32_t neuron)
{
    for (uint32_t p = 0; p < reader->model->n_params; p++) {
        const vly_param_column *column = &reader->columns[p];
        reader->params[p] = column->values[column->uniform ? 0 : neuron];
    }
    if (reader->dc)
        reader->input.dc = reader->dc[reader->dc_uniform ? 0 : neuron];
    if (reader->voxels) {
        uint32_t voxel = neuron / reader->per_voxel;
        reader->input.voxel[2] = voxel % reader->size[2];
        reader->input.voxel[1] = voxel / reader->size[2] % reader->size[1];
        reader->input.voxel[0] = voxel / reader->size[2] / reader->size[1];
    }
}

static void reader_voxels(neuron_reader *reader, bool has_voxels,
                          const uint32_t size[3], uint32_t per_voxel)
{
    reader->voxels = has_voxels;
    memcpy(reader->size, size, sizeof(reader->size));
    reader->per_voxel = per_voxel;
}

/* ---- inconsistent parameters ------------------------------------------ */

/* *text: the condition that the first failing neuron violates; NULL: none. The
 * reader is then at that neuron. */
static uint32_t first_unfit(neuron_reader *reader, uint32_t n_neurons,
                            const char **text)
{
    uint32_t n = reader_uniform(reader) ? 1 : n_neurons;
    for (uint32_t i = 0; i < n; i++) {
        reader_at(reader, i);
        *text = vly_model_unfit(reader->model, &reader->input);
        if (*text)
            return i;
    }
    return 0;
}

/* ---- coefficients ----------------------------------------------------- */

/* varies[c] = 1 if any neuron's word differs from the first neuron's. */
static void coefs_compare(neuron_reader *reader, uint32_t n_neurons,
                          uint32_t *words, uint32_t *varies)
{
    const vly_model_info *model = reader->model;
    uint32_t *first = words + model->n_coefs;
    reader_at(reader, 0);
    vly_model_coefs(model, &reader->input, first);
    if (reader_uniform(reader))
        return;
    for (uint32_t i = 1; i < n_neurons; i++) {
        reader_at(reader, i);
        vly_model_coefs(model, &reader->input, words);
        for (uint32_t c = 0; c < model->n_coefs; c++)
            varies[c] |= words[c] != first[c];
    }
}

static vly_column *coefs_alloc(const vly_model_info *model,
                               const uint32_t *varies, uint32_t n_neurons)
{
    uint64_t n_words = 0;
    for (uint32_t c = 0; c < model->n_coefs; c++)
        n_words += varies[c] ? n_neurons : 1;
    vly_column *columns =
        vly_malloc(1, model->n_coefs * sizeof(*columns) + n_words * 4);
    if (!columns)
        return NULL;
    uint32_t *words = (uint32_t *)(void *)(columns + model->n_coefs);
    for (uint32_t c = 0; c < model->n_coefs; c++) {
        columns[c] = (vly_column){.words = words,
                                  .uniform = varies[c] ? 0 : 1,
                                  .type = model->coefs[c].type};
        words += varies[c] ? n_neurons : 1;
    }
    return columns;
}

static void coefs_fill(neuron_reader *reader, uint32_t n_neurons,
                       uint32_t *words, vly_column *columns)
{
    const vly_model_info *model = reader->model;
    uint32_t *out = (uint32_t *)(void *)(columns + model->n_coefs);
    uint32_t n = 1;
    for (uint32_t c = 0; c < model->n_coefs; c++)
        if (!columns[c].uniform)
            n = n_neurons;
    for (uint32_t i = 0; i < n; i++) {
        reader_at(reader, i);
        vly_model_coefs(model, &reader->input, words);
        for (uint32_t c = 0; c < model->n_coefs; c++)
            if (i == 0 || !columns[c].uniform)
                out[(size_t)(columns[c].words - out) + i] = words[c];
    }
}

/* *unfit: the condition that inconsistent parameters violate, or NULL */
static vly_status coefs_make(const vly_connectome_area *area,
                             const vly_param_column *params, const double *dc,
                             bool dc_uniform, double dt_ms,
                             vly_column **columns, const char **unfit,
                             vly_error *error)
{
    const vly_model_info *model = area->model;
    vly_status status = VLY_OK;
    *unfit = NULL;
    neuron_reader reader = {
        .model = model, .columns = params, .dc = dc, .dc_uniform = dc_uniform};
    reader_voxels(&reader, area->has_voxels, area->voxels,
                  area->neurons_per_voxel);
    vly_column *made = NULL;
    uint32_t *words = vly_calloc(model->n_coefs, 3 * sizeof(*words));
    if (reader_init(&reader, dt_ms) && words) {
        uint32_t at = first_unfit(&reader, area->n_neurons, unfit);
        if (*unfit)
            VLY_TRY(
                vly_unfit_fail(area, reader.params, params, at, *unfit, error));
        uint32_t *varies = words + 2 * (size_t)model->n_coefs;
        coefs_compare(&reader, area->n_neurons, words, varies);
        made = coefs_alloc(model, varies, area->n_neurons);
        if (made)
            coefs_fill(&reader, area->n_neurons, words, made);
    }
    if (!made)
        VLY_TRY(vly_fail_nomem(error,
                               (uint64_t)area->n_neurons * model->n_coefs * 4,
                               "coefficients"));
    *columns = made;
out:
    vly_free(words);
    vly_free(reader.params);
    return status;
}

vly_status vly_coefs_make(const vly_connectome_area *area,
                          const vly_param_column *params, const double *dc,
                          bool dc_uniform, double dt_ms, vly_column **columns,
                          vly_error *error)
{
    const char *unfit;
    return coefs_make(area, params, dc, dc_uniform, dt_ms, columns, &unfit,
                      error);
}

void vly_coefs_free(vly_column *columns)
{
    vly_free(columns);
}

static uint64_t coefs_bytes(const vly_model_info *model,
                            const vly_column *columns, uint32_t n_neurons)
{
    uint64_t bytes = model->n_coefs * sizeof(*columns);
    for (uint32_t c = 0; c < model->n_coefs; c++)
        bytes += columns[c].uniform ? 4 : (uint64_t)n_neurons * 4;
    return bytes;
}

/* dc of the stimuli that are active in burst 0, in genome order. *dc NULL:
 * none. */
static vly_status dc_sum(const vly_maker *maker, uint32_t area,
                         vly_storage *scratch, double **dc, bool *uniform)
{
    const vly_genome *genome = maker->genome;
    uint32_t n = genome->areas[area].n_neurons;
    bool any = false;
    *uniform = true;
    for (uint32_t s = 0; s < genome->n_stimuli; s++) {
        const vly_stimulus *stimulus = &genome->stimuli[s];
        if (stimulus->kind != VLY_STIMULUS_DC || stimulus->to != area ||
            stimulus->start > 0 || stimulus->stop == 0)
            continue;
        any = true;
        *uniform = *uniform && stimulus->n_neurons == n;
    }
    if (!any)
        return VLY_OK;
    size_t n_values = *uniform ? 1 : n;
    *dc = vly_storage_alloc(scratch, n_values, sizeof(**dc), true);
    if (!*dc)
        return vly_fail_nomem(maker->error, n_values * 8, "dc input");
    for (uint32_t s = 0; s < genome->n_stimuli; s++) {
        const vly_stimulus *stimulus = &genome->stimuli[s];
        if (stimulus->kind != VLY_STIMULUS_DC || stimulus->to != area ||
            stimulus->start > 0 || stimulus->stop == 0)
            continue;
        size_t first = *uniform ? 0 : stimulus->first;
        size_t count = *uniform ? 1 : stimulus->n_neurons;
        for (size_t i = first; i < first + count; i++)
            (*dc)[i] += stimulus->mean;
    }
    return VLY_OK;
}

/* ---- state at burst 0 ------------------------------------------------- */

static uint32_t field_word(const vly_field_info *field, double value)
{
    if (field->type == VLY_TYPE_F32)
        return vly_float_bits(
            vly_float_store(value, (float)field->lo, (float)field->hi));
    value = vly_floor(value + 0.5);
    if (!(value > field->lo))
        value = field->lo;
    if (value > field->hi)
        value = field->hi;
    return (uint32_t)value;
}

static bool field_given(const vly_value *value)
{
    return value->kind != VLY_VALUE_NUMBER ||
           value->origin.kind != VLY_ORIGIN_DEFAULT;
}

static void state_fill(neuron_reader *reader, const vly_param_column *given,
                       uint32_t n_neurons, double *values, uint32_t *state)
{
    const vly_model_info *model = reader->model;
    double *at = values + model->n_fields;
    bool uniform = reader_uniform(reader);
    for (uint32_t f = 0; f < model->n_fields; f++)
        uniform = uniform && (!given[f].values || given[f].uniform);
    for (uint32_t i = 0; i < n_neurons; i++) {
        if (i == 0 || !uniform) {
            reader_at(reader, i);
            for (uint32_t f = 0; f < model->n_fields; f++)
                at[f] = given[f].values
                            ? given[f].values[given[f].uniform ? 0 : i]
                            : (double)NAN;
            vly_model_fields(model, &reader->input, at, values);
        }
        for (uint32_t f = 0; f < model->n_fields; f++)
            state[(size_t)f * n_neurons + i] =
                field_word(&model->fields[f], values[f]);
    }
}

static vly_status state_make(vly_maker *maker, const vly_area *area,
                             neuron_reader *reader, uint32_t *state,
                             vly_storage *scratch)
{
    vly_status status;
    const vly_model_info *model = area->model;
    vly_param_column *given =
        vly_storage_alloc(scratch, model->n_fields, sizeof(*given), true);
    double *values =
        vly_storage_alloc(scratch, model->n_fields, 2 * sizeof(double), true);
    if (!given || !values)
        return vly_fail_nomem(maker->error, model->n_fields * 64, "fields");
    for (uint32_t f = 0; f < model->n_fields; f++) {
        const vly_field_info *field = &model->fields[f];
        if (!field_given(&area->fields[f]))
            continue;
        vly_value_target target = {area, field->name, field->unit, field->lo,
                                   field->hi};
        VLY_TRY(vly_value_column(maker, scratch, &target, &area->fields[f],
                                 &given[f]));
    }
    state_fill(reader, given, area->n_neurons, values, state);
    status = VLY_OK;
out:
    return status;
}

/* ---- one area --------------------------------------------------------- */

static vly_status params_make(vly_maker *maker, const vly_area *area,
                              vly_made_area *made)
{
    vly_status status = VLY_OK;
    const vly_model_info *model = area->model;
    made->params = vly_storage_alloc(maker->storage, model->n_params,
                                     sizeof(*made->params), true);
    if (!made->params)
        return vly_fail_nomem(maker->error, model->n_params * 16, "params");
    for (uint32_t p = 0; p < model->n_params; p++) {
        const vly_param_info *param = &model->params[p];
        vly_value_target target = {area, param->name, param->unit, param->lo,
                                   param->hi};
        VLY_TRY(vly_value_column(maker, maker->storage, &target,
                                 &area->params[p], &made->params[p]));
    }
out:
    return status;
}

static vly_status coefs_of_area(vly_maker *maker, uint32_t index,
                                vly_storage *scratch)
{
    vly_status status;
    const vly_area *area = &maker->genome->areas[index];
    vly_made_area *made = &maker->areas[index];
    vly_connectome_area view = {.name = area->name,
                                .model = area->model,
                                .n_neurons = area->n_neurons,
                                .has_voxels = area->has_voxels,
                                .neurons_per_voxel = area->neurons_per_voxel};
    memcpy(view.voxels, area->voxels, sizeof(view.voxels));
    double *dc = NULL;
    bool dc_uniform = true;
    vly_column *columns = NULL;
    VLY_TRY(dc_sum(maker, index, scratch, &dc, &dc_uniform));
    const char *unfit = NULL;
    vly_error why = VLY_ERROR_INIT;
    status = coefs_make(&view, made->params, dc, dc_uniform,
                        maker->genome->dt_ms, &columns, &unfit, &why);
    if (unfit)
        VLY_TRY(vly_unfit_placed(maker, area, unfit, &why));
    if (status != VLY_OK)
        VLY_TRY(
            vly_fail_nomem(maker->error, why.bytes_requested, "coefficients"));
    uint64_t bytes = coefs_bytes(area->model, columns, area->n_neurons);
    if (!vly_storage_adopt(maker->storage, columns, bytes)) {
        vly_coefs_free(columns);
        return vly_fail_nomem(maker->error, bytes, "coefficients");
    }
    made->coefs = columns;
out:
    return status;
}

vly_status vly_area_columns_make(vly_maker *maker, uint32_t index,
                                 uint32_t *state)
{
    vly_status status;
    const vly_area *area = &maker->genome->areas[index];
    vly_made_area *made = &maker->areas[index];
    vly_storage scratch = {0};
    neuron_reader reader = {.model = area->model};
    VLY_TRY(params_make(maker, area, made));
    VLY_TRY(coefs_of_area(maker, index, &scratch));
    reader.columns = made->params;
    reader_voxels(&reader, area->has_voxels, area->voxels,
                  area->neurons_per_voxel);
    if (!reader_init(&reader, maker->genome->dt_ms))
        VLY_TRY(vly_fail_nomem(maker->error, area->model->n_params * 8,
                               "parameters"));
    VLY_TRY(state_make(maker, area, &reader, state, &scratch));
out:
    vly_free(reader.params);
    vly_storage_deinit(&scratch);
    return status;
}
