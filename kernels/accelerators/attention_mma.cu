/* SPDX-License-Identifier: Apache-2.0
 * Forward attention with mma.m16n8k16, for sm_80 and newer.
 *
 * A block has 16 rows of queries a warp and goes over tiles of keys, from the
 * first that one of its queries sees to the last. Tiles of K and V come by
 * cp.async, the next one while this one is worked on; scores and weights stay
 * in registers: the fragment of C of Q K^T is that of A of P V (Dao 2023,
 * FlashAttention-2, arXiv:2307.08691). Rows wider than dim are zeros.
 */
#include <math_constants.h>

#include "attention_product.cuh"

template <int D> struct mma_shape {
    static constexpr int warps = D <= 128 ? 8 : 4;
    static constexpr int rows = 16 * warps;
    static constexpr int keys = D <= 128 ? 64 : 32;
    static constexpr int chunks = D / 8; /* of a row */
    static constexpr int tile_bytes = keys * D * 2;
    static constexpr int bytes = rows * D * 2 + 4 * tile_bytes;
};

/* Inputs and state of a block. */
template <typename T, int D> struct mma_block {
    const vly_attention_args &args;
    const attention_sequence &s;
    uint32_t head;
    uint32_t head_kv;
    int32_t row;    /* first query */
    uint32_t q;     /* shared memory: queries; */
    uint32_t tiles; /* K, V, K, V */
};

/* rows x D into shared memory; zeros after the last row or dim */
template <int D, int ROWS, typename ROW>
static __device__ __forceinline__ void fetch_rows(uint32_t to, const void *base,
                                                  uint32_t dim, int32_t first,
                                                  int32_t end, ROW row_at)
{
    constexpr int chunks = D / 8;
    constexpr int threads = mma_shape<D>::warps * 32;
#pragma unroll
    for (int x = 0; x < ROWS * chunks / threads; x++) {
        const uint32_t index = x * threads + threadIdx.x;
        const uint32_t row = index / chunks;
        const uint32_t chunk = index % chunks;
        const int32_t at = first + (int32_t)row;
        const bool valid = at < end && chunk * 8 < dim;
        const uint64_t element =
            row_at((uint32_t)(at < end ? at : end - 1)) + chunk * 8;
        copy_async(to + vly_attention_chunk(row, chunk, chunks) * 16,
                   (const uint16_t *)base + (valid ? element : 0), valid);
    }
}

template <typename T, int D>
static __device__ __forceinline__ void fetch_tile(const mma_block<T, D> &b,
                                                  int32_t tile, int stage)
{
    using shape = mma_shape<D>;
    const vly_attention_args &args = b.args;
    const uint32_t to = b.tiles + (uint32_t)stage * 2 * shape::tile_bytes;
    fetch_rows<D, shape::keys>(to, args.k, args.dim, tile * shape::keys,
                               b.s.mask.n_kv, [&](uint32_t j) {
                                   return key_row(args, b.s, args.stride_k,
                                                  b.head_kv, j);
                               });
    fetch_rows<D, shape::keys>(
        to + shape::tile_bytes, args.v, args.dim_v, tile * shape::keys,
        b.s.mask.n_kv, [&](uint32_t j) {
            return key_row(args, b.s, args.stride_v, b.head_kv, j);
        });
    copy_commit();
}

/* Fragment of A: 16 rows of a warp, 16 dimensions. */
struct mma_queries {
    uint32_t r[4];
    __device__ __forceinline__ operator const uint32_t *() const
    {
        return r;
    }
};

template <int D>
static __device__ __forceinline__ mma_queries
mma_queries_of(uint32_t q, uint32_t row, uint32_t lane, int step)
{
    mma_queries a;
    ldmatrix(a.r, q + vly_attention_chunk(
                          row, 2 * step + vly_ldmatrix_a_chunk(lane), D / 8) *
                          16);
    return a;
}

