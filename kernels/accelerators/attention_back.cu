/* SPDX-License-Identifier: Apache-2.0
 * Gradients of attention for sm_90a. A block has 128 keys, in shared memory,
 * and goes through the queries that see them: a warp loads with TMA, two warp
 * groups multiply with wgmma, 64 keys each, sums of grad_k and grad_v in
 * registers; two threads add parts of grad_q in global memory, fp32.
 *
 *   P = exp(scale Q K^T - lse);  grad_v = P^T grad_o
 *   dS = P (grad_o V^T - D);  grad_k = scale dS^T Q;  grad_q = scale dS K
 *
 * Five products. Ordered, parts of grad_q are added in the order in which tiles
 * are taken: a block waits until those before it have added theirs, which are
 * always under way.
 *
 * Source  Dao et al. 2022, arXiv:2205.14135; Shah et al. 2024, arXiv:2407.08608
 */
#include "attention_back_group.cuh"

template <typename W>
static __device__ __forceinline__ void
multiply_tile(const vly_attention_args &args, const back_tile &tile,
              const back_group &g, back_uses *uses)
{
    const uint32_t n = steps_of(args, tile);
    back_state<W> x;
#pragma unroll
    for (int d = 0; d < W::dim / 2; d++)
        x.grad_k[d] = x.grad_v[d] = 0.0f;
    if (n != 0) {
        int32_t block = tile.blocks.begin;
        const uint32_t end = uses->steps + n;
        barrier_wait(g.bars + 8 * FULL_K, uses->keys & 1u);
        barrier_wait(g.bars + 8 * FULL_V, uses->keys++ & 1u);
#pragma unroll 1
        while (uses->steps != end) {
            multiply_step<W>(args, tile.index * W::keys, uses->steps, block,
                             is_masked(tile, block), g, x);
            uses->steps++;
            block =
                block + 1 == tile.blocks.end ? tile.blocks.begin : block + 1;
        }
        release(g, EMPTY_K);
        release(g, EMPTY_V);
    }
    store_rows<W>(args, tile, args.grad_k, args.stride_k, first_row(),
                  args.scale, x.grad_k);
    store_rows<W>(args, tile, args.grad_v, args.stride_v, first_row(), 1.0f,
                  x.grad_v);
}

template <typename W>
static __device__ __forceinline__ void
multiply_all(const vly_attention_args &args, const vly_back_grid &grid,
             uint32_t base, const char *memory)
{
    /* shuffled as in read_number: descriptors are in registers of the warp */
    const uint32_t index = __shfl_sync(0xffffffffu, threadIdx.x / 128, 0) - 1;
    const uint32_t here = __shfl_sync(0xffffffffu, base, 0);
    const back_group g = {here, here + W::barriers, index, index * 64 * 128,
                          args.scale * 1.44269504f};
    back_uses uses = {0, 0, 0};
    for (;;) {
        const uint32_t t = read_number<W>(g.bars, memory, &uses);
        if (t >= grid.n_tiles)
            break;
        multiply_tile<W>(args, back_tile_of<W>(args, grid, t), g, &uses);
    }
}

template <typename W>
static __global__ void __launch_bounds__(W::threads, 1)
    back_tiles(const __grid_constant__ vly_attention_args args,
               const __grid_constant__ vly_back_grid grid,
               const __grid_constant__ vly_back_maps maps)
{
    extern __shared__ char raw[];
    const uint32_t at = (uint32_t)__cvta_generic_to_shared(raw);
    const uint32_t base = (at + 1023u) & ~1023u; /* alignment for the swizzle */
    const char *memory = raw + (base - at);
    if (threadIdx.x == 0) {
        tensor_prefetch(&maps.q);
        tensor_prefetch(&maps.grad_o);
        tensor_prefetch(&maps.k);
        tensor_prefetch(&maps.v);
        for (uint32_t b = 0; b < N_BARRIERS; b++)
            barrier_init(base + W::barriers + 8 * b, arrivals_of(b));
        barrier_init_fence();
    }
    __syncthreads();
    if (threadIdx.x < 128) {
        registers_fewer<W::loader_registers>();
        if (threadIdx.x == 0)
            load_all<W, true>(args, grid, maps, base, memory);
        else if (threadIdx.x == 96)
            load_all<W, false>(args, grid, maps, base, memory);
        else if (threadIdx.x == 32 || threadIdx.x == 64)
            add_all<W>(args, grid, base, memory, threadIdx.x / 32 - 1);
    } else {
        registers_more<W::multiplier_registers>();
        multiply_all<W>(args, grid, base, memory);
    }
}

