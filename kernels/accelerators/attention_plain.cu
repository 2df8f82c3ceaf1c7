/* SPDX-License-Identifier: Apache-2.0
 * Attention in plain loops, one block a row, fp32 sums: the reference of the
 * other kernels on the device, and the kernel of cases that they do not support
 * (fp32, fp8, any dimension and layout).
 *
 * Softmax over the visible keys by its definition: the largest score is
 * subtracted, NaN and +inf become NaN, rows without a key or with -inf only are
 * zeros, and a key that is not visible is not read.
 */
#include "attention_device.cuh"

#define THREADS 128

static __device__ float block_reduce(float x, bool largest, float *shared)
{
    for (int d = 16; d > 0; d /= 2) {
        float y = __shfl_xor_sync(0xffffffffu, x, d);
        x = largest ? fmaxf(x, y) : x + y;
    }
    __syncthreads();
    if (threadIdx.x % 32 == 0)
        shared[threadIdx.x / 32] = x;
    __syncthreads();
    x = shared[0];
    for (int w = 1; w < THREADS / 32; w++)
        x = largest ? fmaxf(x, shared[w]) : x + shared[w];
    return x;
}

struct plain_row {
    uint32_t batch;
    uint32_t head;
    uint32_t i;
};

static __device__ plain_row row_of(uint64_t block, uint32_t heads, uint32_t seq)
{
    plain_row row;
    row.i = (uint32_t)(block % seq);
    row.head = (uint32_t)(block / seq % heads);
    row.batch = (uint32_t)(block / seq / heads);
    return row;
}

static __device__ float scale_at(const float *scale, uint32_t batch,
                                 uint32_t heads, uint32_t head)
{
    return scale == nullptr ? 1.0f : scale[(uint64_t)batch * heads + head];
}

/* x . y over dim elements, by one thread */
static __device__ float dot(const float *x, const void *y, uint64_t at,
                            uint32_t dim, uint32_t type)
{
    float sum = 0.0f;
    for (uint32_t d = 0; d < dim; d++)
        sum += x[d] * load_element(y, at + d, type);
    return sum;
}

static __device__ void load_row(float *to, const void *from, uint64_t at,
                                uint32_t dim, uint32_t type)
{
    for (uint32_t d = threadIdx.x; d < dim; d += THREADS)
        to[d] = load_element(from, at + d, type);
}

struct plain_shared {
    float q[256];
    float p[THREADS];
    uint64_t row[THREADS]; /* of V */
    float reduce[THREADS / 32];
};

/* One chunk of THREADS keys from j on: into o (dimensions threadIdx.x and
 * + THREADS), sum and most. */
static __device__ void plain_chunk(const vly_attention_args &args,
                                   const attention_sequence &s,
                                   uint32_t head_kv, int32_t j, int32_t end,
                                   float scale, plain_shared *shared,
                                   float *most, float *sum, float *o)
{
    const int32_t key = j + (int32_t)threadIdx.x;
    float score = -INFINITY;
    if (key < end) {
        score = dot(shared->q, args.k,
                    key_row(args, s, args.stride_k, head_kv, (uint32_t)key),
                    args.dim, args.type) *
                scale;
        shared->row[threadIdx.x] =
            key_row(args, s, args.stride_v, head_kv, (uint32_t)key);
    }
    const float now = fmaxf(*most, block_reduce(score, true, shared->reduce));
    const float base = now == -INFINITY ? 0.0f : now;
    const float p = key < end ? expf(score - base) : 0.0f;
    const float keep = *most == -INFINITY ? 0.0f : expf(*most - base);
    shared->p[threadIdx.x] = p;
    *sum = *sum * keep + block_reduce(p, false, shared->reduce);
    *most = now;
    const int32_t n = end - j < THREADS ? end - j : THREADS;
    for (int half = 0; half < 2; half++) {
        const uint32_t d = threadIdx.x + half * THREADS;
        if (d >= args.dim_v)
            continue;
        float add = 0.0f;
        for (int32_t t = 0; t < n; t++)
            add += shared->p[t] *
                   load_element(args.v, shared->row[t] + d, args.type);
        o[half] = o[half] * keep + add;
    }
    __syncthreads();
}

