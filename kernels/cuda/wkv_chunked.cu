/* SPDX-License-Identifier: Apache-2.0
 * RWKV-7's recurrence in chunks of 16 tokens, as products of matrices. With P_t
 * the product of a chunk's decays up to token t, S the state before the chunk
 * and u_t = S_(t-1) a_t:
 *
 *   u_t = S (P_(t-1) a_t) + sum_(s<t)  u_s L_ts + v_s K_ts
 *   y_t = S (P_t r_t)     + sum_(s<=t) u_s B_ts + v_s R_ts
 *   S  := (S + sum_s u_s (b_s / P_s)' + v_s (k_s / P_s)') diag(P_16)
 *
 * where L_ts = (P_(t-1) a_t) . (b_s / P_s) and K, B, R likewise of a and k, r
 * and b, r and k. The first line is a triangular system, solved token by token
 * in fp32 as it stands; products are three passes of tf32 (wkv_mma.cuh). Decays
 * are multiplied as the recurrence does it, so P_t / P_s has its error. A chunk
 * whose P falls below e^-20 (RWKV-7's do not: d >= 0.545, P >= e^-10), or with
 * a number above 2^30 or none (0 times NaN would reach tokens before it), is
 * done token by token.
 *
 * A block has 16 of the 64 rows of one head. Its first four warps hold the
 * state, 16 columns each, in registers; the others prepare the next chunk
 * meanwhile: its decays, its four matrices, and at the end this one's y.
 *
 * Predicted for an H200: 105 mma a warp pair and chunk, three barriers, about
 * 1000 cycles a chunk: 4096 tokens in 0.15 ms, half of wkv_recurrent. Not
 * measured.
 * Source   Yang et al. 2024, arXiv:2406.06484 (the delta rule in chunks)
 */
#include "wkv_device.cuh"
#include "wkv_mma.cuh"

#define CHUNK 16
#define ROWS 16
#define HALF 128 /* threads that have the state, and as many that prepare */
#define THREADS (2 * HALF)
#define PITCH 72 /* of 64 floats: lanes of a fragment meet no bank twice */
#define SMALL 24 /* of 16 */
#define SMALLEST_DECAY 2.06e-9f /* e^-20 */
#define LARGEST 1073741824.0f

/* What is made of a chunk before its state is known. */
struct chunk_ready {
    float left[2 * CHUNK][PITCH];  /* P_(t-1) a_t, then P_t r_t */
    float right[2 * CHUNK][PITCH]; /* b_s / P_s, then k_s / P_s */
    float decay[WKV_DIM];          /* P_16 */
    float v[CHUNK][SMALL];
    /* L, K, B, R as [s][t]; 0 where t does not see s */
    float matrix[4][CHUNK][SMALL];
};

struct chunked_shared {
    chunk_ready ready[2];
    float u[CHUNK][SMALL];
    float y[CHUNK][SMALL]; /* of the state alone */
    union {
        float part[4][2 * CHUNK][SMALL]; /* state times left, by warp */
        float state[ROWS][WKV_DIM];      /* of a chunk done token by token */
    };
    int32_t plain[2]; /* number of the chunk, from 1, if it is such a one */
};

/* What a preparing thread has of the next chunk: a column, first a, r or b, k.
 */
struct chunk_next {
    float w[CHUNK];
    float x[2][CHUNK];
    float v[2];
};

