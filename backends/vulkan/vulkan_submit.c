/* SPDX-License-Identifier: Apache-2.0
 * Command buffers: copies, recorded and run at once, and the dispatches of many
 * bursts, recorded once and submitted again until a run needs another number of
 * bursts. A burst is two dispatches with a barrier after each:
 *     inputs, delivery | barrier | stimuli, update, spikes to the log | barrier
 * or one of all of it (vulkan_fused.c). Maps that learn add a dispatch beside
 * the first, and one before and one after both (vulkan_learning.c), those with
 * short-term plasticity one beside each (vulkan_short_term.c).
 */
#include "vulkan_program.h"

#include <string.h>

#include "vulkan_learning.h"
#include "vulkan_short_term.h"

#define MAX_DISPATCH 65535u /* work groups of one, on every device */

/* ---- queue ------------------------------------------------------------- */

static VkResult create_timestamps(vly_backend_net *net)
{
    const VkQueryPoolCreateInfo create = {
        .sType = VK_STRUCTURE_TYPE_QUERY_POOL_CREATE_INFO,
        .queryType = VK_QUERY_TYPE_TIMESTAMP,
        .queryCount = sizeof net->timestamps.at / sizeof net->timestamps.at[0]};
    if (net->device->timestamp_bits == 0)
        return VK_SUCCESS;
    return vkCreateQueryPool(net->device->device, &create, NULL,
                             &net->timestamps.pool);
}

vly_status vly_vulkan_queue_create(vly_backend_net *net, vly_error *error)
{
    VkDevice device = net->device->device;
    VkCommandBuffer buffers[3] = {VK_NULL_HANDLE};
    const VkCommandPoolCreateInfo pool = {
        .sType = VK_STRUCTURE_TYPE_COMMAND_POOL_CREATE_INFO,
        .flags = VK_COMMAND_POOL_CREATE_RESET_COMMAND_BUFFER_BIT,
        .queueFamilyIndex = net->device->family};
    const VkFenceCreateInfo fence = {.sType =
                                         VK_STRUCTURE_TYPE_FENCE_CREATE_INFO};
    VkResult result = vkCreateCommandPool(device, &pool, NULL, &net->pool);
    if (result == VK_SUCCESS)
        result = vkCreateFence(device, &fence, NULL, &net->fence);
    if (result == VK_SUCCESS)
        result = create_timestamps(net);
    const VkCommandBufferAllocateInfo allocate = {
        .sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_ALLOCATE_INFO,
        .commandPool = net->pool,
        .level = VK_COMMAND_BUFFER_LEVEL_PRIMARY,
        .commandBufferCount = 3};
    if (result == VK_SUCCESS)
        result = vkAllocateCommandBuffers(device, &allocate, buffers);
    net->once = buffers[0];
    net->commands.bursts = buffers[1];
    net->commands.sort = buffers[2];
    return vly_vulkan_check(net->device, result, "making a command queue",
                            error);
}

void vly_vulkan_queue_destroy(vly_backend_net *net)
{
    VkDevice device = net->device->device;
    vkDestroyCommandPool(device, net->pool, NULL);
    vkDestroyFence(device, net->fence, NULL);
    vkDestroyQueryPool(device, net->timestamps.pool, NULL);
}

vly_status vly_vulkan_submit(vly_backend_net *net,
                             const VkCommandBuffer *commands, uint32_t n,
                             const char *what, vly_error *error)
{
    vly_vulkan_device *device = net->device;
    if (net->params) /* nothing runs that could read it */
        memcpy(net->params->mapped, net->shown, sizeof *net->shown);
    const VkSubmitInfo submit = {.sType = VK_STRUCTURE_TYPE_SUBMIT_INFO,
                                 .commandBufferCount = n,
                                 .pCommandBuffers = commands};
    pthread_mutex_lock(&device->lock); /* nets share the queue */
    VkResult result = vkQueueSubmit(device->queue, 1, &submit, net->fence);
    pthread_mutex_unlock(&device->lock);
    if (result == VK_SUCCESS)
        result = vkWaitForFences(device->device, 1, &net->fence, VK_TRUE,
                                 UINT64_MAX);
    if (result == VK_SUCCESS)
        result = vkResetFences(device->device, 1, &net->fence);
    vly_status status = VLY_OK;
    VLY_TRY(vly_vulkan_check(device, result, what, error));
    VLY_TRY(vly_vulkan_validated(error));
out:
    return status;
}

