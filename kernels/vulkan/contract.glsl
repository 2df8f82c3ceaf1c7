/* SPDX-License-Identifier: Apache-2.0
 * What every shader includes first: the words of kernels/models and the
 * rounding of the numeric contract, which GLSL cannot express (4467 and 4462
 * are RoundingModeRTE as capability and as execution mode). The build adds
 * NoContraction and refuses a shader without this file. Source:
 * SPV_KHR_float_controls
 */
#ifndef VOLLEY_VULKAN_CONTRACT_GLSL
#define VOLLEY_VULKAN_CONTRACT_GLSL

#extension GL_EXT_shader_explicit_arithmetic_types_int64 : require
#extension GL_EXT_spirv_intrinsics : require

spirv_execution_mode(extensions = ["SPV_KHR_float_controls"],
                     capabilities = [4467], 4462, 32);

#define VLY_GLSL 1
#include "kernels/models/model.h"

#endif
