/* SPDX-License-Identifier: Apache-2.0
 * The first half of wkv_chunked.cu: the record of a chunk of one head, which
 * needs no state, so that all chunks are made at once. With P_t the product of
 * a chunk's decays up to token t, u_t = S_(t-1) a_t, and
 *
 *   A_t = P_(t-1) a_t   R_t = P_t r_t   B_s = b_s / P_s   K_s = k_s / P_s,
 *
 * u_t = S A_t + sum_(s<t) u_s (A_t . B_s) + v_s (A_t . K_s). As u is linear in
 * S it is S W + U, where W and U have the same triangular system, of right
 * sides A and sum_(s<t) v_s (A_t . K_s); it is solved in fp32, a column a
 * thread.
 */
#ifndef VLY_WKV_CHUNK_MAKE_CUH
#define VLY_WKV_CHUNK_MAKE_CUH

#include "rwkv_quads.cuh"
#include "wkv_chunk.cuh"

#define PITCH 72 /* of 64 floats: lanes of a fragment meet no bank twice */
#define SMALL 36 /* of 32 */
#define GROUPS (CHUNK_THREADS / WKV_DIM)
#define EACH (CHUNK / GROUPS) /* tokens of a column, a thread */
/* e^-40: of RWKV-7's decays, which are above 0.545, 32 make e^-19.4 */
#define SMALLEST_DECAY 4.25e-18f
#define LARGEST 1073741824.0f

enum { SEES_AB, SEES_AK, SEES_RB, SEES_RK, N_SEES };

struct chunk_work {
    float left[2 * CHUNK][PITCH];  /* A, later W; R */
    float right[2 * CHUNK][PITCH]; /* B, K; later times P_32 */
    float v[CHUNK][PITCH];
    float u[CHUNK][PITCH]; /* U */
    /* [token][s], but [s][token] of A . B; 0 if a token does not see s; the
     * upper right quarter is never read and undefined */
    float sees[N_SEES][CHUNK][SMALL];
    float decay[GROUPS][WKV_DIM]; /* of a group's tokens; at last P_32 */
};

static __device__ __forceinline__ bool is_wild(const float x[4])
{
    return !(fabsf(x[0]) <= LARGEST) | !(fabsf(x[1]) <= LARGEST) |
           !(fabsf(x[2]) <= LARGEST) | !(fabsf(x[3]) <= LARGEST);
}

static __device__ __forceinline__ void put_quad(float *to, const float x[4])
{
    *(float4 *)to = make_float4(x[0], x[1], x[2], x[3]);
}

/* Inputs as they are, decays into u; true if a number is too large. Four
 * columns of two tokens a thread, all asked for before any is used. Tokens
 * after the end have decay 1 and are otherwise 0. */
template <typename T, bool WHOLE>
static __device__ __forceinline__ bool
load_chunk(const vly_wkv_args &args, const wkv_place &at, int32_t token,
           chunk_work *work)
{
    const void *const from[6] = {args.w, args.a, args.r,
                                 args.b, args.k, args.v};
    const uint32_t j = threadIdx.x % 16 * 4, first = threadIdx.x / 16;
    float x[2][6][4] = {};
#pragma unroll
    for (uint32_t h = 0; h < 2; h++) {
        const int32_t t = token + (int32_t)(first + h * (CHUNK / 2));
        if (t < at.n)
#pragma unroll
            for (uint32_t i = 0; i < 6; i++)
                quad<T, WHOLE>::load(from[i], at.first + t * at.step + j,
                                     x[h][i]);
    }
    bool wild = false;
#pragma unroll
    for (uint32_t h = 0; h < 2; h++) {
        const uint32_t t = first + h * (CHUNK / 2);
        const bool there = token + (int32_t)t < at.n;
#pragma unroll
        for (uint32_t c = 0; c < 4; c++)
            x[h][0][c] = there ? wkv_decay(x[h][0][c]) : 1.0f;
#pragma unroll
        for (uint32_t i = 1; i < 6; i++)
            wild |= is_wild(x[h][i]);
        put_quad(&work->u[t][j], x[h][0]);
        put_quad(&work->left[t][j], x[h][1]);
        put_quad(&work->left[CHUNK + t][j], x[h][2]);
        put_quad(&work->right[t][j], x[h][3]);
        put_quad(&work->right[CHUNK + t][j], x[h][4]);
        put_quad(&work->v[t][j], x[h][5]);
    }
    return wild;
}

