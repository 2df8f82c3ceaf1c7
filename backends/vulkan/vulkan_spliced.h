/* SPDX-License-Identifier: Apache-2.0
 * Pipelines of users' models and rules, which the nets on a device share. A
 * device keeps each one, found by all that it depends on.
 */
#ifndef VOLLEY_VULKAN_SPLICED_H
#define VOLLEY_VULKAN_SPLICED_H

#include "kernels/vulkan/spirv_rules.h"
#include "vulkan_net.h"

typedef struct vly_vulkan_spliced vly_vulkan_spliced;

/* What a pipeline depends on, as words. */
typedef struct vly_vulkan_key {
    uint32_t *words; /* NULL: only counted */
    uint64_t n;
} vly_vulkan_key;
void vly_vulkan_key_put(vly_vulkan_key *key, const void *words, uint64_t n);

typedef struct vly_vulkan_wanted {
    uint32_t shader; /* the frame */
    uint32_t n_ops;
    const void *context; /* of the two functions */
    /* As vly_vulkan_splice. */
    int (*write)(const void *context, const uint32_t *frame, size_t n,
                 uint32_t **out, size_t *n_out, char *message);
    /* What the written shader depends on beside the frame. */
    void (*put)(vly_vulkan_key *key, const void *context);
    const char *what; /* "compiling ...", in errors */
} vly_vulkan_wanted;

/* NULL if the device can have such pipelines, or why not. */
const char *vly_vulkan_spliced_not(const vly_backend_net *net);
/* Finds the pipeline or makes it; it is the net's until it is released.
 *
 * message  [VLY_SPIRV_MESSAGE], "" before. Not "" after: the device does not
 *          run the program, for this reason; status and error do not count
 */
vly_status vly_vulkan_spliced_get(vly_backend_net *net,
                                  const vly_vulkan_wanted *wanted,
                                  vly_vulkan_spliced **found, char *message,
                                  vly_error *error);
/* NULL is allowed. */
void vly_vulkan_spliced_release(vly_vulkan_device *device,
                                vly_vulkan_spliced *spliced);
VkPipeline vly_vulkan_spliced_pipeline(const vly_vulkan_spliced *spliced);

#endif
