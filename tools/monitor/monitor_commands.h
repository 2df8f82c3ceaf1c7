/* SPDX-License-Identifier: Apache-2.0
 * The subcommands of volley monitor, in the order of --help. A new one is a
 * file monitor_NAME.c with `const tool_command monitor_NAME`, whose name is
 * "monitor NAME", and a line here.
 */
#ifndef VOLLEY_TOOLS_MONITOR_COMMANDS_H
#define VOLLEY_TOOLS_MONITOR_COMMANDS_H

#include "tools/cli/options.h"

#define MONITOR_COMMANDS(X)                                                    \
    X(ask)                                                                     \
    X(attach)                                                                  \
    X(convert)                                                                 \
    X(report)                                                                  \
    X(tokens)

#define MONITOR_DECLARE(name) extern const tool_command monitor_##name;
MONITOR_COMMANDS(MONITOR_DECLARE)
#undef MONITOR_DECLARE

#endif
