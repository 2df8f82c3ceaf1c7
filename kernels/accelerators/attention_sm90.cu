/* SPDX-License-Identifier: Apache-2.0
 * Forward attention for sm_90a: one warp group loads tiles with TMA, two or
 * three of 64 queries each multiply with wgmma, in turns where that is faster:
 * while one has the tensor cores another is at its softmax (Shah et al. 2024,
 * FlashAttention-3, arXiv:2407.08608). In a group Q K^T of the next tile is
 * under way while P V of the last one is, so there is always a product to wait
 * for. Weights stay relative to the largest score of an earlier tile while none
 * becomes too large that way; otherwise scores are multiplied once more.
 *
 * Persistent: a block that is ready takes the next tile in the order of
 * vly_attention_tile. Loader and multipliers go through the same tiles of keys,
 * from the last to the first, each stage with a pair of barriers (full: bytes
 * of TMA; empty: the warps that read). A barrier's n-th phase ends with its
 * n-th use, so the parity to wait for follows from a count of uses alone.
 *
 * e4m3 is multiplied with the summed dimension contiguous only, so V is turned
 * on its way: three warps of the loader's group read it with ldmatrix and write
 * it with stmatrix; keys and dimensions change their order (`turn`), so that
 * weights need not move between lanes.
 *
 * A tile of V may hold NaN or infinity after the length of a sequence: then the
 * row block is marked and computed again in plain loops (16 bits), or those
 * keys become 0 when V is transposed (e4m3).
 */
#include "attention_sm90_group.cuh"

/* Scales of a tile, or common scales if there are none per tile. */
template <typename W>
static __device__ __forceinline__ sm90_scale
scale_of(const vly_attention_args &args, const sm90_tile &tile)
{
    sm90_scale scale = {args.scale * 1.44269504f, 1.0f, false};
    if (!W::fp8)
        return scale;
    const uint32_t at = tile.s.batch * args.heads_kv +
                        tile.head / (args.heads_q / args.heads_kv);
    scale.score *= args.scale_q[at] * args.scale_k[at];
    scale.value = args.scale_v[at];
    if (args.type_o == VLY_ATTENTION_E4M3)
        scale.value *= args.scale_o[0];
    scale.flip = scale.score < 0.0f;
    scale.score = fabsf(scale.score);
    if (scale.score == 0.0f) /* -inf times it must not be NaN */
        scale.score = 0x1p-100f;
    return scale;
}

template <typename W>
static __device__ __forceinline__ void
multiply_all(const vly_attention_args &args, const vly_sm90_grid &grid,
             uint32_t base, const char *memory)
{
    const uint32_t lane = threadIdx.x % 32;
    const uint32_t exponent =
        args.type == VLY_ATTENTION_F16 ? 0x7c00u : 0x7f80u;
    sm90_group g = {};
    g.base = base;
    g.bars = base + W::barriers;
    g.index = threadIdx.x / 128 - 1;
    g.looks = grid.marks != nullptr;
    g.q = base + g.index * 64 * 128;
    g.local = (int32_t)(g.index * 64 + threadIdx.x % 128 / 32 * 16 + lane / 4);
    if (g.index == W::groups - 1) /* the first turn is the first group's */
        end_turn<W>(g);
    sm90_numbers numbers = {g.bars, 0};
    for (;;) {
        const uint32_t t = read_number<W>(&numbers, memory);
        if (t >= grid.n_tiles)
            break;
        const sm90_tile tile = tile_of(args, grid, t, W::rows, W::keys);
        const sm90_scale scale = scale_of<W>(args, tile);
        sm90_rows rows = start_rows(tile, g.local);
        float o[W::dim / 2];
        uint32_t again = 0;
#pragma unroll
        for (int x = 0; x < W::dim / 2; x++)
            o[x] = 0.0f;
        if (tile.tiles.begin < tile.tiles.end) {
            uint32_t p[W::steps][4];
            uint32_t held[W::steps_held][4] = {};
            vly_attention_use last =
                multiply_first<W>(tile, scale, &g, &rows, held, p);
            for (int32_t n = tile.tiles.end - 2; n >= tile.tiles.begin; n--)
                last = multiply_next<W>(tile, n, last, scale, memory, exponent,
                                        &g, &rows, held, p, o, &again);
            multiply_last<W>(tile, last, memory, exponent, &g, p, o, &again);
        }
        store_tile<W>(args, tile, tile.row + g.local, scale, rows, o);
        if (grid.marks != nullptr) {
            again = __any_sync(0xffffffffu, again != 0);
            if (lane == 0 && again != 0)
                grid.marks[t] = 1;
        }
    }
}

template <typename W>
static __global__ void __launch_bounds__(W::threads, 1)
    sm90_forward(const __grid_constant__ vly_attention_args args,
                 const __grid_constant__ vly_sm90_grid grid,
                 const __grid_constant__ vly_sm90_maps maps)
{
    extern __shared__ char raw[];
    const uint32_t at = (uint32_t)__cvta_generic_to_shared(raw);
    const uint32_t base = (at + 1023u) & ~1023u; /* alignment for the swizzle */
    const char *memory = raw + (base - at);
    const uint32_t bars = base + W::barriers;
    if (threadIdx.x == 0) {
        tensor_prefetch(&maps.q);
        tensor_prefetch(&maps.k);
        tensor_prefetch(&maps.v);
        for (uint32_t b = 0; b < N_BARRIERS; b++)
            barrier_init(bars + 8 * b, arrivals_of<W>(b));
        barrier_init_fence();
    }
    __syncthreads();
    if (threadIdx.x < 128) {
        registers_fewer<W::loader_registers>();
        if (threadIdx.x == 0)
            load_all<W>(args, grid, maps, base, memory);
        else if (W::fp8 && threadIdx.x >= 32)
            turn_all<W>(args, grid, base, memory);
    } else {
        registers_more<W::multiplier_registers>();
        multiply_all<W>(args, grid, base, memory);
    }
}

