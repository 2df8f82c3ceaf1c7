/* SPDX-License-Identifier: Apache-2.0
 * What stands in a CUtensorMap for simt: tensors of 2-byte elements.
 */
#ifndef VLY_SIMT_TENSOR_H
#define VLY_SIMT_TENSOR_H

#include <stdint.h>

typedef struct simt_tensor {
    const uint16_t *first;
    uint64_t dim[4];    /* dimension, position, head, batch */
    uint64_t stride[3]; /* elements, of the last three */
    uint32_t rows;      /* of a box of 64 columns */
} simt_tensor;

#endif
