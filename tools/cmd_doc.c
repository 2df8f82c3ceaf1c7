/* SPDX-License-Identifier: Apache-2.0
 * volley doc: models and rules, from the tables that the checks use.
 */
#include "commands.h"

#include <string.h>

#include "genome/genome.h"
#include "tool.h"

static const tool_option options[] = {
    {NULL, 0, false, TOOL_FLAG, NULL, NULL, 0, 0}};

typedef struct rule_text {
    const char *name;
    const char *keys;
    const char *text;
} rule_text;

/* In the order of vly_rule. */
static const rule_text rules[] = {
    {"one_to_one", "", "neuron k of from to neuron k of to; sizes must agree"},
    {"all_to_all", "self", "every neuron of from to every neuron of to"},
    {"fixed_total_number", "count or p, self, multiple",
     "so many synapses, both ends drawn"},
    {"fixed_in_degree", "in_degree, self, multiple",
     "so many incoming synapses a neuron of to, sources drawn"},
    {"pairwise_bernoulli", "p, self", "every pair with probability p"},
    {"vectors", "vectors, self",
     "voxel to voxel + vector, for each [x, y, z] of vectors"},
};
enum { N_RULES = sizeof rules / sizeof rules[0] };

static void print_ports(const vly_model_info *model)
{
    tool_print("\nports (keys of maps and stimuli)\n");
    for (uint32_t p = 0; p < model->n_ports; p++) {
        const vly_port_info *port = &model->ports[p];
        tool_print("  %u  weight%s%-12s %-8s %s\n", p,
                   port->suffix[0] != '\0' ? "_" : "", port->suffix, port->unit,
                   port->text);
    }
}

static void print_params(const vly_model_info *model)
{
    tool_print("\nparameters%33s %12s   range\n", "unit", "default");
    for (uint32_t i = 0; i < model->n_params; i++) {
        const vly_param_info *param = &model->params[i];
        tool_print("  %-32s %8s %12s   %s to %s\n      %s\n", param->name,
                   param->unit, tool_number_text(param->init),
                   tool_number_text(param->lo), tool_number_text(param->hi),
                   param->text);
    }
}

static void print_fields(const vly_model_info *model)
{
    tool_print("\nfields (state; a value in the genome is the initial one)\n");
    for (uint32_t i = 0; i < model->n_fields; i++) {
        const vly_field_info *field = &model->fields[i];
        tool_print("  %-32s %8s %12s   %s to %s\n      %s\n", field->name,
                   field->unit, field->type == VLY_TYPE_U32 ? "u32" : "f32",
                   tool_number_text(field->lo), tool_number_text(field->hi),
                   field->text);
    }
}

static void print_model(const vly_model_info *model)
{
    tool_print("%s: %s\nsource: %s\n", model->id, model->text, model->source);
    if (model->flags & VLY_AREA_FEAGI)
        tool_print("updates only neurons at which an event arrived; weights "
                   "are -255 to 255\n");
    print_ports(model);
    print_params(model);
    print_fields(model);
}

static void print_rule(const rule_text *rule)
{
    tool_print("rule %s: %s\n", rule->name, rule->text);
    if (rule->keys[0] != '\0')
        tool_print("keys: %s\n", rule->keys);
}

static void print_list(void)
{
    tool_print("models\n");
    for (uint32_t i = 0; i < vly_model_count(); i++) {
        const vly_model_info *model = vly_model_at(i);
        tool_print("  %-20s %s\n", model->id, model->text);
    }
    tool_print("\nrules\n");
    for (uint32_t i = 0; i < N_RULES; i++)
        tool_print("  %-20s %s\n", rules[i].name, rules[i].text);
}

static const char *name_at(const void *context, uint32_t k)
{
    (void)context;
    if (k < vly_model_count())
        return vly_model_at(k)->id;
    k -= vly_model_count();
    return k < N_RULES ? rules[k].name : NULL;
}

static int run(const tool_args *args)
{
    if (args->n_positional == 0) {
        print_list();
        return TOOL_EXIT_DONE;
    }
    const char *name = args->positional[0];
    const vly_model_info *model = vly_model_find(name);
    if (model != NULL) {
        print_model(model);
        return TOOL_EXIT_DONE;
    }
    for (uint32_t i = 0; i < N_RULES; i++) {
        if (strcmp(rules[i].name, name) == 0) {
            print_rule(&rules[i]);
            return TOOL_EXIT_DONE;
        }
    }
    const char *near = tool_nearest(name, name_at, NULL);
    if (near != NULL)
        tool_message("no model or rule %s; did you mean %s?", name, near);
    else
        tool_message("no model or rule %s; `volley doc` lists them", name);
    return TOOL_EXIT_WRONG;
}

const tool_command cmd_doc = {
    .name = "doc",
    .arguments = "[MODEL|RULE]",
    .summary = "Describes a model or a rule; lists them without one.",
    .details = NULL,
    .options = options,
    .n_positional_min = 0,
    .n_positional_max = 1,
    .run = run};
