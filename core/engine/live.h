/* SPDX-License-Identifier: Apache-2.0
 * Parameters in force while a net runs, over those of the shared connectome,
 * which is read-only: coefficients, stimulus tables, and the largest input of
 * each neuron. The same struct holds the values in force (NULL: as in the
 * connectome) and a change to them (NULL: unchanged). A change is made,
 * checked, written to the backend and only then committed, so a failure before
 * that changes nothing.
 */
#ifndef VOLLEY_ENGINE_LIVE_H
#define VOLLEY_ENGINE_LIVE_H

#include <stdbool.h>
#include <stdint.h>

#include "engine/overlay.h"

typedef struct vly_live {
    uint32_t n_areas;
    uint32_t n_stimuli;         /* of the desc */
    vly_overlay *overlay;       /* owned */
    vly_column **columns;       /* [n_areas] of vly_coefs_make */
    vly_stimulus_desc *stimuli; /* [n_stimuli] where stimulus_made */
    uint8_t *stimulus_made;     /* [n_stimuli] */
    uint32_t **load; /* [VLY_PORTS_MAX n_areas] as vly_connectome_area.load */
    uint32_t n_projections;
    vly_learning_desc **learning;     /* [n_projections] with their coefs in the
                                       * same piece of memory */
    vly_short_term_desc **short_term; /* the same of short-term plasticity */
} vly_live;

vly_status vly_live_init(vly_live *live, const vly_connectome *connectome,
                         vly_error *error);
void vly_live_deinit(vly_live *live);

/* First burst after `burst` at which a dc stimulus starts or stops. */
uint64_t vly_live_dc_next(const vly_connectome *connectome, uint64_t burst);
bool vly_live_has_dc(const vly_connectome *connectome, uint32_t area);

/* Adds to a change the columns of an area, made from the overlay's parameters
 * and the dc of this burst. */
vly_status vly_live_make_columns(vly_live *change,
                                 const vly_connectome *connectome,
                                 const vly_overlay *overlay, uint32_t area,
                                 uint64_t burst, vly_error *error);
/* The table of one poisson or normal stimulus (index in the connectome). */
vly_status vly_live_make_stimulus(vly_live *change,
                                  const vly_connectome *connectome,
                                  const vly_overlay *overlay, uint32_t stimulus,
                                  vly_error *error);
/* The coefficients of a projection that learns or has short-term plasticity,
 * from its values in the overlay (`learned` of the projection). */
vly_status vly_live_make_learning(vly_live *change,
                                  const vly_connectome *connectome,
                                  const double *learned, uint32_t projection,
                                  vly_error *error);
/* All differences of the overlay from the connectome, and all dc: for a new net
 * of a backend. */
vly_status vly_live_make_all(vly_live *change, const vly_connectome *connectome,
                             const vly_overlay *overlay, uint64_t burst,
                             vly_error *error);

/* The load of the targets of a FEAGI area whose gains change. Adds it to the
 * change. */
vly_status vly_live_make_load(vly_live *change, const vly_live *now,
                              const vly_connectome *connectome, uint32_t area,
                              vly_error *error);
/* Whether the change has a load of the area. */
bool vly_live_loads(const vly_live *change, uint32_t area);
/* Load and stimuli of the area together, with the figures of the change's
 * overlay: at most 2^30 a neuron and port. */
vly_status vly_live_check(const vly_live *change, const vly_live *now,
                          const vly_connectome *connectome, uint32_t area,
                          vly_error *error);

/* The value that a spike of a list adds, in units of the port, with the current
 * weight. Errors E_INVALID it rounds to 0 or does not fit. */
vly_status vly_live_spike_value(const vly_connectome *connectome,
                                const vly_connectome_stimulus *stimulus,
                                int32_t *value, vly_error *error);

/* Writes the differences to a net of the backend. On failure the written values
 * are restored; *lost is set if that failed too. */
vly_status vly_live_apply(const vly_live *change, const vly_live *now,
                          const vly_connectome *connectome,
                          const vly_backend *backend, vly_backend_net *net,
                          bool *lost, vly_error *error);
/* Moves the change into now; the change is empty then. */
void vly_live_commit(vly_live *change, vly_live *now);

/* Columns, rule and stimulus of the desc that are in force. */
const vly_column *vly_live_columns(const vly_live *live,
                                   const vly_connectome *connectome,
                                   uint32_t area);
const vly_learning_desc *vly_live_learning(const vly_live *live,
                                           const vly_connectome *connectome,
                                           uint32_t projection);
const vly_short_term_desc *vly_live_short_term(const vly_live *live,
                                               const vly_connectome *connectome,
                                               uint32_t projection);
const vly_stimulus_desc *vly_live_stimulus(const vly_live *live,
                                           const vly_connectome *connectome,
                                           uint32_t index);

#endif
