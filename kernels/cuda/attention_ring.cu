/* SPDX-License-Identifier: Apache-2.0
 * Attention of one query a sequence, second version: K and V pass through rings
 * in shared memory, one of three stages a warp, filled by cp.async. So 192 KB
 * of a multiprocessor are under way all the time, whatever the dimension; the
 * first version (attention_decode.cu) has what fits registers, and nothing
 * while a warp multiplies.
 *
 * A block is one multiprocessor's: a part of the cache of one key head, up to
 * 16 query heads. Its warps take tiles in turn and share nothing until the end.
 * Parts are put together in their order (vly_attention_combine).
 */
#include "attention_decode.cuh"

template <int D> struct ring_shape {
    static constexpr int warps = D == 256 ? 4 : 8;
    static constexpr int keys = D == 64 ? 32 : 16; /* of a tile */
    static constexpr int stages = 3;
    static constexpr uint32_t chunks = D / 8;           /* 16 bytes, of a row */
    static constexpr uint32_t part = keys * D * 2;      /* K, then V */
    static constexpr uint32_t ring = stages * 2 * part; /* of a warp */
    static constexpr uint32_t bytes = warps * ring;
};

/* A run as a warp sees it. */
struct ring_view {
    attention_sequence s;
    uint32_t head_kv;
    int32_t first; /* keys that are seen */
    int32_t end;
};

/* Tile of the keys [j, j + keys) to `to`; those not seen are zeros. Each lane
 * finds where one key's rows lie. */
template <typename T, int D>
static __device__ __forceinline__ void
ring_fetch(const vly_attention_args &args, const ring_view &view, int32_t j,
           uint32_t to)
{
    using shape = ring_shape<D>;
    constexpr uint32_t rows = 32 / shape::chunks; /* of a copy of the warp */
    const uint32_t lane = threadIdx.x % 32;
    const int32_t own = j + (int32_t)(lane % shape::keys);
    const uint32_t at =
        (uint32_t)(own >= view.first && own < view.end ? own : view.first);
    const uint64_t k = key_row(args, view.s, args.stride_k, view.head_kv, at);
    const uint64_t v = key_row(args, view.s, args.stride_v, view.head_kv, at);
#pragma unroll
    for (uint32_t i = 0; i < shape::keys / rows; i++) {
        const uint32_t row = i * rows + lane / shape::chunks;
        const uint32_t chunk = lane % shape::chunks;
        const int32_t key = j + (int32_t)row;
        const bool valid = key >= view.first && key < view.end;
        const uint32_t place =
            to + vly_attention_chunk(row, chunk, shape::chunks) * 16;
        const uint64_t from_k = __shfl_sync(0xffffffffu, k, (int)row);
        const uint64_t from_v = __shfl_sync(0xffffffffu, v, (int)row);
        copy_async(place, (const T *)args.k + from_k + chunk * 8, valid);
        copy_async(place + shape::part, (const T *)args.v + from_v + chunk * 8,
                   valid);
    }
}

/* Heads [head, head + n) as fragments of A. */
template <typename T, int D>
static __device__ __forceinline__ void
ring_queries(const vly_attention_args &args, const attention_sequence &s,
             uint32_t head, uint32_t n, decode_state<D> *state)
{
    const uint32_t lane = threadIdx.x % 32;
#pragma unroll
    for (uint32_t r = 0; r < 4; r++) {
        const uint32_t row = vly_mma_a_row(lane, r);
        const T *from =
            (const T *)args.q +
            query_row(args, s, args.stride_q, head + (row < n ? row : 0), 0) +
            vly_mma_a_column(lane, r);
#pragma unroll
        for (int step = 0; step < D / 16; step++)
            state->q[step][r] =
                row < n ? *(const uint32_t *)(from + 16 * step) : 0;
    }
}

