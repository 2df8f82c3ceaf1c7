/* SPDX-License-Identifier: Apache-2.0
 * The modulator of a projection whose synapses have an eligibility: a trace
 * that spikes of an area and values of the host change.
 */
#ifndef VOLLEY_COMMON_MODULATOR_H
#define VOLLEY_COMMON_MODULATOR_H

#include "backend_common.h"

#define VLY_COMMON_MODULATOR_WORDS 2u

typedef struct vly_common_modulator {
    float value;  /* after its last change */
    uint32_t age; /* of that in the burst to come; UINT32_MAX: it is 0 */
} vly_common_modulator;

/* From and to the last words of the projection in a snapshot. */
void vly_common_modulator_load(vly_common_modulator *m, const uint32_t *words);
void vly_common_modulator_save(const vly_common_modulator *m, uint32_t *words);
/* d in the burst to come. */
float vly_common_modulator_at(const vly_common_modulator *m,
                              const vly_learning_desc *learning);
/* Whether synapses change in this burst. */
bool vly_common_modulator_due(const vly_learning_desc *learning,
                              uint64_t burst);
/* The end of a burst, in which the area had n_spikes. given: NULL: the host
 * gave none. coefs: those in force. */
void vly_common_modulator_end(vly_common_modulator *m,
                              const vly_learning_desc *learning,
                              const uint32_t *coefs, uint32_t n_spikes,
                              const vly_input *given);
/* The value that a run gives to a projection in a burst; NULL: none. */
const vly_input *vly_common_modulation(const vly_run *run, uint64_t burst,
                                       uint32_t projection);
/* The *n values that a run gives for bursts [burst, burst + n_bursts). */
const vly_input *vly_common_modulations(const vly_run *run, uint64_t burst,
                                        uint64_t n_bursts, uint64_t *n);
/* Whether the values of a run are for modulators of the net, within bounds and
 * sorted. */
vly_status vly_common_modulations_check(const vly_net_desc *desc,
                                        const vly_run *run, vly_error *error);

#endif
