/* SPDX-License-Identifier: Apache-2.0
 * Making, describing and freeing a net.
 */
#include "cuda_net.h"

#include "cuda_device.h"
#include "cuda_error.h"
#include "cuda_options.h"
#include "cuda_range.h"
#include "cuda_shard.h"

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

vly_status vly_cuda_net_create(const vly_device_spec *device,
                               const vly_net_desc *desc,
                               const vly_snapshot *snapshot,
                               vly_backend_net **net, vly_error *error)
{
    vly_cuda_options wanted;
    vly_backend_net *made = NULL;
    vly_status status = vly_cuda_detect(error);
    if (status == VLY_OK)
        status = vly_common_supports_programs(desc, VLY_CUDA_PORTS, error);
    if (status == VLY_OK)
        status = vly_common_snapshot_check(desc, snapshot, error);
    if (status != VLY_OK)
        return status;
    uint32_t count = vly_cuda_device_count();
    if (device == NULL || device->index >= count)
        return vly_cuda_fail(error, VLY_E_DEVICE,
                             "cuda: device %u, but there are %u",
                             device != NULL ? device->index : 0, count);
    status = vly_cuda_options_read(device->options, &wanted, error);
    if (status == VLY_OK)
        status = vly_cuda_enter((int32_t)device->index, error);
    if (status == VLY_OK)
        status = net_alloc(1, &made, error);
    if (status != VLY_OK)
        return status;
    made->desc = desc;
    made->burst = snapshot->burst;
    made->wanted = wanted;
    vly_cuda_range_begin("volley net");
    for (uint32_t i = 0; i < made->n_shards && status == VLY_OK; i++)
        status = vly_cuda_shard_create(&made->shards[i], made,
                                       (int32_t)device->index, snapshot, error);
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
    for (uint32_t i = 0; i < net->n_shards; i++)
        if (net->shards[i].net != NULL) /* its creation began */
            vly_cuda_shard_destroy(&net->shards[i]);
    vly_common_heap heap = net->heap; /* the net is in this list too */
    vly_common_release_all(&heap);
}

vly_status vly_cuda_net_info(const vly_backend_net *net, vly_net_info *info,
                             vly_error *error)
{
    vly_status status = vly_common_check_info(info, error);
    if (status != VLY_OK)
        return status;
    uint64_t n_synapses = 0;
    info->n_threads = 1;
    info->host_bytes = 0;
    info->device_bytes = 0;
    for (uint32_t i = 0; i < net->n_shards; i++) {
        const vly_cuda_shard *shard = &net->shards[i];
        info->host_bytes += shard->heap.bytes + shard->pinned_bytes;
        info->device_bytes += shard->device_bytes;
        n_synapses += shard->store.n_synapses;
    }
    net->shards[0].plan->say(&net->shards[0],
                             n_synapses > 0 ? (double)n_synapses : 1.0, info);
    return VLY_OK;
}
