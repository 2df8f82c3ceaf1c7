/* SPDX-License-Identifier: Apache-2.0
 * Attention of one query a sequence: bound by reading K and V once.
 *
 * A block has one part of the cache of one key head and up to 16 query heads
 * of its group, which are the rows of mma.m16n8k16. Its four warps take tiles
 * of 32 keys in turn. K and V go from global memory straight into the
 * registers of the fragments, 16 bytes a load: which of the 16 steps of a
 * product a dimension is does not matter as long as Q has the same order, so a
 * lane takes 8 neighbouring dimensions of K as two steps; and of V it takes 8
 * neighbouring dimensions of four keys, which prmt pairs. 32 loads of a lane
 * are in flight: 16 KB a warp.
 *
 * Parts are put together by a second kernel in their order, so the bits do not
 * depend on which ended first (Dao et al., Flash-Decoding, 2023).
 *
 * 256 dimensions do not fit the registers this way.
 */
#include "attention_decode.cuh"

#define WARPS 4
#define KEYS 32 /* of a tile */

/* Q of the heads [head, head + n): lane's dimensions of chunk c are c * 32 +
 * (lane % 4) * 8 + 0..7, registers (0, 2) of step 2c and then of 2c + 1. */
template <typename T, int D>
static __device__ __forceinline__ void
load_queries(const vly_attention_args &args, const attention_sequence &s,
             uint32_t head, uint32_t n, decode_state<D> *state)
{
    const uint32_t lane = threadIdx.x % 32;
#pragma unroll
    for (int half = 0; half < 2; half++) {
        const uint32_t row = lane / 4 + 8 * half;
        const T *from =
            (const T *)args.q +
            query_row(args, s, args.stride_q, head + (row < n ? row : 0), 0);
#pragma unroll
        for (int c = 0; c < D / 32; c++) {
            uint4 x = make_uint4(0, 0, 0, 0);
            if (row < n)
                x = *(const uint4 *)(from + c * 32 + (lane % 4) * 8);
            state->q[2 * c][half] = x.x;
            state->q[2 * c][half + 2] = x.y;
            state->q[2 * c + 1][half] = x.z;
            state->q[2 * c + 1][half + 2] = x.w;
        }
    }
}

static __device__ __forceinline__ uint4 load_16(const void *from, bool valid)
{
    uint4 x = make_uint4(0, 0, 0, 0);
    if (valid)
        x = __ldg((const uint4 *)from);
    return x;
}

/* s[t] = Q K^T for the keys j + 8 t + 0..7 */
template <typename T, int D>
static __device__ __forceinline__ void
score_tile(const uint4 k[KEYS / 8][D / 32], const decode_state<D> &state,
           float s[KEYS / 8][4])
{
#pragma unroll
    for (int t = 0; t < KEYS / 8; t++) {
#pragma unroll
        for (int r = 0; r < 4; r++)
            s[t][r] = 0.0f;
#pragma unroll
        for (int c = 0; c < D / 32; c++) {
            const uint32_t low[2] = {k[t][c].x, k[t][c].y};
            const uint32_t high[2] = {k[t][c].z, k[t][c].w};
            mma_type<T>::mma(s[t], state.q[2 * c], low);
            mma_type<T>::mma(s[t], state.q[2 * c + 1], high);
        }
    }
}

/* o += P V for 16 keys. v[g][u]: dimensions g * 64 + (lane / 4) * 8 + 0..7 of
 * key 2 (lane % 4) + (u & 1) + 8 (u >> 1), so tile g * 8 + e of o has in its
 * column n the dimension g * 64 + n * 8 + e. */
template <typename T, int D>
static __device__ __forceinline__ void add_values(const uint4 v[D / 64][4],
                                                  const uint32_t p[4],
                                                  decode_state<D> *state)
{
#pragma unroll
    for (int g = 0; g < D / 64; g++) {
        const uint32_t *row[4] = {&v[g][0].x, &v[g][1].x, &v[g][2].x,
                                  &v[g][3].x};
#pragma unroll
        for (int e = 0; e < 8; e++) {
            const uint32_t pick = e % 2 == 0 ? 0x5410u : 0x7632u;
            const uint32_t b[2] = {
                __byte_perm(row[0][e / 2], row[1][e / 2], pick),
                __byte_perm(row[2][e / 2], row[3][e / 2], pick)};
            mma_type<T>::mma(state->o[g * 8 + e], p, b);
        }
    }
}

