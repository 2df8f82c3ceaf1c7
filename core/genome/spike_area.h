/* SPDX-License-Identifier: Apache-2.0
 * The areas (of SONATA: populations) that a file of spikes names.
 */
#ifndef VOLLEY_GENOME_SPIKE_AREA_H
#define VOLLEY_GENOME_SPIKE_AREA_H

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"

#define VLY_SPIKE_AREAS_MAX 9u

typedef struct vly_spike_areas {
    char *names[VLY_SPIKE_AREAS_MAX]; /* [n] different ones, the first */
    uint32_t n;
} vly_spike_areas;

void vly_spike_areas_deinit(vly_spike_areas *areas);
/* A name that is there, or of which there is no room, is not added. */
vly_status vly_spike_areas_add(vly_spike_areas *areas, const char *name,
                               vly_error *error);
#define VLY_SPIKE_AREAS_TEXT 200
/* "E, I" or "E, I and others"; returns out */
const char *vly_spike_areas_text(const vly_spike_areas *areas,
                                 char out[VLY_SPIKE_AREAS_TEXT]);
/* Whether an area has this population: recordings write a . for each / of the
 * area's name, which HDF5 does not allow in names. */
bool vly_spike_population_is(const char *area, const char *population);

#endif
