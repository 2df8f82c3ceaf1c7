/* SPDX-License-Identifier: Apache-2.0
 * Barriers, copies of tensors and registers of sm_90a, as PTX.
 *
 * Source  PTX ISA 8.8, 9.7.13 (mbarrier), 9.7.9.25 (cp.async.bulk.tensor)
 */
#ifndef VLY_HOPPER_CUH
#define VLY_HOPPER_CUH

#include <stdint.h>

#include <cuda.h>

static __device__ __forceinline__ void barrier_init(uint32_t barrier,
                                                    uint32_t arrivals)
{
    asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(barrier),
                 "r"(arrivals)
                 : "memory");
}

/* called after all are initialised, before any wait or copy */
static __device__ __forceinline__ void barrier_init_fence(void)
{
    asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
    asm volatile("fence.proxy.async;" ::: "memory");
}

/* makes this thread's stores to shared memory visible to TMA and wgmma */
static __device__ __forceinline__ void fence_async(void)
{
    asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
}

static __device__ __forceinline__ void barrier_arrive(uint32_t barrier)
{
    asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(barrier)
                 : "memory");
}

/* arrives and announces the number of bytes of copies */
static __device__ __forceinline__ void barrier_expect(uint32_t barrier,
                                                      uint32_t bytes)
{
    asm volatile(
        "mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(barrier),
        "r"(bytes)
        : "memory");
}

/* waits until the phase of that parity has ended */
static __device__ __forceinline__ void barrier_wait(uint32_t barrier,
                                                    uint32_t parity)
{
    asm volatile("{ .reg .pred p;\n"
                 "again: mbarrier.try_wait.parity.shared::cta.b64 p, [%0], "
                 "%1;\n"
                 "@p bra done;\n"
                 "bra again;\n"
                 "done: }" ::"r"(barrier),
                 "r"(parity)
                 : "memory");
}

/* A box of a tensor of four dimensions, innermost coordinate first. */
static __device__ __forceinline__ void
tensor_load(uint32_t to, const CUtensorMap *map, uint32_t barrier, int32_t c0,
            int32_t c1, int32_t c2, int32_t c3)
{
    asm volatile(
        "cp.async.bulk.tensor.4d.shared::cluster.global.tile.mbarrier::"
        "complete_tx::bytes [%0], [%1, {%3, %4, %5, %6}], [%2];" ::"r"(to),
        "l"(map), "r"(barrier), "r"(c0), "r"(c1), "r"(c2), "r"(c3)
        : "memory");
}

static __device__ __forceinline__ void tensor_prefetch(const CUtensorMap *map)
{
    asm volatile("prefetch.tensormap [%0];" ::"l"(map) : "memory");
}

template <int REGISTERS>
static __device__ __forceinline__ void registers_more(void)
{
    asm volatile("setmaxnreg.inc.sync.aligned.u32 %0;" ::"n"(REGISTERS));
}

template <int REGISTERS>
static __device__ __forceinline__ void registers_fewer(void)
{
    asm volatile("setmaxnreg.dec.sync.aligned.u32 %0;" ::"n"(REGISTERS));
}

/* Four matrices of 8 x 8 elements of 2 bytes, lanes as in ldmatrix. */
static __device__ __forceinline__ void store_matrix(uint32_t address,
                                                    const uint32_t r[4])
{
    asm volatile("stmatrix.sync.aligned.m8n8.x4.shared.b16 [%0], "
                 "{%1, %2, %3, %4};" ::"r"(address),
                 "r"(r[0]), "r"(r[1]), "r"(r[2]), "r"(r[3])
                 : "memory");
}

/* Named barriers of a block; 0 is __syncthreads. */
static __device__ __forceinline__ void named_wait(uint32_t id, uint32_t threads)
{
    asm volatile("bar.sync %0, %1;" ::"r"(id), "r"(threads) : "memory");
}

static __device__ __forceinline__ void named_arrive(uint32_t id,
                                                    uint32_t threads)
{
    asm volatile("bar.arrive %0, %1;" ::"r"(id), "r"(threads) : "memory");
}

#endif
