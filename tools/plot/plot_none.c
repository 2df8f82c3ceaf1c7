/* SPDX-License-Identifier: Apache-2.0
 * volley plot of a build without cairo: says so.
 */
#include "tools/cli/commands.h"
#include "tools/cli/tool.h"
#include "tools/plot/plot_options.h"

static int run(const tool_args *args)
{
    (void)args;
    tool_message("this volley was built without cairo, which draws: install "
                 "libcairo2-dev and build again");
    return TOOL_EXIT_DEVICE;
}

const tool_command cmd_plot = {
    .name = "plot",
    .arguments = PLOT_ARGUMENTS,
    .summary = "Draws pictures: not in this build, which has no cairo.",
    .options = plot_options,
    .n_positional_min = 2,
    .n_positional_max = 2,
    .run = run};
