/* SPDX-License-Identifier: Apache-2.0
 * Ports, parameters and fields of a model as text.
 */
#include "tools/doc/doc_model.h"

#include "tools/cli/tool.h"

static void print_ports(const vly_model_info *model)
{
    tool_print("\nports (keys of maps and stimuli)\n");
    for (uint32_t p = 0; p < model->n_ports; p++) {
        const vly_port_info *port = &model->ports[p];
        tool_print("  %u  weight%s%-12s %-8s %s\n", p,
                   port->suffix[0] != '\0' ? "_" : "", port->suffix, port->unit,
                   port->text);
    }
    if (model->n_ports == 2)
        tool_print("  the sign of a weight chooses, or port = 0 or 1 does\n");
    if (model->n_ports > 2)
        tool_print("  a map and a stimulus name theirs: port = 0 to %u, or the "
                   "name\n",
                   model->n_ports - 1);
}

static void print_text(const char *text)
{
    if (*text)
        tool_print("      %s\n", text);
}

static void print_params(const vly_model_info *model)
{
    tool_print("\nparameters%33s %12s   range\n", "unit", "default");
    for (uint32_t i = 0; i < model->n_params; i++) {
        const vly_param_info *param = &model->params[i];
        tool_print("  %-32s %8s %12s   %s to %s\n", param->name, param->unit,
                   tool_number_text(param->init), tool_number_text(param->lo),
                   tool_number_text(param->hi));
        print_text(param->text);
    }
}

static void print_fields(const vly_model_info *model)
{
    tool_print("\nfields (state; a value in the genome is the initial one)\n");
    for (uint32_t i = 0; i < model->n_fields; i++) {
        const vly_field_info *field = &model->fields[i];
        tool_print("  %-32s %8s %12s   %s to %s\n", field->name, field->unit,
                   field->type == VLY_TYPE_U32 ? "u32" : "f32",
                   tool_number_text(field->lo), tool_number_text(field->hi));
        print_text(field->text);
    }
}

void doc_model_values(const vly_model_info *model)
{
    print_ports(model);
    print_params(model);
    print_fields(model);
}

const vly_param_info *doc_model_input(const vly_model_info *model)
{
    uint32_t input = vly_neuron_input(vly_model_neuron(model));
    return input == UINT32_MAX ? NULL : &model->params[input];
}