template <typename T, int D>
static __device__ __forceinline__ void
decode_tile(const vly_attention_args &args, const attention_sequence &s,
            uint32_t head_kv, int32_t j, int32_t first, int32_t end,
            float scale, decode_state<D> *state)
{
    const uint32_t lane = threadIdx.x % 32;
    uint4 k[KEYS / 8][D / 32];
    uint4 v[KEYS / 16][D / 64][4];
#pragma unroll
    for (int t = 0; t < KEYS / 8; t++) {
        const int32_t key = j + 8 * t + (int32_t)(lane / 4);
        const bool valid = key >= first && key < end;
        const T *from =
            (const T *)args.k + key_row(args, s, args.stride_k, head_kv,
                                        (uint32_t)(valid ? key : first));
#pragma unroll
        for (int c = 0; c < D / 32; c++)
            k[t][c] = load_16(from + c * 32 + (lane % 4) * 8, valid);
    }
#pragma unroll
    for (int t = 0; t < KEYS / 16; t++)
#pragma unroll
        for (int u = 0; u < 4; u++) {
            const int32_t key =
                j + 16 * t + (int32_t)(2 * (lane % 4)) + (u & 1) + 8 * (u >> 1);
            const bool valid = key >= first && key < end;
            const T *from =
                (const T *)args.v + key_row(args, s, args.stride_v, head_kv,
                                            (uint32_t)(valid ? key : first));
#pragma unroll
            for (int g = 0; g < D / 64; g++)
                v[t][g][u] = load_16(from + g * 64 + (lane / 4) * 8, valid);
        }
    float weights[KEYS / 8][4];
    score_tile<T, D>(k, *state, weights);
    soften_tile<KEYS, D>(weights, j, first, end, scale, state);
#pragma unroll
    for (int t = 0; t < KEYS / 16; t++) {
        const float *low = weights[2 * t];
        const float *high = weights[2 * t + 1];
        const uint32_t p[4] = {mma_type<T>::pack(low[0], low[1]),
                               mma_type<T>::pack(low[2], low[3]),
                               mma_type<T>::pack(high[0], high[1]),
                               mma_type<T>::pack(high[2], high[3])};
        add_values<T, D>(v[t], p, state);
    }
}

/* The state of every warp into shared memory, dimensions in their order. */
template <typename T, int D>
static __device__ __forceinline__ void
store_state(const decode_state<D> &state, decode_shared<D, WARPS> *shared)
{
    const uint32_t lane = threadIdx.x % 32;
    const uint32_t warp = threadIdx.x / 32;
#pragma unroll
    for (int t = 0; t < D / 8; t++)
#pragma unroll
        for (int r = 0; r < 4; r++) {
            const uint32_t dim = (uint32_t)(t / 8) * 64 +
                                 vly_mma_c_column(lane, (uint32_t)r) * 8 +
                                 (uint32_t)(t % 8);
            shared->o[warp][vly_mma_c_row(lane, (uint32_t)r)][dim] =
                state.o[t][r];
        }
    store_sums<D, WARPS>(state, shared);
}

template <typename T, int D>
static __global__ void __launch_bounds__(WARPS * 32)
    decode_part(const __grid_constant__ vly_attention_args args)
{
    extern __shared__ uint4 memory[];
    rwkv_wait(); /* nothing to wait for: lets decode_combine start */
    decode_shared<D, WARPS> *shared = (decode_shared<D, WARPS> *)memory;
    const uint32_t group = args.heads_q / args.heads_kv;
    const uint32_t passes = (group + HEADS - 1) / HEADS;
    const uint32_t head_kv = blockIdx.y / passes;
    const uint32_t done = blockIdx.y % passes * HEADS;
    const uint32_t n_heads = group - done < HEADS ? group - done : HEADS;
    const uint32_t head = head_kv * group + done;
    const attention_sequence s = sequence_of(args, blockIdx.z);
    if (s.mask.n_q < 1)
        return;
    const int32_t first = vly_attention_first(&s.mask, 0);
    const int32_t end = vly_attention_end(&s.mask, 0);
    const int32_t base = first / KEYS;
    const int32_t n_tiles = end > first ? (end + KEYS - 1) / KEYS - base : 0;
    int32_t tile = 0;
    int32_t stop = 0;
    vly_attention_part(n_tiles, blockIdx.x, args.n_splits, &tile, &stop);
    decode_state<D> state = {};
    state.most[0] = state.most[1] = -CUDART_INF_F;
    load_queries<T, D>(args, s, head, n_heads, &state);
    const float scale = args.scale * 1.44269504f;
    for (tile += (int32_t)(threadIdx.x / 32); tile < stop; tile += WARPS)
        decode_tile<T, D>(args, s, head_kv, (base + tile) * KEYS, first, end,
                          scale, &state);
    store_state<T, D>(state, shared);
    __syncthreads();
    merge_states<D, WARPS>(args, s, *shared, head, n_heads);
}

