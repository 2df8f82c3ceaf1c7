/* SPDX-License-Identifier: Apache-2.0
 * Kernels of attention on the processor, beside emulated_accelerators.h.
 * Included before a .cu file that CMake made into C++
 * (tests/unit/attention_cuda.cmake): `<<<` and `>>>` become calls, and headers
 * with PTX are replaced by those of this folder.
 */
#ifndef VLY_SIMT_H
#define VLY_SIMT_H

#include <tuple>

#include <math_constants.h>

#include "emulated_accelerators.h"

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

enum { SIMT_SHARED_BYTES = 1 << 18 };

/* dynamic shared memory of the block; addresses in 32 bits are relative to it,
 * as descriptors of wgmma have 18 bits for one */
#define simt_shared ((char *)emulated_self->block->dynamic)
#define simt_self ((int)threadIdx.x)

/* kernel<<<grid, block, bytes, stream>>>(args) is made
 * kernel ->* simt_launch(grid, block, bytes, stream)(args) */
template <typename... A> struct simt_call {
    dim3 grid, block;
    size_t bytes;
    std::tuple<A...> args;
};
struct simt_shape {
    dim3 grid, block;
    size_t bytes;
    template <typename... A> simt_call<A...> operator()(A... args) const
    {
        return {grid, block, bytes, std::tuple<A...>(args...)};
    }
};
inline simt_shape simt_launch(dim3 grid, dim3 block, size_t bytes = 0,
                              cudaStream_t = nullptr)
{
    return {grid, block, bytes};
}
template <typename... P, typename... A>
void operator->*(void (*kernel)(P...), const simt_call<A...> &call)
{
    emulated_run([&] { std::apply(kernel, call.args); }, call.grid, call.block,
                 call.bytes);
}

/* ---- what kernels call ------------------------------------------------- */

inline float __fdividef(float x, float y)
{
    return x / y;
}
/* Every lane shows x; then get(lanes) may read those of its warp. */
template <typename T, typename F> auto simt_exchange(const T &x, F get)
{
    const emulated_words<T> said = emulated_share(x);
    return get([said](int lane) -> const T & { return said[(uint32_t)lane]; });
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
inline size_t __cvta_generic_to_shared(const void *at)
{
    return (size_t)((const char *)at - simt_shared);
}

#endif
