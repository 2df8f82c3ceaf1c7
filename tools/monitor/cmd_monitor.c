/* SPDX-License-Identifier: Apache-2.0
 * volley monitor: models that watch runs. One file a subcommand.
 */
#include "tools/cli/commands.h"

#include "tools/monitor/monitor_commands.h"

#define MONITOR_ADDRESS(name) &monitor_##name,
static const tool_command *const subcommands[] = {
    MONITOR_COMMANDS(MONITOR_ADDRESS) NULL};
#undef MONITOR_ADDRESS

const tool_command cmd_monitor = {.name = "monitor",
                                  .summary = "Models that watch runs.",
                                  .subcommands = subcommands};
