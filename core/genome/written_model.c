/* SPDX-License-Identifier: Apache-2.0
 * Built-in models as a user writes them, operation by operation as in
 * kernels/models, so that they give the same bits (test_user_models). What is
 * in the models' tables (parameters, units, ranges, ports) is taken from there.
 */
#include "genome/written_model.h"

#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "base/text.h"
#include "genome/neuron_table.h"
#include "genome/user_model.h"
#include "genome/user_table.h"
#include "neuron/neuron_model.h"
#include "neuron/neuron_unit.h"

/* What follows the id of a built-in model in the name of its text. */
#define INPUT_NAME "/input"

enum { FIELDS_MAX = 4 };

typedef struct model_text {
    const char *id;
    const char *starts[FIELDS_MAX]; /* of the fields but `refractory` */
    const char *update;
    const char *spike;
    const char *reset;
} model_text;

static const model_text models[] = {
    {"izhikevich",
     {"-65", "b*v"},
     "i = arrived + i_e\n"
     "v = v + 0.5*dt/ms*((((0.04*v + 5)*v + 140) - u) + i)\n"
     "v = v + 0.5*dt/ms*((((0.04*v + 5)*v + 140) - u) + i)\n"
     "u = u + a*dt/ms*(b*v - u)\n",
     "v >= v_peak",
     "v = c; u += d"},
    {"lif_psc_delta",
     {"e_l"},
     "d = v - e_l\n"
     "drive = -expm1(-dt/tau_m)*tau_m/c_m*i_e\n"
     "v = (e_l + (exp(-dt/tau_m)*d + drive)) + arrived  hold\n",
     "v >= v_th",
     "v = v_reset"},
    {"lif_psc_exp",
     {"e_l", "0 pA"},
     "d = v - e_l\n"
     "drive = -expm1(-dt/tau_m)*tau_m/c_m*i_e\n"
     "flow = propagator(tau_m, tau_syn)/c_m*i_syn\n"
     "v = e_l + (exp(-dt/tau_m)*d + (flow + drive))  hold\n"
     "i_syn = exp(-dt/tau_syn)*i_syn + arrived\n",
     "v >= v_th",
     "v = v_reset"},
    {"lif_psc_alpha",
     {"e_l", "0 pA", "0 pA/ms"},
     "d = v - e_l\n"
     "drive = -expm1(-dt/tau_m)*tau_m/c_m*i_e\n"
     "slow = propagator_rise(tau_m, tau_syn)/c_m*rise\n"
     "flow = slow + propagator(tau_m, tau_syn)/c_m*i_syn\n"
     "v = e_l + (exp(-dt/tau_m)*d + (flow + drive))  hold\n"
     "i_syn = exp(-dt/tau_syn)*i_syn + dt*exp(-dt/tau_syn)*rise\n"
     "rise = exp(-dt/tau_syn)*rise + exp(1)/tau_syn*arrived\n",
     "v >= v_th",
     "v = v_reset"},
    {"lif_psc_exp2",
     {"e_l", "0 pA", "0 pA"},
     "d = v - e_l\n"
     "drive = -expm1(-dt/tau_m)*tau_m/c_m*i_e\n"
     "flow_ex = propagator(tau_m, tau_ex)/c_m*i_ex\n"
     "flow = flow_ex + propagator(tau_m, tau_in)/c_m*i_in\n"
     "v = e_l + (exp(-dt/tau_m)*d + (flow + drive))  hold\n"
     "i_ex = exp(-dt/tau_ex)*i_ex + ex\n"
     "i_in = exp(-dt/tau_in)*i_in + inh\n",
     "v >= v_th",
     "v = v_reset"},
    {"lif_cond_exp",
     {"e_l", "0 nS", "0 nS"},
     "a = -expm1(-dt/tau_ex)*tau_ex/c_m*g_ex\n"
     "b = -expm1(-dt/tau_in)*tau_in/c_m*g_in\n"
     "k_l = dt*g_l/c_m\n"
     "m = ((k_l*(e_l - v) + a*(e_ex - v)) + b*(e_in - v)) + dt/c_m*i_e\n"
     "v = v + decay_mean(k_l + (a + b))*m  hold\n"
     "g_ex = exp(-dt/tau_ex)*g_ex + ex\n"
     "g_in = exp(-dt/tau_in)*g_in - inh\n",
     "v >= v_th",
     "v = v_reset"},
    {"adex",
     {"e_l", "0 pA", "0 nS", "0 nS"},
     "p = -expm1(-dt/tau_ex)*tau_ex/c_m*g_ex\n"
     "q = -expm1(-dt/tau_in)*tau_in/c_m*g_in\n"
     "k_l = dt*g_l/c_m\n"
     "mean = decay_mean(k_l + (p + q))\n"
     "middle = w + -expm1(-0.5*dt/tau_w)*(a*(v - e_l) - w)\n"
     "still = (k_l*(e_l - v) + p*(e_ex - v)) + q*(e_in - v)\n"
     "m = (still + dt/c_m*i_e) - dt/c_m*middle\n"
     "x = (v - v_t)*(1/delta_t)\n"
     "now = dt*g_l*delta_t/c_m*exp(min(x, 60))\n"
     "tried = min(v + mean*(m + now), v_peak)\n"
     "y = (tried - v_t)*(1/delta_t)\n"
     "then_ = dt*g_l*delta_t/c_m*exp(min(y, 60))\n"
     "moved = min(v + mean*(m + 0.5*(now + then_)), v_peak)\n"
     "old = v\n"
     "v = moved  hold\n"
     "w = w + -expm1(-dt/tau_w)*(a*(0.5*(old + v) - e_l) - w)\n"
     "g_ex = exp(-dt/tau_ex)*g_ex + ex\n"
     "g_in = exp(-dt/tau_in)*g_in - inh\n",
     "v >= v_peak",
     "v = v_reset; w += b"},
};

