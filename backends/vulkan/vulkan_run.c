/* SPDX-License-Identifier: Apache-2.0
 * A run: submissions of many bursts each, and reading the results after each. A
 * submission takes about LAUNCH_NS, so that a request to stop is seen soon.
 */
#include "vulkan_net.h"

#include <string.h>

#include "vulkan_learning.h"
#include "vulkan_modulator.h"

#define FIRST_BURSTS 16u    /* before a submission has been timed */
#define LAUNCH_NS 50000000u /* 50 ms */

static uint64_t now_ns(void)
{
    return vly_support_host->clock_ns(vly_support_host->context);
}

/* ---- one submission ---------------------------------------------------- */

static void set_launch(vly_backend_net *net, const vly_run *run)
{
    uint64_t left = run->n_bursts - run->n_bursts_done;
    bool record = (run->flags & VLY_RUN_RECORD) != 0;
    uint32_t n =
        left < net->launch_bursts ? (uint32_t)left : net->launch_bursts;
    *net->launch = (vly_vulkan_launch){
        .burst = net->burst,
        .head = net->head,
        .head_limit = record ? net->head + run->spikes_capacity -
                                   run->n_spikes - net->desc->n_neurons
                             : UINT64_MAX,
        .n_bursts = vly_common_run_stopped(run) ? 1 : n,
        .keep = (uint32_t)record,
    };
}

/* Room for the spikes in order: at most the size of the log. */
static vly_status prepare_record(vly_backend_net *net, const vly_run *run,
                                 vly_error *error)
{
    vly_vulkan_launch *launch = net->launch;
    uint64_t room = run->spikes_capacity - run->n_spikes;
    uint64_t most = (uint64_t)launch->n_bursts * net->desc->n_neurons;
    room = room < most ? room : most;
    most = net->view->log_mask + UINT64_C(1);
    vly_status status = VLY_OK;
    VLY_TRY(vly_vulkan_history_sorted(net, room < most ? room : most, error));
    launch->sorted_ids = net->sorted[0]->address;
    if (run->spike_gains)
        launch->sorted_gains = net->sorted[1]->address;
out:
    return status;
}

static vly_status run_bursts(vly_backend_net *net, const vly_run *run,
                             uint64_t *input_from, vly_error *error)
{
    bool record = (run->flags & VLY_RUN_RECORD) != 0;
    vly_status status = vly_vulkan_inputs_send(net, run, input_from, error);
    vly_vulkan_modulations_send(net, run);
    if (status == VLY_OK && record)
        status = prepare_record(net, run, error);
    if (status == VLY_OK)
        status = vly_vulkan_record_bursts(net, net->launch->n_bursts, error);
    if (status == VLY_OK && net->fault == 1) /* option fault=1, for tests */
        status = vly_vulkan_check(net->device, VK_ERROR_DEVICE_LOST,
                                  "running bursts", error);
    const VkCommandBuffer commands[2] = {net->commands.bursts,
                                         net->commands.sort};
    return status == VLY_OK ? vly_vulkan_submit(net, commands, record ? 2 : 1,
                                                "running bursts", error)
                            : status;
}

/* ---- what it left ------------------------------------------------------ */

static const vly_vulkan_record *record_at(const vly_backend_net *net,
                                          uint64_t burst)
{
    const vly_vulkan_record *records = net->results->mapped;
    return records + (burst & net->view->record_mask);
}

static uint64_t whole(const uint32_t *halves)
{
    return (uint64_t)halves[1] << 32 | halves[0];
}

/* Bursts of the launch that ran. */
static uint32_t count_bursts(const vly_backend_net *net)
{
    uint32_t n = 0;
    while (n < net->launch->n_bursts &&
           record_at(net, net->burst + n)->ran != 0)
        n++;
    return n;
}

static void add_areas(const vly_backend_net *net, const vly_run *run)
{
    uint64_t *areas = vly_common_run_areas(run);
    const uint8_t *results = net->results->mapped;
    const uint32_t *spikes =
        (const uint32_t *)(const void *)(results + net->records->bytes);
    for (uint32_t a = 0; areas && a < net->desc->n_areas; a++)
        areas[a] += whole(spikes + 2 * (size_t)a);
}

