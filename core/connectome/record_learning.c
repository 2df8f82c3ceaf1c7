/* SPDX-License-Identifier: Apache-2.0
 * How projections learn, from the records of a file. All of it is checked: a
 * backend computes with these numbers without a check.
 */
#include <inttypes.h>
#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "base/number.h"
#include "connectome/record_reader.h"
#include "genome/user_rule.h"
#include "kernels/rules/rule_program.h"

/* A trace ends after 15 halvings, 10.4 of its time constants. */
#define DECAY_MOST 10.5
/* Weights at FEAGI areas are at most 255. */
#define FEAGI_MOST (UINT32_C(255) << 16)

static bool word_finite(uint32_t word)
{
    return (word & 0x7f800000u) != 0x7f800000u;
}

static bool trace_good(const vly_learning_trace *trace, bool has, bool window)
{
    double rate = (double)trace->rate;
    if (!has)
        return rate == 0.0 && trace->bursts == 0;
    return trace->bursts >= 1 && trace->bursts <= VLY_TRACE_BURSTS_MAX &&
           (window ? rate == 0.0 : rate > 0.0 && rate - rate == 0.0) &&
           rate * (trace->bursts - 1.0) <= DECAY_MOST;
}

static bool traces_good(const vly_plasticity_info *info,
                        const vly_file_learning *record)
{
    bool has[2][2] = {{false}};
    for (uint32_t i = 0; i < info->n_traces; i++)
        has[info->traces[i].of_target][info->traces[i].index] = true;
    for (int i = 0; i < 2; i++)
        if (!trace_good(&record->source[i], has[0][i], info->window) ||
            !trace_good(&record->target[i], has[1][i], info->window))
            return false;
    return !info->window ||
           record->source[0].bursts == record->target[0].bursts;
}

static bool coefs_good(const vly_plasticity_info *info,
                       const vly_file_learning *record, const uint32_t *coefs)
{
    for (uint32_t c = 0; c < info->n_coefs; c++) {
        if (info->coefs[c].type == VLY_TYPE_F32 && !word_finite(coefs[c]))
            return false;
        if (strcmp(info->coefs[c].name, "most") == 0 &&
            coefs[c] != record->most)
            return false;
    }
    return true;
}

static bool flags_good(const vly_plasticity_info *info, uint32_t flags)
{
    const uint32_t spikes = VLY_LEARNING_DENDRITIC | VLY_LEARNING_NEAREST;
    const uint32_t kind = info->window ? VLY_LEARNING_WINDOW : spikes;
    const uint32_t any = VLY_LEARNING_NEGATIVE | VLY_LEARNING_FROZEN;
    return !(flags & ~(kind | any)) &&
           (!info->window || (flags & VLY_LEARNING_WINDOW));
}

static bool modulator_good(const vly_plasticity_info *info,
                           const double *params, uint32_t n_areas, double dt_ms)
{
    double area = params[info->n_params + 1];
    double interval =
        vly_plasticity_interval(params[info->modulator_interval], dt_ms);
    return (area == (double)VLY_NO_MODULATOR ||
            (area >= 0.0 && area < n_areas && area == vly_floor(area))) &&
           vly_trace_bursts(params[info->modulator_tau], dt_ms) <=
               VLY_TRACE_BURSTS_MAX &&
           interval >= 1.0 && interval <= VLY_INTERVAL_BURSTS_MAX;
}

/* Coefficients are made of these again when one is changed. */
static bool params_good(const vly_record_reader *reader,
                        const vly_file_learning *record,
                        const vly_plasticity_info *info, const double *params)
{
    double w_max = params[info->n_params];
    uint32_t n_areas = reader->file->header.n_areas;
    bool negative = (record->flags & VLY_LEARNING_NEGATIVE) != 0;
    const vly_plasticity_input input = {.params = params,
                                        .w_max = negative ? -w_max : w_max,
                                        .unit = 1.0,
                                        .dt_ms = reader->file->header.dt_ms};
    if (info->modulated && !modulator_good(info, params, n_areas, input.dt_ms))
        return false;
    return w_max - w_max == 0.0 && (negative ? w_max < 0.0 : w_max > 0.0) &&
           !vly_plasticity_unfit(info, &input);
}