/* ---- recording --------------------------------------------------------- */

static void memory_barrier(VkCommandBuffer commands, VkPipelineStageFlags from,
                           VkAccessFlags written, VkPipelineStageFlags to,
                           VkAccessFlags used)
{
    const VkMemoryBarrier barrier = {.sType = VK_STRUCTURE_TYPE_MEMORY_BARRIER,
                                     .srcAccessMask = written,
                                     .dstAccessMask = used};
    vkCmdPipelineBarrier(commands, from, to, 0, 1, &barrier, 0, NULL, 0, NULL);
}

static void dispatch_barrier(VkCommandBuffer commands)
{
    const VkPipelineStageFlags stage = VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT;
    memory_barrier(commands, stage, VK_ACCESS_SHADER_WRITE_BIT, stage,
                   VK_ACCESS_SHADER_READ_BIT | VK_ACCESS_SHADER_WRITE_BIT);
}

void vly_vulkan_barrier(VkCommandBuffer commands)
{
    const VkPipelineStageFlags stages =
        VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT | VK_PIPELINE_STAGE_TRANSFER_BIT;
    memory_barrier(
        commands, stages,
        VK_ACCESS_SHADER_WRITE_BIT | VK_ACCESS_TRANSFER_WRITE_BIT, stages,
        VK_ACCESS_SHADER_READ_BIT | VK_ACCESS_SHADER_WRITE_BIT |
            VK_ACCESS_TRANSFER_READ_BIT | VK_ACCESS_TRANSFER_WRITE_BIT);
}

/* A fence alone does not make writes visible to the host. */
static void host_barrier(VkCommandBuffer commands)
{
    memory_barrier(commands,
                   VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT |
                       VK_PIPELINE_STAGE_TRANSFER_BIT,
                   VK_ACCESS_SHADER_WRITE_BIT | VK_ACCESS_TRANSFER_WRITE_BIT,
                   VK_PIPELINE_STAGE_HOST_BIT, VK_ACCESS_HOST_READ_BIT);
}

static vly_status begin(vly_backend_net *net, VkCommandBuffer commands,
                        VkCommandBufferUsageFlags flags, vly_error *error)
{
    const VkCommandBufferBeginInfo info = {
        .sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_BEGIN_INFO, .flags = flags};
    vly_status status = VLY_OK;
    VLY_TRY(vly_vulkan_check(net->device, vkBeginCommandBuffer(commands, &info),
                             "recording commands", error));
    /* after whatever was submitted before */
    vly_vulkan_barrier(commands);
out:
    return status;
}

static vly_status end(vly_backend_net *net, VkCommandBuffer commands,
                      vly_error *error)
{
    host_barrier(commands);
    return vly_vulkan_check(net->device, vkEndCommandBuffer(commands),
                            "recording commands", error);
}

vly_status vly_vulkan_once(vly_backend_net *net, vly_error *error)
{
    return begin(net, net->once, VK_COMMAND_BUFFER_USAGE_ONE_TIME_SUBMIT_BIT,
                 error);
}

vly_status vly_vulkan_once_end(vly_backend_net *net, const char *what,
                               vly_error *error)
{
    vly_status status = VLY_OK;
    VLY_TRY(end(net, net->once, error));
    VLY_TRY(vly_vulkan_submit(net, &net->once, 1, what, error));
out:
    return status;
}

void vly_vulkan_dispatch(vly_backend_net *net, VkCommandBuffer commands,
                         VkPipeline pipeline, vly_vulkan_push push,
                         uint32_t groups)
{
    push.view = net->params->address;
    vkCmdBindPipeline(commands, VK_PIPELINE_BIND_POINT_COMPUTE, pipeline);
    vkCmdPushConstants(commands, net->device->layout,
                       VK_SHADER_STAGE_COMPUTE_BIT, 0, sizeof push, &push);
    vkCmdDispatch(commands, groups, 1, 1);
}