/* left and right times decays, from the data of load_chunk; a column of eight
 * tokens a thread. True if the chunk is too wild for products. All threads. */
static __device__ __forceinline__ bool scale_chunk(bool wild, chunk_work *work)
{
    const uint32_t j = threadIdx.x % WKV_DIM, group = threadIdx.x / WKV_DIM;
    float p = 1.0f;
    __syncthreads();
#pragma unroll
    for (uint32_t i = 0; i < EACH; i++)
        p *= work->u[group * EACH + i][j];
    work->decay[group][j] = p;
    __syncthreads();
    float all = 1.0f;
    p = 1.0f;
#pragma unroll
    for (uint32_t g = 0; g < GROUPS; g++) {
        p = g < group ? p * work->decay[g][j] : p;
        all *= work->decay[g][j];
    }
#pragma unroll 2
    for (uint32_t i = 0; i < EACH; i++) {
        const uint32_t t = group * EACH + i;
        work->left[t][j] *= p;
        p *= work->u[t][j];
        const float up = __fdividef(1.0f, p);
        work->left[CHUNK + t][j] *= p;
        work->right[t][j] *= up;
        work->right[CHUNK + t][j] *= up;
    }
    const bool any = __syncthreads_or(wild || !(all >= SMALLEST_DECAY)) != 0;
    if (group == 0)
        work->decay[0][j] = all;
    return any;
}

/* Sixteen tokens' A or R times B or K. Which k stands where in a fragment is
 * free: a lane takes two floats in one piece. */
template <int TILES>
static __device__ __forceinline__ void
see_tokens(chunk_work *work, uint32_t rows, uint32_t half, uint32_t lane)
{
    const uint32_t g = lane / 4, t = lane % 4;
    float sum[TILES][4] = {};
    float low[TILES][4] = {};
#pragma unroll 2
    for (uint32_t k = 0; k < WKV_DIM; k += 8) {
        const float *from = &work->left[16 * rows + g][k + 2 * t];
        const float2 x = *(const float2 *)from;
        const float2 z = *(const float2 *)(from + 8 * PITCH);
        const factor_a a(x.x, z.x, x.y, z.y);
        float b[TILES][2];
#pragma unroll
        for (int n = 0; n < TILES; n++) {
            const float2 y = *(const float2 *)&work
                                  ->right[CHUNK * half + 8 * n + g][k + 2 * t];
            b[n][0] = y.x;
            b[n][1] = y.y;
        }
        multiply<TILES>(sum, low, a, b);
    }
    const uint32_t which = rows / 2 * 2 + half;
#pragma unroll
    for (int n = 0; n < TILES; n++)
#pragma unroll
        for (uint32_t i = 0; i < 4; i++) {
            const uint32_t token = rows % 2 * 16 + g + i / 2 * 8;
            const uint32_t s = 8 * n + 2 * t + i % 2;
            const bool seen = which < SEES_RB ? s < token : s <= token;
            const float x = seen ? sum[n][i] + low[n][i] : 0.0f;
            if (which == SEES_AB)
                work->sees[which][s][token] = x;
            else
                work->sees[which][token][s] = x;
        }
}

/* The right side of U, 8 columns a warp; B and K times P_32, as M and N have
 * them: b_s P_32 / P_s is never large. */
static __device__ __forceinline__ void start_u(chunk_work *work, uint32_t warp,
                                               uint32_t lane)
{
    const uint32_t g = lane / 4, t = lane % 4;
    float sum[2][4] = {};
    float low[2][4] = {};
#pragma unroll
    for (uint32_t k = 0; k < CHUNK; k += 8) {
        const float *v = &work->v[k + t][8 * warp + g];
        const float b[1][2] = {{v[0], v[4 * PITCH]}};
#pragma unroll
        for (uint32_t m = k / 16; m < 2; m++) {
            const float *from = &work->sees[SEES_AK][16 * m + g][k + t];
            const factor_a a(from[0], from[8 * SMALL], from[4],
                             from[8 * SMALL + 4]);
            multiply<1>(sum + m, low + m, a, b);
        }
    }
#pragma unroll
    for (uint32_t m = 0; m < 2; m++) {
        float *to = &work->u[16 * m + g][8 * warp + 2 * t];
        const float4 x = sum_of(sum[m], low[m]);
        *(float2 *)to = make_float2(x.x, x.y);
        *(float2 *)(to + 8 * PITCH) = make_float2(x.z, x.w);
    }
    const uint32_t j = threadIdx.x % WKV_DIM;
    const float p = work->decay[0][j];
#pragma unroll
    for (uint32_t i = 0; i < 2 * CHUNK / GROUPS; i++)
        work->right[threadIdx.x / WKV_DIM + i * GROUPS][j] *= p;
}