template <typename T>
static __device__ __forceinline__ void
fetch(const vly_wkv_args &args, const wkv_place &at, uint32_t row,
      int32_t token, uint32_t thread, chunk_next *next)
{
    const uint32_t j = thread % WKV_DIM;
    const T *x = (const T *)(thread < WKV_DIM ? args.a : args.b);
    const T *z = (const T *)(thread < WKV_DIM ? args.r : args.k);
#pragma unroll
    for (int t = 0; t < CHUNK; t++) {
        const bool there = token + t < at.n;
        const uint64_t from = at.first + (token + t) * at.step + j;
        next->w[t] = there ? wkv_float(((const T *)args.w)[from]) : 0.0f;
        next->x[0][t] = there ? wkv_float(x[from]) : 0.0f;
        next->x[1][t] = there ? wkv_float(z[from]) : 0.0f;
    }
#pragma unroll
    for (int u = 0; u < 2; u++) {
        const int32_t t = token + (int32_t)(thread / ROWS) + u * (HALF / ROWS);
        next->v[u] =
            t < at.n ? wkv_float(((const T *)args.v)[at.first + t * at.step +
                                                     row + thread % ROWS])
                     : 0.0f;
    }
}

static __device__ __forceinline__ bool is_wild(float x)
{
    return !(fabsf(x) <= LARGEST);
}

/* Tokens behind the end have decay 1 and nothing else. */
static __device__ __forceinline__ void put(const chunk_next &next, int32_t left,
                                           int32_t chunk, uint32_t thread,
                                           chunked_shared *shared)
{
    chunk_ready *ready = &shared->ready[chunk % 2];
    const uint32_t j = thread % WKV_DIM;
    float(*const to)[PITCH] = thread < WKV_DIM ? ready->left : ready->right;
    float p = 1.0f;
    bool wild = is_wild(next.v[0]) || is_wild(next.v[1]);
#pragma unroll
    for (int t = 0; t < CHUNK; t++) {
        const float before = p;
        if (t < left)
            p *= wkv_decay(next.w[t]);
        wild = wild || is_wild(next.x[0][t]) || is_wild(next.x[1][t]);
        if (thread < WKV_DIM) {
            to[t][j] = next.x[0][t] * before;
            to[CHUNK + t][j] = next.x[1][t] * p;
        } else {
            const float up = 1.0f / p;
            to[t][j] = next.x[0][t] * up;
            to[CHUNK + t][j] = next.x[1][t] * up;
        }
    }
    if (thread < WKV_DIM)
        ready->decay[j] = p;
#pragma unroll
    for (int u = 0; u < 2; u++)
        ready->v[thread / ROWS + u * (HALF / ROWS)][thread % ROWS] = next.v[u];
    if (wild || !(p >= SMALLEST_DECAY))
        shared->plain[chunk % 2] = chunk + 1;
}

/* x as two tf32 */
static __device__ __forceinline__ void split(float x, uint32_t *high,
                                             uint32_t *low)
{
    *high = __float_as_uint(x) & 0xffffe000u;
    *low = __float_as_uint(x - __uint_as_float(*high));
}

struct factor_a {
    uint32_t high[4], low[4];
    __device__ __forceinline__ factor_a(float x0, float x1, float x2, float x3)
    {
        split(x0, &high[0], &low[0]);
        split(x1, &high[1], &low[1]);
        split(x2, &high[2], &low[2]);
        split(x3, &high[3], &low[3]);
    }
};

static __device__ __forceinline__ void multiply(float c[4], const factor_a &a,
                                                float x0, float x1)
{
    uint32_t high[2], low[2];
    split(x0, &high[0], &low[0]);
    split(x1, &high[1], &low[1]);
    wkv_mma_tf32(c, a.low, high);
    wkv_mma_tf32(c, a.high, low);
    wkv_mma_tf32(c, a.high, high);
}

/* The four matrices: warp w has rows 16 (w / 2) on, a's or r's, and of the
 * columns 16 (w % 2) on, b's or k's. Which k stands where in a fragment is
 * free: a lane takes two floats in one piece. */
