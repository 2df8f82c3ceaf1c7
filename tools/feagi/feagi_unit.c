/* SPDX-License-Identifier: Apache-2.0
 * Two properties changed their units between the older engine and feagi-core,
 * and files of all formats carry both:
 *
 *   neuron_excitability   percent, then a share of 1
 *   leak_coefficient      potential a burst, then a share of the potential
 *
 * Format 2.0 was the older engine's, 2.1 and 3.0 are feagi-core's; genomes that
 * ship with feagi-core as 2.0 and 2.1 have values of the older engine. So a
 * leak of 2.0 is potential if any of the file's values can only be the older
 * engine's; of 2.1 and 3.0 it is a share, and above 1, where it can be none,
 * potential that was carried over. Excitability of a 2.x file is percent if any
 * area has more than 1; 3.0 knows no percent. Source: see feagi_property.c.
 */
#include <stdio.h>
#include <string.h>

#include "tools/feagi/feagi_genome.h"

static bool any_above_one(const feagi_genome *genome, uint32_t slot)
{
    for (uint32_t i = 0; i < genome->n_areas; i++) {
        const feagi_value *value = genome->areas[i].values[slot];
        if (value && value->kind == FEAGI_NUMBER && value->number > 1)
            return true;
    }
    return false;
}

void feagi_units_choose(feagi_genome *genome)
{
    feagi_units *units = &genome->units;
    const bool large_leak = any_above_one(genome, FEAGI_LEAK);
    const bool large_excitability = any_above_one(genome, FEAGI_EXCITABILITY);
    const bool two = genome->version[0] == '2';
    const bool older = strcmp(genome->version, "2.0") == 0;
    units->percent = two && large_excitability;
    snprintf(units->excitability_why, sizeof(units->excitability_why),
             "format %s, %s", genome->version,
             !two                 ? "which has no percent"
             : large_excitability ? "an area has more than 1"
                                  : "no area has more than 1");
    units->potential = older && (large_leak || units->percent);
    snprintf(units->leak_why, sizeof(units->leak_why), "format %s, %s",
             genome->version,
             large_leak && older ? "an area has more than 1"
             : large_leak        ? "more than 1 is of the older engine"
             : units->potential  ? "excitability in percent"
                                 : "no area has more than 1");
}
