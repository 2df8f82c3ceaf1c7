/* SPDX-License-Identifier: Apache-2.0
 * Memory of the device, and copies to and from it. Every buffer of a net is in
 * a list, so that a net that could be made only in part is freed like a whole
 * one. Memory comes from the host's policy (plugins/support), which calls the
 * allocators here; memory that the device shares with the host is in the
 * account of the host.
 */
#include "vulkan_net.h"

#include <string.h>

/* A copy goes through it in pieces of this size. */
#define STAGING_BYTES (UINT64_C(4) << 20)

/* ---- which memory ------------------------------------------------------ */

#define HOST_FLAGS                                                             \
    (VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT | VK_MEMORY_PROPERTY_HOST_COHERENT_BIT)

/* Flags by kind: first the preferred ones, then the required ones. */
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

static const char *where(uint32_t kind)
{
    return kind == VLY_VULKAN_ON_DEVICE ? " on the device"
                                        : " that host and device share";
}

/* ---- allocators -------------------------------------------------------- */

/* A block of memory as the policy stores it. Its kind: the memory type, and
 * whether the host has mapped it. */
typedef struct vulkan_memory {
    VkDeviceMemory memory;
    void *mapped;
    uint64_t bytes;
} vulkan_memory;

enum { KIND_MAPPED = VK_MAX_MEMORY_TYPES };
/* Lower limit of any block, so that a failure to allocate less is a failure of
 * the host's records. */
#define LEAST_BYTES UINT64_C(512)
_Static_assert(sizeof(vulkan_memory) < LEAST_BYTES, "a record is smaller");

static uint32_t heap_of(const vly_vulkan_device *device, uint32_t kind)
{
    return device->memory.memoryTypes[kind % KIND_MAPPED].heapIndex;
}

/* Free bytes of the heap as the driver reports them (VK_EXT_memory_budget);
 * without that, the size of the heap less the memory of all nets. */
static uint64_t available_bytes(const vly_vulkan_device *device, uint32_t heap)
{
    uint64_t size = device->memory.memoryHeaps[heap].size;
    uint64_t used = atomic_load(&device->taken[heap]);
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
    return used < size ? size - used : 0;
}

static VkResult allocate(const vly_vulkan_device *device, uint32_t kind,
                         vulkan_memory *made)
{
    const VkMemoryAllocateFlagsInfo flags = {
        .sType = VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_FLAGS_INFO,
        .flags = VK_MEMORY_ALLOCATE_DEVICE_ADDRESS_BIT};
    const VkMemoryAllocateInfo wanted = {
        .sType = VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_INFO,
        .pNext = &flags,
        .allocationSize = made->bytes,
        .memoryTypeIndex = kind % KIND_MAPPED};
    VkResult result =
        vkAllocateMemory(device->device, &wanted, NULL, &made->memory);
    if (result == VK_SUCCESS && kind >= KIND_MAPPED) {
        result = vkMapMemory(device->device, made->memory, 0, VK_WHOLE_SIZE, 0,
                             &made->mapped);
        if (result != VK_SUCCESS)
            vkFreeMemory(device->device, made->memory, NULL);
    }
    return result;
}

static vly_status raw_alloc(void *context, uint32_t kind, uint64_t bytes,
                            void **memory, vly_error *error)
{
    vly_vulkan_device *device = context;
    uint32_t heap = heap_of(device, kind);
    uint64_t available = available_bytes(device, heap);
    VkResult result = VK_ERROR_OUT_OF_DEVICE_MEMORY;
    vulkan_memory *made =
        vly_support_host->alloc(vly_support_host->context, sizeof *made, 8);
    if (!made)
        return vly_support_fail_memory(sizeof *made, 0, "", error);
    /* a size class may be larger than the largest block */
    *made = (vulkan_memory){.bytes = bytes < device->allocation_max
                                         ? bytes
                                         : device->allocation_max};
    if (made->bytes <= available)
        result = allocate(device, kind, made);
    if (result == VK_SUCCESS) {
        atomic_fetch_add(&device->taken[heap], made->bytes);
        *memory = made;
        return VLY_OK;
    }
    vly_support_host->free(vly_support_host->context, made);
    if (result == VK_ERROR_OUT_OF_DEVICE_MEMORY ||
        result == VK_ERROR_TOO_MANY_OBJECTS ||
        result == VK_ERROR_MEMORY_MAP_FAILED)
        return vly_support_fail_memory(bytes, available,
                                       where(kind < KIND_MAPPED
                                                 ? VLY_VULKAN_ON_DEVICE
                                                 : VLY_VULKAN_TO_DEVICE),
                                       error);
    return vly_vulkan_check(device, result, "allocating memory", error);
}

