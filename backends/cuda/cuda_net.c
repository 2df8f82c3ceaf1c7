/* SPDX-License-Identifier: Apache-2.0
 * Making, describing and freeing a net.
 */
#include "cuda_net.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

static_assert(VLY_CUDA_MAIL_LINES == 7, "a message names the most lines");

/* ---- options ----------------------------------------------------------- */

static vly_status read_options(const char *text, vly_cuda_options *made,
                               vly_error *error)
{
    static const char *const plans[] = {"auto", "global", "resident",
                                        "partitioned", NULL};
    static const char *const threads[] = {"auto", "512", "256", "128", NULL};
    memset(made, 0, sizeof *made);
    made->split = VLY_CUDA_AUTO;
    made->linger = VLY_CUDA_AUTO;
    made->once = VLY_CUDA_AUTO;
    made->post = VLY_CUDA_AUTO;
    made->deal = VLY_CUDA_AUTO;
    made->narrow = VLY_CUDA_AUTO;
    const vly_support_option options[] = {
        {.name = "plan", .value = &made->plan, .words = plans},
        {.name = "blocks", .value = &made->n_blocks},
        {.name = "launch", .value = &made->n_bursts},
        {.name = "fault", .value = &made->fault, .most = 1},
        {.name = "change", .value = &made->change, .most = 1},
        {.name = "linger", .value = &made->linger, .most = 2},
        {.name = "lines", .value = &made->lines, .most = VLY_CUDA_MAIL_LINES},
        {.name = "threads", .value = &made->threads, .words = threads},
        {.name = "split", .value = &made->split, .most = 1},
        {.name = "quads", .value = &made->quads},
        {.name = "cluster",
         .value = &made->cluster,
         .most = VLY_CUDA_CLUSTER,
         .is_power = 1},
        {.name = "unit", .value = &made->unit, .most = 4, .is_power = 1},
        {.name = "once", .value = &made->once, .most = 100},
        {.name = "post", .value = &made->post},
        {.name = "deal", .value = &made->deal},
        {.name = "narrow", .value = &made->narrow, .most = 1},
    };
    size_t n;
    const char *bad = vly_support_read_options(
        text, options, sizeof options / sizeof options[0], &n);
    if (bad == NULL)
        return VLY_OK;
    return vly_cuda_fail(error, VLY_E_INVALID,
                         "cuda option '%.*s', wanted plan=auto, "
                         "plan=global, plan=resident, "
                         "plan=partitioned, blocks=N, launch=N, "
                         "lines=1 to 7, threads=auto|512|256|128, split=0|1, "
                         "quads=N, cluster=1|2|4|8, "
                         "unit=1|2|4, once=0 to 100, post=N, deal=N, "
                         "narrow=0|1, linger=0|1|2, "
                         "change=1 or "
                         "fault=1",
                         (int)n, bad);
}

/* ---- sizes ------------------------------------------------------------- */

static void start_view(vly_backend_net *net)
{
    const vly_net_desc *desc = net->desc;
    vly_cuda_view *view = &net->view;
    view->n_neurons = desc->n_neurons;
    view->n_areas = desc->n_areas;
    view->n_ports = vly_common_most_ports(desc);
    view->ring = vly_common_ring(desc);
    view->max_delay = desc->max_delay;
    view->key_low = (uint32_t)desc->seed_input;
    view->key_high = (uint32_t)(desc->seed_input >> 32);
    view->feagi_q = desc->feagi_q;
    view->model = VLY_CUDA_N_MODELS;
}

/* Synapses of delay 1 hold up the next burst. Where there are some, rows in
 * one piece were faster (microcircuit: 2.47 against 2.84 us a burst on an
 * H200), where there are none, delivery during the exchange (Brunel's net, by
 * an earlier kernel: 3.32 against 3.65). */
static uint32_t shortest_delay(const vly_net_desc *desc)
{
    uint32_t shortest = UINT32_MAX;
    for (uint32_t i = 0; i < desc->n_projections; i++) {
        uint32_t delay = vly_cuda_projection_desc(desc, i)->base_delay;
        shortest = delay < shortest ? delay : shortest;
    }
    return shortest;
}

