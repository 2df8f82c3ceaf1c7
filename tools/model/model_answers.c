/* SPDX-License-Identifier: Apache-2.0
 * Runs small nets of one model.
 */
#include "tools/model/model_answers.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "base/text.h"
#include "tools/cli/tool.h"

/* Currents tried first, a decade in seven steps, in the unit of the input: what
 * neurons need is some pA, or some units. */
#define FIRST_CURRENT 1e-3
#define CURRENT_FACTOR 1.3894954943731375 /* 10^(1/7) */
/* Where nothing fires, steps are those that move the field by this. */
#define CLEAR_MOVE 10.0
#define CLEAR_EVENT 0.1
#define NO_CHANGE 1e-4

/* ---- genomes ------------------------------------------------------------ */

static void put_number(vly_text *text, const char *key, double number)
{
    char digits[VLY_NUMBER_SIZE];
    vly_text_put(text, "%s = %s\n", key, vly_toml_print_number(number, digits));
}

/* [run], the model and its values */
static void put_head(vly_text *text, const model_answers *a)
{
    const char *table = vly_model_definition(a->model);
    vly_text_put(text, "format = 1\n[run]\nbursts = 1\n");
    put_number(text, "dt_ms", a->dt_ms);
    vly_text_bytes(text, table, strlen(table));
    vly_text_put(text, "[model.one]\ntype = \"%s\"\n", a->model->id);
    for (uint32_t i = 0; i < a->n_values; i++) {
        const char *equals = strchr(a->values[i], '=');
        vly_text_bytes(text, a->values[i], (size_t)(equals - a->values[i]));
        vly_text_put(text, " = ");
        vly_text_bytes(text, equals + 1, strlen(equals + 1));
        vly_text_put(text, "\n");
    }
}

static void put_key(vly_text *text, const char *key, const char *suffix,
                    double number)
{
    char name[160];
    (void)snprintf(name, sizeof name, "%s%s%s", key, *suffix ? "_" : "",
                   suffix);
    put_number(text, name, number);
}

static void put_area(vly_text *text, uint32_t k)
{
    vly_text_put(text, "[area.a%u]\nmodel = \"one\"\nneurons = 1\n", k);
}

/* An area for each trace: undisturbed, steps, events. */
static void put_traces(vly_text *text, const model_answers *a)
{
    uint32_t k = 0;
    put_area(text, k++);
    for (uint32_t s = 0; s < ANSWER_STEPS; s++, k++) {
        put_area(text, k);
        if (!a->has_input)
            continue;
        vly_text_put(text, "[[stimulus]]\nkind = \"dc\"\nto = \"a%u\"\n", k);
        put_number(text, "start_ms", a->begin_ms);
        put_number(text, "stop_ms", a->end_ms);
        put_key(text, "amplitude", a->model->dc_suffix, a->steps[s]);
    }
    for (uint32_t p = 0; p < a->model->n_ports; p++, k++) {
        put_area(text, k);
        vly_text_put(text,
                     "[[stimulus]]\nkind = \"spikes\"\nto = \"a%u\"\n"
                     "neurons = [0]\ntimes_at = \"end\"\n",
                     k);
        vly_text_put(text, "times_ms = [[%.17g]]\n", a->begin_ms);
        if (a->model->n_ports > 2)
            vly_text_put(text, "port = %u\n", p);
        put_key(text, "weight", a->model->ports[p].suffix, a->weights[p]);
    }
}

/* One area, a neuron for each current. */
static void put_currents(vly_text *text, const model_answers *a)
{
    char digits[VLY_NUMBER_SIZE];
    vly_text_put(text, "[area.a0]\nmodel = \"one\"\nneurons = %d\n%s = [",
                 ANSWER_CURRENTS, doc_model_input(a->model)->name);
    for (uint32_t i = 0; i < ANSWER_CURRENTS; i++)
        vly_text_put(text, "%s%s", i ? ", " : "",
                     vly_toml_print_number(a->currents[i], digits));
    vly_text_put(text, "]\n");
}

/* ---- nets --------------------------------------------------------------- */

typedef struct small_net {
    vly_genome *genome;
    vly_connectome *connectome;
    vly_registry *registry;
    vly_net *net;
} small_net;

static void net_deinit(small_net *of)
{
    vly_net_destroy(of->net);
    vly_registry_destroy(of->registry);
    vly_connectome_destroy(of->connectome);
    vly_genome_destroy(of->genome);
}

