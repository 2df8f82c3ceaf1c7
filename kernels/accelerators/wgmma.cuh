/* SPDX-License-Identifier: Apache-2.0
 * wgmma of sm_90a: matrix products of a warp group with A in shared memory or
 * registers, B in shared memory, sums in registers. CCCL has no wrappers of
 * them. Lanes hold rows and columns of a result as in mma.m16n8k16, 16 rows a
 * warp, one fragment of 8 columns after the other; a fragment of A of e4m3 is
 * that of mma.m16n8k32.
 *
 * Source  PTX ISA 8.8, 9.7.15 (asynchronous warpgroup matrix instructions)
 */
#ifndef VLY_WGMMA_CUH
#define VLY_WGMMA_CUH

#include <stdint.h>

#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_fp8.h>

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

/* The compiler moves arithmetic across an asm statement that does not name its
 * registers. These functions name them: before wgmma_fence the operands and
 * sums of a product, and after wgmma_wait its results. */
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

/* The following code waits until x, which is never below 0, is known: ptxas
 * moves a wgmma_wait up over arithmetic, which then does not run beside the
 * product, but not over a store. spare: 4 bytes of shared memory */
static __device__ __forceinline__ void wgmma_after(float x, uint32_t spare)
{
    asm volatile("{ .reg .pred p; setp.lt.f32 p, %0, 0f00000000;\n"
                 "@p st.volatile.shared.f32 [%1], %0; }" ::"f"(x),
                 "r"(spare)
                 : "memory");
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

/* The descriptor of memory `bytes` further, in the same rows or others: its
 * lowest bits are an address in units of 16 bytes, and shared memory ends below
 * 2^18. */
static __device__ __forceinline__ uint64_t wgmma_at(uint64_t d, uint32_t bytes)
{
    return (d & 0xffffffff00000000u) | ((uint32_t)d + (bytes >> 4));
}

/* ---- products ---------------------------------------------------------- */

/* d (64 x N) = a b + (add ? d : 0) for 32 bytes of each row of a:
 * ss: both in shared memory, the summed dimension contiguous in both;
 * rs: a in registers; 16 bits: the summed dimension of b down its rows; e4m3:
 * contiguous, as wgmma has it in no other way. */
template <typename T, int N> struct wgmma;

/* registers of sums as PTX numbers them, eight at a time, and as operands */
#define VLY_WGMMA_G0 "%0, %1, %2, %3, %4, %5, %6, %7"
#define VLY_WGMMA_G8 "%8, %9, %10, %11, %12, %13, %14, %15"
#define VLY_WGMMA_G16 "%16, %17, %18, %19, %20, %21, %22, %23"
#define VLY_WGMMA_G24 "%24, %25, %26, %27, %28, %29, %30, %31"
#define VLY_WGMMA_G32 "%32, %33, %34, %35, %36, %37, %38, %39"
#define VLY_WGMMA_G40 "%40, %41, %42, %43, %44, %45, %46, %47"
#define VLY_WGMMA_G48 "%48, %49, %50, %51, %52, %53, %54, %55"
#define VLY_WGMMA_G56 "%56, %57, %58, %59, %60, %61, %62, %63"
#define VLY_WGMMA_G64 "%64, %65, %66, %67, %68, %69, %70, %71"
#define VLY_WGMMA_G72 "%72, %73, %74, %75, %76, %77, %78, %79"
#define VLY_WGMMA_G80 "%80, %81, %82, %83, %84, %85, %86, %87"
#define VLY_WGMMA_G88 "%88, %89, %90, %91, %92, %93, %94, %95"
#define VLY_WGMMA_G96 "%96, %97, %98, %99, %100, %101, %102, %103"
#define VLY_WGMMA_G104 "%104, %105, %106, %107, %108, %109, %110, %111"
#define VLY_WGMMA_G112 "%112, %113, %114, %115, %116, %117, %118, %119"
#define VLY_WGMMA_G120 "%120, %121, %122, %123, %124, %125, %126, %127"
#define VLY_WGMMA_R32                                                          \
    VLY_WGMMA_G0 ", " VLY_WGMMA_G8 ", " VLY_WGMMA_G16 ", " VLY_WGMMA_G24
#define VLY_WGMMA_R40 VLY_WGMMA_R32 ", " VLY_WGMMA_G32
#define VLY_WGMMA_R48 VLY_WGMMA_R40 ", " VLY_WGMMA_G40
#define VLY_WGMMA_R64 VLY_WGMMA_R48 ", " VLY_WGMMA_G48 ", " VLY_WGMMA_G56
#define VLY_WGMMA_R80 VLY_WGMMA_R64 ", " VLY_WGMMA_G64 ", " VLY_WGMMA_G72
#define VLY_WGMMA_R88 VLY_WGMMA_R80 ", " VLY_WGMMA_G80
#define VLY_WGMMA_R96 VLY_WGMMA_R88 ", " VLY_WGMMA_G88
#define VLY_WGMMA_R112 VLY_WGMMA_R96 ", " VLY_WGMMA_G96 ", " VLY_WGMMA_G104
#define VLY_WGMMA_R128 VLY_WGMMA_R112 ", " VLY_WGMMA_G112 ", " VLY_WGMMA_G120
#define VLY_WGMMA_D8(d, i)                                                     \
    "+f"((d)[i]), "+f"((d)[(i) + 1]), "+f"((d)[(i) + 2]), "+f"((d)[(i) + 3]),  \
        "+f"((d)[(i) + 4]), "+f"((d)[(i) + 5]), "+f"((d)[(i) + 6]),            \
        "+f"((d)[(i) + 7])
#define VLY_WGMMA_D32(d)                                                       \
    VLY_WGMMA_D8(d, 0), VLY_WGMMA_D8(d, 8), VLY_WGMMA_D8(d, 16),               \
        VLY_WGMMA_D8(d, 24)
#define VLY_WGMMA_D40(d) VLY_WGMMA_D32(d), VLY_WGMMA_D8(d, 32)
#define VLY_WGMMA_D48(d) VLY_WGMMA_D40(d), VLY_WGMMA_D8(d, 40)
#define VLY_WGMMA_D64(d)                                                       \
    VLY_WGMMA_D48(d), VLY_WGMMA_D8(d, 48), VLY_WGMMA_D8(d, 56)
#define VLY_WGMMA_D80(d)                                                       \
    VLY_WGMMA_D64(d), VLY_WGMMA_D8(d, 64), VLY_WGMMA_D8(d, 72)
#define VLY_WGMMA_D88(d) VLY_WGMMA_D80(d), VLY_WGMMA_D8(d, 80)
#define VLY_WGMMA_D96(d) VLY_WGMMA_D88(d), VLY_WGMMA_D8(d, 88)
#define VLY_WGMMA_D112(d)                                                      \
    VLY_WGMMA_D96(d), VLY_WGMMA_D8(d, 96), VLY_WGMMA_D8(d, 104)
#define VLY_WGMMA_D128(d)                                                      \
    VLY_WGMMA_D112(d), VLY_WGMMA_D8(d, 112), VLY_WGMMA_D8(d, 120)

/* kind: shape and types in PTX; the operands after the sums by their numbers:
 * ss a, b, add; rs four of a, b, add; flags: signs, and transposed operands */
#define VLY_WGMMA_SS(kind, sums, flags, n0, n1, n2)                            \
    asm volatile("{ .reg .pred p; setp.ne.b32 p, %" n2                         \
                 ", 0; wgmma.mma_async.sync.aligned." kind                     \
                 " {" VLY_WGMMA_R##sums "}, %" n0 ", %" n1 ", p, " flags "; }" \
                 : VLY_WGMMA_D##sums(d)                                        \
                 : "l"(a), "l"(b), "r"(add))
#define VLY_WGMMA_RS(kind, sums, flags, n0, n1, n2, n3, n4, n5)                \
    asm volatile(                                                              \
        "{ .reg .pred p; setp.ne.b32 p, %" n5                                  \
        ", 0; wgmma.mma_async.sync.aligned." kind " {" VLY_WGMMA_R##sums       \
        "}, {%" n0 ", %" n1 ", %" n2 ", %" n3 "}, %" n4 ", p, " flags "; }"    \
        : VLY_WGMMA_D##sums(d)                                                 \
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(b), "r"(add))

/* n columns in `sums` registers, which are followed by the operands n0 to n5 */
#define VLY_WGMMA_OF(type, n, k, types, flags_ss, flags_rs, sums, n0, n1, n2,  \
                     n3, n4, n5)                                               \
    template <> struct wgmma<type, n> {                                        \
        static __device__ __forceinline__ void ss(float d[sums], uint64_t a,   \
                                                  uint64_t b, int add)         \
        {                                                                      \
            VLY_WGMMA_SS("m64n" #n k ".f32." types, sums, flags_ss, n0, n1,    \
                         n2);                                                  \
        }                                                                      \
        static __device__ __forceinline__ void                                 \
        rs(float d[sums], const uint32_t a[4], uint64_t b, int add)            \
        {                                                                      \
            VLY_WGMMA_RS("m64n" #n k ".f32." types, sums, flags_rs, n0, n1,    \
                         n2, n3, n4, n5);                                      \
        }                                                                      \
    };
