/* SPDX-License-Identifier: Apache-2.0
 * The digest of a connectome: a sum over its synapses, neurons and records, so
 * that parts can be computed separately, in any order and on any machine, and
 * then added. FORMAT.md defines each term.
 */
#ifndef VOLLEY_CONNECTOME_CONNECTOME_DIGEST_H
#define VOLLEY_CONNECTOME_CONNECTOME_DIGEST_H

#include <stdint.h>

#include "base/random.h"
#include "connectome/connectome.h"

/* The weight of a synapse in units of 2^-q of the target's port, independent of
 * its storage type. Code that must not depend on the storage type reads weights
 * only here. */
static inline int64_t
vly_projection_weight(const vly_projection_desc *projection, uint64_t synapse)
{
    return vly_weight_at(projection, synapse) *
           (INT64_C(1) << projection->shift);
}

/* Bursts from a spike to its event. */
static inline uint32_t
vly_projection_delay(const vly_projection_desc *projection, uint64_t synapse)
{
    return projection->base_delay +
           (projection->delay ? projection->delay[synapse] : 0u);
}

/* The digest of the whole connectome; of a part that a rank built, its share,
 * unless the whole is known. Computed on the first call, then stored in the
 * connectome.
 * n_threads  0: all cores; the digest never depends on it
 * Thread     [any-thread] the first caller computes it, others wait
 * Cost       2 to 3 ns a synapse of one thread; no allocation, unless one
 * source has more than 64 synapses to one target */
vly_hash vly_connectome_digest(const vly_connectome *connectome,
                               uint32_t n_threads);
/* Of a part: its digest is from now on that of the whole. */
void vly_connectome_digest_know(vly_connectome *connectome, vly_hash digest);

/* The part of the digest for neurons [first, last): their columns, the synapses
 * that end at them, and the records whose first neuron is one of them. The sum
 * over parts that cut [0, n_neurons) is the digest. */
vly_hash vly_connectome_digest_part(const vly_connectome *connectome,
                                    uint32_t first, uint32_t last,
                                    uint32_t n_threads);
vly_hash vly_digest_add(vly_hash a, vly_hash b);

#endif
