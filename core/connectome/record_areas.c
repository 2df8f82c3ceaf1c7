/* SPDX-License-Identifier: Apache-2.0
 * Areas of a mapped file: records, columns and models.
 */
#include "connectome/record_reader.h"

#include <inttypes.h>
#include <string.h>

#include "base/error.h"
#include "genome/user_model.h"

const char *vly_record_text(const vly_record_reader *reader, uint32_t at)
{
    const vly_file_view *file = reader->file;
    if (at >= file->table[VLY_SECTION_TEXT].bytes)
        return NULL;
    return (const char *)vly_file_section_bytes(file, VLY_SECTION_TEXT) + at;
}

/* ---- areas ------------------------------------------------------------ */

/* The model of an id, or of the definition of a user's one, which areas
 * share. */
static vly_status model_find(const vly_record_reader *reader, const char *text,
                             const vly_model_info **model)
{
    vly_storage *storage = reader->storage;
    vly_status status = VLY_OK;
    *model = vly_model_find(text);
    if (*model || text[0] != '[')
        return VLY_OK;
    for (size_t i = 0; i < storage->n_models && !*model; i++)
        if (strcmp(vly_model_definition(storage->models[i]), text) == 0)
            *model = storage->models[i];
    if (*model)
        return VLY_OK;
    const vly_model_info *made = NULL;
    VLY_TRY(
        vly_model_define(text, reader->file->path, &made, reader->file->error));
    if (vly_storage_model(storage, made))
        *model = made;
    vly_model_drop(made); /* the storage holds it */
    if (!*model)
        status = vly_fail_nomem(reader->file->error, 0, "a neuron model");
out:
    return status;
}

static vly_status model_check(const vly_record_reader *reader,
                              const vly_file_area *record,
                              vly_connectome_area *area)
{
    const char *id = vly_record_text(reader, record->model);
    area->name = vly_record_text(reader, record->name);
    if (!id || !area->name)
        return vly_file_damaged(reader->file, "an area without name or model");
    vly_status status = VLY_OK;
    VLY_TRY(model_find(reader, id, &area->model));
    if (!area->model)
        return vly_fail(reader->file->error, VLY_E_PARSE,
                        "%s: area %s: unknown model %s", reader->file->path,
                        area->name, id);
    if (area->model->table_hash != record->model_hash ||
        area->model->n_params != record->n_params)
        return vly_fail(reader->file->error, VLY_E_PARSE,
                        "%s: area %s: model %s has another table than this "
                        "engine's; build the connectome again",
                        reader->file->path, area->name, id);
    /* after the table: another engine may have made another program of it */
    const char *definition = vly_model_definition(area->model);
    if (definition && strcmp(definition, id) != 0)
        return vly_file_damaged(
            reader->file,
            "area %s: the text of its model is not the text that this engine "
            "writes for it",
            area->name);
    if (record->n_ports != area->model->n_ports ||
        record->n_fields != area->model->n_fields ||
        record->n_coefs != area->model->n_coefs ||
        record->flags != area->model->flags)
        return vly_file_damaged(
            reader->file, "area %s does not fit its model %s", area->name, id);
out:
    return status;
}

static bool shape_good(const vly_record_reader *reader,
                       const vly_file_area *record)
{
    const vly_file_header *header = &reader->file->header;
    uint64_t n = record->neurons_per_voxel;
    if (record->n_neurons == 0 || record->has_voxels > 1 ||
        record->first > header->n_neurons ||
        record->n_neurons > header->n_neurons - record->first)
        return false;
    if (!record->has_voxels)
        return true;
    for (int i = 0; i < 3; i++) {
        n *= record->voxels[i];
        if (n == 0 || n > UINT32_MAX)
            return false;
    }
    return n == record->n_neurons;
}

static vly_status ports_read(const vly_record_reader *reader,
                             const vly_file_area *record,
                             vly_connectome_area *area, vly_area_desc *desc)
{
    const uint64_t bytes = (uint64_t)record->n_neurons * sizeof(uint32_t);
    const uint64_t stride =
        (bytes + VLY_FILE_ALIGN - 1) / VLY_FILE_ALIGN * VLY_FILE_ALIGN;
    for (uint32_t port = 0; port < record->n_ports; port++) {
        const bool first = port < 2;
        int32_t q = first ? record->q[port] : record->q_more[port - 2];
        float scale = (float)vly_power_of_two(-q);
        uint64_t load =
            record->load[first ? port : 1] + (first ? 0 : (port - 1) * stride);
        area->load[port] = vly_file_array(reader->file, VLY_SECTION_LOADS, load,
                                          record->n_neurons, VLY_FILE_ALIGN);
        if (q < VLY_Q_MIN || q > VLY_Q_MAX || !area->load[port] ||
            (first && record->scale[port] != scale) ||
            ((record->flags & VLY_AREA_FEAGI) &&
             q != (int32_t)reader->file->header.feagi_q))
            return vly_file_damaged(
                reader->file,
                "area %s, port %" PRIu32 ": q is %" PRId32 ", scale %g",
                area->name, port, q,
                (double)(first ? record->scale[port] : scale));
        area->q[port] = q;
        *vly_area_scale(desc, port) = scale;
    }
    return VLY_OK;
}

