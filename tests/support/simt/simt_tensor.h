/* SPDX-License-Identifier: Apache-2.0
 * What stands in a CUtensorMap for simt: tensors of elements of 1 or 2 bytes.
 */
#ifndef VLY_SIMT_TENSOR_H
#define VLY_SIMT_TENSOR_H

#include <stdint.h>

typedef struct simt_tensor {
    const void *first;
    uint64_t dim[4];    /* dimension, position, head, batch */
    uint64_t stride[3]; /* elements, of the last three */
    uint32_t rows;      /* of a box of 128 bytes */
    uint32_t size;      /* of an element */
} simt_tensor;

#endif
