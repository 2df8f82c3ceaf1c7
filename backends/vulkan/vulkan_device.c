/* SPDX-License-Identifier: Apache-2.0
 * Lists devices, checks their features, and opens one. Graphics cards have the
 * first numbers and processors the last, so vulkan:0 is not an emulation if
 * there is a card.
 */
#include "vulkan_device.h"

#include <stdio.h>
#include <string.h>

#include "backends/common/backend_common.h"

#define MAX_DEVICES 16u
#define CPU_RANK 4u /* the last */

static VkInstance instance;
static VkPhysicalDevice physicals[MAX_DEVICES];
static uint32_t n_physicals;
/* all 0 until it is opened */
static vly_vulkan_device devices[MAX_DEVICES];
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* for opening */

/* ---- errors ------------------------------------------------------------ */

static const char *result_text(VkResult result)
{
    switch (result) {
    case VK_ERROR_OUT_OF_HOST_MEMORY:
        return "out of host memory";
    case VK_ERROR_OUT_OF_DEVICE_MEMORY:
        return "out of device memory";
    case VK_ERROR_INITIALIZATION_FAILED:
        return "initialization failed";
    case VK_ERROR_DEVICE_LOST:
        return "device lost";
    case VK_ERROR_INCOMPATIBLE_DRIVER:
        return "incompatible driver";
    case VK_ERROR_LAYER_NOT_PRESENT:
        return "layer not present";
    case VK_ERROR_EXTENSION_NOT_PRESENT:
        return "extension not present";
    case VK_ERROR_FEATURE_NOT_PRESENT:
        return "feature not present";
    case VK_ERROR_TOO_MANY_OBJECTS:
        return "too many objects";
    default:
        return "an error that has no name here";
    }
}

static vly_status fail_dead(const vly_vulkan_device *device, vly_error *error)
{
    return vly_support_fail(error, VLY_E_DEVICE,
                            "the Vulkan device failed and answers no more in "
                            "this process: %s",
                            device->dead);
}

vly_status vly_vulkan_check(vly_vulkan_device *device, VkResult result,
                            const char *what, vly_error *error)
{
    if (result >= VK_SUCCESS)
        return VLY_OK;
    if (result == VK_ERROR_OUT_OF_HOST_MEMORY)
        return vly_support_fail(error, VLY_E_NOMEM,
                                "out of memory on the host: %s", what);
    if (result != VK_ERROR_DEVICE_LOST || !device)
        return vly_support_fail(error, VLY_E_DEVICE, "%s: %s (%d)", what,
                                result_text(result), (int)result);
    pthread_mutex_lock(&device->lock);
    if (device->dead[0] == 0)
        snprintf(device->dead, sizeof device->dead, "%s: %s", what,
                 result_text(result));
    pthread_mutex_unlock(&device->lock);
    return fail_dead(device, error);
}

vly_status vly_vulkan_enter(vly_vulkan_device *device, vly_error *error)
{
    pthread_mutex_lock(&device->lock);
    bool is_dead = device->dead[0] != 0;
    pthread_mutex_unlock(&device->lock);
    return is_dead ? fail_dead(device, error) : vly_vulkan_validated(error);
}

/* ---- the list ---------------------------------------------------------- */

static uint32_t rank_of(VkPhysicalDevice physical)
{
    VkPhysicalDeviceProperties properties;
    vkGetPhysicalDeviceProperties(physical, &properties);
    switch (properties.deviceType) {
    case VK_PHYSICAL_DEVICE_TYPE_DISCRETE_GPU:
        return 0;
    case VK_PHYSICAL_DEVICE_TYPE_INTEGRATED_GPU:
        return 1;
    case VK_PHYSICAL_DEVICE_TYPE_VIRTUAL_GPU:
        return 2;
    case VK_PHYSICAL_DEVICE_TYPE_CPU:
        return CPU_RANK;
    default:
        return 3;
    }
}

/* Sorted by rank; devices of one rank keep the loader's order. */
static void sort_devices(void)
{
    for (uint32_t i = 1; i < n_physicals; i++) {
        VkPhysicalDevice moved = physicals[i];
        uint32_t at = i;
        for (; at > 0 && rank_of(physicals[at - 1]) > rank_of(moved); at--)
            physicals[at] = physicals[at - 1];
        physicals[at] = moved;
    }
}

