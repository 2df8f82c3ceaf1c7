/* SPDX-License-Identifier: Apache-2.0
 * volley doc: the plasticity rules, from their tables, and the order of the
 * events of a synapse beside that of other simulators.
 */
#include "tools/doc/doc_plasticity.h"

#include <stdio.h>
#include <string.h>

#include "tools/cli/tool.h"
#include "tools/doc/doc_keys.h"

#define LINE 76

static const char *unit_of(const vly_plasticity_info *info, uint32_t param)
{
    return vly_plasticity_scaled(info, param) ? "<unit>"
                                              : info->params[param].unit;
}

/* eta_<unit>: the unit of the weights */
static void key_of(const vly_plasticity_info *info, uint32_t param,
                   char key[64])
{
    snprintf(key, 64, "%s%s", info->params[param].name,
             vly_plasticity_scaled(info, param) ? "_<unit>" : "");
}

void doc_lines(const char *text)
{
    size_t column = 0;
    while (*text != '\0') {
        size_t n = strcspn(text, " ");
        if (column > 0 && column + 1 + n > LINE) {
            tool_print("\n");
            column = 0;
        }
        tool_print("%s%.*s", column > 0 ? " " : "  ", (int)n, text);
        column += n + (column > 0 ? 1 : 2);
        text += n + strspn(text + n, " ");
    }
    tool_print("\n");
}

void doc_plasticity_list(void)
{
    tool_print("plasticity rules\n");
    for (uint32_t i = 0; i < vly_plasticity_count(); i++) {
        const vly_plasticity_info *info = vly_plasticity_at(i);
        tool_print("  %-20s %s\n", info->id, info->text);
    }
}

void doc_plasticity_params(const vly_plasticity_info *info)
{
    char key[64];
    tool_print("\nparameters%33s %12s   range\n", "unit", "default");
    for (uint32_t i = 0; i < info->n_params; i++) {
        const vly_param_info *param = &info->params[i];
        key_of(info, i, key);
        tool_print("  %-32s %8s %12s   %s to %s\n", key, unit_of(info, i),
                   tool_number_text(param->init), tool_number_text(param->lo),
                   tool_number_text(param->hi));
        if (*param->text)
            tool_print("      %s\n", param->text);
    }
    if (info->short_term)
        return;
    tool_print("\nw_max_<unit> is wanted too, the bound of the weights: "
               "`volley doc plasticity`;\nthe order of events: `volley doc "
               "learning`\n");
}

bool doc_plasticity_print(const char *name)
{
    const vly_plasticity_info *info = vly_plasticity_find(name);
    if (info == NULL)
        return false;
    tool_print("plasticity rule %s: %s\nsource: %s\n\n", info->id, info->text,
               info->source);
    doc_lines(info->equations);
    doc_plasticity_params(info);
    return true;
}

void doc_plasticity_markdown(void)
{
    char key[64];
    tool_print("\n## Plasticity rules\n");
    for (uint32_t r = 0; r < vly_plasticity_count(); r++) {
        const vly_plasticity_info *info = vly_plasticity_at(r);
        tool_print("\n### `%s`\n\n", info->id);
        doc_cell_markdown(info->text);
        tool_print(": ");
        doc_cell_markdown(info->equations);
        tool_print(". Source: ");
        doc_cell_markdown(info->source);
        tool_print(".\n\n| parameter | unit | default | from | to | |\n"
                   "|---|---|---|---|---|---|\n");
        for (uint32_t i = 0; i < info->n_params; i++) {
            const vly_param_info *param = &info->params[i];
            key_of(info, i, key);
            tool_print("| `%s` | ", key);
            doc_cell_markdown(unit_of(info, i));
            tool_print(" | %s | %s | %s | ", tool_number_text(param->init),
                       tool_number_text(param->lo),
                       tool_number_text(param->hi));
            doc_cell_markdown(param->text);
            tool_print(" |\n");
        }
    }
}

void doc_plasticity_order(void)
{
    /* from their sources: NEST 84b06d8d, NEST GPU d3be46f, GeNN a3f45d241,
     * Auryn 674ef80, Brian 2 */
    static const char *const rows[][4] = {
        {"", "delay", "pair of one burst", "delivered weight"},
        {"Volley", "axonal, dendritic", "nothing", "after its depression"},
        {"NEST", "dendritic", "nothing", "after its depression"},
        {"NEST GPU", "dendritic", "potentiation", "before"},
        {"GeNN", "axonal, dendritic", "nothing (dt > 0)",
         "after its depression"},
        {"Brian 2", "axonal", "potentiation", "as its equations stand"},
        {"Auryn", "axonal", "-", "before"},
    };
    /* of a spike in burst t; d: the delay */
    static const char *const recorded[][3] = {
        {"change in", "spike of the source", "spike of the target"},
        {"axonal", "t + d", "t"},
        {"dendritic", "t + d", "t + 2d"},
    };
    tool_print("\n");
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        tool_print("  %-10s %-19s %-19s %s\n", rows[i][0], rows[i][1],
                   rows[i][2], rows[i][3]);
    tool_print("\n");
    for (size_t i = 0; i < sizeof recorded / sizeof recorded[0]; i++)
        tool_print("  %-10s %-20s %s\n", recorded[i][0], recorded[i][1],
                   recorded[i][2]);
    tool_print("\n");
    doc_plasticity_list();
}
