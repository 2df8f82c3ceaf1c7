/* SPDX-License-Identifier: Apache-2.0
 * Rows of the synapses onto this rank's neurons: see cuda_own_rows.h.
 */
#include "cuda_own_rows.h"

#include <string.h>

#include "backends/common/common_ranks.h"
#include "cuda_memory.h"
#include "cuda_net.h"

/* ---- rows --------------------------------------------------------------- */

vly_status vly_cuda_own_rows_create(vly_cuda_shard *shard,
                                    const vly_projection_desc *map,
                                    uint32_t n_sources, vly_cuda_own_rows *rows,
                                    vly_error *error)
{
    const vly_cuda_view *view = &shard->view;
    uint64_t *made = NULL;
    vly_status status = VLY_OK;
    *rows = (vly_cuda_own_rows){
        .map = map, .n_sources = n_sources, .row = map->row};
    if (!vly_common_ranks(shard->net->desc))
        return VLY_OK;
    VLY_TRY(vly_cuda_alloc(shard, 2 * (uint64_t)n_sources + 1, sizeof *made,
                           &made, error));
    for (uint32_t k = 0; k < n_sources; k++) {
        uint64_t *low = made + n_sources + 1 + k;
        uint64_t high;
        vly_common_row_piece(map, k, view->own_first,
                             view->own_first + view->n_own, low, &high);
        made[k + 1] = made[k] + (high - *low);
    }
    rows->made = made;
    rows->row = made;
out:
    return status;
}

void vly_cuda_own_rows_release(vly_cuda_shard *shard, vly_cuda_own_rows *rows)
{
    vly_cuda_release(shard, rows->made);
    *rows = (vly_cuda_own_rows){.row = NULL};
}

uint32_t vly_cuda_own_parts(const vly_cuda_own_rows *rows)
{
    const uint64_t mean =
        rows->n_sources > 0 ? vly_cuda_own_synapses(rows) / rows->n_sources : 0;
    return (uint32_t)(mean / 32 + 1);
}

/* ---- arrays ------------------------------------------------------------- */

/* Where row k's piece begins in the rows of the projection. */
static uint64_t place(const vly_cuda_own_rows *rows, uint32_t k)
{
    return rows->made[rows->n_sources + 1 + k];
}

static void pack(const vly_cuda_own_rows *rows, uint64_t size,
                 const uint8_t *from, uint8_t *to)
{
    for (uint32_t k = 0; k < rows->n_sources; k++) {
        const uint64_t n = rows->row[k + 1] - rows->row[k];
        if (n > 0)
            memcpy(to + rows->row[k] * size, from + place(rows, k) * size,
                   n * size);
    }
}

vly_status vly_cuda_own_put(vly_cuda_shard *shard,
                            const vly_cuda_own_rows *rows, uint64_t size,
                            const void *from, void *out, vly_error *error)
{
    const uint64_t n = vly_cuda_own_synapses(rows);
    uint8_t *packed = NULL;
    vly_status status = VLY_OK;
    if (!rows->made)
        return vly_cuda_put(shard, n, size, from, out, error);
    VLY_TRY(vly_cuda_alloc(shard, n, size, &packed, error));
    pack(rows, size, from, packed);
    status = vly_cuda_put(shard, n, size, packed, out, error);
out:
    vly_cuda_release(shard, packed);
    return status;
}

vly_status vly_cuda_own_get(vly_cuda_shard *shard,
                            const vly_cuda_own_rows *rows, const int32_t *from,
                            int32_t *to, vly_error *error)
{
    const uint64_t n = vly_cuda_own_synapses(rows);
    int32_t *packed = NULL;
    vly_status status = VLY_OK;
    if (n == 0)
        return VLY_OK;
    VLY_TRY(vly_cuda_alloc(shard, n, sizeof *packed, &packed, error));
    VLY_TRY(vly_cuda_download(shard, packed, from, n * sizeof *to, error));
    for (uint32_t k = 0; k < rows->n_sources; k++) {
        const uint64_t begin = rows->row[k];
        const uint64_t length = rows->row[k + 1] - begin;
        if (length > 0)
            memcpy(to + place(rows, k), packed + begin, length * sizeof *to);
    }
out:
    vly_cuda_release(shard, packed);
    return status;
}

/* The values of row k's piece, if they are among those written. */
static void write_row(const vly_cuda_own_rows *rows, uint32_t k, uint64_t first,
                      uint64_t count, const int32_t *from, int32_t *packed)
{
    const uint64_t at = place(rows, k);
    const uint64_t end = at + (rows->row[k + 1] - rows->row[k]);
    const uint64_t low = at > first ? at : first;
    const uint64_t high = end < first + count ? end : first + count;
    if (low < high)
        memcpy(packed + rows->row[k] + (low - at), from + (low - first),
               (high - low) * sizeof *packed);
}

vly_status vly_cuda_own_write(vly_cuda_shard *shard,
                              const vly_cuda_own_rows *rows, uint64_t first,
                              uint64_t count, const int32_t *from, int32_t *to,
                              vly_error *error)
{
    const uint64_t n = vly_cuda_own_synapses(rows);
    int32_t *packed = NULL;
    vly_status status = VLY_OK;
    if (n == 0 || count == 0)
        return VLY_OK;
    VLY_TRY(vly_cuda_alloc(shard, n, sizeof *packed, &packed, error));
    VLY_TRY(vly_cuda_download(shard, packed, to, n * sizeof *to, error));
    for (uint32_t k = 0; k < rows->n_sources; k++)
        write_row(rows, k, first, count, from, packed);
    VLY_TRY(vly_cuda_upload(shard, to, packed, n * sizeof *to, error));
out:
    vly_cuda_release(shard, packed);
    return status;
}
