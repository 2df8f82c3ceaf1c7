/* SPDX-License-Identifier: Apache-2.0
 * The tables of plasticity rules as data: kernels/rules/NAME.def read as
 * X-macros.
 */
#include "genome/plasticity_info.h"

#include <pthread.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "base/number.h"
#include "kernels/models/table_hash.h"
#include "kernels/rules/eligibility.h"
#include "kernels/rules/plasticity_rules.h"
#include "kernels/rules/short_term_rules.h"

#define LN2 0.69314718055994530942
#define TRACE_PRE false
#define TRACE_POST true

/* The largest constant that a rule may read: 2^40, as of models */
#define COEF_MAX 1099511627776.0f

static uint32_t coef_word(uint32_t type, double value)
{
    if (type == VLY_TYPE_F32)
        return vly_float_bits(vly_float_store(value, -COEF_MAX, COEF_MAX));
    value = vly_floor(value + 0.5);
    if (!(value > 0))
        return 0;
    return value < 4294967295.0 ? (uint32_t)value : UINT32_MAX;
}

uint32_t vly_plasticity_most(const vly_plasticity_input *input)
{
    double most = vly_floor(input->w_max / input->unit * 65536.0 + 0.5);
    return most < VLY_MASTER_MAX ? (uint32_t)most : VLY_MASTER_MAX;
}

#define VLY_PLASTICITY_READ "core/genome/plasticity_table_read.h"
#include "kernels/rules/each_plasticity.h"
#define SHORT_TERM 1
#define VLY_PLASTICITY_READ "core/genome/plasticity_table_read.h"
#include "kernels/rules/each_short_term.h"
#undef SHORT_TERM

_Static_assert(VLY_SHORT_TERM_MAX_COEFS <= VLY_SHORT_TERM_COEFS,
               "a rule of short-term plasticity has more coefficients");

static pthread_once_t once = PTHREAD_ONCE_INIT;
static vly_plasticity_info rules[] = {
#define VLY_EACH_PLASTICITY(rule) {.id = #rule},
#include "kernels/rules/plasticity.def"
#define VLY_EACH_SHORT_TERM(rule) {.id = #rule},
#include "kernels/rules/short_term.def"
};