/* ---- before and after ---------------------------------------------------- */

/* 8 lanes a row of 64 dimensions, 16 of 128: row sums, lse in units of log 2;
 * rows after the last and rows without a key get weights of 0. */
template <typename T>
static __global__ void __launch_bounds__(256)
    back_begin(const __grid_constant__ vly_attention_args args,
               const __grid_constant__ vly_back_grid grid)
{
    const uint32_t lanes = args.dim / 8;
    const uint32_t of_row = threadIdx.x % lanes;
    const uint64_t row = ((uint64_t)blockIdx.x * 256 + threadIdx.x) / lanes;
    const uint32_t i = (uint32_t)(row % grid.n_rows);
    const uint64_t pair = row / grid.n_rows;
    const bool there =
        pair < (uint64_t)args.batch * args.heads_q && i < args.seq_q;
    float sum = 0.0f;
    if (there) {
        const uint64_t at =
            pair / args.heads_q * args.stride_o.batch + i * args.stride_o.seq +
            pair % args.heads_q * args.stride_o.head + 8 * of_row;
        const uint4 x = *(const uint4 *)((const T *)args.o + at);
        const uint4 y = *(const uint4 *)((const T *)args.grad_o + at);
        T a[8], b[8];
        memcpy(a, &x, sizeof a);
        memcpy(b, &y, sizeof b);
#pragma unroll
        for (int d = 0; d < 8; d++)
            sum += (float)a[d] * (float)b[d];
    }
    for (uint32_t d = lanes / 2; d > 0; d /= 2)
        sum += __shfl_xor_sync(0xffffffffu, sum, (int)d);
    if (of_row != 0 || pair >= (uint64_t)args.batch * args.heads_q)
        return;
    const float lse = there ? args.lse[pair * args.seq_q + i] : -CUDART_INF_F;
    grid.lse[row] = lse == -CUDART_INF_F ? CUDART_INF_F : lse * 1.44269504f;
    grid.row_sum[row] = sum;
}

/* A block writes a part of grad_q, 64 x 64. */
template <typename T, int DIM>
static __global__ void __launch_bounds__(128)
    back_end(const __grid_constant__ vly_attention_args args,
             const __grid_constant__ vly_back_grid grid)
{
    constexpr int rows = back_shape<T, DIM>::rows;
    const uint32_t half = blockIdx.x % 2;
    const uint32_t blocks = grid.n_rows / rows;
    const uint32_t block = blockIdx.x / 2 % blocks;
    const uint32_t pair = blockIdx.x / 2 / blocks;
    const uint32_t head = pair % args.heads_q;
    const vly_attention_mask mask = back_mask(args);
    const vly_attention_tiles tiles = vly_attention_tiles_of(
        &mask, (int32_t)block * rows, rows, VLY_BACK_KEYS);
    const float4 *from =
        (const float4 *)(grid.grad_q + blockIdx.x * (uint64_t)(64 * 64));
    float x[32];
#pragma unroll
    for (int n = 0; n < 8; n++) {
        float4 y = make_float4(0.0f, 0.0f, 0.0f, 0.0f);
        if (tiles.begin < tiles.end) /* otherwise it was never written */
            y = from[n * 128 + threadIdx.x];
        x[4 * n] = y.x, x[4 * n + 1] = y.y;
        x[4 * n + 2] = y.z, x[4 * n + 3] = y.w;
    }
#pragma unroll
    for (int h = 0; h < 2; h++) {
        const uint32_t i = block * rows + (DIM == 64 ? half * 64 : 0) +
                           threadIdx.x / 32 * 16 + threadIdx.x % 32 / 4 + 8 * h;
        T *to = (T *)args.grad_q + pair / args.heads_q * args.stride_q.batch +
                i * args.stride_q.seq + head * args.stride_q.head +
                (DIM == 128 ? half * 64 : 0);
#pragma unroll
        for (int t = 0; t < 2; t++)
            store_columns<T>(to + 32 * t, x + 16 * t, h, args.scale,
                             i < args.seq_q);
    }
}