template <typename T, int D>
static __device__ __forceinline__ void
ring_scores(uint32_t k, const decode_state<D> &state,
            float s[ring_shape<D>::keys / 8][4])
{
    using shape = ring_shape<D>;
    const uint32_t lane = threadIdx.x % 32;
#pragma unroll
    for (int t = 0; t < shape::keys / 8; t++)
#pragma unroll
        for (int r = 0; r < 4; r++)
            s[t][r] = 0.0f;
#pragma unroll
    for (int step = 0; step < D / 16; step++)
#pragma unroll
        for (int t = 0; t < shape::keys / 16; t++) {
            uint32_t x[4];
            ldmatrix(x, k + vly_attention_chunk(
                                16 * t + vly_ldmatrix_bt_row(lane),
                                2 * step + vly_ldmatrix_bt_chunk(lane),
                                shape::chunks) *
                                16);
            mma_type<T>::mma(s[2 * t], state.q[step], x);
            mma_type<T>::mma(s[2 * t + 1], state.q[step], x + 2);
        }
}

template <typename T, int D>
static __device__ __forceinline__ void
ring_values(uint32_t v, const float s[ring_shape<D>::keys / 8][4],
            decode_state<D> *state)
{
    using shape = ring_shape<D>;
    const uint32_t lane = threadIdx.x % 32;
#pragma unroll
    for (int step = 0; step < shape::keys / 16; step++) {
        const float *low = s[2 * step];
        const float *high = s[2 * step + 1];
        const uint32_t p[4] = {mma_type<T>::pack(low[0], low[1]),
                               mma_type<T>::pack(low[2], low[3]),
                               mma_type<T>::pack(high[0], high[1]),
                               mma_type<T>::pack(high[2], high[3])};
#pragma unroll
        for (int t = 0; t < D / 16; t++) {
            uint32_t x[4];
            ldmatrix_trans(
                x, v + vly_attention_chunk(16 * step + vly_ldmatrix_b_row(lane),
                                           2 * t + vly_ldmatrix_b_chunk(lane),
                                           shape::chunks) *
                           16);
            mma_type<T>::mma(state->o[2 * t], p, x);
            mma_type<T>::mma(state->o[2 * t + 1], p, x + 2);
        }
    }
}

/* Every warps-th tile of [tile, stop), from tile 0 at key `base` on. */
template <typename T, int D>
static __device__ __forceinline__ void
ring_tiles(const vly_attention_args &args, const ring_view &view, int32_t base,
           int32_t tile, int32_t stop, uint32_t ring, decode_state<D> *state)
{
    using shape = ring_shape<D>;
    const float scale = args.scale * 1.44269504f;
    const auto fetch = [&](int32_t n, uint32_t stage) {
        if (n < stop)
            ring_fetch<T, D>(args, view, base + n * shape::keys,
                             ring + stage * 2 * shape::part);
        copy_commit();
    };
#pragma unroll
    for (int i = 0; i < shape::stages; i++)
        fetch(tile + i * shape::warps, i);
    uint32_t stage = 0;
    for (; tile < stop; tile += shape::warps) {
        float s[shape::keys / 8][4];
        const uint32_t k = ring + stage * 2 * shape::part;
        copy_wait<shape::stages - 1>();
        __syncwarp();
        ring_scores<T, D>(k, *state, s);
        soften_tile<shape::keys, D>(s, base + tile * shape::keys, view.first,
                                    view.end, scale, state);
        ring_values<T, D>(k + shape::part, s, state);
        __syncwarp();
        fetch(tile + shape::stages * shape::warps, stage);
        stage = stage + 1 == shape::stages ? 0 : stage + 1;
    }
    copy_wait<0>();
}

