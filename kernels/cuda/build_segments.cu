/* SPDX-License-Identifier: Apache-2.0
 * Segments by (block of targets, source) out of rows by source: count, measure,
 * link those that are too long to their rests, then fill with a cursor for
 * each. The order within a segment has no meaning.
 */
#include "cuda_kernels.h"

#define THREADS 256u
#define MANY_BLOCKS 512u /* with more threads than the net has blocks */

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

struct shared_sizes {
    uint32_t n[VLY_CUDA_SIZES];
    uint32_t rest[VLY_CUDA_SIZES];
};

static __device__ __forceinline__ uint32_t quads_of(uint32_t n)
{
    return n / 4 + (n % 4 != 0);
}

/* With two words more, for the link. */
static __device__ __forceinline__ uint32_t quads_with_link(uint32_t n)
{
    return n / 4 + 1 + (n % 4 > 2);
}

/* A thread stays with one block: there are a multiple of n_blocks of them. */
static __global__ void measure_segments(const uint32_t *count, uint64_t n,
                                        uint32_t n_blocks,
                                        vly_cuda_sizes *sizes)
{
    __shared__ shared_sizes shared;
    const uint32_t n_threads = gridDim.x * blockDim.x / n_blocks * n_blocks;
    const uint32_t thread = blockIdx.x * blockDim.x + threadIdx.x;
    uint32_t most = 0;
    for (uint32_t i = threadIdx.x; i < VLY_CUDA_SIZES; i += blockDim.x) {
        shared.n[i] = 0;
        shared.rest[i] = 0;
    }
    __syncthreads();
    for (uint64_t i = thread; thread < n_threads && i < n; i += n_threads) {
        const uint32_t quads = quads_of(count[i]);
        const uint32_t bin =
            quads < VLY_CUDA_SIZES ? quads : VLY_CUDA_SIZES - 1;
        atomicAdd(&shared.n[bin], 1u);
        atomicAdd(&shared.rest[bin], quads_with_link(count[i]));
        most = quads > most ? quads : most;
    }
    if (most > 0)
        atomicMax(&sizes->largest[thread % n_blocks], most);
    __syncthreads();
    for (uint32_t i = threadIdx.x; i < VLY_CUDA_SIZES; i += blockDim.x) {
        atomicAdd((unsigned long long *)&sizes->n[i],
                  (unsigned long long)shared.n[i]);
        atomicAdd((unsigned long long *)&sizes->rest[i],
                  (unsigned long long)shared.rest[i]);
    }
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

/* Quads of a segment's rest, 0 if it has none. */
static __device__ __forceinline__ uint32_t rest_of(uint32_t n,
                                                   const vly_cuda_class &c)
{
    return quads_of(n) > c.quads ? quads_with_link(n) - c.quads : 0;
}

static __global__ void sum_rests(vly_cuda_view view, uint32_t n_blocks,
                                 const vly_cuda_class *classes,
                                 const uint32_t *count, uint64_t *rest)
{
    const uint32_t n_threads = gridDim.x * blockDim.x / n_blocks * n_blocks;
    const uint32_t thread = blockIdx.x * blockDim.x + threadIdx.x;
    const uint32_t block = thread % n_blocks;
    const uint64_t n = (uint64_t)view.n_neurons * n_blocks;
    const vly_cuda_class *own = classes + (uint64_t)block * view.n_areas;
    uint64_t sum = 0;
    for (uint64_t i = thread; thread < n_threads && i < n; i += n_threads) {
        const uint32_t a =
            find_class(own, view.n_areas, (uint32_t)(i / n_blocks));
        sum += rest_of(count[i], own[a]);
    }
    if (sum > 0)
        atomicAdd((unsigned long long *)&rest[block], (unsigned long long)sum);
}

static __global__ void write_links(vly_cuda_view view, uint32_t n_blocks,
                                   const vly_cuda_class *classes,
                                   const uint32_t *count, uint32_t *segments,
                                   uint32_t *next)
{
    const uint64_t n = (uint64_t)view.n_neurons * n_blocks;
    const uint64_t stride = (uint64_t)gridDim.x * blockDim.x;
    for (uint64_t i = blockIdx.x * (uint64_t)blockDim.x + threadIdx.x; i < n;
         i += stride) {
        const uint32_t source = (uint32_t)(i / n_blocks);
        const uint32_t block = (uint32_t)(i % n_blocks);
        const vly_cuda_class *own = classes + (uint64_t)block * view.n_areas;
        const vly_cuda_class c = own[find_class(own, view.n_areas, source)];
        const uint32_t rest = rest_of(count[i], c);
        if (rest == 0)
            continue;
        uint32_t *end =
            segments + 4 * (c.at + (uint64_t)(source - c.first + 1) * c.quads);
        end[-2] = atomicAdd(&next[block], rest);
        end[-1] = rest;
    }
}

/* Where synapse i of a segment belongs, in words of the part. Its last word
 * holds a link from the beginning or never. */
static __device__ __forceinline__ uint64_t place_of(const uint32_t *words,
                                                    const vly_cuda_class *own,
                                                    const vly_cuda_class &c,
                                                    uint32_t source, uint32_t i)
{
    const uint64_t at = 4 * (c.at + (uint64_t)(source - c.first) * c.quads);
    const uint32_t n = 4 * c.quads - 2;
    if (i < n)
        return at + i;
    const volatile uint32_t *end = words + at + n;
    return end[1] - 1u < 0xffffu ? 4 * (own->at + end[0]) + (i - n) : at + i;
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
        const vly_cuda_class *own =
            resident.part[p].classes + (uint64_t)block * n_areas;
        uint32_t *cursor =
            count + ((uint64_t)p * n_neurons + source) * n_blocks + block;
        const uint64_t at = place_of(words.part[p], own, own[index], source,
                                     atomicAdd(cursor, 1u));
        words.part[p][at] = weight << 16 | to;
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

cudaError_t vly_cuda_launch_segment_sizes(const uint32_t *count,
                                          uint32_t n_sources, uint32_t n_blocks,
                                          vly_cuda_sizes *sizes,
                                          cudaStream_t stream)
{
    measure_segments<<<MANY_BLOCKS, THREADS, 0, stream>>>(
        count, (uint64_t)n_sources * n_blocks, n_blocks, sizes);
    return cudaGetLastError();
}

cudaError_t vly_cuda_launch_segment_rests(const vly_cuda_view *view,
                                          uint32_t n_blocks,
                                          const vly_cuda_segments *part,
                                          const uint32_t *count, uint64_t *rest,
                                          cudaStream_t stream)
{
    sum_rests<<<MANY_BLOCKS, THREADS, 0, stream>>>(*view, n_blocks,
                                                   part->classes, count, rest);
    return cudaGetLastError();
}

cudaError_t vly_cuda_launch_segment_links(const vly_cuda_view *view,
                                          uint32_t n_blocks,
                                          const vly_cuda_segments *part,
                                          const uint32_t *count,
                                          uint32_t *segments, uint32_t *next,
                                          cudaStream_t stream)
{
    write_links<<<MANY_BLOCKS, THREADS, 0, stream>>>(
        *view, n_blocks, part->classes, count, segments, next);
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