/* ---- bursts ------------------------------------------------------------ */

static uint32_t delivery_shader(const vly_backend_net *net)
{
    return net->is_sliced ? VLY_VULKAN_SLICES : VLY_VULKAN_DELIVER;
}

/* Whether the bursts of a net use it */
static bool is_used(const vly_backend_net *net, uint32_t shader)
{
    if (shader < VLY_VULKAN_N_MODELS)
        return net->tiles[shader].n > 0 && !net->is_fused;
    if (shader >= VLY_VULKAN_PROGRAM_FUSED)
        return false;
    if (shader >= VLY_VULKAN_FUSED)
        return net->is_fused && net->tiles[shader - VLY_VULKAN_FUSED].n > 0;
    return shader == VLY_VULKAN_SORT || vly_vulkan_learning_uses(net, shader) ||
           vly_vulkan_short_term_uses(net, shader) ||
           (shader == delivery_shader(net) && !net->is_fused);
}

static vly_status get_pipelines(vly_backend_net *net, VkPipeline *pipelines,
                                vly_error *error)
{
    vly_status status = VLY_OK;
    for (uint32_t i = 0; i < VLY_VULKAN_N_SHADERS; i++)
        if (is_used(net, i))
            VLY_TRY(vly_vulkan_pipeline_get(net->device, &net->pipelines,
                                            &net->shape, i, &pipelines[i],
                                            error));
out:
    return status;
}

static void stamp(vly_backend_net *net, VkCommandBuffer commands, uint32_t i)
{
    if (net->timestamps.pool != VK_NULL_HANDLE)
        vkCmdWriteTimestamp(commands, VK_PIPELINE_STAGE_BOTTOM_OF_PIPE_BIT,
                            net->timestamps.pool, i);
}

static void record_delivery(vly_backend_net *net, VkCommandBuffer commands,
                            const VkPipeline *pipelines, uint32_t k)
{
    const vly_vulkan_view *view = net->view;
    vly_vulkan_dispatch(net, commands, pipelines[delivery_shader(net)],
                        (vly_vulkan_push){.k = k},
                        net->is_sliced ? view->n_slices * view->n_copies
                                       : net->shape.groups);
}

/* first: VLY_VULKAN_UPDATE or VLY_VULKAN_FUSED */
static VkPipeline kind_pipeline(const vly_backend_net *net,
                                const VkPipeline *pipelines, uint32_t first,
                                uint32_t kind)
{
    return kind < VLY_VULKAN_N_MODELS ? pipelines[first + kind]
                                      : vly_vulkan_program_pipeline(net, kind);
}

static void record_updates(vly_backend_net *net, VkCommandBuffer commands,
                           const VkPipeline *pipelines, uint32_t k)
{
    for (uint32_t m = 0; m < net->n_kinds; m++) {
        const vly_vulkan_model_tiles *tiles = &net->tiles[m];
        if (tiles->n > 0)
            vly_vulkan_dispatch(
                net, commands,
                kind_pipeline(net, pipelines, VLY_VULKAN_UPDATE, m),
                (vly_vulkan_push){
                    .k = k, .first = tiles->first, .count = tiles->n},
                tiles->n < MAX_DISPATCH ? tiles->n : MAX_DISPATCH);
    }
}

/* Both in one; all areas have one model. */
static void record_fused(vly_backend_net *net, VkCommandBuffer commands,
                         const VkPipeline *pipelines, uint32_t k)
{
    for (uint32_t m = 0; m < net->n_kinds; m++)
        if (net->tiles[m].n > 0)
            vly_vulkan_dispatch(
                net, commands,
                kind_pipeline(net, pipelines, VLY_VULKAN_FUSED, m),
                (vly_vulkan_push){.k = k}, net->view->n_slices);
}

