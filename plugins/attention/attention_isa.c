/* SPDX-License-Identifier: Apache-2.0
 * Which of the compiled instruction sets this processor has.
 */
#include <stdbool.h>
#include <stddef.h>
#include <string.h>

#include "attention_kernels.h"

#if defined(VLY_ATTENTION_X86)
static bool has_avx2(void)
{
    return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
}

static bool has_avx512(void)
{
    return has_avx2() && __builtin_cpu_supports("avx512f") &&
           __builtin_cpu_supports("avx512bw") &&
           __builtin_cpu_supports("avx512dq") &&
           __builtin_cpu_supports("avx512vl");
}
#endif

const vly_attention_kernels *vly_attention_kernels_find(const char *isa)
{
#if defined(VLY_ATTENTION_X86)
    if (strcmp(isa, "avx512") == 0)
        return has_avx512() ? &vly_attention_kernels_avx512 : NULL;
    if (strcmp(isa, "avx2") == 0)
        return has_avx2() ? &vly_attention_kernels_avx2 : NULL;
#endif
    return strcmp(isa, "scalar") == 0 ? &vly_attention_kernels_scalar : NULL;
}

const vly_attention_kernels *vly_attention_kernels_best(void)
{
    const vly_attention_kernels *best = vly_attention_kernels_find("avx512");
    if (!best)
        best = vly_attention_kernels_find("avx2");
    return best ? best : &vly_attention_kernels_scalar;
}
