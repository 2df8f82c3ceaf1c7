/* SPDX-License-Identifier: Apache-2.0
 * The file of synapses that a random genome names, as SONATA edges.
 */
#ifndef VOLLEY_RANDOM_SONATA_H
#define VOLLEY_RANDOM_SONATA_H

#include <stdbool.h>

#include "genome/genome.h"

/* Writes what the comma-separated text says to path, in the same order. */
bool random_sonata_write(const char *text, double dt_ms, const char *path);

/* Whether both say the same: weights of SONATA are float. */
bool random_sonata_same(const vly_edge_list *text, const vly_edge_list *sonata);

#endif
