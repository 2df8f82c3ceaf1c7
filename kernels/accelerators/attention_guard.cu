/* SPDX-License-Identifier: Apache-2.0
 * Copies for libraries that read and write after the length of a sequence.
 * cuDNN 9.14 multiplies values after it by weights of 0 (NaN stays NaN), and
 * writes zeros there (seen on an H200).
 */
#include "attention_guard.h"

#include <cuda_runtime_api.h>

enum { THREADS = 256 };

/* Place of a chunk: c of a row, head h, position s, sequence b. */
struct place {
    uint32_t b;
    uint32_t s;
    uint64_t element; /* of the caller's tensor */
};

static __device__ __forceinline__ place
place_of(const vly_attention_guard &guard, uint64_t chunk)
{
    const uint32_t chunks = guard.dim / 8;
    const uint64_t c = chunk % chunks;
    uint64_t rest = chunk / chunks;
    const uint64_t h = rest % guard.heads;
    rest /= guard.heads;
    place p;
    p.s = (uint32_t)(rest % guard.seq);
    p.b = (uint32_t)(rest / guard.seq);
    p.element = p.b * guard.stride.batch + p.s * guard.stride.seq +
                h * guard.stride.head + c * 8;
    return p;
}

static __global__ void
guard_in(const __grid_constant__ vly_attention_guard guard, uint64_t n)
{
    const uint64_t chunk = (uint64_t)blockIdx.x * THREADS + threadIdx.x;
    if (chunk >= n)
        return;
    const place p = place_of(guard, chunk);
    uint4 value = make_uint4(0, 0, 0, 0);
    if ((int64_t)p.s < guard.length[p.b])
        value = *(const uint4 *)((const uint16_t *)guard.from + p.element);
    ((uint4 *)guard.to)[chunk] = value;
}

static __global__ void
guard_out(const __grid_constant__ vly_attention_guard guard, uint64_t n)
{
    const uint64_t chunk = (uint64_t)blockIdx.x * THREADS + threadIdx.x;
    if (chunk >= n)
        return;
    const place p = place_of(guard, chunk);
    if ((int64_t)p.s >= guard.length[p.b])
        return;
    uint4 value = make_uint4(0, 0, 0, 0);
    if (guard.other[p.b] > 0)
        value = ((const uint4 *)guard.from)[chunk];
    *(uint4 *)((uint16_t *)guard.to + p.element) = value;
}

static __global__ void
guard_lse_in(const __grid_constant__ vly_attention_guard guard, uint64_t n)
{
    const uint64_t i = (uint64_t)blockIdx.x * THREADS + threadIdx.x;
    if (i >= n)
        return;
    const uint64_t s = i % guard.seq;
    const uint64_t b = i / guard.seq / guard.heads;
    const float infinity = __uint_as_float(0x7f800000u);
    float value = infinity;
    if ((int64_t)s < guard.length[b])
        value = ((const float *)guard.from)[i];
    ((float *)guard.to)[i] = value == -infinity ? infinity : value;
}

static __global__ void
guard_lse_out(const __grid_constant__ vly_attention_guard guard, uint64_t n)
{
    const uint64_t i = (uint64_t)blockIdx.x * THREADS + threadIdx.x;
    if (i >= n)
        return;
    const uint64_t s = i % guard.seq;
    const uint64_t b = i / guard.seq / guard.heads;
    if ((int64_t)s >= guard.length[b])
        return;
    float value = __uint_as_float(0xff800000u);
    if (guard.other[b] > 0)
        value = ((const float *)guard.from)[i];
    ((float *)guard.to)[i] = value;
}

/* ---- launchers --------------------------------------------------------- */

static int blocks_of(uint64_t n, uint32_t *blocks)
{
    const uint64_t wanted = (n + THREADS - 1) / THREADS;
    *blocks = (uint32_t)wanted;
    return wanted > 0x7fffffffull ? (int)cudaErrorInvalidConfiguration : 0;
}

static uint64_t rows_of(const vly_attention_guard *guard)
{
    return (uint64_t)guard->batch * guard->heads * guard->seq;
}

int vly_attention_guard_in(const vly_attention_guard *guard, void *stream)
{
    const uint64_t n = rows_of(guard) * (guard->dim / 8);
    uint32_t blocks = 0;
    const int code = blocks_of(n, &blocks);
    if (code != 0 || blocks == 0)
        return code;
    guard_in<<<blocks, THREADS, 0, (cudaStream_t)stream>>>(*guard, n);
    return (int)cudaGetLastError();
}

int vly_attention_guard_out(const vly_attention_guard *guard, void *stream)
{
    const uint64_t n = rows_of(guard) * (guard->dim / 8);
    uint32_t blocks = 0;
    const int code = blocks_of(n, &blocks);
    if (code != 0 || blocks == 0)
        return code;
    guard_out<<<blocks, THREADS, 0, (cudaStream_t)stream>>>(*guard, n);
    return (int)cudaGetLastError();
}

int vly_attention_guard_lse_in(const vly_attention_guard *guard, void *stream)
{
    const uint64_t n = rows_of(guard);
    uint32_t blocks = 0;
    const int code = blocks_of(n, &blocks);
    if (code != 0 || blocks == 0)
        return code;
    guard_lse_in<<<blocks, THREADS, 0, (cudaStream_t)stream>>>(*guard, n);
    return (int)cudaGetLastError();
}

int vly_attention_guard_lse_out(const vly_attention_guard *guard, void *stream)
{
    const uint64_t n = rows_of(guard);
    uint32_t blocks = 0;
    const int code = blocks_of(n, &blocks);
    if (code != 0 || blocks == 0)
        return code;
    guard_lse_out<<<blocks, THREADS, 0, (cudaStream_t)stream>>>(*guard, n);
    return (int)cudaGetLastError();
}
