/* SPDX-License-Identifier: Apache-2.0
 * Plasticity of FEAGI's mappings as [plasticity] tables of rule feagi_stdp.
 */
#ifndef VOLLEY_TOOLS_FEAGI_PLASTIC_H
#define VOLLEY_TOOLS_FEAGI_PLASTIC_H

#include "base/text.h"
#include "tools/feagi/feagi_genome.h"

/* The values of a rule that have to do with plasticity; NULL: not given. */
typedef struct feagi_plastic_values {
    const feagi_value *flag;
    const feagi_value *constant;
    const feagi_value *ltp;
    const feagi_value *ltd;
    const feagi_value *window;
    const feagi_value *frozen;
} feagi_plastic_values;

/* What a plastic rule says. where: of messages; subject: of the report. out is
 * untouched if the rule is not plastic, or cannot be taken over.
 * Errors  E_PARSE; E_NOMEM */
vly_status feagi_plastic_read(feagi_genome *genome, const char *where,
                              const char *subject,
                              const feagi_plastic_values *from,
                              feagi_plastic *out, vly_error *error);
/* The last plastic rule of a pair of areas drives all synapses of the pair:
 * those of the maps from `first` on. */
vly_status feagi_plastic_share(feagi_genome *genome, uint32_t first,
                               const feagi_plastic *last, const char *subject,
                               vly_error *error);
/* A number for each different table, from 1. */
void feagi_plastic_number(feagi_genome *genome);
/* The tables of all maps; and the key of a map. */
void feagi_plastic_tables(vly_text *text, const feagi_genome *genome);
void feagi_plastic_key(vly_text *text, const feagi_map *map);

#endif