/* Computes the marked row blocks again. */
static __global__ void __launch_bounds__(128)
    sm90_again(const __grid_constant__ vly_attention_args args,
               const __grid_constant__ vly_sm90_grid grid, int32_t rows)
{
    if (grid.marks[blockIdx.x] == 0)
        return;
    const sm90_tile tile = tile_of(args, grid, blockIdx.x, rows, 128);
    for (int32_t r = (int32_t)(threadIdx.x / 32); r < rows; r += 4)
        if (tile.row + r < tile.s.mask.n_q)
            attention_row(args, tile.s, tile.head, tile.row + r);
}

/* ---- launcher ---------------------------------------------------------- */

template <typename W>
static int launch(const vly_attention_args *args, const vly_sm90_grid *grid,
                  const vly_sm90_maps *maps, uint32_t n_sms,
                  cudaStream_t stream)
{
    constexpr int bytes = (int)W::bytes;
    static_assert(W::bytes <= 232448, "shared memory of a block");
    const uint32_t blocks = grid->n_tiles < n_sms ? grid->n_tiles : n_sms;
    const bool marks = !W::fp8 && grid->marks != nullptr;
    cudaError_t code = cudaFuncSetAttribute(
        sm90_forward<W>, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes);
    if (code == cudaSuccess && grid->next != nullptr)
        code = cudaMemsetAsync(grid->next, 0, sizeof(uint32_t), stream);
    if (code == cudaSuccess && marks)
        code = cudaMemsetAsync(grid->marks, 0, grid->n_tiles * sizeof(uint32_t),
                               stream);
    if (code != cudaSuccess)
        return (int)code;
    sm90_forward<W><<<blocks, W::threads, bytes, stream>>>(*args, *grid, *maps);
    code = cudaGetLastError();
    if (code != cudaSuccess || !marks)
        return (int)code;
    sm90_again<<<grid->n_tiles, 128, 0, stream>>>(*args, *grid, W::rows);
    return (int)cudaGetLastError();
}

/* Every variant: dimension, number, keys of a tile, groups, held, turns. Number
 * 0 is the default without measuring; the numbers of a dimension have no
 * gaps. */
#define VARIANTS_16(X)                                                         \
    X(64, 0, 128, 3, false, true)                                              \
    X(128, 0, 176, 2, false, false)                                            \
    X(128, 1, 128, 2, false, false)                                            \
    X(256, 0, 80, 2, false, true)
#define VARIANTS_8(X)                                                          \
    X(64, 0, 128, 3, true, false)                                              \
    X(128, 0, 96, 3, false, false)                                             \
    X(256, 0, 96, 2, false, false)

#define IS(dim_, config_) (args->dim == dim_ && grid->config == config_)
#define LAUNCH(dim_, config_, keys_, groups_, held_, turns_)                   \
    if (IS(dim_, config_))                                                     \
        return launch<sm90_shape<T, dim_, keys_, groups_, held_, turns_>>(     \
            args, grid, maps, n_sms, stream);

template <typename T>
static int launch_16(const vly_attention_args *args, const vly_sm90_grid *grid,
                     const vly_sm90_maps *maps, uint32_t n_sms,
                     cudaStream_t stream)
{
    VARIANTS_16(LAUNCH)
    return (int)cudaErrorInvalidValue;
}

static int launch_8(const vly_attention_args *args, const vly_sm90_grid *grid,
                    const vly_sm90_maps *maps, uint32_t n_sms,
                    cudaStream_t stream)
{
    using T = __nv_fp8_e4m3;
    VARIANTS_8(LAUNCH)
    return (int)cudaErrorInvalidValue;
}

int vly_attention_sm90(const vly_attention_args *args,
                       const vly_sm90_grid *grid, const vly_sm90_maps *maps,
                       uint32_t n_sms, void *stream)
{
    const cudaStream_t in = (cudaStream_t)stream;
    if (grid->n_tiles == 0)
        return 0;
    if (args->type == VLY_ATTENTION_E4M3)
        return launch_8(args, grid, maps, n_sms, in);
    return args->type == VLY_ATTENTION_F16
               ? launch_16<__half>(args, grid, maps, n_sms, in)
               : launch_16<__nv_bfloat16>(args, grid, maps, n_sms, in);
}

vly_sm90_variant vly_attention_sm90_variant(uint32_t type, uint32_t dim,
                                            uint32_t config)
{
    const vly_sm90_variant none = {0, 0};
#define FOUND(dim_, config_, keys_, groups_, held_, turns_)                    \
    if (dim == dim_ && config == config_)                                      \
        return vly_sm90_variant{64 * groups_, keys_};
    if (type == VLY_ATTENTION_E4M3) {
        VARIANTS_8(FOUND)
    } else {
        VARIANTS_16(FOUND)
    }
    return none;
}
