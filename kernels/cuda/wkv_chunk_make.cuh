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
    /* [token][s], but [s][token] of A . B; 0 where a token does not see s, and
     * nothing in the upper right quarter, which nobody reads */
    float sees[N_SEES][CHUNK][SMALL];
    float decay[GROUPS][WKV_DIM]; /* of a group's tokens; at last P_32 */
};

template <typename T> struct chunk_inputs {
    T r[EACH], w[EACH], k[EACH], v[EACH], a[EACH], b[EACH];
};

/* All of a thread's column is asked for before any of it is used. */
template <typename T>
static __device__ __forceinline__ void
fetch_chunk(const vly_wkv_args &args, const wkv_place &at, int32_t token,
            chunk_inputs<T> *in)
{
    const uint32_t j = threadIdx.x % WKV_DIM;
#pragma unroll
    for (int32_t i = 0; i < EACH; i++) {
        const int32_t t = token + (int32_t)(threadIdx.x / WKV_DIM) * EACH + i;
        const bool there = t < at.n;
        const uint64_t from = at.first + t * at.step + j;
        in->w[i] = there ? ((const T *)args.w)[from] : T(0.0f);
        in->a[i] = there ? ((const T *)args.a)[from] : T(0.0f);
        in->b[i] = there ? ((const T *)args.b)[from] : T(0.0f);
        in->k[i] = there ? ((const T *)args.k)[from] : T(0.0f);
        in->r[i] = there ? ((const T *)args.r)[from] : T(0.0f);
        in->v[i] = there ? ((const T *)args.v)[from] : T(0.0f);
    }
}

static __device__ __forceinline__ bool is_wild(float x)
{
    return !(fabsf(x) <= LARGEST);
}

/* Fills left, right, v and decay; true if the chunk is too wild for products.
 * Tokens behind the end have decay 1 and nothing else. All threads. */
template <typename T>
static __device__ __forceinline__ bool put_chunk(const chunk_inputs<T> &in,
                                                 int32_t left, chunk_work *work)
{
    const uint32_t j = threadIdx.x % WKV_DIM, group = threadIdx.x / WKV_DIM;
    const int32_t first = (int32_t)group * EACH;
    float d[EACH];
    float p = 1.0f;
#pragma unroll
    for (int32_t i = 0; i < EACH; i++) {
        d[i] = first + i < left ? wkv_decay(wkv_float(in.w[i])) : 1.0f;
        p *= d[i];
    }
    work->decay[group][j] = p;
    __syncthreads();
    float all = 1.0f;
    p = 1.0f;
#pragma unroll
    for (uint32_t g = 0; g < GROUPS; g++) {
        p = g < group ? p * work->decay[g][j] : p;
        all *= work->decay[g][j];
    }
    bool wild = !(all >= SMALLEST_DECAY);
#pragma unroll
    for (int32_t i = 0; i < EACH; i++) {
        const int32_t t = first + i;
        const float a = wkv_float(in.a[i]), r = wkv_float(in.r[i]);
        const float b = wkv_float(in.b[i]), k = wkv_float(in.k[i]);
        const float v = wkv_float(in.v[i]);
        wild = wild || is_wild(a) || is_wild(r) || is_wild(b) || is_wild(k) ||
               is_wild(v);
        work->left[t][j] = a * p;
        p *= d[i];
        const float up = 1.0f / p;
        work->left[CHUNK + t][j] = r * p;
        work->right[t][j] = b * up;
        work->right[CHUNK + t][j] = k * up;
        work->v[t][j] = v;
    }
    const bool any = __syncthreads_or(wild) != 0;
    if (group == 0)
        work->decay[0][j] = all;
    return any;
}

/* Sixteen tokens' A or R times B or K. Which k stands where in a fragment is
 * free: a lane takes two floats in one piece. */
