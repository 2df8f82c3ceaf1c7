/* SPDX-License-Identifier: Apache-2.0
 * What rounding to the units of a connectome does to weights, and to rates, for
 * people: notes where it is more than 1% (a constant or a rate: 0.1%), in the
 * summary and JSON too; the worst of all weights.
 */
#ifndef VOLLEY_TOOLS_WEIGHT_NOTES_H
#define VOLLEY_TOOLS_WEIGHT_NOTES_H

#include <volley/volley.h>

#include "tools/cli/json_writer.h"

/* Notes on stderr, one line per map or stimulus, 20 at most, and those of
 * learning_notes. */
void weight_notes(const vly_genome *genome, const vly_connectome *connectome);
/* One line of the summary for weights and one for rates; no line without
 * notes. */
void weight_notes_print(const vly_genome *genome,
                        const vly_connectome *connectome);
/* "coarse_rates" and "coarse_weights": arrays, empty without notes.
 */
void weight_notes_json(const vly_genome *genome,
                       const vly_connectome *connectome, json_writer *json);
/* "rounding" of `check`: the largest error of a constant, a mean, or a weight
 * from a file. */
void weight_worst_print(const vly_genome *genome,
                        const vly_connectome *connectome);

#endif
