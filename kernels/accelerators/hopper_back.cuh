/* SPDX-License-Identifier: Apache-2.0
 * PTX of sm_90a for gradients, besides hopper.cuh and wgmma.cuh: copies without
 * a tensor map, sums in global memory, flags between blocks, and a product of
 * two operands that both have the summed dimension down their rows.
 *
 * Source  PTX ISA 8.8, 9.7.9.25 (cp.async.bulk, cp.reduce.async.bulk), 9.7.15
 */
#ifndef VLY_HOPPER_BACK_CUH
#define VLY_HOPPER_BACK_CUH

#include "wgmma.cuh"

/* Shared memory by its 32-bit address, which needs one register instead of
 * two. */
static __device__ __forceinline__ float2 shared_pair(uint32_t at)
{
    float2 x;
    asm volatile("ld.shared.v2.f32 {%0, %1}, [%2];"
                 : "=f"(x.x), "=f"(x.y)
                 : "r"(at)
                 : "memory");
    return x;
}

static __device__ __forceinline__ void shared_store(uint32_t at, float a,
                                                    float b, float c, float d)
{
    asm volatile("st.shared.v4.f32 [%0], {%1, %2, %3, %4};" ::"r"(at), "f"(a),
                 "f"(b), "f"(c), "f"(d)
                 : "memory");
}

/* Of bytes in a row, both sides and the number multiples of 16. */
static __device__ __forceinline__ void
bulk_load(uint32_t to, const void *from, uint32_t bytes, uint32_t barrier)
{
    asm volatile(
        "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes "
        "[%0], [%1], %2, [%3];" ::"r"(to),
        "l"(from), "r"(bytes), "r"(barrier)
        : "memory");
}

static __device__ __forceinline__ void bulk_store(void *to, uint32_t from,
                                                  uint32_t bytes)
{
    asm volatile(
        "cp.async.bulk.global.shared::cta.bulk_group [%0], [%1], %2;" ::"l"(to),
        "r"(from), "r"(bytes)
        : "memory");
}

/* adds floats to the existing ones */
static __device__ __forceinline__ void bulk_add(float *to, uint32_t from,
                                                uint32_t bytes)
{
    asm volatile("cp.reduce.async.bulk.global.shared::cta.bulk_group.add.f32 "
                 "[%0], [%1], %2;" ::"l"(to),
                 "r"(from), "r"(bytes)
                 : "memory");
}

static __device__ __forceinline__ void bulk_commit(void)
{
    asm volatile("cp.async.bulk.commit_group;" ::: "memory");
}

/* waits until shared memory was read and may be written again */
static __device__ __forceinline__ void bulk_wait_read(void)
{
    asm volatile("cp.async.bulk.wait_group.read 0;" ::: "memory");
}

/* waits until everything is in global memory */
static __device__ __forceinline__ void bulk_wait_all(void)
{
    asm volatile("cp.async.bulk.wait_group 0;" ::: "memory");
}

/* Waits until the flag is n. Data written by bulk copies of the threads that
 * raised the flag is then visible to bulk copies of this thread. */
static __device__ __forceinline__ void flag_wait(const uint32_t *flag,
                                                 uint32_t n)
{
    uint32_t now;
    do {
        asm volatile("ld.acquire.gpu.global.u32 %0, [%1];"
                     : "=r"(now)
                     : "l"(flag)
                     : "memory");
    } while (now < n);
    asm volatile("fence.proxy.async;" ::: "memory");
}

/* after bulk_wait_all */
static __device__ __forceinline__ void flag_raise(uint32_t *flag)
{
    asm volatile("fence.proxy.async;" ::: "memory");
    asm volatile("red.release.gpu.global.add.u32 [%0], 1;" ::"l"(flag)
                 : "memory");
}

/* d (64 x 64) = a^T b + (add ? d : 0), 16 rows of each: wgmma_columns */
template <typename T> struct wgmma_turned;

#define VLY_WGMMA_TURNED(type, types)                                          \
    template <> struct wgmma_turned<type> {                                    \
        static __device__ __forceinline__ void ss(float d[32], uint64_t a,     \
                                                  uint64_t b, int add)         \
        {                                                                      \
            asm volatile("{ .reg .pred p; setp.ne.b32 p, %34, 0; "             \
                         "wgmma.mma_async.sync.aligned.m64n64k16.f32." types   \
                         " {" VLY_WGMMA_R32 "}, %32, %33, p, 1, 1, 1, 1; }"    \
                         : VLY_WGMMA_D32(d)                                    \
                         : "l"(a), "l"(b), "r"(add));                          \
        }                                                                      \
    };
VLY_WGMMA_TURNED(__half, "f16.f16")
VLY_WGMMA_TURNED(__nv_bfloat16, "bf16.bf16")
#undef VLY_WGMMA_TURNED

#endif
