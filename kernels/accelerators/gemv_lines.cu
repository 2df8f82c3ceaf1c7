// SPDX-License-Identifier: Apache-2.0
// One row of A times weights of 16, 8 or 4 bits, as gemv_flow.cu does it, but
// with few accesses of the first-level cache: rows of B come in pieces of 256
// bytes, A and the scales of groups are read from shared memory.
//
// With int4 weights of 16384 x 16384 gemv_flow takes 42.7 us on an H200 and
// issues in 58% of the cycles: neither bytes nor instructions bind it alone. A
// KB of weights there are two fetches of eight rows, 64 bytes each, and two
// loads of scales from eight rows: some 40 lines looked up, of the 55 cycles
// there are for it at 4.29 TB/s. Here a fetch has two rows and four lines; the
// scales of a piece, 8 bytes a row, are fetched with it, A once. A block of 16
// warps is on a multiprocessor; its warps share the pieces of the rows of a
// tile and put their sums together after eight tiles only.
// 38.5 us there, and 132 for 65536 x 16384 (flow 155): 4.2 TB/s and some 7 us
// that do not grow with n. Lost: rows 64 bytes apart instead of exchanged
// chunks (39.0); pieces of 128 bytes, four or five slots (38.8, 39.2); 11 warps
// with three slots (40.5); 8 warps with pieces of 512 bytes (40.9) or four
// slots (39.9); rows copied by cp.async.bulk (45.7: 16 copies a piece, each of
// 15 instructions of one lane); A as eight columns of digits and weights as
// int8 (39.5 to 43.4; 55 instructions a KB instead of 140, but making the
// digits takes as long as is gained).
#include "gemm_element.cuh"
#include "gemv_fragment.cuh"
#include "gemv_launch.h"

