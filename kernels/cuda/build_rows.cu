/* SPDX-License-Identifier: Apache-2.0
 * Rows by source out of the rows of single projections. Parts are added one
 * after the other in a stream, so that each source has one writer.
 */
#include "cuda_kernels.h"

#include <volley/plugin.h>

static __global__ void add_lengths(vly_cuda_part part, uint64_t *length)
{
    uint32_t k = blockIdx.x * blockDim.x + threadIdx.x;
    if (k < part.n_sources)
        length[part.source_first + k] += part.row[k + 1] - part.row[k];
}

/* Inclusive sum over n values by one block: each thread owns a range. */
static __global__ void __launch_bounds__(1024)
    sum_rows(uint64_t *row, uint32_t n)
{
    __shared__ uint64_t total[1024];
    const uint32_t t = threadIdx.x;
    const uint32_t from = (uint32_t)((uint64_t)n * t / 1024);
    const uint32_t to = (uint32_t)((uint64_t)n * (t + 1) / 1024);
    uint64_t sum = 0;
    for (uint32_t i = from; i < to; i++)
        sum += row[i + 1];
    total[t] = sum;
    __syncthreads();
    for (uint32_t d = 1; d < 1024; d *= 2) {
        uint64_t before = t >= d ? total[t - d] : 0;
        __syncthreads();
        total[t] += before;
        __syncthreads();
    }
    sum = t > 0 ? total[t - 1] : 0;
    for (uint32_t i = from; i < to; i++) {
        sum += row[i + 1];
        row[i + 1] = sum;
    }
    if (t == 0)
        row[0] = 0;
}

/* One warp a source. */
static __global__ void fill_rows(vly_cuda_part part, uint64_t *cursor,
                                 uint64_t *synapses)
{
    const uint32_t lane = threadIdx.x % 32;
    const uint32_t k = (blockIdx.x * blockDim.x + threadIdx.x) / 32;
    if (k >= part.n_sources)
        return;
    const uint64_t first = part.row[0];
    const uint64_t begin = part.row[k] - first;
    const uint64_t n = part.row[k + 1] - part.row[k];
    uint64_t *out = synapses + cursor[part.source_first + k];
    __syncwarp();
    for (uint64_t j = lane; j < n; j += 32) {
        int32_t weight =
            part.weight != nullptr ? part.weight[begin + j] : part.one_weight;
        uint32_t delay = part.delay != nullptr ? part.delay[begin + j] : 0;
        uint32_t flags = part.gain != 0 ? VLY_CUDA_SYNAPSE_GAIN : 0;
        uint32_t port = part.port == VLY_PORT_BY_SIGN ? weight < 0 : part.port;
        flags |= port != 0 ? VLY_CUDA_SYNAPSE_PORT : 0;
        flags |= part.shift / VLY_CUDA_SHIFT_STEP << VLY_CUDA_SYNAPSE_SHIFT;
        uint32_t high = (uint32_t)(uint16_t)weight | delay << 16 | flags << 24;
        out[j] = (uint64_t)high << 32 | (part.target[begin + j] + part.plane);
    }
    if (lane == 0)
        cursor[part.source_first + k] += n;
}

cudaError_t vly_cuda_launch_row_lengths(const vly_cuda_part *part,
                                        uint64_t *length, cudaStream_t stream)
{
    if (part->n_sources == 0)
        return cudaSuccess;
    add_lengths<<<(part->n_sources + 255) / 256, 256, 0, stream>>>(*part,
                                                                   length);
    return cudaGetLastError();
}

cudaError_t vly_cuda_launch_row_sums(uint64_t *row, uint32_t n,
                                     cudaStream_t stream)
{
    sum_rows<<<1, 1024, 0, stream>>>(row, n);
    return cudaGetLastError();
}

cudaError_t vly_cuda_launch_row_fill(const vly_cuda_part *part,
                                     uint64_t *cursor, uint64_t *synapses,
                                     cudaStream_t stream)
{
    if (part->n_sources == 0)
        return cudaSuccess;
    fill_rows<<<(part->n_sources + 7) / 8, 256, 0, stream>>>(*part, cursor,
                                                             synapses);
    return cudaGetLastError();
}
