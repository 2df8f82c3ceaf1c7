/* SPDX-License-Identifier: Apache-2.0
 * Turns one model's table into data and functions. Not guarded: each_model.h
 * includes it for every model.
 */
#define MODEL VLY_MODEL_ID
#define JOIN2(a, b, c) a##b##c
#define JOIN(a, b, c) JOIN2(a, b, c)
#define NAME(what) JOIN(MODEL, _, what)

/* indexes of parameters and fields; an unused one makes the enum not empty */
enum NAME(param_index) {
#define VLY_PARAM(name, unit, init, lo, hi, text) JOIN(MODEL, _param_, name),
#include VLY_MODEL_TABLE
    NAME(param_count)
};
enum NAME(field_index) {
#define VLY_FIELD(name, type, unit, lo, hi, init, text)                        \
    JOIN(MODEL, _field_, name),
#include VLY_MODEL_TABLE
    NAME(field_count)
};

enum NAME(coef_index) {
#define VLY_COEF(name, type, expression) JOIN(MODEL, _coef_, name),
#include VLY_MODEL_TABLE
    NAME(coef_count)
};

static const vly_port_info NAME(ports)[] = {
#define VLY_PORT(index, suffix, unit, text) [index] = {suffix, unit, text},
#include VLY_MODEL_TABLE
};

static const vly_param_info NAME(params)[] = {
#define VLY_PARAM(name, unit, init, lo, hi, text)                              \
    {#name, unit, init, lo, hi, text},
#include VLY_MODEL_TABLE
};

static const vly_field_info NAME(fields)[] = {
#define VLY_FIELD(name, type, unit, lo, hi, init, text)                        \
    {#name, VLY_TYPE_##type, unit, lo, hi, text, false},
#include VLY_MODEL_TABLE
};

static const vly_coef_info NAME(coefs)[] = {
#define VLY_COEF(name, type, expression) {#name, VLY_TYPE_##type},
#include VLY_MODEL_TABLE
};

#define MODEL_INDEX_PARAM(name) JOIN(MODEL, _param_, name)
#define MODEL_INDEX_COEF(name) JOIN(MODEL, _coef_, name)
static const vly_role_info NAME(roles)[] = {
#define VLY_ROLE(name, kind, role) {VLY_ROLE_##role, MODEL_INDEX_##kind(name)},
#include VLY_MODEL_TABLE
    {VLY_ROLE_NONE, 0}};
#undef MODEL_INDEX_PARAM
#undef MODEL_INDEX_COEF

static const char NAME(dc_suffix)[] = ""
#define VLY_INPUT(name, suffix) suffix
#include VLY_MODEL_TABLE
    ;

static const char NAME(note)[] = ""
#define VLY_NOTE(text) text
#include VLY_MODEL_TABLE
    ;

static const char NAME(hash_text)[] =
#include "kernels/models/table_text.h"
#include VLY_MODEL_TABLE
    ;

#define P(name) (input->params[JOIN(MODEL, _param_, name)])
#define F(name) (values[JOIN(MODEL, _field_, name)])
#define DT (input->dt_ms)
#define DC (input->dc)
#define VX (input->voxel[0])
#define VY (input->voxel[1])
#define VZ (input->voxel[2])

static void NAME(coefs_of)(const vly_model_input *input, uint32_t *words)
{
#define VLY_COEF(name, type, expression)                                       \
    *words++ = coef_word(VLY_TYPE_##type, (expression));
#include VLY_MODEL_TABLE
}

static void NAME(fields_of)(const vly_model_input *input, const double *given,
                            double *values)
{
    (void)input;
    for (uint32_t i = 0; i < NAME(field_count); i++)
        values[i] = given ? given[i] : NO_VALUE;
#define VLY_FIELD(name, type, unit, lo, hi, init, text)                        \
    if (F(name) != F(name))                                                    \
        F(name) = (init);
#include VLY_MODEL_TABLE
}

static const char *NAME(check_of)(const vly_model_input *input)
{
    (void)input;
#define VLY_CHECK(condition, text)                                             \
    if (!(condition))                                                          \
        return text;
#include VLY_MODEL_TABLE
    return NULL;
}

#undef P
#undef F
#undef DT
#undef DC
#undef VX
#undef VY
#undef VZ

#define VLY_SCHEME(text, source)                                               \
    static const char NAME(scheme)[] = text;                                   \
    static const char NAME(scheme_source)[] = source;
#include VLY_MODEL_TABLE

#define VLY_MODEL(model_id, model_flags, model_text, model_source)             \
    static const vly_model_info NAME(head) = {                                 \
        .id = #model_id,                                                       \
        .flags = model_flags,                                                  \
        .text = model_text,                                                    \
        .source = model_source,                                                \
        .scheme = NAME(scheme),                                                \
        .scheme_source = NAME(scheme_source),                                  \
        .note = NAME(note),                                                    \
        .ports = NAME(ports),                                                  \
        .params = NAME(params),                                                \
        .fields = NAME(fields),                                                \
        .coefs = NAME(coefs),                                                  \
        .roles = NAME(roles),                                                  \
        .dc_suffix = NAME(dc_suffix),                                          \
        .n_ports = sizeof(NAME(ports)) / sizeof(vly_port_info),                \
        .n_params = NAME(param_count),                                         \
        .n_fields = NAME(field_count),                                         \
        .n_coefs = NAME(coef_count),                                           \
        .coefs_of = NAME(coefs_of),                                            \
        .fields_of = NAME(fields_of),                                          \
        .check_of = NAME(check_of),                                            \
    };
#include VLY_MODEL_TABLE

#undef NAME
#undef JOIN
#undef JOIN2
#undef MODEL
