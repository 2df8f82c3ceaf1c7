/* SPDX-License-Identifier: Apache-2.0
 * The command line of volley plot, which is the same in a build without cairo:
 * a script gets exit code 3 there, not a message about an unknown option.
 */
#ifndef VOLLEY_TOOLS_PLOT_OPTIONS_H
#define VOLLEY_TOOLS_PLOT_OPTIONS_H

#include "tools/cli/options.h"

#define PLOT_ARGUMENTS                                                         \
    "raster|rate|histograms|voxels|traces|weights|matrix INPUT [options]"

extern const tool_option plot_options[];

#endif