/* One column of an area: name and type must match the model's table. */
static const void *column_read(vly_record_reader *reader,
                               const vly_file_area *area, uint32_t section,
                               const char *name, uint32_t type, uint64_t align,
                               bool *uniform)
{
    const vly_file_view *file = reader->file;
    if (reader->n_columns >= file->header.n_columns)
        return NULL;
    vly_file_column record;
    memcpy(&record,
           vly_file_section_bytes(file, VLY_SECTION_COLUMNS) +
               (size_t)reader->n_columns++ * sizeof(record),
           sizeof(record));
    const char *found = vly_record_text(reader, record.name);
    if (!found || strcmp(found, name) || record.type != type ||
        record.uniform > 1 ||
        record.n != (record.uniform ? 1 : area->n_neurons))
        return NULL;
    *uniform = record.uniform != 0;
    return vly_file_array(file, section, record.offset, record.n, align);
}

static vly_status columns_read(vly_record_reader *reader,
                               const vly_file_area *record,
                               vly_connectome_area *area, vly_area_desc *desc,
                               uint64_t state_word)
{
    const vly_file_view *file = reader->file;
    const vly_model_info *model = area->model;
    vly_param_column *params = vly_storage_alloc(
        reader->storage, model->n_params, sizeof(*params), true);
    vly_column *coefs = vly_storage_alloc(reader->storage, model->n_coefs,
                                          sizeof(*coefs), true);
    const unsigned char *state =
        vly_file_section_bytes(file, VLY_SECTION_STATE);
    bool uniform = false;
    if (!params || !coefs)
        return vly_fail_nomem(file->error, model->n_params * 32, "columns");
    for (uint32_t p = 0; p < model->n_params; p++) {
        const char *name = model->params[p].name;
        params[p].values =
            column_read(reader, record, VLY_SECTION_PARAMS, name,
                        VLY_FILE_TYPE_F64, VLY_FILE_ALIGN, &params[p].uniform);
        if (!params[p].values)
            return vly_file_damaged(file, "area %s: column of %s", area->name,
                                    name);
    }
    for (uint32_t f = 0; f < model->n_fields; f++) {
        const char *name = model->fields[f].name;
        const void *words = column_read(reader, record, VLY_SECTION_STATE, name,
                                        model->fields[f].type, 4, &uniform);
        uint64_t at = state_word + (uint64_t)f * area->n_neurons;
        if (!words || (uniform && area->n_neurons > 1) ||
            words != state + at * 4)
            return vly_file_damaged(file, "area %s: column of %s", area->name,
                                    name);
    }
    for (uint32_t c = 0; c < model->n_coefs; c++) {
        const char *name = model->coefs[c].name;
        coefs[c].type = model->coefs[c].type;
        coefs[c].words = column_read(reader, record, VLY_SECTION_COEFS, name,
                                     coefs[c].type, VLY_FILE_ALIGN, &uniform);
        coefs[c].uniform = uniform ? 1 : 0;
        if (!coefs[c].words)
            return vly_file_damaged(file, "area %s: column of %s", area->name,
                                    name);
    }
    area->params = params;
    desc->coefs = coefs;
    return VLY_OK;
}

static vly_status area_read(vly_record_reader *reader, uint32_t a,
                            uint64_t *state_word, uint32_t *first)
{
    vly_status status;
    const vly_file_view *file = reader->file;
    vly_connectome_area *area = &reader->areas[a];
    vly_area_desc *desc = &reader->area_descs[a];
    vly_file_area record;
    memcpy(&record,
           vly_file_section_bytes(file, VLY_SECTION_AREAS) + a * sizeof(record),
           sizeof(record));
    VLY_TRY(model_check(reader, &record, area));
    if (record.first != *first || !shape_good(reader, &record) ||
        record.first_column != reader->n_columns)
        return vly_file_damaged(file,
                                "area %s: neurons %" PRIu32 " from %" PRIu32
                                " or its voxels or columns",
                                area->name, record.n_neurons, record.first);
    area->first = record.first;
    area->n_neurons = record.n_neurons;
    area->has_voxels = record.has_voxels != 0;
    area->neurons_per_voxel = record.neurons_per_voxel;
    for (int i = 0; i < 3; i++) {
        area->voxels[i] = record.voxels[i];
        area->at[i] = record.at[i];
    }
    VLY_TRY(ports_read(reader, &record, area, desc));
    VLY_TRY(columns_read(reader, &record, area, desc, *state_word));
    desc->name = area->name;
    desc->model = area->model->id;
    desc->model_hash = record.model_hash;
    desc->first = record.first;
    desc->n_neurons = record.n_neurons;
    desc->flags = record.flags;
    desc->n_ports = record.n_ports;
    desc->n_coefs = record.n_coefs;
    desc->n_fields = record.n_fields;
    desc->program = vly_model_program(area->model);
    *state_word += (uint64_t)record.n_neurons * record.n_fields;
    *first += record.n_neurons;
out:
    return status;
}

vly_status vly_record_areas(vly_record_reader *reader)
{
    vly_status status;
    const vly_file_header *header = &reader->file->header;
    uint64_t state_word = 0;
    uint32_t first = 0;
    for (uint32_t a = 0; a < header->n_areas; a++)
        VLY_TRY(area_read(reader, a, &state_word, &first));
    if (first != header->n_neurons || state_word != header->n_state_words ||
        reader->n_columns != header->n_columns)
        return vly_file_damaged(reader->file,
                                "areas have %" PRIu32 " neurons, %" PRIu64
                                " words of state, %" PRIu32 " columns",
                                first, state_word, reader->n_columns);
    status = VLY_OK;
out:
    return status;
}
