/* SPDX-License-Identifier: Apache-2.0
 * Turns the table and the functions of one plasticity rule into data and
 * functions. Not guarded: each_plasticity.h includes it for every rule, and
 * each_short_term.h with SHORT_TERM defined.
 */
#define JOIN2(a, b, c) a##b##c
#define JOIN(a, b, c) JOIN2(a, b, c)
#define NAME(what) JOIN(VLY_PLASTICITY_ID, _, what)
#define RULE(what) JOIN(vly_, VLY_PLASTICITY_ID, what)

enum NAME(param_index) {
#define VLY_PARAM(name, unit, init, lo, hi, text) NAME(param_##name),
#include VLY_PLASTICITY_TABLE
    NAME(param_count)
};

static const vly_param_info NAME(params)[] = {
#define VLY_PARAM(name, unit, init, lo, hi, text)                              \
    {#name, unit, init, lo, hi, text},
#include VLY_PLASTICITY_TABLE
};

static const vly_coef_info NAME(coefs)[] = {
#define VLY_COEF(name, type, expression) {#name, VLY_TYPE_##type},
#include VLY_PLASTICITY_TABLE
};

/* what each coefficient is made of, as in the table */
static const char *const NAME(coef_texts)[] = {
#define VLY_COEF(name, type, expression) #expression,
#include VLY_PLASTICITY_TABLE
};

enum NAME(coef_index) {
#define VLY_COEF(name, type, expression) NAME(coef_##name),
#include VLY_PLASTICITY_TABLE
    NAME(coef_count)
};

static const uint8_t NAME(eligibility)[] = {
#define VLY_ELIGIBILITY(name, part)                                            \
    [NAME(coef_##name)] = VLY_ELIGIBILITY_##part,
#include VLY_PLASTICITY_TABLE
    [NAME(coef_count)] = 0};

_Static_assert(NAME(coef_count) <= VLY_RULE_COEFS,
               "a rule has more coefficients");

static const vly_trace_info NAME(traces)[] = {
#define VLY_TRACE(side, index, param)                                          \
    {TRACE_##side, index, NAME(param_##param)},
#include VLY_PLASTICITY_TABLE
};

enum NAME(modulator) {
    NAME(modulated) = 0
#define VLY_MODULATOR(tau, interval) +1
#include VLY_PLASTICITY_TABLE
    ,
    NAME(modulator_tau) = 0
#define VLY_MODULATOR(tau, interval) +NAME(param_##tau)
#include VLY_PLASTICITY_TABLE
    ,
    NAME(modulator_interval) = 0
#define VLY_MODULATOR(tau, interval) +NAME(param_##interval)
#include VLY_PLASTICITY_TABLE
};

#if defined(SHORT_TERM)
static const vly_start_info NAME(starts)[] = {
#define VLY_START(state, param) {VLY_START_##state, NAME(param_##param)},
#include VLY_PLASTICITY_TABLE
};
#endif

static const char NAME(hash_text)[] =
#include "kernels/rules/rule_text.h"
#include VLY_PLASTICITY_TABLE
    ;

static const char NAME(equations)[] = ""
#define VLY_EQUATIONS(text) text
#include VLY_PLASTICITY_TABLE
    ;

static const bool NAME(window) = false
#define VLY_WINDOW() || true
#include VLY_PLASTICITY_TABLE
    ;

#define P(name) (input->params[NAME(param_##name)])
#define W_MAX (input->w_max)
#define UNIT (input->unit)
#define MOST ((double)vly_plasticity_most(input))
#define DT (input->dt_ms)
#define INTERVAL                                                               \
    vly_plasticity_interval(input->params[NAME(modulator_interval)], DT)

static void NAME(values_of)(const vly_plasticity_input *input, double *values)
{
#define VLY_COEF(name, type, expression) *values++ = (expression);
#include VLY_PLASTICITY_TABLE
}

static const char *NAME(check_of)(const vly_plasticity_input *input)
{
    (void)input;
#define VLY_CHECK(condition, text)                                             \
    if (!(condition))                                                          \
        return text;
#include VLY_PLASTICITY_TABLE
    return NULL;
}

#undef P
#undef W_MAX
#undef UNIT
#undef MOST
#undef DT
#undef INTERVAL

_Static_assert(sizeof(RULE(_coef)) == sizeof(NAME(coefs)) /
                                          sizeof(vly_coef_info) *
                                          sizeof(uint32_t),
               "the struct of a rule has the coefficients of its table");

#if defined(SHORT_TERM)
static vly_short_term NAME(spike)(vly_short_term state, const uint32_t *coefs,
                                  uint32_t h)
{
    RULE(_coef) c;
    memcpy(&c, coefs, sizeof(c));
    return RULE(_spike)(state, c, h);
}
#else
static int32_t NAME(pre)(int32_t m, const uint32_t *coefs, const float x[2],
                         const float y[2])
{
    RULE(_coef) c;
    memcpy(&c, coefs, sizeof(c));
    return RULE(_pre)(m, c, x[0], x[1], y[0], y[1]);
}

static int32_t NAME(post)(int32_t m, const uint32_t *coefs, const float x[2],
                          const float y[2])
{
    RULE(_coef) c;
    memcpy(&c, coefs, sizeof(c));
    return RULE(_post)(m, c, x[0], x[1], y[0], y[1]);
}
#endif

#if defined(SHORT_TERM)
#define FUNCTIONS                                                              \
    .starts = NAME(starts),                                                    \
    .n_starts = sizeof(NAME(starts)) / sizeof(vly_start_info),                 \
    .short_term = true, .spike = NAME(spike)
#else
#define FUNCTIONS .pre = NAME(pre), .post = NAME(post)
#endif

#define VLY_PLASTICITY(rule_id, rule_text, rule_source)                        \
    static const vly_plasticity_info NAME(head) = {                            \
        .id = #rule_id,                                                        \
        .text = rule_text,                                                     \
        .source = rule_source,                                                 \
        .equations = NAME(equations),                                          \
        .params = NAME(params),                                                \
        .coefs = NAME(coefs),                                                  \
        .traces = NAME(traces),                                                \
        .n_params = NAME(param_count),                                         \
        .n_coefs = sizeof(NAME(coefs)) / sizeof(vly_coef_info),                \
        .n_traces = sizeof(NAME(traces)) / sizeof(vly_trace_info),             \
        .window = NAME(window),                                                \
        .modulated = NAME(modulated) != 0,                                     \
        .modulator_tau = NAME(modulator_tau),                                  \
        .modulator_interval = NAME(modulator_interval),                        \
        .coef_texts = NAME(coef_texts),                                        \
        .eligibility = NAME(eligibility),                                      \
        .values_of = NAME(values_of),                                          \
        .check_of = NAME(check_of),                                            \
        FUNCTIONS,                                                             \
    };
#include VLY_PLASTICITY_TABLE

#undef FUNCTIONS
#undef RULE
#undef NAME
#undef JOIN
#undef JOIN2
