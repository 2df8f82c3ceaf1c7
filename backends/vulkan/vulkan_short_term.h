/* SPDX-License-Identifier: Apache-2.0
 * Projections with short-term plasticity, on a device. The shaders are
 * kernels/vulkan/short_rows.comp and short_states.comp.
 */
#ifndef VOLLEY_VULKAN_SHORT_TERM_H
#define VOLLEY_VULKAN_SHORT_TERM_H

#include "vulkan_net.h"

/* Which projections have it; the plan depends on it. */
vly_status vly_vulkan_short_term_count(vly_backend_net *net, vly_error *error);
/* Its number in net->plastic.short_list; net->plastic.n_short: it has no
 * short-term plasticity */
uint32_t vly_vulkan_short_term_find(const vly_backend_net *net,
                                    uint32_t projection);
/* Number i of those that have it, from its words of a snapshot at `burst`. */
vly_status vly_vulkan_short_term_create(vly_backend_net *net, uint32_t i,
                                        uint64_t burst, const uint32_t *words,
                                        vly_error *error);
/* Whether a burst of the net uses the shader. */
bool vly_vulkan_short_term_uses(const vly_backend_net *net, uint32_t shader);
/* Dispatches of burst k: beside delivery, beside the update. */
void vly_vulkan_short_term_deliver(vly_backend_net *net,
                                   VkCommandBuffer commands,
                                   const VkPipeline *pipelines, uint32_t k);
void vly_vulkan_short_term_states(vly_backend_net *net,
                                  VkCommandBuffer commands,
                                  const VkPipeline *pipelines, uint32_t k);
/* Delivers the events of all maps that are under way in a snapshot. */
vly_status vly_vulkan_short_term_restore(vly_backend_net *net,
                                         vly_error *error);
/* Old spikes get an age that does not grow beyond 31 bits. */
vly_status vly_vulkan_short_term_renew(vly_backend_net *net, vly_error *error);
/* The words of number i of those that have it in a snapshot. */
vly_status vly_vulkan_short_term_save(vly_backend_net *net, uint32_t i,
                                      uint32_t *words, vly_error *error);
vly_status vly_vulkan_short_term_set(vly_backend_net *net, uint32_t projection,
                                     const vly_short_term_desc *short_term,
                                     vly_error *error);

#endif