namespace
{

constexpr int TILE = 16, WARPS = 16, SLOTS = 2, AHEAD = SLOTS - 1;
constexpr int DEPTH = 8; // tiles that are done before their sums are written
// A piece is RUN chunks of 64 bytes of the rows of a tile, and after them the
// scales. Chunks of odd rows are exchanged by pairs, so that eight lanes that
// read of two rows are in different banks.
constexpr int RUN = 4, LANES = RUN * 4, ROWS = 32 / LANES, PITCH = RUN * 64;
static_assert(RUN == 4, "scales of a row of a piece are fetched as 8 bytes");
constexpr int SLOT = TILE * PITCH + TILE * RUN * 2;
static_assert(PITCH == VLY_CUDA_GEMV_LINES_BYTES, "rows of whole pieces");

struct shared_memory {
    char ring[WARPS][SLOTS][SLOT];
    // A in the order of the fragments: for each chunk [VECTOR / 8][lane % 4]
    uint4 a[VLY_CUDA_GEMV_LINES_K / 8];
    float partial[WARPS][DEPTH * TILE];
};
static_assert(sizeof(shared_memory) == VLY_CUDA_GEMV_LINES_SHARED, "there");

// Where a warp is. Warps share the pieces of a row, n_sharing apart; with fewer
// pieces than warps a block has n_groups tiles at a time.
template <int BITS> struct share {
    static constexpr int CHUNK = 512 / BITS; // of k
    uint32_t warp, lane, r, t;
    uint32_t n_sharing, n_groups;
    uint32_t n_mine; // pieces of this warp; 0 where it is left over
    uint32_t n_tiles;
    uint32_t n_chunks; // of a row
    uint32_t first;    // chunk
    uint32_t pitch;    // bytes of a row of B
    uint64_t n;
    const char *b; // of the lane, from the first chunk on
    const char *scales;

    __device__ __forceinline__ share(const vly_cuda_gemm &g, uint32_t tiles)
        : n_tiles(tiles), n(g.n)
    {
        const uint64_t z = blockIdx.z;
        warp = threadIdx.x / 32, lane = threadIdx.x % 32;
        r = lane / 4, t = lane % 4;
        n_chunks = static_cast<uint32_t>(g.k / CHUNK);
        const uint32_t n_pieces = n_chunks / RUN;
        const uint32_t turns = (n_pieces + WARPS - 1) / WARPS;
        n_sharing = (n_pieces + turns - 1) / turns;
        n_groups = WARPS / n_sharing;
        n_mine = warp < n_groups * n_sharing
                     ? (n_pieces - 1 - warp % n_sharing) / n_sharing + 1
                     : 0;
        first = warp % n_sharing * RUN;
        pitch = static_cast<uint32_t>(g.ldb * BITS / 8);
        b = static_cast<const char *>(g.b) + z * g.stride_b * BITS / 8 +
            first * 64 + lane % LANES * 16;
        scales = static_cast<const char *>(g.scale_b) +
                 (z * g.stride_scale_b + first) * 2;
    }
    __device__ __forceinline__ uint32_t tile(uint32_t round) const
    {
        return (round * gridDim.x + blockIdx.x) * n_groups + warp / n_sharing;
    }
};

// The next fetch: from the tile of a round.
template <int BITS> struct fetcher {
    const share<BITS> &at;
    uint32_t round = 0;
    uint32_t left = 0; // pieces of the tile; 0: there are no more
    uint32_t last = 0; // row of the tile
    const char *b = nullptr;
    const char *scales = nullptr;

    __device__ __forceinline__ explicit fetcher(const share<BITS> &warp)
        : at(warp)
    {
        aim();
    }

    __device__ __forceinline__ void aim()
    {
        const uint32_t tile = at.tile(round);
        left = tile < at.n_tiles ? at.n_mine : 0;
        if (left == 0)
            return;
        const uint64_t row = static_cast<uint64_t>(tile) * TILE;
        // rows that are not there are read as the last: nothing is made of them
        last = static_cast<uint32_t>(
            min(at.n - row, static_cast<uint64_t>(TILE)) - 1);
        b = at.b + row * at.pitch;
        if (BITS == 4)
            scales =
                at.scales + (row + min(at.lane % TILE, last)) * at.n_chunks * 2;
    }

    __device__ __forceinline__ void next(char *slot)
    {
        if (left > 0) {
            const uint32_t q = at.lane / LANES;
            char *const to =
                slot + q * PITCH + ((at.lane % LANES) ^ (q % 2 * 4)) * 16;
#pragma unroll
            for (uint32_t i = 0; i < TILE; i += ROWS)
                vly_fetch(to + i * PITCH,
                          b + static_cast<uint64_t>(min(i + q, last)) *
                                  at.pitch,
                          true);
            if (BITS == 4 && at.lane < TILE)
                vly_fetch_8(slot + TILE * PITCH + at.lane * (RUN * 2), scales);
            b += at.n_sharing * (RUN * 64);
            if (BITS == 4)
                scales += at.n_sharing * (RUN * 2);
            if (--left == 0) {
                round++;
                aim();
            }
        }
        vly_fetch_commit();
    }
};

// One of the two scales in a word.
__device__ __forceinline__ float scale_of(uint32_t word, int second,
                                          __nv_bfloat16)
{
    return __int_as_float(
        static_cast<int>(second != 0 ? word & 0xffff0000u : word << 16));
}
__device__ __forceinline__ float scale_of(uint32_t word, int second, __half)
{
    return __half2float(__ushort_as_half(
        static_cast<unsigned short>(second != 0 ? word >> 16 : word)));
}

// Sums of one piece: those of column 0 count, of rows r and r + 8. a: at its
// first chunk.
template <typename T, int BITS>
__device__ __forceinline__ void add_piece(const share<BITS> &at,
                                          const char *slot, const uint4 *a,
                                          float (&sum)[2])
{
    constexpr int VECTORS = 16 / BITS; // of 8 elements of A a lane has
    const uint32_t odd = at.r % 2 * 64;
    const char *const row0 = slot + at.r * PITCH + at.t * 16;
    const char *const row1 = row0 + 8 * PITCH;
    uint32_t scale0[RUN / 2] = {}, scale1[RUN / 2] = {};
    float all[2][4] = {};
    if constexpr (BITS == 4) {
        const char *const from = slot + TILE * PITCH + at.r * (RUN * 2);
        memcpy(scale0, __builtin_assume_aligned(from, RUN * 2), RUN * 2);
        memcpy(scale1, __builtin_assume_aligned(from + 8 * (RUN * 2), RUN * 2),
               RUN * 2);
    }
#pragma unroll
    for (int j = 0; j < RUN; j++) {
        const uint32_t on = j / 2 * 128 + (j % 2 != 0 ? 64 - odd : odd);
        const fragments<T, BITS> w(*reinterpret_cast<const uint4 *>(row0 + on),
                                   *reinterpret_cast<const uint4 *>(row1 + on));
        float group[2][4] = {};
        float(&to)[2][4] = BITS == 4 ? group : all;
#pragma unroll
        for (int q = 0; q < VECTORS; q++) {
            const uint4 x = a[(j * VECTORS + q) * 4 + at.t];
            const uint32_t(&u)[4] = w.a[2 * q];
            const uint32_t(&v)[4] = w.a[2 * q + 1];
            multiply(to[0], u[0], u[1], u[2], u[3], x.x, x.y, T());
            multiply(to[1], v[0], v[1], v[2], v[3], x.z, x.w, T());
        }
        if constexpr (BITS == 4) { // a chunk is a group of 128
            sum[0] = fmaf(scale_of(scale0[j / 2], j % 2, T()),
                          group[0][0] + group[1][0], sum[0]);
            sum[1] = fmaf(scale_of(scale1[j / 2], j % 2, T()),
                          group[0][2] + group[1][2], sum[1]);
        }
    }
    if constexpr (BITS != 4) {
        sum[0] += all[0][0] + all[1][0];
        sum[1] += all[0][2] + all[1][2];
    }
}

// A into shared memory, int4: in the order of its pairs.
template <int BITS>
__device__ __forceinline__ void take_a(const vly_cuda_gemm &g, uint4 *to)
{
    constexpr uint32_t VECTORS = 16 / BITS;
    const auto *a = reinterpret_cast<const uint4 *>(
        static_cast<const char *>(g.a) + blockIdx.z * g.stride_a * 2);
    const uint32_t n = static_cast<uint32_t>(g.k / 8);
#pragma unroll 4
    for (uint32_t i = threadIdx.x; i < n; i += WARPS * 32) {
        uint4 v = __ldg(a + i);
        if constexpr (BITS == 4) {
            const uint32_t words[4] = {v.x, v.y, v.z, v.w};
            v = make_uint4(
                vly_unpack_match_i4(words, 0), vly_unpack_match_i4(words, 1),
                vly_unpack_match_i4(words, 2), vly_unpack_match_i4(words, 3));
        }
        to[i / (4 * VECTORS) * (4 * VECTORS) + i % VECTORS * 4 +
           i / VECTORS % 4] = v;
    }
}

// Results of `count` rounds from `from` on.
template <int BITS>
__device__ __forceinline__ void
write_rounds(const vly_cuda_gemm &g, const share<BITS> &at,
             const float (*partial)[DEPTH * TILE], uint32_t from,
             uint32_t count)
{
    const uint32_t rows = at.n_groups * TILE;
    for (uint32_t e = threadIdx.x; e < count * rows; e += WARPS * 32) {
        const uint32_t group = e % rows / TILE, d = e / rows;
        const uint64_t tile = static_cast<uint64_t>(
            ((from + d) * gridDim.x + blockIdx.x) * at.n_groups + group);
        const uint64_t j = tile * TILE + e % TILE;
        float all = 0.0f;
        if (j >= g.n)
            continue;
        for (uint32_t w = 0; w < at.n_sharing; w++)
            all += partial[group * at.n_sharing + w][d * TILE + e % TILE];
        vly_finish(g, blockIdx.z, 0, j, all);
    }
}

template <typename T, int BITS>
__global__ void __launch_bounds__(WARPS * 32, 1)
    gemv_lines(const vly_cuda_gemm g, uint32_t n_tiles)
{
#if defined(__CUDACC__)
    extern __shared__ __align__(128) char raw[];
    shared_memory &memory = *reinterpret_cast<shared_memory *>(raw);
#else
    alignas(128) __shared__ shared_memory memory;
#endif
    const share<BITS> at(g, n_tiles);
    char(*const ring)[SLOT] = memory.ring[at.warp];
    fetcher<BITS> far(at);
    for (int s = 0; s < AHEAD; s++)
        far.next(ring[s]);
    take_a<BITS>(g, memory.a);
    __syncthreads();
    const uint32_t tiles = gridDim.x * at.n_groups;
    const uint32_t n_rounds = (n_tiles + tiles - 1) / tiles;
    uint32_t slot = 0, before = AHEAD;
    for (uint32_t round = 0; round < n_rounds; round++) {
        const uint32_t n = at.tile(round) < n_tiles ? at.n_mine : 0;
        const uint32_t d = round % DEPTH;
        float sum[2] = {};
        const uint4 *a = memory.a + at.first * (64 / BITS);
#pragma unroll 1
        for (uint32_t c = 0; c < n; c++) {
            vly_fetch_wait<AHEAD - 1>();
            __syncwarp(); // all of it has come, and all have read `before`
            far.next(ring[before]);
            add_piece<T>(at, ring[slot], a, sum);
            a += at.n_sharing * (RUN * 64 / BITS);
            before = slot;
            slot = slot + 1 == SLOTS ? 0 : slot + 1;
        }
        if (at.t == 0) {
            memory.partial[at.warp][d * TILE + at.r] = sum[0];
            memory.partial[at.warp][d * TILE + at.r + 8] = sum[1];
        }
        if (d == DEPTH - 1 || round == n_rounds - 1) {
            __syncthreads();
            write_rounds(g, at, memory.partial, round - d, d + 1);
            __syncthreads();
        }
    }
    vly_fetch_wait<0>();
}

template <typename T, int BITS>
cudaError_t launch(const vly_cuda_gemm *g, cudaStream_t stream)
{
    const uint32_t n_tiles = static_cast<uint32_t>((g->n + TILE - 1) / TILE);
    const uint32_t n_pieces =
        static_cast<uint32_t>(g->k * BITS / 8 / (RUN * 64));
    const uint32_t groups = n_pieces < WARPS ? WARPS / n_pieces : 1;
    dim3 grid;
    cudaError_t code =
        vly_cuda_gemv_grid(g, (n_tiles + groups - 1) / groups, 1, 1, &grid);
    if (code != cudaSuccess)
        return code;
#if defined(__CUDACC__)
    code = cudaFuncSetAttribute(gemv_lines<T, BITS>,
                                cudaFuncAttributeMaxDynamicSharedMemorySize,
                                sizeof(shared_memory));
    if (code != cudaSuccess)
        return code;
    gemv_lines<T, BITS>
        <<<grid, WARPS * 32, sizeof(shared_memory), stream>>>(*g, n_tiles);
#else
    VLY_LAUNCH((gemv_lines<T, BITS>), grid, WARPS * 32, stream, *g, n_tiles);
#endif
    return cudaGetLastError();
}

template <typename T>
cudaError_t launch_type(const vly_cuda_gemm *g, cudaStream_t stream)
{
    if (g->type_b == VLY_CUDA_I4)
        return launch<T, 4>(g, stream);
    if (g->type_b == VLY_CUDA_I8)
        return launch<T, 8>(g, stream);
    return launch<T, 16>(g, stream);
}

} // namespace

cudaError_t vly_cuda_gemv_lines(const vly_cuda_gemm *gemm, cudaStream_t stream)
{
    if (gemm->type_a == VLY_CUDA_F16)
        return launch_type<__half>(gemm, stream);
    return launch_type<__nv_bfloat16>(gemm, stream);
}