vly_status vly_vulkan_start(vly_error *error)
{
    vly_status status = VLY_OK;
    VLY_TRY(vly_vulkan_instance(&instance, error));
    uint32_t count = MAX_DEVICES;
    VkResult result = vkEnumeratePhysicalDevices(instance, &count, physicals);
    n_physicals = result >= VK_SUCCESS ? count : 0;
    status = vly_vulkan_check(NULL, result, "listing Vulkan devices", error);
    if (status == VLY_OK && n_physicals == 0)
        status = vly_support_fail(error, VLY_E_DEVICE,
                                  "no Vulkan device detected: the loader is "
                                  "there, but no driver lists a device");
    if (status != VLY_OK)
        return status;
    sort_devices();
    for (uint32_t i = 0; i < n_physicals && status == VLY_OK; i++)
        status = vly_vulkan_memory_open(&devices[i], i, error);
    if (status != VLY_OK)
        vly_vulkan_stop();
out:
    return status;
}

static void device_close(vly_vulkan_device *device)
{
    if (device->device != VK_NULL_HANDLE) {
        (void)vkDeviceWaitIdle(device->device);
        vly_vulkan_spliced_destroy(device);
        vly_vulkan_kept_destroy(device);
        vkDestroyPipelineLayout(device->device, device->layout, NULL);
        vkDestroyDevice(device->device, NULL);
        (void)pthread_mutex_destroy(&device->lock);
    }
    /* the plugin owns the accounts, so the next opening finds them */
    const vly_support_account own = device->own;
    const vly_support_account shared = device->shared;
    memset(device, 0, sizeof *device);
    device->own = own;
    device->shared = shared;
}

void vly_vulkan_stop(void)
{
    for (uint32_t i = 0; i < n_physicals; i++) {
        vly_vulkan_memory_close(&devices[i]);
        device_close(&devices[i]);
    }
    n_physicals = 0;
}

uint32_t vly_vulkan_device_count(void)
{
    return n_physicals;
}

bool vly_vulkan_is_emulated(void)
{
    return n_physicals > 0 && rank_of(physicals[0]) == CPU_RANK;
}

static vly_status check_index(uint32_t index, vly_error *error)
{
    if (index < n_physicals)
        return VLY_OK;
    return vly_support_fail(error, VLY_E_DEVICE,
                            "vulkan: device %u, but there are %u", index,
                            n_physicals);
}

static const char *type_text(VkPhysicalDevice physical)
{
    static const char *const texts[] = {"discrete GPU", "integrated GPU",
                                        "virtual GPU", "other device",
                                        "processor"};
    return texts[rank_of(physical)];
}

vly_status vly_vulkan_device_info(uint32_t index, vly_device_info *info,
                                  vly_error *error)
{
    vly_status status = VLY_OK;
    VLY_TRY(check_index(index, error));
    VLY_TRY(vly_support_check_info(info, error));
    VkPhysicalDeviceProperties properties;
    VkPhysicalDeviceMemoryProperties memory;
    vkGetPhysicalDeviceProperties(physicals[index], &properties);
    vkGetPhysicalDeviceMemoryProperties(physicals[index], &memory);
    uint32_t api = properties.apiVersion;
    info->index = index;
    snprintf(info->name, sizeof info->name, "%.127s", properties.deviceName);
    snprintf(info->capability, sizeof info->capability, "%s, Vulkan %u.%u.%u",
             type_text(physicals[index]), VK_API_VERSION_MAJOR(api),
             VK_API_VERSION_MINOR(api), VK_API_VERSION_PATCH(api));
    info->memory_bytes = 0;
    for (uint32_t i = 0; i < memory.memoryHeapCount; i++)
        if ((memory.memoryHeaps[i].flags & VK_MEMORY_HEAP_DEVICE_LOCAL_BIT) !=
            0)
            info->memory_bytes += memory.memoryHeaps[i].size;
out:
    return status;
}

/* ---- what a device must have ------------------------------------------- */

static bool has_extension(VkPhysicalDevice physical, const char *name)
{
    VkExtensionProperties list[512];
    uint32_t n = sizeof list / sizeof list[0];
    if (vkEnumerateDeviceExtensionProperties(physical, NULL, &n, list) <
        VK_SUCCESS)
        return false;
    for (uint32_t i = 0; i < n; i++)
        if (strcmp(list[i].extensionName, name) == 0)
            return true;
    return false;
}

