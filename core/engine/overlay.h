/* SPDX-License-Identifier: Apache-2.0
 * Parameters of areas, stimuli and plasticity rules that were changed since the
 * connectome was made, as given. It does not refer to a connectome, so that a
 * state may outlive its net.
 */
#ifndef VOLLEY_ENGINE_OVERLAY_H
#define VOLLEY_ENGINE_OVERLAY_H

#include <stdbool.h>
#include <stdint.h>

#include "connectome/connectome.h"

typedef struct vly_overlay_stimulus {
    double rate_hz;
    double weight;
    double mean;
    double sd;
} vly_overlay_stimulus;

typedef struct vly_overlay {
    uint32_t n_areas;
    uint32_t n_params; /* over all areas */
    uint32_t n_stimuli;
    uint32_t *first;   /* [n_areas + 1] first parameter of an area */
    double **values;   /* [n_params] NULL: as in the connectome */
    uint32_t *n_value; /* [n_params] 1 or neurons of the area */
    vly_overlay_stimulus *stimuli; /* [n_stimuli] */
    uint32_t n_learned;            /* over all projections that learn */
    double *learned; /* [n_learned] of each such projection: the parameters
                      * of its rule, then 1 if it is frozen, otherwise 0 */
} vly_overlay;

/* Reserves room for this many; empty. Errors E_NOMEM */
vly_status vly_overlay_alloc(uint32_t n_areas, uint32_t n_params,
                             uint32_t n_stimuli, vly_overlay **overlay,
                             vly_error *error);
/* Adds room for the values of plasticity rules; all 0. Errors E_NOMEM */
vly_status vly_overlay_learned_alloc(vly_overlay *overlay, uint32_t n_learned,
                                     vly_error *error);
/* Values of one projection in `learned`; 0: it does not learn. */
uint32_t vly_learned_values(const vly_connectome *connectome,
                            uint32_t projection);
/* Of all projections. */
uint32_t vly_learned_values_all(const vly_connectome *connectome);
/* What vly_learned_values counts, as in the connectome. */
void vly_learned_given(const vly_connectome *connectome, uint32_t projection,
                       double *values);
/* Nothing changed. */
vly_status vly_overlay_create(const vly_connectome *connectome,
                              vly_overlay **overlay, vly_error *error);
vly_status vly_overlay_copy(const vly_overlay *overlay, vly_overlay **copy,
                            vly_error *error);
void vly_overlay_destroy(vly_overlay *overlay);

/* values [n], n = 1 or the neurons of the area; unchecked. Does not change
 * anything on failure. */
vly_status vly_overlay_set(vly_overlay *overlay, uint32_t area, uint32_t param,
                           const double *values, uint32_t n, vly_error *error);
bool vly_overlay_area_changed(const vly_overlay *overlay, uint32_t area);
bool vly_overlay_stimulus_changed(const vly_overlay *overlay,
                                  const vly_connectome *connectome,
                                  uint32_t stimulus);
/* params [n_params of the area's model], borrowed from both */
void vly_overlay_params(const vly_overlay *overlay,
                        const vly_connectome *connectome, uint32_t area,
                        vly_param_column *params);
/* The stimulus with its current parameters. */
vly_connectome_stimulus
vly_overlay_stimulus_now(const vly_overlay *overlay,
                         const vly_connectome *connectome, uint32_t stimulus);

#endif
