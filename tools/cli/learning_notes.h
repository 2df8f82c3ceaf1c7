/* SPDX-License-Identifier: Apache-2.0
 * Maps that learn, for people: how, and what rounding does to the changes of
 * their weights.
 */
#ifndef VOLLEY_TOOLS_LEARNING_NOTES_H
#define VOLLEY_TOOLS_LEARNING_NOTES_H

#include <volley/volley.h>

/* A table of [plasticity]; nothing without any. */
void learning_print(const vly_genome *genome);
/* Notes on stderr: changes by single spikes that rounding to 2^-16 of the unit
 * brings off by more than 1%, or to 0; 20 at most. */
void learning_notes(const vly_genome *genome, const vly_connectome *connectome);

#endif
