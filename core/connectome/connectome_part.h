/* SPDX-License-Identifier: Apache-2.0
 * The part of a connectome that one of several ranks needs: all neurons, but
 * only the synapses onto its own ones.
 */
#ifndef VOLLEY_CONNECTOME_CONNECTOME_PART_H
#define VOLLEY_CONNECTOME_CONNECTOME_PART_H

#include "connectome/connectome.h"

/* Builds the part of ranks->rank: the same synapses to the bit that the whole
 * connectome has for its neurons. Rows are those of all sources; out-degrees,
 * units, delay_max, max_delay, roundings and n_synapses_whole are those of the
 * whole; n_synapses, weight_min and weight_max those of the own synapses. Loads
 * are those of all neurons, or without a gather of the own ones, the others 0.
 * hash is that of the whole, or without a gather 0. vly_connectome_digest gives
 * the part's share of the digest.
 *
 * ranks->gather  NULL: the rank builds alone. It repeats the draws of other
 *                ranks where it must, without storing them
 * Errors  as vly_connectome_build; E_INVALID a cut within an area that is not
 *         at a multiple of 64, another rank's network; E_UNSUPPORTED what
 *         cannot be built in parts, in one sentence: the caller builds the
 *         whole; of gather
 * Cost    memory: the neurons, the own synapses, 16 bytes a source of each map
 *         (8 of them only while it builds) and some 20 bytes more a source of
 *         one map; pools and rule distance: one map whole */
vly_status vly_connectome_build_part(const vly_genome *genome,
                                     const vly_ranks *ranks, uint32_t n_threads,
                                     vly_connectome **connectome,
                                     vly_error *error);

#endif
