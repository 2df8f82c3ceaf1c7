/* SPDX-License-Identifier: Apache-2.0
 * volley resolve: every value of a genome with its origin.
 */
#include "tools/cli/commands.h"

#include "base/error.h"
#include "tools/cli/setup.h"
#include "tools/cli/tool.h"

static const tool_option options[] = {
    {"set", 0, true, TOOL_TEXT, "PATH=VALUE", "change the genome", 0, 0},
    {"seed", 0, false, TOOL_COUNT, "N", "all three seeds", 0, 9e18},
    {"hash", 0, false, TOOL_FLAG, NULL, "print the hash only", 0, 0},
    {NULL, 0, false, TOOL_FLAG, NULL, NULL, 0, 0}};

static int run(const tool_args *args)
{
    vly_error error = VLY_ERROR_INIT;
    tool_overrides overrides;
    vly_genome *genome = NULL;
    if (tool_overrides_init(args, &overrides, &error) != VLY_OK)
        return tool_fail(&error);
    vly_status status = tool_genome_load(args->positional[0], overrides.list,
                                         overrides.n, &genome, &error);
    tool_overrides_deinit(&overrides);
    if (status != VLY_OK)
        return tool_fail(&error);
    if (tool_has(args, "hash"))
        tool_print("%s\n", tool_hash_text(tool_genome_info(genome).hash));
    else
        tool_print("%s", tool_genome_info(genome).resolved);
    vly_genome_destroy(genome);
    return TOOL_EXIT_DONE;
}

const tool_command cmd_resolve = {
    .name = "resolve",
    .arguments = "GENOME.toml [options]",
    .summary = "Prints a genome with every value and where it came from.",
    .details = "The output is a genome too, with the same hash.\n",
    .options = options,
    .n_positional_min = 1,
    .n_positional_max = 1,
    .run = run};
