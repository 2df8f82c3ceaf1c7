/* SPDX-License-Identifier: Apache-2.0
 * Short-term plasticity of projections, from the records of a file. All of it
 * is checked: a backend computes with these numbers without a check.
 */
#include <inttypes.h>
#include <string.h>

#include "base/error.h"
#include "connectome/record_reader.h"

/* Coefficients are made of these again when one is changed, and the states at
 * the start. */
static bool params_good(const vly_record_reader *reader,
                        const vly_plasticity_info *info, const double *params)
{
    const vly_plasticity_input input = {
        .params = params, .unit = 1.0, .dt_ms = reader->file->header.dt_ms};
    for (uint32_t i = 0; i < info->n_traces; i++)
        if (!(vly_trace_bursts(params[info->traces[i].param], input.dt_ms) <=
              VLY_TRACE_BURSTS_MAX))
            return false;
    return params[info->n_params] == 0.0 && !vly_plasticity_unfit(info, &input);
}

/* Coefficients and bursts must be those of the parameters. */
static bool words_good(const vly_record_reader *reader,
                       const vly_file_learning *record,
                       const vly_plasticity_info *info, const uint32_t *coefs,
                       const double *params)
{
    uint32_t made[VLY_SHORT_TERM_COEFS];
    char text[VLY_LOSS_SIZE];
    const vly_plasticity_input input = {
        .params = params, .unit = 1.0, .dt_ms = reader->file->header.dt_ms};
    vly_plasticity_coefs(info, &input, made);
    return !vly_plasticity_loses(info, &input, text) &&
           memcmp(made, coefs, info->n_coefs * sizeof(*made)) == 0 &&
           record->most == vly_short_term_bursts(info, params, input.dt_ms);
}

static bool traces_none(const vly_file_learning *record)
{
    static const vly_learning_trace none[2];
    return memcmp(record->source, none, sizeof(none)) == 0 &&
           memcmp(record->target, none, sizeof(none)) == 0;
}

static const char *record_fault(const vly_record_reader *reader,
                                const vly_file_learning *record,
                                const vly_plasticity_info *info,
                                const uint32_t **coefs, const double **params)
{
    const char *fault = vly_record_rule(reader, record, info, coefs, params);
    if (fault)
        return fault;
    if (!params_good(reader, info, *params))
        return "its parameters";
    if (!words_good(reader, record, info, *coefs, *params))
        return "its coefficients are not those of its parameters";
    return record->flags || !traces_none(record) ? "its flags or traces" : NULL;
}

vly_status vly_record_short_term(vly_record_reader *reader,
                                 const vly_file_learning *record, uint32_t p)
{
    const vly_file_view *file = reader->file;
    const uint32_t *coefs = NULL;
    const double *params = NULL;
    const char *rule = vly_record_text(reader, record->rule);
    const vly_plasticity_info *info = rule ? vly_plasticity_find(rule) : NULL;
    const char *name = vly_record_text(reader, record->name);
    const char *fault =
        record->projection != p || !name ? "its projection"
        : !info || !info->short_term
            ? "its rule"
            : record_fault(reader, record, info, &coefs, &params);
    if (fault)
        return vly_file_damaged(file,
                                "short-term plasticity of projection %" PRIu32
                                " (map %s): %s",
                                p, reader->projections[p].map, fault);
    vly_short_term_desc *desc =
        vly_storage_alloc(reader->storage, 1, sizeof(*desc), true);
    vly_connectome_learning *given =
        vly_storage_alloc(reader->storage, 1, sizeof(*given), true);
    if (!desc || !given)
        return vly_fail_nomem(file->error, sizeof(*desc),
                              "the short-term plasticity of a map");
    *given =
        (vly_connectome_learning){.name = name, .info = info, .params = params};
    *desc = (vly_short_term_desc){.struct_size = sizeof(*desc),
                                  .rule = info->id,
                                  .rule_hash = record->rule_hash,
                                  .coefs = coefs,
                                  .n_coefs = record->n_coefs,
                                  .bursts = record->most};
    reader->projection_descs[p].short_term = desc;
    reader->projections[p].short_term = given;
    return VLY_OK;
}
