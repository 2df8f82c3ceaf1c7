/* SPDX-License-Identifier: Apache-2.0
 * Users' rules as data: made of the compiled rule, counted by their users.
 */
#include "genome/user_rule.h"

#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

#include "base/memory.h"
#include "genome/neuron_table.h"
#include "genome/synapse_table.h"
#include "genome/user_table.h"
#include "kernels/rules/rule_program.h"

#define TRACES_MAX (2 * VLY_SYNAPSE_TRACES_MAX)

struct vly_user_rule {
    vly_plasticity_info info;
    vly_synapse_model *synapse;
    char *definition;
    char *backend_id; /* "synapse NAME" */
    atomic_uint users;
    vly_param_info params[VLY_SYNAPSE_PARAMS_MAX];
    vly_trace_info traces[TRACES_MAX];
    vly_coef_info coefs[VLY_RULE_PROGRAM_WORDS];
};

static void fill_params(vly_user_rule *user)
{
    const vly_neuron_param *params =
        vly_synapse_params(user->synapse, &user->info.n_params);
    vly_user_params(params, user->info.n_params, user->params);
    user->info.params = user->params;
}

static void fill_traces(vly_user_rule *user)
{
    uint32_t n = 0;
    for (uint32_t side = 0; side < 2; side++)
        for (uint32_t i = 0; i < vly_synapse_n_traces(user->synapse, side); i++)
            user->traces[n++] = (vly_trace_info){
                .of_target = side == 1,
                .index = i,
                .param = vly_synapse_trace(user->synapse, side, i)};
    user->info.traces = user->traces;
    user->info.n_traces = n;
}

/* All words are bits: those of the program are not floats. */
static void fill_coefs(vly_user_rule *user)
{
    user->info.n_coefs = vly_synapse_n_words(user->synapse);
    for (uint32_t i = 0; i < user->info.n_coefs; i++)
        user->coefs[i] = (vly_coef_info){i ? "word" : "most", VLY_TYPE_U32};
    user->info.coefs = user->coefs;
}

/* Takes synapse and definition over, also on failure. */
static vly_user_rule *user_make(const char *name, vly_synapse_model *synapse,
                                char *definition)
{
    vly_user_rule *user = vly_calloc(1, sizeof *user);
    char *id = vly_malloc(strlen(VLY_RULE_PROGRAM) + strlen(name) + 1, 1);
    if (!user || !id || !definition) {
        vly_free(user);
        vly_free(id);
        vly_free(definition);
        vly_synapse_destroy(synapse);
        return NULL;
    }
    memcpy(id, VLY_RULE_PROGRAM, strlen(VLY_RULE_PROGRAM));
    memcpy(id + strlen(VLY_RULE_PROGRAM), name, strlen(name) + 1);
    user->synapse = synapse;
    user->definition = definition;
    user->backend_id = id;
    atomic_init(&user->users, 1);
    user->info = (vly_plasticity_info){.id = id + strlen(VLY_RULE_PROGRAM),
                                       .text = "",
                                       .source = "a [synapse]",
                                       .equations = "",
                                       .table_hash = vly_synapse_hash(synapse),
                                       .user = user,
                                       .pre = vly_rule_program_pre,
                                       .post = vly_rule_program_post};
    fill_params(user);
    fill_traces(user);
    fill_coefs(user);
    return user;
}

void vly_plasticity_hold(const vly_plasticity_info *rule)
{
    if (rule->user)
        atomic_fetch_add(&rule->user->users, 1);
}

void vly_plasticity_drop(const vly_plasticity_info *rule)
{
    vly_user_rule *user = rule ? rule->user : NULL;
    if (!user || atomic_fetch_sub(&user->users, 1) != 1)
        return;
    vly_synapse_destroy(user->synapse);
    vly_free(user->definition);
    vly_free(user->backend_id);
    vly_free(user);
}

const char *vly_plasticity_definition(const vly_plasticity_info *rule)
{
    return rule->user ? rule->user->definition : NULL;
}

