/* SPDX-License-Identifier: Apache-2.0
 * wgmma of sm_90a: matrix products of a warp group with A in shared memory or
 * registers, B in shared memory, sums in registers. CCCL has no wrappers of
 * them. Lanes hold rows and columns of a result as in mma.m16n8k16, 16 rows a
 * warp, one fragment of 8 columns behind the other.
 *
 * Source  PTX ISA 8.8, 9.7.15 (asynchronous warpgroup matrix instructions)
 */
#ifndef VLY_WGMMA_CUH
#define VLY_WGMMA_CUH

#include <stdint.h>

#include <cuda_bf16.h>
#include <cuda_fp16.h>

/* ---- order ------------------------------------------------------------- */

/* before the first product after registers or shared memory were written */
static __device__ __forceinline__ void wgmma_fence(void)
{
    asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
}

static __device__ __forceinline__ void wgmma_commit(void)
{
    asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
}

template <int PENDING> static __device__ __forceinline__ void wgmma_wait(void)
{
    asm volatile("wgmma.wait_group.sync.aligned %0;" ::"n"(PENDING) : "memory");
}

/* The compiler moves arithmetic over an asm that does not name its registers:
 * these name them, before wgmma_fence for what a product will read or add to,
 * and after wgmma_wait for what it wrote. */
template <int N>
static __device__ __forceinline__ void wgmma_hold(float (&d)[N])
{
#pragma unroll
    for (int i = 0; i < N; i++)
        asm volatile("" : "+f"(d[i])::"memory");
}

template <int N>
static __device__ __forceinline__ void wgmma_hold(uint32_t (&a)[N][4])
{
#pragma unroll
    for (int i = 0; i < N; i++)
#pragma unroll
        for (int r = 0; r < 4; r++)
            asm volatile("" : "+r"(a[i][r])::"memory");
}

/* ---- descriptors of shared memory, swizzled by 128 bytes --------------- */

/* Rows of 128 bytes, the dimension that is summed contiguous: groups of 8 rows
 * are 1024 bytes apart. */
static __device__ __forceinline__ uint64_t wgmma_rows(uint32_t address)
{
    return (uint64_t)(address >> 4 & 0x3fffu) | (uint64_t)1 << 16 |
           (uint64_t)(1024 >> 4) << 32 | (uint64_t)1 << 62;
}

/* The same rows with the summed dimension down the rows: the next 64 columns
 * are `slab` bytes away, the next 8 rows 1024. */
static __device__ __forceinline__ uint64_t wgmma_columns(uint32_t address,
                                                         uint32_t slab)
{
    return (uint64_t)(address >> 4 & 0x3fffu) | (uint64_t)(slab >> 4) << 16 |
           (uint64_t)(1024 >> 4) << 32 | (uint64_t)1 << 62;
}

/* ---- products ---------------------------------------------------------- */

/* d (64 x N) = a b + (add ? d : 0) for 16 columns of a:
 * ss: both in shared memory, the summed dimension contiguous in both;
 * rs: a in registers, the summed dimension of b down its rows. */
template <typename T, int N> struct wgmma;

/* registers of sums as PTX numbers them, 32, 64 and 128, and as operands */
#define VLY_WGMMA_R32                                                          \
    "%0, %1, %2, %3, %4, %5, %6, %7, "                                         \
    "%8, %9, %10, %11, %12, %13, %14, %15, "                                   \
    "%16, %17, %18, %19, %20, %21, %22, %23, "                                 \
    "%24, %25, %26, %27, %28, %29, %30, %31"
#define VLY_WGMMA_R64                                                          \
    VLY_WGMMA_R32 ", "                                                         \
                  "%32, %33, %34, %35, %36, %37, %38, %39, "                   \
                  "%40, %41, %42, %43, %44, %45, %46, %47, "                   \
                  "%48, %49, %50, %51, %52, %53, %54, %55, "                   \
                  "%56, %57, %58, %59, %60, %61, %62, %63"
#define VLY_WGMMA_R128                                                         \
    VLY_WGMMA_R64 ", "                                                         \
                  "%64, %65, %66, %67, %68, %69, %70, %71, "                   \
                  "%72, %73, %74, %75, %76, %77, %78, %79, "                   \
                  "%80, %81, %82, %83, %84, %85, %86, %87, "                   \
                  "%88, %89, %90, %91, %92, %93, %94, %95, "                   \
                  "%96, %97, %98, %99, %100, %101, %102, %103, "               \
                  "%104, %105, %106, %107, %108, %109, %110, %111, "           \
                  "%112, %113, %114, %115, %116, %117, %118, %119, "           \
                  "%120, %121, %122, %123, %124, %125, %126, %127"