static const model_text *find(const char *id)
{
    for (size_t i = 0; i < sizeof models / sizeof models[0]; i++)
        if (strcmp(models[i].id, id) == 0)
            return &models[i];
    return NULL;
}

bool vly_written_has(const vly_model_info *model)
{
    return !model->user && find(model->id) != NULL;
}

/* ---- as TOML ------------------------------------------------------------ */

/* The length of a key without the suffix of its unit; *unit becomes "" where
 * the key has none. */
static size_t stem_of(const char *key, const char **unit)
{
    char suffix[VLY_UNIT_TEXT];
    size_t n = strlen(key);
    vly_unit_suffix(*unit, suffix);
    const size_t n_end = strlen(suffix);
    if (n_end > 0 && n > n_end + 1 && key[n - n_end - 1] == '_' &&
        strcmp(key + n - n_end, suffix) == 0)
        return n - n_end - 1;
    *unit = "";
    return n;
}

static void put_amount(vly_text *text, double number, const char *unit)
{
    char digits[VLY_NUMBER_SIZE];
    vly_text_put(text, "\"%s%s%s\"", vly_toml_print_number(number, digits),
                 *unit ? " " : "", unit);
}

/* A range from 0 on where the unit does not say so by itself: without it
 * decay_mean( ) of such a conductance is more operations than the built-in
 * model has. */
static void put_params(vly_text *text, const vly_model_info *model)
{
    vly_text_put(text, "param = {");
    for (uint32_t i = 0; i < model->n_params; i++) {
        const vly_param_info *param = &model->params[i];
        const char *unit = param->unit;
        const size_t n = stem_of(param->name, &unit);
        const bool ranged = param->lo >= 0.0 && strcmp(unit, "nS") == 0;
        vly_text_put(text, "%s%.*s = %s", i ? ", " : " ", (int)n, param->name,
                     ranged ? "{ value = " : "");
        put_amount(text, param->init, unit);
        if (!ranged)
            continue;
        vly_text_put(text, ", range = [");
        put_amount(text, param->lo, unit);
        vly_text_put(text, ", ");
        put_amount(text, param->hi, unit);
        vly_text_put(text, "] }");
    }
    vly_text_put(text, " }\n");
}

static void put_ports(vly_text *text, const vly_model_info *model)
{
    vly_text_put(text, "port = {");
    for (uint32_t i = 0; i < model->n_ports; i++) {
        const vly_port_info *port = &model->ports[i];
        const char *name = model->n_ports == 1 ? "arrived"
                           : i == 0            ? "ex"
                                               : "inh";
        vly_text_put(text, "%s%s = \"%s\"", i ? ", " : " ", name,
                     *port->suffix ? port->unit : "1");
    }
    vly_text_put(text, " }\n");
}

