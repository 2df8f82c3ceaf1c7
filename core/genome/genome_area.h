/* SPDX-License-Identifier: Apache-2.0
 * [model.NAME] and [area.NAME].
 */
#ifndef VOLLEY_GENOME_GENOME_AREA_H
#define VOLLEY_GENOME_GENOME_AREA_H

#include "genome/genome_reader.h"

/* Checks every [model], used or not. */
vly_status vly_models_read(vly_reader *reader);
/* Fills genome->areas in the order of the file. */
vly_status vly_areas_read(vly_reader *reader);
void vly_area_deinit(vly_area *area);

/* Leaves out areas of 0 neurons, their stimuli and records (genome_drop.c). */
vly_status vly_areas_drop(vly_reader *reader);

#endif
