/* SPDX-License-Identifier: Apache-2.0
 * A line of 16 aligned bytes in one atomic access: a thread that polls it for a
 * tag also gets the other words.
 */
#ifndef VOLLEY_CUDA_LINE_ACCESS_CUH
#define VOLLEY_CUDA_LINE_ACCESS_CUH

#include <stdint.h>

static __device__ __forceinline__ uint4 line_read(const uint32_t *at)
{
    uint4 v;
    asm volatile("{\n\t.reg .b128 q;\n\t.reg .b64 a, b;\n\t"
                 "ld.relaxed.gpu.global.b128 q, [%4];\n\t"
                 "mov.b128 {a, b}, q;\n\t"
                 "mov.b64 {%0, %1}, a;\n\tmov.b64 {%2, %3}, b;\n\t}"
                 : "=r"(v.x), "=r"(v.y), "=r"(v.z), "=r"(v.w)
                 : "l"(at)
                 : "memory");
    return v;
}

static __device__ __forceinline__ void line_write(uint32_t *at, uint4 v)
{
    asm volatile("{\n\t.reg .b128 q;\n\t.reg .b64 a, b;\n\t"
                 "mov.b64 a, {%1, %2};\n\tmov.b64 b, {%3, %4};\n\t"
                 "mov.b128 q, {a, b};\n\t"
                 "st.relaxed.gpu.global.b128 [%0], q;\n\t}" ::"l"(at),
                 "r"(v.x), "r"(v.y), "r"(v.z), "r"(v.w)
                 : "memory");
}

#endif
