/* SPDX-License-Identifier: Apache-2.0
 * Makes and frees the part of a net on one device.
 */
#include "cuda_shard.h"

#include <string.h>

#include "cuda_done.h"
#include "cuda_dynamics.h"
#include "cuda_error.h"
#include "cuda_history.h"
#include "cuda_linger.h"
#include "cuda_memory.h"
#include "cuda_net.h"
#include "cuda_options.h"
#include "cuda_plans.h"
#include "cuda_rules.h"
#include "cuda_splice.h"
#include "cuda_stimulus.h"

/* ---- sizes ------------------------------------------------------------- */

static void start_view(vly_cuda_shard *shard, const vly_net_desc *desc)
{
    vly_cuda_view *view = &shard->view;
    view->n_neurons = desc->n_neurons;
    view->n_areas = desc->n_areas;
    view->n_ports = vly_common_most_ports(desc);
    view->ring = vly_common_ring(desc);
    view->max_delay = desc->max_delay;
    view->key_low = (uint32_t)desc->seed_input;
    view->key_high = (uint32_t)(desc->seed_input >> 32);
    view->feagi_q = desc->feagi_q;
    view->model = VLY_CUDA_N_MODELS;
    view->program_coefs = vly_cuda_program_most_coefs(desc);
    uint32_t end;
    vly_common_ranks_own(desc, &view->own_first, &end);
    view->n_own = end - view->own_first;
}

/* The next burst waits for synapses of delay 1. In nets with such synapses,
 * rows in one piece were faster (microcircuit: 2.47 against 2.84 us a burst on
 * an H200); in nets without them, delivery during the exchange was faster
 * (Brunel's net, with an earlier kernel: 3.32 against 3.65). */
static uint32_t shortest_delay(const vly_net_desc *desc)
{
    uint32_t shortest = UINT32_MAX;
    for (uint32_t i = 0; i < desc->n_projections; i++) {
        uint32_t delay = vly_cuda_projection_desc(desc, i)->base_delay;
        shortest = delay < shortest ? delay : shortest;
    }
    return shortest;
}

/* Number of concurrent blocks: one for each multiprocessor. */
static vly_status choose_blocks(vly_cuda_shard *shard, vly_error *error)
{
    uint32_t wanted = shard->net->wanted.n_blocks;
    int fit = 0;
    int units = 0;
    vly_status status = VLY_OK;
    VLY_TRY(vly_cuda_check((int)vly_cuda_global_occupancy(&shard->view, &fit),
                           "this plugin has no code for the device", error));
    VLY_TRY(vly_cuda_check(
        (int)cudaDeviceGetAttribute(&units, cudaDevAttrMultiProcessorCount,
                                    shard->device),
        "cudaDeviceGetAttribute", error));
    if (fit < 1 || units < 1)
        return vly_cuda_fail(error, VLY_E_UNSUPPORTED,
                             "a block of %u threads does not fit on a "
                             "multiprocessor of this device",
                             VLY_CUDA_THREADS);
    shard->n_units = (uint32_t)units;
    shard->n_blocks = (uint32_t)units;
    if (wanted > 0 && wanted < shard->n_blocks)
        shard->n_blocks = wanted;
out:
    return status;
}

/* ---- shard ------------------------------------------------------------- */

static vly_status open_stream(vly_cuda_shard *shard, vly_error *error)
{
    void **const streams[2] = {&shard->stream, &shard->drain_stream};
    cudaError_t code = cudaSuccess;
    /* spikes are read from the first shard; without more streams than needed,
     * those of virtual devices have a queue each */
    uint32_t n = shard == shard->net->shards ? 2 : 1;
    for (uint32_t i = 0; i < n && code == cudaSuccess; i++) {
        cudaStream_t stream = NULL;
        code = cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking);
        *streams[i] = stream;
    }
    for (uint32_t i = 0; i < VLY_CUDA_EVENTS && code == cudaSuccess; i++) {
        cudaEvent_t event = NULL;
        code = cudaEventCreate(&event);
        shard->events[i] = event;
    }
    return vly_cuda_check((int)code, "making a stream", error);
}

static vly_status upload_areas(vly_cuda_shard *shard, vly_error *error)
{
    vly_cuda_area *areas = NULL;
    memcpy(&areas, &shard->view.areas, sizeof areas);
    return vly_cuda_upload(shard, areas, shard->areas,
                           shard->view.n_areas * sizeof *areas, error);
}

static vly_status fill(vly_cuda_shard *shard, const vly_snapshot *snapshot,
                       vly_error *error)
{
    vly_status status = VLY_OK;
    VLY_TRY(open_stream(shard, error));
    VLY_TRY(choose_blocks(shard, error));
    VLY_TRY(vly_cuda_plan_choose(shard, error));
    VLY_TRY(vly_cuda_done_create(shard, error));
    VLY_TRY(vly_cuda_dynamics_create(shard, error));
    VLY_TRY(vly_cuda_stimulus_create(shard, error));
    VLY_TRY(upload_areas(shard, error));
    VLY_TRY(vly_cuda_history_create(shard, error));
    VLY_TRY(vly_cuda_learning_create(shard, snapshot, error));
    VLY_TRY(vly_cuda_plan_create(shard, error));
    VLY_TRY(vly_cuda_upload(shard, shard->state, snapshot->state,
                            shard->n_state_words * sizeof(uint32_t), error));
    VLY_TRY(vly_cuda_history_load(shard, snapshot, error));
    VLY_TRY(vly_cuda_plan_restore(shard, error));
out:
    return status;
}

/* After a failure, destroy frees all data. */
vly_status vly_cuda_shard_create(vly_cuda_shard *shard,
                                 const vly_backend_net *net, int32_t device,
                                 const vly_snapshot *snapshot, vly_error *error)
{
    shard->net = net;
    shard->device = device;
    vly_status status = VLY_OK;
    VLY_TRY(
        vly_common_fixed(&shard->heap, net->desc, &shard->store.fixed, error));
    shard->resident.split = net->wanted.split == VLY_CUDA_AUTO
                                ? shortest_delay(shard->store.fixed) > 1
                                : net->wanted.split != 0;
    shard->plastic.by_users = vly_cuda_has_rules(net->desc);
    start_view(shard, net->desc);
    vly_cuda_settle(shard); /* launches of other nets stay no longer */
    return fill(shard, snapshot, error);
out:
    return status;
}

void vly_cuda_shard_destroy(vly_cuda_shard *shard)
{
    void *const streams[2] = {shard->stream, shard->drain_stream};
    (void)vly_cuda_select(shard->device);
    vly_cuda_settle(shard);
    for (uint32_t i = 0; i < 2; i++) /* a copy may still write to the freed
                                      * memory */
        if (streams[i])
            (void)cudaStreamSynchronize((cudaStream_t)streams[i]);
    vly_cuda_splice_release(shard);
    for (uint32_t i = 0; i < VLY_CUDA_EVENTS; i++)
        if (shard->events[i])
            (void)cudaEventDestroy((cudaEvent_t)shard->events[i]);
    for (uint32_t i = 0; i < 2; i++)
        if (streams[i])
            (void)cudaStreamDestroy((cudaStream_t)streams[i]);
    vly_cuda_release_all(shard);
}