/* Blocks that run at once: one for each multiprocessor. */
static vly_status choose_blocks(vly_backend_net *net, uint32_t wanted,
                                vly_error *error)
{
    int fit = 0;
    int units = 0;
    vly_status status =
        vly_cuda_check((int)vly_cuda_global_occupancy(&net->view, &fit),
                       "this plugin has no code for the device", error);
    if (status == VLY_OK)
        status = vly_cuda_check(
            (int)cudaDeviceGetAttribute(&units, cudaDevAttrMultiProcessorCount,
                                        net->device),
            "cudaDeviceGetAttribute", error);
    if (status != VLY_OK)
        return status;
    if (fit < 1 || units < 1)
        return vly_cuda_fail(error, VLY_E_UNSUPPORTED,
                             "a block of %u threads does not fit on a "
                             "multiprocessor of this device",
                             VLY_CUDA_THREADS);
    net->n_units = (uint32_t)units;
    net->n_blocks = (uint32_t)units;
    if (wanted > 0 && wanted < net->n_blocks)
        net->n_blocks = wanted;
    return VLY_OK;
}

/* ---- net --------------------------------------------------------------- */

static vly_status open_stream(vly_backend_net *net, vly_error *error)
{
    void **const streams[2] = {&net->stream, &net->drain_stream};
    cudaError_t code = cudaSuccess;
    for (uint32_t i = 0; i < 2 && code == cudaSuccess; i++) {
        cudaStream_t stream = NULL;
        code = cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking);
        *streams[i] = stream;
    }
    for (uint32_t i = 0; i < VLY_CUDA_EVENTS && code == cudaSuccess; i++) {
        cudaEvent_t event = NULL;
        code = cudaEventCreate(&event);
        net->events[i] = event;
    }
    return vly_cuda_check((int)code, "making a stream", error);
}

static vly_status create_words(vly_backend_net *net, vly_error *error)
{
    vly_cuda_view *view = &net->view;
    vly_status status = vly_cuda_device_alloc(
        net, VLY_CUDA_DONES, sizeof *net->dones, &net->dones, error);
    if (status == VLY_OK)
        status = vly_cuda_pinned_alloc(net, 1, sizeof *net->done_at,
                                       &net->done_at, error);
    net->done = net->dones;
    if (status == VLY_OK)
        view->barrier = &net->done->barrier;
    return status;
}

static vly_status upload_areas(vly_backend_net *net, vly_error *error)
{
    vly_cuda_area *areas = NULL;
    memcpy(&areas, &net->view.areas, sizeof areas);
    return vly_cuda_upload(net, areas, net->areas,
                           net->view.n_areas * sizeof *areas, error);
}

static vly_status fill_net(vly_backend_net *net, const vly_snapshot *snapshot,
                           const vly_cuda_options *wanted, vly_error *error)
{
    vly_status status = open_stream(net, error);
    if (status == VLY_OK)
        status = choose_blocks(net, wanted->n_blocks, error);
    if (status == VLY_OK)
        status = vly_cuda_plan_choose(net, error);
    if (status == VLY_OK)
        status = create_words(net, error);
    if (status == VLY_OK)
        status = vly_cuda_dynamics_create(net, error);
    if (status == VLY_OK)
        status = vly_cuda_stimulus_create(net, error);
    if (status == VLY_OK)
        status = upload_areas(net, error);
    if (status == VLY_OK)
        status = vly_cuda_history_create(net, error);
    if (status == VLY_OK)
        status = vly_cuda_plan_create(net, error);
    if (status == VLY_OK)
        status = vly_cuda_upload(net, net->state, snapshot->state,
                                 net->n_state_words * sizeof(uint32_t), error);
    if (status == VLY_OK)
        status = vly_cuda_history_load(net, snapshot, error);
    return status;
}

vly_status vly_cuda_net_create(const vly_device_spec *device,
                               const vly_net_desc *desc,
                               const vly_snapshot *snapshot,
                               vly_backend_net **net, vly_error *error)
{
    vly_cuda_options wanted;
    vly_status status = vly_cuda_detect(error);
    if (status == VLY_OK)
        status = vly_common_supports(desc, error);
    if (status == VLY_OK)
        status = vly_common_snapshot_check(desc, snapshot, error);
    if (status != VLY_OK)
        return status;
    uint32_t count = vly_cuda_device_count();
    if (device == NULL || device->index >= count)
        return vly_cuda_fail(error, VLY_E_DEVICE,
                             "cuda: device %u, but there are %u",
                             device != NULL ? device->index : 0, count);
    status = read_options(device->options, &wanted, error);
    if (status == VLY_OK)
        status = vly_cuda_enter((int32_t)device->index, error);
    if (status != VLY_OK)
        return status;
    /* The net's own memory is a block of a list that is not its own. */
    vly_common_heap outer = {.bytes = 0};
    vly_backend_net *made = NULL;
    status = vly_common_alloc(&outer, 1, sizeof *made, &made, error);
    if (status != VLY_OK)
        return status;
    made->desc = desc;
    made->device = (int32_t)device->index;
    made->burst = snapshot->burst;
    made->wanted = wanted;
    made->fault = wanted.fault;
    made->launch_fixed = wanted.n_bursts;
    made->lines_fixed = wanted.lines;
    made->resident.split = wanted.split == VLY_CUDA_AUTO
                               ? shortest_delay(desc) > 1
                               : wanted.split != 0;
    start_view(made);
    vly_cuda_settle(made); /* others make room */
    vly_cuda_range_begin("volley net");
    status = fill_net(made, snapshot, &wanted, error);
    vly_cuda_range_end();
    if (status != VLY_OK) {
        vly_cuda_net_destroy(made);
        return status;
    }
    *net = made;
    return VLY_OK;
}

