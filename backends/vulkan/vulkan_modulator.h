/* SPDX-License-Identifier: Apache-2.0
 * Modulators of maps whose synapses have an eligibility, on a device. The
 * shader is kernels/vulkan/learn_modulator.comp; weights change in that of
 * flushes (learn_rows.comp).
 */
#ifndef VOLLEY_VULKAN_MODULATOR_H
#define VOLLEY_VULKAN_MODULATOR_H

#include "vulkan_net.h"

/* words: the last two of the map in a snapshot. Nothing is made for a rule
 * without a modulator. */
vly_status vly_vulkan_modulator_create(vly_backend_net *net,
                                       const vly_learning_desc *learning,
                                       const uint32_t *words,
                                       vly_vulkan_plastic_map *map,
                                       vly_vulkan_learning *l,
                                       vly_error *error);
/* Room for values of the host, if a map has a modulator. */
vly_status vly_vulkan_modulations_create(vly_backend_net *net,
                                         vly_error *error);
/* Copies the values for the bursts of net->launch to where the device reads
 * them. */
void vly_vulkan_modulations_send(vly_backend_net *net, const vly_run *run);
/* The same two words of a map with a modulator, for a snapshot. */
vly_status vly_vulkan_modulator_save(vly_backend_net *net,
                                     const vly_vulkan_plastic_map *map,
                                     uint32_t *words, vly_error *error);

#endif
