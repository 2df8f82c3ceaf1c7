/* SPDX-License-Identifier: Apache-2.0
 * Making, describing and freeing a net.
 */
#include "cuda_net.h"

#include <stdio.h>
#include <string.h>

#include "cuda_device.h"
#include "cuda_error.h"
#include "cuda_options.h"
#include "cuda_partition.h"
#include "cuda_plans.h"
#include "cuda_range.h"
#include "cuda_ranks.h"
#include "cuda_shard.h"
#include "cuda_span.h"

static vly_status net_alloc(uint32_t n_shards, vly_backend_net **net,
                            vly_error *error)
{
    vly_common_heap heap = {.bytes = 0};
    vly_backend_net *made = NULL;
    vly_status status = vly_common_alloc(&heap, 1, sizeof *made, &made, error);
    if (status == VLY_OK)
        status = vly_common_alloc(&heap, n_shards, sizeof *made->shards,
                                  &made->shards, error);
    if (status != VLY_OK) {
        vly_common_release_all(&heap);
        return status;
    }
    made->heap = heap;
    made->n_shards = n_shards;
    *net = made;
    return VLY_OK;
}

/* Makes a net on devices that have been checked. */
static vly_status make_net(const int32_t *devices, uint32_t n_devices,
                           const vly_cuda_options *wanted,
                           const vly_net_desc *desc,
                           const vly_snapshot *snapshot, vly_backend_net **net,
                           vly_error *error)
{
    vly_backend_net *made = NULL;
    if (wanted->fault == 2 && n_devices == 1)
        return vly_cuda_fail(error, VLY_E_INVALID,
                             "cuda option fault=2: one device, wanted several");
    if (vly_common_ranks(desc) &&
        ((wanted->linger != VLY_CUDA_AUTO && wanted->linger != 0) ||
         (wanted->post != VLY_CUDA_AUTO && wanted->post != 0)))
        return vly_cuda_fail(
            error, VLY_E_UNSUPPORTED,
            "cuda option %s: ranks exchange spikes between "
            "launches, wanted it without ranks",
            wanted->linger != VLY_CUDA_AUTO && wanted->linger != 0 ? "linger"
                                                                   : "post");
    vly_status status = vly_cuda_enter(devices[0], error);
    if (status == VLY_OK)
        status = net_alloc(n_devices, &made, error);
    if (status != VLY_OK)
        return status;
    made->desc = desc;
    made->burst = snapshot->burst;
    made->wanted = *wanted;
    if (vly_common_ranks(desc))
        made->wanted.linger = 0; /* others' spikes come between launches */
    made->is_shared = n_devices > 1 && devices[0] == devices[1];
    vly_cuda_range_begin("volley net");
    for (uint32_t i = 0; i < made->n_shards && status == VLY_OK; i++) {
        status = vly_cuda_enter(devices[i], error);
        if (status == VLY_OK)
            status = vly_cuda_shard_create(&made->shards[i], made, devices[i],
                                           snapshot, error);
    }
    vly_cuda_range_end();
    if (status == VLY_OK)
        status = vly_cuda_ranks_create(made, snapshot, error);
    if (status != VLY_OK) {
        vly_cuda_net_destroy(made);
        return status;
    }
    if (n_devices > 1)
        vly_cuda_span_link(made);
    *net = made;
    return VLY_OK;
}

static vly_status check_create(const vly_device_spec *devices,
                               uint32_t n_devices, const vly_net_desc *desc,
                               const vly_snapshot *snapshot,
                               vly_cuda_options *wanted, vly_error *error)
{
    vly_status status = VLY_OK;
    VLY_TRY(vly_cuda_detect(error));
    VLY_TRY(vly_common_supports_planes(desc, error));
    VLY_TRY(vly_common_snapshot_check(desc, snapshot, error));
    uint32_t count = vly_cuda_device_count();
    for (uint32_t i = 0; i < n_devices; i++)
        if (!devices || devices[i].index >= count)
            return vly_cuda_fail(error, VLY_E_DEVICE,
                                 "cuda: device %u, but there are %u",
                                 devices ? devices[i].index : 0, count);
    VLY_TRY(vly_cuda_options_read(devices[0].options, wanted, error));
out:
    return status;
}

