/* SPDX-License-Identifier: Apache-2.0
 * Results of launches, in memory that is cleared for many launches at once.
 */
#include "cuda_done.h"

#include "cuda_error.h"
#include "cuda_memory.h"
#include "cuda_shard.h"

vly_status vly_cuda_done_create(vly_cuda_shard *shard, vly_error *error)
{
    vly_cuda_view *view = &shard->view;
    vly_status status = VLY_OK;
    VLY_TRY(vly_cuda_device_alloc(shard, VLY_CUDA_DONES, sizeof *shard->dones,
                                  &shard->dones, error));
    VLY_TRY(vly_cuda_pinned_alloc(shard, 1, sizeof *shard->done_at,
                                  &shard->done_at, error));
out:
    shard->done = shard->dones;
    if (status == VLY_OK)
        view->barrier = &shard->done->barrier;
    return status;
}

vly_status vly_cuda_done_next(vly_cuda_shard *shard, vly_error *error)
{
    uint32_t turn = (uint32_t)(shard->done - shard->dones) + 1;
    cudaError_t code = cudaSuccess;
    if (turn == VLY_CUDA_DONES) {
        turn = 0;
        code = cudaMemsetAsync(shard->dones, 0,
                               VLY_CUDA_DONES * sizeof *shard->dones,
                               (cudaStream_t)shard->stream);
    }
    shard->done = shard->dones + turn;
    shard->view.barrier = &shard->done->barrier;
    return vly_cuda_check((int)code, "clearing records", error);
}
