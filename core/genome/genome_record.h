/* SPDX-License-Identifier: Apache-2.0
 * [[record]].
 */
#ifndef VOLLEY_GENOME_GENOME_RECORD_H
#define VOLLEY_GENOME_GENOME_RECORD_H

#include "genome/genome_end.h"
#include "genome/genome_reader.h"
#include "genome/genome_resolve.h"

/* All [[record]]: areas, neurons and fields exist. */
vly_status vly_records_read(vly_reader *reader);
void vly_records_free(vly_genome *genome);
/* Each with every value, in the order of the file. */
void vly_records_resolve(vly_text *text, const vly_genome *genome);

/* interval_ms or interval_bursts of a [[record]]; by default 1 ms. */
vly_status vly_record_interval(vly_reader *reader, const vly_toml_node *node,
                               uint64_t *interval);

/* ---- genome_record_from.c ---------------------------------------------- */

/* The ends of from: of each area one, whole or with its parts, which ascend.
 * means: of an area no two parts. */
vly_status vly_record_ends(vly_reader *reader, const vly_toml_node *node,
                           bool means, vly_end_list *list);

/* ---- genome_record_input.c: what = "input" ------------------------------ */

/* Gives each of the areas its model with sums of what arrives.
 * Errors  E_PARSE it cannot have them */
vly_status vly_record_models(vly_reader *reader, const vly_toml_node *node,
                             const vly_area_list *areas);
/* The areas run these models from now on. Everything else was read with the
 * models as they are written. */
vly_status vly_recorded_models_take(vly_reader *reader);

/* ---- genome_record_weights.c: what = "weights" ------------------------- */

vly_status vly_weight_record_read(vly_reader *reader,
                                  const vly_toml_node *node);
void vly_weight_records_free(vly_genome *genome);
void vly_weight_records_resolve(vly_text *text, const vly_genome *genome);

#endif
