/* SPDX-License-Identifier: Apache-2.0
 * Tensor maps of a run, for the kernels of compute capability 9.0.
 */
#ifndef VLY_ATTENTION_MAPS_H
#define VLY_ATTENTION_MAPS_H

#include <stdbool.h>

#include <cuda.h>

#include "attention_cuda.h"

/* true: the driver makes tensor maps. */
bool vly_attention_maps_there(void);
/* Map of a tensor of heads x seq of desc->dim elements of desc->type, boxes of
 * 128 bytes x rows, swizzled; positions after seq read as zeros. */
vly_status vly_attention_make_map(CUtensorMap *map,
                                  const vly_attention_desc *desc,
                                  const void *tensor,
                                  const vly_attention_layout *layout,
                                  uint32_t heads, uint32_t seq, uint32_t rows,
                                  vly_error *error);

#endif
