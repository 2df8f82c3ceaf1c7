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
    /* in errors */
    const char *place; /* "area" or "map" */
    const char *name;  /* of the area or map */
    const char *kind;  /* "model" or "rule" */
    const char *id;    /* of the model or rule */
} vly_vulkan_wanted;

/* Finds the pipeline or makes it; it is the net's until it is released.
 * Errors  E_UNSUPPORTED with the area or map: the device cannot run it */
vly_status vly_vulkan_spliced_get(vly_backend_net *net,
                                  const vly_vulkan_wanted *wanted,
                                  vly_vulkan_spliced **found, vly_error *error);
/* NULL is allowed. */
void vly_vulkan_spliced_release(vly_vulkan_device *device,
                                vly_vulkan_spliced *spliced);
VkPipeline vly_vulkan_spliced_pipeline(const vly_vulkan_spliced *spliced);

#endif
