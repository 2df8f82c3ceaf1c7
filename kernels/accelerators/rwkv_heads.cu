/* SPDX-License-Identifier: Apache-2.0
 * RWKV-7's time mixing around the recurrence, for many rows: everything is
 * local to a head of a row, which is with half a warp, four columns a lane.
 * Half a warp stays with its head for some rows: weights are read once.
 *
 * In a first version a warp had a head, two columns a lane, 32 apart, and each
 * load followed a branch on its type.
 */
#include "rwkv_head.cuh"
#include "rwkv_quads.cuh"

#define THREADS 256
#define LANES 16 /* of a head */
#define UNITS (THREADS / LANES)
#define MANY_ROWS 256 /* from these on, half a warp has ROWS of them */
#define ROWS 4

/* Rows first to first + each of one head, as the half warp's columns at j. */
struct heads_place {
    uint32_t row, each;
    uint32_t j;
    bool there;
};

static __device__ __forceinline__ heads_place
place_of(const vly_cuda_rwkv_heads &args, uint32_t each)
{
    const uint32_t heads = args.width / RWKV_DIM;
    const uint64_t unit = (uint64_t)blockIdx.x * UNITS + threadIdx.x / LANES;
    heads_place at;
    at.there = unit / heads * each < (uint64_t)args.batch * args.seq;
    at.row = at.there ? (uint32_t)(unit / heads) * each : 0;
    at.each = each;
    at.j = (uint32_t)(unit % heads) * RWKV_DIM + threadIdx.x % LANES * 4;
    return at;
}

static __device__ __forceinline__ bool
is_row(const vly_cuda_rwkv_heads &args, const heads_place &at, uint32_t row)
{
    return at.there && row < args.batch * args.seq &&
           rwkv_is_there(args.length, args.seq, row);
}

static __device__ __forceinline__ float sum_head(float x)
{
    for (int d = LANES / 2; d > 0; d /= 2)
        x += __shfl_xor_sync(0xffffffffu, x, d);
    return x;
}

/* Of four columns. */
struct heads_weights {
    float bias[3][4];
    float k_k[4], k_a[4];
};

template <bool WHOLE>
static __device__ __forceinline__ void
load_weights(const vly_cuda_rwkv_heads &args, uint32_t j, heads_weights *to)
{
#pragma unroll
    for (uint32_t i = 0; i < 3; i++)
        if (i < 2 || !args.is_first)
            quad<float, WHOLE>::load(args.bias[i], j, to->bias[i]);
    quad<float, WHOLE>::load(args.k_k, j, to->k_k);
    quad<float, WHOLE>::load(args.k_a, j, to->k_a);
}

struct prepare_inputs {
    float r[4], k[4], v[4], v_first[4];
    float lora[3][4];
};

template <typename T, bool WHOLE>
static __device__ __forceinline__ void
load_inputs(const vly_cuda_rwkv_heads &args, uint64_t at, prepare_inputs *to)
{
    quad<T, WHOLE>::load(args.r, at, to->r);
    quad<T, WHOLE>::load(args.k, at, to->k);
    quad<T, WHOLE>::load(args.v, at, to->v);
    quad<T, WHOLE>::load(args.lora[0], at, to->lora[0]);
    quad<T, WHOLE>::load(args.lora[1], at, to->lora[1]);
    if (!args.is_first) {
        quad<T, WHOLE>::load(args.lora[2], at, to->lora[2]);
        quad<T, WHOLE>::load(args.v_first, at, to->v_first);
    }
}

