/* SPDX-License-Identifier: Apache-2.0
 * Neurons whose constant current should make them fire, and which never do in
 * single precision.
 */
#ifndef VOLLEY_GENOME_GENOME_STALL_H
#define VOLLEY_GENOME_GENOME_STALL_H

#include "genome/genome_reader.h"

/* Adds a note for each area that has such neurons, after the stimuli are read.
 */
vly_status vly_stall_notes(vly_reader *reader);

#endif
