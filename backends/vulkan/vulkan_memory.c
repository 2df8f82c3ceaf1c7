/* SPDX-License-Identifier: Apache-2.0
 * Memory of the device, and copies to and from it. Every buffer of a net is
 * in a list, so that a net that could be made only in part is freed like a
 * whole one.
 */
#include "vulkan_net.h"

#include <string.h>

/* A copy goes through it in pieces of this size. */
#define STAGING_BYTES (UINT64_C(4) << 20)

/* ---- which memory ------------------------------------------------------ */

#define HOST_FLAGS                                                             \
    (VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT | VK_MEMORY_PROPERTY_HOST_COHERENT_BIT)

/* Flags by kind: wanted, and then what will do. */
static const VkMemoryPropertyFlags flags_of[3][2] = {
    [VLY_VULKAN_ON_DEVICE] = {VK_MEMORY_PROPERTY_DEVICE_LOCAL_BIT, 0},
    [VLY_VULKAN_TO_DEVICE] = {VK_MEMORY_PROPERTY_DEVICE_LOCAL_BIT | HOST_FLAGS,
                              HOST_FLAGS},
    [VLY_VULKAN_TO_HOST] = {VK_MEMORY_PROPERTY_HOST_CACHED_BIT | HOST_FLAGS,
                            HOST_FLAGS},
};

/* The first type that has the flags; UINT32_MAX if there is none. */
static uint32_t find_type(const vly_vulkan_device *device, uint32_t allowed,
                          VkMemoryPropertyFlags flags)
{
    for (uint32_t i = 0; i < device->memory.memoryTypeCount; i++)
        if ((allowed >> i & 1) != 0 &&
            (device->memory.memoryTypes[i].propertyFlags & flags) == flags)
            return i;
    return UINT32_MAX;
}

/* What the driver says is free in the heap of a type, without its budget the
 * heap less what the net has taken. */
static uint64_t available_bytes(const vly_backend_net *net, uint32_t type)
{
    const vly_vulkan_device *device = net->device;
    uint32_t heap = device->memory.memoryTypes[type].heapIndex;
    uint64_t size = device->memory.memoryHeaps[heap].size;
    uint64_t used = net->device_bytes;
    if (device->has_budget) {
        VkPhysicalDeviceMemoryBudgetPropertiesEXT budget = {
            .sType =
                VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_MEMORY_BUDGET_PROPERTIES_EXT};
        VkPhysicalDeviceMemoryProperties2 properties = {
            .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_MEMORY_PROPERTIES_2,
            .pNext = &budget};
        vkGetPhysicalDeviceMemoryProperties2(device->physical, &properties);
        size = budget.heapBudget[heap];
        used = budget.heapUsage[heap];
    }
    uint64_t left = used < size ? size - used : 0;
    uint64_t limit = net->device_limit > net->device_bytes
                         ? net->device_limit - net->device_bytes
                         : 0;
    return left < limit ? left : limit;
}

static const char *where(uint32_t kind)
{
    return kind == VLY_VULKAN_ON_DEVICE ? " on the device"
                                        : " that host and device share";
}

/* ---- buffers ----------------------------------------------------------- */

static VkResult bind_memory(const vly_vulkan_device *device,
                            vly_vulkan_buffer *buffer, uint64_t bytes,
                            uint32_t type)
{
    const VkMemoryAllocateFlagsInfo flags = {
        .sType = VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_FLAGS_INFO,
        .flags = VK_MEMORY_ALLOCATE_DEVICE_ADDRESS_BIT};
    const VkMemoryAllocateInfo allocate = {
        .sType = VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_INFO,
        .pNext = &flags,
        .allocationSize = bytes,
        .memoryTypeIndex = type};
    VkResult result =
        vkAllocateMemory(device->device, &allocate, NULL, &buffer->memory);
    if (result == VK_SUCCESS)
        result = vkBindBufferMemory(device->device, buffer->buffer,
                                    buffer->memory, 0);
    if (result == VK_SUCCESS && buffer->kind != VLY_VULKAN_ON_DEVICE)
        result = vkMapMemory(device->device, buffer->memory, 0, VK_WHOLE_SIZE,
                             0, &buffer->mapped);
    if (result != VK_SUCCESS) { /* another type may follow */
        vkFreeMemory(device->device, buffer->memory, NULL);
        buffer->memory = VK_NULL_HANDLE;
    }
    return result;
}