void vly_cuda_net_destroy(vly_backend_net *net)
{
    if (net == NULL)
        return;
    void *const streams[2] = {net->stream, net->drain_stream};
    (void)vly_cuda_select(net->device);
    vly_cuda_settle(net);
    for (uint32_t i = 0; i < 2; i++) /* it may be writing to what is freed */
        if (streams[i] != NULL)
            (void)cudaStreamSynchronize((cudaStream_t)streams[i]);
    for (uint32_t i = 0; i < VLY_CUDA_EVENTS; i++)
        if (net->events[i] != NULL)
            (void)cudaEventDestroy((cudaEvent_t)net->events[i]);
    for (uint32_t i = 0; i < 2; i++)
        if (streams[i] != NULL)
            (void)cudaStreamDestroy((cudaStream_t)streams[i]);
    vly_cuda_release_all(net);
    vly_common_heap outer = {.bytes = 0};
    vly_common_release(&outer, net);
}

static void say_partition(const vly_backend_net *net, double bytes,
                          vly_net_info *info)
{
    const vly_cuda_partition *p = &net->partition;
    uint32_t once =
        p->cluster == 1 ? 100 : (200 * p->once + p->slice - 1) / p->slice;
    char sets[32] = "";
    if (p->narrow || p->sets > 1)
        snprintf(sets, sizeof sets, p->narrow ? " by 16 bits" : " in %u sets",
                 p->sets);
    snprintf(info->plan, sizeof info->plan,
             "partitioned: %u slices of targets, %u blocks each; inputs of "
             "%u bursts in shared memory%s, %u%% of them in one block only; "
             "%u reads of a row in units of %u synapses, parts of %u spikes "
             "a block posted; %.2f bytes a synapse",
             p->n_slices, p->cluster, p->ring, sets, once, p->n_groups, p->unit,
             p->post, bytes);
}

/* Of synapses and of the ends of rows, of which each group has its own. */
static double global_bytes(const vly_backend_net *net)
{
    return (double)net->n_synapses * sizeof *net->view.groups->synapses +
           (double)net->view.n_groups * (net->desc->n_neurons + 1.0) *
               sizeof *net->view.groups->row;
}

vly_status vly_cuda_net_info(const vly_backend_net *net, vly_net_info *info,
                             vly_error *error)
{
    vly_status status = vly_common_check_info(info, error);
    if (status != VLY_OK)
        return status;
    info->n_threads = 1;
    info->host_bytes = net->heap.bytes + net->pinned_bytes;
    info->device_bytes = net->device_bytes;
    double synapses = net->n_synapses > 0 ? (double)net->n_synapses : 1.0;
    if (net->is_resident)
        snprintf(
            info->plan, sizeof info->plan,
            "resident: %u blocks stay on the device, %u neurons each; "
            "inputs of %u bursts in shared memory%s, one exchange a burst; "
            "%.2f bytes a synapse",
            net->resident.n_blocks, net->resident.slice, net->view.max_delay,
            net->resident.step != 0 ? " for shifted weights" : "",
            (double)net->segment_bytes / synapses);
    else if (net->is_partitioned)
        say_partition(net, (double)net->partition_bytes / synapses, info);
    else
        snprintf(info->plan, sizeof info->plan,
                 "global: %u blocks of %u threads stay on the device for many "
                 "bursts; %u groups of rows, %.2f bytes a synapse; inputs of "
                 "%u bursts in global memory",
                 net->n_blocks, VLY_CUDA_THREADS, net->view.n_groups,
                 global_bytes(net) / synapses, net->view.ring);
    return VLY_OK;
}