template <typename T, int D>
static __global__ void __launch_bounds__(ring_shape<D>::warps * 32, 1)
    ring_part(const __grid_constant__ vly_attention_args args)
{
    using shape = ring_shape<D>;
    extern __shared__ uint4 memory[];
    rwkv_wait(); /* nothing to wait for: lets decode_combine start */
    const uint32_t group = args.heads_q / args.heads_kv;
    const uint32_t passes = (group + HEADS - 1) / HEADS;
    const uint32_t done = blockIdx.y % passes * HEADS;
    const uint32_t n_heads = group - done < HEADS ? group - done : HEADS;
    ring_view view;
    view.head_kv = blockIdx.y / passes;
    view.s = sequence_of(args, blockIdx.z);
    if (view.s.mask.n_q < 1)
        return;
    view.first = vly_attention_first(&view.s.mask, 0);
    view.end = vly_attention_end(&view.s.mask, 0);
    const uint32_t head = view.head_kv * group + done;
    const int32_t base = view.first / shape::keys * shape::keys;
    const int32_t n_tiles =
        view.end > view.first
            ? (view.end - base + shape::keys - 1) / shape::keys
            : 0;
    int32_t tile = 0;
    int32_t stop = 0;
    vly_attention_part(n_tiles, blockIdx.x, args.n_splits, &tile, &stop);
    decode_state<D> state = {};
    state.most[0] = state.most[1] = -CUDART_INF_F;
    ring_queries<T, D>(args, view.s, head, n_heads, &state);
    ring_tiles<T, D>(args, view, base, tile + (int32_t)(threadIdx.x / 32), stop,
                     (uint32_t)__cvta_generic_to_shared(memory) +
                         threadIdx.x / 32 * shape::ring,
                     &state);
    __syncthreads(); /* the rings are done with */
    decode_shared<D, shape::warps> *shared =
        (decode_shared<D, shape::warps> *)memory;
    static_assert(sizeof *shared <= shape::bytes, "it fits the rings");
    const uint32_t lane = threadIdx.x % 32;
#pragma unroll
    for (int t = 0; t < D / 8; t++)
#pragma unroll
        for (uint32_t r = 0; r < 4; r++)
            shared->o[threadIdx.x / 32][vly_mma_c_row(lane, r)]
                     [8 * t + vly_mma_c_column(lane, r)] = state.o[t][r];
    store_sums<D, shape::warps>(state, shared);
    __syncthreads();
    merge_states<D, shape::warps>(args, view.s, *shared, head, n_heads);
}

/* ---- launchers --------------------------------------------------------- */

template <typename T, int D>
static int launch(const vly_attention_args *args, cudaStream_t stream)
{
    using shape = ring_shape<D>;
    const uint32_t group = args->heads_q / args->heads_kv;
    const uint32_t passes = (group + HEADS - 1) / HEADS;
    const dim3 grid(args->n_splits, args->heads_kv * passes, args->batch);
    const cudaError_t code = cudaFuncSetAttribute(
        ring_part<T, D>, cudaFuncAttributeMaxDynamicSharedMemorySize,
        (int)shape::bytes);
    if (code != cudaSuccess)
        return (int)code;
    ring_part<T, D><<<grid, shape::warps * 32, shape::bytes, stream>>>(*args);
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
    case 256:
        return launch<T, 256>(args, stream);
    default:
        return (int)cudaErrorInvalidValue;
    }
}

int vly_attention_ring(const vly_attention_args *args, void *stream)
{
    if (args->batch == 0)
        return 0;
    if (args->n_splits > MOST_PARTS)
        return (int)cudaErrorInvalidValue;
    return args->type == VLY_ATTENTION_F16
               ? launch_dim<__half>(args, (cudaStream_t)stream)
               : launch_dim<__nv_bfloat16>(args, (cudaStream_t)stream);
}

uint32_t vly_attention_ring_blocks(uint32_t dim)
{
    const uint32_t bytes = dim == 64    ? ring_shape<64>::bytes
                           : dim == 128 ? ring_shape<128>::bytes
                                        : ring_shape<256>::bytes;
    int device = 0;
    int most = 0;
    if (cudaGetDevice(&device) != cudaSuccess ||
        cudaDeviceGetAttribute(&most, cudaDevAttrMaxSharedMemoryPerBlockOptin,
                               device) != cudaSuccess) {
        (void)cudaGetLastError();
        return 0;
    }
    return (uint32_t)most >= bytes ? 1 : 0;
}
