// SPDX-License-Identifier: Apache-2.0
// What a kernel of kernels/accelerators finds of CUDA when it runs on the
// processor, beside emulated_threads.h: types of elements, shared memory, and
// mma by the tables of the PTX manual. A .cu file is compiled by an ordinary
// C++ compiler with this as its first include; attention's also need simt/.
#ifndef VOLLEY_EMULATED_ACCELERATORS_H
#define VOLLEY_EMULATED_ACCELERATORS_H

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>

#include <cuda_runtime_api.h>

#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_fp8.h>

#include "emulated_threads.h"

#define __shared__ static // their blocks run one after the other
#define gridDim emulated_grid
#define blockDim emulated_size

#define VLY_LAUNCH(kernel, grid, block, stream, ...)                           \
    ((void)(stream),                                                           \
     emulated_run([=] { kernel(__VA_ARGS__); }, dim3(grid), dim3(block), 0))

#define VLY_LAUNCH_EARLY VLY_LAUNCH

namespace emulated
{

// Both halves of a word, as floats.
template <typename T> inline void widen(uint32_t word, float wide[2])
{
    for (uint32_t half = 0; half < 2; half++) {
        T x;
        const uint16_t bits = static_cast<uint16_t>(word >> (half * 16));
        memcpy(static_cast<void *>(&x), &bits, sizeof x);
        wide[half] = static_cast<float>(x);
    }
}

template <typename T> struct fragments {
    T a[4][2], b[2][2];
};

// mma m16n8k16, exact products, one rounding. Lanes say floats: each half is
// read by others eight times and more.
template <typename T>
inline void multiply(float (&sum)[4], uint32_t a0, uint32_t a1, uint32_t a2,
                     uint32_t a3, uint32_t b0, uint32_t b1)
{
    const uint32_t a[4] = {a0, a1, a2, a3}, b[2] = {b0, b1};
    fragments<float> mine;
    for (uint32_t i = 0; i < 4; i++)
        widen<T>(a[i], mine.a[i]);
    for (uint32_t i = 0; i < 2; i++)
        widen<T>(b[i], mine.b[i]);
    const emulated_words<fragments<float>> said = emulated_share(mine);
    const uint32_t lane = threadIdx.x % 32;
    double exact[4];
    std::copy(sum, sum + 4, exact);
    for (uint32_t k = 0; k < 16; k += 2) {
        const uint32_t pair = k % 8 / 2, upper = k / 8;
        const fragments<float> &rows = said[lane / 4 * 4 + pair];
        for (uint32_t i = 0; i < 4; i++) {
            const float *row = rows.a[i / 2 + upper * 2];
            const float *column =
                said[(lane % 4 * 2 + i % 2) * 4 + pair].b[upper];
            for (uint32_t half = 0; half < 2; half++)
                exact[i] += static_cast<double>(row[half]) *
                            static_cast<double>(column[half]);
        }
    }
    for (uint32_t i = 0; i < 4; i++)
        sum[i] = static_cast<float>(exact[i]);
}

} // namespace emulated

static inline void multiply(float (&sum)[4], uint32_t a0, uint32_t a1,
                            uint32_t a2, uint32_t a3, uint32_t b0, uint32_t b1,
                            __half)
{
    emulated::multiply<__half>(sum, a0, a1, a2, a3, b0, b1);
}

static inline void multiply(float (&sum)[4], uint32_t a0, uint32_t a1,
                            uint32_t a2, uint32_t a3, uint32_t b0, uint32_t b1,
                            __nv_bfloat16)
{
    emulated::multiply<__nv_bfloat16>(sum, a0, a1, a2, a3, b0, b1);
}

// m16n8k32 of int8: exact
static inline void multiply(int (&sum)[4], uint32_t a0, uint32_t a1,
                            uint32_t a2, uint32_t a3, uint32_t b0, uint32_t b1)
{
    struct fragments {
        int8_t a[4][4], b[2][4];
    } mine;
    const uint32_t words[6] = {a0, a1, a2, a3, b0, b1};
    memcpy(&mine, words, sizeof words);
    const emulated_words<fragments> said = emulated_share(mine);
    const uint32_t lane = threadIdx.x % 32;
    for (uint32_t i = 0; i < 4; i++) {
        const uint32_t column = lane % 4 * 2 + i % 2;
        for (uint32_t k = 0; k < 32; k++) {
            const uint32_t four = k % 16 / 4, upper = k / 16;
            sum[i] += said[lane / 4 * 4 + four].a[i / 2 + upper * 2][k % 4] *
                      said[column * 4 + four].b[upper][k % 4];
        }
    }
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

static inline float __int_as_float(int word)
{
    return __uint_as_float(static_cast<uint32_t>(word));
}

#endif