/* How many devices a net gets; *why: the reason if not all. */
static uint32_t choose_devices(const vly_net_desc *desc,
                               const vly_cuda_options *wanted, uint32_t n,
                               const char **why)
{
    const char *plan = vly_cuda_plan_partitioned.name;
    if (wanted->plan > 0)
        plan = vly_cuda_plan_at(wanted->plan - 1)->name;
    *why = vly_cuda_span_refuse(desc, wanted);
    if (vly_common_ranks(desc))
        *why = "a rank has one";
    if (*why || n == 1)
        return 1;
    if (strcmp(plan, vly_cuda_plan_partitioned.name) != 0) {
        *why = "only plan=partitioned has several devices";
        return 1;
    }
    *why = "more would be slower, by the predicted time of a burst";
    return wanted->devices != 0 ? n : vly_cuda_span_choose(desc, n);
}

/* What net_create is given. */
typedef struct net_source {
    const vly_net_desc *desc;
    const vly_snapshot *snapshot;
    vly_cuda_options wanted;
} net_source;

/* Fewer devices than were offered, for a reason. */
static vly_status make_fewer(const int32_t *devices, uint32_t n,
                             uint32_t n_offered, const net_source *from,
                             const char *why, vly_backend_net **net,
                             vly_error *error)
{
    char text[400];
    vly_error told = {.struct_size = sizeof told};
    vly_backend_net *made = NULL;
    vly_status status = make_net(devices, n, &from->wanted, from->desc,
                                 from->snapshot, &made, &told);
    /* lack of memory is a consequence: the reason can be changed, or is why */
    if (status == VLY_E_NOMEM) {
        const size_t n_told = strlen(told.message);
        (void)snprintf(told.message + n_told, sizeof told.message - n_told,
                       "; not on %u devices: %.200s", n_offered, why);
    }
    if (status != VLY_OK) {
        if (error)
            *error = told;
        return status;
    }
    made->n_offered = n_offered;
    (void)snprintf(made->note, sizeof made->note, "%.100s", why);
    (void)snprintf(text, sizeof text,
                   "the net runs on %u of %u devices: %.300s", n, n_offered,
                   why);
    vly_cuda_host->log(vly_cuda_host->context, VLY_LOG_WARN, text);
    *net = made;
    return VLY_OK;
}

/* On as many of the devices as are faster; what cannot run on several runs on
 * one. */
static vly_status make_best(const int32_t *devices, uint32_t n_offered,
                            const net_source *from, vly_backend_net **net,
                            vly_error *error)
{
    vly_status status = VLY_OK;
    vly_error told = {.struct_size = sizeof told};
    const char *why = NULL;
    const uint32_t n =
        choose_devices(from->desc, &from->wanted, n_offered, &why);
    if (n > 1) {
        VLY_TRY(vly_cuda_span_connect(devices, n, error));
    }
    if (n < n_offered)
        return make_fewer(devices, n, n_offered, from, why, net, error);
    status = make_net(devices, n, &from->wanted, from->desc, from->snapshot,
                      net, &told);
    /* sizes that do not fit several devices may fit other plans */
    if (status == VLY_E_UNSUPPORTED && from->wanted.plan == 0 && n > 1)
        return make_fewer(devices, 1, n_offered, from, told.message, net,
                          error);
    if (status != VLY_OK && error)
        *error = told;
out:
    return status;
}

vly_status vly_cuda_net_create(const vly_device_spec *device,
                               const vly_net_desc *desc,
                               const vly_snapshot *snapshot,
                               vly_backend_net **net, vly_error *error)
{
    int32_t devices[VLY_CUDA_SPAN_DEVICES];
    net_source from = {.desc = desc, .snapshot = snapshot};
    vly_status status = VLY_OK;
    VLY_TRY(check_create(device, 1, desc, snapshot, &from.wanted, error));
    for (uint32_t i = 0; i < VLY_CUDA_SPAN_DEVICES; i++)
        devices[i] = (int32_t)device->index;
    const uint32_t n = from.wanted.span > 0 ? from.wanted.span : 1;
    if (from.wanted.devices != 0)
        return make_best(devices, n, &from, net, error);
    const char *why = n > 1 ? vly_cuda_span_refuse(desc, &from.wanted) : NULL;
    if (n > 1 && vly_common_ranks(desc))
        return vly_cuda_fail(error, VLY_E_UNSUPPORTED,
                             "cuda option span=%u: a rank has one device, "
                             "wanted it without ranks",
                             n);
    if (why)
        return vly_cuda_fail(error, VLY_E_UNSUPPORTED,
                             "cuda option span=%u: one device only can run "
                             "this net: %s",
                             n, why);
    return make_net(devices, n, &from.wanted, desc, snapshot, net, error);
out:
    return status;
}

