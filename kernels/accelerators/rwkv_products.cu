/* SPDX-License-Identifier: Apache-2.0
 * Several products of matrices with up to 8 rows in one launch. A token of
 * RWKV-7 is bound by reading its weights once and by the number of its
 * launches, so products that need nothing of each other share one.
 *
 * A block has 16 rows (fp32 x: 2) of one of the matrices; its eight warps
 * divide k. Loads are those of gemv_half.cu and gemv_full.cu: 16 bytes a lane
 * past the registers, 32 or 64 KB a block under way, most of which do not wait
 * for the kernel before (rwkv_launch.cuh). Sums of warps are added in their
 * order.
 *
 * Predicted for an H200, a layer of the 1.5B model in 16 bits: 101 MB, 23.4 us
 * at 4.3 TB/s. Measured launches: bench/results/rwkv.csv.
 */
#include "rwkv_products.cuh"

#define WARPS 8
#define THREADS (32 * WARPS)
#define STAGES 4
#define ROWS VLY_CUDA_RWKV_MOST_ROWS

/* The product of a block; *block becomes its number in it. */
static __device__ __forceinline__ const vly_cuda_rwkv_product &
product_of(const vly_cuda_rwkv_products &args, uint32_t *block)
{
    uint32_t i = 0;
    while (i + 1 < args.n_products && blockIdx.x >= args.product[i + 1].first)
        i++;
    *block = blockIdx.x - args.product[i].first;
    return args.product[i];
}

/* ---- fp16 and bf16 ------------------------------------------------------ */

#define TILE 16
#define FEW_BLOCKS 264
#define MOST_SHARED (99 * 1024) /* limit of 8.6 and 8.9 */

/* T: of x; BITS of a weight. x_bytes: of x in shared memory, for a single row,
 * after the fetched data. */
template <typename T, int BITS, int DEPTH>
static __global__ void __launch_bounds__(THREADS)
    rwkv_multiply_half(const __grid_constant__ vly_cuda_rwkv_products args,
                       const uint32_t x_bytes)
{
    constexpr uint32_t VECTOR = 128 / BITS, CHUNK = 4 * VECTOR;
    extern __shared__ __align__(128) char memory[];
    /* the fetched data, then the sums of the warps */
    uint4(*const ring)[DEPTH][2][32] = (uint4(*)[DEPTH][2][32])memory;
    float(*const partial)[TILE][ROWS] = (float(*)[TILE][ROWS])memory;
    uint4 *const x_row = (uint4 *)(memory + WARPS * DEPTH * 1024);
    uint32_t block;
    const vly_cuda_rwkv_product &p = product_of(args, &block);
    const uint32_t warp = threadIdx.x / 32, lane = threadIdx.x % 32;
    const uint32_t r = lane / 4, t = lane % 4;
    const uint32_t j0 = block * TILE;
    /* rows that are not there are read as the last: not written */
    const uint32_t row0 = min(j0 + r, p.n - 1);
    const uint32_t row1 = min(j0 + r + 8, p.n - 1);
    const uint32_t n_chunks = (p.k + CHUNK - 1) / CHUNK;
    const uint64_t bytes = (uint64_t)p.k * BITS / 8; /* of a row */
    const char *const w = (const char *)p.w + t * 16;
    /* the last chunk may have no piece for this lane */
    const uint32_t end =
        (n_chunks - 1) * CHUNK + t * VECTOR >= p.k ? n_chunks - 1 : n_chunks;
    const auto fetch = [&](uint32_t c, uint32_t stage) {
        vly_fetch(&ring[warp][stage][0][lane], w + row0 * bytes + c * 64ull,
                  c < end);
        vly_fetch(&ring[warp][stage][1][lane], w + row1 * bytes + c * 64ull,
                  c < end);
        vly_fetch_commit();
    };
#pragma unroll
    for (uint32_t s = 0; s + 1 < DEPTH; s++)
        fetch(warp + s * WARPS, s);
    rwkv_wait();
    const T *x = (const T *)p.x + (uint64_t)min(r, args.rows - 1) * p.k;
    if (x_bytes != 0) {
        for (uint32_t i = threadIdx.x; i < p.k / 8; i += THREADS)
            x_row[i] = __ldcg((const uint4 *)p.x + i);
        x = (const T *)x_row;
        __syncthreads();
    }
    const T *scale0 = (const T *)p.scale + (uint64_t)row0 * n_chunks;
    const T *scale1 = (const T *)p.scale + (uint64_t)row1 * n_chunks;
    float sum[4] = {};
    uint32_t stage = 0;
    for (uint32_t c = warp; c < n_chunks; c += WARPS) {
        float s0 = 0.0f, s1 = 0.0f;
        if (BITS == 4) { /* a chunk is a group of 128 */
            s0 = vly_to_float(scale0[c]);
            s1 = vly_to_float(scale1[c]);
        }
        fetch(c + (DEPTH - 1) * WARPS, (stage + DEPTH - 1) % DEPTH);
        vly_fetch_wait<DEPTH - 1>();
        add_piece<T, BITS>(sum, ring[warp][stage][0][lane],
                           ring[warp][stage][1][lane],
                           (const uint4 *)(x + c * CHUNK + t * VECTOR),
                           x_bytes != 0, c < end, s0, s1);
        stage = (stage + 1) % DEPTH;
    }
    vly_fetch_wait<0>();
    __syncthreads();
#pragma unroll
    for (uint32_t i = 0; i < 4; i++)
        partial[warp][r + i / 2 * 8][2 * t + i % 2] = sum[i];
    __syncthreads();
    if (threadIdx.x >= TILE * ROWS)
        return;
    float all = 0.0f;
#pragma unroll
    for (uint32_t i = 0; i < WARPS; i++)
        all += partial[i][threadIdx.x % TILE][threadIdx.x / TILE];
    put_y(args, p, threadIdx.x / TILE, j0 + threadIdx.x % TILE, all);
}

