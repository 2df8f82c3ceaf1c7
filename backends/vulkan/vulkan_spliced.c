/* SPDX-License-Identifier: Apache-2.0
 * Pipelines of users' programs. They are found by the frame, its constants and
 * the operations. Some that no net uses are kept for the next net.
 */
#include "vulkan_spliced.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* pipelines without a net that a device keeps */
#define IDLE_MAX 16u

struct vly_vulkan_spliced {
    struct vly_vulkan_spliced *next; /* older ones */
    VkPipeline made;
    uint64_t n_key;
    uint32_t n_users; /* nets */
    uint32_t reserved;
    uint32_t key[];
};

/* ---- kept by the device ------------------------------------------------- */

void vly_vulkan_key_put(vly_vulkan_key *key, const void *words, uint64_t n)
{
    if (key->words)
        memcpy(key->words + key->n, words, n * sizeof *key->words);
    key->n += n;
}

/* Only counts without memory for the words. */
static void fill_key(vly_vulkan_key *key, const vly_vulkan_wanted *wanted,
                     const uint32_t *constants)
{
    key->n = 0;
    vly_vulkan_key_put(key, &wanted->shader, 1);
    vly_vulkan_key_put(key, constants, VLY_VULKAN_CONSTANTS);
    wanted->put(key, wanted->context);
}

static vly_vulkan_spliced *find_spliced(const vly_vulkan_device *device,
                                        const vly_vulkan_spliced *wanted)
{
    vly_vulkan_spliced *s = device->spliced;
    while (s && (s->n_key != wanted->n_key ||
                 memcmp(s->key, wanted->key, s->n_key * sizeof *s->key) != 0))
        s = s->next;
    return s;
}

/* Destroys the pipelines that no net uses, except for some of the newest. */
static void drop_idle(vly_vulkan_device *device, uint32_t most)
{
    uint32_t n_idle = 0;
    vly_common_heap outer = {.bytes = 0};
    for (vly_vulkan_spliced **at = &device->spliced; *at;) {
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

void vly_vulkan_spliced_release(vly_vulkan_device *device,
                                vly_vulkan_spliced *spliced)
{
    if (!spliced)
        return;
    pthread_mutex_lock(&device->lock);
    spliced->n_users--;
    drop_idle(device, IDLE_MAX);
    pthread_mutex_unlock(&device->lock);
}

VkPipeline vly_vulkan_spliced_pipeline(const vly_vulkan_spliced *spliced)
{
    return spliced->made;
}

/* ---- making ------------------------------------------------------------- */

static vly_status fail(const vly_backend_net *net,
                       const vly_vulkan_wanted *wanted, const char *why,
                       vly_error *error)
{
    VkPhysicalDeviceProperties device;
    vkGetPhysicalDeviceProperties(net->device->physical, &device);
    return vly_support_fail(error, VLY_E_UNSUPPORTED,
                            "%s %s: its %s %s, a program of %u operations, "
                            "does not run on %s: %s",
                            wanted->place, wanted->name, wanted->kind,
                            wanted->id, wanted->n_ops, device.deviceName, why);
}

/* Address space for the compiler: an operation may be a function of a hundred
 * instructions. */
static size_t compiler_bytes(const vly_vulkan_wanted *wanted)
{
    return VLY_VULKAN_COMPILER_BYTES + ((size_t)wanted->n_ops << 16);
}

/* message: why the program is refused, or "" */
static VkResult build(const vly_vulkan_device *device,
                      const vly_vulkan_wanted *wanted,
                      const uint32_t *constants, VkPipeline *made,
                      char *message)
{
    uint32_t *words = NULL;
    size_t n = 0;
    size_t n_frame;
    const uint32_t *frame = vly_vulkan_shader(wanted->shader, &n_frame);
    int failed =
        wanted->write(wanted->context, frame, n_frame, &words, &n, message);
    if (failed == VLY_SPIRV_NO_MEMORY) {
        message[0] = '\0';
        return VK_ERROR_OUT_OF_HOST_MEMORY;
    }
    if (failed)
        return VK_ERROR_UNKNOWN;
    VkResult result = vly_vulkan_pipeline_build(device, words, n, constants,
                                                compiler_bytes(wanted), made);
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
                             const vly_vulkan_wanted *wanted,
                             const uint32_t *constants,
                             vly_vulkan_spliced **own,
                             vly_vulkan_spliced **found, char *message)
{
    vly_vulkan_spliced *there = find_spliced(device, *own);
    if (!there) {
        VkResult result =
            build(device, wanted, constants, &(*own)->made, message);
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

vly_status vly_vulkan_spliced_get(vly_backend_net *net,
                                  const vly_vulkan_wanted *wanted,
                                  vly_vulkan_spliced **found, vly_error *error)
{
    char message[VLY_SPIRV_MESSAGE] = "";
    char what[128];
    vly_common_heap outer = {.bytes = 0};
    vly_vulkan_spliced *own = NULL;
    uint32_t constants[VLY_VULKAN_CONSTANTS];
    vly_vulkan_key key = {NULL, 0};
    vly_status status = VLY_OK;
    if (!net->device->has_nan || net->fault == 2)
        return fail(net, wanted,
                    "it lacks the Vulkan feature "
                    "shaderSignedZeroInfNanPreserveFloat32",
                    error);
    vly_vulkan_constants(&net->shape, wanted->shader, constants);
    fill_key(&key, wanted, constants);
    VLY_TRY(vly_common_alloc(&outer, 1, sizeof *own + key.n * sizeof *own->key,
                             &own, error));
    key.words = own->key;
    fill_key(&key, wanted, constants);
    own->n_key = key.n;
    pthread_mutex_lock(&net->device->lock);
    VkResult result =
        take_spliced(net->device, wanted, constants, &own, found, message);
    pthread_mutex_unlock(&net->device->lock);
    snprintf(what, sizeof what, "compiling the %s of %s %.60s", wanted->kind,
             wanted->place, wanted->name);
    status = message[0] != '\0'
                 ? fail(net, wanted, message, error)
                 : vly_vulkan_check(net->device, result, what, error);
out:
    vly_common_release(&outer, own);
    return status;
}
