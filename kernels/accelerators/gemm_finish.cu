// SPDX-License-Identifier: Apache-2.0
// Work before and after a product of a library: sums in the workspace to
// elements of D, scales in the order of cublasLt, weights widened.
#include "gemm_element.cuh"

#if !defined(VLY_LAUNCH_EARLY)
// Of a device of 9.0 or newer: may come while the one before still runs
// (programmatic dependent launch), and has to wait for it
#define VLY_LAUNCH_EARLY(kernel, grid, block, stream, ...)                     \
    vly_launch_early(kernel, grid, block, stream, __VA_ARGS__)

template <typename... P, typename... Q>
static void vly_launch_early(void (*kernel)(P...), dim3 grid, unsigned block,
                             cudaStream_t stream, const Q &...args)
{
    cudaLaunchAttribute attribute = {};
    attribute.id = cudaLaunchAttributeProgrammaticStreamSerialization;
    attribute.val.programmaticStreamSerializationAllowed = 1;
    cudaLaunchConfig_t config = {};
    config.gridDim = grid;
    config.blockDim = dim3(block);
    config.stream = stream;
    config.attrs = &attribute;
    config.numAttrs = 1;
    (void)cudaLaunchKernelEx(&config, kernel, P(args)...); // kept as the last
}
#endif