static __global__ void __launch_bounds__(THREADS)
    plain_forward(const __grid_constant__ vly_attention_args args)
{
    __shared__ plain_shared shared;
    const plain_row at = row_of(blockIdx.x, args.heads_q, args.seq_q);
    const attention_sequence s = sequence_of(args, at.batch);
    if ((int32_t)at.i >= s.mask.n_q)
        return;
    const uint32_t head_kv = at.head / (args.heads_q / args.heads_kv);
    const float scale =
        args.scale * scale_at(args.scale_q, at.batch, args.heads_kv, head_kv) *
        scale_at(args.scale_k, at.batch, args.heads_kv, head_kv);
    const float scale_v =
        scale_at(args.scale_v, at.batch, args.heads_kv, head_kv);
    const int32_t end = vly_attention_end(&s.mask, (int32_t)at.i);
    const int32_t first = vly_attention_first(&s.mask, (int32_t)at.i);
    float most = -INFINITY;
    float sum = 0.0f;
    float o[2] = {0.0f, 0.0f};
    load_row(shared.q, args.q, query_row(args, s, args.stride_q, at.head, at.i),
             args.dim, args.type);
    __syncthreads();
    for (int32_t j = first; j < end; j += THREADS)
        plain_chunk(args, s, head_kv, j, end, scale, &shared, &most, &sum, o);
    const bool none = sum == 0.0f; /* no key, or none above -inf */
    const float out = args.scale_o == nullptr ? 1.0f : args.scale_o[0];
    const uint64_t row = query_row(args, s, args.stride_o, at.head, at.i);
    for (int half = 0; half < 2; half++) {
        const uint32_t d = threadIdx.x + half * THREADS;
        if (d < args.dim_v)
            store_element(args.o, row + d, args.type_o,
                          none ? 0.0f : o[half] / sum * scale_v * out);
    }
    if (args.lse != nullptr && threadIdx.x == 0)
        args.lse[lse_at(args, s, at.head, at.i)] =
            none ? -INFINITY : most + logf(sum);
}

/* ---- gradients --------------------------------------------------------- */

/* P of a score; a row without any has no gradient. */
static __device__ __forceinline__ float row_weight(float score, float lse)
{
    return lse == -INFINITY ? 0.0f : expf(score - lse);
}

/* workspace[batch][head][i] = sum of grad_o * o over a row; grad_q of it:
 * dS_ij = P_ij (grad_o_i . v_j - D_i), grad_q_i = scale sum_j dS_ij k_j */
static __global__ void __launch_bounds__(THREADS)
    plain_grad_q(const __grid_constant__ vly_attention_args args)
{
    __shared__ plain_shared shared;
    __shared__ float grad_o[256];
    const plain_row at = row_of(blockIdx.x, args.heads_q, args.seq_q);
    const attention_sequence s = sequence_of(args, at.batch);
    if ((int32_t)at.i >= s.mask.n_q)
        return;
    const uint32_t head_kv = at.head / (args.heads_q / args.heads_kv);
    const int32_t end = vly_attention_end(&s.mask, (int32_t)at.i);
    const uint64_t row_o = query_row(args, s, args.stride_o, at.head, at.i);
    const uint64_t row_q = query_row(args, s, args.stride_q, at.head, at.i);
    const float lse = args.lse[lse_at(args, s, at.head, at.i)];
    load_row(shared.q, args.q, row_q, args.dim, args.type);
    load_row(grad_o, args.grad_o, row_o, args.dim_v, args.type);
    __syncthreads();
    float part = 0.0f;
    for (uint32_t d = threadIdx.x; d < args.dim_v; d += THREADS)
        part += grad_o[d] * load_element(args.o, row_o + d, args.type);
    const float row_sum = block_reduce(part, false, shared.reduce);
    if (threadIdx.x == 0)
        ((float *)args.workspace)[blockIdx.x] = row_sum;
    float grad[2] = {0.0f, 0.0f};
    for (int32_t j = vly_attention_first(&s.mask, (int32_t)at.i); j < end;
         j += THREADS) {
        const int32_t key = j + (int32_t)threadIdx.x;
        if (key < end) {
            const uint64_t k =
                key_row(args, s, args.stride_k, head_kv, (uint32_t)key);
            const uint64_t v =
                key_row(args, s, args.stride_v, head_kv, (uint32_t)key);
            const float p = row_weight(
                dot(shared.q, args.k, k, args.dim, args.type) * args.scale,
                lse);
            const float dp = dot(grad_o, args.v, v, args.dim_v, args.type);
            shared.p[threadIdx.x] = p * (dp - row_sum);
            shared.row[threadIdx.x] = k;
        }
        __syncthreads();
        const int32_t n = end - j < THREADS ? end - j : THREADS;
        for (int half = 0; half < 2; half++) {
            const uint32_t d = threadIdx.x + half * THREADS;
            for (int32_t t = 0; d < args.dim && t < n; t++)
                grad[half] +=
                    shared.p[t] *
                    load_element(args.k, shared.row[t] + d, args.type);
        }
        __syncthreads();
    }
    for (int half = 0; half < 2; half++) {
        const uint32_t d = threadIdx.x + half * THREADS;
        if (d < args.dim)
            store_element(args.grad_q, row_q + d, args.type_o,
                          grad[half] * args.scale);
    }
}

