/* SPDX-License-Identifier: Apache-2.0
 * volley model: a user's model as it was understood, and a picture of what it
 * does.
 */
#include "tools/cli/commands.h"

#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "tools/cli/output_apart.h"
#include "tools/cli/tool.h"
#include "tools/doc/doc_own.h"
#include "tools/model/model_answers.h"
#include "tools/model/model_picture.h"
#include "tools/plot/plot_process.h"

static const tool_option options[] = {
    {"plot", 0, false, TOOL_TEXT, "FILE",
     "draw it to FILE.png or FILE.svg instead of describing it", 0, 0},
    {"param", 0, true, TOOL_TEXT, "KEY=VALUE",
     "plot: a parameter, or the start of a variable", 0, 0},
    {"field", 0, false, TOOL_TEXT, "NAME",
     "plot: the variable; default: the first", 0, 0},
    {"dt", 0, false, TOOL_NUMBER, "MS", "plot: default: that of the genome",
     1e-6, 1e6},
    {"ms", 0, false, TOOL_NUMBER, "MS",
     "plot: time shown; default: 200; rates are of five times that", 1e-6, 1e9},
    {"highest", 0, false, TOOL_NUMBER, "CURRENT",
     "plot: end of the currents; default: three times the least that fires",
     1e-9, 1e9},
    {"set", 0, true, TOOL_TEXT, "PATH=VALUE", "change the genome", 0, 0},
    {"seed", 0, false, TOOL_COUNT, "N", "all three seeds", 0, 9e18},
    {"width", 0, false, TOOL_NUMBER, "INCHES", "default: 7", 1, 100},
    {"height", 0, false, TOOL_NUMBER, "INCHES", "default: 5.5", 1, 100},
    {"dpi", 0, false, TOOL_NUMBER, "N", "dots an inch; default: 200", 36, 2400},
    {NULL, 0, false, TOOL_FLAG, NULL, NULL, 0, 0}};

static const char *name_at(const void *context, uint32_t k)
{
    const vly_genome *genome = context;
    return k < genome->n_neuron_models ? genome->neuron_models[k]->id : NULL;
}

static vly_status find(const vly_genome *genome, const char *name,
                       const vly_model_info **model, vly_error *error)
{
    *model = vly_neuron_find(genome, name);
    if (*model)
        return VLY_OK;
    if (vly_model_find(name))
        return vly_fail(error, VLY_E_INVALID,
                        "%s is a built-in model: `volley doc %s`", name, name);
    if (genome->n_neuron_models == 0)
        return vly_fail(error, VLY_E_INVALID,
                        "the genome has no [neuron], wanted [neuron.%.60s]",
                        name);
    const char *near = tool_nearest(name, name_at, genome);
    return vly_fail(error, VLY_E_INVALID,
                    "the genome has no [neuron.%.60s]; %s%s", name,
                    near ? "did you mean " : "it has ",
                    near ? near : genome->neuron_models[0]->id);
}

static vly_status draw(plot_figure *figure, void *context, vly_error *error)
{
    return model_picture_draw(figure, context, error);
}

static vly_status plot(const tool_args *args, const vly_genome *genome,
                       const vly_model_info *model, vly_error *error)
{
    const double ms = tool_number(args, "ms", 200);
    const plot_page page = {.path = tool_text(args, "plot"),
                            .width = 72 * tool_number(args, "width", 7),
                            .height = 72 * tool_number(args, "height", 5.5),
                            .dpi = tool_number(args, "dpi", 200)};
    model_answers answers = {.model = model,
                             .dt_ms = tool_number(args, "dt", genome->dt_ms),
                             .ms = ms,
                             .rates_ms = 5 * ms,
                             .highest = tool_number(args, "highest", 0),
                             .field = tool_text(args, "field")};
    const char **values = vly_calloc(args->n_values + 1, sizeof *values);
    vly_status status = VLY_OK;
    if (!values)
        return vly_fail_nomem(error, args->n_values, "parameters");
    while ((values[answers.n_values] =
                tool_text_at(args, "param", answers.n_values)))
        answers.n_values++;
    answers.values = values;
    VLY_TRY(plot_page_check(&page, error));
    VLY_TRY(output_apart_genome(page.path, genome, error));
    VLY_TRY(model_answers_find(&answers, error));
    VLY_TRY(plot_process(&page, draw, &answers, error));
    tool_print("%s\n", page.path);
out:
    model_answers_deinit(&answers);
    vly_free(values);
    return status;
}

static int run(const tool_args *args)
{
    vly_error error = VLY_ERROR_INIT;
    vly_genome *genome = NULL;
    const vly_model_info *model = NULL;
    vly_status status = VLY_OK;
    VLY_TRY(doc_own_load(args, &genome, &error));
    VLY_TRY(find(genome, args->positional[1], &model, &error));
    if (tool_text(args, "plot"))
        VLY_TRY(plot(args, genome, model, &error));
    else
        doc_own_model_print(model);
out:
    vly_genome_destroy(genome);
    return status != VLY_OK ? tool_fail(&error) : TOOL_EXIT_DONE;
}

const tool_command cmd_model = {
    .name = "model",
    .arguments = "GENOME.toml NAME [options]",
    .summary = "Describes a [neuron.NAME]: keys, scheme, size; draws it.",
    .details =
        "The picture has answers to steps of the input current, the rate over "
        "the current,\nand the change after an event of weight 1 (-1 at "
        "the second of two ports),\nor 10, 100, ... where that changes less "
        "than 0.1. "
        "The file needs no area: nets are made\nin memory, and run on the "
        "cpu backend.\n",
    .options = options,
    .n_positional_min = 2,
    .n_positional_max = 2,
    .run = run};
