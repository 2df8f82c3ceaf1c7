/* SPDX-License-Identifier: Apache-2.0
 * Reads [synapse.NAME]: its keys; core/neuron reads what the texts say.
 */
#include "genome/synapse_table.h"

#include <string.h>

#include "base/memory.h"
#include "genome/neuron_table.h"
#include "genome/plasticity_info.h"

/* { x = "tau_plus" }: traces and the parameters that are their time constants
 */
static vly_status traces_read(vly_reader *reader, const vly_toml_node *table,
                              const char *key, const vly_neuron_name **out,
                              uint32_t *n)
{
    const vly_toml_node *group = vly_toml_get(table, key);
    vly_neuron_name *traces = NULL;
    vly_status status = VLY_OK;
    *n = 0;
    if (!group)
        return VLY_OK;
    if (group->kind != VLY_TOML_TABLE)
        return vly_reader_wrong(reader, group, key,
                                "traces with their time constants: { x = "
                                "\"tau_plus\" }");
    VLY_TRY(vly_reader_alloc(reader, group->n_children + 1, sizeof *traces,
                             &traces));
    for (uint32_t i = 0; i < group->n_children; i++) {
        const vly_toml_node *node = &group->u.children[i];
        traces[i] = (vly_neuron_name){.name = node->key, .place = node};
        if (node->kind != VLY_TOML_STRING)
            return vly_reader_wrong(reader, node, node->key,
                                    "the name of a parameter in quotes, the "
                                    "time constant of the trace");
        VLY_TRY(vly_table_text_read(reader, node, node->key, false,
                                    &traces[i].value));
    }
    *out = traces;
    *n = group->n_children;
out:
    return status;
}

static vly_status parts_read(vly_reader *reader, const vly_toml_node *node,
                             vly_synapse_source *to)
{
    const vly_toml_node *on_pre = vly_toml_get(node, "on_pre");
    const vly_toml_node *on_post = vly_toml_get(node, "on_post");
    vly_status status = VLY_OK;
    VLY_TRY(vly_table_names_read(reader, node, "synapse", "param", true,
                                 &to->params, &to->n_params));
    VLY_TRY(traces_read(reader, node, "pre", &to->traces[0], &to->n_traces[0]));
    VLY_TRY(
        traces_read(reader, node, "post", &to->traces[1], &to->n_traces[1]));
    if (on_pre)
        VLY_TRY(
            vly_table_text_read(reader, on_pre, "on_pre", false, &to->on_pre));
    if (on_post)
        VLY_TRY(vly_table_text_read(reader, on_post, "on_post", false,
                                    &to->on_post));
out:
    return status;
}

static vly_status keys_free(vly_reader *reader, const vly_toml_node *node,
                            const vly_synapse_model *model)
{
    const vly_toml_node *table = vly_toml_get(node, "param");
    uint32_t n;
    const vly_neuron_param *params = vly_synapse_params(model, &n);
    vly_status status = VLY_OK;
    for (uint32_t i = 0; i < n; i++)
        VLY_TRY(vly_table_key_free(reader, vly_toml_get(table, params[i].name),
                                   params[i].key, vly_keys_plasticity,
                                   "[plasticity]"));
out:
    return status;
}

vly_status vly_synapse_table_read(vly_reader *reader, const vly_toml_node *node,
                                  vly_synapse_model **model)
{
    vly_table_noting to = {.reader = reader, .node = node, .kind = "synapse"};
    vly_synapse_source source = {.scan = vly_toml_scan_number,
                                 .name = node->key,
                                 .place = node,
                                 .note = vly_table_note,
                                 .context = &to};
    vly_synapse_model *made = NULL;
    vly_neuron_fault fault;
    vly_status status = VLY_OK;
    VLY_TRY(vly_reader_table(reader, node, "synapse"));
    VLY_TRY(vly_reader_name(reader, node, "synapse", node->key));
    if (vly_plasticity_find(node->key))
        return vly_reader_fail_key(reader, node,
                                   "[synapse.%s] has the name of a built-in "
                                   "rule, wanted another name",
                                   node->key);
    const vly_key_list list = {"a [synapse]", vly_keys_synapse, NULL};
    VLY_TRY(vly_reader_keys(reader, node, &list));
    VLY_TRY(parts_read(reader, node, &source));
    status = vly_synapse_compile(&source, &made, &fault);
    if (status == VLY_E_PARSE)
        return vly_table_fail(reader, node, &fault);
    if (status != VLY_OK)
        return vly_reader_nomem(reader, sizeof(vly_neuron_fault),
                                "a rule of plasticity");
    VLY_TRY(keys_free(reader, node, made));
    *model = made;
    made = NULL;
out:
    vly_synapse_destroy(made);
    return status;
}