/* grad_v_j = sum_i P_ij grad_o_i, grad_k_j = scale sum_i dS_ij q_i, over the
 * query heads of the group and the queries that see j, in their order. */
static __global__ void __launch_bounds__(THREADS)
    plain_grad_kv(const __grid_constant__ vly_attention_args args)
{
    __shared__ float k[256], v[256];
    __shared__ float p[THREADS], ds[THREADS];
    const plain_row at = row_of(blockIdx.x, args.heads_kv, args.seq_kv);
    const attention_sequence s = sequence_of(args, at.batch);
    if ((int32_t)at.i >= s.mask.n_kv)
        return;
    const uint32_t group = args.heads_q / args.heads_kv;
    const uint64_t row_k = key_row(args, s, args.stride_k, at.head, at.i);
    const uint64_t row_v = key_row(args, s, args.stride_v, at.head, at.i);
    float grad_k[2] = {0.0f, 0.0f};
    float grad_v[2] = {0.0f, 0.0f};
    load_row(k, args.k, row_k, args.dim, args.type);
    load_row(v, args.v, row_v, args.dim_v, args.type);
    __syncthreads();
    const int32_t total = (int32_t)group * s.mask.n_q;
    for (int32_t base = 0; base < total; base += THREADS) {
        const int32_t t = base + (int32_t)threadIdx.x;
        const uint32_t head =
            at.head * group + (t < total ? (uint32_t)(t / s.mask.n_q) : 0u);
        const int32_t i = t < total ? t % s.mask.n_q : 0;
        p[threadIdx.x] = ds[threadIdx.x] = 0.0f;
        const bool sees = t < total &&
                          (int32_t)at.i >= vly_attention_first(&s.mask, i) &&
                          (int32_t)at.i < vly_attention_end(&s.mask, i);
        if (sees) {
            const uint64_t rq =
                query_row(args, s, args.stride_q, head, (uint32_t)i);
            const uint64_t ro =
                query_row(args, s, args.stride_o, head, (uint32_t)i);
            const float lse = args.lse[lse_at(args, s, head, (uint32_t)i)];
            const float row_sum = ((const float *)args.workspace)
                [((uint64_t)at.batch * args.heads_q + head) * args.seq_q + i];
            const float w = row_weight(
                dot(k, args.q, rq, args.dim, args.type) * args.scale, lse);
            p[threadIdx.x] = w;
            ds[threadIdx.x] =
                w * (dot(v, args.grad_o, ro, args.dim_v, args.type) - row_sum);
        }
        const int any = __syncthreads_or(sees);
        const int32_t n = total - base < THREADS ? total - base : THREADS;
        for (int32_t u = 0; any && u < n; u++) {
            const uint32_t h =
                at.head * group + (uint32_t)((base + u) / s.mask.n_q);
            const int32_t row = (base + u) % s.mask.n_q;
            if ((int32_t)at.i < vly_attention_first(&s.mask, row) ||
                (int32_t)at.i >= vly_attention_end(&s.mask, row))
                continue; /* not visible, so not read: it may be NaN */
            const uint64_t rq =
                query_row(args, s, args.stride_q, h, (uint32_t)row);
            const uint64_t ro =
                query_row(args, s, args.stride_o, h, (uint32_t)row);
            for (int half = 0; half < 2; half++) {
                const uint32_t d = threadIdx.x + half * THREADS;
                if (d < args.dim)
                    grad_k[half] +=
                        ds[u] * load_element(args.q, rq + d, args.type);
                if (d < args.dim_v)
                    grad_v[half] +=
                        p[u] * load_element(args.grad_o, ro + d, args.type);
            }
        }
        __syncthreads();
    }
    for (int half = 0; half < 2; half++) {
        const uint32_t d = threadIdx.x + half * THREADS;
        if (d < args.dim)
            store_element(args.grad_k, row_k + d, args.type_o,
                          grad_k[half] * args.scale);
        if (d < args.dim_v)
            store_element(args.grad_v, row_v + d, args.type_o, grad_v[half]);
    }
}

