/* SPDX-License-Identifier: Apache-2.0
 * Writes the operations of a user's model into a shader that the build made for
 * it (kernels/vulkan/program_step.glsl). It needs no Vulkan.
 */
#ifndef VOLLEY_VULKAN_SPLICE_H
#define VOLLEY_VULKAN_SPLICE_H

#include <stddef.h>
#include <stdint.h>

#include <volley/plugin.h>

#include "kernels/vulkan/spirv_rules.h"

/* Replaces the bodies of vly_program_load and vly_program_step of a frame.
 *
 * program  accepted by vly_common_check_program
 * *out     malloc'ed, owned by the caller; untouched on failure. It has
 *          NoContraction at every float + - * and keeps the numeric contract
 * message  [VLY_SPIRV_MESSAGE] why it failed, if it returns -1
 * Returns 0, -1 or VLY_SPIRV_NO_MEMORY
 */
int vly_vulkan_splice(const uint32_t *frame, size_t n,
                      const vly_program *program, uint32_t **out, size_t *n_out,
                      char *message);

#endif
