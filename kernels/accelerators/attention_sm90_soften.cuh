/* SPDX-License-Identifier: Apache-2.0
 * The softmax of a warp group of attention_sm90.cu: two rows a lane.
 */
#ifndef VLY_ATTENTION_SM90_SOFTEN_CUH
#define VLY_ATTENTION_SM90_SOFTEN_CUH

#include <math_constants.h>

#include "attention_mma.cuh"
#include "attention_sm90_load.cuh"

/* Two rows of a lane: the keys that they see, and the running softmax. Weights
 * are relative to `most`, in units of scores: it may be less than the largest
 * score, as long as no weight gets too large. */
struct sm90_rows {
    int32_t first[2];
    int32_t end[2];
    float most[2];
    float sum[2];
    bool known; /* of all rows of the warp `most` is above -infinity */
};

/* Factor of scores, times log2(e); e4m3: including the scales of Q and K, and
 * weights times 2^SHIFT, because its smallest number is 2^-9. */
struct sm90_scale {
    float score;
    float value; /* of V, and of O where that is e4m3 */
    bool flip;   /* scores change sign first: the factor was below 0 */
};

/* A weight is 2^SHIFT where a score is `most`. With no lane's sum over a tile
 * above SUM_MOST no weight is: 448 is where e4m3 ends, fp16 at 65504. */
#define SHIFT(W) (W::fp8 ? 3.0f : 0.0f)
#define SUM_MOST(W) (W::fp8 ? 448.0f : 4096.0f)

static __device__ __forceinline__ sm90_rows start_rows(const sm90_tile &tile,
                                                       int32_t local)
{
    sm90_rows rows = {};
#pragma unroll
    for (int h = 0; h < 2; h++) {
        const int32_t i = tile.row + local + 8 * h;
        rows.most[h] = -CUDART_INF_F;
        if (i < tile.s.mask.n_q) {
            rows.first[h] = vly_attention_first(&tile.s.mask, i);
            rows.end[h] = vly_attention_end(&tile.s.mask, i);
        }
    }
    return rows;
}

/* The ends of the visible keys that are in a tile; both if no tile is visible
 * to all rows. */
struct sm90_edges {
    bool first;
    bool end;
};

static __device__ __forceinline__ sm90_edges edges_of(const sm90_tile &tile,
                                                      int32_t n)
{
    const vly_attention_tiles &t = tile.tiles;
    return {n < t.whole_begin,
            n >= t.whole_end || t.whole_begin == t.whole_end};
}

/* Scores that the mask hides become -infinity. Numbers of keys are taken from
 * the lane's first one, so that they are compared with constants. */
template <typename W>
static __device__ __forceinline__ void
hide(float s[W::keys / 2], int32_t key, sm90_edges edges, const sm90_rows &rows)
{
    const int32_t from = key + (int32_t)vly_mma_c_column(threadIdx.x % 32, 0);
    if (edges.end) {
#pragma unroll
        for (int x = 0; x < W::keys / 2; x++)
            if (x / 4 * 8 + x % 2 >= rows.end[x / 2 % 2] - from)
                s[x] = -CUDART_INF_F;
    }
    if (edges.first) {
#pragma unroll
        for (int x = 0; x < W::keys / 2; x++)
            if (x / 4 * 8 + x % 2 < rows.first[x / 2 % 2] - from)
                s[x] = -CUDART_INF_F;
    }
}

/* `most` of both rows of a lane becomes the largest score so far; keep: factor
 * of their sums. */
template <typename W>
static __device__ __forceinline__ void grow(const float s[W::keys / 2],
                                            const sm90_scale &scale,
                                            sm90_rows *rows, float keep[2])
{
    /* two chains a row: a maximum waits for the one before it */
    float most[4] = {rows->most[0], rows->most[1], rows->most[0],
                     rows->most[1]};
#pragma unroll
    for (int x = 0; x < W::keys / 2; x++)
        most[x / 2 % 4] = fmaxf(most[x / 2 % 4], s[x]);
#pragma unroll
    for (int h = 0; h < 2; h++) {
        const float now = quad_max(fmaxf(most[h], most[h + 2]));
        keep[h] = exp2_fast(rows->most[h] * scale.score -
                            softmax_base(now) * scale.score);
        rows->most[h] = now;
        rows->sum[h] *= keep[h];
    }
    const bool none =
        rows->most[0] == -CUDART_INF_F || rows->most[1] == -CUDART_INF_F;
    rows->known = __any_sync(0xffffffffu, none) == 0;
}

/* Scores become weights relative to `most`; sum: of a lane's two rows */
template <typename W>
static __device__ __forceinline__ void
weigh(float s[W::keys / 2], const sm90_scale &scale, const sm90_rows &rows,
      float sum[2])
{
    float base[2];
    float part[4] = {};
#pragma unroll
    for (int h = 0; h < 2; h++)
        base[h] = softmax_base(rows.most[h]) * scale.score - SHIFT(W);
#pragma unroll
    for (int x = 0; x < W::keys / 2; x++) {
        s[x] = exp2_fast(s[x] * scale.score - base[x / 2 % 2]);
        part[x / 2 % 4] += s[x];
    }
    sum[0] = part[0] + part[2];
    sum[1] = part[1] + part[3];
}

template <typename W>
static __device__ __forceinline__ void flip(float s[W::keys / 2],
                                            const sm90_scale &scale)
{
    if (W::fp8 && scale.flip) {
#pragma unroll
        for (int x = 0; x < W::keys / 2; x++)
            s[x] = -s[x];
    }
}

/* Scores become weights, after a search for the largest. */
template <typename W>
static __device__ __forceinline__ void
soften(float s[W::keys / 2], int32_t key, sm90_edges edges,
       const sm90_scale &scale, sm90_rows *rows, float keep[2])
{
    float sum[2];
    flip<W>(s, scale);
    hide<W>(s, key, edges, *rows);
    grow<W>(s, scale, rows, keep);
    weigh<W>(s, scale, *rows, sum);
    rows->sum[0] += sum[0];
    rows->sum[1] += sum[1];
}

/* Scores become weights relative to the previous `most`, without a search for
 * the largest, which took 12 to 22% of the time of e4m3. false: a weight may be
 * too large or is NaN, and nothing has changed. */
template <typename W>
static __device__ __forceinline__ bool
soften_as_before(float s[W::keys / 2], const sm90_scale &scale, sm90_rows *rows)
{
    float sum[2];
    flip<W>(s, scale);
    weigh<W>(s, scale, *rows, sum);
    const bool fits = sum[0] <= SUM_MOST(W) && sum[1] <= SUM_MOST(W);
    if (__any_sync(0xffffffffu, !fits) != 0)
        return false;
    rows->sum[0] += sum[0];
    rows->sum[1] += sum[1];
    return true;
}

/* scales o by keep */
template <typename W>
static __device__ __forceinline__ void rescale(float (&o)[W::dim / 2],
                                               const float keep[2])
{
#pragma unroll
    for (int x = 0; x < W::dim / 2; x++)
        o[x] *= keep[x / 2 % 2];
}

#endif
