/* SPDX-License-Identifier: Apache-2.0
 * Whole numbers of more than 24 bits as floats. GLSL leaves open how such a
 * conversion is rounded, so rules convert by these functions only: two exact
 * conversions, and a sum that rounds to nearest even as C and CUDA do.
 */
#ifndef VOLLEY_RULES_CONVERSION_H
#define VOLLEY_RULES_CONVERSION_H

#include "kernels/models/model.h"

VLY_FN VLY_F32 vly_u32_f32(VLY_U32 n)
{
    return VLY_TO_F32(n >> 12) * 4096.0f + VLY_TO_F32(n & 4095u);
}

/* |n| is below 2^31. */
VLY_FN VLY_F32 vly_i32_f32(VLY_I32 n)
{
    VLY_F32 size = vly_u32_f32(VLY_TO_U32(n < 0 ? -n : n));
    return n < 0 ? -size : size;
}

#endif
