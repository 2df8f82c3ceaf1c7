/* SPDX-License-Identifier: Apache-2.0
 * Effects of single precision on an area at a small dt_ms.
 */
#ifndef VOLLEY_GENOME_GENOME_STEP_H
#define VOLLEY_GENOME_GENOME_STEP_H

#include "genome/genome_reader.h"

/* Adds a note if dt_ms is so small relative to the area's time constants that
 * single precision changes results by more than 0.1%. node: the area's. */
vly_status vly_step_note(vly_reader *reader, const vly_toml_node *node,
                         const vly_area *area);

#endif
