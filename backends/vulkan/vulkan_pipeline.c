/* SPDX-License-Identifier: Apache-2.0
 * Pipelines of a device. No descriptors: shaders take one address as a push
 * constant and find everything from there.
 */
#include "vulkan_device.h"

#include <stddef.h>

#include "backends/common/backend_common.h"

#include "deliver_slices_spirv.h"
#include "deliver_spirv.h"
#include "fused_spirv.h"
#include "restore_spirv.h"
#include "sort_spirv.h"
#include "update_spirv.h"

typedef struct shader_words {
    const uint32_t *words;
    size_t bytes;
} shader_words;

static const shader_words shaders[VLY_VULKAN_N_SHADERS] = {
    [VLY_VULKAN_DELIVER] = {deliver_spirv, sizeof deliver_spirv},
    [VLY_VULKAN_RESTORE] = {restore_spirv, sizeof restore_spirv},
    [VLY_VULKAN_SORT] = {sort_spirv, sizeof sort_spirv},
    [VLY_VULKAN_SLICES] = {deliver_slices_spirv, sizeof deliver_slices_spirv},
#define VLY_EACH_MODEL(id)                                                     \
    [VLY_VULKAN_UPDATE + VLY_VULKAN_MODEL_##                                   \
        id] = {update_##id##_spirv, sizeof update_##id##_spirv},
#include "kernels/models/models.def"
#define VLY_EACH_MODEL(id)                                                     \
    [VLY_VULKAN_FUSED + VLY_VULKAN_MODEL_##                                    \
        id] = {fused_##id##_spirv, sizeof fused_##id##_spirv},
#include "kernels/models/models.def"
};

vly_status vly_vulkan_layout_create(vly_vulkan_device *device, vly_error *error)
{
    const VkPushConstantRange range = {
        .stageFlags = VK_SHADER_STAGE_COMPUTE_BIT,
        .size = sizeof(vly_vulkan_push),
    };
    const VkPipelineLayoutCreateInfo create = {
        .sType = VK_STRUCTURE_TYPE_PIPELINE_LAYOUT_CREATE_INFO,
        .pushConstantRangeCount = 1,
        .pPushConstantRanges = &range,
    };
    return vly_vulkan_check(
        device,
        vkCreatePipelineLayout(device->device, &create, NULL, &device->layout),
        "making a pipeline layout", error);
}

static VkResult build(const vly_vulkan_device *device,
                      const vly_vulkan_shape *shape, uint32_t index,
                      VkPipeline *made)
{
    const shader_words *shader = &shaders[index];
    const int sliced = index >= VLY_VULKAN_SLICES;
    const size_t size = sliced ? offsetof(vly_vulkan_shape, slice_size)
                               : offsetof(vly_vulkan_shape, size);
    const size_t lanes = sliced ? offsetof(vly_vulkan_shape, slice_lanes)
                                : offsetof(vly_vulkan_shape, lanes);
    const VkSpecializationMapEntry entries[] = {
        {0, (uint32_t)size, sizeof(uint32_t)},
        {1, (uint32_t)lanes, sizeof(uint32_t)},
        {2, offsetof(vly_vulkan_shape, words), sizeof(uint32_t)},
        {3, offsetof(vly_vulkan_shape, together), sizeof(uint32_t)},
        {4, offsetof(vly_vulkan_shape, sums), sizeof(uint32_t)},
        {5, offsetof(vly_vulkan_shape, is_short), sizeof(uint32_t)},
        {6, offsetof(vly_vulkan_shape, keeps), sizeof(uint32_t)},
        {7, offsetof(vly_vulkan_shape, fours), sizeof(uint32_t)},
        {8, offsetof(vly_vulkan_shape, split), sizeof(uint32_t)},
    };
    const VkSpecializationInfo constants = {
        .mapEntryCount = sizeof entries / sizeof entries[0],
        .pMapEntries = entries,
        .dataSize = sizeof *shape,
        .pData = shape,
    };
    const VkShaderModuleCreateInfo words = {
        .sType = VK_STRUCTURE_TYPE_SHADER_MODULE_CREATE_INFO,
        .codeSize = shader->bytes,
        .pCode = shader->words,
    };
    VkShaderModule module = VK_NULL_HANDLE;
    VkResult result =
        vkCreateShaderModule(device->device, &words, NULL, &module);
    if (result != VK_SUCCESS)
        return result;
    const VkComputePipelineCreateInfo create = {
        .sType = VK_STRUCTURE_TYPE_COMPUTE_PIPELINE_CREATE_INFO,
        .stage = {.sType = VK_STRUCTURE_TYPE_PIPELINE_SHADER_STAGE_CREATE_INFO,
                  .stage = VK_SHADER_STAGE_COMPUTE_BIT,
                  .module = module,
                  .pName = "main",
                  .pSpecializationInfo = &constants},
        .layout = device->layout,
    };
    result = vkCreateComputePipelines(device->device, VK_NULL_HANDLE, 1,
                                      &create, NULL, made);
    vkDestroyShaderModule(device->device, module, NULL);
    return result;
}

vly_status vly_vulkan_pipeline_get(vly_vulkan_device *device,
                                   vly_vulkan_pipelines *set,
                                   const vly_vulkan_shape *shape,
                                   uint32_t shader, VkPipeline *pipeline,
                                   vly_error *error)
{
    VkResult result = VK_SUCCESS;
    pthread_mutex_lock(&device->lock);
    if (set->made[shader] == VK_NULL_HANDLE)
        result = build(device, shape, shader, &set->made[shader]);
    *pipeline = set->made[shader];
    pthread_mutex_unlock(&device->lock);
    return vly_vulkan_check(device, result, "making a pipeline", error);
}

void vly_vulkan_pipelines_destroy(vly_vulkan_device *device,
                                  vly_vulkan_pipelines *set)
{
    for (uint32_t i = 0; i < VLY_VULKAN_N_SHADERS; i++) {
        vkDestroyPipeline(device->device, set->made[i], NULL);
        set->made[i] = VK_NULL_HANDLE;
    }
}