static void raw_free(void *context, uint32_t kind, void *memory)
{
    vly_vulkan_device *device = context;
    vulkan_memory *block = memory;
    vkFreeMemory(device->device, block->memory, NULL);
    atomic_fetch_sub(&device->taken[heap_of(device, kind)], block->bytes);
    vly_support_host->free(vly_support_host->context, block);
}

static uint64_t raw_total(void *context)
{
    const vly_vulkan_device *device = context;
    uint64_t bytes = 0;
    for (uint32_t i = 0; i < device->memory.memoryHeapCount; i++)
        if ((device->memory.memoryHeaps[i].flags &
             VK_MEMORY_HEAP_DEVICE_LOCAL_BIT) != 0)
            bytes += device->memory.memoryHeaps[i].size;
    return bytes;
}

vly_status vly_vulkan_memory_open(vly_vulkan_device *device, uint32_t index,
                                  vly_error *error)
{
    vly_device_allocator raw = {.struct_size = sizeof raw,
                                .context = device,
                                .alloc = raw_alloc,
                                .free = raw_free,
                                .total = raw_total};
    vly_status status =
        vly_support_account_open(&device->own, &raw, index, error);
    raw.device = "host";
    raw.total = NULL;
    if (status == VLY_OK)
        status = vly_support_account_open(&device->shared, &raw, 0, error);
    if (status != VLY_OK)
        vly_support_account_close(&device->own);
    return status;
}

void vly_vulkan_memory_close(vly_vulkan_device *device)
{
    vly_support_account_close(&device->shared);
    vly_support_account_close(&device->own);
}

/* ---- buffers ----------------------------------------------------------- */

static vly_support_account *account_of(vly_vulkan_device *device, uint32_t kind)
{
    uint32_t heap = heap_of(device, kind);
    int own = (device->memory.memoryHeaps[heap].flags &
               VK_MEMORY_HEAP_DEVICE_LOCAL_BIT) != 0;
    return own ? &device->own : &device->shared;
}

static void memory_give(vly_vulkan_device *device, vly_vulkan_buffer *buffer)
{
    vly_support_account_give(account_of(device, buffer->memory_kind),
                             buffer->memory_kind, buffer->memory);
    buffer->memory = NULL;
    buffer->mapped = NULL;
}

/* Memory of this kind for the buffer. */
static vly_status memory_take(vly_vulkan_device *device,
                              vly_vulkan_buffer *buffer, uint64_t bytes,
                              uint32_t kind, vly_error *error)
{
    void *memory = NULL;
    vly_status status = VLY_OK;
    VLY_TRY(vly_support_account_take(account_of(device, kind), kind, bytes,
                                     VLY_QOS_GUARANTEED, &memory, error));
    const vulkan_memory *block = memory;
    buffer->memory = memory;
    buffer->memory_kind = kind;
    buffer->mapped = block->mapped;
    VkResult result =
        vkBindBufferMemory(device->device, buffer->buffer, block->memory, 0);
    if (result == VK_ERROR_OUT_OF_DEVICE_MEMORY)
        status = vly_support_fail_memory(bytes, 0, where(buffer->kind), error);
    else
        status = vly_vulkan_check(device, result, "binding memory", error);
    if (status != VLY_OK)
        memory_give(device, buffer);
out:
    return status;
}

