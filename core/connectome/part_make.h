/* SPDX-License-Identifier: Apache-2.0
 * A part of a connectome while it is built: what a rank does that owns only
 * some of the neurons.
 *
 * A synapse draws its values by its number in the whole map. So a rank needs,
 * for each source, the number of synapses that come before its own. It also
 * needs some extremes of the whole. Both it either gets from the other ranks,
 * or it repeats their draws without storing them.
 */
#ifndef VOLLEY_CONNECTOME_PART_MAKE_H
#define VOLLEY_CONNECTOME_PART_MAKE_H

#include "connectome/connectome_make.h"

typedef struct vly_rank_part {
    const vly_ranks *ranks;
    uint32_t first; /* own neurons are [first, last) */
    uint32_t last;
    vly_storage work; /* what is needed until the build ends */
    uint64_t tag;     /* of the next gather */
} vly_rank_part;

/* part_init.c: of part->ranks.
 * Errors  E_INVALID the cut; E_UNSUPPORTED what every rank must have whole */
vly_status vly_part_init(vly_rank_part *part, const vly_genome *genome,
                         vly_error *error);
/* The share of an area's neurons that are own. */
double vly_part_share(const vly_rank_part *part, const vly_area *area);
/* The own neurons of an area, as indices in it. */
void vly_part_of_area(const vly_rank_part *part, const vly_area *area,
                      uint32_t *first, uint32_t *last);

/* part_rows.c: rows, place and total of a pair, or of the n pairs of a pool.
 * Errors  as vly_rule_init, vly_rows_build, vly_distance_values */
vly_status vly_part_rows(vly_maker *maker, vly_made_pair *made, uint32_t n);

/* part_words.c: words[i] = the word that own synapse first + i of the pair
 * draws, i < n. */
void vly_part_words(const vly_made_pair *made, const vly_draws *draws,
                    uint64_t first, uint32_t n, uint32_t *words);
/* places[i] = the number in the whole pair of own synapse first + i */
void vly_part_places(const vly_made_pair *made, uint64_t first, uint32_t n,
                     uint64_t *places);

/* part_whole.c: what ranks tell each other, or repeat. */

/* Adds what the other ranks have of each source: before [n_from] gets the
 * synapses of lower ranks, made->total those of all.
 * Errors  E_INVALID a rank has another network; of gather */
vly_status vly_part_count(vly_maker *maker, vly_made_pair *made,
                          uint32_t *before);

/* The largest value that a table draws over the words of the whole pair. own:
 * that of the own synapses.
 * Errors  of gather */
vly_status vly_part_largest(vly_maker *maker, const vly_made_pair *made,
                            const vly_draws *draws, const vly_discrete *table,
                            uint32_t own, uint32_t *largest);
/* part_split.c: longest [VLY_SPLIT_PARTS] of a wide pair: 1 + the longest delay
 * (above base_delay) of the synapses of each part, 0 without any. Those of the
 * own synapses become those of all.
 * Errors  E_NOMEM; of gather */
vly_status vly_part_split(vly_maker *maker, const vly_made_pair *made,
                          uint64_t *longest);
/* Of each of the n values the largest of all ranks.
 * Errors  of gather */
vly_status vly_part_gather_largest(vly_maker *maker, uint64_t *values,
                                   uint32_t n);
/* The loads of all neurons, of which each rank knows the own: so that all ranks
 * take or refuse the same inputs while the net runs.
 * Errors  E_INVALID a rank has another network; of gather */
vly_status vly_part_loads(vly_maker *maker);
/* *most, the largest input of an own neuron of an area, becomes that of any, as
 * far as it is above 2^30; *at, the first neuron of the area with it, too.
 * others_most: no other neuron gets more.
 * Errors  E_UNSUPPORTED the inputs of the others are not known; of gather */
vly_status vly_part_most(vly_maker *maker, uint32_t area, uint64_t others_most,
                         uint64_t *most, uint32_t *at);
/* facts[n] of a neuron of an area become those of the rank that owns it; a rank
 * alone keeps its own.
 * Errors  of gather */
vly_status vly_part_facts(vly_maker *maker, uint32_t area, uint32_t neuron,
                          uint64_t *facts, uint32_t n);

/* part_hash.c: connectome->hash becomes that of the whole, for which all ranks
 * give each other their synapses once.
 * Errors  E_INVALID a rank has another network; E_NOMEM; of gather */
vly_status vly_part_hash(vly_maker *maker, vly_connectome *connectome);

#endif
