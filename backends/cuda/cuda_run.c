/* SPDX-License-Identifier: Apache-2.0
 * A run: launches of many bursts each, and what is read after each of them.
 * A launch is as long as is done in LAUNCH_NS, so that a stop is seen soon.
 */
#include "cuda_net.h"

#include <string.h>

#define FIRST_BURSTS 64u      /* before a launch has been timed */
#define LAUNCH_NS 50000000.0f /* 50 ms */

/* ---- checks ------------------------------------------------------------ */

static vly_status check_inputs(const vly_backend_net *net, const vly_run *run,
                               vly_error *error)
{
    const vly_net_desc *desc = net->desc;
    for (uint64_t i = 0; i < run->n_inputs; i++) {
        const vly_input *input = &run->inputs[i];
        if (i > 0 && input->burst < run->inputs[i - 1].burst)
            return vly_cuda_fail(
                error, VLY_E_INVALID, "input %llu: burst %llu after burst %llu",
                (unsigned long long)i, (unsigned long long)input->burst,
                (unsigned long long)run->inputs[i - 1].burst);
        if (input->neuron >= desc->n_neurons ||
            input->port >=
                vly_cuda_area_desc(desc, vly_cuda_area_of(desc, input->neuron))
                    ->n_ports)
            return vly_cuda_fail(error, VLY_E_INVALID,
                                 "input %llu: neuron %u, port %u; there are "
                                 "%u neurons",
                                 (unsigned long long)i, input->neuron,
                                 input->port, desc->n_neurons);
    }
    return VLY_OK;
}

static vly_status check_run(const vly_backend_net *net, const vly_run *run,
                            vly_error *error)
{
    if (net->failed != VLY_OK)
        return vly_cuda_fail(error, net->failed,
                             "an earlier run of this net failed; it can only "
                             "be destroyed");
    if (run->struct_size < sizeof *run)
        return vly_cuda_fail(error, VLY_E_INVALID,
                             "run: struct_size is %u, wanted %u",
                             run->struct_size, (uint32_t)sizeof *run);
    if ((run->flags & VLY_RUN_RECORD) != 0 &&
        (run->spikes == NULL || run->spikes_capacity < net->desc->n_neurons))
        return vly_cuda_fail(error, VLY_E_INVALID,
                             "run: room for %llu spikes, wanted at least one "
                             "for each of %u neurons",
                             (unsigned long long)run->spikes_capacity,
                             net->desc->n_neurons);
    return check_inputs(net, run, error);
}

/* ---- input of the host ------------------------------------------------- */

static vly_status reserve_inputs(vly_backend_net *net, uint64_t n,
                                 vly_error *error)
{
    vly_status status = VLY_OK;
    if (net->input_row == NULL)
        status = vly_cuda_device_alloc(net, VLY_CUDA_LAUNCH_BURSTS + 1,
                                       sizeof *net->input_row, &net->input_row,
                                       error);
    if (status == VLY_OK && net->input_row_at == NULL)
        status = vly_cuda_alloc(net, VLY_CUDA_LAUNCH_BURSTS + 1,
                                sizeof *net->input_row_at, &net->input_row_at,
                                error);
    if (status != VLY_OK || n <= net->inputs_room)
        return status;
    uint64_t room = 2 * n;
    vly_cuda_input *device = NULL;
    vly_cuda_input *host = NULL;
    status = vly_cuda_device_alloc(net, room, sizeof *device, &device, error);
    if (status == VLY_OK) {
        status = vly_cuda_alloc(net, room, sizeof *host, &host, error);
        if (status != VLY_OK)
            vly_cuda_device_release(net, device);
    }
    if (status != VLY_OK)
        return status;
    vly_cuda_device_release(net, net->inputs);
    vly_cuda_release(net, net->inputs_at);
    net->inputs = device;
    net->inputs_at = host;
    net->inputs_room = room;
    return VLY_OK;
}

/* The inputs of the bursts of a launch; *from is moved to the first of them.
 */
