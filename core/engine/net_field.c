/* SPDX-License-Identifier: Apache-2.0
 * State by name, in the field's unit, between two bursts.
 */
#include <math.h>
#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "base/number.h"
#include "engine/engine.h"
#include "genome/foreign_names.h"

static vly_status find_field(const vly_connectome_area *area, const char *name,
                             uint32_t *field, vly_error *error)
{
    const vly_model_info *model = area->model;
    vly_suggest near = {0};
    char text[160];
    for (uint32_t f = 0; name && f < model->n_fields; f++)
        if (strcmp(model->fields[f].name, name) == 0) {
            *field = f;
            return VLY_OK;
        }
    for (uint32_t f = 0; name && f < model->n_fields; f++)
        vly_foreign_offer(&near, name, model->fields[f].name);
    return vly_fail(error, VLY_E_INVALID, "%s (area %s) has no field %s%s",
                    model->id, area->name, name ? name : "(NULL)",
                    vly_suggest_text(&near, text, sizeof text));
}

/* The area, the field, and memory for count words. */
static vly_status field_open(vly_net *net, const char *area, const char *field,
                             uint32_t first, uint32_t count, uint32_t *area_id,
                             uint32_t *field_id, uint32_t **words,
                             vly_error *error)
{
    vly_status status = VLY_OK;
    VLY_TRY(vly_net_alive(net, error));
    VLY_TRY(vly_net_area(net, area, area_id, error));
    const vly_connectome_area *target = &net->connectome->areas[*area_id];
    VLY_TRY(find_field(target, field, field_id, error));
    if (first > target->n_neurons || count > target->n_neurons - first) {
        status = vly_fail(
            error, VLY_E_INVALID, "neurons %u to %llu of area %s, which has %u",
            first, (unsigned long long)first + count, area, target->n_neurons);
        goto out;
    }
    *words = vly_malloc(count, sizeof **words);
    if (!*words)
        status = vly_fail_nomem(error, count * sizeof **words, "a field");
out:
    return status;
}

static vly_status field_get(vly_net *net, const char *area, const char *field,
                            uint32_t first, uint32_t count, double *values,
                            vly_error *error)
{
    uint32_t a = 0;
    uint32_t f = 0;
    uint32_t *words = NULL;
    vly_error why = VLY_ERROR_INIT;
    vly_status status = VLY_OK;
    VLY_TRY(field_open(net, area, field, first, count, &a, &f, &words, error));
    if (count == 0)
        goto out;
    status = net->device.backend->field_read(net->device.net, a, f, first,
                                             count, words, &why);
    if (status != VLY_OK) {
        status = vly_net_failed(net, status, false, &why, error);
        goto out;
    }
    uint32_t type = net->connectome->areas[a].model->fields[f].type;
    for (uint32_t i = 0; i < count; i++)
        values[i] = type == VLY_TYPE_F32 ? (double)vly_float_from_bits(words[i])
                                         : (double)words[i];
out:
    vly_free(words);
    return status;
}

vly_status vly_net_read(vly_net *net, const char *area, const char *field,
                        uint32_t first, uint32_t count, double *values,
                        vly_error *error)
{
    vly_status status = VLY_OK;
    do
        status = field_get(net, area, field, first, count, values, error);
    while (vly_failover_again(net, &status, error));
    return status;
}

static vly_status to_word(const vly_connectome_area *area,
                          const vly_field_info *field, uint32_t index,
                          double value, uint32_t *word, vly_error *error)
{
    if (!(value >= field->lo && value <= field->hi))
        return vly_fail(error, VLY_E_INVALID,
                        "%s of neuron %u of area %s is %g, wanted %g to %g",
                        field->name, index, area->name, value, field->lo,
                        field->hi);
    if (field->type == VLY_TYPE_F32) {
        *word = vly_float_bits(
            vly_float_store(value, (float)field->lo, (float)field->hi));
        return VLY_OK;
    }
    if (value != vly_floor(value))
        return vly_fail(error, VLY_E_INVALID,
                        "%s of neuron %u of area %s is %g, wanted a whole "
                        "number",
                        field->name, index, area->name, value);
    *word = (uint32_t)value;
    return VLY_OK;
}

static vly_status field_put(vly_net *net, const char *area, const char *field,
                            uint32_t first, uint32_t count,
                            const double *values, vly_error *error)
{
    uint32_t a = 0;
    uint32_t f = 0;
    uint32_t *words = NULL;
    vly_error why = VLY_ERROR_INIT;
    vly_status status = VLY_OK;
    VLY_TRY(field_open(net, area, field, first, count, &a, &f, &words, error));
    const vly_connectome_area *target = &net->connectome->areas[a];
    for (uint32_t i = 0; i < count; i++)
        VLY_TRY(to_word(target, &target->model->fields[f], first + i, values[i],
                        &words[i], error));
    if (count == 0)
        goto out;
    status = net->device.backend->field_write(net->device.net, a, f, first,
                                              count, words, &why);
    if (status != VLY_OK)
        status = vly_net_failed(net, status, false, &why, error);
out:
    vly_free(words);
    return status;
}

vly_status vly_net_write(vly_net *net, const char *area, const char *field,
                         uint32_t first, uint32_t count, const double *values,
                         vly_error *error)
{
    vly_change change = {0};
    vly_status status = VLY_OK;
    VLY_TRY(vly_failover_note(net, area, field, values, count, &change, error));
    do
        status = field_put(net, area, field, first, count, values, error);
    while (vly_failover_again(net, &status, error));
    vly_failover_noted(net, VLY_CHANGE_WRITE, first, &change, status);
out:
    return status;
}