/* ---- launchers --------------------------------------------------------- */

static uint64_t pairs_of(const vly_attention_args *args)
{
    return (uint64_t)args->batch * args->heads_q;
}

int vly_attention_back_begin(const vly_attention_args *args,
                             const vly_back_grid *grid, void *stream)
{
    const cudaStream_t in = (cudaStream_t)stream;
    const uint64_t rows = pairs_of(args) * grid->n_rows;
    const uint32_t blocks = (uint32_t)((rows * (args->dim / 8) + 255) / 256);
    const uint64_t turns = 1 + rows / (uint32_t)back_rows((int)args->dim);
    cudaError_t code =
        cudaMemsetAsync(grid->turns, 0, turns * sizeof(uint32_t), in);
    if (code == cudaSuccess && grid->ordered == 0)
        code = cudaMemsetAsync(grid->grad_q, 0,
                               rows * args->dim * sizeof(float), in);
    if (code != cudaSuccess)
        return (int)code;
    if (args->type == VLY_ATTENTION_F16)
        back_begin<__half><<<blocks, 256, 0, in>>>(*args, *grid);
    else
        back_begin<__nv_bfloat16><<<blocks, 256, 0, in>>>(*args, *grid);
    return (int)cudaGetLastError();
}

template <typename T, int DIM>
static int launch_end(const vly_attention_args *args, const vly_back_grid *grid,
                      cudaStream_t stream)
{
    const uint64_t blocks =
        2 * pairs_of(args) * (grid->n_rows / (uint32_t)back_rows(DIM));
    back_end<T, DIM><<<(uint32_t)blocks, 128, 0, stream>>>(*args, *grid);
    return (int)cudaGetLastError();
}

template <typename T, int DIM>
static int launch(const vly_attention_args *args, const vly_back_grid *grid,
                  const vly_back_maps *maps, uint32_t n_sms,
                  cudaStream_t stream)
{
    using W = back_shape<T, DIM>;
    const cudaError_t code = cudaFuncSetAttribute(
        back_tiles<W>, cudaFuncAttributeMaxDynamicSharedMemorySize,
        (int)W::bytes);
    if (code != cudaSuccess)
        return (int)code;
    const uint32_t blocks = grid->n_tiles < n_sms ? grid->n_tiles : n_sms;
    back_tiles<W>
        <<<blocks, W::threads, W::bytes, stream>>>(*args, *grid, *maps);
    return (int)cudaGetLastError();
}

uint32_t vly_attention_back_rows(uint32_t dim)
{
    return dim == 64 || dim == 128 ? (uint32_t)back_rows((int)dim) : 0;
}

int vly_attention_back(const vly_attention_args *args,
                       const vly_back_grid *grid, const vly_back_maps *maps,
                       uint32_t n_sms, void *stream)
{
    const cudaStream_t in = (cudaStream_t)stream;
    using B = __nv_bfloat16;
    if (args->type == VLY_ATTENTION_F16)
        return args->dim == 64
                   ? launch<__half, 64>(args, grid, maps, n_sms, in)
                   : launch<__half, 128>(args, grid, maps, n_sms, in);
    return args->dim == 64 ? launch<B, 64>(args, grid, maps, n_sms, in)
                           : launch<B, 128>(args, grid, maps, n_sms, in);
}

int vly_attention_back_end(const vly_attention_args *args,
                           const vly_back_grid *grid, void *stream)
{
    const cudaStream_t in = (cudaStream_t)stream;
    if (args->type == VLY_ATTENTION_F16)
        return args->dim == 64 ? launch_end<__half, 64>(args, grid, in)
                               : launch_end<__half, 128>(args, grid, in);
    return args->dim == 64 ? launch_end<__nv_bfloat16, 64>(args, grid, in)
                           : launch_end<__nv_bfloat16, 128>(args, grid, in);
}
