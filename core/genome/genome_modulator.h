/* SPDX-License-Identifier: Apache-2.0
 * The key `modulator` of a [plasticity.NAME].
 */
#ifndef VOLLEY_GENOME_GENOME_MODULATOR_H
#define VOLLEY_GENOME_GENOME_MODULATOR_H

#include "genome/genome_reader.h"
#include "genome/genome_resolve.h"

/* Refuses the key beside a rule without a modulator. */
vly_status vly_modulator_refuse(vly_reader *reader, const vly_toml_node *node,
                                const vly_plasticity *of);
/* Reads the area whose spikes raise the modulator; its parameters are read.
 * Refuses times that do not fit dt_ms. */
vly_status vly_modulator_read(vly_reader *reader, const vly_toml_node *table,
                              vly_plasticity *to);
/* The key as TOML; nothing without it. */
void vly_modulator_resolve(vly_text *text, const vly_reader *reader,
                           const vly_plasticity *of, const vly_origin *origin);

#endif
