/* SPDX-License-Identifier: Apache-2.0
 * Input of the host, sent with the launch that needs it, in one copy. No thread
 * waits for that copy.
 */
#include "cuda_input.h"

#include "cuda_error.h"
#include "cuda_memory.h"
#include "cuda_net.h"

_Static_assert(sizeof(vly_cuda_input) == 4 * VLY_COMMON_INPUT_WORDS &&
                   offsetof(vly_cuda_input, value) == 8,
               "an input is what vly_common_inputs_write writes");

static vly_status reserve(vly_cuda_shard *shard, uint64_t n_words,
                          vly_error *error)
{
    vly_cuda_inputs *inputs = &shard->inputs;
    uint64_t room = 2 * n_words;
    uint32_t *words = NULL;
    uint32_t *words_at = NULL;
    if (n_words <= inputs->room)
        return VLY_OK;
    vly_status status =
        vly_cuda_device_alloc(shard, room, sizeof *words, &words, error);
    if (status == VLY_OK) {
        status = vly_cuda_pinned_alloc(shard, room, sizeof *words_at, &words_at,
                                       error);
        if (status != VLY_OK)
            vly_cuda_device_release(shard, words);
    }
    if (status != VLY_OK)
        return status;
    vly_cuda_device_release(shard, inputs->words);
    vly_cuda_device_release(shard, inputs->words_at);
    *inputs = (vly_cuda_inputs){words, words_at, room};
    return VLY_OK;
}

uint64_t vly_cuda_inputs_find(const vly_run *run, uint64_t *from,
                              const vly_cuda_launch *launch)
{
    return vly_common_inputs_find(run, launch->burst, launch->n_bursts, from);
}

vly_status vly_cuda_inputs_send(vly_cuda_shard *shard, const vly_run *run,
                                uint64_t *from, vly_cuda_launch *launch,
                                vly_error *error)
{
    uint64_t n = vly_cuda_inputs_find(run, from, launch);
    launch->input_row = NULL;
    if (n == 0)
        return VLY_OK;
    vly_status status = vly_common_inputs_check(n, error);
    /* a multiple of an input, so that the first is aligned like the
     * allocation */
    uint64_t row_words = vly_common_input_rows(launch->n_bursts);
    uint64_t n_words = row_words + n * VLY_COMMON_INPUT_WORDS;
    if (status == VLY_OK)
        status = reserve(shard, n_words, error);
    if (status != VLY_OK)
        return status;
    vly_common_inputs_write(shard->net->desc, run->inputs + *from, n,
                            launch->burst, launch->n_bursts,
                            shard->inputs.words_at);
    cudaError_t code = cudaMemcpyAsync(
        shard->inputs.words, shard->inputs.words_at, n_words * sizeof(uint32_t),
        cudaMemcpyHostToDevice, (cudaStream_t)shard->stream);
    launch->input_row = shard->inputs.words;
    launch->inputs =
        (const vly_cuda_input *)(const void *)(shard->inputs.words + row_words);
    return vly_cuda_check((int)code, "sending inputs", error);
}