/* Writes r, w, k and v; kk, as it is, and its rate; the sum of kk's squares. */
template <typename W, bool WHOLE>
static __device__ __forceinline__ float
put_columns(const vly_cuda_rwkv_heads &args, const heads_weights &weights,
            const prepare_inputs &x, uint64_t at, float kk[4], float rate[4])
{
    float w[4], k[4], v[4];
    float squares = 0.0f;
#pragma unroll
    for (uint32_t i = 0; i < 4; i++) {
        const head_inputs in = {
            x.r[i],
            x.k[i],
            x.v[i],
            x.v_first[i],
            {weights.bias[0][i], weights.bias[1][i], weights.bias[2][i]},
            weights.k_k[i],
            weights.k_a[i],
            0.0f};
        const float lora[3] = {x.lora[0][i], x.lora[1][i], x.lora[2][i]};
        const head_column c = head_column_of(args, in, at + i, lora);
        w[i] = head_w(c.z);
        k[i] = c.k;
        v[i] = c.v;
        kk[i] = c.kk;
        rate[i] = c.rate;
        squares = fmaf(c.kk, c.kk, squares);
    }
    quad<W, WHOLE>::store(args.wkv_r, at, x.r);
    quad<W, WHOLE>::store(args.wkv_w, at, w);
    quad<W, WHOLE>::store(args.wkv_k, at, k);
    quad<W, WHOLE>::store(args.wkv_v, at, v);
    return squares;
}

template <typename T, typename W, bool WHOLE>
static __global__ void __launch_bounds__(THREADS, 3)
    rwkv_prepare(const __grid_constant__ vly_cuda_rwkv_heads args,
                 uint32_t each)
{
    const heads_place place = place_of(args, each);
    heads_weights weights = {};
    load_weights<WHOLE>(args, place.j, &weights);
    rwkv_wait();
    for (uint32_t row = place.row; row < place.row + place.each; row++) {
        const bool there = is_row(args, place, row);
        const uint64_t at = (uint64_t)row * args.width + place.j;
        prepare_inputs x = {};
        if (there)
            load_inputs<T, WHOLE>(args, at, &x);
        float kk[4] = {}, b[4] = {};
        float squares = 0.0f;
        if (there)
            squares = put_columns<W, WHOLE>(args, weights, x, at, kk, b);
        const float shorten = head_shorten(sum_head(squares));
        if (!there)
            continue;
#pragma unroll
        for (uint32_t i = 0; i < 4; i++) {
            b[i] *= kk[i] * shorten;
            kk[i] = -(kk[i] * shorten);
        }
        quad<W, WHOLE>::store(args.wkv_a, at, kk);
        quad<W, WHOLE>::store(args.wkv_b, at, b);
    }
}

template <typename T, typename W, bool WHOLE>
static __global__ void __launch_bounds__(THREADS)
    rwkv_finish(const __grid_constant__ vly_cuda_rwkv_heads args, uint32_t each)
{
    const heads_place place = place_of(args, each);
    float r_k[4], weight[4], bias[4];
    quad<float, WHOLE>::load(args.r_k, place.j, r_k);
    quad<float, WHOLE>::load(args.group_weight, place.j, weight);
    quad<float, WHOLE>::load(args.group_bias, place.j, bias);
    rwkv_wait();
    for (uint32_t row = place.row; row < place.row + place.each; row++) {
        const bool there = is_row(args, place, row);
        const uint64_t at = (uint64_t)row * args.width + place.j;
        float y[4] = {}, v[4] = {}, r[4] = {}, k[4] = {}, g[4] = {};
        if (there) {
            quad<W, WHOLE>::load(args.wkv_y, at, y);
            quad<W, WHOLE>::load(args.wkv_v, at, v);
            quad<W, WHOLE>::load(args.wkv_r, at, r);
            quad<W, WHOLE>::load(args.wkv_k, at, k);
            quad<T, WHOLE>::load(args.g, at, g);
        }
        float bonus = 0.0f;
        float sum = 0.0f;
#pragma unroll
        for (uint32_t i = 0; i < 4; i++) {
            bonus = fmaf(r[i] * k[i], r_k[i], bonus);
            sum += y[i];
        }
        bonus = sum_head(bonus);
        const float mean = sum_head(sum) / RWKV_DIM;
        float squares = 0.0f;
#pragma unroll
        for (uint32_t i = 0; i < 4; i++) {
            y[i] -= mean;
            squares = fmaf(y[i], y[i], squares);
        }
        const float variance = sum_head(squares) / RWKV_DIM;
        const float scale = 1.0f / sqrtf(variance + args.eps);
#pragma unroll
        for (uint32_t i = 0; i < 4; i++)
            y[i] =
                head_finish(weight[i], bias[i], y[i], scale, bonus, v[i], g[i]);
        if (there)
            quad<T, WHOLE>::store(args.y, at, y);
    }
}