#define VLY_WGMMA_D8(d, i)                                                     \
    "+f"((d)[i]), "+f"((d)[(i) + 1]), "+f"((d)[(i) + 2]), "+f"((d)[(i) + 3]),  \
        "+f"((d)[(i) + 4]), "+f"((d)[(i) + 5]), "+f"((d)[(i) + 6]),            \
        "+f"((d)[(i) + 7])
#define VLY_WGMMA_D32(d, i)                                                    \
    VLY_WGMMA_D8(d, i), VLY_WGMMA_D8(d, (i) + 8), VLY_WGMMA_D8(d, (i) + 16),   \
        VLY_WGMMA_D8(d, (i) + 24)
#define VLY_WGMMA_D64(d, i) VLY_WGMMA_D32(d, i), VLY_WGMMA_D32(d, (i) + 32)
#define VLY_WGMMA_D128(d, i) VLY_WGMMA_D64(d, i), VLY_WGMMA_D64(d, (i) + 64)

/* name: the type in PTX; the operands behind n sums are numbered from n */
#define VLY_WGMMA_SS(name, n, sums, d, a, b, add, p_add, p_a, p_b)             \
    asm volatile("{ .reg .pred p; setp.ne.b32 p, " p_add ", 0; "               \
                 "wgmma.mma_async.sync.aligned.m64n" #n "k16.f32." name        \
                 "." name " {" VLY_WGMMA_R##sums "}, " p_a ", " p_b            \
                                                 ", p, 1, 1, 0, 0; }"          \
                 : VLY_WGMMA_D##sums(d, 0)                                     \
                 : "l"(a), "l"(b), "r"(add))
#define VLY_WGMMA_RS(name, n, sums, d, a, b, add, p_add, p_a, p_b)             \
    asm volatile("{ .reg .pred p; setp.ne.b32 p, " p_add ", 0; "               \
                 "wgmma.mma_async.sync.aligned.m64n" #n "k16.f32." name        \
                 "." name " {" VLY_WGMMA_R##sums "}, "                         \
                                                 "{" p_a "}, " p_b             \
                                                 ", p, 1, 1, 1; }"             \
                 : VLY_WGMMA_D##sums(d, 0)                                     \
                 : "r"((a)[0]), "r"((a)[1]), "r"((a)[2]), "r"((a)[3]), "l"(b), \
                   "r"(add))

#define VLY_WGMMA_OF(type, name)                                               \
    template <> struct wgmma<type, 64> {                                       \
        static __device__ __forceinline__ void ss(float d[32], uint64_t a,     \
                                                  uint64_t b, int add)         \
        {                                                                      \
            VLY_WGMMA_SS(name, 64, 32, d, a, b, add, "%34", "%32", "%33");     \
        }                                                                      \
        static __device__ __forceinline__ void                                 \
        rs(float d[32], const uint32_t a[4], uint64_t b, int add)              \
        {                                                                      \
            VLY_WGMMA_RS(name, 64, 32, d, a, b, add, "%37",                    \
                         "%32, %33, %34, %35", "%36");                         \
        }                                                                      \
    };                                                                         \
    template <> struct wgmma<type, 128> {                                      \
        static __device__ __forceinline__ void ss(float d[64], uint64_t a,     \
                                                  uint64_t b, int add)         \
        {                                                                      \
            VLY_WGMMA_SS(name, 128, 64, d, a, b, add, "%66", "%64", "%65");    \
        }                                                                      \
        static __device__ __forceinline__ void                                 \
        rs(float d[64], const uint32_t a[4], uint64_t b, int add)              \
        {                                                                      \
            VLY_WGMMA_RS(name, 128, 64, d, a, b, add, "%69",                   \
                         "%64, %65, %66, %67", "%68");                         \
        }                                                                      \
    };                                                                         \
    template <> struct wgmma<type, 256> {                                      \
        static __device__ __forceinline__ void                                 \
        rs(float d[128], const uint32_t a[4], uint64_t b, int add)             \
        {                                                                      \
            VLY_WGMMA_RS(name, 256, 128, d, a, b, add, "%133",                 \
                         "%128, %129, %130, %131", "%132");                    \
        }                                                                      \
    };

VLY_WGMMA_OF(__half, "f16")
VLY_WGMMA_OF(__nv_bfloat16, "bf16")
#undef VLY_WGMMA_OF
#undef VLY_WGMMA_SS
#undef VLY_WGMMA_RS
#undef VLY_WGMMA_D128
#undef VLY_WGMMA_D64
#undef VLY_WGMMA_D32
#undef VLY_WGMMA_D8
#undef VLY_WGMMA_R128
#undef VLY_WGMMA_R64
#undef VLY_WGMMA_R32

#endif
