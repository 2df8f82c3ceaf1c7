/* SPDX-License-Identifier: Apache-2.0
 * Attention of one query a sequence: bound by reading K and V once. They pass
 * through rings in shared memory, one of three stages a warp, filled by
 * cp.async, so that 96 or 192 KB of a multiprocessor are in flight all the
 * time. (A first version had as many bytes in flight as fit into registers, and
 * none while a warp multiplied: bench/README.md.)
 *
 * A block is one multiprocessor's: a part of the cache of one key head, up to
 * 16 query heads of its group, which are the rows of mma.m16n8k16. Its warps
 * take tiles in turn and share nothing until the end. Parts are put together by
 * a second kernel in their order, so the bits do not depend on which ended
 * first (Dao et al., Flash-Decoding, 2023).
 */
#include "attention_decode.cuh"
#include "attention_product.cuh"

/* WARPS: the number of rings that fit into shared memory */
template <int D, int WARPS> struct ring_shape {
    static constexpr int warps = WARPS;
    static constexpr int keys = D == 64 ? 32 : 16; /* of a tile */
    static constexpr int stages = 3;
    static constexpr uint32_t chunks = D / 8;           /* 16 bytes, of a row */
    static constexpr uint32_t part = keys * D * 2;      /* K, then V */
    static constexpr uint32_t ring = stages * 2 * part; /* of a warp */
    static constexpr uint32_t bytes = warps * ring;
};

/* The part of a run for one warp. */
struct ring_view {
    attention_sequence s;
    uint32_t head_kv;
    int32_t first; /* visible keys */
    int32_t end;
};

/* Copies the tile of the keys [j, j + keys) to `to`; invisible keys become
 * zeros. Each lane finds the rows of one key. */
template <typename T, int D, int WARPS>
static __device__ __forceinline__ void
ring_fetch(const vly_attention_args &args, const ring_view &view, int32_t j,
           uint32_t to)
{
    using shape = ring_shape<D, WARPS>;
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

/* Every warps-th tile of [tile, stop), from tile 0 at key `base` on. */
template <typename T, int D, int WARPS>
static __device__ __forceinline__ void
ring_tiles(const vly_attention_args &args, const ring_view &view, int32_t base,
           int32_t tile, int32_t stop, uint32_t ring, decode_state<D> *state)
{
    using shape = ring_shape<D, WARPS>;
    const float scale = args.scale * 1.44269504f;
    const auto fetch = [&](int32_t n, uint32_t stage) {
        if (n < stop)
            ring_fetch<T, D, WARPS>(args, view, base + n * shape::keys,
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
        score_keys<T, D, shape::keys>(
            k, [&](int step) { return state->q[step]; }, s);
        soften_tile<shape::keys, D>(s, base + tile * shape::keys, view.first,
                                    view.end, scale, state);
        add_values<T, D, shape::keys>(k + shape::part, s, state->o);
        __syncwarp();
        fetch(tile + shape::stages * shape::warps, stage);
        stage = stage + 1 == shape::stages ? 0 : stage + 1;
    }
    copy_wait<0>();
}

template <typename T, int D, int WARPS>
static __global__ void __launch_bounds__(WARPS * 32, 1)
    ring_part(const __grid_constant__ vly_attention_args args)
{
    using shape = ring_shape<D, WARPS>;
    extern __shared__ uint4 memory[];
    rwkv_wait(); /* no wait is needed: lets decode_combine start */
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
    ring_tiles<T, D, WARPS>(args, view, base,
                            tile + (int32_t)(threadIdx.x / 32), stop,
                            (uint32_t)__cvta_generic_to_shared(memory) +
                                threadIdx.x / 32 * shape::ring,
                            &state);
    __syncthreads(); /* the rings are no longer used */
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

/* One block per head adds the parts in their order. All threads read the
 * largest scores at once: one after the other, each would be a memory
 * latency. */
static __global__ void
decode_combine(const __grid_constant__ vly_attention_args args)
{
    __shared__ float keep[MOST_PARTS];
    __shared__ float sums[MOST_PARTS];
    const uint32_t head = blockIdx.x;
    const attention_sequence s = sequence_of(args, blockIdx.y);
    const float *parts = part_at(args, blockIdx.y, head, 0);
    const uint32_t width = args.dim_v + 2;
    rwkv_wait(); /* waits until all parts are written */
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

template <typename T, int D, int WARPS>
static int launch(const vly_attention_args *args, cudaStream_t stream)
{
    using shape = ring_shape<D, WARPS>;
    const uint32_t group = args->heads_q / args->heads_kv;
    const uint32_t passes = (group + HEADS - 1) / HEADS;
    const dim3 grid(args->n_splits, args->heads_kv * passes, args->batch);
    cudaError_t code = cudaFuncSetAttribute(
        ring_part<T, D, WARPS>, cudaFuncAttributeMaxDynamicSharedMemorySize,
        (int)shape::bytes);
    if (code != cudaSuccess)
        return (int)code;
    ring_part<T, D, WARPS><<<grid, WARPS * 32, shape::bytes, stream>>>(*args);
    code = cudaGetLastError();
    if (code != cudaSuccess || args->n_splits == 1)
        return (int)code;
    return rwkv_launch(decode_combine, dim3(args->heads_q, args->batch),
                       args->dim_v, 0, stream, args->early, *args);
}

#define IS(dim_, warps_) (args->dim == dim_ && warps == warps_)

template <typename T>
static int launch_dim(const vly_attention_args *args, uint32_t warps,
                      cudaStream_t stream)
{
    if (IS(64, 8))
        return launch<T, 64, 8>(args, stream);
    if (IS(64, 4))
        return launch<T, 64, 4>(args, stream);
    if (IS(128, 8))
        return launch<T, 128, 8>(args, stream);
    if (IS(128, 4))
        return launch<T, 128, 4>(args, stream);
    if (IS(256, 4))
        return launch<T, 256, 4>(args, stream);
    if (IS(256, 2))
        return launch<T, 256, 2>(args, stream);
    return (int)cudaErrorInvalidValue;
}

int vly_attention_decode(const vly_attention_args *args, uint32_t warps,
                         void *stream)
{
    if (args->batch == 0)
        return 0;
    if (args->n_splits > MOST_PARTS)
        return (int)cudaErrorInvalidValue;
    return args->type == VLY_ATTENTION_F16
               ? launch_dim<__half>(args, warps, (cudaStream_t)stream)
               : launch_dim<__nv_bfloat16>(args, warps, (cudaStream_t)stream);
}

uint32_t vly_attention_decode_warps(uint32_t dim)
{
    static_assert(ring_shape<64, 1>::bytes == ring_shape<128, 1>::bytes &&
                      ring_shape<64, 2>::bytes == ring_shape<256, 1>::bytes,
                  "rings of 24 KB for each 128 dimensions");
    const uint32_t widest = dim == 256 ? 4 : 8;
    const uint32_t bytes =
        dim == 256 ? ring_shape<256, 1>::bytes : ring_shape<128, 1>::bytes;
    int device = 0;
    int most = 0;
    if (cudaGetDevice(&device) != cudaSuccess ||
        cudaDeviceGetAttribute(&most, cudaDevAttrMaxSharedMemoryPerBlockOptin,
                               device) != cudaSuccess) {
        (void)cudaGetLastError();
        return 0;
    }
    for (uint32_t warps = widest; warps >= widest / 2; warps /= 2)
        if ((uint32_t)most >= warps * bytes)
            return warps;
    return 0;
}
