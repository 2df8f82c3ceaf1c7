/* SPDX-License-Identifier: Apache-2.0
 * volley doc import: FEAGI's properties with what becomes of each, from the
 * table that the import itself uses.
 */
#include "tools/feagi/feagi_doc.h"

#include <string.h>

#include "tools/cli/tool.h"
#include "tools/feagi/feagi_genome.h"

/* Properties that are handled by code. */
static const char *becomes_of(uint32_t slot)
{
    switch (slot) {
    case FEAGI_BOUNDS_X:
        return "voxels";
    case FEAGI_PLACE_X:
        return "at";
    case FEAGI_MAPPINGS:
        return "[[map]]";
    case FEAGI_NAME:
        return "a comment";
    case FEAGI_GROUP:
        return "a comment; OPU: recorded";
    case FEAGI_PER_VOXEL:
        return "neurons_per_voxel";
    case FEAGI_EXCITABILITY:
        return "excitability, a share (in 2.x percent if an area has > 1)";
    case FEAGI_LEAK:
        return "leak_coefficient, a share (see below)";
    case FEAGI_CURRENT:
        return "postsynaptic_current, 0 to 255";
    default:
        return feagi_properties[slot].text;
    }
}

static void print_property(uint32_t slot)
{
    const feagi_property *property = &feagi_properties[slot];
    const char *what = "";
    switch (property->role) {
    case FEAGI_PARAM:
        what = property->text;
        break;
    case FEAGI_NEUTRAL:
        what = "not taken over";
        break;
    case FEAGI_NO_EFFECT:
        what = "no effect on spikes, left out";
        break;
    default:
        what = becomes_of(slot);
    }
    tool_print("  %-9s %-32s %s\n", property->gene ? property->gene : "-",
               property->name, what);
}

void feagi_doc_print(void)
{
    tool_print("\n  %-9s %-32s %s\n", "flat key", "of an area's object",
               "becomes");
    for (uint32_t slot = 0; slot < feagi_property_count(); slot++)
        if (slot == 0 || strcmp(feagi_properties[slot].name,
                                feagi_properties[slot - 1].name) != 0)
            print_property(slot);
    tool_print(
        "\nleak_coefficient is potential a burst where it is above 1, and in "
        "a file of 2.0\nalso elsewhere if an area has more than 1 or "
        "excitability is in percent. A value at\nor above the "
        "threshold becomes 1; a smaller one is not imported.\n");
}