/* One block a head: the parts in their order. Their largest scores are read by
 * all threads at once: one after the other is a wait for memory each. */
static __global__ void
decode_combine(const __grid_constant__ vly_attention_args args)
{
    __shared__ float keep[MOST_PARTS];
    __shared__ float sums[MOST_PARTS];
    const uint32_t head = blockIdx.x;
    const attention_sequence s = sequence_of(args, blockIdx.y);
    const float *parts = part_at(args, blockIdx.y, head, 0);
    const uint32_t width = args.dim_v + 2;
    rwkv_wait(); /* until all parts are there */
    if (s.mask.n_q < 1)
        return;
    for (uint32_t p = threadIdx.x; p < args.n_splits; p += blockDim.x) {
        keep[p] = parts[p * width + args.dim_v];
        sums[p] = parts[p * width + args.dim_v + 1];
    }
    __syncthreads();
    float most = -CUDART_INF_F;
    for (uint32_t p = 0; p < args.n_splits; p++)
        most = fmaxf(most, keep[p]);
    float o = 0.0f;
    float sum = 0.0f;
#pragma unroll 8
    for (uint32_t p = 0; p < args.n_splits; p++) {
        const float factor = exp2_fast(keep[p] - softmax_base(most));
        o += parts[p * width + threadIdx.x] * factor;
        sum += sums[p] * factor;
    }
    store_result(args, s, head, threadIdx.x, o, most, sum);
}

/* ---- launchers --------------------------------------------------------- */

int vly_attention_combine(const vly_attention_args *args, void *stream)
{
    const cudaError_t code = cudaGetLastError();
    if (code != cudaSuccess || args->n_splits == 1)
        return (int)code;
    return rwkv_launch(decode_combine, dim3(args->heads_q, args->batch),
                       args->dim_v, 0, stream, args->early, *args);
}

template <typename T, int D>
static int launch(const vly_attention_args *args, cudaStream_t stream)
{
    const uint32_t group = args->heads_q / args->heads_kv;
    const uint32_t passes = (group + HEADS - 1) / HEADS;
    const dim3 grid(args->n_splits, args->heads_kv * passes, args->batch);
    const int bytes = (int)sizeof(decode_shared<D, WARPS>);
    cudaError_t code = cudaFuncSetAttribute(
        decode_part<T, D>, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes);
    if (code != cudaSuccess)
        return (int)code;
    decode_part<T, D><<<grid, WARPS * 32, (size_t)bytes, stream>>>(*args);
    return vly_attention_combine(args, stream);
}

template <typename T>
static int launch_dim(const vly_attention_args *args, cudaStream_t stream)
{
    switch (args->dim) {
    case 64:
        return launch<T, 64>(args, stream);
    case 128:
        return launch<T, 128>(args, stream);
    default:
        return (int)cudaErrorInvalidValue;
    }
}

int vly_attention_decode(const vly_attention_args *args, void *stream)
{
    if (args->batch == 0)
        return 0;
    if (args->n_splits > MOST_PARTS)
        return (int)cudaErrorInvalidValue;
    return args->type == VLY_ATTENTION_F16
               ? launch_dim<__half>(args, (cudaStream_t)stream)
               : launch_dim<__nv_bfloat16>(args, (cudaStream_t)stream);
}

uint32_t vly_attention_decode_blocks(uint32_t dim)
{
    int blocks = 0;
    const void *kernel = (const void *)decode_part<__nv_bfloat16, 64>;
    size_t bytes = sizeof(decode_shared<64, WARPS>);
    if (dim == 128) {
        kernel = (const void *)decode_part<__nv_bfloat16, 128>;
        bytes = sizeof(decode_shared<128, WARPS>);
    }
    if (cudaFuncSetAttribute(kernel,
                             cudaFuncAttributeMaxDynamicSharedMemorySize,
                             (int)bytes) != cudaSuccess ||
        cudaOccupancyMaxActiveBlocksPerMultiprocessor(
            &blocks, kernel, WARPS * 32, bytes) != cudaSuccess ||
        blocks < 1) {
        (void)cudaGetLastError();
        return 1;
    }
    return (uint32_t)blocks;
}
