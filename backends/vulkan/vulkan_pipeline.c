/* SPDX-License-Identifier: Apache-2.0
 * Pipelines of a device. No descriptors: shaders take one address as a push
 * constant and find everything from there.
 */
#include "vulkan_device.h"

#include <string.h>

#include "backends/common/backend_common.h"

#include "deliver_slices_spirv.h"
#include "deliver_spirv.h"
#include "fused_program1_spirv.h"
#include "fused_program2_spirv.h"
#include "fused_program3_spirv.h"
#include "fused_program4_spirv.h"
#include "fused_spirv.h"
#include "learn_events_spirv.h"
#include "learn_flush_program_spirv.h"
#include "learn_flush_spirv.h"
#include "learn_modulator_spirv.h"
#include "learn_renew_spirv.h"
#include "learn_rows_program_spirv.h"
#include "learn_rows_spirv.h"
#include "restore_spirv.h"
#include "short_rows_spirv.h"
#include "short_states_spirv.h"
#include "sort_spirv.h"
#include "update_program1_spirv.h"
#include "update_program2_spirv.h"
#include "update_program3_spirv.h"
#include "update_program4_spirv.h"
#include "update_spirv.h"

typedef struct shader_words {
    const uint32_t *words;
    size_t bytes;
} shader_words;

