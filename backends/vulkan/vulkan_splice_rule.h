/* SPDX-License-Identifier: Apache-2.0
 * Writes the operations of a user's rule into a shader that the build made for
 * it (kernels/vulkan/rule_program.glsl). It needs no Vulkan.
 */
#ifndef VOLLEY_VULKAN_SPLICE_RULE_H
#define VOLLEY_VULKAN_SPLICE_RULE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "kernels/rules/rule_program.h"
#include "kernels/vulkan/spirv_rules.h"

/* Replaces the bodies of vly_rule_load, _post and, unless it is the frame of a
 * flush, _pre.
 *
 * words    of the rule, for which vly_rule_program_good is true
 * *out, message, result: as of vly_vulkan_splice
 */
int vly_vulkan_splice_rule(const uint32_t *frame, size_t n, bool flush,
                           const uint32_t *words, uint32_t **out, size_t *n_out,
                           char *message);

#endif