#define VLY_WGMMA_ALL(type, k, types, flags_ss, flags_rs)                      \
    VLY_WGMMA_OF(type, 64, k, types, flags_ss, flags_rs, 32, "32", "33", "34", \
                 "35", "36", "37")                                             \
    VLY_WGMMA_OF(type, 80, k, types, flags_ss, flags_rs, 40, "40", "41", "42", \
                 "43", "44", "45")                                             \
    VLY_WGMMA_OF(type, 96, k, types, flags_ss, flags_rs, 48, "48", "49", "50", \
                 "51", "52", "53")                                             \
    VLY_WGMMA_OF(type, 128, k, types, flags_ss, flags_rs, 64, "64", "65",      \
                 "66", "67", "68", "69")                                       \
    VLY_WGMMA_OF(type, 160, k, types, flags_ss, flags_rs, 80, "80", "81",      \
                 "82", "83", "84", "85")                                       \
    VLY_WGMMA_OF(type, 176, k, types, flags_ss, flags_rs, 88, "88", "89",      \
                 "90", "91", "92", "93")                                       \
    VLY_WGMMA_OF(type, 192, k, types, flags_ss, flags_rs, 96, "96", "97",      \
                 "98", "99", "100", "101")                                     \
    VLY_WGMMA_OF(type, 224, k, types, flags_ss, flags_rs, 112, "112", "113",   \
                 "114", "115", "116", "117")                                   \
    VLY_WGMMA_OF(type, 256, k, types, flags_ss, flags_rs, 128, "128", "129",   \
                 "130", "131", "132", "133")

VLY_WGMMA_ALL(__half, "k16", "f16.f16", "1, 1, 0, 0", "1, 1, 1")
VLY_WGMMA_ALL(__nv_bfloat16, "k16", "bf16.bf16", "1, 1, 0, 0", "1, 1, 1")
VLY_WGMMA_ALL(__nv_fp8_e4m3, "k32", "e4m3.e4m3", "1, 1", "1, 1")
/* c += a b of one warp: 16 x 8 x 32, for work outside of the products of its
 * group */
static __device__ __forceinline__ void mma_e4m3(float c[4], const uint32_t a[4],
                                                const uint32_t b[2])
{
    asm volatile("mma.sync.aligned.m16n8k32.row.col.f32.e4m3.e4m3.f32 "
                 "{%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
                 : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
                 : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]),
                   "r"(b[1]));
}
#undef VLY_WGMMA_ALL
#undef VLY_WGMMA_OF
#undef VLY_WGMMA_SS
#undef VLY_WGMMA_RS

#endif