/* Delivery, then the update of each model. */
static void record_burst(vly_backend_net *net, VkCommandBuffer commands,
                         const VkPipeline *pipelines, uint32_t k, bool timed)
{
    if (timed)
        stamp(net, commands, 2);
    if (net->plastic.n > 0) {
        vly_vulkan_learning_flush(net, commands, pipelines, k);
        dispatch_barrier(commands);
        vly_vulkan_learning_deliver(net, commands, pipelines, k);
    }
    vly_vulkan_short_term_deliver(net, commands, pipelines, k);
    if (net->is_fused)
        record_fused(net, commands, pipelines, k);
    else
        record_delivery(net, commands, pipelines, k);
    dispatch_barrier(commands);
    if (timed)
        stamp(net, commands, 3);
    if (!net->is_fused) {
        vly_vulkan_short_term_states(net, commands, pipelines, k);
        record_updates(net, commands, pipelines, k);
        dispatch_barrier(commands);
    }
    if (net->plastic.n > 0) {
        vly_vulkan_learning_events(net, commands, pipelines, k);
        dispatch_barrier(commands);
    }
    if (net->plastic.modulates) {
        vly_vulkan_learning_modulate(net, commands, pipelines, k);
        dispatch_barrier(commands);
    }
    if (timed)
        stamp(net, commands, 4);
}

/* Copies all records and the spikes by area to memory that the host reads, then
 * resets the spikes by area. */
static void record_results(vly_backend_net *net, VkCommandBuffer commands)
{
    const VkBufferCopy records = {0, 0, net->records->bytes};
    const VkBufferCopy spikes = {0, net->records->bytes,
                                 net->area_spikes->bytes};
    vly_vulkan_barrier(commands);
    vkCmdCopyBuffer(commands, net->records->buffer, net->results->buffer, 1,
                    &records);
    vkCmdCopyBuffer(commands, net->area_spikes->buffer, net->results->buffer, 1,
                    &spikes);
    vly_vulkan_barrier(commands);
    vkCmdFillBuffer(commands, net->area_spikes->buffer, 0, VK_WHOLE_SIZE, 0);
}

static vly_status record_bursts(vly_backend_net *net, uint32_t n_bursts,
                                vly_error *error)
{
    VkCommandBuffer commands = net->commands.bursts;
    VkPipeline pipelines[VLY_VULKAN_N_SHADERS] = {VK_NULL_HANDLE};
    vly_status status = VLY_OK;
    VLY_TRY(get_pipelines(net, pipelines, error));
    VLY_TRY(begin(net, commands, 0, error));
    if (net->timestamps.pool != VK_NULL_HANDLE)
        vkCmdResetQueryPool(commands, net->timestamps.pool, 0, 5);
    stamp(net, commands, 0);
    for (uint32_t k = 0; k < n_bursts; k++)
        record_burst(net, commands, pipelines, k, k == n_bursts / 2);
    stamp(net, commands, 1);
    record_results(net, commands);
    status = end(net, commands, error);
out:
    return status;
}

vly_status vly_vulkan_record_sort(vly_backend_net *net,
                                  VkCommandBuffer commands, uint32_t n_bursts,
                                  vly_error *error)
{
    VkPipeline pipeline = VK_NULL_HANDLE;
    vly_status status = VLY_OK;
    VLY_TRY(vly_vulkan_pipeline_get(net->device, &net->pipelines, &net->shape,
                                    VLY_VULKAN_SORT, &pipeline, error));
    for (uint32_t at = 0; at < n_bursts;) {
        uint32_t n = n_bursts - at;
        n = n < MAX_DISPATCH ? n : MAX_DISPATCH;
        vly_vulkan_dispatch(net, commands, pipeline,
                            (vly_vulkan_push){.first = at}, n);
        at += n;
    }
out:
    return status;
}

vly_status vly_vulkan_record_bursts(vly_backend_net *net, uint32_t n_bursts,
                                    vly_error *error)
{
    vly_vulkan_commands *commands = &net->commands;
    /* each burst beyond the end of the run costs two empty dispatches */
    if (commands->n_bursts >= n_bursts &&
        commands->n_bursts - n_bursts <= n_bursts / 4)
        return VLY_OK;
    commands->n_bursts = 0;
    vly_status status = VLY_OK;
    VLY_TRY(record_bursts(net, n_bursts, error));
    VLY_TRY(begin(net, commands->sort, 0, error));
    VLY_TRY(vly_vulkan_record_sort(net, commands->sort, n_bursts, error));
    VLY_TRY(end(net, commands->sort, error));
    commands->n_bursts = n_bursts;
out:
    return status;
}