const char *vly_plasticity_backend_id(const vly_plasticity_info *rule)
{
    return rule->user ? rule->user->backend_id : rule->id;
}

void vly_user_rule_coefs(const vly_user_rule *user,
                         const vly_plasticity_input *input, uint32_t *words)
{
    vly_synapse_words(user->synapse, input->params, input->w_max, input->unit,
                      input->dt_ms, vly_plasticity_most(input), words);
}

bool vly_user_rule_loses(const vly_user_rule *user,
                         const vly_plasticity_input *input)
{
    return vly_synapse_loses(user->synapse, input->params, input->w_max,
                             input->unit, input->dt_ms);
}

const char *vly_user_rule_unfit(const vly_user_rule *user,
                                const vly_plasticity_input *input)
{
    return vly_synapse_unfit(user->synapse, input->params, input->w_max,
                             input->dt_ms);
}

/* ---- from the genome ---------------------------------------------------- */

const vly_plasticity_info *vly_rule_named(const vly_genome *genome,
                                          const char *name)
{
    for (uint32_t i = 0; i < genome->n_synapse_rules; i++)
        if (strcmp(genome->synapse_rules[i]->id, name) == 0)
            return genome->synapse_rules[i];
    return vly_plasticity_find(name);
}

static vly_status read_one(vly_reader *reader, const vly_toml_node *node,
                           const vly_plasticity_info **rule)
{
    vly_synapse_model *synapse = NULL;
    vly_status status = VLY_OK;
    VLY_TRY(vly_synapse_table_read(reader, node, &synapse));
    vly_user_rule *user =
        user_make(node->key, synapse, vly_table_text("synapse", node));
    if (!user)
        return vly_reader_nomem(reader, sizeof *user, "a rule of plasticity");
    *rule = &user->info;
out:
    return status;
}

vly_status vly_synapses_read(vly_reader *reader)
{
    vly_genome *genome = reader->genome;
    const vly_toml_node *table = NULL;
    vly_status status = VLY_OK;
    VLY_TRY(vly_user_tables(reader, "synapse", "rules", VLY_SYNAPSE_RULES_MAX,
                            &table));
    if (!table)
        return VLY_OK;
    genome->synapse_rules =
        vly_calloc(table->n_children, sizeof *genome->synapse_rules);
    if (!genome->synapse_rules)
        return vly_reader_nomem(
            reader, table->n_children * sizeof(*genome->synapse_rules),
            "the rules of plasticity");
    for (uint32_t i = 0; i < table->n_children; i++) {
        VLY_TRY(read_one(reader, &table->u.children[i],
                         &genome->synapse_rules[genome->n_synapse_rules]));
        genome->n_synapse_rules++;
    }
out:
    return status;
}

void vly_synapses_free(vly_genome *genome)
{
    for (uint32_t i = 0; i < genome->n_synapse_rules; i++)
        vly_plasticity_drop(genome->synapse_rules[i]);
    vly_free(genome->synapse_rules);
}

/* All of them: a rule that no map has is still what the user wrote. */
void vly_synapses_resolve(vly_text *text, const vly_genome *genome)
{
    for (uint32_t i = 0; i < genome->n_synapse_rules; i++) {
        const char *table = vly_plasticity_definition(genome->synapse_rules[i]);
        vly_text_put(text, "\n");
        vly_text_bytes(text, table, strlen(table));
    }
}

vly_status vly_plasticity_define(const char *definition, const char *name,
                                 const vly_plasticity_info **rule,
                                 vly_error *error)
{
    vly_user_definition read;
    const vly_toml_node *table = NULL;
    vly_status status = VLY_OK;
    VLY_TRY(vly_user_definition_read(&read, definition, "synapse", name, &table,
                                     error));
    VLY_TRY(read_one(&read.reader, table, rule));
out:
    vly_user_definition_deinit(&read);
    return status;
}
