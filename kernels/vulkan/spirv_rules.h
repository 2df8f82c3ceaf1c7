/* SPDX-License-Identifier: Apache-2.0
 * The numeric contract on SPIR-V: what a module may contain, and NoContraction
 * on each of its float additions, subtractions and multiplications, which
 * GLSL's `precise` does not carry through calls and comparisons. Used by the
 * build (spirv_contract.c), and by the backend on shaders of users' models.
 * Source: SPIR-V specification 1.6, Khronos
 */
#ifndef VOLLEY_VULKAN_SPIRV_RULES_H
#define VOLLEY_VULKAN_SPIRV_RULES_H

#include <stddef.h>
#include <stdint.h>

#define VLY_SPIRV_MESSAGE 256
#define VLY_SPIRV_NO_MEMORY (-2)

/* Decorates every OpFAdd, OpFSub, OpFMul and OpFNegate that is not decorated.
 *
 * *out    malloc'ed, owned by the caller; untouched on failure
 * message [VLY_SPIRV_MESSAGE] why it failed: not SPIR-V, or no memory
 * Returns 0, -1 or VLY_SPIRV_NO_MEMORY
 */
int vly_spirv_decorate(const uint32_t *words, size_t n, uint32_t **out,
                       size_t *n_out, char *message);

/* Checks a decorated module: floats have 32 bits and come from + - *, moves
 * and conversions of integers only, each + - * is decorated, constants are 0
 * or of a size in [2^-80, 2^80], every entry point declares RoundingModeRTE 32
 * and nothing about subnormals.
 *
 * message [VLY_SPIRV_MESSAGE] the first violation, with its word and function
 * Returns 0, -1 or VLY_SPIRV_NO_MEMORY
 */
int vly_spirv_check(const uint32_t *words, size_t n, char *message);
/* Whether the check accepts a float constant with these bits. */
int vly_spirv_is_constant(uint32_t bits);

#endif
