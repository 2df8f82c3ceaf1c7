/* SPDX-License-Identifier: Apache-2.0
 * Options of volley plot.
 */
#include "tools/plot/plot_options.h"

#include <stddef.h>

const tool_option plot_options[] = {
    {"output", 'o', false, TOOL_TEXT, "FILE",
     "FILE.png or FILE.svg; default: KIND.png", 0, 0},
    {"area", 0, true, TOOL_TEXT, "NAME", "this area only; may be repeated", 0,
     0},
    {"neuron", 0, true, TOOL_COUNT, "N",
     "traces: this neuron only; may be repeated", 0, 4294967295.0},
    {"field", 0, false, TOOL_TEXT, "NAME", "traces: the field", 0, 0},
    {"map", 0, false, TOOL_TEXT, "NAME", "weights: the map", 0, 0},
    {"from", 0, false, TOOL_NUMBER, "MS", "model time to begin at", 0, 1e15},
    {"to", 0, false, TOOL_NUMBER, "MS", "model time to end at", 0, 1e15},
    {"bin", 0, false, TOOL_NUMBER, "MS", "rate: width of a bin; default: 5",
     1e-6, 1e12},
    {"frames", 0, false, TOOL_COUNT, "N",
     "voxels: number of time windows, one map "
     "each",
     1, 100000},
    {"value", 0, false, TOOL_CHOICE, "[in_degree|synapses|probability]",
     "matrix: what is shown; default: in_degree", 0, 0},
    {"genome", 0, false, TOOL_TEXT, "FILE",
     "areas of a recording that is not in the folder of a run", 0, 0},
    {"set", 0, true, TOOL_TEXT, "PATH=VALUE", "matrix: change the genome", 0,
     0},
    {"seed", 0, false, TOOL_COUNT, "N", "matrix: all three seeds", 0, 9e18},
    {"title", 0, false, TOOL_TEXT, "TEXT", "default: the genome's", 0, 0},
    {"width", 0, false, TOOL_NUMBER, "INCHES", "default: 7; matrix: 5.2", 1,
     100},
    {"height", 0, false, TOOL_NUMBER, "INCHES",
     "default: 4.5; more for many traces", 1, 100},
    {"dpi", 0, false, TOOL_NUMBER, "N", "dots an inch; default: 200", 36, 2400},
    {"threads", 0, false, TOOL_COUNT, "N", "host threads; default: all cores",
     1, 1024},
    {NULL, 0, false, TOOL_FLAG, NULL, NULL, 0, 0}};
