/* SPDX-License-Identifier: Apache-2.0
 * Positions of the neurons of two areas, and the neurons of one area near a
 * neuron of the other: kernel, mask and periodic edges of rule distance. A grid
 * of buckets makes the cost proportional to the neurons in reach, not to all
 * pairs.
 */
#ifndef VOLLEY_CONNECTOME_NEAR_NEURONS_H
#define VOLLEY_CONNECTOME_NEAR_NEURONS_H

#include "connectome/connectome_work.h"
#include "genome/genome_space.h"

typedef struct vly_near {
    const vly_genome *genome;
    const vly_pair *pair;
    const vly_space *space;
    bool backwards; /* a target seeks sources */
    bool no_self;   /* equal ends, and a neuron may not connect to itself */
    const uint32_t *own; /* [n_seek] the neuron that each must not find, or
                          * UINT32_MAX; NULL: each may find all */
    uint32_t n_seek;     /* neurons that search */
    uint32_t n_found;
    uint32_t room;     /* largest number of candidates of one neuron */
    double (*seek)[3]; /* their positions; owned */
    double (*found)[3];
    double reach_lo[3]; /* box of found - seek that can pass */
    double reach_hi[3];
    double origin[3]; /* of the grid */
    double edge[3];   /* of a bucket */
    uint32_t n_buckets[3];
    uint32_t *start; /* [buckets + 1] into order; owned */
    uint32_t *order; /* [n_found] ids, ascending in a bucket; owned */
} vly_near;

/* Neurons that may not connect to themselves: all of equal ends, or those of
 * the arrays, which are borrowed (vly_shared). */
typedef struct vly_near_own {
    bool same;
    const uint32_t *target;
    const uint32_t *source;
} vly_near_own;

/* Errors  E_PARSE a position out of range; E_NOMEM */
vly_status vly_near_create(vly_near **near, const vly_genome *genome,
                           const vly_pair *pair, const vly_near_own *own,
                           vly_error *error);
void vly_near_destroy(vly_near *near);

/* The neurons in reach of a neuron with a kernel above 0, each as id << 32 |
 * word. With Bernoulli, a draw connects if it is not above the word; otherwise
 * word + 1 is the kernel relative to its largest value, in units of 2^-32.
 * Unordered. Room for near->room. */
uint32_t vly_near_list(const vly_near *near, uint32_t seeker, uint64_t *list);

/* |target - source| by periodic edges; of a pool, by their places in it */
double vly_near_distance(const vly_near *near, uint32_t source,
                         uint32_t target);

#endif
