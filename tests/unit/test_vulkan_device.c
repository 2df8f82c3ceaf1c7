/* SPDX-License-Identifier: Apache-2.0
 * Everything is made for one job and destroyed after it, so that the
 * validation layer also sees what is left over; all but the instance. With its
 * end the loader unloads the drivers, and what Mesa's leave behind (128 bytes)
 * would be leaks that LeakSanitizer cannot name.
 */
#define VOLK_IMPLEMENTATION
#include <volk.h>

#include "test_vulkan_device.h"

#include <stdlib.h>

#include "volley_test.h"

#define DEVICES_MAX 8
#define LAYER "VK_LAYER_KHRONOS_validation"

static struct {
    VkInstance instance;
    VkDebugUtilsMessengerEXT messenger;
    VkPhysicalDevice devices[DEVICES_MAX];
    VkPhysicalDeviceProperties properties[DEVICES_MAX];
    uint32_t n;
    uint32_t n_messages; /* of the validation layer */
} vk;

static void check(VkResult result, const char *what)
{
    if (result != VK_SUCCESS)
        fail_msg("%s: VkResult %d", what, (int)result);
}
#define CHECK(call) check(call, #call)

/* ---- instance ---------------------------------------------------------- */

static VKAPI_ATTR VkBool32 VKAPI_CALL
note_message(VkDebugUtilsMessageSeverityFlagBitsEXT severity,
             VkDebugUtilsMessageTypeFlagsEXT types,
             const VkDebugUtilsMessengerCallbackDataEXT *data, void *user)
{
    (void)severity;
    (void)types;
    (void)user;
    vk.n_messages++;
    fprintf(stderr, "validation: %s\n", data->pMessage);
    return VK_FALSE;
}

static bool has_layer(void)
{
    VkLayerProperties layers[64];
    uint32_t n = 64;
    VkResult result = vkEnumerateInstanceLayerProperties(&n, layers);
    for (uint32_t i = 0; result >= 0 && i < n; i++)
        if (strcmp(layers[i].layerName, LAYER) == 0)
            return true;
    return false;
}

static VkResult create_instance(void)
{
    const char *layer = LAYER;
    const char *extension = VK_EXT_DEBUG_UTILS_EXTENSION_NAME;
    uint32_t layered = has_layer() ? 1 : 0;
    VkDebugUtilsMessengerCreateInfoEXT messages = {
        .sType = VK_STRUCTURE_TYPE_DEBUG_UTILS_MESSENGER_CREATE_INFO_EXT,
        .messageSeverity = VK_DEBUG_UTILS_MESSAGE_SEVERITY_WARNING_BIT_EXT |
                           VK_DEBUG_UTILS_MESSAGE_SEVERITY_ERROR_BIT_EXT,
        .messageType = VK_DEBUG_UTILS_MESSAGE_TYPE_VALIDATION_BIT_EXT,
        .pfnUserCallback = note_message,
    };
    VkApplicationInfo application = {
        .sType = VK_STRUCTURE_TYPE_APPLICATION_INFO,
        .pApplicationName = "volley tests",
        .apiVersion = VK_API_VERSION_1_2,
    };
    VkInstanceCreateInfo info = {
        .sType = VK_STRUCTURE_TYPE_INSTANCE_CREATE_INFO,
        .pApplicationInfo = &application,
        .enabledLayerCount = layered,
        .ppEnabledLayerNames = &layer,
        .enabledExtensionCount = layered,
        .ppEnabledExtensionNames = &extension,
    };
    VkResult result = vkCreateInstance(&info, NULL, &vk.instance);
    if (result != VK_SUCCESS)
        return result;
    volkLoadInstance(vk.instance);
    if (layered != 0)
        result = vkCreateDebugUtilsMessengerEXT(vk.instance, &messages, NULL,
                                                &vk.messenger);
    else
        print_message("without " LAYER "\n");
    return result;
}

/* Whether a device can run shaders under the contract. */
static bool is_able(VkPhysicalDevice device)
{
    VkPhysicalDeviceFloatControlsProperties floats = {
        .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_FLOAT_CONTROLS_PROPERTIES};
    VkPhysicalDeviceProperties2 properties = {
        .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PROPERTIES_2,
        .pNext = &floats};
    VkPhysicalDeviceFeatures features;
    vkGetPhysicalDeviceProperties2(device, &properties);
    vkGetPhysicalDeviceFeatures(device, &features);
    return properties.properties.apiVersion >= VK_API_VERSION_1_2 &&
           floats.shaderRoundingModeRTEFloat32 && features.shaderInt64;
}