/* Copies the results of n_bursts bursts to the caller. */
static void drain(vly_backend_net *net, uint32_t n_bursts, vly_run *run)
{
    uint64_t n_spikes = 0;
    for (uint32_t i = 0; i < n_bursts; i++) {
        const vly_vulkan_record *record = record_at(net, net->burst + i);
        n_spikes += record->count;
        run->n_events += whole(record->events);
        run->n_candidates += net->n_driven + record->candidates;
        if (run->digests)
            run->digests[run->n_bursts_done + i] = whole(record->digest);
        if (run->spike_counts)
            run->spike_counts[run->n_bursts_done + i] = record->count;
    }
    add_areas(net, run);
    net->burst += n_bursts;
    net->head += n_spikes;
    run->n_bursts_done += n_bursts;
    if ((run->flags & VLY_RUN_RECORD) == 0)
        return;
    size_t bytes = (size_t)n_spikes * sizeof *run->spikes;
    memcpy(run->spikes + run->n_spikes, net->sorted[0]->mapped, bytes);
    if (run->spike_gains)
        memcpy(run->spike_gains + run->n_spikes, net->sorted[1]->mapped, bytes);
    run->n_spikes += n_spikes;
}

/* Divides the time of the submission into phases, in the ratio of the one burst
 * that is timed. */
static uint64_t add_time(vly_backend_net *net, uint64_t host_ns, vly_run *run)
{
    uint64_t *at = net->timestamps.at;
    if (net->timestamps.pool == VK_NULL_HANDLE ||
        vkGetQueryPoolResults(net->device->device, net->timestamps.pool, 0, 5,
                              sizeof net->timestamps.at, at, sizeof *at,
                              VK_QUERY_RESULT_64_BIT |
                                  VK_QUERY_RESULT_WAIT_BIT) != VK_SUCCESS ||
        at[4] <= at[2] || at[1] <= at[0])
        return host_ns;
    double ns = (double)(at[1] - at[0]) * (double)net->device->timestamp_ns;
    double share = (double)(at[3] - at[2]) / (double)(at[4] - at[2]);
    run->delivery_ns += (uint64_t)(ns * share);
    run->dynamics_ns += (uint64_t)(ns * (1.0 - share));
    return (uint64_t)ns;
}

static void choose_length(vly_backend_net *net, uint32_t n_bursts, uint64_t ns)
{
    if (net->launch_fixed != 0 || n_bursts == 0)
        return;
    uint64_t wanted = LAUNCH_NS / (ns / n_bursts + 1) + 1;
    net->launch_bursts = wanted < VLY_VULKAN_LAUNCH_BURSTS
                             ? (uint32_t)wanted
                             : VLY_VULKAN_LAUNCH_BURSTS;
}

/* The log was full before the submission ended: a larger log makes longer
 * submissions. */
static vly_status make_room(vly_backend_net *net, uint32_t n_bursts,
                            vly_error *error)
{
    const vly_vulkan_launch *launch = net->launch;
    uint32_t delay = net->desc->max_delay;
    if (n_bursts == 0)
        return vly_vulkan_history_reserve(
            net, net->burst > delay ? net->burst - delay : 0,
            net->desc->n_neurons, error);
    if (n_bursts == launch->n_bursts || launch->keep == 0 ||
        net->head > launch->head_limit)
        return VLY_OK;
    vly_status status = vly_vulkan_history_grow(net, error);
    return status == VLY_E_NOMEM ? VLY_OK : status; /* it does without */
}

static vly_status run_launch(vly_backend_net *net, vly_run *run,
                             uint64_t *input_from, vly_error *error)
{
    uint64_t begin = now_ns();
    vly_status status = VLY_OK;
    VLY_TRY(vly_vulkan_learning_prepare(net, error));
    set_launch(net, run);
    VLY_TRY(run_bursts(net, run, input_from, error));
    uint64_t end = now_ns();
    uint32_t n_bursts = count_bursts(net);
    uint64_t ns = add_time(net, end - begin, run);
    if (net->launch->n_bursts == n_bursts)
        choose_length(net, n_bursts, ns);
    drain(net, n_bursts, run);
    status = make_room(net, n_bursts, error);
    run->drain_ns += now_ns() - end;
out:
    return status;
}

vly_status vly_vulkan_net_run(vly_backend_net *net, vly_run *run,
                              vly_error *error)
{
    vly_status status = VLY_OK;
    VLY_TRY(vly_common_check_run(net->desc, net->failed, run, error));
    VLY_TRY(vly_vulkan_enter(net->device, error));
    uint64_t input_from = 0;
    vly_common_run_begin(run);
    if (net->launch_bursts == 0)
        net->launch_bursts = FIRST_BURSTS;
    if (net->launch_fixed != 0)
        net->launch_bursts = net->launch_fixed < VLY_VULKAN_LAUNCH_BURSTS
                                 ? net->launch_fixed
                                 : VLY_VULKAN_LAUNCH_BURSTS;
    while (status == VLY_OK && run->n_bursts_done < run->n_bursts &&
           vly_common_run_has_room(net->desc, run)) {
        status = run_launch(net, run, &input_from, error);
        if (run->n_bursts_done > 0 && vly_common_run_stopped(run))
            break;
    }
    net->failed = status;
out:
    return status;
}