/* ---- fp32 --------------------------------------------------------------- */

#define PAIR 2 /* rows of a matrix that a block has */

/* The weights of 16 bytes. */
static __device__ __forceinline__ void spread(uint4 bits, float (&w)[4], float)
{
    memcpy(w, &bits, sizeof w);
}
template <typename T, int N>
static __device__ __forceinline__ void spread(uint4 bits, float (&w)[N], T)
{
    T from[N];
    memcpy((void *)from, &bits, sizeof from);
#pragma unroll
    for (int i = 0; i < N; i++)
        w[i] = vly_to_float(from[i]);
}
static __device__ __forceinline__ void spread(uint4 bits, float (&w)[32],
                                              vly_i4)
{
    const uint32_t words[4] = {bits.x, bits.y, bits.z, bits.w};
#pragma unroll
    for (int i = 0; i < 32; i++)
        w[i] = (float)((int)(words[i / 8] >> (i % 8 * 4) & 15u ^ 8u) - 8);
}

/* 16 bytes of a row of weights, times the corresponding elements of each
 * existing row of x: 0 times NaN would be NaN. */
template <typename W, int N, int A>
static __device__ __forceinline__ void add_terms(float (&sum)[A], uint4 bits,
                                                 const float *x, uint32_t rows,
                                                 uint64_t k, float scale)
{
    float w[N];
    spread(bits, w, W());
#pragma unroll
    for (int i = 0; i < A; i++) {
        if ((uint32_t)i >= rows)
            continue;
        const float4 *from = (const float4 *)(x + i * k);
        float one = 0.0f;
#pragma unroll
        for (int q = 0; q < N / 4; q++) {
            const float4 v = __ldcg(from + q);
            one = fmaf(w[4 * q + 1], v.y, fmaf(w[4 * q], v.x, one));
            one = fmaf(w[4 * q + 3], v.w, fmaf(w[4 * q + 2], v.z, one));
        }
        sum[i] = N == 32 ? fmaf(scale, one, sum[i]) : sum[i] + one;
    }
}