/* A row of a lane: its visible keys, and its running softmax. */
struct mma_rows {
    int32_t first[2];
    int32_t end[2];
    float most[2];
    float sum[2];
};

template <int D>
static __device__ __forceinline__ void
mma_softmax(float s[mma_shape<D>::keys / 8][4], int32_t key, bool masked,
            float scale, mma_rows *rows, float o[D / 8][4])
{
    constexpr int tiles = mma_shape<D>::keys / 8;
    const uint32_t lane = threadIdx.x % 32;
    float now[2] = {rows->most[0], rows->most[1]};
    float keep[2];
#pragma unroll
    for (int t = 0; t < tiles; t++)
#pragma unroll
        for (int r = 0; r < 4; r++) {
            const int32_t j =
                key + 8 * t + (int32_t)vly_mma_c_column(lane, (uint32_t)r);
            s[t][r] *= scale;
            if (masked && (j < rows->first[r / 2] || j >= rows->end[r / 2]))
                s[t][r] = -CUDART_INF_F;
            now[r / 2] = fmaxf(now[r / 2], s[t][r]);
        }
#pragma unroll
    for (int h = 0; h < 2; h++) {
        now[h] = quad_max(now[h]);
        const float base = softmax_base(now[h]);
        keep[h] = exp2_fast(rows->most[h] - base);
        rows->most[h] = now[h];
        rows->sum[h] *= keep[h];
        now[h] = base;
    }
#pragma unroll
    for (int t = 0; t < tiles; t++)
#pragma unroll
        for (int r = 0; r < 4; r++) {
            s[t][r] = exp2_fast(s[t][r] - now[r / 2]);
            rows->sum[r / 2] += s[t][r];
        }
#pragma unroll
    for (int t = 0; t < D / 8; t++)
#pragma unroll
        for (int r = 0; r < 4; r++)
            o[t][r] *= keep[r / 2];
}

template <typename T, int D>
static __device__ __forceinline__ void
store_rows(const mma_block<T, D> &b, const mma_rows &rows, float o[D / 8][4])
{
    const vly_attention_args &args = b.args;
    const uint32_t lane = threadIdx.x % 32;
#pragma unroll
    for (int h = 0; h < 2; h++) {
        const int32_t i =
            b.row + (int32_t)(threadIdx.x / 32 * 16 + lane / 4) + 8 * h;
        const float sum = quad_sum(rows.sum[h]);
        const bool none = sum == 0.0f; /* no key, or none above -inf */
        const float inverse = none ? 0.0f : 1.0f / sum;
        if (i >= b.s.mask.n_q)
            continue;
        T *to = (T *)args.o +
                query_row(args, b.s, args.stride_o, b.head, (uint32_t)i);
#pragma unroll
        for (int t = 0; t < D / 8; t++) {
            const uint32_t d = 8 * t + 2 * (lane % 4);
            const float x = none ? 0.0f : o[t][2 * h] * inverse;
            const float y = none ? 0.0f : o[t][2 * h + 1] * inverse;
            if (d < args.dim_v)
                *(uint32_t *)(to + d) = mma_type<T>::pack(x, y);
        }
        if (args.lse != nullptr && lane % 4 == 0)
            args.lse[lse_at(args, b.s, b.head, (uint32_t)i)] =
                none ? -CUDART_INF_F
                     : (rows.most[h] + log2f(sum)) * 0.69314718f;
    }
}

