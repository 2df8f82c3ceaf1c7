/* SPDX-License-Identifier: Apache-2.0
 * Users' rules of plasticity: which of them a net has, their pipelines, and
 * their coefficients on the device.
 */
#ifndef VOLLEY_VULKAN_RULE_H
#define VOLLEY_VULKAN_RULE_H

#include "vulkan_net.h"

/* Finds the different programs of a net. The rule of a map with one is
 * VLY_VULKAN_N_RULES + its number. */
vly_status vly_vulkan_rules_count(vly_backend_net *net, vly_error *error);
/* Makes their pipelines, when the plan has been chosen.
 * Errors  E_UNSUPPORTED with the map: the device cannot run its rule */
vly_status vly_vulkan_rules_create(vly_backend_net *net, vly_error *error);
void vly_vulkan_rules_release(vly_backend_net *net);

/* Built-in rules and those of the net. */
uint32_t vly_vulkan_rules_all(const vly_backend_net *net);
/* The number of the rule: kernels/rules/plasticity.def, then the net's. */
uint32_t vly_vulkan_rule_of(const vly_backend_net *net,
                            const vly_learning_desc *learning);
/* Of a user's rule: its rows, or their flush. */
VkPipeline vly_vulkan_rule_pipeline(const vly_backend_net *net, uint32_t rule,
                                    bool flush);

/* Puts the coefficients of a user's rule on the device. */
vly_status vly_vulkan_rule_put(vly_backend_net *net,
                               const vly_learning_desc *learning,
                               vly_vulkan_plastic_map *map,
                               vly_vulkan_learning *l, vly_error *error);
/* Other coefficients; the caller uploads l. */
vly_status vly_vulkan_rule_set(vly_backend_net *net,
                               const vly_vulkan_plastic_map *map,
                               const vly_learning_desc *learning,
                               vly_vulkan_learning *l, vly_error *error);

#endif
