/* SPDX-License-Identifier: Apache-2.0
 * volley doc: models, rules, keys and the names of other simulators, from the
 * tables that the checks use.
 */
#include "tools/cli/commands.h"

#include <string.h>

#include "genome/genome.h"
#include "genome/voxel_rule.h"
#include "tools/cli/tool.h"
#include "tools/doc/doc_keys.h"
#include "tools/doc/doc_model.h"
#include "tools/doc/doc_own.h"
#include "tools/doc/doc_plasticity.h"
#include "tools/doc/doc_topics.h"

static const tool_option options[] = {
    {"markdown", 0, false, TOOL_FLAG, NULL,
     "all keys, models and rules as one text: genomes/KEYS.md", 0, 0},
    {"set", 0, true, TOOL_TEXT, "PATH=VALUE", "change the genome", 0, 0},
    {NULL, 0, false, TOOL_FLAG, NULL, NULL, 0, 0}};

static void print_model(const vly_model_info *model)
{
    tool_print("%s: %s\nsource: %s\n", model->id, model->text, model->source);
    tool_print("scheme: %s\n        (%s)\n", model->scheme,
               model->scheme_source);
    if (model->note[0] != '\0') {
        tool_print("note:\n");
        doc_lines(model->note);
    }
    if (model->flags & VLY_AREA_FEAGI)
        tool_print("updates only neurons at which an event arrived; weights "
                   "are -255 to 255\n");
    doc_model_values(model);
}

static void print_rule(vly_rule number)
{
    const vly_rule_info *rule = &vly_rules[number];
    tool_print("rule %s: %s\n", rule->name, rule->text);
    if (rule->keys[0] != '\0')
        tool_print("keys: %s\n", rule->keys);
    if (rule->note)
        tool_print("%s", rule->note);
    if (vly_rule_of_voxels(number))
        tool_print("Both areas need voxels. All neurons of a voxel connect to "
                   "all of the target\nvoxel; what falls outside the target "
                   "is left out.\n");
    if (vly_rule_is_function(number))
        tool_print("Also as rule = \"function\" with a [morphology.NAME] that "
                   "has function = \"%s\",\nand as the mapper of a composite. "
                   "Source: FEAGI's function of that name.\n",
                   rule->name);
}

static void print_models(void)
{
    tool_print("models\n");
    for (uint32_t i = 0; i < vly_model_count(); i++) {
        const vly_model_info *model = vly_model_at(i);
        tool_print("  %-20s %s\n", model->id, model->text);
    }
}

static void print_rules(void)
{
    tool_print("rules\n");
    for (uint32_t i = 0; i < VLY_RULES; i++)
        tool_print("  %-20s %s\n", vly_rules[i].name, vly_rules[i].text);
}

static void print_list(void)
{
    print_models();
    tool_print("\n");
    print_rules();
    tool_print("\n");
    doc_plasticity_list();
    tool_print("\nparts\n");
    doc_sections_list();
    tool_print("\ntopics\n");
    doc_topics_list();
    tool_print("\nnest                   names of NEST and Brian 2, and "
               "ours\n"
               "any key, parameter or name of those: `volley doc tau_m_ms`\n");
}

/* Names in the order of models, rules, plasticity rules, parts, topics, other
 * simulators. */
static const char *name_at(const void *context, uint32_t k)
{
    (void)context;
    const char *(*const lists[])(uint32_t) = {doc_section_name, doc_topic_name,
                                              doc_alias_name};
    if (k < vly_model_count())
        return vly_model_at(k)->id;
    k -= vly_model_count();
    if (k < VLY_RULES)
        return vly_rules[k].name;
    k -= VLY_RULES;
    if (k < vly_plasticity_count())
        return vly_plasticity_at(k)->id;
    k -= vly_plasticity_count();
    for (int i = 0; i < 3; i++) {
        uint32_t n = 0;
        while (n <= k && lists[i](n))
            n++;
        if (n > k)
            return lists[i](k);
        k -= n;
    }
    return NULL;
}

static bool print_rule_named(const char *name)
{
    vly_rule rule = vly_rule_find(name);
    if (rule != VLY_RULES)
        print_rule(rule);
    return rule != VLY_RULES;
}

static bool print_named(const char *name)
{
    const vly_model_info *model = vly_model_find(name);
    if (model) {
        print_model(model);
        return true;
    }
    if (print_rule_named(name) || doc_plasticity_print(name))
        return true;
    if (doc_topic_print(name)) { /* some are keys too */
        doc_key_print(name);
        return true;
    }
    return doc_section_print(name) || doc_key_print(name) ||
           doc_aliases_print(strcmp(name, "nest") == 0 ? NULL : name);
}

/* ---- everything, as Markdown -------------------------------------------- */

