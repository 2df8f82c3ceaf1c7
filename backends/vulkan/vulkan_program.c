/* SPDX-License-Identifier: Apache-2.0
 * Pipelines of users' models. The device keeps each one, found by all that it
 * depends on: the frame, its constants and the operations. Some that no net
 * uses are kept for the next net.
 */
#include "vulkan_program.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "vulkan_splice.h"

/* pipelines without a net that a device keeps */
#define IDLE_MAX 16u

/* What a pipeline depends on, as words. */
typedef struct spliced_key {
    uint32_t *words;
    uint64_t n;
} spliced_key;

typedef struct vly_vulkan_spliced {
    struct vly_vulkan_spliced *next; /* older ones */
    VkPipeline made;
    uint64_t n_key;
    uint32_t n_users; /* nets */
    uint32_t reserved;
    uint32_t key[];
} vly_vulkan_spliced;

/* ---- which ones --------------------------------------------------------- */

static bool same_program(const vly_area_desc *x, const vly_area_desc *y)
{
    const vly_program *a = x->program;
    const vly_program *b = y->program;
    return x->n_ports == y->n_ports && a->n_ops == b->n_ops &&
           a->n_fields == b->n_fields && a->fired == b->fired &&
           memcmp(a->ops, b->ops, a->n_ops * sizeof *a->ops) == 0 &&
           memcmp(a->types, b->types, a->n_ops * sizeof *a->types) == 0 &&
           memcmp(a->out, b->out, a->n_fields * sizeof *a->out) == 0;
}

vly_status vly_vulkan_programs_count(vly_backend_net *net, vly_error *error)
{
    const vly_net_desc *desc = net->desc;
    uint32_t n_areas = 0;
    for (uint32_t a = 0; a < desc->n_areas; a++)
        n_areas += vly_common_program(desc, a) != NULL;
    vly_status status = VLY_OK;
    if (n_areas > 0)
        status = vly_common_alloc(&net->heap, n_areas, sizeof *net->programs,
                                  &net->programs, error);
    for (uint32_t a = 0; a < desc->n_areas && status == VLY_OK; a++) {
        const vly_area_desc *area = vly_common_area_desc(desc, a);
        if (vly_common_program(desc, a) == NULL)
            continue;
        uint32_t k = 0;
        while (k < net->n_programs &&
               !same_program(net->programs[k].area, area))
            k++;
        if (k == net->n_programs)
            net->programs[net->n_programs++].area = area;
        net->info[a].kind = VLY_VULKAN_N_MODELS + k;
    }
    return status;
}

/* ---- kept by the device ------------------------------------------------- */

static void put_words(spliced_key *key, const void *words, uint64_t n)
{
    if (key->words != NULL)
        memcpy(key->words + key->n, words, n * sizeof *key->words);
    key->n += n;
}

/* Only counts without memory for the words. */
static void fill_key(spliced_key *key, const vly_program *program,
                     uint32_t shader, const uint32_t *constants)
{
    const uint32_t sizes[] = {shader, program->n_ops, program->n_fields,
                              program->fired};
    key->n = 0;
    put_words(key, sizes, sizeof sizes / sizeof sizes[0]);
    put_words(key, constants, VLY_VULKAN_CONSTANTS);
    put_words(key, program->out, program->n_fields);
    put_words(key, program->types, program->n_ops);
    put_words(key, program->ops,
              program->n_ops * (sizeof *program->ops / sizeof(uint32_t)));
}

static vly_vulkan_spliced *find_spliced(const vly_vulkan_device *device,
                                        const vly_vulkan_spliced *wanted)
{
    vly_vulkan_spliced *s = device->spliced;
    while (s != NULL &&
           (s->n_key != wanted->n_key ||
            memcmp(s->key, wanted->key, s->n_key * sizeof *s->key) != 0))
        s = s->next;
    return s;
}

/* Destroys the pipelines that no net uses, except for some of the newest. */
static void drop_idle(vly_vulkan_device *device, uint32_t most)
{
    uint32_t n_idle = 0;
    vly_common_heap outer = {.bytes = 0};
    for (vly_vulkan_spliced **at = &device->spliced; *at != NULL;) {
        vly_vulkan_spliced *s = *at;
        n_idle += s->n_users == 0;
        if (s->n_users > 0 || n_idle <= most) {
            at = &s->next;
            continue;
        }
        *at = s->next;
        vkDestroyPipeline(device->device, s->made, NULL);
        vly_common_release(&outer, s);
    }
}

void vly_vulkan_spliced_destroy(vly_vulkan_device *device)
{
    drop_idle(device, 0);
}

/* ---- making ------------------------------------------------------------- */

/* Address space for the compiler: an operation may be a function of a hundred
 * instructions. */
static size_t compiler_bytes(const vly_program *program)
{
    return VLY_VULKAN_COMPILER_BYTES + ((size_t)program->n_ops << 16);
}

static vly_status fail_program(const vly_backend_net *net,
                               const vly_area_desc *area, const char *why,
                               vly_error *error)
{
    VkPhysicalDeviceProperties device;
    vkGetPhysicalDeviceProperties(net->device->physical, &device);
    return vly_support_fail(error, VLY_E_UNSUPPORTED,
                            "area %s: its model %s, a program of %u "
                            "operations, does not run on %s: %s",
                            area->name, area->model, area->program->n_ops,
                            device.deviceName, why);
}

