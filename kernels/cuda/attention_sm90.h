/* SPDX-License-Identifier: Apache-2.0
 * Launcher of the sm_90a attention kernel. Tensor maps are made by the caller:
 * there is no link to libcuda here.
 */
#ifndef VLY_ATTENTION_SM90_H
#define VLY_ATTENTION_SM90_H

#include <cuda.h>

#include "attention_kernels.h"

#ifdef __cplusplus
extern "C" {
#endif

enum { VLY_SM90_ROWS = 128 };

/* Of elements (dimension, position, head, batch), boxes of 64 x rows x 1 x 1,
 * swizzled by 128 bytes; rows: VLY_SM90_ROWS for Q, the keys of a tile for K
 * and V. What is behind the tensor reads as zeros. */
typedef struct vly_sm90_maps {
    CUtensorMap q;
    CUtensorMap k;
    CUtensorMap v;
} vly_sm90_maps;

typedef struct vly_sm90_grid {
    uint32_t *marks;   /* [n_tiles]: row blocks to be done again; NULL without
                        lengths */
    uint32_t n_tiles;  /* n_blocks * batch * heads_q */
    uint32_t n_blocks; /* row blocks of a head */
    uint32_t section;  /* heads whose keys and values fit L2 together */
    uint32_t reserved;
} vly_sm90_grid;

/* fp16 and bf16, dim = dim_v of 64, 128 or 256, neither packed nor paged. */
int vly_attention_sm90(const vly_attention_args *args,
                       const vly_sm90_grid *grid, const vly_sm90_maps *maps,
                       uint32_t n_sms, void *stream);
/* Keys of a tile. */
uint32_t vly_attention_sm90_keys(uint32_t dim);

#ifdef __cplusplus
}
#endif
#endif