static vly_status find_family(vly_vulkan_device *device, vly_error *error)
{
    VkQueueFamilyProperties families[32];
    uint32_t n = sizeof families / sizeof families[0];
    vkGetPhysicalDeviceQueueFamilyProperties(device->physical, &n, families);
    for (uint32_t i = 0; i < n; i++) {
        if ((families[i].queueFlags & VK_QUEUE_COMPUTE_BIT) == 0)
            continue;
        device->family = i;
        device->timestamp_bits = families[i].timestampValidBits;
        return VLY_OK;
    }
    return vly_support_fail(error, VLY_E_UNSUPPORTED,
                            "the Vulkan device has no queue that computes");
}

static vly_status check_features(VkPhysicalDevice physical, vly_error *error)
{
    VkPhysicalDeviceProperties first;
    vkGetPhysicalDeviceProperties(physical, &first);
    if (first.apiVersion < VK_API_VERSION_1_2)
        return vly_support_fail(
            error, VLY_E_UNSUPPORTED, "%s: Vulkan %u.%u, wanted 1.2 or newer",
            first.deviceName, VK_API_VERSION_MAJOR(first.apiVersion),
            VK_API_VERSION_MINOR(first.apiVersion));
    VkPhysicalDeviceVulkan12Properties properties = {
        .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_2_PROPERTIES};
    VkPhysicalDeviceProperties2 properties2 = {
        .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PROPERTIES_2,
        .pNext = &properties};
    VkPhysicalDeviceVulkan12Features features = {
        .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_2_FEATURES};
    VkPhysicalDeviceFeatures2 features2 = {
        .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_FEATURES_2,
        .pNext = &features};
    vkGetPhysicalDeviceProperties2(physical, &properties2);
    vkGetPhysicalDeviceFeatures2(physical, &features2);
    const char *missing = NULL;
    if (!properties.shaderRoundingModeRTEFloat32)
        missing = "shaderRoundingModeRTEFloat32";
    else if (!features2.features.shaderInt64)
        missing = "shaderInt64";
    else if (!features.bufferDeviceAddress)
        missing = "bufferDeviceAddress";
    if (!missing)
        return VLY_OK;
    return vly_support_fail(error, VLY_E_UNSUPPORTED,
                            "%s lacks the Vulkan feature %s", first.deviceName,
                            missing);
}

/* ---- opening ----------------------------------------------------------- */

static uint32_t power_below(uint32_t n)
{
    uint32_t p = 1;
    while (p <= n / 2)
        p *= 2;
    return p;
}

/* Core Vulkan does not report it: use the extensions of some drivers, otherwise
 * a guess. */
static uint32_t count_units(VkPhysicalDevice physical)
{
    VkPhysicalDeviceShaderSMBuiltinsPropertiesNV units = {
        .sType =
            VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SHADER_SM_BUILTINS_PROPERTIES_NV};
    VkPhysicalDeviceProperties2 properties2 = {
        .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PROPERTIES_2,
        .pNext = &units};
    if (!has_extension(physical, VK_NV_SHADER_SM_BUILTINS_EXTENSION_NAME))
        return 64;
    vkGetPhysicalDeviceProperties2(physical, &properties2);
    return units.shaderSMCount > 0 ? units.shaderSMCount : 64;
}

/* A processor runs a work group on one core and an invocation on a SIMD lane,
 * so groups are small and few. Cards need enough groups to fill all units. */
static void choose_shape(vly_vulkan_device *device)
{
    VkPhysicalDeviceVulkan11Properties subgroups = {
        .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_1_PROPERTIES};
    VkPhysicalDeviceProperties2 properties2 = {
        .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PROPERTIES_2,
        .pNext = &subgroups};
    vkGetPhysicalDeviceProperties2(device->physical, &properties2);
    const VkPhysicalDeviceProperties *all = &properties2.properties;
    bool is_cpu = all->deviceType == VK_PHYSICAL_DEVICE_TYPE_CPU;
    device->is_cpu = (uint32_t)is_cpu;
    vly_vulkan_shape *shape = &device->shape;
    uint32_t most = all->limits.maxComputeWorkGroupInvocations;
    most = most < all->limits.maxComputeWorkGroupSize[0]
               ? most
               : all->limits.maxComputeWorkGroupSize[0];
    uint32_t wanted = is_cpu ? 64 : 256;
    device->shared_max = all->limits.maxComputeSharedMemorySize;
    /* a list of ids and gains of a tile, and a few words */
    uint32_t list = (device->shared_max - 64) / (8 * VLY_VULKAN_TILE_ROUNDS);
    device->size_max = power_below(most < list ? most : list);
    shape->size = power_below(most < wanted ? most : wanted);
    shape->lanes = power_below(subgroups.subgroupSize);
    shape->lanes = shape->lanes < shape->size ? shape->lanes : shape->size;
    shape->together = !is_cpu;
    /* bitmap and sums, beside one word an invocation */
    uint32_t room = all->limits.maxComputeSharedMemorySize / 8 - shape->size;
    shape->words = power_below(room < 4096 ? room : 4096);
    device->timestamp_ns = all->limits.timestampPeriod;
    device->n_units = is_cpu ? 1 : count_units(device->physical);
    shape->groups = is_cpu ? 4 : 4 * device->n_units;
    shape->slice_size =
        is_cpu ? shape->size : power_below(most < 512 ? most : 512);
    shape->fused_size =
        is_cpu ? shape->size : power_below(most < 1024 ? most : 1024);
    shape->slice_lanes = 4;
    shape->sums = device->shared_max / 4;
}