static vly_status send_inputs(vly_backend_net *net, const vly_run *run,
                              uint64_t *from, vly_cuda_launch *launch,
                              vly_error *error)
{
    const vly_net_desc *desc = net->desc;
    uint64_t end_burst = launch->burst + launch->n_bursts;
    while (*from < run->n_inputs && run->inputs[*from].burst < launch->burst)
        (*from)++;
    uint64_t n = 0;
    while (*from + n < run->n_inputs &&
           run->inputs[*from + n].burst < end_burst)
        n++;
    launch->input_row = NULL;
    if (n == 0)
        return VLY_OK;
    if (n > UINT32_MAX)
        return vly_cuda_fail(error, VLY_E_UNSUPPORTED,
                             "run: %llu inputs in one launch",
                             (unsigned long long)n);
    vly_status status = reserve_inputs(net, n, error);
    if (status != VLY_OK)
        return status;
    uint32_t at = 0;
    for (uint32_t k = 0; k < launch->n_bursts; k++) {
        net->input_row_at[k] = at;
        for (; at < n && run->inputs[*from + at].burst == launch->burst + k;
             at++) {
            const vly_input *input = &run->inputs[*from + at];
            uint32_t a = vly_cuda_area_of(desc, input->neuron);
            net->inputs_at[at] = (vly_cuda_input){
                input->neuron, input->port, input->value, net->areas[a].feagi};
        }
    }
    net->input_row_at[launch->n_bursts] = at;
    status = vly_cuda_upload(net, net->inputs, net->inputs_at,
                             n * sizeof *net->inputs, error);
    if (status == VLY_OK)
        status =
            vly_cuda_upload(net, net->input_row, net->input_row_at,
                            (launch->n_bursts + 1) * sizeof(uint32_t), error);
    launch->inputs = net->inputs;
    launch->input_row = net->input_row;
    return status;
}

/* ---- one launch -------------------------------------------------------- */

static vly_status clear_records(vly_backend_net *net, uint32_t n_bursts,
                                vly_error *error)
{
    cudaStream_t stream = (cudaStream_t)net->stream;
    uint32_t at = (uint32_t)net->burst & net->view.record_mask;
    uint32_t room = net->view.record_mask - at + 1;
    uint32_t first = n_bursts < room ? n_bursts : room;
    cudaError_t code = cudaMemsetAsync(
        net->view.records + at, 0, first * sizeof *net->view.records, stream);
    if (code == cudaSuccess && first < n_bursts)
        code = cudaMemsetAsync(net->view.records, 0,
                               (n_bursts - first) * sizeof *net->view.records,
                               stream);
    if (code == cudaSuccess)
        code = cudaMemsetAsync(net->done, 0, sizeof *net->done, stream);
    return vly_cuda_check((int)code, "clearing records", error);
}

static vly_status launch_bursts(vly_backend_net *net, vly_cuda_launch *launch,
                                vly_cuda_done *done, float *ms,
                                vly_error *error)
{
    cudaStream_t stream = (cudaStream_t)net->stream;
    if (net->fault) /* an address that is nobody's */
        launch->done = (vly_cuda_done *)(uintptr_t)64;
    vly_status status = clear_records(net, launch->n_bursts, error);
    if (status != VLY_OK)
        return status;
    cudaError_t code = cudaEventRecord((cudaEvent_t)net->events[0], stream);
    if (code == cudaSuccess && net->is_resident)
        code = (cudaError_t)vly_cuda_resident_launch(net, launch);
    else if (code == cudaSuccess)
        code =
            vly_cuda_launch_global(&net->view, launch, net->n_blocks, stream);
    if (code == cudaSuccess)
        code = cudaEventRecord((cudaEvent_t)net->events[1], stream);
    if (code == cudaSuccess)
        code = cudaMemcpyAsync(net->done_at, net->done, sizeof *done,
                               cudaMemcpyDeviceToHost, stream);
    if (code == cudaSuccess)
        code = (cudaError_t)vly_cuda_history_fetch(
            net, launch->burst, launch->n_bursts, net->records);
    if (code == cudaSuccess)
        code = cudaStreamSynchronize(stream);
    *done = *net->done_at;
    if (code == cudaSuccess)
        code = cudaEventElapsedTime(ms, (cudaEvent_t)net->events[0],
                                    (cudaEvent_t)net->events[1]);
    return vly_cuda_check((int)code, "running bursts", error);
}

static void choose_length(vly_backend_net *net, uint32_t n_bursts, float ms)
{
    if (net->launch_fixed != 0)
        return;
    float wanted = LAUNCH_NS / (ms * 1e6f / (float)n_bursts + 1.0f);
    net->launch_bursts = wanted < (float)VLY_CUDA_LAUNCH_BURSTS
                             ? (uint32_t)wanted + 1
                             : VLY_CUDA_LAUNCH_BURSTS;
}

static void share_time(const vly_cuda_done *done, float ms, vly_run *run)
{
    float total = (float)(done->cycles[0] + done->cycles[1] + done->cycles[2]);
    float ns = total > 0.0f ? ms * 1e6f / total : 0.0f;
    run->delivery_ns += (uint64_t)(ns * (float)done->cycles[0]);
    run->dynamics_ns += (uint64_t)(ns * (float)done->cycles[1]);
    run->exchange_ns += (uint64_t)(ns * (float)done->cycles[2]);
}