const char *vly_record_rule(const vly_record_reader *reader,
                            const vly_file_learning *record,
                            const vly_plasticity_info *info,
                            const uint32_t **coefs, const double **params)
{
    if (record->rule_hash != info->table_hash)
        return "its rule has another table";
    if (record->n_coefs != info->n_coefs)
        return "its number of coefficients";
    *coefs = vly_file_array(reader->file, VLY_SECTION_COEFS, record->coefs,
                            record->n_coefs, VLY_FILE_ALIGN);
    if (!*coefs)
        return "its coefficients";
    *params = vly_file_array(reader->file, VLY_SECTION_PARAMS, record->params,
                             vly_learning_values(info), VLY_FILE_ALIGN);
    if (!*params)
        return "its parameters";
    for (uint32_t i = 0; i < info->n_params; i++)
        if (!((*params)[i] >= info->params[i].lo &&
              (*params)[i] <= info->params[i].hi))
            return "its parameters";
    return NULL;
}

/* A user's rule is what its definition compiles to: no word of its program is
 * another one. (The bound, word 0, is checked by coefs_good.) */
static bool program_good(const vly_record_reader *reader,
                         const vly_plasticity_info *info, const uint32_t *coefs,
                         const double *params)
{
    uint32_t made[VLY_RULE_PROGRAM_WORDS];
    bool good = true;
    if (!info->user)
        return true;
    const vly_plasticity_input input = {
        .params = params,
        .w_max = vly_plasticity_size(params[info->n_params]),
        .unit = 1.0,
        .dt_ms = reader->file->header.dt_ms};
    vly_plasticity_coefs(info, &input, made);
    for (uint32_t c = 1; c < info->n_coefs; c++) {
        bool number =
            c >= VLY_RULE_PROGRAM_HEAD && c < VLY_RULE_PROGRAM_HEAD + made[1];
        good = good && (number ? word_finite(coefs[c]) : coefs[c] == made[c]);
    }
    return good;
}

/* What files of earlier versions may have: a coefficient that counts as 0 and
 * is not; eligibilities in the unit of the map, and so another one than
 * parameters that change in a net. */
static bool made_as_now(const vly_record_reader *reader, uint32_t p,
                        const vly_plasticity_info *info, const uint32_t *coefs,
                        const double *params)
{
    uint32_t made[VLY_RULE_COEFS];
    char text[VLY_LOSS_SIZE];
    const vly_plasticity_input input = {
        .params = params,
        .w_max = vly_plasticity_size(params[info->n_params]),
        .unit = reader->projections[p].unit,
        .dt_ms = reader->file->header.dt_ms};
    if (vly_plasticity_loses(info, &input, text))
        return false;
    if (!info->modulated)
        return true;
    vly_plasticity_coefs(info, &input, made);
    return memcmp(made, coefs, info->n_coefs * sizeof(*made)) == 0;
}

/* The rule of an id, or of the definition of a user's one, which projections
 * share; NULL: there is none. */
static vly_status rule_find(const vly_record_reader *reader, const char *text,
                            const vly_plasticity_info **rule)
{
    vly_storage *storage = reader->storage;
    vly_status status = VLY_OK;
    *rule = NULL;
    if (!text)
        return VLY_OK;
    *rule = vly_plasticity_find(text);
    if (*rule || text[0] != '[')
        return VLY_OK;
    for (size_t i = 0; i < storage->n_rules && !*rule; i++)
        if (strcmp(vly_plasticity_definition(storage->rules[i]), text) == 0)
            *rule = storage->rules[i];
    if (*rule)
        return VLY_OK;
    const vly_plasticity_info *made = NULL;
    VLY_TRY(vly_plasticity_define(text, reader->file->path, &made,
                                  reader->file->error));
    if (strcmp(vly_plasticity_definition(made), text) != 0) {
        vly_plasticity_drop(made);
        return vly_file_damaged(
            reader->file,
            "the text of a plasticity rule is not the text that this engine "
            "writes for it");
    }
    if (vly_storage_rule(storage, made))
        *rule = made;
    vly_plasticity_drop(made); /* the storage holds it */
    if (!*rule)
        status = vly_fail_nomem(reader->file->error, 0, "a rule of plasticity");
out:
    return status;
}

