/* SPDX-License-Identifier: Apache-2.0
 * The loader and the instance. The instance is never destroyed: the loader
 * would unload the drivers, and LeakSanitizer could not name the functions that
 * leaked.
 *
 * VOLLEY_VULKAN_VALIDATION=1 turns the validation layer on, for tests. Each of
 * its messages is logged, and after the first one every call fails.
 */
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "backends/common/backend_common.h"
#include "vulkan_device.h"

#define LAYER "VK_LAYER_KHRONOS_validation"

static VkInstance made;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* of made */
static _Atomic uint32_t n_messages;                      /* of the layer */

/* ---- the validation layer ---------------------------------------------- */

static VKAPI_ATTR VkBool32 VKAPI_CALL
note_message(VkDebugUtilsMessageSeverityFlagBitsEXT severity,
             VkDebugUtilsMessageTypeFlagsEXT types,
             const VkDebugUtilsMessengerCallbackDataEXT *data, void *user)
{
    (void)severity;
    (void)types;
    (void)user;
    atomic_fetch_add(&n_messages, 1);
    if (vly_support_host)
        vly_support_host->log(vly_support_host->context, VLY_LOG_ERROR,
                              data->pMessage);
    return VK_FALSE;
}

vly_status vly_vulkan_validated(vly_error *error)
{
    uint32_t n = atomic_load(&n_messages);
    if (n == 0)
        return VLY_OK;
    return vly_support_fail(error, VLY_E_DEVICE,
                            "the Vulkan validation layer has said %u things "
                            "(logged)",
                            n);
}

static bool is_wanted(void)
{
    const char *wanted = getenv("VOLLEY_VULKAN_VALIDATION");
    return wanted && strcmp(wanted, "1") == 0;
}

/* ---- instance ---------------------------------------------------------- */

static vly_status create(vly_error *error)
{
    static const char *const layers[] = {LAYER};
    static const char *const extensions[] = {VK_EXT_DEBUG_UTILS_EXTENSION_NAME};
    const uint32_t validated = is_wanted() ? 1 : 0;
    const VkDebugUtilsMessengerCreateInfoEXT messenger = {
        .sType = VK_STRUCTURE_TYPE_DEBUG_UTILS_MESSENGER_CREATE_INFO_EXT,
        .messageSeverity = VK_DEBUG_UTILS_MESSAGE_SEVERITY_WARNING_BIT_EXT |
                           VK_DEBUG_UTILS_MESSAGE_SEVERITY_ERROR_BIT_EXT,
        .messageType = VK_DEBUG_UTILS_MESSAGE_TYPE_VALIDATION_BIT_EXT,
        .pfnUserCallback = note_message};
    const VkApplicationInfo application = {
        .sType = VK_STRUCTURE_TYPE_APPLICATION_INFO,
        .pApplicationName = "volley",
        .apiVersion = VK_API_VERSION_1_2};
    const VkInstanceCreateInfo info = {
        .sType = VK_STRUCTURE_TYPE_INSTANCE_CREATE_INFO,
        .pNext = validated != 0 ? &messenger : NULL,
        .pApplicationInfo = &application,
        .enabledLayerCount = validated,
        .ppEnabledLayerNames = layers,
        .enabledExtensionCount = validated,
        .ppEnabledExtensionNames = extensions};
    VkResult result = vkCreateInstance(&info, NULL, &made);
    if (result == VK_ERROR_LAYER_NOT_PRESENT)
        return vly_support_fail(
            error, VLY_E_DEVICE,
            "VOLLEY_VULKAN_VALIDATION is 1, but there is no "
            "%s",
            LAYER);
    vly_status status = VLY_OK;
    VLY_TRY(
        vly_vulkan_check(NULL, result, "no Vulkan driver can be used", error));
    volkLoadInstance(made);
    VkDebugUtilsMessengerEXT listening = VK_NULL_HANDLE;
    if (validated != 0) /* for as long as the instance */
        result =
            vkCreateDebugUtilsMessengerEXT(made, &messenger, NULL, &listening);
    status = vly_vulkan_check(NULL, result, "listening to the validation layer",
                              error);
out:
    return status;
}

bool vly_vulkan_room(size_t bytes)
{
    /* reserves addresses and touches no page; volatile, since a compiler may
     * otherwise remove both calls */
    void *volatile room = malloc(bytes);
    const bool there = room != NULL;
    free(room);
    return there;
}

/* The loader opens every driver that is installed. If memory runs out while it
 * does so (ulimit -v), a constructor of a driver's C++ library throws, which
 * ends the process. Catching the exception would not help: the loader and
 * dlopen would keep their locks. */
vly_status vly_vulkan_instance(VkInstance *instance, vly_error *error)
{
    vly_status status = VLY_OK;
    pthread_mutex_lock(&lock);
    if (made == VK_NULL_HANDLE && !vly_vulkan_room(VLY_VULKAN_DRIVER_BYTES))
        status =
            vly_support_fail(error, VLY_E_NOMEM,
                             "out of memory: Vulkan drivers are not loaded "
                             "with less than 512 MiB of addresses");
    else if (made == VK_NULL_HANDLE && volkInitialize() != VK_SUCCESS)
        status = vly_support_fail(error, VLY_E_DEVICE,
                                  "Vulkan loader not detected: libvulkan.so.1 "
                                  "cannot be opened");
    else if (made == VK_NULL_HANDLE &&
             volkGetInstanceVersion() < VK_API_VERSION_1_2)
        status = vly_support_fail(
            error, VLY_E_DEVICE, "the Vulkan loader is older than version 1.2");
    else if (made == VK_NULL_HANDLE)
        status = create(error);
    *instance = made;
    pthread_mutex_unlock(&lock);
    return status;
}