static __device__ __forceinline__ void
make_matrices(chunk_ready *ready, uint32_t warp, uint32_t lane)
{
    const uint32_t g = lane / 4, t = lane % 4;
    float sum[2][4] = {};
#pragma unroll
    for (uint32_t k = 0; k < WKV_DIM; k += 8) {
        const float *from = &ready->left[warp / 2 * CHUNK + g][k + 2 * t];
        const float2 x = *(const float2 *)from;
        const float2 z = *(const float2 *)(from + 8 * PITCH);
        const factor_a a(x.x, z.x, x.y, z.y);
#pragma unroll
        for (uint32_t n = 0; n < 2; n++) {
            const float2 b =
                *(const float2 *)&ready
                     ->right[warp % 2 * CHUNK + 8 * n + g][k + 2 * t];
            multiply(sum[n], a, b.x, b.y);
        }
    }
#pragma unroll
    for (uint32_t n = 0; n < 2; n++)
#pragma unroll
        for (uint32_t i = 0; i < 4; i++) {
            const uint32_t token = g + i / 2 * 8, s = 8 * n + 2 * t + i % 2;
            const bool seen = warp < 2 ? s < token : s <= token;
            ready->matrix[warp][s][token] = seen ? sum[n][i] : 0.0f;
        }
}

/* The state of a warp, columns 16 warp on, times left, over its columns. */
static __device__ __forceinline__ void read_state(const float s[2][4],
                                                  const chunk_ready &ready,
                                                  uint32_t warp, uint32_t lane,
                                                  float part[][SMALL])
{
    const uint32_t g = lane / 4, t = lane % 4;
    float sum[4][4] = {};
#pragma unroll
    for (uint32_t q = 0; q < 2; q++) {
        const factor_a a(s[q][0], s[q][2], s[q][1], s[q][3]);
#pragma unroll
        for (uint32_t n = 0; n < 4; n++) {
            const float2 b = *(const float2 *)&ready
                                  .left[8 * n + g][16 * warp + 8 * q + 2 * t];
            multiply(sum[n], a, b.x, b.y);
        }
    }
#pragma unroll
    for (uint32_t n = 0; n < 4; n++)
#pragma unroll
        for (uint32_t i = 0; i < 4; i++)
            part[8 * n + 2 * t + i % 2][g + i / 2 * 8] = sum[n][i];
}

/* u of four rows of the block, which a warp has alone. */
static __device__ __forceinline__ void solve(chunked_shared *shared,
                                             const chunk_ready &ready,
                                             uint32_t warp, uint32_t lane)
{
    const uint32_t row = 4 * warp + lane % 4;
#pragma unroll
    for (uint32_t x = 0; x < 2; x++) { /* of 16 tokens: lane / 4, and 8 on */
        const uint32_t t = lane / 4 + 8 * x;
        float u = 0.0f;
        float y = 0.0f;
#pragma unroll
        for (uint32_t w = 0; w < 4; w++) {
            u += shared->part[w][t][row];
            y += shared->part[w][CHUNK + t][row];
        }
#pragma unroll
        for (uint32_t s = 0; s < CHUNK; s++)
            u = fmaf(ready.v[s][row], ready.matrix[1][s][t], u);
        shared->u[t][row] = u;
        shared->y[t][row] = y;
    }
    __syncwarp();
    if (lane >= 4)
        return;
    float u[CHUNK];
#pragma unroll
    for (uint32_t t = 0; t < CHUNK; t++)
        u[t] = shared->u[t][row];
#pragma unroll
    for (uint32_t s = 0; s + 1 < CHUNK; s++)
#pragma unroll
        for (uint32_t t = s + 1; t < CHUNK; t++)
            u[t] = fmaf(u[s], ready.matrix[0][s][t], u[t]);
#pragma unroll
    for (uint32_t t = 1; t < CHUNK; t++)
        shared->u[t][row] = u[t];
}

static __device__ __forceinline__ void
change_state(float s[2][4], const chunked_shared &shared,
             const chunk_ready &ready, uint32_t warp, uint32_t lane)
{
    const uint32_t g = lane / 4, t = lane % 4;
#pragma unroll
    for (uint32_t k = 0; k < 2 * CHUNK; k += 8) {
        const float(*const from)[SMALL] =
            k < CHUNK ? &shared.u[k] : &ready.v[k - CHUNK];
        const factor_a a(from[t][g], from[t][g + 8], from[t + 4][g],
                         from[t + 4][g + 8]);
#pragma unroll
        for (uint32_t q = 0; q < 2; q++) {
            const float *b = &ready.right[k + t][16 * warp + 8 * q + g];
            multiply(s[q], a, b[0], b[4 * PITCH]);
        }
    }
#pragma unroll
    for (uint32_t q = 0; q < 2; q++)
#pragma unroll
        for (uint32_t i = 0; i < 4; i++)
            s[q][i] *= ready.decay[16 * warp + 8 * q + 2 * t + i % 2];
}