static const char *record_fault(const vly_record_reader *reader,
                                const vly_file_learning *record,
                                const vly_plasticity_info *info,
                                const uint32_t **coefs, const double **params)
{
    const char *fault = vly_record_rule(reader, record, info, coefs, params);
    if (fault)
        return fault;
    if (!coefs_good(info, record, *coefs) ||
        !program_good(reader, info, *coefs, *params))
        return "its coefficients";
    if (!made_as_now(reader, record->projection, info, *coefs, *params))
        return "its coefficients are not those of its parameters, as in files "
               "of an earlier version, wanted a file that is compiled again";
    if (record->most > (info->window ? FEAGI_MOST : VLY_MASTER_MAX) ||
        !flags_good(info, record->flags))
        return "its bound or flags";
    if (!params_good(reader, record, info, *params))
        return "its parameters";
    return traces_good(info, record) ? NULL : "its traces";
}

/* Onto FEAGI areas synapses learn by rules of windows, and by no others. */
static bool gained(const vly_record_reader *reader, uint32_t p)
{
    return reader->projection_descs[p].flags & VLY_PROJECTION_GAIN;
}

static vly_status learning_read(vly_record_reader *reader, uint64_t index,
                                uint32_t p)
{
    const vly_file_view *file = reader->file;
    vly_file_learning record;
    const uint32_t *coefs = NULL;
    const double *params = NULL;
    memcpy(&record,
           file->bytes + file->header.learning + index * sizeof(record),
           sizeof(record));
    if (reader->projection_descs[p].flags & VLY_PROJECTION_SHORT_TERM)
        return vly_record_short_term(reader, &record, p);
    const char *rule = vly_record_text(reader, record.rule);
    const vly_plasticity_info *info = NULL;
    const char *name = vly_record_text(reader, record.name);
    vly_status status = VLY_OK;
    VLY_TRY(rule_find(reader, rule, &info));
    const char *fault =
        record.projection != p || !name ? "its projection"
        : !info || info->short_term     ? "its rule is not known"
        : info->window != gained(reader, p)
            ? "its rule is not for its target area"
            : record_fault(reader, &record, info, &coefs, &params);
    if (fault)
        return vly_file_damaged(
            file, "how projection %" PRIu32 " (map %s) learns: %s", p,
            reader->projections[p].map, fault);
    vly_learning_desc *desc =
        vly_storage_alloc(reader->storage, 1, sizeof(*desc), true);
    vly_connectome_learning *given =
        vly_storage_alloc(reader->storage, 1, sizeof(*given), true);
    if (!desc || !given)
        return vly_fail_nomem(file->error, sizeof(*desc), "how a map learns");
    *given = (vly_connectome_learning){.name = name,
                                       .info = info,
                                       .params = params,
                                       .w_max = params[info->n_params]};
    *desc = (vly_learning_desc){.struct_size = sizeof(*desc),
                                .flags = record.flags,
                                .rule = vly_plasticity_backend_id(info),
                                .rule_hash = record.rule_hash,
                                .coefs = coefs,
                                .n_coefs = record.n_coefs,
                                .most = record.most};
    memcpy(desc->source, record.source, sizeof(desc->source));
    memcpy(desc->target, record.target, sizeof(desc->target));
    vly_plasticity_modulator(info, params, file->header.dt_ms, &desc->modulator,
                             &desc->interval);
    if (info->modulated)
        desc->modulator_area = (uint32_t)params[info->n_params + 1];
    reader->projection_descs[p].learning = desc;
    reader->projections[p].learning = given;
out:
    return status;
}

vly_status vly_record_learnings(vly_record_reader *reader)
{
    const vly_file_header *header = &reader->file->header;
    uint64_t n = header->learning_bytes / sizeof(vly_file_learning);
    uint64_t used = 0;
    vly_status status = VLY_OK;
    for (uint32_t p = 0; p < header->n_projections; p++) {
        if (!(reader->projection_descs[p].flags &
              (VLY_PROJECTION_PLASTIC | VLY_PROJECTION_SHORT_TERM)))
            continue;
        if (used < n)
            VLY_TRY(learning_read(reader, used, p));
        used++;
    }
    if (used != n)
        return vly_file_damaged(reader->file,
                                "%" PRIu64 " projections learn, but there are "
                                "%" PRIu64 " records of them",
                                used, n);
out:
    return status;
}
