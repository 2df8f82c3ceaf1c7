/* SPDX-License-Identifier: Apache-2.0
 * Which neurons each of several ranks owns. Every rank computes the same cut by
 * itself: only whole numbers decide.
 */
#ifndef VOLLEY_CONNECTOME_RANKS_CUT_H
#define VOLLEY_CONNECTOME_RANKS_CUT_H

#include "connectome/connectome.h"

/* Within an area a rank begins at a multiple of so many neurons of the area:
 * one word of fired neurons has one owner. */
#define VLY_RANKS_BLOCK 64u

/* The neurons of an area are alike, so one number of incoming synapses counts
 * for each of them. Areas in the order of their ids. */
typedef struct vly_ranks_area {
    uint32_t n_neurons;
    uint32_t in_degree; /* mean */
} vly_ranks_area;

/* first [n_ranks + 1]: rank r owns neurons first[r] to first[r + 1] - 1, maybe
 * none; the costs of ranks are as equal as blocks allow. */
void vly_ranks_cut(const vly_ranks_area *areas, uint32_t n_areas,
                   uint32_t n_ranks, uint32_t *first);

/* The same with the expected in-degrees of a genome, or those of a connectome,
 * which must be a whole one. The two may cut differently.
 * Errors  E_INVALID no rank; E_NOMEM */
vly_status vly_ranks_cut_genome(const vly_genome *genome, uint32_t n_ranks,
                                uint32_t *first, vly_error *error);
vly_status vly_ranks_cut_connectome(const vly_connectome *connectome,
                                    uint32_t n_ranks, uint32_t *first,
                                    vly_error *error);

/* A cut at random blocks, for tests. */
void vly_ranks_cut_random(const vly_ranks_area *areas, uint32_t n_areas,
                          uint32_t n_ranks, uint64_t seed, uint32_t *first);

#endif