static const shader_words shaders[VLY_VULKAN_N_SHADERS] = {
    [VLY_VULKAN_DELIVER] = {deliver_spirv, sizeof deliver_spirv},
    [VLY_VULKAN_RESTORE] = {restore_spirv, sizeof restore_spirv},
    [VLY_VULKAN_SORT] = {sort_spirv, sizeof sort_spirv},
    [VLY_VULKAN_EVENTS] = {learn_events_spirv, sizeof learn_events_spirv},
    [VLY_VULKAN_RENEW] = {learn_renew_spirv, sizeof learn_renew_spirv},
#define FRAME(first, name, ports)                                              \
    [first + ports - 1] = {name##ports##_spirv, sizeof name##ports##_spirv}
    FRAME(VLY_VULKAN_PROGRAM, update_program, 1),
    FRAME(VLY_VULKAN_PROGRAM, update_program, 2),
    FRAME(VLY_VULKAN_PROGRAM, update_program, 3),
    FRAME(VLY_VULKAN_PROGRAM, update_program, 4),
    FRAME(VLY_VULKAN_PROGRAM_FUSED, fused_program, 1),
    FRAME(VLY_VULKAN_PROGRAM_FUSED, fused_program, 2),
    FRAME(VLY_VULKAN_PROGRAM_FUSED, fused_program, 3),
    FRAME(VLY_VULKAN_PROGRAM_FUSED, fused_program, 4),
#undef FRAME
    [VLY_VULKAN_RULE_LEARN] = {learn_rows_program_spirv,
                               sizeof learn_rows_program_spirv},
    [VLY_VULKAN_RULE_FLUSH] = {learn_flush_program_spirv,
                               sizeof learn_flush_program_spirv},
    [VLY_VULKAN_SLICES] = {deliver_slices_spirv, sizeof deliver_slices_spirv},
#define VLY_EACH_MODEL(id)                                                     \
    [VLY_VULKAN_UPDATE + VLY_VULKAN_MODEL_##                                   \
        id] = {update_##id##_spirv, sizeof update_##id##_spirv},
#include "kernels/models/models.def"
#define VLY_EACH_MODEL(id)                                                     \
    [VLY_VULKAN_FUSED + VLY_VULKAN_MODEL_##                                    \
        id] = {fused_##id##_spirv, sizeof fused_##id##_spirv},
#include "kernels/models/models.def"
#define VLY_EACH_PLASTICITY(id)                                                \
    [VLY_VULKAN_LEARN + VLY_VULKAN_RULE_##                                     \
        id] = {learn_rows_##id##_spirv, sizeof learn_rows_##id##_spirv},
#include "kernels/rules/plasticity.def"
#define VLY_EACH_PLASTICITY(id)                                                \
    [VLY_VULKAN_FLUSH + VLY_VULKAN_RULE_##                                     \
        id] = {learn_flush_##id##_spirv, sizeof learn_flush_##id##_spirv},
#include "kernels/rules/plasticity.def"
#define VLY_EACH_PLASTICITY(id)                                                \
    [VLY_VULKAN_MODULATE + VLY_VULKAN_RULE_##id] = {                           \
        learn_modulator_##id##_spirv, sizeof learn_modulator_##id##_spirv},
#include "kernels/rules/plasticity.def"
#define VLY_EACH_SHORT_TERM(id)                                                \
    [VLY_VULKAN_ROWS + VLY_VULKAN_SHORT_##                                     \
        id] = {short_rows_##id##_spirv, sizeof short_rows_##id##_spirv},
#include "kernels/rules/short_term.def"
#define VLY_EACH_SHORT_TERM(id)                                                \
    [VLY_VULKAN_STATES + VLY_VULKAN_SHORT_##                                   \
        id] = {short_states_##id##_spirv, sizeof short_states_##id##_spirv},
#include "kernels/rules/short_term.def"
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

const uint32_t *vly_vulkan_shader(uint32_t shader, size_t *n)
{
    *n = shaders[shader].bytes / sizeof(uint32_t);
    return shaders[shader].words;
}

/* Which constants a shader has, as bits: bit n is constant_id n. */
static uint32_t constants_used(uint32_t shader)
{
    enum { HEAD_WORDS = 5, OP_DECORATE = 71, SPEC_ID = 1 };
    const uint32_t *words = shaders[shader].words;
    const size_t n = shaders[shader].bytes / sizeof *words;
    uint32_t used = 0;
    for (size_t i = HEAD_WORDS; i < n && words[i] >> 16 != 0;
         i += words[i] >> 16)
        if ((words[i] & 0xffff) == OP_DECORATE && i + 3 < n &&
            words[i + 2] == SPEC_ID)
            used |= 1u << (words[i + 3] & 31u);
    return used;
}

/* [constant_id] of shader.glsl; 0 for constants that the shader does not have,
 * so that shapes which differ only in those share a pipeline. */
void vly_vulkan_constants(const vly_vulkan_shape *shape, uint32_t shader,
                          uint32_t *constants)
{
    const bool sliced = shader >= VLY_VULKAN_SLICES;
    const uint32_t all[VLY_VULKAN_CONSTANTS] = {
        sliced ? shape->slice_size : shape->size,
        sliced ? shape->slice_lanes : shape->lanes,
        shape->words,
        shape->together,
        shape->sums,
        shape->is_short,
        shape->keeps,
    };
    const uint32_t used = constants_used(shader);
    for (uint32_t i = 0; i < VLY_VULKAN_CONSTANTS; i++)
        constants[i] = (used >> i & 1u) != 0 ? all[i] : 0;
}

VkResult vly_vulkan_pipeline_build(const vly_vulkan_device *device,
                                   const uint32_t *code, size_t n,
                                   const uint32_t *constants, size_t bytes,
                                   VkPipeline *made)
{
    VkSpecializationMapEntry entries[VLY_VULKAN_CONSTANTS];
    for (uint32_t i = 0; i < VLY_VULKAN_CONSTANTS; i++)
        entries[i] = (VkSpecializationMapEntry){
            i, i * (uint32_t)sizeof(uint32_t), sizeof(uint32_t)};
    const VkSpecializationInfo values = {
        .mapEntryCount = VLY_VULKAN_CONSTANTS,
        .pMapEntries = entries,
        .dataSize = VLY_VULKAN_CONSTANTS * sizeof *constants,
        .pData = constants,
    };
    const VkShaderModuleCreateInfo words = {
        .sType = VK_STRUCTURE_TYPE_SHADER_MODULE_CREATE_INFO,
        .codeSize = n * sizeof *code,
        .pCode = code,
    };
    VkShaderModule module = VK_NULL_HANDLE;
    if (!vly_vulkan_room(bytes))
        return VK_ERROR_OUT_OF_HOST_MEMORY;
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
                  .pSpecializationInfo = &values},
        .layout = device->layout,
    };
    result = vkCreateComputePipelines(device->device, VK_NULL_HANDLE, 1,
                                      &create, NULL, made);
    vkDestroyShaderModule(device->device, module, NULL);
    return result;
}

/* The place of a pipeline with these constants, or a free one for it; NULL: all
 * are taken. */
static VkPipeline *find_place(vly_vulkan_device *device, uint32_t shader,
                              const uint32_t *constants)
{
    for (uint32_t i = 0; i < VLY_VULKAN_KEPT; i++) {
        vly_vulkan_pipeline *kept = &device->kept[shader][i];
        const size_t bytes = sizeof kept->constants;
        if (kept->made == VK_NULL_HANDLE)
            memcpy(kept->constants, constants, bytes);
        if (memcmp(kept->constants, constants, bytes) == 0)
            return &kept->made;
    }
    return NULL;
}

vly_status vly_vulkan_pipeline_get(vly_vulkan_device *device,
                                   vly_vulkan_pipelines *own,
                                   const vly_vulkan_shape *shape,
                                   uint32_t shader, VkPipeline *pipeline,
                                   vly_error *error)
{
    VkResult result = VK_SUCCESS;
    uint32_t constants[VLY_VULKAN_CONSTANTS];
    vly_vulkan_constants(shape, shader, constants);
    size_t n;
    const uint32_t *words = vly_vulkan_shader(shader, &n);
    pthread_mutex_lock(&device->lock);
    VkPipeline *place = find_place(device, shader, constants);
    if (!place)
        place = &own->made[shader];
    if (*place == VK_NULL_HANDLE)
        result = vly_vulkan_pipeline_build(device, words, n, constants,
                                           VLY_VULKAN_COMPILER_BYTES, place);
    *pipeline = *place;
    pthread_mutex_unlock(&device->lock);
    return vly_vulkan_check(device, result, "making a pipeline", error);
}

void vly_vulkan_pipelines_destroy(vly_vulkan_device *device,
                                  vly_vulkan_pipelines *own)
{
    for (uint32_t i = 0; i < VLY_VULKAN_N_SHADERS; i++) {
        vkDestroyPipeline(device->device, own->made[i], NULL);
        own->made[i] = VK_NULL_HANDLE;
    }
}

void vly_vulkan_kept_destroy(vly_vulkan_device *device)
{
    for (uint32_t s = 0; s < VLY_VULKAN_N_SHADERS; s++)
        for (uint32_t i = 0; i < VLY_VULKAN_KEPT; i++) {
            vkDestroyPipeline(device->device, device->kept[s][i].made, NULL);
            device->kept[s][i].made = VK_NULL_HANDLE;
        }
}