/* Memory for the buffer of the first type that has room. */
static vly_status find_memory(vly_backend_net *net, vly_vulkan_buffer *buffer,
                              vly_error *error)
{
    vly_vulkan_device *device = net->device;
    VkMemoryRequirements needs;
    VkResult result = VK_ERROR_OUT_OF_DEVICE_MEMORY;
    uint64_t available = 0;
    vkGetBufferMemoryRequirements(device->device, buffer->buffer, &needs);
    for (uint32_t i = 0; i < 2 && result == VK_ERROR_OUT_OF_DEVICE_MEMORY;
         i++) {
        uint32_t type =
            find_type(device, needs.memoryTypeBits, flags_of[buffer->kind][i]);
        if (type == UINT32_MAX)
            continue;
        available = available_bytes(net, type);
        if (needs.size <= available)
            result = bind_memory(device, buffer, needs.size, type);
        /* a device does without memory of its own only where it has none */
        if (buffer->kind == VLY_VULKAN_ON_DEVICE)
            break;
    }
    if (result == VK_ERROR_OUT_OF_DEVICE_MEMORY ||
        result == VK_ERROR_TOO_MANY_OBJECTS ||
        result == VK_ERROR_MEMORY_MAP_FAILED)
        return vly_common_fail_memory(buffer->bytes, available,
                                      where(buffer->kind), error);
    return vly_vulkan_check(device, result, "allocating memory", error);
}

static vly_status fill_buffer(vly_backend_net *net, vly_vulkan_buffer *buffer,
                              vly_error *error)
{
    vly_vulkan_device *device = net->device;
    const VkBufferCreateInfo create = {
        .sType = VK_STRUCTURE_TYPE_BUFFER_CREATE_INFO,
        .size = buffer->bytes,
        .usage = VK_BUFFER_USAGE_STORAGE_BUFFER_BIT |
                 VK_BUFFER_USAGE_TRANSFER_SRC_BIT |
                 VK_BUFFER_USAGE_TRANSFER_DST_BIT |
                 VK_BUFFER_USAGE_SHADER_DEVICE_ADDRESS_BIT};
    vly_status status = vly_vulkan_check(
        device, vkCreateBuffer(device->device, &create, NULL, &buffer->buffer),
        "making a buffer", error);
    if (status == VLY_OK)
        status = find_memory(net, buffer, error);
    if (status != VLY_OK)
        return status;
    const VkBufferDeviceAddressInfo of = {
        .sType = VK_STRUCTURE_TYPE_BUFFER_DEVICE_ADDRESS_INFO,
        .buffer = buffer->buffer};
    buffer->address = vkGetBufferDeviceAddress(device->device, &of);
    if (buffer->mapped != NULL) {
        memset(buffer->mapped, 0, (size_t)buffer->bytes);
        return VLY_OK;
    }
    status = vly_vulkan_once(net, error);
    if (status != VLY_OK)
        return status;
    vkCmdFillBuffer(net->once, buffer->buffer, 0, VK_WHOLE_SIZE, 0);
    return vly_vulkan_once_end(net, "clearing memory", error);
}

static void buffer_free(vly_backend_net *net, vly_vulkan_buffer *buffer)
{
    vkDestroyBuffer(net->device->device, buffer->buffer, NULL);
    vkFreeMemory(net->device->device, buffer->memory, NULL);
    vly_common_release(&net->heap, buffer);
}