static vly_status net_init(small_net *of, vly_text *text, vly_error *error)
{
    vly_status status = VLY_OK;
    *of = (small_net){0};
    if (text->failed)
        VLY_TRY(vly_fail_nomem(error, text->capacity, "a genome"));
    VLY_TRY(vly_genome_parse(text->data, text->n, "--plot", NULL, 0,
                             &of->genome, error));
    VLY_TRY(vly_connectome_build(of->genome, 1, &of->connectome, error));
    VLY_TRY(tool_registry_create(&of->registry, error));
    VLY_TRY(vly_net_create(of->connectome, of->registry, "cpu:1", 1, &of->net,
                           error));
out:
    return status;
}

static vly_status run_traces(model_answers *a, vly_error *error)
{
    vly_text text = {0};
    small_net of = {0};
    vly_status status = VLY_OK;
    const uint32_t n = 1 + ANSWER_STEPS + a->model->n_ports;
    put_head(&text, a);
    put_traces(&text, a);
    VLY_TRY(net_init(&of, &text, error));
    for (uint32_t burst = 0; burst < a->n_bursts; burst++) {
        VLY_TRY(vly_net_run(of.net, 1, error));
        for (uint32_t k = 0; k < n; k++) {
            char area[16];
            (void)snprintf(area, sizeof area, "a%u", k);
            VLY_TRY(vly_net_read(of.net, area, a->field, 0, 1,
                                 &a->traces[k][burst], error));
        }
    }
out:
    net_deinit(&of);
    vly_free(text.data);
    return status;
}

static vly_status count_spikes(void *to, uint64_t burst, const uint32_t *ids,
                               uint32_t n_ids, uint64_t digest)
{
    uint64_t *counts = to;
    (void)burst;
    (void)digest;
    for (uint32_t i = 0; i < n_ids; i++)
        counts[ids[i]]++;
    return VLY_OK;
}

/* Rates at the currents, and the field at the end. */
static vly_status run_currents(model_answers *a, double *ends, vly_error *error)
{
    uint64_t counts[ANSWER_CURRENTS] = {0};
    vly_text text = {0};
    small_net of = {0};
    vly_status status = VLY_OK;
    const double bursts = floor(a->rates_ms / a->dt_ms + 0.5);
    put_head(&text, a);
    put_currents(&text, a);
    VLY_TRY(net_init(&of, &text, error));
    vly_net_on_spikes(of.net, count_spikes, counts);
    VLY_TRY(vly_net_run(of.net, (uint64_t)bursts, error));
    VLY_TRY(
        vly_net_read(of.net, "a0", a->field, 0, ANSWER_CURRENTS, ends, error));
    for (uint32_t i = 0; i < ANSWER_CURRENTS; i++)
        a->rates_hz[i] = 1000.0 * (double)counts[i] / (bursts * a->dt_ms);
out:
    net_deinit(&of);
    vly_free(text.data);
    return status;
}

static void subtract_undisturbed(model_answers *a)
{
    for (uint32_t p = 0; p < a->model->n_ports; p++)
        for (uint32_t i = 0; i < a->n_bursts; i++)
            a->traces[1 + ANSWER_STEPS + p][i] -= a->traces[0][i];
}

/* Whether an event changes the field by less than single precision shows well;
 * then it is made ten times as large, up to 10^4. */
static bool grow_events(model_answers *a)
{
    bool grown = false;
    for (uint32_t p = 0; p < a->model->n_ports; p++) {
        double most = 0.0;
        for (uint32_t i = 0; i < a->n_bursts; i++)
            most = fmax(most, fabs(a->traces[1 + ANSWER_STEPS + p][i]));
        if (most > NO_CHANGE && most < CLEAR_EVENT &&
            fabs(a->weights[p]) < 1e4) {
            a->weights[p] *= 10.0;
            grown = true;
        }
    }
    return grown;
}

/* ---- which currents ----------------------------------------------------- */

/* The first current at which the neuron fires more than without, within the
 * parameter's range; 0: none. */
static double first_firing(const model_answers *a)
{
    for (uint32_t i = 1; i < ANSWER_CURRENTS; i++)
        if (a->rates_hz[i] > 1.2 * a->rates_hz[0])
            return a->currents[i];
    return 0.0;
}

static double first_moved(const model_answers *a, const double *ends)
{
    for (uint32_t i = 1; i < ANSWER_CURRENTS; i++)
        if (fabs(ends[i] - ends[0]) >= CLEAR_MOVE)
            return a->currents[i];
    return a->currents[ANSWER_CURRENTS - 1];
}

/* What the parameter may be. */
static double within(const vly_param_info *input, double current)
{
    return fmin(fmax(current, input->lo), input->hi);
}

static void spread(model_answers *a, double highest)
{
    const vly_param_info *input = doc_model_input(a->model);
    const double lowest = fmax(0.0, input->lo);
    highest = within(input, highest);
    for (uint32_t i = 0; i < ANSWER_CURRENTS; i++)
        a->currents[i] =
            lowest + (highest - lowest) * i / (ANSWER_CURRENTS - 1);
}

