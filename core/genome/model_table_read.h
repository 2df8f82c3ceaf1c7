/* SPDX-License-Identifier: Apache-2.0
 * Turns one model's table into data and functions. Included by model_info.c
 * once a model, with MODEL (the id) and MODEL_TABLE (the path of its .def)
 * defined; both are undefined at the end. Hence no include guard.
 */
#define JOIN2(a, b, c) a##b##c
#define JOIN(a, b, c) JOIN2(a, b, c)
#define NAME(what) JOIN(MODEL, _, what)

/* indexes of parameters and fields; an unused one makes the enum not empty */
enum NAME(param_index) {
#define VLY_PARAM(name, unit, init, lo, hi, text) JOIN(MODEL, _param_, name),
#include MODEL_TABLE
    NAME(param_count)
};
enum NAME(field_index) {
#define VLY_FIELD(name, type, unit, lo, hi, init, text)                        \
    JOIN(MODEL, _field_, name),
#include MODEL_TABLE
    NAME(field_count)
};

static const vly_port_info NAME(ports)[] = {
#define VLY_PORT(index, suffix, unit, text) [index] = {suffix, unit, text},
#include MODEL_TABLE
};

static const vly_param_info NAME(params)[] = {
#define VLY_PARAM(name, unit, init, lo, hi, text)                              \
    {#name, unit, init, lo, hi, text},
#include MODEL_TABLE
};

static const vly_field_info NAME(fields)[] = {
#define VLY_FIELD(name, type, unit, lo, hi, init, text)                        \
    {#name, VLY_TYPE_##type, unit, lo, hi, text},
#include MODEL_TABLE
};

static const vly_coef_info NAME(coefs)[] = {
#define VLY_COEF(name, type, expression) {#name, VLY_TYPE_##type},
#include MODEL_TABLE
};

static const char NAME(hash_text)[] =
#include "kernels/models/table_text.h"
#include MODEL_TABLE
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
#include MODEL_TABLE
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
#include MODEL_TABLE
}

static const char *NAME(check_of)(const vly_model_input *input)
{
    (void)input;
#define VLY_CHECK(condition, text)                                             \
    if (!(condition))                                                          \
        return text;
#include MODEL_TABLE
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
#include MODEL_TABLE

#define VLY_MODEL(model_id, model_flags, model_text, model_source)             \
    static const vly_model_info NAME(head) = {                                 \
        .id = #model_id,                                                       \
        .flags = model_flags,                                                  \
        .text = model_text,                                                    \
        .source = model_source,                                                \
        .scheme = NAME(scheme),                                                \
        .scheme_source = NAME(scheme_source),                                  \
        .ports = NAME(ports),                                                  \
        .params = NAME(params),                                                \
        .fields = NAME(fields),                                                \
        .coefs = NAME(coefs),                                                  \
        .n_ports = sizeof(NAME(ports)) / sizeof(vly_port_info),                \
        .n_params = NAME(param_count),                                         \
        .n_fields = NAME(field_count),                                         \
        .n_coefs = sizeof(NAME(coefs)) / sizeof(vly_coef_info),                \
        .coefs_of = NAME(coefs_of),                                            \
        .fields_of = NAME(fields_of),                                          \
        .check_of = NAME(check_of),                                            \
    };
#include MODEL_TABLE

#undef NAME
#undef JOIN
#undef JOIN2
#undef MODEL
#undef MODEL_TABLE
