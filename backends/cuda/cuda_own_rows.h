/* SPDX-License-Identifier: Apache-2.0
 * The rows of a projection that a device has by itself, beside the store: those
 * of plasticity. Where ranks run the net, they are of the synapses onto this
 * rank's neurons, which are one piece of each row.
 */
#ifndef VOLLEY_CUDA_OWN_ROWS_H
#define VOLLEY_CUDA_OWN_ROWS_H

#include "cuda_base.h"

typedef struct vly_cuda_own_rows {
    const vly_projection_desc *map;
    uint32_t n_sources;
    const uint64_t *row; /* [n_sources + 1] on the device */
    uint64_t *made;      /* the same, then where each piece begins in the rows
                          * of map [n_sources]; NULL: all rows are whole */
} vly_cuda_own_rows;

vly_status vly_cuda_own_rows_create(vly_cuda_shard *shard,
                                    const vly_projection_desc *map,
                                    uint32_t n_sources, vly_cuda_own_rows *rows,
                                    vly_error *error);
void vly_cuda_own_rows_release(vly_cuda_shard *shard, vly_cuda_own_rows *rows);
static inline uint64_t vly_cuda_own_synapses(const vly_cuda_own_rows *rows)
{
    return rows->row[rows->n_sources];
}
/* Warps for a row: 32 synapses of a mean one are worth a warp. */
uint32_t vly_cuda_own_parts(const vly_cuda_own_rows *rows);
/* An array of all synapses of the projection, elements of `size` bytes: what
 * the rows have of it, on the device. */
vly_status vly_cuda_own_put(vly_cuda_shard *shard,
                            const vly_cuda_own_rows *rows, uint64_t size,
                            const void *from, void *out, vly_error *error);
/* With ranks. The way back from the device: 4 bytes a synapse into their places
 * in `to`. */
vly_status vly_cuda_own_get(vly_cuda_shard *shard,
                            const vly_cuda_own_rows *rows, const int32_t *from,
                            int32_t *to, vly_error *error);
/* With ranks. Writes `count` values, of the projection's synapses from `first`
 * on, where the rows have them on the device. */
vly_status vly_cuda_own_write(vly_cuda_shard *shard,
                              const vly_cuda_own_rows *rows, uint64_t first,
                              uint64_t count, const int32_t *from, int32_t *to,
                              vly_error *error);

#endif