/* A current of 0 first, then a geometric row; then even ones up to twice the
 * first that fires, which finds the least that does, then three times that. */
static vly_status find_currents(model_answers *a, vly_error *error)
{
    const vly_param_info *input = doc_model_input(a->model);
    double ends[ANSWER_CURRENTS];
    vly_status status = VLY_OK;
    double current = FIRST_CURRENT;
    a->currents[0] = within(input, 0.0);
    for (uint32_t i = 1; i < ANSWER_CURRENTS; i++) {
        a->currents[i] = within(input, current);
        current *= CURRENT_FACTOR;
    }
    VLY_TRY(run_currents(a, ends, error));
    double least = first_firing(a);
    a->fires = least > 0.0;
    if (a->fires) {
        spread(a, 2.0 * least);
        VLY_TRY(run_currents(a, ends, error));
        double nearer = first_firing(a);
        least = nearer > 0.0 ? nearer : least;
    } else {
        least = first_moved(a, ends);
    }
    for (uint32_t s = 0; s < ANSWER_STEPS; s++) {
        static const double shares[ANSWER_STEPS] = {0.8, 1.3, 2.0};
        a->steps[s] = a->highest > 0.0 ? a->highest * (s + 1) / ANSWER_STEPS
                                       : within(input, shares[s] * least);
        if (a->highest <= 0.0) { /* two digits are enough */
            double unit = pow(10.0, floor(log10(a->steps[s])) - 1.0);
            a->steps[s] = floor(a->steps[s] / unit + 0.5) * unit;
        }
    }
    spread(a, a->highest > 0.0 ? a->highest : 3.0 * least);
    status = run_currents(a, ends, error);
out:
    return status;
}

/* ---- all ---------------------------------------------------------------- */

static vly_status check_values(const model_answers *a, vly_error *error)
{
    for (uint32_t i = 0; i < a->n_values; i++)
        if (!strchr(a->values[i], '='))
            return vly_fail(error, VLY_E_INVALID,
                            "--param %s, wanted KEY=VALUE such as tau_m_ms=20",
                            a->values[i]);
    for (uint32_t f = 0; f < a->model->n_fields; f++)
        if (strcmp(a->model->fields[f].name, a->field) == 0)
            return VLY_OK;
    return vly_fail(error, VLY_E_INVALID,
                    "--field %s is not a variable of %s, wanted one such as %s",
                    a->field, a->model->id, a->model->fields[0].name);
}

static vly_status make_room(model_answers *a, vly_error *error)
{
    const uint64_t bytes = a->n_bursts * sizeof(double);
    a->times_ms = vly_calloc(a->n_bursts, sizeof *a->times_ms);
    if (!a->times_ms)
        return vly_fail_nomem(error, bytes, "the times of a trace");
    for (uint32_t i = 0; i < a->n_bursts; i++)
        a->times_ms[i] = (i + 1.0) * a->dt_ms;
    for (uint32_t k = 0; k < ANSWER_TRACES; k++) {
        a->traces[k] = vly_calloc(a->n_bursts, sizeof *a->traces[k]);
        if (!a->traces[k])
            return vly_fail_nomem(error, bytes, "a trace");
    }
    return VLY_OK;
}

vly_status model_answers_find(model_answers *a, vly_error *error)
{
    vly_status status = VLY_OK;
    const double bursts = floor(a->ms / a->dt_ms + 0.5);
    if (!a->field)
        a->field = a->model->fields[0].name;
    VLY_TRY(check_values(a, error));
    if (bursts < 20 || bursts > 1e6)
        VLY_TRY(vly_fail(error, VLY_E_INVALID,
                         "--ms %g is %.0f bursts of %g ms, wanted 20 to "
                         "1000000",
                         a->ms, bursts, a->dt_ms));
    a->n_bursts = (uint32_t)bursts;
    a->begin_ms = floor(0.1 * bursts) * a->dt_ms;
    a->end_ms = floor(0.8 * bursts) * a->dt_ms;
    const vly_param_info *input = doc_model_input(a->model);
    a->has_input = input && input->hi > fmax(0.0, input->lo);
    VLY_TRY(make_room(a, error));
    if (a->has_input)
        VLY_TRY(find_currents(a, error));
    for (uint32_t p = 0; p < a->model->n_ports; p++)
        a->weights[p] = p == 1 && a->model->n_ports == 2 ? -1.0 : 1.0;
    do {
        VLY_TRY(run_traces(a, error));
        subtract_undisturbed(a);
    } while (grow_events(a));
out:
    return status;
}

void model_answers_deinit(model_answers *a)
{
    vly_free(a->times_ms);
    for (uint32_t k = 0; k < ANSWER_TRACES; k++)
        vly_free(a->traces[k]);
}
