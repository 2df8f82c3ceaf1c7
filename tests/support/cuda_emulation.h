// SPDX-License-Identifier: Apache-2.0
// Kernels of CUDA on the host: what a .cu file needs to be compiled by an
// ordinary C++ compiler (as its first include), so that its indices,
// fragments and sums can be tested where there is no device. A block runs at a
// time, its threads as fibers in turns; those of a warp meet in shuffles and
// matrix products, those of a block in __syncthreads. Says nothing about speed,
// races or what PTX does.
#ifndef VOLLEY_CUDA_EMULATION_H
#define VOLLEY_CUDA_EMULATION_H

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <functional>

#include <cuda_runtime_api.h>

#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_fp8.h>

#undef __global__
#undef __device__
#undef __shared__
#undef __forceinline__
#undef __launch_bounds__
#define __global__
#define __device__
#define __shared__ static // one block at a time
#define __forceinline__ inline
#define __launch_bounds__(...)

namespace emulation
{

extern uint3 thread, block; // of the fiber that runs
extern dim3 grid;

// Runs every block of the grid, one after the other.
void launch(dim3 grid, dim3 block, const std::function<void()> &kernel);
void block_meets();
// What every lane of the warp says, once all have said it: [32][words].
const uint32_t *warp_meets(const uint32_t *words, uint32_t n_words);

// Both halves of a word, as the bits of floats.
template <typename T> inline void widen(uint32_t word, uint32_t wide[2])
{
    for (uint32_t half = 0; half < 2; half++) {
        T x;
        const uint16_t bits = static_cast<uint16_t>(word >> (half * 16));
        memcpy(static_cast<void *>(&x), &bits, sizeof x);
        const float value = static_cast<float>(x);
        memcpy(&wide[half], &value, sizeof value);
    }
}

// mma m16n8k16, fragments by the tables of the PTX manual. Lanes say floats:
// each half is read by others eight times and more.
template <typename T>
inline void multiply(float (&sum)[4], uint32_t a0, uint32_t a1, uint32_t a2,
                     uint32_t a3, uint32_t b0, uint32_t b1)
{
    const uint32_t words[6] = {a0, a1, a2, a3, b0, b1};
    uint32_t wide[12];
    for (uint32_t i = 0; i < 6; i++)
        widen<T>(words[i], wide + 2 * i);
    const uint32_t *said = warp_meets(wide, 12);
    const uint32_t lane = thread.x % 32;
    const auto element = [&](uint32_t from, uint32_t word, uint32_t half) {
        float x;
        memcpy(&x, &said[from * 12 + word * 2 + half], sizeof x);
        return static_cast<double>(x);
    };
    for (uint32_t i = 0; i < 4; i++) {
        const uint32_t row = lane / 4 + i / 2 * 8, col = lane % 4 * 2 + i % 2;
        double exact = sum[i];
        for (uint32_t k = 0; k < 16; k++) {
            const uint32_t pair = k % 8 / 2, upper = k / 8;
            exact += element(row % 8 * 4 + pair, row / 8 + upper * 2, k % 2) *
                     element(col * 4 + pair, 4 + upper, k % 2);
        }
        sum[i] = static_cast<float>(exact);
    }
}

} // namespace emulation

#define threadIdx emulation::thread
#define blockIdx emulation::block
#define gridDim emulation::grid
#define VLY_LAUNCH(kernel, grid, block, stream, ...)                           \
    ((void)(stream),                                                           \
     emulation::launch(dim3(grid), dim3(block), [=] { kernel(__VA_ARGS__); }))

#define VLY_LAUNCH_EARLY VLY_LAUNCH

static inline void __syncthreads()
{
    emulation::block_meets();
}

static inline float __shfl_xor_sync(uint32_t, float x, int mask)
{
    uint32_t word;
    memcpy(&word, &x, sizeof word);
    const uint32_t *said = emulation::warp_meets(&word, 1);
    memcpy(&x, &said[(emulation::thread.x % 32) ^ static_cast<uint32_t>(mask)],
           sizeof x);
    return x;
}

static inline void multiply(float (&sum)[4], uint32_t a0, uint32_t a1,
                            uint32_t a2, uint32_t a3, uint32_t b0, uint32_t b1,
                            __half)
{
    emulation::multiply<__half>(sum, a0, a1, a2, a3, b0, b1);
}
static inline void multiply(float (&sum)[4], uint32_t a0, uint32_t a1,
                            uint32_t a2, uint32_t a3, uint32_t b0, uint32_t b1,
                            __nv_bfloat16)
{
    emulation::multiply<__nv_bfloat16>(sum, a0, a1, a2, a3, b0, b1);
}

// m16n8k32 of int8, by the tables of the PTX manual
static inline void multiply(int (&sum)[4], uint32_t a0, uint32_t a1,
                            uint32_t a2, uint32_t a3, uint32_t b0, uint32_t b1)
{
    const uint32_t words[6] = {a0, a1, a2, a3, b0, b1};
    const uint32_t *said = emulation::warp_meets(words, 6);
    const uint32_t lane = emulation::thread.x % 32;
    const auto byte = [&](uint32_t from, uint32_t word, uint32_t i) {
        return static_cast<int>(
            static_cast<int8_t>(said[from * 6 + word] >> (i * 8)));
    };
    for (uint32_t i = 0; i < 4; i++) {
        const uint32_t row = lane / 4 + i / 2 * 8, col = lane % 4 * 2 + i % 2;
        for (uint32_t k = 0; k < 32; k++) {
            const uint32_t four = k % 16 / 4, upper = k / 16;
            sum[i] += byte(row % 8 * 4 + four, row / 8 + upper * 2, k % 4) *
                      byte(col * 4 + four, 4 + upper, k % 4);
        }
    }
}

static inline void __syncwarp()
{
    const uint32_t word = 0;
    (void)emulation::warp_meets(&word, 1);
}

// rounds once: a float product of two fp16 is exact, and so is the double sum
static inline __half2 __hfma2(__half2 a, __half2 b, __half2 c)
{
    const auto one = [](__half x, __half y, __half z) {
        return __double2half(static_cast<double>(__half2float(x)) *
                                 static_cast<double>(__half2float(y)) +
                             static_cast<double>(__half2float(z)));
    };
    return __half2(one(__low2half(a), __low2half(b), __low2half(c)),
                   one(__high2half(a), __high2half(b), __high2half(c)));
}

template <typename T> static inline T __ldg(const T *at)
{
    return *at;
}
template <typename T> static inline T __ldcg(const T *at)
{
    return *at;
}
template <typename T> static inline T __ldcs(const T *at)
{
    return *at;
}
static inline uint32_t __float_as_uint(float x)
{
    uint32_t word;
    memcpy(&word, &x, sizeof word);
    return word;
}
static inline float __int_as_float(int word)
{
    float x;
    memcpy(&x, &word, sizeof x);
    return x;
}
static inline void atomicMax(uint32_t *at, uint32_t x)
{
    *at = std::max(*at, x);
}
static inline void atomicAdd(uint32_t *at, uint32_t x)
{
    *at += x;
}

using std::min;

#endif