vly_status vly_cuda_net_create_span(const vly_device_spec *devices,
                                    uint32_t n_devices,
                                    const vly_net_desc *desc,
                                    const vly_snapshot *snapshot,
                                    vly_backend_net **net, vly_error *error)
{
    int32_t list[VLY_CUDA_SPAN_DEVICES];
    net_source from = {.desc = desc, .snapshot = snapshot};
    if (n_devices < 1 || n_devices > VLY_CUDA_SPAN_DEVICES)
        return vly_cuda_fail(error, VLY_E_INVALID,
                             "cuda: a net on %u devices, wanted 1 to %u",
                             n_devices, VLY_CUDA_SPAN_DEVICES);
    vly_status status = VLY_OK;
    VLY_TRY(
        check_create(devices, n_devices, desc, snapshot, &from.wanted, error));
    if (from.wanted.span > 0)
        VLY_TRY(vly_cuda_fail(error, VLY_E_INVALID,
                              "cuda option span=%u is for one device, wanted "
                              "it without a range of devices",
                              from.wanted.span));
    for (uint32_t i = 0; i < n_devices; i++)
        list[i] = (int32_t)devices[i].index;
    VLY_TRY(make_best(list, n_devices, &from, net, error));
out:
    return status;
}

void vly_cuda_net_destroy(vly_backend_net *net)
{
    if (!net)
        return;
    /* no device writes into the mail of another one any more */
    for (uint32_t i = 0; net->n_shards > 1 && i < net->n_shards; i++)
        if (net->shards[i].stream &&
            vly_cuda_select(net->shards[i].device) == (int)cudaSuccess)
            (void)cudaStreamSynchronize((cudaStream_t)net->shards[i].stream);
    /* the first one has what others share */
    for (uint32_t i = net->n_shards; i-- > 0;)
        if (net->shards[i].net) /* its creation began */
            vly_cuda_shard_destroy(&net->shards[i]);
    vly_common_heap heap = net->heap; /* the net is in this list too */
    vly_common_release_all(&heap);
}

/* Before the plan: how many devices run it. */
static void say_devices(const vly_backend_net *net, char *plan, size_t size)
{
    char text[256];
    char offered[140] = "";
    if (net->note[0] != 0)
        (void)snprintf(offered, sizeof offered, " of %u, since %s",
                       net->n_offered, net->note);
    else if (net->n_shards == 1)
        return;
    (void)snprintf(text, sizeof text, "%s", plan);
    (void)snprintf(plan, size, "%u %s%s: %.*s", net->n_shards,
                   net->is_shared       ? "parts of one device"
                   : net->n_shards == 1 ? "device"
                                        : "devices",
                   offered, (int)(size - strlen(offered) - 32), text);
}

/* Before all else: when ranks exchange spikes. */
static void say_ranks(const vly_backend_net *net, char *plan, size_t size)
{
    char text[256];
    char ranks[100];
    vly_common_ranks_print(&net->ranks.all, ranks, sizeof ranks);
    if (ranks[0] == 0)
        return;
    (void)snprintf(text, sizeof text, "%s", plan);
    (void)snprintf(plan, size, "%s%.*s", ranks, (int)(size - sizeof ranks),
                   text);
}

vly_status vly_cuda_net_info(const vly_backend_net *net, vly_net_info *info,
                             vly_error *error)
{
    vly_status status = VLY_OK;
    VLY_TRY(vly_common_check_info(info, error));
    uint64_t n_synapses = 0;
    info->n_threads = 1;
    info->host_bytes = 0;
    info->device_bytes = 0;
    for (uint32_t i = 0; i < net->n_shards; i++) {
        const vly_cuda_shard *shard = &net->shards[i];
        info->host_bytes += shard->heap.bytes + shard->pinned_bytes;
        info->device_bytes += shard->device_bytes;
        n_synapses += shard->store.n_synapses + shard->plastic.n_synapses;
    }
    net->shards[0].plan->say(&net->shards[0],
                             n_synapses > 0 ? (double)n_synapses : 1.0, info);
    say_devices(net, info->plan, sizeof info->plan);
    say_ranks(net, info->plan, sizeof info->plan);
out:
    return status;
}