/* W: of the weights; N of them are 16 bytes. A: rows of x, 1 or up to 8. */
template <typename W, int N, int A>
static __global__ void __launch_bounds__(THREADS)
    rwkv_multiply_full(const __grid_constant__ vly_cuda_rwkv_products args)
{
    constexpr uint32_t CHUNK = 32 * N;
    __shared__ __align__(16) uint4 ring[WARPS][STAGES][PAIR][32];
    __shared__ float partial[WARPS][PAIR][A];
    uint32_t block;
    const vly_cuda_rwkv_product &p = product_of(args, &block);
    const uint32_t warp = threadIdx.x / 32, lane = threadIdx.x % 32;
    const uint32_t j0 = block * PAIR;
    const uint32_t n_chunks = (p.k + CHUNK - 1) / CHUNK;
    const uint64_t bytes = (uint64_t)p.k / N * 16;
    const uint32_t end =
        (n_chunks - 1) * CHUNK + lane * N >= p.k ? n_chunks - 1 : n_chunks;
    const auto fetch = [&](uint32_t c, uint32_t stage) {
#pragma unroll
        for (uint32_t r = 0; r < PAIR; r++)
            vly_fetch(&ring[warp][stage][r][lane],
                      (const char *)p.w + min(j0 + r, p.n - 1) * bytes +
                          c * 512ull + lane * 16,
                      c < end);
        vly_fetch_commit();
    };
#pragma unroll
    for (uint32_t s = 0; s + 1 < STAGES; s++)
        fetch(warp + s * WARPS, s);
    rwkv_wait();
    float sum[PAIR][A] = {};
    uint32_t stage = 0;
    for (uint32_t c = warp; c < n_chunks; c += WARPS) {
        fetch(c + (STAGES - 1) * WARPS, (stage + STAGES - 1) % STAGES);
        vly_fetch_wait<STAGES - 1>();
        const uint32_t k = c * CHUNK + lane * N;
#pragma unroll
        for (uint32_t r = 0; r < PAIR && c < end; r++) {
            const uint64_t group = min(j0 + r, p.n - 1) * (p.k / 128ull);
            const float scale =
                N == 32 ? rwkv_get(p.scale, args.type, group + k / 128) : 1.0f;
            add_terms<W, N, A>(sum[r], ring[warp][stage][r][lane],
                               (const float *)p.x + k, args.rows, p.k, scale);
        }
        stage = (stage + 1) % STAGES;
    }
    vly_fetch_wait<0>();
#pragma unroll
    for (uint32_t r = 0; r < PAIR; r++)
#pragma unroll
        for (int i = 0; i < A; i++) {
            const float all = rwkv_sum_warp(sum[r][i]);
            if (lane == 0)
                partial[warp][r][i] = all;
        }
    __syncthreads();
    if (threadIdx.x >= PAIR * A)
        return;
    const uint32_t r = threadIdx.x % PAIR, i = threadIdx.x / PAIR;
    float all = 0.0f;
    for (uint32_t x = 0; x < WARPS; x++)
        all += partial[x][r][i];
    put_y(args, p, i, j0 + r, all);
}

/* ---- launches -------------------------------------------------------------
 */

typedef void (*products_kernel)(const vly_cuda_rwkv_products);
typedef void (*half_kernel)(const vly_cuda_rwkv_products, const uint32_t);

template <typename T, int DEPTH> static half_kernel half_of(uint32_t type_w)
{
    return type_w == VLY_CUDA_I4 ? (half_kernel)rwkv_multiply_half<T, 4, DEPTH>
           : type_w == VLY_CUDA_I8
               ? (half_kernel)rwkv_multiply_half<T, 8, DEPTH>
               : (half_kernel)rwkv_multiply_half<T, 16, DEPTH>;
}