template <typename T>
static __device__ __forceinline__ void
write_y(const vly_wkv_args &args, const wkv_place &at, uint32_t row,
        int32_t token, uint32_t thread, const chunked_shared &shared,
        const chunk_ready &ready)
{
    const uint32_t i = thread % ROWS, t = thread / ROWS * 2;
    float y[2] = {shared.y[t][i], shared.y[t + 1][i]};
#pragma unroll
    for (uint32_t s = 0; s < CHUNK; s++) {
        const float u = shared.u[s][i];
        const float v = ready.v[s][i];
        const float2 b = *(const float2 *)&ready.matrix[2][s][t];
        const float2 k = *(const float2 *)&ready.matrix[3][s][t];
        y[0] = fmaf(v, k.x, fmaf(u, b.x, y[0]));
        y[1] = fmaf(v, k.y, fmaf(u, b.y, y[1]));
    }
    for (int32_t x = 0; x < 2; x++)
        if (token + (int32_t)t + x < at.n)
            wkv_store((T *)args.y + at.first +
                          (token + (int32_t)t + x) * at.step + row + i,
                      y[x]);
}

/* Where lane's floats of the state are, of [ROWS][64]: two of row g and two of
 * row g + 8 for each q. */
static __device__ __forceinline__ uint32_t place_of(uint32_t warp,
                                                    uint32_t lane, uint32_t q,
                                                    uint32_t i)
{
    return (lane / 4 + i / 2 * 8) * WKV_DIM + 16 * warp + 8 * q + lane % 4 * 2 +
           i % 2;
}

static __device__ __forceinline__ void
load_state(float s[2][4], const float *from, uint32_t warp, uint32_t lane)
{
#pragma unroll
    for (uint32_t c = 0; c < 8; c++)
        s[c / 4][c % 4] = from[place_of(warp, lane, c / 4, c % 4)];
}
static __device__ __forceinline__ void
store_state(const float s[2][4], float *to, uint32_t warp, uint32_t lane)
{
#pragma unroll
    for (uint32_t c = 0; c < 8; c++)
        to[place_of(warp, lane, c / 4, c % 4)] = s[c / 4][c % 4];
}

/* A chunk token by token; 16 lanes a row. All threads. */
template <typename T>
static __device__ __noinline__ void
plain_chunk(const vly_wkv_args &args, const wkv_place &at, uint32_t row,
            int32_t token, float state[ROWS][WKV_DIM])
{
    const uint32_t i = threadIdx.x / 16, part = threadIdx.x % 16;
    float s[4];
    for (uint32_t c = 0; c < 4; c++)
        s[c] = state[i][part + 16 * c];
    for (int32_t t = token; t < at.n && t < token + CHUNK; t++) {
        const uint64_t from = at.first + t * at.step;
        float sa = 0.0f;
        float y = 0.0f;
        for (uint32_t c = 0; c < 4; c++)
            sa += s[c] * wkv_float(((const T *)args.a)[from + part + 16 * c]);
        for (int d = 8; d > 0; d /= 2)
            sa += __shfl_xor_sync(0xffffffffu, sa, d);
        const float v = wkv_float(((const T *)args.v)[from + row + i]);
        for (uint32_t c = 0; c < 4; c++) {
            const uint64_t x = from + part + 16 * c;
            s[c] = s[c] * wkv_decay(wkv_float(((const T *)args.w)[x])) +
                   v * wkv_float(((const T *)args.k)[x]) +
                   sa * wkv_float(((const T *)args.b)[x]);
            y += s[c] * wkv_float(((const T *)args.r)[x]);
        }
        for (int d = 8; d > 0; d /= 2)
            y += __shfl_xor_sync(0xffffffffu, y, d);
        if (part == 0)
            wkv_store((T *)args.y + from + row + i, y);
    }
    for (uint32_t c = 0; c < 4; c++)
        state[i][part + 16 * c] = s[c];
}

