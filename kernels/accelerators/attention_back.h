/* SPDX-License-Identifier: Apache-2.0
 * Launcher of the sm_90a gradients of attention. Tensor maps are made by the
 * caller: there is no link to libcuda here.
 */
#ifndef VLY_ATTENTION_BACK_H
#define VLY_ATTENTION_BACK_H

#include <cuda.h>

#include "attention_kernels.h"

#ifdef __cplusplus
extern "C" {
#endif

enum { VLY_BACK_KEYS = 128 }; /* of a tile: a block's own */

/* Of elements (dimension, position, head, batch), boxes of 128 bytes x rows x
 * 1 x 1, swizzled by 128 bytes; rows: vly_attention_back_rows of Q and grad_o,
 * VLY_BACK_KEYS of K and V. Positions after the tensor read as zeros. */
typedef struct vly_back_maps {
    CUtensorMap q;
    CUtensorMap grad_o;
    CUtensorMap k;
    CUtensorMap v;
} vly_back_maps;

/* The work of a run and its memory; all memory is written before it is read. */
typedef struct vly_back_grid {
    float *lse;       /* [batch][heads_q][n_rows] log 2 of sums; +inf: no key */
    float *row_sum;   /* [batch][heads_q][n_rows] of grad_o * o */
    float *grad_q;    /* [batch][heads_q][n_rows * dim] in fragments */
    uint32_t *turns;  /* [1 + batch * heads_q * n_rows / rows]: the next tile,
                       * then the number of tiles that have added to grad_q of a
                       * block */
    uint32_t n_rows;  /* seq_q, up to a multiple of rows */
    uint32_t n_tiles; /* n_blocks * batch * heads_kv */
    uint32_t n_blocks; /* of VLY_BACK_KEYS keys, of a head */
    uint32_t section;  /* key heads whose queries fit L2 together */
    uint32_t ordered;  /* 1: grad_q is summed in a fixed order of the tiles, the
                        * same bits every time; 0: in any order */
    uint32_t reserved;
} vly_back_grid;

/* Queries of a tile; 0: no kernel for that dimension. */
uint32_t vly_attention_back_rows(uint32_t dim);
/* fp16 and bf16, results of the same type, dim = dim_v of 64 or 128; neither
 * packed nor paged nor with lengths. */
int vly_attention_back(const vly_attention_args *args,
                       const vly_back_grid *grid, const vly_back_maps *maps,
                       uint32_t n_sms, void *stream);
/* Kernels before and after it: row sums and memory that starts at 0; conversion
 * of grad_q. */
int vly_attention_back_begin(const vly_attention_args *args,
                             const vly_back_grid *grid, void *stream);
int vly_attention_back_end(const vly_attention_args *args,
                           const vly_back_grid *grid, void *stream);

#ifdef __cplusplus
}
#endif
#endif