/* A column of A or of U. */
static __device__ __forceinline__ void solve(chunk_work *work, uint32_t column)
{
    float *x = column < WKV_DIM ? &work->left[0][column]
                                : &work->u[0][column - WKV_DIM];
    float u[CHUNK];
#pragma unroll
    for (uint32_t t = 0; t < CHUNK; t++)
        u[t] = x[t * PITCH];
#pragma unroll
    for (uint32_t s = 0; s + 1 < CHUNK; s++) {
#pragma unroll
        for (uint32_t from = (s + 1) / 4 * 4; from < CHUNK; from += 4) {
            const float4 l = *(const float4 *)&work->sees[SEES_AB][s][from];
            const float by[4] = {l.x, l.y, l.z, l.w};
#pragma unroll
            for (uint32_t i = 0; i < 4; i++)
                if (from + i > s)
                    u[from + i] = fmaf(u[s], by[i], u[from + i]);
        }
    }
#pragma unroll
    for (uint32_t t = 1; t < CHUNK; t++)
        x[t * PITCH] = u[t];
}

/* N tiles, whose columns are `step` floats apart and whose fifth row is `down`
 * floats after the first one. */
template <int N>
static __device__ __forceinline__ void
multiply_columns(float (*c)[4], const factor_a &a, const float *from,
                 uint32_t step, uint32_t down)
{
    float b[N][2];
#pragma unroll
    for (int n = 0; n < N; n++) {
        b[n][0] = from[n * step];
        b[n][1] = from[n * step + down];
    }
    multiply<N>(c, c, a, b);
}

/* Sixteen rows of N and Y: of v with K and R . K, or of U with B and R . B. */
static __device__ __forceinline__ void
add_rows(const chunk_work &work, const float x[][PITCH], uint32_t half,
         uint32_t warp, uint32_t lane, float n[8][4], float y[4][4])
{
    const uint32_t g = lane / 4, t = lane % 4;
#pragma unroll 1
    for (uint32_t k = 0; k < CHUNK; k += 8) {
        const float *from = &x[k + t][16 * warp + g];
        const factor_a a(from[0], from[8], from[4 * PITCH],
                         from[4 * PITCH + 8]);
#pragma unroll
        for (uint32_t q = 0; q < 8; q += 4)
            multiply_columns<4>(n + q, a,
                                &work.right[CHUNK * half + k + t][8 * q + g], 8,
                                4 * PITCH);
        const float *sees = &work.sees[SEES_RB + half][g][k + t];
        multiply_columns<2>(y + 2, a, sees + 16 * SMALL, 8 * SMALL, 4);
        if (k < 16)
            multiply_columns<2>(y, a, sees, 8 * SMALL, 4);
    }
}

/* Sixteen columns of M, B^T W. */
static __device__ __forceinline__ void make_m(const chunk_work &work,
                                              uint32_t warp, uint32_t lane,
                                              chunk_record *record)
{
    const uint32_t g = lane / 4, t = lane % 4;
    float sum[8][4] = {};
#pragma unroll
    for (uint32_t q = 0; q < 8; q++)
#pragma unroll
        for (uint32_t i = 0; i < 4; i++) {
            const uint32_t j = 16 * warp + g + i / 2 * 8;
            if (j == 8 * q + 2 * t + i % 2)
                sum[q][i] = work.decay[0][j];
        }
#pragma unroll 1
    for (uint32_t k = 0; k < CHUNK; k += 8) {
        const float *from = &work.right[k + t][16 * warp + g];
        const factor_a a(from[0], from[8], from[4 * PITCH],
                         from[4 * PITCH + 8]);
#pragma unroll
        for (uint32_t q = 0; q < 8; q += 4)
            multiply_columns<4>(sum + q, a, &work.left[k + t][8 * q + g], 8,
                                4 * PITCH);
    }
#pragma unroll
    for (uint32_t q = 0; q < 8; q++)
        record->m[warp][q][lane] =
            make_float4(sum[q][0], sum[q][1], sum[q][2], sum[q][3]);
}

