/* SPDX-License-Identifier: Apache-2.0
 * CUDA kernels on the processor, for tests: the threads of a block are
 * coroutines, blocks come one after the other. Included before a .cu file that
 * CMake made into C++ (tests/unit/attention_cuda.cmake): `<<<` and `>>>` become
 * calls, and headers with PTX are replaced by those of this folder. C++ because
 * kernels are templates.
 *
 * It shows what a kernel computes, not whether it is fast, nor races between
 * warps that a device orders otherwise.
 */
#ifndef VLY_SIMT_H
#define VLY_SIMT_H

#include <cmath>
#include <cstdint>
#include <cstring>
#include <functional>
#include <tuple>

#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_fp8.h>
#include <cuda_runtime_api.h>
#include <math_constants.h>
#include <vector_functions.h>

#undef __shared__
#define __shared__ static
#undef __global__
#define __global__
#undef __device__
#define __device__
#undef __host__
#define __host__
#undef __forceinline__
#define __forceinline__ inline
#undef __noinline__
#define __noinline__
#undef __launch_bounds__
#define __launch_bounds__(...)
#undef __grid_constant__
#define __grid_constant__
#undef __align__
#define __align__(n)
#undef CUDART_INF_F
#define CUDART_INF_F INFINITY

#define cudaFuncSetAttribute(...) cudaSuccess
#define cudaOccupancyMaxActiveBlocksPerMultiprocessor(...) cudaSuccess
#define cudaGetLastError() cudaSuccess
#define cudaGetDevice(device) cudaSuccess
#define cudaDeviceGetAttribute(value, which, device)                           \
    (*(value) = SIMT_SHARED_BYTES, cudaSuccess)
#define cudaMemsetAsync(to, byte, n, stream) (memset(to, byte, n), cudaSuccess)

enum { SIMT_WARPS = 128, SIMT_SLOT = 64, SIMT_SHARED_BYTES = 1 << 18 };

extern char *simt_shared; /* dynamic shared memory of the block that runs */
extern uint3 simt_block;
extern uint3 simt_thread;
extern dim3 simt_grid_dim;
extern dim3 simt_block_dim;
extern int simt_self; /* threadIdx.x */
/* what the lanes of a warp show each other */
extern unsigned char simt_slots[SIMT_WARPS][32][SIMT_SLOT];

#define threadIdx simt_thread
#define blockIdx simt_block
#define gridDim simt_grid_dim
#define blockDim simt_block_dim

void simt_yield(void);      /* until another thread has run */
void simt_sync_block(void); /* of those that have not returned */
void simt_sync_warp(void);
int simt_or_block(int x);
void simt_run(dim3 grid, dim3 block, const std::function<void()> &kernel);
/* kernel<<<grid, block, bytes, stream>>>(args) is made
 * kernel ->* simt_launch(grid, block, bytes, stream)(args) */
template <typename... A> struct simt_call {
    dim3 grid, block;
    std::tuple<A...> args;
};
struct simt_shape {
    dim3 grid, block;
    template <typename... A> simt_call<A...> operator()(A... args) const
    {
        return {grid, block, std::tuple<A...>(args...)};
    }
};
inline simt_shape simt_launch(dim3 grid, dim3 block, size_t = 0,
                              cudaStream_t = nullptr)
{
    return {grid, block};
}
template <typename... P, typename... A>
void operator->*(void (*kernel)(P...), const simt_call<A...> &call)
{
    simt_run(call.grid, call.block, [&] { std::apply(kernel, call.args); });
}

/* ---- what kernels call ------------------------------------------------- */

inline void __syncthreads(void)
{
    simt_sync_block();
}
inline int __syncthreads_or(int x)
{
    return simt_or_block(x);
}

inline void __syncwarp(void)
{
    simt_sync_warp();
}
inline float __fdividef(float x, float y)
{
    return x / y;
}
inline uint32_t __float_as_uint(float x)
{
    uint32_t bits;
    memcpy(&bits, &x, sizeof bits);
    return bits;
}
inline float __uint_as_float(uint32_t bits)
{
    float x;
    memcpy(&x, &bits, sizeof x);
    return x;
}

/* Every lane shows x; then get(lanes) may read those of its warp. */
template <typename T, typename F> auto simt_exchange(const T &x, F get)
{
    static_assert(sizeof x <= SIMT_SLOT, "a slot holds it");
    auto *slots = simt_slots[simt_self / 32];
    memcpy(slots[simt_self % 32], &x, sizeof x);
    simt_sync_warp();
    auto result = get([slots](int lane) {
        T y;
        memcpy(&y, slots[lane], sizeof y);
        return y;
    });
    simt_sync_warp();
    return result;
}
template <typename T> T __shfl_xor_sync(unsigned, T x, int mask)
{
    return simt_exchange(
        x, [mask](auto lane) { return lane(simt_self % 32 ^ mask); });
}
template <typename T> T __shfl_sync(unsigned, T x, int from)
{
    return simt_exchange(x, [from](auto lane) { return lane(from); });
}
inline int __any_sync(unsigned, int x)
{
    return simt_exchange(x, [](auto lane) {
        int any = 0;
        for (int i = 0; i < 32; i++)
            any |= lane(i);
        return any;
    });
}
template <typename T> T __ldg(const T *from)
{
    return *from;
}
template <typename T> T __ldcg(const T *from)
{
    return *from;
}
template <typename T> T __ldcs(const T *from)
{
    return *from;
}
template <typename T> void __stcs(T *to, T x)
{
    *to = x;
}
inline int __clz(int x)
{
    return x == 0 ? 32 : __builtin_clz((unsigned)x);
}
inline uint32_t __byte_perm(uint32_t a, uint32_t b, uint32_t pick)
{
    const uint64_t bytes = (uint64_t)b << 32 | a;
    uint32_t result = 0;
    for (int i = 0; i < 4; i++)
        result |= (uint32_t)(bytes >> (8 * (pick >> (4 * i) & 7)) & 0xff)
                  << (8 * i);
    return result;
}
/* rounds once: a product of two fp16 is exact in double, and so is the sum */
inline __half2 __hfma2(__half2 a, __half2 b, __half2 c)
{
    const auto one = [](__half x, __half y, __half z) {
        return __double2half((double)__half2float(x) * (double)__half2float(y) +
                             (double)__half2float(z));
    };
    return __half2(one(__low2half(a), __low2half(b), __low2half(c)),
                   one(__high2half(a), __high2half(b), __high2half(c)));
}
inline uint32_t min(uint32_t a, uint32_t b)
{
    return a < b ? a : b;
}
inline uint32_t atomicAdd(uint32_t *at, uint32_t x)
{
    const uint32_t was = *at;
    *at += x;
    return was;
}
inline size_t __cvta_generic_to_shared(const void *at)
{
    return (size_t)((const char *)at - simt_shared);
}

#endif