static void markdown_model(const vly_model_info *model)
{
    tool_print("\n### `%s`\n\n", model->id);
    doc_cell_markdown(model->text);
    tool_print(". Integration: ");
    doc_cell_markdown(model->scheme);
    tool_print(". Source: ");
    doc_cell_markdown(model->source);
    if (model->note[0] != '\0')
        tool_print(". Note: %s", model->note);
    tool_print(".\n\n| parameter | unit | default | from | to | |\n"
               "|---|---|---|---|---|---|\n");
    for (uint32_t i = 0; i < model->n_params; i++) {
        const vly_param_info *param = &model->params[i];
        tool_print("| `%s` | %s | %s | %s | %s | ", param->name, param->unit,
                   tool_number_text(param->init), tool_number_text(param->lo),
                   tool_number_text(param->hi));
        doc_cell_markdown(param->text);
        tool_print(" |\n");
    }
    tool_print("\n| field | unit | from | to | |\n|---|---|---|---|---|\n");
    for (uint32_t i = 0; i < model->n_fields; i++) {
        const vly_field_info *field = &model->fields[i];
        tool_print("| `%s` | %s | %s | %s | ", field->name, field->unit,
                   tool_number_text(field->lo), tool_number_text(field->hi));
        doc_cell_markdown(field->text);
        tool_print(" |\n");
    }
}

static void print_markdown(void)
{
    tool_print("# Keys of a genome\n\n"
               "Made by `volley doc --markdown` from the tables by which a "
               "genome is read; a test\ncompares. `volley doc NAME` says more "
               "of each.\n");
    doc_sections_markdown();
    tool_print("\n## Rules\n\n| rule | keys | |\n|---|---|---|\n");
    for (uint32_t i = 0; i < VLY_RULES; i++) {
        tool_print("| `%s` | ", vly_rules[i].name);
        doc_cell_markdown(vly_rules[i].keys);
        tool_print(" | ");
        doc_cell_markdown(vly_rules[i].text);
        tool_print(" |\n");
    }
    doc_plasticity_markdown();
    tool_print("\n## Models\n");
    for (uint32_t m = 0; m < vly_model_count(); m++)
        markdown_model(vly_model_at(m));
}

/* ---- the command -------------------------------------------------------- */

/* GENOME.toml [NAME] */
static int run_own(const tool_args *args)
{
    vly_error error = VLY_ERROR_INIT;
    vly_genome *genome = NULL;
    vly_status status = VLY_OK;
    VLY_TRY(doc_own_load(args, &genome, &error));
    if (args->n_positional == 2)
        VLY_TRY(doc_own_print(genome, args->positional[1], &error));
    else
        doc_own_list(genome);
out:
    vly_genome_destroy(genome);
    return status != VLY_OK ? tool_fail(&error) : TOOL_EXIT_DONE;
}

static int run_named(const char *name)
{
    if (strcmp(name, "rules") == 0 || strcmp(name, "models") == 0) {
        (strcmp(name, "rules") == 0 ? print_rules : print_models)();
        return TOOL_EXIT_DONE;
    }
    const char *word = doc_word(name); /* voxels: the key, and the topic */
    bool found = print_named(name);
    if (word != name)
        found |= print_named(word);
    if (found)
        return TOOL_EXIT_DONE;
    const char *near = tool_nearest(name, name_at, NULL);
    if (near)
        tool_message("%s is not known; did you mean %s? `volley doc "
                     "GENOME.toml %s` describes a genome's own",
                     name, near, name);
    else
        tool_message("%s is not known; `volley doc` lists what is; `volley doc "
                     "GENOME.toml %s` describes a genome's own",
                     name, name);
    return TOOL_EXIT_WRONG;
}

static int run(const tool_args *args)
{
    const char *name = args->n_positional > 0 ? args->positional[0] : "";
    const bool of_genome = args->n_positional == 2 || strcmp(name, "-") == 0 ||
                           tool_ends_in(name, ".toml");
    const bool markdown = tool_has(args, "markdown");
    if (markdown && args->n_positional > 0) {
        tool_message("--markdown is everything: a name beside it, %s", name);
        return TOOL_EXIT_WRONG;
    }
    if (tool_has(args, "set") && !of_genome) {
        tool_message("--set changes a genome, wanted `volley doc GENOME.toml "
                     "[NAME]`");
        return TOOL_EXIT_WRONG;
    }
    if (of_genome)
        return run_own(args);
    if (args->n_positional > 0)
        return run_named(name);
    (markdown ? print_markdown : print_list)();
    return TOOL_EXIT_DONE;
}

const tool_command cmd_doc = {
    .name = "doc",
    .arguments = "[MODEL|RULE|PART|TOPIC|KEY|nest|NAME] | GENOME.toml [NAME]",
    .summary = "Describes models, rules and keys; lists them without a name.",
    .details =
        "PART is a part of a genome: run, area, map, stimulus, poisson, ...\n"
        "TOPIC is a general subject: generator, expression, set, unit, ...\n"
        "`volley doc nest` lists names of NEST and Brian 2 with ours;\n"
        "`volley doc C_m` answers one.\n"
        "GENOME.toml NAME: a [neuron.NAME] or [synapse.NAME] of the genome; "
        "without NAME: all.\n",
    .options = options,
    .n_positional_min = 0,
    .n_positional_max = 2,
    .run = run};