/* Sixteen keys of the record's r: R + (R . B) W. */
static __device__ __forceinline__ void make_r(const chunk_work &work,
                                              uint32_t warp, uint32_t lane,
                                              chunk_record *record)
{
    const uint32_t g = lane / 4, t = lane % 4;
#pragma unroll
    for (uint32_t m = 0; m < 2; m++) {
        float sum[2][4];
#pragma unroll
        for (uint32_t q = 0; q < 2; q++)
#pragma unroll
            for (uint32_t i = 0; i < 4; i++)
                sum[q][i] = work.left[CHUNK + 16 * m + g + i / 2 * 8]
                                     [16 * warp + 8 * q + 2 * t + i % 2];
#pragma unroll
        for (uint32_t k = 0; k < 16 * (m + 1); k += 8) {
            const float *from = &work.sees[SEES_RB][16 * m + g][k + t];
            const factor_a a(from[0], from[8 * SMALL], from[4],
                             from[8 * SMALL + 4]);
            multiply_columns<2>(sum, a, &work.left[k + t][16 * warp + g], 8,
                                4 * PITCH);
        }
#pragma unroll
        for (uint32_t q = 0; q < 2; q++) {
            float2 *to = &record->r[2 * m][2 * warp + q][lane];
            to[0] = make_float2(sum[q][0], sum[q][1]);
            to[8 * 32] = make_float2(sum[q][2], sum[q][3]);
        }
    }
}

static __device__ __forceinline__ void store_rows(const float n[8][4],
                                                  const float y[4][4],
                                                  uint32_t warp, uint32_t lane,
                                                  chunk_record *record)
{
#pragma unroll
    for (uint32_t q = 0; q < 8; q++)
        record->n[warp][q][lane] =
            make_float4(n[q][0], n[q][1], n[q][2], n[q][3]);
#pragma unroll
    for (uint32_t q = 0; q < 4; q++)
        record->y[warp][q][lane] =
            make_float4(y[q][0], y[q][1], y[q][2], y[q][3]);
}

/* Block `index` of the chunks of a range: all of one chunk's heads, then those
 * of the next. All threads. */
template <typename T, bool WHOLE>
static __device__ __forceinline__ void
make_chunk(const vly_wkv_args &args, const chunk_range &range, uint32_t index,
           chunk_work *work)
{
    const uint32_t pairs = args.batch * args.heads;
    const wkv_place at = wkv_place_of(args, index % pairs);
    const int32_t token = (int32_t)((range.first + index / pairs) * CHUNK);
    const uint32_t warp = threadIdx.x / 32, lane = threadIdx.x % 32;
    chunk_record *record = range.record + index;
    if (token >= at.n)
        return;
    const bool large = load_chunk<T, WHOLE>(args, at, token, work);
    const bool wild = scale_chunk(large, work);
    if (threadIdx.x == 0)
        range.plain[index] = wild;
    if (wild)
        return;
    /* on each scheduler a warp with one tile and one with two */
    const uint32_t rows = (warp % 4 / 2) ^ (warp < 4 ? 0u : 3u);
    if (rows % 2 == 0)
        see_tokens<2>(work, rows, warp % 2, lane);
    else
        see_tokens<4>(work, rows, warp % 2, lane);
    __syncthreads();
    start_u(work, warp, lane);
    __syncthreads();
    if (warp < 4) {
        solve(work, threadIdx.x);
        __syncthreads();
        make_m(*work, warp, lane, record);
        make_r(*work, warp, lane, record);
    } else {
        float n[8][4] = {};
        float y[4][4] = {};
        add_rows(*work, work->v, 1, warp - 4, lane, n, y);
        __syncthreads();
        add_rows(*work, work->u, 0, warp - 4, lane, n, y);
        store_rows(n, y, warp - 4, lane, record);
    }
}

#endif