template <typename T>
static __global__ void __launch_bounds__(THREADS, 1)
    wkv_chunked(const __grid_constant__ vly_wkv_args args)
{
    extern __shared__ __align__(128) char memory[];
    chunked_shared &shared = *(chunked_shared *)memory;
    const wkv_place at = wkv_place_of(args, blockIdx.x);
    const uint32_t row = blockIdx.y * ROWS;
    const bool prepares = threadIdx.x >= HALF;
    const uint32_t thread = threadIdx.x % HALF;
    const uint32_t warp = thread / 32, lane = thread % 32;
    const uint64_t state = at.state + row * WKV_DIM;
    float s[2][4] = {};
    chunk_next next;
    if (threadIdx.x < 2)
        shared.plain[threadIdx.x] = 0;
    __syncthreads();
    if (prepares) {
        fetch<T>(args, at, row, 0, thread, &next);
        put(next, at.n, 0, thread, &shared);
        fetch<T>(args, at, row, CHUNK, thread, &next);
    } else if (args.state_in != nullptr) {
        load_state(s, args.state_in + state, warp, lane);
    }
    __syncthreads();
    if (prepares)
        make_matrices(&shared.ready[0], warp, lane);
    __syncthreads();
    for (int32_t chunk = 0; chunk * CHUNK < at.n; chunk++) {
        const int32_t token = chunk * CHUNK;
        const chunk_ready &now = shared.ready[chunk % 2];
        chunk_ready *const then = &shared.ready[(chunk + 1) % 2];
        const bool plain = shared.plain[chunk % 2] == chunk + 1;
        if (prepares) {
            put(next, at.n - token - CHUNK, chunk + 1, thread, &shared);
            fetch<T>(args, at, row, token + 2 * CHUNK, thread, &next);
        } else if (!plain) {
            read_state(s, now, warp, lane, shared.part[warp]);
        } else {
            store_state(s, shared.state[0], warp, lane);
        }
        __syncthreads();
        if (prepares)
            make_matrices(then, warp, lane);
        else if (!plain)
            solve(&shared, now, warp, lane);
        if (plain)
            plain_chunk<T>(args, at, row, token, shared.state);
        __syncthreads();
        if (!plain && prepares) {
            write_y<T>(args, at, row, token, thread, shared, now);
        } else if (!plain) {
            change_state(s, shared, now, warp, lane);
        } else if (!prepares) {
            load_state(s, shared.state[0], warp, lane);
        }
        __syncthreads();
    }
    if (!prepares)
        store_state(s, args.state_out + state, warp, lane);
}

template <typename T>
static int launch(const vly_wkv_args *args, cudaStream_t stream)
{
    const dim3 grid(args->batch * args->heads, WKV_DIM / ROWS);
    const int bytes = (int)sizeof(chunked_shared);
    const cudaError_t code = cudaFuncSetAttribute(
        wkv_chunked<T>, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes);
    if (code != cudaSuccess)
        return (int)code;
    wkv_chunked<T><<<grid, THREADS, bytes, stream>>>(*args);
    return (int)cudaGetLastError();
}

int vly_wkv_chunked(const vly_wkv_args *args, void *stream)
{
    cudaStream_t to = (cudaStream_t)stream;
    if (args->batch == 0 || args->heads == 0)
        return 0;
    switch (args->type) {
    case 1:
        return launch<__half>(args, to);
    case 2:
        return launch<__nv_bfloat16>(args, to);
    default:
        return launch<float>(args, to);
    }
}
