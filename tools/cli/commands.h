/* SPDX-License-Identifier: Apache-2.0
 * The subcommands, in the order of --help.
 */
#ifndef VOLLEY_TOOLS_COMMANDS_H
#define VOLLEY_TOOLS_COMMANDS_H

#include "tools/cli/options.h"

#define TOOL_COMMANDS(X)                                                       \
    X(run)                                                                     \
    X(ctl)                                                                     \
    X(status)                                                                  \
    X(check)                                                                   \
    X(validate)                                                                \
    X(compare)                                                                 \
    X(rerun)                                                                   \
    X(sweep)                                                                   \
    X(inspect)                                                                 \
    X(connections)                                                             \
    X(plot)                                                                    \
    X(monitor)                                                                 \
    X(new)                                                                     \
    X(import)                                                                  \
    X(resolve)                                                                 \
    X(schema)                                                                  \
    X(model)                                                                   \
    X(doc)                                                                     \
    X(plugins)                                                                 \
    X(conformance)                                                             \
    X(bench)

#define TOOL_DECLARE(name) extern const tool_command cmd_##name;
TOOL_COMMANDS(TOOL_DECLARE)
#undef TOOL_DECLARE

#endif