namespace
{

constexpr int THREADS = 256;
constexpr uint64_t MOST_BLOCKS = 1u << 16;

unsigned blocks_for(uint64_t n)
{
    const uint64_t blocks = (n + THREADS - 1) / THREADS;
    return static_cast<unsigned>(blocks < MOST_BLOCKS ? blocks : MOST_BLOCKS);
}

__device__ uint64_t first_of_thread()
{
    return static_cast<uint64_t>(blockIdx.x) * THREADS + threadIdx.x;
}

__device__ uint64_t step_of_grid()
{
    return static_cast<uint64_t>(gridDim.x) * THREADS;
}

template <typename Sum>
__global__ void __launch_bounds__(THREADS)
    finish(const vly_cuda_gemm g, const Sum *sums, uint32_t n_parts)
{
    const uint64_t n = g.batch * g.m * g.n;
    for (uint64_t e = first_of_thread(); e < n; e += step_of_grid()) {
        Sum sum = Sum(0);
        for (uint32_t part = 0; part < n_parts; part++)
            sum += sums[part * n + e];
        vly_finish(g, e / (g.m * g.n), e / g.n % g.m, e % g.n, sum);
    }
}

__device__ constexpr uint32_t type_of(float)
{
    return VLY_CUDA_F32;
}
__device__ constexpr uint32_t type_of(__half)
{
    return VLY_CUDA_F16;
}
__device__ constexpr uint32_t type_of(__nv_bfloat16)
{
    return VLY_CUDA_BF16;
}

template <typename T> struct alignas(4 * sizeof(T)) four {
    T x[4];
};

// Rows without a gap, and nothing but alpha and a function to apply: a staged
// product of a library. The same as the kernel above without a division, which
// took 282 us for 4096 x 10240 on an H200, its bytes 60.
template <typename T>
__global__ void __launch_bounds__(THREADS)
    finish_dense(const vly_cuda_gemm g, const float *sums)
{
    const uint64_t n = g.batch * g.m * g.n / 4;
    const four<float> *from = reinterpret_cast<const four<float> *>(sums);
    four<T> *to = static_cast<four<T> *>(g.d);
    for (uint64_t e = first_of_thread(); e < n; e += step_of_grid()) {
        const four<float> sum = from[e];
        four<T> out;
#pragma unroll
        for (int i = 0; i < 4; i++)
            vly_put(out.x, type_of(T()), i,
                    vly_activate(g.alpha * sum.x[i], g.activation));
        to[e] = out;
    }
}

bool is_dense(const vly_cuda_gemm &g, const float *sums, uint32_t n_parts)
{
    return n_parts == 1 && g.alpha != 0.0f && g.k != 0 && g.beta == 0.0f &&
           g.bias == nullptr && g.scale_b_mode == VLY_CUDA_SCALE_NONE &&
           g.ldd == g.n && (g.batch == 1 || g.stride_d == g.m * g.n) &&
           g.batch * g.m * g.n % 4 == 0 &&
           reinterpret_cast<uintptr_t>(g.d) % 16 == 0 &&
           reinterpret_cast<uintptr_t>(sums) % 16 == 0;
}

cudaError_t run_dense(const vly_cuda_gemm &g, const float *sums,
                      cudaStream_t stream)
{
    const unsigned blocks = blocks_for(g.batch * g.m * g.n / 4);
    if (g.type_d == VLY_CUDA_F16)
        VLY_LAUNCH(finish_dense<__half>, blocks, THREADS, stream, g, sums);
    else if (g.type_d == VLY_CUDA_BF16)
        VLY_LAUNCH(finish_dense<__nv_bfloat16>, blocks, THREADS, stream, g,
                   sums);
    else
        VLY_LAUNCH(finish_dense<float>, blocks, THREADS, stream, g, sums);
    return cudaGetLastError();
}

constexpr unsigned SIDE = 32; // of a square of scales of A

// Waits until results of previous kernels are visible: VLY_LAUNCH_EARLY. An
// early start of the next kernel gained nothing, since the library's waits.
__device__ __forceinline__ void wait_for_those_before()
{
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
    asm volatile("griddepcontrol.wait;" ::: "memory");
#endif
}

// Four of them at p, where they exist; as one access where that can be.
__device__ __forceinline__ four<float> get_four(const float *p, unsigned left,
                                                bool aligned)
{
    four<float> x = {};
    if (aligned && left >= 4)
        return *reinterpret_cast<const four<float> *>(p);
#pragma unroll
    for (unsigned i = 0; i < 4; i++)
        if (i < left)
            x.x[i] = p[i];
    return x;
}

__device__ __forceinline__ void put_four(float *p, const four<float> &x,
                                         unsigned left, bool aligned)
{
    if (aligned && left >= 4) {
        *reinterpret_cast<four<float> *>(p) = x;
        return;
    }
#pragma unroll
    for (unsigned i = 0; i < 4; i++)
        if (i < left)
            p[i] = x.x[i];
}

// How many of the four from `at` on are below n.
__device__ __forceinline__ unsigned left_of(uint64_t at, uint64_t n)
{
    return at >= n ? 0 : n - at < 4 ? static_cast<unsigned>(n - at) : 4;
}

// Scales of A turned by squares, those of B with their rows filled up. It
// stands before a product of some 100 us, so its latency counts: a thread reads
// 16 bytes and writes 16. (Four reads of 4 bytes in a loop, each waited for
// before the next, took 1.5 to 2 us more than reads of a column without shared
// memory.)
__global__ void __launch_bounds__(THREADS)
    pack(const vly_cuda_gemm g, float *scale_a, float *scale_b)
{
    __shared__ float square[SIDE][SIDE + 1];
    const uint64_t n_blocks = (g.k + 127) / 128;
    const unsigned row = threadIdx.x / 8, four_of = threadIdx.x % 8 * 4;
    const float *a = static_cast<const float *>(g.scale_a);
    const uint64_t down = scale_a != nullptr ? (g.m + SIDE - 1) / SIDE : 0;
    wait_for_those_before();
    for (uint64_t q = blockIdx.y * SIDE; q < n_blocks; q += gridDim.y * SIDE)
        for (uint64_t at = blockIdx.x; at < down; at += gridDim.x) {
            const uint64_t i = at * SIDE;
            const four<float> x = get_four(
                a + (i + row) * n_blocks + q + four_of,
                i + row < g.m ? left_of(q + four_of, n_blocks) : 0,
                n_blocks % 4 == 0 && reinterpret_cast<uintptr_t>(a) % 16 == 0);
            four<float> y;
#pragma unroll
            for (unsigned e = 0; e < 4; e++)
                square[row][four_of + e] = x.x[e];
            __syncthreads();
#pragma unroll
            for (unsigned e = 0; e < 4; e++)
                y.x[e] = square[four_of + e][row];
            put_four(scale_a + (q + row) * g.m + i + four_of, y,
                     q + row < n_blocks ? left_of(i + four_of, g.m) : 0,
                     g.m % 4 == 0);
            __syncthreads();
        }
    if (scale_b == nullptr || blockIdx.y != 0)
        return;
    const float *b = static_cast<const float *>(g.scale_b);
    const uint64_t pitch = (n_blocks + 3) / 4 * 4;
    const uint64_t n_b = (g.n + 127) / 128 * pitch;
    for (uint64_t e = first_of_thread(); e < n_b; e += step_of_grid())
        scale_b[e] =
            e % pitch < n_blocks ? b[e / pitch * n_blocks + e % pitch] : 0.0f;
}

template <typename T>
__global__ void __launch_bounds__(THREADS)
    widen(const vly_cuda_gemm g, T *out, uint64_t n_products)
{
    const uint64_t pitch = (g.k + 7) / 8 * 8, n = n_products * g.n * pitch;
    const int8_t *b = static_cast<const int8_t *>(g.b);
    // four a thread: 4 bytes in, 8 out
    for (uint64_t e = first_of_thread() * 4; e < n; e += step_of_grid() * 4) {
        const uint64_t z = e / (g.n * pitch), j = e / pitch % g.n;
        const int8_t *from = b + z * g.stride_b + j * g.ldb;
#pragma unroll
        for (int i = 0; i < 4; i++) {
            const uint64_t q = e % pitch + i;
            out[e + i] =
                static_cast<T>(q < g.k ? static_cast<float>(from[q]) : 0.0f);
        }
    }
}

} // namespace