/* Reads what the bursts of a launch have left. */
static vly_status drain(vly_backend_net *net, uint32_t n_bursts, vly_run *run,
                        vly_error *error)
{
    uint64_t n_spikes = 0;
    for (uint32_t i = 0; i < n_bursts; i++) {
        const vly_cuda_record *record = &net->records[i];
        n_spikes += record->count;
        if (run->digests != NULL)
            run->digests[run->n_bursts_done + i] = record->digest;
        if (run->spike_counts != NULL)
            run->spike_counts[run->n_bursts_done + i] = record->count;
    }
    net->mean_spikes = (float)n_spikes / (float)n_bursts;
    if ((run->flags & VLY_RUN_RECORD) == 0)
        return VLY_OK;
    uint32_t *gains = run->spike_gains;
    vly_status status = vly_cuda_history_read(
        net, net->burst, n_bursts, n_spikes, run->spikes + run->n_spikes,
        gains != NULL ? gains + run->n_spikes : NULL, error);
    run->n_spikes += n_spikes;
    return status;
}

/* *more: 0 if the record is full */
static vly_status run_launch(vly_backend_net *net, vly_run *run,
                             uint64_t *input_from, int *more, vly_error *error)
{
    uint64_t left = run->n_bursts - run->n_bursts_done;
    int record = (run->flags & VLY_RUN_RECORD) != 0;
    vly_cuda_launch launch = {
        .burst = net->burst,
        .head = net->head,
        .head_limit = record ? net->head + run->spikes_capacity - run->n_spikes
                             : UINT64_MAX,
        .n_bursts =
            left < net->launch_bursts ? (uint32_t)left : net->launch_bursts,
        .keep = (uint32_t)record,
        .done = net->done,
    };
    *more =
        !record || run->spikes_capacity - run->n_spikes >= net->desc->n_neurons;
    if (!*more)
        return VLY_OK;
    if (run->stop != NULL && __atomic_load_n(run->stop, __ATOMIC_RELAXED) != 0)
        launch.n_bursts = 1;
    vly_cuda_done done = {0};
    float ms = 0.0f;
    vly_status status = send_inputs(net, run, input_from, &launch, error);
    if (status == VLY_OK)
        status = launch_bursts(net, &launch, &done, &ms, error);
    if (status != VLY_OK)
        return status;
    uint64_t time = vly_cuda_host->clock_ns(vly_cuda_host->context);
    if (done.n_bursts == 0) {
        uint64_t oldest = net->burst > net->desc->max_delay
                              ? net->burst - net->desc->max_delay
                              : 0;
        return vly_cuda_history_reserve(net, oldest, net->desc->n_neurons,
                                        error);
    }
    choose_length(net, done.n_bursts, ms);
    share_time(&done, ms, run);
    run->n_events += done.n_events;
    run->n_candidates += done.n_candidates;
    status = drain(net, done.n_bursts, run, error);
    net->burst += done.n_bursts;
    net->head = done.head;
    run->n_bursts_done += done.n_bursts;
    run->drain_ns += vly_cuda_host->clock_ns(vly_cuda_host->context) - time;
    return status;
}

vly_status vly_cuda_net_run(vly_backend_net *net, vly_run *run,
                            vly_error *error)
{
    vly_status status = check_run(net, run, error);
    if (status == VLY_OK)
        status = vly_cuda_enter(net->device, error);
    if (status != VLY_OK)
        return status;
    uint64_t input_from = 0;
    int more = 1;
    run->n_bursts_done = 0;
    run->n_spikes = 0;
    run->n_events = 0;
    run->n_candidates = 0;
    if (net->launch_bursts == 0)
        net->launch_bursts = FIRST_BURSTS;
    if (net->launch_fixed != 0)
        net->launch_bursts = net->launch_fixed < VLY_CUDA_LAUNCH_BURSTS
                                 ? net->launch_fixed
                                 : VLY_CUDA_LAUNCH_BURSTS;
    while (status == VLY_OK && more && run->n_bursts_done < run->n_bursts) {
        status = run_launch(net, run, &input_from, &more, error);
        if (run->stop != NULL && run->n_bursts_done > 0 &&
            __atomic_load_n(run->stop, __ATOMIC_RELAXED) != 0)
            break;
    }
    net->failed = status;
    return status;
}
