/* SPDX-License-Identifier: Apache-2.0
 * What rounding to the units of a connectome does to weights, and to rates, for
 * people: notes where it is more than 1% (a constant or a rate: 0.1%), in the
 * summary and JSON too; the worst of all weights.
 */
#ifndef VOLLEY_TOOLS_WEIGHT_NOTES_H
#define VOLLEY_TOOLS_WEIGHT_NOTES_H

#include "connectome/connectome.h"
#include "genome/genome.h"
#include "tools/cli/json_writer.h"

/* Notes on stderr, a line a map or stimulus, 20 at most. */
void weight_notes(const vly_genome *genome, const vly_connectome *connectome);
/* A line of the summary for weights and one for rates; none where nothing was
 * noted. */
void weight_notes_print(const vly_genome *genome,
                        const vly_connectome *connectome);
/* "coarse_rates" and "coarse_weights": arrays, empty where nothing was noted.
 */
void weight_notes_json(const vly_genome *genome,
                       const vly_connectome *connectome, json_writer *json);
/* "rounding" of `check`: the worst of a constant, of a mean, of a weight that a
 * file gives. */
void weight_worst_print(const vly_genome *genome,
                        const vly_connectome *connectome);

#endif
