/* SPDX-License-Identifier: Apache-2.0
 * Segments by (block of targets, source) out of rows by source: count, then
 * fill with a cursor for each. The order within a segment has no meaning.
 */
#include "cuda_kernels.h"

#define THREADS 256u

/* bursts after the next one */
static __device__ __forceinline__ uint32_t
later_bursts(const vly_cuda_group &group, uint64_t synapse)
{
    return group.base_delay - 1 + ((uint32_t)(synapse >> 48) & 0xffu);
}

/* Synapses of weight 0 have no place: words of 0 end a segment. */
static __device__ __forceinline__ uint32_t weight_of(uint64_t synapse)
{
    return (uint32_t)(synapse >> 32) & 0xffffu;
}

/* One warp a source. */
static __global__ void count_targets(vly_cuda_group group, uint32_t n_neurons,
                                     uint32_t n_blocks, uint32_t split,
                                     uint32_t *count)
{
    const uint32_t source = (blockIdx.x * blockDim.x + threadIdx.x) / 32;
    if (source >= n_neurons)
        return;
    const uint64_t end = group.row[source + 1];
    uint32_t *counts = count + (uint64_t)source * n_blocks;
    const uint64_t part = (uint64_t)n_neurons * n_blocks;
    for (uint64_t j = group.row[source] + threadIdx.x % 32; j < end; j += 32) {
        const uint64_t synapse = group.synapses[j];
        if (weight_of(synapse) == 0)
            continue;
        const uint64_t at =
            split == 0 || later_bursts(group, synapse) == 0 ? 0 : part;
        atomicAdd(counts + at + (uint32_t)synapse % n_blocks, 1u);
    }
}

static __global__ void find_largest(const uint32_t *count, uint64_t n,
                                    uint32_t *largest)
{
    uint32_t most = 0;
    for (uint64_t i = blockIdx.x * (uint64_t)blockDim.x + threadIdx.x; i < n;
         i += (uint64_t)gridDim.x * blockDim.x)
        most = count[i] > most ? count[i] : most;
    for (int d = 16; d > 0; d /= 2) {
        uint32_t other = __shfl_xor_sync(0xffffffffu, most, d);
        most = other > most ? other : most;
    }
    if (threadIdx.x % 32 == 0)
        atomicMax(largest, most);
}

static __device__ uint32_t find_class(const vly_cuda_class *classes, uint32_t n,
                                      uint32_t source)
{
    uint32_t low = 0;
    uint32_t high = n;
    while (high - low > 1) {
        uint32_t middle = (low + high) / 2;
        if (classes[middle].first <= source)
            low = middle;
        else
            high = middle;
    }
    return low;
}

struct segment_words {
    uint32_t *part[VLY_CUDA_N_PARTS];
};

static __global__ void fill_segments(vly_cuda_group group, uint32_t n_neurons,
                                     uint32_t n_areas,
                                     vly_cuda_resident resident,
                                     segment_words words, uint32_t *count)
{
    const uint32_t source = (blockIdx.x * blockDim.x + threadIdx.x) / 32;
    if (source >= n_neurons)
        return;
    const uint32_t n_blocks = resident.n_blocks;
    const uint32_t index =
        find_class(resident.part[0].classes, n_areas, source);
    const uint64_t end = group.row[source + 1];
    for (uint64_t j = group.row[source] + threadIdx.x % 32; j < end; j += 32) {
        const uint64_t synapse = group.synapses[j];
        const uint32_t target = (uint32_t)synapse;
        const uint32_t weight = weight_of(synapse);
        if (weight == 0)
            continue;
        const uint32_t block = target % n_blocks;
        const uint32_t later = later_bursts(group, synapse);
        const uint32_t to = later * resident.slice + target / n_blocks;
        const uint32_t p = resident.split == 0 || later == 0 ? VLY_CUDA_URGENT
                                                             : VLY_CUDA_LATER;
        const vly_cuda_segments &part = resident.part[p];
        const vly_cuda_class c = part.classes[index];
        const uint64_t quad = block * part.block_quads + c.at +
                              (uint64_t)(source - c.first) * c.quads;
        uint32_t *cursor =
            count + ((uint64_t)p * n_neurons + source) * n_blocks + block;
        words.part[p][quad * 4 + atomicAdd(cursor, 1u)] = weight << 16 | to;
    }
}

cudaError_t vly_cuda_launch_segment_count(const vly_cuda_view *view,
                                          const vly_cuda_group *group,
                                          const vly_cuda_resident *resident,
                                          uint32_t *count, cudaStream_t stream)
{
    uint32_t blocks = (view->n_neurons + THREADS / 32 - 1) / (THREADS / 32);
    count_targets<<<blocks, THREADS, 0, stream>>>(
        *group, view->n_neurons, resident->n_blocks, resident->split, count);
    return cudaGetLastError();
}

cudaError_t vly_cuda_launch_segment_largest(const uint32_t *count, uint64_t n,
                                            uint32_t *largest,
                                            cudaStream_t stream)
{
    find_largest<<<512, THREADS, 0, stream>>>(count, n, largest);
    return cudaGetLastError();
}

cudaError_t vly_cuda_launch_segment_fill(const vly_cuda_view *view,
                                         const vly_cuda_group *group,
                                         const vly_cuda_resident *resident,
                                         uint32_t *const segments[2],
                                         uint32_t *count, cudaStream_t stream)
{
    uint32_t blocks = (view->n_neurons + THREADS / 32 - 1) / (THREADS / 32);
    segment_words words = {{segments[0], segments[1]}};
    fill_segments<<<blocks, THREADS, 0, stream>>>(
        *group, view->n_neurons, view->n_areas, *resident, words, count);
    return cudaGetLastError();
}
