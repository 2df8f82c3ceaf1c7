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

/* Of elements (dimension, position, head, batch), boxes of 128 bytes x rows x
 * 1 x 1, swizzled by 128 bytes; rows: those of a block for Q, the keys of a
 * tile for K and V. Positions after the tensor read as zeros. */
typedef struct vly_sm90_maps {
    CUtensorMap q;
    CUtensorMap k;
    CUtensorMap v;
} vly_sm90_maps;

typedef struct vly_sm90_grid {
    uint32_t *marks;   /* [n_tiles]: row blocks to be computed again; NULL
                        * without lengths, not used for e4m3 */
    uint32_t *next;    /* [1]: counter of tiles, taken by the block that is
                        * ready; NULL: block b has b, b + blocks, ... */
    uint32_t n_tiles;  /* n_blocks * batch * heads_q */
    uint32_t n_blocks; /* row blocks of a head */
    uint32_t section;  /* heads whose keys and values fit L2 together */
    uint32_t config;   /* number of the variant */
} vly_sm90_grid;

/* One of several variants with the same results up to rounding; they differ in
 * speed. */
typedef struct vly_sm90_variant {
    uint32_t rows; /* of a block; 0: unknown variant */
    uint32_t keys; /* of a tile */
} vly_sm90_variant;

/* fp16, bf16 and e4m3, dim = dim_v of 64, 128 or 256, neither packed nor
 * paged. */
int vly_attention_sm90(const vly_attention_args *args,
                       const vly_sm90_grid *grid, const vly_sm90_maps *maps,
                       uint32_t n_sms, void *stream);
vly_sm90_variant vly_attention_sm90_variant(uint32_t type, uint32_t dim,
                                            uint32_t config);

#ifdef __cplusplus
}
#endif
#endif
