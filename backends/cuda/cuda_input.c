/* SPDX-License-Identifier: Apache-2.0
 * Input of the host, sent with the launch that needs it, in one copy that
 * nobody waits for.
 */
#include "cuda_net.h"

#define INPUT_WORDS ((uint32_t)(sizeof(vly_cuda_input) / sizeof(uint32_t)))

/* The area of a neuron; inputs of one area follow each other, mostly. */
static uint32_t input_area(const vly_backend_net *net, uint32_t last,
                           uint32_t neuron)
{
    const vly_cuda_area *area = &net->areas[last];
    return neuron - area->first < area->n ? last
                                          : vly_cuda_area_of(net->desc, neuron);
}

static vly_status reserve(vly_backend_net *net, uint64_t n_words,
                          vly_error *error)
{
    vly_cuda_inputs *inputs = &net->inputs;
    uint64_t room = 2 * n_words;
    uint32_t *words = NULL;
    uint32_t *words_at = NULL;
    if (n_words <= inputs->room)
        return VLY_OK;
    vly_status status =
        vly_cuda_device_alloc(net, room, sizeof *words, &words, error);
    if (status == VLY_OK) {
        status = vly_cuda_pinned_alloc(net, room, sizeof *words_at, &words_at,
                                       error);
        if (status != VLY_OK)
            vly_cuda_device_release(net, words);
    }
    if (status != VLY_OK)
        return status;
    vly_cuda_device_release(net, inputs->words);
    vly_cuda_device_release(net, inputs->words_at);
    *inputs = (vly_cuda_inputs){words, words_at, room};
    return VLY_OK;
}

/* Rows and inputs of n_bursts bursts into the block. */
static void fill(vly_backend_net *net, const vly_input *from, uint64_t n,
                 const vly_cuda_launch *launch, uint32_t row_words)
{
    uint32_t *row = net->inputs.words_at;
    vly_cuda_input *to = (vly_cuda_input *)(void *)(row + row_words);
    uint32_t area = 0;
    uint32_t at = 0;
    for (uint32_t k = 0; k < launch->n_bursts; k++) {
        row[k] = at;
        for (; at < n && from[at].burst == launch->burst + k; at++) {
            area = input_area(net, area, from[at].neuron);
            to[at] = (vly_cuda_input){from[at].neuron, from[at].port,
                                      from[at].value, net->areas[area].feagi};
        }
    }
    row[launch->n_bursts] = at;
}

uint64_t vly_cuda_inputs_find(const vly_run *run, uint64_t *from,
                              const vly_cuda_launch *launch)
{
    uint64_t end_burst = launch->burst + launch->n_bursts;
    while (*from < run->n_inputs && run->inputs[*from].burst < launch->burst)
        (*from)++;
    uint64_t n = run->n_inputs - *from;
    if (n > 0 && run->inputs[run->n_inputs - 1].burst < end_burst)
        return n; /* mostly */
    n = 0;
    while (*from + n < run->n_inputs &&
           run->inputs[*from + n].burst < end_burst)
        n++;
    return n;
}

vly_status vly_cuda_inputs_send(vly_backend_net *net, const vly_run *run,
                                uint64_t *from, vly_cuda_launch *launch,
                                vly_error *error)
{
    uint64_t n = vly_cuda_inputs_find(run, from, launch);
    launch->input_row = NULL;
    if (n == 0)
        return VLY_OK;
    if (n > UINT32_MAX)
        return vly_cuda_fail(error, VLY_E_UNSUPPORTED,
                             "run: %llu inputs in one launch",
                             (unsigned long long)n);
    /* whole inputs: the first is aligned like the block */
    uint32_t row_words = (launch->n_bursts / INPUT_WORDS + 1) * INPUT_WORDS;
    uint64_t n_words = row_words + n * INPUT_WORDS;
    vly_status status = reserve(net, n_words, error);
    if (status != VLY_OK)
        return status;
    fill(net, run->inputs + *from, n, launch, row_words);
    cudaError_t code = cudaMemcpyAsync(
        net->inputs.words, net->inputs.words_at, n_words * sizeof(uint32_t),
        cudaMemcpyHostToDevice, (cudaStream_t)net->stream);
    launch->input_row = net->inputs.words;
    launch->inputs =
        (const vly_cuda_input *)(const void *)(net->inputs.words + row_words);
    return vly_cuda_check((int)code, "sending inputs", error);
}
