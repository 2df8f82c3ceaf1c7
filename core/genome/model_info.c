/* SPDX-License-Identifier: Apache-2.0
 * The models' tables as data: kernels/models/NAME.def read as X-macros.
 */
#include "genome/model_info.h"

#include <math.h>
#include <pthread.h>
#include <string.h>

#include "base/number.h"
#include "base/propagator.h"
#include "kernels/models/table_hash.h"

#define NO_VALUE ((double)NAN)
#define VLY_BURSTS(ms) vly_floor((ms) / (input->dt_ms) + 0.5)

/* The largest constant that a step may read: 2^40 */
#define COEF_MAX 1099511627776.0f
#define VLY_STORED(x) vly_float_store((x), -COEF_MAX, COEF_MAX)

bool vly_port_takes(const vly_model_info *model, uint32_t port, double weight)
{
    if (strcmp(model->ports[port].suffix, "ns") != 0)
        return true;
    return port == 1 && model->n_ports == 2 ? weight <= 0.0 : weight >= 0.0;
}

const char *vly_port_why(const vly_model_info *model)
{
    return model->n_ports == 2 ? "a port for each sign" : "conductances there";
}

bool vly_port_takes_noise(const vly_model_info *model, uint32_t port,
                          double mean, double sd)
{
    /* room for the rounding of a mean that was written as 6 sd */
    double reach = 6.0 * sd * (1.0 - 0x1p-50);
    return vly_port_takes(model, port, mean - reach) &&
           vly_port_takes(model, port, mean + reach);
}

bool vly_model_is(const vly_model_info *model, vly_model_role role,
                  uint32_t index)
{
    for (const vly_role_info *r = model->roles; r->role != VLY_ROLE_NONE; r++)
        if (r->role == role && r->index == index)
            return true;
    return false;
}

uint32_t vly_model_with(const vly_model_info *model, vly_model_role role)
{
    for (const vly_role_info *r = model->roles; r->role != VLY_ROLE_NONE; r++)
        if (r->role == role)
            return r->index;
    return UINT32_MAX;
}

bool vly_unit_is_boolean(const char *unit)
{
    return strcmp(unit, "bool") == 0;
}

bool vly_unit_is_whole(const char *unit)
{
    return strcmp(unit, "int") == 0 || strcmp(unit, "bursts") == 0 ||
           strcmp(unit, "substeps") == 0 || vly_unit_is_boolean(unit);
}

static uint32_t coef_word(uint32_t type, double value)
{
    if (type == VLY_TYPE_F32)
        return vly_float_bits(VLY_STORED(value));
    /* drawn whole numbers (`refractory_period = { uniform = ... }`) round */
    value = vly_floor(value + 0.5);
    if (!(value > 0))
        return 0;
    return value < 4294967295.0 ? (uint32_t)value : UINT32_MAX;
}

#define VLY_MODEL_READ "core/genome/model_table_read.h"
#include "kernels/models/each_model.h"

void vly_model_coefs(const vly_model_info *model, const vly_model_input *input,
                     uint32_t *words)
{
    double values[VLY_PROGRAM_MAX_COEFS];
    if (!model->user) {
        model->coefs_of(input, words);
        return;
    }
    vly_user_coefs(model->user, input, values);
    for (uint32_t c = 0; c < model->n_coefs; c++)
        words[c] = coef_word(model->coefs[c].type, values[c]);
}

void vly_model_fields(const vly_model_info *model, const vly_model_input *input,
                      const double *given, double *values)
{
    if (!model->user) {
        model->fields_of(input, given, values);
        return;
    }
    for (uint32_t f = 0; f < model->n_fields; f++)
        values[f] = given ? given[f] : NO_VALUE;
    vly_user_fields(model->user, input, values);
}

const char *vly_model_unfit(const vly_model_info *model,
                            const vly_model_input *input)
{
    return model->user ? vly_user_unfit(model->user, input)
                       : model->check_of(input);
}

static pthread_once_t once = PTHREAD_ONCE_INIT;
static vly_model_info models[] = {
#define VLY_EACH_MODEL(model) {.id = #model},
#include "kernels/models/models.def"
};

/* The hash is computed from a text, so it cannot be a constant. */
static void fill(void)
{
    uint32_t i = 0;
#define VLY_EACH_MODEL(model)                                                  \
    models[i] = model##_head;                                                  \
    models[i++].table_hash = vly_model_text_hash(model##_hash_text);
#include "kernels/models/models.def"
}

uint32_t vly_model_count(void)
{
    return sizeof(models) / sizeof(models[0]);
}

const vly_model_info *vly_model_at(uint32_t index)
{
    if (index >= vly_model_count())
        return NULL;
    pthread_once(&once, fill);
    return &models[index];
}

const vly_model_info *vly_model_find(const char *id)
{
    for (uint32_t i = 0; i < vly_model_count(); i++)
        if (strcmp(vly_model_at(i)->id, id) == 0)
            return vly_model_at(i);
    return NULL;
}