/* Memory for the buffer, from the first type that has room. */
static vly_status find_memory(vly_backend_net *net, vly_vulkan_buffer *buffer,
                              vly_error *error)
{
    vly_vulkan_device *device = net->device;
    VkMemoryRequirements needs;
    uint64_t left = net->device_limit > net->device_bytes
                        ? net->device_limit - net->device_bytes
                        : 0;
    vkGetBufferMemoryRequirements(device->device, buffer->buffer, &needs);
    left = left < device->allocation_max ? left : device->allocation_max;
    if (needs.size > left)
        return vly_support_fail_memory(buffer->bytes, left, where(buffer->kind),
                                       error);
    vly_error said = {.struct_size = sizeof said};
    vly_support_fail_memory(buffer->bytes, 0, where(buffer->kind), &said);
    uint64_t bytes = needs.size > LEAST_BYTES ? needs.size : LEAST_BYTES;
    vly_status status = VLY_E_NOMEM;
    for (uint32_t i = 0; i < 2 && status == VLY_E_NOMEM; i++) {
        uint32_t type =
            find_type(device, needs.memoryTypeBits, flags_of[buffer->kind][i]);
        uint32_t mapped =
            buffer->kind == VLY_VULKAN_ON_DEVICE ? 0 : KIND_MAPPED;
        if (type == UINT32_MAX)
            continue;
        status = memory_take(device, buffer, bytes, type + mapped, &said);
        /* fall back to another type only if the device memory is full; another
         * type does not help if the host has no memory for records */
        if (buffer->kind == VLY_VULKAN_ON_DEVICE ||
            said.bytes_requested < LEAST_BYTES)
            break;
    }
    if (status != VLY_OK && error) {
        vly_support_fail(error, status, "%s", said.message);
        error->bytes_requested = said.bytes_requested;
        error->bytes_available = said.bytes_available;
    }
    return status;
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
    vly_status status = VLY_OK;
    VLY_TRY(vly_vulkan_check(
        device, vkCreateBuffer(device->device, &create, NULL, &buffer->buffer),
        "making a buffer", error));
    VLY_TRY(find_memory(net, buffer, error));
    const VkBufferDeviceAddressInfo of = {
        .sType = VK_STRUCTURE_TYPE_BUFFER_DEVICE_ADDRESS_INFO,
        .buffer = buffer->buffer};
    buffer->address = vkGetBufferDeviceAddress(device->device, &of);
    if (buffer->mapped) {
        memset(buffer->mapped, 0, (size_t)buffer->bytes);
        return VLY_OK;
    }
    VLY_TRY(vly_vulkan_once(net, error));
    vkCmdFillBuffer(net->once, buffer->buffer, 0, VK_WHOLE_SIZE, 0);
    status = vly_vulkan_once_end(net, "clearing memory", error);
out:
    return status;
}

static void buffer_free(vly_backend_net *net, vly_vulkan_buffer *buffer)
{
    vkDestroyBuffer(net->device->device, buffer->buffer, NULL);
    memory_give(net->device, buffer);
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
        return vly_support_fail_memory(UINT64_MAX, most, where(kind), error);
    if (words > most / 4)
        return vly_support_fail_memory(words * 4, most, where(kind), error);
    vly_status status = VLY_OK;
    VLY_TRY(vly_common_alloc(&net->heap, 1, sizeof *made, &made, error));
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
out:
    return status;
}

void vly_vulkan_buffer_release(vly_backend_net *net, vly_vulkan_buffer *buffer)
{
    vly_vulkan_buffer **at = &net->buffers;
    while (*at && *at != buffer)
        at = &(*at)->next;
    if (!buffer || !*at)
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
    while (net->buffers)
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
    vly_status status = VLY_OK;
    VLY_TRY(vly_vulkan_once(net, error));
    vkCmdCopyBuffer(net->once, from->buffer, to->buffer, 1, &range);
    status = vly_vulkan_once_end(net, what, error);
out:
    return status;
}

static vly_status open_staging(vly_backend_net *net, uint32_t kind,
                               vly_vulkan_buffer **staging, vly_error *error)
{
    if (*staging)
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
