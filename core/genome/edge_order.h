/* SPDX-License-Identifier: Apache-2.0
 * The order of a list of synapses: by source, then target, then place.
 */
#ifndef VOLLEY_GENOME_EDGE_ORDER_H
#define VOLLEY_GENOME_EDGE_ORDER_H

#include <stdbool.h>
#include <stdint.h>

/* A synapse in order: its target and where it was; then its weight, which takes
 * the same memory. */
typedef union vly_edge_slot {
    struct {
        uint32_t target;
        uint32_t index;
    } end;
    double weight;
} vly_edge_slot;
_Static_assert(sizeof(vly_edge_slot) == sizeof(double), "one block for both");

/* Fills slots [n] with ends in order. *row: [n_sources] where the synapses of
 * each source end; owned by the caller. Ids are in range.
 * Returns  false without memory */
bool vly_edge_order(const uint32_t *source, const uint32_t *target, uint64_t n,
                    uint32_t n_sources, uint32_t n_targets,
                    vly_edge_slot *slots, uint64_t **row);

#endif
