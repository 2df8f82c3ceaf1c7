/* SPDX-License-Identifier: Apache-2.0
 * Shared by the attention kernels: places of rows, lengths of a sequence,
 * elements to and from float.
 */
#ifndef VLY_ATTENTION_DEVICE_CUH
#define VLY_ATTENTION_DEVICE_CUH

#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_fp8.h>

#include "attention_index.h"
#include "attention_kernels.h"

/* One sequence of a run. */
struct attention_sequence {
    vly_attention_mask mask;
    uint32_t batch;
    uint64_t first_q;  /* packed: position of its first query */
    uint64_t first_kv; /* and of its first key */
};

static __device__ __forceinline__ int32_t clamp_length(int32_t n, uint32_t most)
{
    return n < 0 ? 0 : (n > (int32_t)most ? (int32_t)most : n);
}

static __device__ __forceinline__ attention_sequence
sequence_of(const vly_attention_args &args, uint32_t batch)
{
    attention_sequence s = {};
    int32_t n_q = (int32_t)args.seq_q;
    int32_t n_kv = (int32_t)args.seq_kv;
    s.batch = batch;
    if (args.start_q != nullptr) {
        s.first_q = (uint64_t)args.start_q[batch];
        s.first_kv = (uint64_t)args.start_kv[batch];
        n_q = clamp_length(args.start_q[batch + 1] - args.start_q[batch],
                           args.seq_q);
        n_kv = clamp_length(args.start_kv[batch + 1] - args.start_kv[batch],
                            args.seq_kv);
    } else if (args.length_q != nullptr) {
        n_q = clamp_length(args.length_q[batch], args.seq_q);
        n_kv = clamp_length(args.length_kv[batch], args.seq_kv);
    }
    s.mask =
        vly_attention_mask_make(n_q, n_kv, args.causal, args.left, args.right);
    return s;
}

/* Element 0 of a row of Q or O (in elements). */
static __device__ __forceinline__ uint64_t
query_row(const vly_attention_args &args, const attention_sequence &s,
          const vly_attention_strides &stride, uint32_t head, uint32_t i)
{
    const uint64_t base = args.start_q != nullptr ? s.first_q * stride.seq
                                                  : s.batch * stride.batch;
    return base + i * stride.seq + head * stride.head;
}

static __device__ __forceinline__ uint64_t
key_row(const vly_attention_args &args, const attention_sequence &s,
        const vly_attention_strides &stride, uint32_t head_kv, uint32_t j)
{
    uint64_t base = s.batch * stride.batch;
    if (args.page_size != 0) {
        const int shift = 31 - __clz((int)args.page_size); /* a power of 2 */
        const uint64_t page =
            (uint64_t)args
                .page_table[(uint64_t)s.batch * args.pages_most + (j >> shift)];
        base = page * stride.batch;
        j &= args.page_size - 1u;
    } else if (args.start_q != nullptr) {
        base = s.first_kv * stride.seq;
    }
    return base + j * stride.seq + head_kv * stride.head;
}

/* lse of a query; packed: [heads_q][positions] */
static __device__ __forceinline__ uint64_t
lse_at(const vly_attention_args &args, const attention_sequence &s,
       uint32_t head, uint32_t i)
{
    if (args.start_q != nullptr)
        return (uint64_t)head * (uint64_t)args.start_q[args.batch] + s.first_q +
               i;
    return ((uint64_t)s.batch * args.heads_q + head) * args.seq_q + i;
}

/* ---- elements ---------------------------------------------------------- */

static __device__ __forceinline__ float load_element(const void *x, uint64_t at,
                                                     uint32_t type)
{
    switch (type) {
    case VLY_ATTENTION_F16:
        return __half2float(((const __half *)x)[at]);
    case VLY_ATTENTION_BF16:
        return __bfloat162float(((const __nv_bfloat16 *)x)[at]);
    case VLY_ATTENTION_E4M3:
        return (float)((const __nv_fp8_e4m3 *)x)[at];
    default:
        return ((const float *)x)[at];
    }
}

static __device__ __forceinline__ void store_element(void *x, uint64_t at,
                                                     uint32_t type, float value)
{
    switch (type) {
    case VLY_ATTENTION_F16:
        ((__half *)x)[at] = __float2half_rn(value);
        break;
    case VLY_ATTENTION_BF16:
        ((__nv_bfloat16 *)x)[at] = __float2bfloat16_rn(value);
        break;
    case VLY_ATTENTION_E4M3:
        ((__nv_fp8_e4m3 *)x)[at] = __nv_fp8_e4m3(value);
        break;
    default:
        ((float *)x)[at] = value;
        break;
    }
}

/* four floats, the first in the low byte; too large becomes the largest */
static __device__ __forceinline__ uint32_t pack_e4m3(float a, float b, float c,
                                                     float d)
{
    const __nv_fp8x2_storage_t low =
        __nv_cvt_float2_to_fp8x2(make_float2(a, b), __NV_SATFINITE, __NV_E4M3);
    const __nv_fp8x2_storage_t high =
        __nv_cvt_float2_to_fp8x2(make_float2(c, d), __NV_SATFINITE, __NV_E4M3);
    return (uint32_t)low | (uint32_t)high << 16;
}

#endif