static const char *open_devices(void)
{
    if (volkInitialize() != VK_SUCCESS)
        return "no Vulkan loader (libvulkan.so.1)";
    if (create_instance() != VK_SUCCESS)
        return "no Vulkan instance: no driver is installed";
    VkPhysicalDevice found[DEVICES_MAX];
    uint32_t n = DEVICES_MAX;
    if (vkEnumeratePhysicalDevices(vk.instance, &n, found) < 0)
        return "the Vulkan devices cannot be listed";
    for (uint32_t i = 0; i < n; i++) {
        if (!is_able(found[i]))
            continue;
        vkGetPhysicalDeviceProperties(found[i], &vk.properties[vk.n]);
        vk.devices[vk.n++] = found[i];
    }
    return vk.n > 0 ? NULL
                    : "no Vulkan 1.2 device that rounds to nearest and has "
                      "64-bit integers";
}

void test_vulkan_open(void)
{
    if (vk.n > 0)
        return;
    const char *why = open_devices();
    if (why == NULL)
        return;
    const char *required = getenv("VOLLEY_REQUIRE_VULKAN");
    if (required != NULL && strcmp(required, "1") == 0)
        fail_msg("%s", why);
    print_message("skipped: %s\n", why);
    skip();
}

uint32_t test_vulkan_count(void)
{
    return vk.n;
}

const char *test_vulkan_name(uint32_t device)
{
    return vk.properties[device].deviceName;
}

/* ---- one job ----------------------------------------------------------- */

typedef struct job_state {
    VkPhysicalDevice physical;
    VkDevice device;
    VkQueue queue;
    uint32_t family;
    VkBuffer buffers[TEST_VULKAN_BUFFERS];
    VkDeviceMemory memory[TEST_VULKAN_BUFFERS];
    void *mapped[TEST_VULKAN_BUFFERS];
    VkDescriptorSetLayout set_layout;
    VkDescriptorPool pool;
    VkDescriptorSet set;
    VkPipelineLayout layout;
    VkShaderModule shader;
    VkPipeline pipeline;
    VkCommandPool commands;
    VkCommandBuffer command;
} job_state;

static void create_device(job_state *s)
{
    VkQueueFamilyProperties families[16];
    uint32_t n = 16;
    vkGetPhysicalDeviceQueueFamilyProperties(s->physical, &n, families);
    while (s->family < n &&
           (families[s->family].queueFlags & VK_QUEUE_COMPUTE_BIT) == 0)
        s->family++;
    assert_true(s->family < n);
    const float priority = 1.0f;
    VkDeviceQueueCreateInfo queue = {
        .sType = VK_STRUCTURE_TYPE_DEVICE_QUEUE_CREATE_INFO,
        .queueFamilyIndex = s->family,
        .queueCount = 1,
        .pQueuePriorities = &priority,
    };
    VkPhysicalDeviceFeatures features = {.shaderInt64 = VK_TRUE};
    VkDeviceCreateInfo info = {
        .sType = VK_STRUCTURE_TYPE_DEVICE_CREATE_INFO,
        .queueCreateInfoCount = 1,
        .pQueueCreateInfos = &queue,
        .pEnabledFeatures = &features,
    };
    CHECK(vkCreateDevice(s->physical, &info, NULL, &s->device));
    volkLoadDevice(s->device);
    vkGetDeviceQueue(s->device, s->family, 0, &s->queue);
}

/* Memory that the host sees, on the device if there is such. */
static uint32_t memory_type(const job_state *s, uint32_t allowed)
{
    const VkMemoryPropertyFlags seen = VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT |
                                       VK_MEMORY_PROPERTY_HOST_COHERENT_BIT;
    VkPhysicalDeviceMemoryProperties memory;
    vkGetPhysicalDeviceMemoryProperties(s->physical, &memory);
    for (int near = 1; near >= 0; near--) {
        VkMemoryPropertyFlags wanted =
            seen | (near ? VK_MEMORY_PROPERTY_DEVICE_LOCAL_BIT : 0u);
        for (uint32_t i = 0; i < memory.memoryTypeCount; i++)
            if ((allowed >> i & 1u) != 0 &&
                (memory.memoryTypes[i].propertyFlags & wanted) == wanted)
                return i;
    }
    fail_msg("no memory that host and device see");
    return 0;
}