/* The hash is computed from a text, so it cannot be a constant. */
static void fill(void)
{
    uint32_t i = 0;
#define FILL(rule)                                                             \
    rules[i] = rule##_head;                                                    \
    rules[i++].table_hash = vly_model_text_hash(rule##_hash_text);
#define VLY_EACH_PLASTICITY(rule) FILL(rule)
#include "kernels/rules/plasticity.def"
#define VLY_EACH_SHORT_TERM(rule) FILL(rule)
#include "kernels/rules/short_term.def"
#undef FILL
}

uint32_t vly_plasticity_count(void)
{
    return sizeof(rules) / sizeof(rules[0]);
}

const vly_plasticity_info *vly_plasticity_at(uint32_t index)
{
    if (index >= vly_plasticity_count())
        return NULL;
    pthread_once(&once, fill);
    return &rules[index];
}

const vly_plasticity_info *vly_plasticity_find(const char *id)
{
    for (uint32_t i = 0; i < vly_plasticity_count(); i++)
        if (strcmp(vly_plasticity_at(i)->id, id) == 0)
            return vly_plasticity_at(i);
    return NULL;
}

bool vly_plasticity_has_key(const vly_plasticity_info *info, const char *key)
{
    if (strcmp(key, "modulator") == 0)
        return info->modulated;
    return !info->short_term || strcmp(key, "rule") == 0;
}

bool vly_plasticity_scaled(const vly_plasticity_info *info, uint32_t param)
{
    return strcmp(info->params[param].unit, "weight") == 0;
}

bool vly_plasticity_fixed(const vly_plasticity_info *info, uint32_t param)
{
    for (uint32_t i = 0; i < info->n_traces; i++)
        if (info->traces[i].param == param)
            return true;
    for (uint32_t i = 0; i < info->n_starts; i++)
        if (info->starts[i].param == param)
            return true;
    return info->modulated &&
           (param == info->modulator_tau || param == info->modulator_interval);
}

double vly_plasticity_interval(double interval_ms, double dt_ms)
{
    return vly_floor(interval_ms / dt_ms + 0.5);
}

void vly_plasticity_modulator(const vly_plasticity_info *info,
                              const double *params, double dt_ms,
                              vly_learning_trace *modulator, uint32_t *interval)
{
    *modulator = (vly_learning_trace){0.0f, 0};
    *interval = 0;
    if (!info->modulated)
        return;
    double tau_ms = params[info->modulator_tau];
    modulator->rate = (float)(dt_ms / tau_ms);
    modulator->bursts = (uint32_t)vly_trace_bursts(tau_ms, dt_ms);
    *interval = (uint32_t)vly_plasticity_interval(
        params[info->modulator_interval], dt_ms);
}

/* The most that may be added at once to eligibilities of unit 1. */
#define ADDED_MOST (VLY_ELIGIBILITY_MOST / 65536.0 / VLY_ELIGIBILITY_ROOM)

/* The largest coefficient that is added to eligibilities; its value, in units
 * of the map. */
static uint32_t largest_added(const vly_plasticity_info *info,
                              const vly_plasticity_input *input, double *value)
{
    double values[VLY_RULE_COEFS];
    uint32_t largest = 0;
    *value = 0.0;
    info->values_of(input, values);
    for (uint32_t c = 0; c < info->n_coefs; c++)
        if (info->eligibility[c] == VLY_ELIGIBILITY_ADDED &&
            values[c] > *value) {
            *value = values[c];
            largest = c;
        }
    return largest;
}

double vly_plasticity_scale(const vly_plasticity_info *info,
                            const vly_plasticity_input *input)
{
    double most;
    double scale = 1.0;
    if (!info->modulated)
        return 1.0;
    (void)largest_added(info, input, &most);
    while (scale * ADDED_MOST < most)
        scale *= 2.0;
    return scale;
}

const char *vly_plasticity_outgrows(const vly_plasticity_info *info,
                                    const vly_plasticity_input *input,
                                    double *found, double *most)
{
    double value;
    if (!info->modulated)
        return NULL;
    const uint32_t c = largest_added(info, input, &value);
    if (value <= input->scale * ADDED_MOST)
        return NULL;
    *found = value * input->unit;
    *most = input->scale * ADDED_MOST * input->unit;
    return info->coefs[c].name;
}

/* values [n_coefs] of a built-in rule */
static void coefs_scaled(const vly_plasticity_info *info,
                         const vly_plasticity_input *input, double *values)
{
    info->values_of(input, values);
    if (!info->modulated)
        return;
    const double scale =
        input->scale > 0.0 ? input->scale : vly_plasticity_scale(info, input);
    for (uint32_t c = 0; c < info->n_coefs; c++)
        if (info->eligibility[c] == VLY_ELIGIBILITY_ADDED)
            values[c] /= scale;
        else if (info->eligibility[c] == VLY_ELIGIBILITY_SHARE)
            values[c] *= scale;
}

void vly_plasticity_coefs(const vly_plasticity_info *info,
                          const vly_plasticity_input *input, uint32_t *words)
{
    double values[VLY_RULE_COEFS];
    if (info->user) {
        vly_user_rule_coefs(info->user, input, words);
        return;
    }
    coefs_scaled(info, input, values);
    for (uint32_t c = 0; c < info->n_coefs; c++)
        words[c] = coef_word(info->coefs[c].type, values[c]);
}

const char *vly_plasticity_unfit(const vly_plasticity_info *info,
                                 const vly_plasticity_input *input)
{
    return info->user ? vly_user_rule_unfit(info->user, input)
                      : info->check_of(input);
}

/* "lambda, mu, w_0": the parameters of a coefficient's expression. */
static void put_params_of(const char *expression, char *out, size_t size)
{
    size_t used = 0;
    *out = 0;
    for (const char *at = strstr(expression, "P("); at;
         at = strstr(at + 2, "P(")) {
        char word[64];
        snprintf(word, sizeof word, "%.*s", (int)strcspn(at, ")") + 1, at);
        if (strstr(expression, word) != at) /* once more */
            continue;
        word[strlen(word) - 1] = 0;
        used += (size_t)snprintf(out + used, size - used, "%s%s",
                                 used == 0 ? "" : ", ", word + 2);
        if (used >= size)
            return;
    }
}

#define RANGE "0 or from 2^-40 = 9.1e-13 to 2^40 = 1.1e12"
#define OF_THE_MAP " in units of the map's weights"

const char *vly_plasticity_loses(const vly_plasticity_info *info,
                                 const vly_plasticity_input *input,
                                 char text[VLY_LOSS_SIZE])
{
    double values[VLY_RULE_COEFS];
    char params[VLY_LOSS_SIZE / 2];
    if (info->user)
        return !vly_user_rule_loses(info->user, input)
                   ? NULL
                   : "constants of the changes of w that are " RANGE OF_THE_MAP
                     ", as those of (w / w_max)^3 instead of w^3 / w_max^3";
    coefs_scaled(info, input, values);
    for (uint32_t c = 0; c < info->n_coefs; c++) {
        const double size = values[c] < 0.0 ? -values[c] : values[c];
        if (info->coefs[c].type != VLY_TYPE_F32 ||
            info->eligibility[c] == VLY_ELIGIBILITY_FADE || size == 0.0 ||
            (size <= (double)COEF_MAX &&
             coef_word(VLY_TYPE_F32, values[c]) != 0))
            continue;
        put_params_of(info->coef_texts[c], params, sizeof params);
        snprintf(text, VLY_LOSS_SIZE,
                 "a coefficient %s (of %s) that is " RANGE "%s, not %.3g",
                 info->coefs[c].name, params,
                 strstr(info->coef_texts[c], "UNIT") ? OF_THE_MAP : "",
                 values[c]);
        return text;
    }
    return NULL;
}

static double halvings(double tau_ms, double dt_ms, double n)
{
    double exact = tau_ms / dt_ms * (n * LN2);
    double bursts = vly_floor(exact);
    bursts += bursts < exact ? 1.0 : 0.0;
    return bursts > 1.0 ? bursts : 1.0;
}

double vly_trace_bursts(double tau_ms, double dt_ms)
{
    return halvings(tau_ms, dt_ms, 15.0);
}

double vly_plasticity_bursts(const vly_plasticity_info *info,
                             const double *params, uint32_t i, double dt_ms)
{
    double length = params[info->traces[i].param];
    return info->window ? length : vly_trace_bursts(length, dt_ms);
}

double vly_trace_tau_max(double dt_ms)
{
    double tau_ms = dt_ms * (double)VLY_TRACE_BURSTS_MAX / (15.0 * LN2);
    return vly_floor(tau_ms * 1e6) / 1e6;
}

void vly_plasticity_traces(const vly_plasticity_info *info,
                           const double *params, double dt_ms,
                           vly_learning_trace source[2],
                           vly_learning_trace target[2])
{
    memset(source, 0, 2 * sizeof(*source));
    memset(target, 0, 2 * sizeof(*target));
    for (uint32_t i = 0; i < info->n_traces; i++) {
        const vly_trace_info *trace = &info->traces[i];
        double tau_ms = params[trace->param];
        vly_learning_trace *to =
            &(trace->of_target ? target : source)[trace->index];
        to->rate = info->window ? 0.0f : (float)(dt_ms / tau_ms);
        to->bursts = (uint32_t)vly_plasticity_bursts(info, params, i, dt_ms);
    }
}

uint32_t vly_short_term_bursts(const vly_plasticity_info *info,
                               const double *params, double dt_ms)
{
    double most = 1.0;
    for (uint32_t i = 0; i < info->n_traces; i++) {
        double bursts = halvings(params[info->traces[i].param], dt_ms, 24.0);
        most = bursts > most ? bursts : most;
    }
    /* vly_trace_bursts is within VLY_TRACE_BURSTS_MAX, this within twice it */
    return (uint32_t)most;
}

vly_short_term vly_short_term_start(const vly_plasticity_info *info,
                                    const double *params)
{
    vly_short_term state = vly_short_term_rest();
    for (uint32_t i = 0; i < info->n_starts; i++) {
        float value =
            vly_float_store(params[info->starts[i].param], -1.0f, 1.0f);
        switch (info->starts[i].state) {
        case VLY_START_X:
            state.x = value;
            break;
        case VLY_START_U:
            state.u = value;
            break;
        default:
            state.y = value;
        }
    }
    return state;
}
