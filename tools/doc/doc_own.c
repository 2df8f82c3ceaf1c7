/* SPDX-License-Identifier: Apache-2.0
 * Models and rules of a genome's own, as they were understood.
 */
#include "tools/doc/doc_own.h"

#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "base/reading.h"
#include "genome/toml_tree.h"
#include "tools/cli/setup.h"
#include "tools/cli/tool.h"
#include "tools/doc/doc_plasticity.h"

/* ---- the genome --------------------------------------------------------- */

/* Added to a file that has a [neuron] and no area: it is no genome yet. */
static const char an_area[] = "\n[area.none]\ngenerator = \"poisson\"\n"
                              "neurons = 1\nrate_hz = 0\n";

/* The whole file and an_area, if it has neither [area] nor [use]; *text NULL
 * otherwise. */
static vly_status add_area(const char *path, char **text, vly_error *error)
{
    vly_toml_node root = {0};
    FILE *file = NULL;
    char *bytes = NULL;
    size_t n = 0;
    vly_status status = VLY_OK;
    *text = NULL;
    VLY_TRY(vly_reading_open(path, VLY_READ_FILE, &file, error));
    VLY_TRY(vly_reading_whole(file, path, "genome", VLY_GENOME_BYTES_MAX,
                              &bytes, &n, error));
    VLY_TRY(vly_toml_parse(bytes, n, path, &root, error));
    if (!vly_toml_get(&root, "area") && !vly_toml_get(&root, "use")) {
        *text = vly_format("%.*s%s", (int)n, bytes, an_area);
        if (!*text)
            status = vly_fail_nomem(error, n + sizeof an_area, "a genome");
    }
out:
    vly_toml_deinit(&root);
    vly_free(bytes);
    if (file)
        (void)fclose(file);
    return status;
}

vly_status doc_own_load(const tool_args *args, vly_genome **genome,
                        vly_error *error)
{
    const char *path = args->positional[0];
    vly_error second = VLY_ERROR_INIT;
    tool_overrides overrides = {0};
    char *text = NULL;
    vly_status status = VLY_OK;
    VLY_TRY(tool_overrides_init(args, &overrides, error));
    status = tool_genome_load(path, overrides.list, overrides.n, genome, error);
    if (status != VLY_E_PARSE || strcmp(path, "-") == 0 ||
        add_area(path, &text, &second) != VLY_OK || !text)
        goto out;
    status = vly_genome_parse(text, strlen(text), path, overrides.list,
                              overrides.n, genome, error);
out:
    tool_overrides_deinit(&overrides);
    vly_free(text);
    return status;
}

/* ---- its models and rules ----------------------------------------------- */

static const vly_plasticity_info *rule_of(const vly_genome *genome,
                                          const char *name)
{
    for (uint32_t i = 0; i < genome->n_synapse_rules; i++)
        if (strcmp(genome->synapse_rules[i]->id, name) == 0)
            return genome->synapse_rules[i];
    return NULL;
}

/* Names of models, then of rules. */
static const char *name_at(const void *context, uint32_t k)
{
    const vly_genome *genome = context;
    if (k < genome->n_neuron_models)
        return genome->neuron_models[k]->id;
    k -= genome->n_neuron_models;
    return k < genome->n_synapse_rules ? genome->synapse_rules[k]->id : NULL;
}

void doc_own_list(const vly_genome *genome)
{
    const uint32_t n_models = genome->n_neuron_models;
    const char *name = NULL;
    if (!name_at(genome, 0))
        tool_print("the genome has no [neuron] and no [synapse]: built-in "
                   "models and rules only\n");
    for (uint32_t i = 0; (name = name_at(genome, i)) != NULL; i++)
        if (i < n_models)
            tool_print("[neuron.%s]  %s\n", name,
                       genome->neuron_models[i]->scheme);
        else
            tool_print("[synapse.%s]\n", name);
}

static vly_status fail_unknown(const vly_genome *genome, const char *name,
                               vly_error *error)
{
    const char *first = name_at(genome, 0);
    const char *near = tool_nearest(name, name_at, genome);
    if (vly_model_find(name) || vly_plasticity_find(name))
        return vly_fail(error, VLY_E_INVALID,
                        "%.60s is built in: `volley doc %.60s`", name, name);
    if (!first)
        return vly_fail(error, VLY_E_INVALID,
                        "the genome has no [neuron] and no [synapse], wanted "
                        "[neuron.%.60s] or [synapse.%.60s]",
                        name, name);
    return vly_fail(error, VLY_E_INVALID,
                    "the genome has no [neuron] or [synapse] %.60s; %s%s", name,
                    near ? "did you mean " : "it has ", near ? near : first);
}

void doc_own_model_print(const vly_model_info *model)
{
    const vly_param_info *input = doc_model_input(model);
    const vly_program *program = vly_model_program(model);
    tool_print("[neuron.%s]\nscheme: %s\n", model->id, model->scheme);
    tool_print("size: %u operations, %u variables, %u coefficients\n",
               program->n_ops, model->n_fields, model->n_coefs);
    tool_print("input: %s\n",
               input ? input->name : "none; stimuli of kind dc are refused");
    doc_model_values(model);
}

/* A rule has no scheme: its texts say all. Its parameters are a table below. */
static void print_rule(const vly_plasticity_info *rule)
{
    static const char params[] = "\"param\" = ";
    const char *line = vly_plasticity_definition(rule);
    while (*line) {
        const size_t n = strcspn(line, "\n");
        if (strncmp(line, params, sizeof params - 1) != 0)
            tool_print("%.*s\n", (int)n, line);
        line += n + (line[n] == '\n');
    }
    doc_plasticity_params(rule);
}

vly_status doc_own_print(const vly_genome *genome, const char *name,
                         vly_error *error)
{
    const vly_model_info *model = vly_neuron_find(genome, name);
    const vly_plasticity_info *rule = rule_of(genome, name);
    if (!model && !rule)
        return fail_unknown(genome, name, error);
    if (model)
        doc_own_model_print(model);
    if (model && rule)
        tool_print("\n");
    if (rule)
        print_rule(rule);
    return VLY_OK;
}
