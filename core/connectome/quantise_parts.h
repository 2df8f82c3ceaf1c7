/* SPDX-License-Identifier: Apache-2.0
 * What the files of quantise share: the plan of a port's unit 2^-q, and the
 * refusal of weights that it would make 0.
 */
#ifndef VOLLEY_CONNECTOME_QUANTISE_PARTS_H
#define VOLLEY_CONNECTOME_QUANTISE_PARTS_H

#include "connectome/connectome_make.h"

typedef struct vly_port_plan {
    int32_t q;
    bool used;
    bool refined;    /* maps have units of their own */
    char cause[200]; /* the item that limits q */
} vly_port_plan;

static inline bool vly_pair_uses(const vly_made_pair *made, uint32_t area,
                                 uint32_t port)
{
    return made->pair->to == area && (made->port == port || made->by_sign);
}

static inline double vly_law_extreme(const vly_law *law)
{
    double low = law->lo < 0.0 ? -law->lo : law->lo;
    double high = law->hi < 0.0 ? -law->hi : law->hi;
    return low > high ? law->lo : law->hi;
}

/* ---- quantise_zero.c ---------------------------------------------------- */

/* Errors  E_PARSE with the place of the map and this text */
vly_status vly_pair_fail(vly_maker *maker, const vly_made_pair *made,
                         const char *text);
/* Refuse a weight of the port's maps or stimuli, of one map onto a FEAGI area
 * or of a port's stimuli, that would become 0 in its unit.
 * Errors  E_PARSE */
vly_status vly_zeros_check(vly_maker *maker, uint32_t area, uint32_t port,
                           const vly_port_plan *plan);
vly_status vly_zero_check_feagi(vly_maker *maker, const vly_made_pair *made);
vly_status vly_zero_check_stimuli(vly_maker *maker, uint32_t area,
                                  uint32_t port, const vly_port_plan *plan);

#endif
