/* SPDX-License-Identifier: Apache-2.0
 * What rounding to the units of a connectome does to weights, for people: notes
 * where it is more than 1%, in the summary and JSON too; the worst of all.
 */
#ifndef VOLLEY_TOOLS_WEIGHT_NOTES_H
#define VOLLEY_TOOLS_WEIGHT_NOTES_H

#include "connectome/connectome.h"
#include "genome/genome.h"
#include "tools/cli/json_writer.h"

/* Notes on stderr, a line a map or stimulus, 20 at most. */
void weight_notes(const vly_genome *genome, const vly_connectome *connectome);
/* A line of the summary; none where nothing was noted. */
void weight_notes_print(const vly_genome *genome,
                        const vly_connectome *connectome);
/* "coarse_weights": an array, empty where nothing was noted. */
void weight_notes_json(const vly_genome *genome,
                       const vly_connectome *connectome, json_writer *json);
/* "rounding" of `check`: the worst of a constant, of a mean, of a weight that a
 * file gives. */
void weight_worst_print(const vly_genome *genome,
                        const vly_connectome *connectome);

#endif