vly_status vly_vulkan_buffer_create(vly_backend_net *net, uint32_t kind,
                                    uint64_t count, uint64_t size,
                                    vly_vulkan_buffer **buffer,
                                    vly_error *error)
{
    vly_vulkan_buffer *made = NULL;
    uint64_t most = net->device->allocation_max;
    uint64_t words = count * size > 0 ? (count * size + 3) / 4 : 1;
    if (size != 0 && count > UINT64_MAX / 2 / size)
        return vly_common_fail_memory(UINT64_MAX, most, where(kind), error);
    if (words > most / 4)
        return vly_common_fail_memory(words * 4, most, where(kind), error);
    vly_status status =
        vly_common_alloc(&net->heap, 1, sizeof *made, &made, error);
    if (status != VLY_OK)
        return status;
    made->bytes = words * 4; /* what a fill can do */
    made->kind = kind;
    status = fill_buffer(net, made, error);
    if (status != VLY_OK) {
        buffer_free(net, made);
        return status;
    }
    made->next = net->buffers;
    net->buffers = made;
    if (kind == VLY_VULKAN_ON_DEVICE)
        net->device_bytes += made->bytes;
    else
        net->pinned_bytes += made->bytes;
    *buffer = made;
    return VLY_OK;
}

void vly_vulkan_buffer_release(vly_backend_net *net, vly_vulkan_buffer *buffer)
{
    vly_vulkan_buffer **at = &net->buffers;
    while (*at != NULL && *at != buffer)
        at = &(*at)->next;
    if (buffer == NULL || *at == NULL)
        return;
    *at = buffer->next;
    if (buffer->kind == VLY_VULKAN_ON_DEVICE)
        net->device_bytes -= buffer->bytes;
    else
        net->pinned_bytes -= buffer->bytes;
    buffer_free(net, buffer);
}

void vly_vulkan_release_all(vly_backend_net *net)
{
    while (net->buffers != NULL)
        vly_vulkan_buffer_release(net, net->buffers);
    vly_common_release_all(&net->heap);
}

/* ---- copies ------------------------------------------------------------ */

static vly_status copy(vly_backend_net *net, const vly_vulkan_buffer *from,
                       uint64_t from_offset, const vly_vulkan_buffer *to,
                       uint64_t to_offset, uint64_t bytes, const char *what,
                       vly_error *error)
{
    const VkBufferCopy range = {from_offset, to_offset, bytes};
    vly_status status = vly_vulkan_once(net, error);
    if (status != VLY_OK)
        return status;
    vkCmdCopyBuffer(net->once, from->buffer, to->buffer, 1, &range);
    return vly_vulkan_once_end(net, what, error);
}

static vly_status open_staging(vly_backend_net *net, uint32_t kind,
                               vly_vulkan_buffer **staging, vly_error *error)
{
    if (*staging != NULL)
        return VLY_OK;
    return vly_vulkan_buffer_create(net, kind, STAGING_BYTES, 1, staging,
                                    error);
}

vly_status vly_vulkan_upload(vly_backend_net *net, vly_vulkan_buffer *to,
                             uint64_t offset, const void *words, uint64_t bytes,
                             vly_error *error)
{
    vly_status status =
        open_staging(net, VLY_VULKAN_TO_DEVICE, &net->staging, error);
    for (uint64_t at = 0; at < bytes && status == VLY_OK;) {
        uint64_t n = bytes - at < STAGING_BYTES ? bytes - at : STAGING_BYTES;
        memcpy(net->staging->mapped, (const uint8_t *)words + at, (size_t)n);
        status = copy(net, net->staging, 0, to, offset + at, n,
                      "copy to the device", error);
        at += n;
    }
    return status;
}

vly_status vly_vulkan_download(vly_backend_net *net, void *words,
                               const vly_vulkan_buffer *from, uint64_t offset,
                               uint64_t bytes, vly_error *error)
{
    vly_status status =
        open_staging(net, VLY_VULKAN_TO_HOST, &net->reading, error);
    for (uint64_t at = 0; at < bytes && status == VLY_OK;) {
        uint64_t n = bytes - at < STAGING_BYTES ? bytes - at : STAGING_BYTES;
        status = copy(net, from, offset + at, net->reading, 0, n,
                      "copy from the device", error);
        if (status == VLY_OK)
            memcpy((uint8_t *)words + at, net->reading->mapped, (size_t)n);
        at += n;
    }
    return status;
}
