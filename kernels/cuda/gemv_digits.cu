// SPDX-License-Identifier: Apache-2.0
// One row of A times int4 weights in whole numbers: tensor cores multiply int8,
// exactly, and eight columns are there where one row of A needs one. So A is
// written as digits: x = 2^e (d0 + 256 d1 + ... + 256^7 d7), a column a digit,
// all of them in [-128, 127]. 63 bits hold every fp16 and all bf16 of a warp
// whose exponents are within 54 of each other; where they are not (or one is
// infinite or no number) that warp takes the way of gemv_half.cu. The sum of a
// group of 128 is exact; it is rounded to fp32 where its scale is multiplied.
//
// Why: in gemv_half.cu 88 of 171 instructions a KB of weights turn int4 into
// floats. As int8 they are (word << 4) & 0xf0f0f0f0 and word & 0xf0f0f0f0, 16
// times their value, three instructions for eight weights; one mma has 32 of k
// instead of 16; and the digits of A are the same for all rows of B, so they
// stay in registers: a warp has up to 1024 of k, all of A is on every
// multiprocessor, and nothing of A is read in the loop.
// One block of 16 warps is on a multiprocessor and takes one tile of 16 rows of
// B after the other; each warp has 8 KB under way (128 KB a multiprocessor),
// those of the next tile while the sums of one are put together. Digits are
// made while the first tile is on its way.
// Predicted for 16384 x 16384 on an H200: 33 us of bytes and 3 of the beginning
// and the end.
#include "gemm_element.cuh"
#include "gemv_fragment.cuh"
#include "gemv_launch.h"