static vly_status open_queue(vly_vulkan_device *device, vly_error *error)
{
    const float priority = 1.0f;
    const char *budget = VK_EXT_MEMORY_BUDGET_EXTENSION_NAME;
    VkPhysicalDeviceVulkan12Features features = {
        .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_2_FEATURES,
        .bufferDeviceAddress = VK_TRUE};
    const VkPhysicalDeviceFeatures2 features2 = {
        .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_FEATURES_2,
        .pNext = &features,
        .features = {.shaderInt64 = VK_TRUE}};
    const VkDeviceQueueCreateInfo queue = {
        .sType = VK_STRUCTURE_TYPE_DEVICE_QUEUE_CREATE_INFO,
        .queueFamilyIndex = device->family,
        .queueCount = 1,
        .pQueuePriorities = &priority};
    device->has_budget = (uint32_t)has_extension(device->physical, budget);
    const VkDeviceCreateInfo create = {
        .sType = VK_STRUCTURE_TYPE_DEVICE_CREATE_INFO,
        .pNext = &features2,
        .queueCreateInfoCount = 1,
        .pQueueCreateInfos = &queue,
        .enabledExtensionCount = device->has_budget,
        .ppEnabledExtensionNames = &budget};
    VkResult result = VK_ERROR_OUT_OF_HOST_MEMORY;
    if (vly_vulkan_room(VLY_VULKAN_DRIVER_BYTES))
        result =
            vkCreateDevice(device->physical, &create, NULL, &device->device);
    vly_status status = VLY_OK;
    VLY_TRY(vly_vulkan_check(NULL, result, "opening the Vulkan device", error));
    vkGetDeviceQueue(device->device, device->family, 0, &device->queue);
out:
    return status;
}

static void read_limits(vly_vulkan_device *device)
{
    VkPhysicalDeviceVulkan12Properties properties = {
        .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_2_PROPERTIES};
    VkPhysicalDeviceMaintenance3Properties limits = {
        .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_MAINTENANCE_3_PROPERTIES,
        .pNext = &properties};
    VkPhysicalDeviceProperties2 properties2 = {
        .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PROPERTIES_2,
        .pNext = &limits};
    vkGetPhysicalDeviceProperties2(device->physical, &properties2);
    vkGetPhysicalDeviceMemoryProperties(device->physical, &device->memory);
    device->has_nan = properties.shaderSignedZeroInfNanPreserveFloat32;
    device->allocation_max = limits.maxMemoryAllocationSize;
}

static vly_status device_create(uint32_t index, vly_error *error)
{
    vly_vulkan_device *made = &devices[index];
    made->physical = physicals[index];
    vly_status status = VLY_OK;
    VLY_TRY(check_features(made->physical, error));
    VLY_TRY(find_family(made, error));
    VLY_TRY(open_queue(made, error));
    (void)pthread_mutex_init(&made->lock, NULL);
    read_limits(made);
    choose_shape(made);
    status = vly_vulkan_layout_create(made, error);
    if (status != VLY_OK)
        device_close(made);
out:
    return status;
}

vly_status vly_vulkan_device_open(uint32_t index, vly_vulkan_device **device,
                                  vly_error *error)
{
    vly_status status = VLY_OK;
    VLY_TRY(check_index(index, error));
    pthread_mutex_lock(&lock);
    if (devices[index].device == VK_NULL_HANDLE)
        status = device_create(index, error);
    pthread_mutex_unlock(&lock);
    if (status == VLY_OK)
        status = vly_vulkan_enter(&devices[index], error);
    if (status == VLY_OK)
        *device = &devices[index];
out:
    return status;
}