static void create_buffer(job_state *s, uint32_t i,
                          const test_vulkan_buffer *from)
{
    VkBufferCreateInfo info = {
        .sType = VK_STRUCTURE_TYPE_BUFFER_CREATE_INFO,
        .size = from->bytes,
        .usage = VK_BUFFER_USAGE_STORAGE_BUFFER_BIT,
    };
    VkMemoryRequirements needs;
    CHECK(vkCreateBuffer(s->device, &info, NULL, &s->buffers[i]));
    vkGetBufferMemoryRequirements(s->device, s->buffers[i], &needs);
    VkMemoryAllocateInfo allocate = {
        .sType = VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_INFO,
        .allocationSize = needs.size,
        .memoryTypeIndex = memory_type(s, needs.memoryTypeBits),
    };
    CHECK(vkAllocateMemory(s->device, &allocate, NULL, &s->memory[i]));
    CHECK(vkBindBufferMemory(s->device, s->buffers[i], s->memory[i], 0));
    CHECK(vkMapMemory(s->device, s->memory[i], 0, VK_WHOLE_SIZE, 0,
                      &s->mapped[i]));
    memcpy(s->mapped[i], from->data, from->bytes);
}

static void create_set(job_state *s, const test_vulkan_job *job)
{
    VkDescriptorSetLayoutBinding bindings[TEST_VULKAN_BUFFERS] = {0};
    VkDescriptorBufferInfo places[TEST_VULKAN_BUFFERS] = {0};
    for (uint32_t i = 0; i < job->n_buffers; i++) {
        bindings[i].binding = i;
        bindings[i].descriptorType = VK_DESCRIPTOR_TYPE_STORAGE_BUFFER;
        bindings[i].descriptorCount = 1;
        bindings[i].stageFlags = VK_SHADER_STAGE_COMPUTE_BIT;
        places[i].buffer = s->buffers[i];
        places[i].range = VK_WHOLE_SIZE;
    }
    VkDescriptorSetLayoutCreateInfo layout = {
        .sType = VK_STRUCTURE_TYPE_DESCRIPTOR_SET_LAYOUT_CREATE_INFO,
        .bindingCount = job->n_buffers,
        .pBindings = bindings,
    };
    VkDescriptorPoolSize size = {VK_DESCRIPTOR_TYPE_STORAGE_BUFFER,
                                 job->n_buffers};
    VkDescriptorPoolCreateInfo pool = {
        .sType = VK_STRUCTURE_TYPE_DESCRIPTOR_POOL_CREATE_INFO,
        .maxSets = 1,
        .poolSizeCount = 1,
        .pPoolSizes = &size,
    };
    CHECK(
        vkCreateDescriptorSetLayout(s->device, &layout, NULL, &s->set_layout));
    CHECK(vkCreateDescriptorPool(s->device, &pool, NULL, &s->pool));
    VkDescriptorSetAllocateInfo allocate = {
        .sType = VK_STRUCTURE_TYPE_DESCRIPTOR_SET_ALLOCATE_INFO,
        .descriptorPool = s->pool,
        .descriptorSetCount = 1,
        .pSetLayouts = &s->set_layout,
    };
    CHECK(vkAllocateDescriptorSets(s->device, &allocate, &s->set));
    for (uint32_t i = 0; i < job->n_buffers; i++) {
        VkWriteDescriptorSet write = {
            .sType = VK_STRUCTURE_TYPE_WRITE_DESCRIPTOR_SET,
            .dstSet = s->set,
            .dstBinding = i,
            .descriptorCount = 1,
            .descriptorType = VK_DESCRIPTOR_TYPE_STORAGE_BUFFER,
            .pBufferInfo = &places[i],
        };
        vkUpdateDescriptorSets(s->device, 1, &write, 0, NULL);
    }
}

static void create_pipeline(job_state *s, const test_vulkan_job *job)
{
    VkPushConstantRange push = {VK_SHADER_STAGE_COMPUTE_BIT, 0,
                                job->push_bytes};
    VkPipelineLayoutCreateInfo layout = {
        .sType = VK_STRUCTURE_TYPE_PIPELINE_LAYOUT_CREATE_INFO,
        .setLayoutCount = 1,
        .pSetLayouts = &s->set_layout,
        .pushConstantRangeCount = job->push_bytes > 0 ? 1 : 0,
        .pPushConstantRanges = &push,
    };
    VkShaderModuleCreateInfo shader = {
        .sType = VK_STRUCTURE_TYPE_SHADER_MODULE_CREATE_INFO,
        .codeSize = job->spirv_bytes,
        .pCode = job->spirv,
    };
    CHECK(vkCreatePipelineLayout(s->device, &layout, NULL, &s->layout));
    CHECK(vkCreateShaderModule(s->device, &shader, NULL, &s->shader));
    VkComputePipelineCreateInfo info = {
        .sType = VK_STRUCTURE_TYPE_COMPUTE_PIPELINE_CREATE_INFO,
        .stage = {.sType = VK_STRUCTURE_TYPE_PIPELINE_SHADER_STAGE_CREATE_INFO,
                  .stage = VK_SHADER_STAGE_COMPUTE_BIT,
                  .module = s->shader,
                  .pName = "main"},
        .layout = s->layout,
    };
    CHECK(vkCreateComputePipelines(s->device, VK_NULL_HANDLE, 1, &info, NULL,
                                   &s->pipeline));
}

