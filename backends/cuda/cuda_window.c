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

/* On the device a neuron has two words: its run, and its last burst. */
static vly_status put_side(vly_cuda_shard *shard, const vly_common_window *from,
                           int side, uint32_t burst, vly_cuda_learning *l,
                           uint32_t *youngest, vly_error *error)
{
    uint64_t n = from->n[side];
    uint32_t *words = NULL;
    vly_status status = VLY_OK;
    VLY_TRY(vly_cuda_alloc(shard, n, 2 * sizeof *words, &words, error));
    *youngest = VLY_COMMON_AGE_NEVER;
    for (uint64_t i = 0; i < n; i++) {
        uint32_t age = burst - from->last[side][i];
        words[2 * i] = from->run[side][i];
        words[2 * i + 1] = from->last[side][i];
        if (from->run[side][i] != 0 && age < *youngest)
            *youngest = age;
    }
    VLY_TRY(vly_cuda_device_alloc(shard, n, 2 * sizeof *words, &l->runs[side],
                                  error));
    if (n > 0)
        VLY_TRY(vly_cuda_upload(shard, l->runs[side], words,
                                n * 2 * sizeof *words, error));
out:
    vly_cuda_release(shard, words);
    return status;
}

vly_status vly_cuda_window_put(vly_cuda_shard *shard,
                               const vly_common_window *from, uint32_t burst,
                               vly_cuda_learning *l, vly_error *error)
{
    uint32_t recent[2];
    vly_status status = VLY_OK;
    l->window = from->bursts;
    for (int side = 0; side < 2; side++) {
        uint32_t youngest = 0;
        VLY_TRY(put_side(shard, from, side, burst, l, &youngest, error));
        recent[side] = burst - youngest;
    }
    VLY_TRY(vly_cuda_device_alloc(shard, 2, sizeof *recent, &l->recent, error));
    VLY_TRY(vly_cuda_upload(shard, l->recent, recent, sizeof recent, error));
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
        uint32_t *words = NULL;
        status = vly_cuda_alloc(shard, n, 2 * sizeof *words, &words, error);
        if (status == VLY_OK && n > 0)
            status = vly_cuda_download(shard, words, l->runs[side],
                                       n * 2 * sizeof *words, error);
        for (uint64_t i = 0; i < n && status == VLY_OK; i++) {
            to->run[side][i] = words[2 * i];
            to->last[side][i] = words[2 * i + 1];
        }
        vly_cuda_release(shard, words);
    }
    return status;
}