/* ---- packed positions for cuDNN ---------------------------------------- */

static __global__ void
packed_offsets(const __grid_constant__ vly_attention_args args,
               int32_t *lengths, int64_t *offsets)
{
    const uint32_t n = args.batch + 1;
    const uint32_t b = blockIdx.x * blockDim.x + threadIdx.x;
    if (b >= n)
        return;
    const int64_t q = args.start_q[b];
    const int64_t kv = args.start_kv[b];
    offsets[b] = q * (int64_t)args.stride_q.seq;
    offsets[n + b] = kv * (int64_t)args.stride_k.seq;
    offsets[2 * n + b] = kv * (int64_t)args.stride_v.seq;
    offsets[3 * n + b] = q * (int64_t)args.stride_o.seq;
    if (b == args.batch)
        return;
    lengths[b] = args.start_q[b + 1] - args.start_q[b];
    lengths[args.batch + b] = args.start_kv[b + 1] - args.start_kv[b];
}

/* ---- launchers --------------------------------------------------------- */

/* Rows as a grid; 0: no rows, which is not an error. */
static int rows_grid(uint32_t batch, uint32_t heads, uint32_t seq,
                     uint32_t *blocks)
{
    const uint64_t rows = (uint64_t)batch * heads * seq;
    *blocks = (uint32_t)rows;
    return rows > 0x7fffffffull ? (int)cudaErrorInvalidConfiguration : 0;
}

int vly_attention_plain(const vly_attention_args *args, void *stream)
{
    uint32_t blocks = 0;
    int code = rows_grid(args->batch, args->heads_q, args->seq_q, &blocks);
    if (code != 0 || blocks == 0)
        return code;
    plain_forward<<<blocks, THREADS, 0, (cudaStream_t)stream>>>(*args);
    return (int)cudaGetLastError();
}

int vly_attention_plain_backward(const vly_attention_args *args, void *stream)
{
    uint32_t blocks = 0;
    int code = rows_grid(args->batch, args->heads_q, args->seq_q, &blocks);
    if (code == 0 && blocks != 0) {
        plain_grad_q<<<blocks, THREADS, 0, (cudaStream_t)stream>>>(*args);
        code = (int)cudaGetLastError();
    }
    if (code != 0)
        return code;
    code = rows_grid(args->batch, args->heads_kv, args->seq_kv, &blocks);
    if (code != 0 || blocks == 0)
        return code;
    plain_grad_kv<<<blocks, THREADS, 0, (cudaStream_t)stream>>>(*args);
    return (int)cudaGetLastError();
}

int vly_attention_offsets(const vly_attention_args *args, int32_t *lengths,
                          int64_t *offsets, void *stream)
{
    packed_offsets<<<args->batch / 128 + 1, 128, 0, (cudaStream_t)stream>>>(
        *args, lengths, offsets);
    return (int)cudaGetLastError();
}