/* With fewer blocks than two per multiprocessor on most devices, each block
 * keeps more loads outstanding. One row of x is in shared memory: from the
 * second-level cache each of its pieces is a latency of its own (k of 8192:
 * 20.4 us on an H200, of which 8 are bytes). */
static int launch_half(const vly_cuda_rwkv_products *some, uint32_t type_w,
                       uint32_t blocks, void *stream)
{
    const bool is_deep = blocks < FEW_BLOCKS;
    const half_kernel kernel =
        some->type == VLY_CUDA_F16
            ? (is_deep ? half_of<__half, 2 * STAGES>(type_w)
                       : half_of<__half, STAGES>(type_w))
            : (is_deep ? half_of<__nv_bfloat16, 2 * STAGES>(type_w)
                       : half_of<__nv_bfloat16, STAGES>(type_w));
    const uint32_t ring = WARPS * STAGES * 1024 * (is_deep ? 2 : 1);
    uint32_t x_bytes = 0;
    for (uint32_t i = 0; i < some->n_products && some->rows == 1; i++)
        x_bytes =
            x_bytes > some->product[i].k * 2 ? x_bytes : some->product[i].k * 2;
    if (ring + x_bytes > MOST_SHARED)
        x_bytes = 0;
    const cudaError_t code = cudaFuncSetAttribute(
        kernel, cudaFuncAttributeMaxDynamicSharedMemorySize,
        (int)(ring + x_bytes));
    if (code != cudaSuccess)
        return (int)code;
    return rwkv_launch(kernel, dim3(blocks), THREADS, ring + x_bytes, stream,
                       some->early, *some, x_bytes);
}

template <int A> static products_kernel full_kernel(uint32_t type_w)
{
    switch (type_w) {
    case VLY_CUDA_F32:
        return rwkv_multiply_full<float, 4, A>;
    case VLY_CUDA_F16:
        return rwkv_multiply_full<__half, 8, A>;
    case VLY_CUDA_BF16:
        return rwkv_multiply_full<__nv_bfloat16, 8, A>;
    case VLY_CUDA_I8:
        return rwkv_multiply_full<int8_t, 16, A>;
    default:
        return rwkv_multiply_full<vly_i4, 32, A>;
    }
}

/* Those of one type of weights. */
static int launch_type(const vly_cuda_rwkv_products *all, uint32_t type_w,
                       void *stream)
{
    const uint32_t tile = all->type == VLY_CUDA_F32 ? PAIR : TILE;
    vly_cuda_rwkv_products some = *all;
    uint64_t blocks = 0;
    some.n_products = 0;
    for (uint32_t i = 0; i < all->n_products; i++) {
        if (all->product[i].type_w != type_w)
            continue;
        vly_cuda_rwkv_product *p = &some.product[some.n_products++];
        *p = all->product[i];
        p->first = (uint32_t)blocks;
        blocks += (p->n - 1) / tile + 1;
        if (blocks > INT32_MAX)
            return (int)cudaErrorInvalidValue;
    }
    if (blocks == 0)
        return 0;
    if (all->type != VLY_CUDA_F32)
        return launch_half(&some, type_w, (uint32_t)blocks, stream);
    const products_kernel kernel =
        all->rows == 1 ? full_kernel<1>(type_w) : full_kernel<ROWS>(type_w);
    return rwkv_launch(kernel, dim3((uint32_t)blocks), THREADS, 0, stream,
                       all->early, some);
}

int vly_cuda_rwkv_multiply(const vly_cuda_rwkv_products *args, void *stream)
{
    static const uint32_t types[] = {VLY_CUDA_F32, VLY_CUDA_F16, VLY_CUDA_BF16,
                                     VLY_CUDA_I8, VLY_CUDA_I4};
    if (args->rows == 0)
        return 0;
    if (args->rows > ROWS)
        return (int)cudaErrorInvalidValue;
    for (uint32_t i = 0; i < sizeof types / sizeof types[0]; i++) {
        const int code = launch_type(args, types[i], stream);
        if (code != 0)
            return code;
    }
    return 0;
}
