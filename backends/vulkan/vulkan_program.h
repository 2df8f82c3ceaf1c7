/* SPDX-License-Identifier: Apache-2.0
 * Users' models: which of them a net has, and their pipelines, which the nets
 * on a device share.
 */
#ifndef VOLLEY_VULKAN_PROGRAM_H
#define VOLLEY_VULKAN_PROGRAM_H

#include "vulkan_net.h"

/* Finds the different programs of a net, whose areas have been made. Areas with
 * one program are of one kind, VLY_VULKAN_N_MODELS + its number. */
vly_status vly_vulkan_programs_count(vly_backend_net *net, vly_error *error);
/* Makes their pipelines, when the plan has been chosen.
 * Errors  E_UNSUPPORTED with the area: the device cannot run its model */
vly_status vly_vulkan_programs_create(vly_backend_net *net, vly_error *error);
void vly_vulkan_programs_release(vly_backend_net *net);
/* Of the update, or of a whole burst where that is one dispatch. */
VkPipeline vly_vulkan_program_pipeline(const vly_backend_net *net,
                                       uint32_t kind);

#endif