cudaError_t vly_cuda_gemm_finish(const vly_cuda_gemm *gemm, const void *sums,
                                 uint32_t n_parts, uint32_t sum_type,
                                 cudaStream_t stream)
{
    const uint64_t n = gemm->batch * gemm->m * gemm->n;
    if (n == 0)
        return cudaSuccess;
    if (sum_type != VLY_CUDA_SUM_I32 &&
        is_dense(*gemm, static_cast<const float *>(sums), n_parts))
        return run_dense(*gemm, static_cast<const float *>(sums), stream);
    if (sum_type == VLY_CUDA_SUM_I32)
        VLY_LAUNCH(finish<int>, blocks_for(n), THREADS, stream, *gemm,
                   static_cast<const int *>(sums), n_parts);
    else
        VLY_LAUNCH(finish<float>, blocks_for(n), THREADS, stream, *gemm,
                   static_cast<const float *>(sums), n_parts);
    return cudaGetLastError();
}

cudaError_t vly_cuda_gemm_pack_scales(const vly_cuda_gemm *gemm, float *scale_a,
                                      float *scale_b, cudaStream_t stream)
{
    const uint64_t n_blocks = (gemm->k + 127) / 128;
    const uint64_t down = (gemm->m + SIDE - 1) / SIDE;
    const uint64_t across = (n_blocks + SIDE - 1) / SIDE;
    if (n_blocks == 0 || (scale_a == nullptr && scale_b == nullptr))
        return cudaSuccess;
    const dim3 grid(static_cast<unsigned>(
                        down > 0 && down < MOST_BLOCKS ? down : MOST_BLOCKS),
                    static_cast<unsigned>(across < 1024 ? across : 1024));
    VLY_LAUNCH_EARLY(pack, grid, THREADS, stream, *gemm, scale_a, scale_b);
    return cudaGetLastError();
}

cudaError_t vly_cuda_gemm_widen(const vly_cuda_gemm *gemm, void *out,
                                cudaStream_t stream)
{
    const uint64_t n_products = gemm->stride_b == 0 ? 1 : gemm->batch;
    const uint64_t n = n_products * gemm->n * ((gemm->k + 7) / 8 * 8);
    if (n == 0)
        return cudaSuccess;
    if (gemm->type_a == VLY_CUDA_F16)
        VLY_LAUNCH(widen<__half>, blocks_for(n / 4), THREADS, stream, *gemm,
                   static_cast<__half *>(out), n_products);
    else
        VLY_LAUNCH(widen<__nv_bfloat16>, blocks_for(n / 4), THREADS, stream,
                   *gemm, static_cast<__nv_bfloat16 *>(out), n_products);
    return cudaGetLastError();
}