template <typename T, int D>
static __global__ void __launch_bounds__(mma_shape<D>::warps * 32, 1)
    mma_forward(const __grid_constant__ vly_attention_args args)
{
    using shape = mma_shape<D>;
    extern __shared__ __align__(128) char memory[];
    const attention_sequence s = sequence_of(args, blockIdx.z);
    const uint32_t base = (uint32_t)__cvta_generic_to_shared(memory);
    const mma_block<T, D> b = {args,
                               s,
                               blockIdx.y,
                               blockIdx.y / (args.heads_q / args.heads_kv),
                               (int32_t)(gridDim.x - 1 - blockIdx.x) *
                                   shape::rows,
                               base,
                               base + shape::rows * D * 2};
    if (b.row >= s.mask.n_q)
        return;
    const vly_attention_tiles tiles =
        vly_attention_tiles_of(&s.mask, b.row, shape::rows, shape::keys);
    mma_rows rows = {};
    for (int h = 0; h < 2; h++) {
        const int32_t i =
            b.row + (int32_t)(threadIdx.x / 32 * 16 + threadIdx.x % 32 / 4) +
            8 * h;
        rows.most[h] = -CUDART_INF_F;
        if (i < s.mask.n_q) {
            rows.first[h] = vly_attention_first(&s.mask, i);
            rows.end[h] = vly_attention_end(&s.mask, i);
        }
    }
    float o[D / 8][4] = {};
    const float scale = args.scale * 1.44269504f;
    const uint32_t lane = threadIdx.x % 32;
    const uint32_t own = threadIdx.x / 32 * 16 + vly_ldmatrix_a_row(lane);
    fetch_rows<D, shape::rows>(
        b.q, args.q, args.dim, b.row, s.mask.n_q, [&](uint32_t i) {
            return query_row(args, s, args.stride_q, b.head, i);
        });
    if (tiles.begin < tiles.end)
        fetch_tile(b, tiles.begin, 0);
    for (int32_t tile = tiles.begin; tile < tiles.end; tile++) {
        const int stage = (tile - tiles.begin) & 1;
        const uint32_t k = b.tiles + (uint32_t)stage * 2 * shape::tile_bytes;
        if (tile + 1 < tiles.end) {
            fetch_tile(b, tile + 1, stage ^ 1);
            copy_wait<1>();
        } else {
            copy_wait<0>();
        }
        __syncthreads();
        const bool masked = tile < tiles.whole_begin || tile >= tiles.whole_end;
        float scores[shape::keys / 8][4];
        score_keys<T, D, shape::keys>(
            k,
            [&](int step) { return mma_queries_of<D>(b.q, own, lane, step); },
            scores);
        mma_softmax<D>(scores, tile * shape::keys, masked, scale, &rows, o);
        add_values<T, D, shape::keys>(k + shape::tile_bytes, scores, o);
        __syncthreads();
    }
    copy_wait<0>();
    store_rows<T, D>(b, rows, o);
}

/* ---- launcher ---------------------------------------------------------- */

template <typename T, int D>
static int launch(const vly_attention_args *args, cudaStream_t stream)
{
    using shape = mma_shape<D>;
    const dim3 grid((args->seq_q + shape::rows - 1) / shape::rows,
                    args->heads_q, args->batch);
    cudaError_t code = cudaFuncSetAttribute(
        mma_forward<T, D>, cudaFuncAttributeMaxDynamicSharedMemorySize,
        shape::bytes);
    if (code != cudaSuccess)
        return (int)code;
    mma_forward<T, D><<<grid, shape::warps * 32, shape::bytes, stream>>>(*args);
    return (int)cudaGetLastError();
}

template <typename T>
static int launch_dim(const vly_attention_args *args, cudaStream_t stream)
{
    const uint32_t dim = args->dim > args->dim_v ? args->dim : args->dim_v;
    if (dim <= 64)
        return launch<T, 64>(args, stream);
    if (dim <= 128)
        return launch<T, 128>(args, stream);
    return launch<T, 256>(args, stream);
}

int vly_attention_mma(const vly_attention_args *args, void *stream)
{
    if (args->batch == 0 || args->seq_q == 0)
        return 0;
    return args->type == VLY_ATTENTION_F16
               ? launch_dim<__half>(args, (cudaStream_t)stream)
               : launch_dim<__nv_bfloat16>(args, (cudaStream_t)stream);
}