static void record(job_state *s, const test_vulkan_job *job)
{
    VkCommandPoolCreateInfo pool = {
        .sType = VK_STRUCTURE_TYPE_COMMAND_POOL_CREATE_INFO,
        .queueFamilyIndex = s->family,
    };
    CHECK(vkCreateCommandPool(s->device, &pool, NULL, &s->commands));
    VkCommandBufferAllocateInfo allocate = {
        .sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_ALLOCATE_INFO,
        .commandPool = s->commands,
        .level = VK_COMMAND_BUFFER_LEVEL_PRIMARY,
        .commandBufferCount = 1,
    };
    CHECK(vkAllocateCommandBuffers(s->device, &allocate, &s->command));
    VkCommandBufferBeginInfo begin = {
        .sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_BEGIN_INFO,
        .flags = VK_COMMAND_BUFFER_USAGE_ONE_TIME_SUBMIT_BIT,
    };
    VkMemoryBarrier to_host = {
        .sType = VK_STRUCTURE_TYPE_MEMORY_BARRIER,
        .srcAccessMask = VK_ACCESS_SHADER_WRITE_BIT,
        .dstAccessMask = VK_ACCESS_HOST_READ_BIT,
    };
    CHECK(vkBeginCommandBuffer(s->command, &begin));
    vkCmdBindPipeline(s->command, VK_PIPELINE_BIND_POINT_COMPUTE, s->pipeline);
    vkCmdBindDescriptorSets(s->command, VK_PIPELINE_BIND_POINT_COMPUTE,
                            s->layout, 0, 1, &s->set, 0, NULL);
    if (job->push_bytes > 0)
        vkCmdPushConstants(s->command, s->layout, VK_SHADER_STAGE_COMPUTE_BIT,
                           0, job->push_bytes, job->push);
    vkCmdDispatch(s->command, job->n_groups, 1, 1);
    vkCmdPipelineBarrier(s->command, VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT,
                         VK_PIPELINE_STAGE_HOST_BIT, 0, 1, &to_host, 0, NULL, 0,
                         NULL);
    CHECK(vkEndCommandBuffer(s->command));
}

static void destroy_job(job_state *s, const test_vulkan_job *job)
{
    vkDestroyCommandPool(s->device, s->commands, NULL);
    vkDestroyPipeline(s->device, s->pipeline, NULL);
    vkDestroyShaderModule(s->device, s->shader, NULL);
    vkDestroyPipelineLayout(s->device, s->layout, NULL);
    vkDestroyDescriptorPool(s->device, s->pool, NULL);
    vkDestroyDescriptorSetLayout(s->device, s->set_layout, NULL);
    for (uint32_t i = 0; i < job->n_buffers; i++) {
        vkDestroyBuffer(s->device, s->buffers[i], NULL);
        vkFreeMemory(s->device, s->memory[i], NULL);
    }
    vkDestroyDevice(s->device, NULL);
}

void test_vulkan_run(uint32_t device, const test_vulkan_job *job)
{
    job_state s = {.physical = vk.devices[device]};
    create_device(&s);
    for (uint32_t i = 0; i < job->n_buffers; i++)
        create_buffer(&s, i, &job->buffers[i]);
    create_set(&s, job);
    create_pipeline(&s, job);
    record(&s, job);
    VkSubmitInfo submit = {
        .sType = VK_STRUCTURE_TYPE_SUBMIT_INFO,
        .commandBufferCount = 1,
        .pCommandBuffers = &s.command,
    };
    CHECK(vkQueueSubmit(s.queue, 1, &submit, VK_NULL_HANDLE));
    CHECK(vkQueueWaitIdle(s.queue));
    for (uint32_t i = 0; i < job->n_buffers; i++)
        memcpy(job->buffers[i].data, s.mapped[i], job->buffers[i].bytes);
    destroy_job(&s, job);
    assert_int_equal(vk.n_messages, 0);
}