typedef void (*heads_kernel)(const vly_cuda_rwkv_heads, uint32_t each);

template <typename T, typename W, bool WHOLE>
static heads_kernel kernel_of(bool finishes)
{
    return finishes ? rwkv_finish<T, W, WHOLE> : rwkv_prepare<T, W, WHOLE>;
}

template <typename T, bool WHOLE>
static heads_kernel kernel_of(uint32_t type_wkv, bool finishes)
{
    return type_wkv == 1   ? kernel_of<T, __half, WHOLE>(finishes)
           : type_wkv == 2 ? kernel_of<T, __nv_bfloat16, WHOLE>(finishes)
                           : kernel_of<T, float, WHOLE>(finishes);
}

template <bool WHOLE>
static heads_kernel kernel_of(const vly_cuda_rwkv_heads *args, bool finishes)
{
    const uint32_t wkv = args->type_wkv;
    return args->type == 1   ? kernel_of<__half, WHOLE>(wkv, finishes)
           : args->type == 2 ? kernel_of<__nv_bfloat16, WHOLE>(wkv, finishes)
                             : kernel_of<float, WHOLE>(wkv, finishes);
}

static bool is_whole(const vly_cuda_rwkv_heads *args, bool finishes)
{
    const void *const prepared[] = {
        args->r,       args->k,       args->v,       args->lora[0],
        args->lora[1], args->bias[0], args->bias[1], args->k_k,
        args->k_a,     args->v_first, args->wkv_w,   args->wkv_a,
        args->wkv_b,   args->wkv_r,   args->wkv_k,   args->wkv_v};
    const void *const finished[] = {
        args->wkv_y, args->wkv_v, args->wkv_r,        args->wkv_k,     args->g,
        args->r_k,   args->y,     args->group_weight, args->group_bias};
    bool whole = true;
    for (const void *one : prepared)
        whole = whole && (finishes || quad_is_whole(one));
    for (const void *one : finished)
        whole = whole && (!finishes || quad_is_whole(one));
    if (!finishes && !args->is_first)
        whole = whole && quad_is_whole(args->lora[2]) &&
                quad_is_whole(args->bias[2]);
    return whole;
}

static int launch(const vly_cuda_rwkv_heads *args, bool finishes, void *stream)
{
    const uint64_t rows = (uint64_t)args->batch * args->seq;
    const uint32_t each = rows >= MANY_ROWS ? ROWS : 1;
    const uint64_t units = (rows + each - 1) / each * (args->width / RWKV_DIM);
    if (units == 0)
        return 0;
    if (units / UNITS >= INT32_MAX)
        return (int)cudaErrorInvalidValue;
    const heads_kernel kernel = is_whole(args, finishes)
                                    ? kernel_of<true>(args, finishes)
                                    : kernel_of<false>(args, finishes);
    return rwkv_launch(kernel, dim3((uint32_t)((units - 1) / UNITS + 1)),
                       THREADS, 0, stream, args->early, *args, each);
}

int vly_cuda_rwkv_finish(const vly_cuda_rwkv_heads *args, void *stream)
{
    return launch(args, true, stream);
}

int vly_cuda_rwkv_prepare(const vly_cuda_rwkv_heads *args, void *stream)
{
    if (args->is_lora)
        return vly_cuda_rwkv_prepare_lora(args, stream);
    return launch(args, false, stream);
}
