/* SPDX-License-Identifier: Apache-2.0
 * Maps that learn by a rule of windows: the runs of their neurons, to the
 * device and back. The kernels are in kernels/cuda/learning_window.cuh.
 */
#include "cuda_window.h"

#include <assert.h>

#include "cuda_memory.h"

static_assert((uint32_t)VLY_CUDA_LEARNING_WINDOW ==
                  (uint32_t)VLY_LEARNING_WINDOW,
              "flag of the ABI");

static vly_status put_side(vly_cuda_shard *shard, const vly_common_window *from,
                           int side, uint32_t burst, vly_cuda_learning *l,
                           uint32_t *recent, vly_error *error)
{
    uint64_t n = from->n[side];
    uint32_t *pairs = NULL;
    vly_status status = VLY_OK;
    VLY_TRY(vly_cuda_alloc(shard, n, 2 * sizeof *pairs, &pairs, error));
    *recent = vly_common_window_pack(from, side, burst, pairs);
    status =
        vly_cuda_put(shard, n, 2 * sizeof *pairs, pairs, &l->runs[side], error);
out:
    vly_cuda_release(shard, pairs);
    return status;
}

vly_status vly_cuda_window_put(vly_cuda_shard *shard,
                               const vly_common_window *from, uint32_t burst,
                               vly_cuda_learning *l, vly_error *error)
{
    uint32_t recent[2];
    vly_status status = VLY_OK;
    l->window = from->bursts;
    for (int side = 0; side < 2; side++)
        VLY_TRY(put_side(shard, from, side, burst, l, &recent[side], error));
    VLY_TRY(vly_cuda_put(shard, 2, sizeof *recent, recent, &l->recent, error));
out:
    return status;
}

vly_status vly_cuda_window_get(vly_cuda_shard *shard,
                               const vly_cuda_learning *l,
                               vly_common_window *to, vly_error *error)
{
    vly_status status = VLY_OK;
    for (int side = 0; side < 2 && status == VLY_OK; side++) {
        uint64_t n = to->n[side];
        uint32_t *pairs = NULL;
        status = vly_cuda_alloc(shard, n, 2 * sizeof *pairs, &pairs, error);
        if (status == VLY_OK && n > 0)
            status = vly_cuda_download(shard, pairs, l->runs[side],
                                       n * 2 * sizeof *pairs, error);
        if (status == VLY_OK)
            vly_common_window_unpack(to, side, pairs);
        vly_cuda_release(shard, pairs);
    }
    return status;
}
