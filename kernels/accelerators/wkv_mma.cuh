/* SPDX-License-Identifier: Apache-2.0
 * mma.sync m16n8k8 in tf32, three passes: a float is the sum of two tf32 (its
 * upper 11 bits and the rest), and the smallest of the four products is left
 * out. The error is about 2^-21 of each product.
 */
#ifndef VLY_WKV_MMA_CUH
#define VLY_WKV_MMA_CUH

#include <stdint.h>

/* Lane 4 g + t has of a [16][8] (rows g, g, g + 8, g + 8 at) k t, t + 4, t,
 * t + 4 as a[0], a[2], a[1], a[3]; of b [8][8] column g at k t and t + 4; of c
 * [16][8] columns 2 t and 2 t + 1 of rows g and g + 8. */
static __device__ __forceinline__ void
wkv_mma_tf32(float c[4], const uint32_t a[4], const uint32_t b[2])
{
    asm volatile("mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 "
                 "{%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, "
                 "{%0, %1, %2, %3};"
                 : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
                 : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]),
                   "r"(b[1]));
}

#endif
