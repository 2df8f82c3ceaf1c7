/* SPDX-License-Identifier: Apache-2.0
 * Projections that learn, on a device. The host has the same arrays only while
 * a net is made and while a snapshot is taken (vly_common_traces).
 */
#ifndef VOLLEY_VULKAN_LEARNING_H
#define VOLLEY_VULKAN_LEARNING_H

#include "vulkan_net.h"

/* ---- vulkan_plastic.c -------------------------------------------------- */

/* Which projections learn; the plan depends on it. */
vly_status vly_vulkan_learning_count(vly_backend_net *net, vly_error *error);
/* All projections that learn, from the snapshot.
 * Errors E_NOMEM they do not fit on the device */
vly_status vly_vulkan_learning_create(vly_backend_net *net,
                                      const vly_snapshot *snapshot,
                                      vly_error *error);

/* ---- vulkan_learning.c ------------------------------------------------- */

/* Its number in net->plastic.list; net->plastic.n: it does not learn */
uint32_t vly_vulkan_learning_find(const vly_backend_net *net,
                                  uint32_t projection);
/* Before a submission at net->burst: ages must not grow beyond 31 bits. */
vly_status vly_vulkan_learning_prepare(vly_backend_net *net, vly_error *error);
/* Whether a burst of the net uses the shader. */
bool vly_vulkan_learning_uses(const vly_backend_net *net, uint32_t shader);
/* Dispatches of burst k, in the order in which they are needed, with a barrier
 * between two: before delivery, beside delivery, after the update. */
void vly_vulkan_learning_flush(vly_backend_net *net, VkCommandBuffer commands,
                               const VkPipeline *pipelines, uint32_t k);
void vly_vulkan_learning_deliver(vly_backend_net *net, VkCommandBuffer commands,
                                 const VkPipeline *pipelines, uint32_t k);
void vly_vulkan_learning_events(vly_backend_net *net, VkCommandBuffer commands,
                                const VkPipeline *pipelines, uint32_t k);
/* After those, where net->plastic.modulates. */
void vly_vulkan_learning_modulate(vly_backend_net *net,
                                  VkCommandBuffer commands,
                                  const VkPipeline *pipelines, uint32_t k);
/* The weights of a snapshot. */
vly_status vly_vulkan_learning_save(vly_backend_net *net, uint32_t *words,
                                    vly_error *error);
vly_status vly_vulkan_learning_read(vly_backend_net *net, uint32_t projection,
                                    uint64_t first, uint64_t count,
                                    int32_t *masters, vly_error *error);
vly_status vly_vulkan_learning_write(vly_backend_net *net, uint32_t projection,
                                     uint64_t first, uint64_t count,
                                     const int32_t *masters, vly_error *error);
vly_status vly_vulkan_learning_set(vly_backend_net *net, uint32_t projection,
                                   const vly_learning_desc *learning,
                                   vly_error *error);

#endif