/* Bounds are part of what a step stores. */
static void put_states(vly_text *text, const vly_model_info *model,
                       const model_text *of)
{
    for (uint32_t i = 0; i < FIELDS_MAX; i++) {
        const vly_field_info *field = &model->fields[i];
        const char *start = of->starts[i];
        if (!start)
            return;
        const char *unit = field->unit;
        const size_t n = stem_of(field->name, &unit);
        vly_text_put(text, "state.%.*s = { value = \"%s\", range = [", (int)n,
                     field->name, start);
        put_amount(text, field->lo, unit);
        vly_text_put(text, ", ");
        put_amount(text, field->hi, unit);
        vly_text_put(text, "] }\n");
    }
}

char *vly_written_text(const vly_model_info *model, const char *name, bool sums)
{
    const model_text *of = model->user ? NULL : find(model->id);
    vly_text text = {0};
    if (!of)
        return NULL;
    vly_text_put(&text, "[neuron.\"%s\"]\n", name);
    put_params(&text, model);
    put_ports(&text, model);
    put_states(&text, model, of);
    vly_text_put(&text, "update = \"\"\"\n%s\"\"\"\n", of->update);
    vly_text_put(&text, "spike = \"%s\"\nreset = \"%s\"\n", of->spike,
                 of->reset);
    for (uint32_t i = 0; i < model->n_fields; i++)
        if (strcmp(model->fields[i].name, "refractory") == 0)
            vly_text_put(&text, "refractory = \"t_ref\"\n");
    if (sums)
        vly_text_put(&text, "record_input = true\n");
    if (!text.failed)
        return text.data;
    vly_free(text.data);
    return NULL;
}

/* ---- with sums ----------------------------------------------------------- */

vly_status vly_written_like(const char *name, const char *text, size_t n,
                            const vly_model_info **like, vly_error *error)
{
    vly_user_definition read;
    const vly_toml_node *table = NULL;
    const vly_model_info *found = NULL;
    char *same = NULL;
    vly_status status = VLY_OK;
    *like = NULL;
    for (uint32_t i = 0; i < vly_model_count() && !found; i++) {
        const vly_model_info *model = vly_model_at(i);
        const size_t n_id = strlen(model->id);
        if (strncmp(name, model->id, n_id) == 0 &&
            strcmp(name + n_id, INPUT_NAME) == 0 && vly_written_has(model))
            found = model;
    }
    if (!found)
        return VLY_OK;
    char *written = vly_written_text(found, name, true);
    if (!written)
        return vly_fail_nomem(error, 4096, "a neuron model");
    status =
        vly_user_definition_read(&read, written, "neuron", name, &table, error);
    if (status == VLY_OK && !(same = vly_table_text("neuron", table)))
        status = vly_fail_nomem(error, 4096, "a neuron model");
    vly_user_definition_deinit(&read);
    if (same && strlen(same) == n && memcmp(same, text, n) == 0)
        *like = found;
    vly_free(same);
    vly_free(written);
    return status;
}

vly_status vly_model_recorded(const vly_model_info *model, const char *name,
                              const vly_model_info **made, vly_error *error)
{
    vly_text own = {0};
    char *text = NULL;
    vly_status status = VLY_OK;
    if (model->user) {
        vly_text_bytes(&own, vly_model_definition(model),
                       vly_model_table_bytes(model));
        vly_text_put(&own, "record_input = true\n");
        text = own.data;
    } else {
        char id[64];
        (void)snprintf(id, sizeof id, "%s" INPUT_NAME, model->id);
        text = vly_written_text(model, id, true);
    }
    if (!text || own.failed)
        status = vly_fail_nomem(error, 4096, "a neuron model");
    else
        status = vly_model_define(text, name, made, error);
    vly_free(text);
    return status;
}

uint32_t vly_model_sum(const vly_model_info *model, uint32_t port)
{
    const vly_neuron_model *neuron = vly_model_neuron(model);
    return neuron ? vly_neuron_sum(neuron, port) : UINT32_MAX;
}