template <uint32_t TILES>
static __device__ __forceinline__ void
see_tokens(chunk_work *work, uint32_t rows, uint32_t half, uint32_t lane)
{
    const uint32_t g = lane / 4, t = lane % 4;
    float sum[TILES][4] = {};
#pragma unroll
    for (uint32_t k = 0; k < WKV_DIM; k += 8) {
        const float *from = &work->left[16 * rows + g][k + 2 * t];
        const float2 x = *(const float2 *)from;
        const float2 z = *(const float2 *)(from + 8 * PITCH);
        const factor_a a(x.x, z.x, x.y, z.y);
#pragma unroll
        for (uint32_t n = 0; n < TILES; n++) {
            const float2 b = *(const float2 *)&work
                                  ->right[CHUNK * half + 8 * n + g][k + 2 * t];
            multiply(sum[n], a, b.x, b.y);
        }
    }
    const uint32_t which = rows / 2 * 2 + half;
#pragma unroll
    for (uint32_t n = 0; n < TILES; n++)
#pragma unroll
        for (uint32_t i = 0; i < 4; i++) {
            const uint32_t token = rows % 2 * 16 + g + i / 2 * 8;
            const uint32_t s = 8 * n + 2 * t + i % 2;
            const bool seen = which < SEES_RB ? s < token : s <= token;
            const float x = seen ? sum[n][i] : 0.0f;
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
#pragma unroll
    for (uint32_t m = 0; m < 2; m++) {
        float sum[4] = {};
#pragma unroll
        for (uint32_t k = 0; k < 16 * (m + 1); k += 8) {
            const float *from = &work->sees[SEES_AK][16 * m + g][k + t];
            const factor_a a(from[0], from[8 * SMALL], from[4],
                             from[8 * SMALL + 4]);
            const float *v = &work->v[k + t][8 * warp + g];
            multiply(sum, a, v[0], v[4 * PITCH]);
        }
        float *to = &work->u[16 * m + g][8 * warp + 2 * t];
        *(float2 *)to = make_float2(sum[0], sum[1]);
        *(float2 *)(to + 8 * PITCH) = make_float2(sum[2], sum[3]);
    }
    const uint32_t j = threadIdx.x % WKV_DIM;
    const float p = work->decay[0][j];
#pragma unroll
    for (uint32_t s = threadIdx.x / WKV_DIM; s < 2 * CHUNK; s += GROUPS)
        work->right[s][j] *= p;
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

/* Sixteen rows of N and Y: of v with K and R . K, or of U with B and R . B. */
static __device__ __forceinline__ void
add_rows(const chunk_work &work, const float x[][PITCH], uint32_t half,
         uint32_t warp, uint32_t lane, float n[8][4], float y[4][4])
{
    const uint32_t g = lane / 4, t = lane % 4;
#pragma unroll
    for (uint32_t k = 0; k < CHUNK; k += 8) {
        const float *from = &x[k + t][16 * warp + g];
        const factor_a a(from[0], from[8], from[4 * PITCH],
                         from[4 * PITCH + 8]);
#pragma unroll
        for (uint32_t q = 0; q < 8; q++) {
            const float *b = &work.right[CHUNK * half + k + t][8 * q + g];
            multiply(n[q], a, b[0], b[4 * PITCH]);
        }
#pragma unroll
        for (uint32_t q = k / 8; q < 4; q++) {
            const float *b = &work.sees[SEES_RB + half][8 * q + g][k + t];
            multiply(y[q], a, b[0], b[4]);
        }
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
#pragma unroll
    for (uint32_t k = 0; k < CHUNK; k += 8) {
        const float *from = &work.right[k + t][16 * warp + g];
        const factor_a a(from[0], from[8], from[4 * PITCH],
                         from[4 * PITCH + 8]);
#pragma unroll
        for (uint32_t q = 0; q < 8; q++) {
            const float *b = &work.left[k + t][8 * q + g];
            multiply(sum[q], a, b[0], b[4 * PITCH]);
        }
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
#pragma unroll
            for (uint32_t q = 0; q < 2; q++) {
                const float *b = &work.left[k + t][16 * warp + 8 * q + g];
                multiply(sum[q], a, b[0], b[4 * PITCH]);
            }
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
template <typename T>
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
    chunk_inputs<T> in;
    fetch_chunk<T>(args, at, token, &in);
    const bool wild = put_chunk(in, at.n - token, work);
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