namespace
{

constexpr int WARPS = 16, SLOTS = 8, CHUNK = 128, TILE = 16, MOST_DEPTH = 4;
static_assert(WARPS * SLOTS * CHUNK == VLY_CUDA_GEMV_DIGITS_K, "k at most");

struct shared_memory {
    uint4 ring[WARPS][SLOTS][2][32]; // a chunk of two rows a lane
    uint32_t scratch[WARPS][8][33];  // digits on their way to their lanes
    // sums of some tiles, and of those before
    float partial[2][WARPS][MOST_DEPTH * TILE];
};

// What is to be known of a 16-bit float.
template <typename T> struct layout;
template <> struct layout<__half> {
    static constexpr int MANTISSA = 10, BIAS = 25; // x = m 2^(e - BIAS)
    static constexpr uint32_t INFINITE = 0x7c00u;
};
template <> struct layout<__nv_bfloat16> {
    static constexpr int MANTISSA = 7, BIAS = 134;
    static constexpr uint32_t INFINITE = 0x7f80u;
};
// the exponent, as of x = m 2^(e - BIAS): that of subnormals is 1
template <typename T> __device__ __forceinline__ int exponent(uint32_t bits)
{
    const int e = static_cast<int>((bits & 0x7fffu) >> layout<T>::MANTISSA);
    return e > 0 ? e : 1;
}

// Where a warp is: its chunks are first, first + WARPS, ...
struct share {
    uint32_t warp, lane, r, t;
    uint32_t first;
    uint32_t n_mine;
    uint64_t n_chunks;
    const char *b; // of the lane, at its first chunk
    const void *scales;
};

// The four values of A of each chunk that lane l turns into digits: of the 16
// bytes of lane l / 8 % 4 elements h, h + 2, h + 4, h + 6 of its word l / 2 %
// 4, h = l % 2. And the largest and the smallest but 0, as bits.
template <typename T, int C>
__device__ __forceinline__ void read_values(const share &at, const T *a,
                                            uint32_t (&values)[C][2],
                                            float &most, float &least)
{
    most = 0.0f;
    least = 65536.0f;
#pragma unroll
    for (uint32_t j = 0; j < C; j++) {
        uint4 v = {};
        if (j < at.n_mine)
            v = __ldg(reinterpret_cast<const uint4 *>(
                a + static_cast<uint64_t>(at.first + j * WARPS) * CHUNK +
                at.lane / 2 * 8));
        const uint32_t pick = at.lane % 2 != 0 ? 0x7632u : 0x5410u;
        values[j][0] = vly_unpack_bytes(v.x, v.y, pick);
        values[j][1] = vly_unpack_bytes(v.z, v.w, pick);
#pragma unroll
        for (int q = 0; q < 4; q++) {
            const uint32_t bits = values[j][q / 2] >> (q % 2 * 16) & 0x7fffu;
            most = fmaxf(most, static_cast<float>(bits));
            if (bits != 0)
                least = fminf(least, static_cast<float>(bits));
        }
    }
    for (int step = 16; step > 0; step /= 2) {
        most = fmaxf(most, __shfl_xor_sync(0xffffffffu, most, step));
        least = fminf(least, __shfl_xor_sync(0xffffffffu, least, step));
    }
}

// x as 2^(e_most - TOP - BIAS) times a whole number of 63 bits, and that as
// eight bytes with a sign each: adding 128 to each but the last makes them so.
template <typename T>
__device__ __forceinline__ uint64_t digits_of(uint32_t bits, int e_most)
{
    constexpr int MANTISSA = layout<T>::MANTISSA, TOP = 61 - MANTISSA;
    constexpr uint64_t HALVES = 0x0080808080808080u;
    const bool is_normal = (bits & 0x7fffu) >> MANTISSA != 0;
    const uint64_t m =
        (bits & ((1u << MANTISSA) - 1)) | (is_normal ? 1u << MANTISSA : 0u);
    // of 0 the shift does not matter
    const uint64_t x = m << ((exponent<T>(bits) - e_most + TOP) & 63);
    return ((bits & 0x8000u ? 0u - x : x) + HALVES) ^ HALVES;
}

// Bytes of four numbers, first those of byte 0, in four words.
__device__ __forceinline__ void transpose(const uint32_t (&w)[4],
                                          uint32_t (&out)[4])
{
    const uint32_t p01 = vly_unpack_bytes(w[0], w[1], 0x5140),
                   p23 = vly_unpack_bytes(w[2], w[3], 0x5140),
                   q01 = vly_unpack_bytes(w[0], w[1], 0x7362),
                   q23 = vly_unpack_bytes(w[2], w[3], 0x7362);
    out[0] = vly_unpack_bytes(p01, p23, 0x5410);
    out[1] = vly_unpack_bytes(p01, p23, 0x7632);
    out[2] = vly_unpack_bytes(q01, q23, 0x5410);
    out[3] = vly_unpack_bytes(q01, q23, 0x7632);
}

// Digits of A in the order of the fragments: x[j][2 i + h] is digit r of the
// elements that word i of B has in its low (h 0) or high half-bytes. unit: what
// a digit of the lane's two columns of the sums stands for, less 2^-4 for
// weights that are 16 times theirs. false: this warp cannot.
template <typename T, int C>
__device__ __forceinline__ bool make_digits(const share &at, const T *a,
                                            shared_memory &memory,
                                            uint32_t (&x)[C][8], float &unit)
{
    constexpr int MANTISSA = layout<T>::MANTISSA, TOP = 61 - MANTISSA;
    uint32_t values[C][2];
    float most, least;
    read_values<T, C>(at, a, values, most, least);
    const uint32_t top = static_cast<uint32_t>(most);
    const bool is_zero = top == 0;
    const int e_most = exponent<T>(top);
    const int e_least = is_zero ? 1 : exponent<T>(static_cast<uint32_t>(least));
    const int e_unit = e_most - TOP - layout<T>::BIAS - 4;
    // the smallest unit must not be subnormal
    if (top >= layout<T>::INFINITE ||
        (!is_zero && (e_most - e_least > TOP || e_unit < -126)))
        return false;
    unit = is_zero ? 0.0f
                   : __int_as_float((e_unit + 16 * static_cast<int>(at.t) + 127)
                                    << 23);
    uint32_t(*const scratch)[33] = memory.scratch[at.warp];
#pragma unroll
    for (uint32_t j = 0; j < C; j++) {
        uint32_t low[4], high[4], columns[2][4];
#pragma unroll
        for (int q = 0; q < 4; q++) {
            const uint64_t d = digits_of<T>(
                values[j][q / 2] >> (q % 2 * 16) & 0xffffu, e_most);
            low[q] = static_cast<uint32_t>(d);
            high[q] = static_cast<uint32_t>(d >> 32);
        }
        transpose(low, columns[0]);
        transpose(high, columns[1]);
#pragma unroll
        for (int n = 0; n < 8; n++)
            scratch[n][at.lane] = columns[n / 4][n % 4];
        __syncwarp();
#pragma unroll
        for (uint32_t w = 0; w < 8; w++)
            x[j][w] = scratch[at.r][at.t * 8 + w];
        __syncwarp();
    }
    return true;
}

// What of a tile is read: pointers of two rows, at the first chunk.
template <typename T> struct rows {
    const char *b0, *b1;
    const T *scale0, *scale1;

    __device__ __forceinline__ rows(const vly_cuda_gemm &g, const share &at,
                                    uint32_t tile)
    {
        // rows that are not there are read as the last: nothing is made of them
        const uint64_t j = static_cast<uint64_t>(tile) * TILE + at.r;
        const uint64_t row0 = min(j, g.n - 1), row1 = min(j + 8, g.n - 1);
        b0 = at.b + row0 * g.ldb / 2;
        b1 = at.b + row1 * g.ldb / 2;
        scale0 = static_cast<const T *>(at.scales) + row0 * at.n_chunks;
        scale1 = static_cast<const T *>(at.scales) + row1 * at.n_chunks;
    }
};

template <typename T>
__device__ __forceinline__ void fetch(uint4 *to, const rows<T> &from,
                                      uint32_t j, bool there)
{
    vly_fetch(to, from.b0 + j * (WARPS * 64), there);
    vly_fetch(to + 32, from.b1 + j * (WARPS * 64), there);
    vly_fetch_commit();
}

// Sums of one tile from its digits, in its slots of the ring; the tile that has
// them next is asked for as it goes.
template <typename T, int C>
__device__ __forceinline__ void
add_tile(const share &at, uint4 *ring, const uint32_t (&x)[C][8],
         T (&scale)[C][2], const rows<T> &next, bool is_next, float unit,
         float (&sum)[2])
{
    constexpr uint32_t UPPER = 0xf0f0f0f0u;
#pragma unroll
    for (uint32_t j = 0; j < C; j++) {
        if (j >= at.n_mine)
            break;
        uint4 *const slot = ring + j * 64;
        vly_fetch_wait<SLOTS - 1>();
        const uint4 v0 = slot[0], v1 = slot[32];
        const uint32_t w0[4] = {v0.x, v0.y, v0.z, v0.w};
        const uint32_t w1[4] = {v1.x, v1.y, v1.z, v1.w};
        const float s0 = vly_to_float(scale[j][0]),
                    s1 = vly_to_float(scale[j][1]);
        int d[4] = {};
#pragma unroll
        for (int i = 0; i < 4; i++)
            multiply(d, w0[i] << 4 & UPPER, w1[i] << 4 & UPPER, w0[i] & UPPER,
                     w1[i] & UPPER, x[j][2 * i], x[j][2 * i + 1]);
        fetch(slot, next, j, is_next);
        if (is_next) {
            scale[j][0] = next.scale0[j * WARPS];
            scale[j][1] = next.scale1[j * WARPS];
        }
        // 2^21 times 257: whole numbers of 30 bits
        sum[0] = fmaf(static_cast<float>(d[1] * 256 + d[0]) * unit, s0, sum[0]);
        sum[1] = fmaf(static_cast<float>(d[3] * 256 + d[2]) * unit, s1, sum[1]);
    }
    // so that SLOTS - 1 groups are always behind the one waited for
    for (uint32_t j = at.n_mine; j < C; j++)
        vly_fetch_commit();
#pragma unroll
    for (int i = 0; i < 2; i++) {
        sum[i] += __shfl_xor_sync(0xffffffffu, sum[i], 1);
        sum[i] += __shfl_xor_sync(0xffffffffu, sum[i], 2);
    }
}

// The same as floats, for the warp that has no digits.
template <typename T>
__device__ __forceinline__ void
add_careful(const share &at, const T *a, const rows<T> &from, float (&sum)[2])
{
    float four[1][4] = {};
#pragma unroll 1
    for (uint32_t j = 0; j < at.n_mine; j++) {
        lane_places<T, 1> places;
        places.x[0] =
            a + static_cast<uint64_t>(at.first + j * WARPS) * CHUNK + at.t * 32;
        places.scale0 = from.scale0;
        places.scale1 = from.scale1;
        const auto *b0 =
            reinterpret_cast<const uint4 *>(from.b0 + j * (WARPS * 64));
        const auto *b1 =
            reinterpret_cast<const uint4 *>(from.b1 + j * (WARPS * 64));
        step<T, 4, 1, false>(four, places, __ldg(b0), __ldg(b1), j * WARPS,
                             true);
    }
    sum[0] = four[0][0];
    sum[1] = four[0][2];
}

// Sums of the warps of `depth` tiles, gridDim.x apart.
__device__ __forceinline__ void write_tiles(const vly_cuda_gemm &g,
                                            float (*partial)[MOST_DEPTH * TILE],
                                            uint32_t tile, uint32_t depth,
                                            uint32_t n_parts, float *sums)
{
    const uint64_t z = blockIdx.z, part = blockIdx.y;
    const uint64_t j =
        (static_cast<uint64_t>(threadIdx.x / TILE) * gridDim.x + tile) * TILE +
        threadIdx.x % TILE;
    if (threadIdx.x >= depth * TILE || j >= g.n)
        return;
    float all = 0.0f;
    for (int w = 0; w < WARPS; w++)
        all += partial[w][threadIdx.x];
    if (n_parts > 1)
        sums[(part * g.batch + z) * g.n + j] = all;
    else
        vly_finish(g, z, 0, j, all);
}

__device__ __forceinline__ share share_of(const vly_cuda_gemm &g,
                                          uint32_t n_parts)
{
    const uint64_t z = blockIdx.z, part = blockIdx.y;
    share at;
    at.warp = threadIdx.x / 32, at.lane = threadIdx.x % 32;
    at.r = at.lane / 4, at.t = at.lane % 4;
    at.n_chunks = g.k / CHUNK;
    at.first = static_cast<uint32_t>(at.n_chunks * part / n_parts) + at.warp;
    const uint32_t end =
        static_cast<uint32_t>(at.n_chunks * (part + 1) / n_parts);
    at.n_mine = at.first < end ? (end - at.first - 1) / WARPS + 1 : 0;
    at.b = static_cast<const char *>(g.b) + z * g.stride_b / 2 + at.t * 16 +
           static_cast<uint64_t>(at.first) * 64;
    at.scales = static_cast<const uint16_t *>(g.scale_b) +
                z * g.stride_scale_b + at.first;
    return at;
}

// C chunks of a row at most are a warp's; as many tiles as that leaves slots
// for are under way.
template <typename T, int C>
__global__ void __launch_bounds__(WARPS * 32, 1)
    gemv_digits(const vly_cuda_gemm g, uint32_t n_parts, uint32_t n_tiles,
                float *sums)
{
    constexpr uint32_t DEPTH = SLOTS / C;
    static_assert(DEPTH <= MOST_DEPTH, "partial sums have room");
#if defined(__CUDACC__)
    extern __shared__ __align__(16) char raw[];
    shared_memory &memory = *reinterpret_cast<shared_memory *>(raw);
#else
    __shared__ shared_memory memory;
#endif
    const share at = share_of(g, n_parts);
    const T *const a = static_cast<const T *>(g.a) + blockIdx.z * g.stride_a;
    uint4 *const ring = &memory.ring[at.warp][0][0][at.lane];
    T scale[DEPTH][C][2] = {};
#pragma unroll
    for (uint32_t d = 0; d < DEPTH; d++) {
        const uint32_t tile = blockIdx.x + d * gridDim.x;
        const rows<T> here(g, at, tile);
#pragma unroll
        for (uint32_t j = 0; j < C; j++) {
            const bool there = j < at.n_mine && tile < n_tiles;
            fetch(ring + (d * C + j) * 64, here, j, there);
            if (there) {
                scale[d][j][0] = here.scale0[j * WARPS];
                scale[d][j][1] = here.scale1[j * WARPS];
            }
        }
    }
    uint32_t x[C][8] = {};
    float unit = 0.0f;
    const bool has_digits = make_digits<T, C>(at, a, memory, x, unit);
    uint32_t turn = 0;
    for (uint32_t first = blockIdx.x; first < n_tiles;
         first += DEPTH * gridDim.x) {
#pragma unroll
        for (uint32_t d = 0; d < DEPTH; d++) {
            const uint32_t tile = first + d * gridDim.x;
            const uint32_t after = tile + DEPTH * gridDim.x;
            float sum[2] = {};
            if (tile >= n_tiles)
                break;
            if (has_digits)
                add_tile<T, C>(at, ring + d * C * 64, x, scale[d],
                               rows<T>(g, at, after), after < n_tiles, unit,
                               sum);
            else
                add_careful(at, a, rows<T>(g, at, tile), sum);
            if (at.t == 0) {
                float *to = memory.partial[turn][at.warp] + d * TILE + at.r;
                to[0] = sum[0];
                to[8] = sum[1];
            }
        }
        __syncthreads();
        write_tiles(g, memory.partial[turn], first, DEPTH, n_parts, sums);
        turn ^= 1;
    }
    vly_fetch_wait<0>();
}

template <typename T, int C>
cudaError_t launch(const vly_cuda_gemm *g, uint32_t n_parts, float *sums,
                   cudaStream_t stream)
{
    const uint32_t n_tiles = static_cast<uint32_t>((g->n + TILE - 1) / TILE);
    dim3 grid;
    cudaError_t code = vly_cuda_gemv_grid(g, n_tiles, n_parts, 1, &grid);
    if (code != cudaSuccess)
        return code;
#if defined(__CUDACC__)
    code = cudaFuncSetAttribute(gemv_digits<T, C>,
                                cudaFuncAttributeMaxDynamicSharedMemorySize,
                                sizeof(shared_memory));
    if (code != cudaSuccess)
        return code;
    gemv_digits<T, C><<<grid, WARPS * 32, sizeof(shared_memory), stream>>>(
        *g, n_parts, n_tiles, sums);
#else
    VLY_LAUNCH((gemv_digits<T, C>), grid, WARPS * 32, stream, *g, n_parts,
               n_tiles, sums);
#endif
    return cudaGetLastError();
}

template <typename T>
cudaError_t launch_chunks(const vly_cuda_gemm *g, uint32_t n_parts, float *sums,
                          cudaStream_t stream)
{
    const uint64_t chunks = g->k / CHUNK;
    const uint64_t most = (chunks + n_parts - 1) / n_parts; // of a part
    if (most <= 2 * WARPS)
        return launch<T, 2>(g, n_parts, sums, stream);
    if (most <= 4 * WARPS)
        return launch<T, 4>(g, n_parts, sums, stream);
    return launch<T, 8>(g, n_parts, sums, stream);
}

} // namespace

cudaError_t vly_cuda_gemv_digits(const vly_cuda_gemm *gemm, uint32_t n_parts,
                                 float *sums, cudaStream_t stream)
{
    if (gemm->type_a == VLY_CUDA_F16)
        return launch_chunks<__half>(gemm, n_parts, sums, stream);
    return launch_chunks<__nv_bfloat16>(gemm, n_parts, sums, stream);
}