/* message: why the program is refused, or "" */
static VkResult build(const vly_vulkan_device *device,
                      const vly_program *program, uint32_t shader,
                      const uint32_t *constants, VkPipeline *made,
                      char *message)
{
    uint32_t *words = NULL;
    size_t n = 0;
    size_t n_frame;
    const uint32_t *frame = vly_vulkan_shader(shader, &n_frame);
    int failed =
        vly_vulkan_splice(frame, n_frame, program, &words, &n, message);
    if (failed == VLY_SPIRV_NO_MEMORY) {
        message[0] = '\0';
        return VK_ERROR_OUT_OF_HOST_MEMORY;
    }
    if (failed)
        return VK_ERROR_UNKNOWN;
    VkResult result = vly_vulkan_pipeline_build(device, words, n, constants,
                                                compiler_bytes(program), made);
    free(words);
    if (result != VK_SUCCESS && result != VK_ERROR_OUT_OF_HOST_MEMORY &&
        result != VK_ERROR_OUT_OF_DEVICE_MEMORY &&
        result != VK_ERROR_DEVICE_LOST)
        snprintf(message, VLY_SPIRV_MESSAGE,
                 "its driver does not compile it (%d)", (int)result);
    return result;
}

/* With the lock of the device. *own has the key; it becomes the device's unless
 * that has one. */
static VkResult take_spliced(vly_vulkan_device *device,
                             const vly_program *program, uint32_t shader,
                             const uint32_t *constants,
                             vly_vulkan_spliced **own,
                             vly_vulkan_spliced **found, char *message)
{
    vly_vulkan_spliced *there = find_spliced(device, *own);
    if (there == NULL) {
        VkResult result =
            build(device, program, shader, constants, &(*own)->made, message);
        if (result != VK_SUCCESS)
            return result;
        there = *own;
        *own = NULL;
        there->next = device->spliced;
        device->spliced = there;
    }
    there->n_users++;
    *found = there;
    drop_idle(device, IDLE_MAX);
    return VK_SUCCESS;
}

static vly_status get_spliced(vly_backend_net *net, const vly_area_desc *area,
                              vly_vulkan_spliced **found, vly_error *error)
{
    char message[VLY_SPIRV_MESSAGE] = "";
    vly_common_heap outer = {.bytes = 0};
    vly_vulkan_spliced *own = NULL;
    uint32_t constants[VLY_VULKAN_CONSTANTS];
    spliced_key key = {NULL, 0};
    uint32_t shader =
        (net->is_fused ? VLY_VULKAN_PROGRAM_FUSED : VLY_VULKAN_PROGRAM) +
        area->n_ports - 1;
    vly_vulkan_constants(&net->shape, shader, constants);
    fill_key(&key, area->program, shader, constants);
    vly_status status = VLY_OK;
    VLY_TRY(vly_common_alloc(&outer, 1, sizeof *own + key.n * sizeof *own->key,
                             &own, error));
    key.words = own->key;
    fill_key(&key, area->program, shader, constants);
    own->n_key = key.n;
    pthread_mutex_lock(&net->device->lock);
    VkResult result = take_spliced(net->device, area->program, shader,
                                   constants, &own, found, message);
    pthread_mutex_unlock(&net->device->lock);
    if (message[0] != '\0') {
        status = fail_program(net, area, message, error);
    } else {
        char what[128];
        snprintf(what, sizeof what, "compiling the model of area %.60s",
                 area->name);
        status = vly_vulkan_check(net->device, result, what, error);
    }
out:
    vly_common_release(&outer, own);
    return status;
}

vly_status vly_vulkan_programs_create(vly_backend_net *net, vly_error *error)
{
    vly_status status = VLY_OK;
    for (uint32_t k = 0; k < net->n_programs && status == VLY_OK; k++) {
        const vly_area_desc *area = net->programs[k].area;
        if (net->tiles[VLY_VULKAN_N_MODELS + k].n == 0)
            continue;
        if (!net->device->has_nan || net->fault == 2)
            return fail_program(net, area,
                                "it lacks the Vulkan feature "
                                "shaderSignedZeroInfNanPreserveFloat32",
                                error);
        status = get_spliced(net, area, &net->programs[k].spliced, error);
    }
    return status;
}

void vly_vulkan_programs_release(vly_backend_net *net)
{
    if (net->n_programs == 0)
        return;
    pthread_mutex_lock(&net->device->lock);
    for (uint32_t k = 0; k < net->n_programs; k++)
        if (net->programs[k].spliced != NULL)
            net->programs[k].spliced->n_users--;
    drop_idle(net->device, IDLE_MAX);
    pthread_mutex_unlock(&net->device->lock);
    net->n_programs = 0;
}

VkPipeline vly_vulkan_program_pipeline(const vly_backend_net *net,
                                       uint32_t kind)
{
    return net->programs[kind - VLY_VULKAN_N_MODELS].spliced->made;
}
