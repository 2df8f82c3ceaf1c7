/* SPDX-License-Identifier: Apache-2.0
 * Segments by (block of targets, source) out of rows by source: count, measure,
 * mark those that need a rest, then fill with a cursor for each. The order
 * within a segment has no meaning.
 */
#include "segment_marks.cuh"
#include "shift_classes.h"

#define THREADS 256u
#define MANY_BLOCKS 512u /* with more threads than the net has blocks */

/* bursts after the next one */
static __device__ __forceinline__ uint32_t
later_bursts(const vly_cuda_group &group, uint64_t synapse)
{
    return group.base_delay - 1 + ((uint32_t)(synapse >> 48) & 0xffu);
}

static __device__ __forceinline__ int32_t weight_of(uint64_t synapse)
{
    return (int16_t)(synapse >> 32);
}

/* The class of a weight's shift, which its place encodes, and the remaining
 * shift. */
struct synapse_shift {
    uint32_t at; /* of the first place of its class */
    uint32_t rest;
};

static __device__ __forceinline__ synapse_shift
shift_of(const vly_cuda_resident &resident, uint32_t max_delay, uint32_t later,
         uint64_t synapse)
{
    const uint32_t shift =
        (uint32_t)(synapse >> (56 + VLY_CUDA_SYNAPSE_SHIFT) & 3) *
        VLY_CUDA_SHIFT_STEP;
    const uint32_t c =
        vly_shift_class(shift, resident.step, later, max_delay, resident.slice);
    return {c * max_delay * resident.slice, shift - c * resident.step};
}

/* One warp a source. */
static __global__ void count_targets(vly_cuda_group group, uint32_t n_neurons,
                                     vly_cuda_resident resident,
                                     uint32_t max_delay, uint32_t *count)
{
    const uint32_t n_blocks = resident.n_blocks;
    const uint32_t source = (blockIdx.x * blockDim.x + threadIdx.x) / 32;
    if (source >= n_neurons)
        return;
    const uint64_t end = group.row[source + 1];
    uint32_t *counts = count + (uint64_t)source * n_blocks;
    const uint64_t part = (uint64_t)n_neurons * n_blocks;
    for (uint64_t j = group.row[source] + threadIdx.x % 32; j < end; j += 32) {
        const uint64_t synapse = group.synapses[j];
        const uint32_t later = later_bursts(group, synapse);
        const synapse_shift shift =
            shift_of(resident, max_delay, later, synapse);
        const uint32_t n = vly_shift_words(weight_of(synapse), shift.rest);
        const uint64_t at = resident.split == 0 || later == 0 ? 0 : part;
        if (n > 0) /* a weight of 0 has no place: words of 0 end a segment */
            atomicAdd(counts + at + (uint32_t)synapse % n_blocks, n);
    }
}

static __device__ __forceinline__ uint32_t quads_of(uint32_t n)
{
    return n / 4 + (n % 4 != 0);
}

/* A thread stays with one block: there are a multiple of n_blocks of them. */
static __global__ void measure_segments(const uint32_t *count, uint64_t n,
                                        uint32_t n_blocks,
                                        vly_cuda_sizes *sizes)
{
    __shared__ uint32_t shared[VLY_CUDA_SIZES];
    const uint32_t n_threads = gridDim.x * blockDim.x / n_blocks * n_blocks;
    const uint32_t thread = blockIdx.x * blockDim.x + threadIdx.x;
    uint32_t most = 0;
    for (uint32_t i = threadIdx.x; i < VLY_CUDA_SIZES; i += blockDim.x)
        shared[i] = 0;
    __syncthreads();
    for (uint64_t i = thread; thread < n_threads && i < n; i += n_threads) {
        const uint32_t quads = quads_of(count[i]);
        atomicAdd(&shared[min(quads, VLY_CUDA_SIZES - 1)], 1u);
        most = quads > most ? quads : most;
    }
    if (most > 0)
        atomicMax(&sizes->largest[thread % n_blocks], most);
    __syncthreads();
    for (uint32_t i = threadIdx.x; i < VLY_CUDA_SIZES; i += blockDim.x)
        atomicAdd((unsigned long long *)&sizes->n[i],
                  (unsigned long long)shared[i]);
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

/* A thread has 32 sources, threads side by side the blocks. */
static __global__ void mark_rests(vly_cuda_view view, uint32_t n_blocks,
                                  const vly_cuda_class *classes,
                                  const uint32_t *count, vly_cuda_marks *marks)
{
    const uint32_t n_marks = VLY_CUDA_MARKS(view.n_neurons);
    const uint64_t thread = blockIdx.x * (uint64_t)blockDim.x + threadIdx.x;
    const uint32_t block = (uint32_t)(thread % n_blocks);
    const uint32_t word = (uint32_t)(thread / n_blocks);
    if (word >= n_marks)
        return;
    const vly_cuda_class *own = classes + (uint64_t)block * view.n_areas;
    uint32_t a = find_class(own, view.n_areas, 32 * word);
    uint32_t bits = 0;
    for (uint32_t i = 0; i < 32; i++) {
        const uint32_t source = 32 * word + i;
        if (source >= view.n_neurons)
            break;
        while (a + 1 < view.n_areas && own[a + 1].first <= source)
            a++;
        if (quads_of(count[(uint64_t)source * n_blocks + block]) > own[a].quads)
            bits |= 1u << i;
    }
    marks[(uint64_t)block * n_marks + word].bits = bits;
}

/* One warp a block; then the areas. */
static __global__ void sum_marks(vly_cuda_view view,
                                 const vly_cuda_class *classes,
                                 vly_cuda_marks *marks, uint32_t *ranks)
{
    const uint32_t n_marks = VLY_CUDA_MARKS(view.n_neurons);
    const vly_cuda_class *own = classes + (uint64_t)blockIdx.x * view.n_areas;
    vly_cuda_marks *mine = marks + (uint64_t)blockIdx.x * n_marks;
    uint32_t before = 0;
    for (uint32_t low = 0; low < n_marks; low += 32) {
        const uint32_t i = low + threadIdx.x;
        const uint32_t n = i < n_marks ? (uint32_t)__popc(mine[i].bits) : 0;
        uint32_t upto = n;
        for (uint32_t d = 1; d < 32; d *= 2) {
            const uint32_t more = __shfl_up_sync(0xffffffffu, upto, d);
            upto += threadIdx.x >= d ? more : 0;
        }
        if (i < n_marks)
            mine[i].before = before + upto - n;
        before += __shfl_sync(0xffffffffu, upto, 31);
    }
    __syncwarp();
    ranks += (uint64_t)blockIdx.x * (view.n_areas + 1);
    for (uint32_t a = threadIdx.x; a <= view.n_areas; a += 32)
        ranks[a] =
            a < view.n_areas ? marked_before(mine, own[a].first) : before;
}

/* Where synapse i of a segment belongs, in words of the part. */
static __device__ __forceinline__ uint64_t
place_of(const vly_cuda_segments &part, uint32_t n_neurons, uint32_t block,
         const vly_cuda_class &c, uint32_t source, uint32_t i)
{
    const uint32_t n = 4 * c.quads;
    if (i < n)
        return 4 * (c.at + (uint64_t)(source - c.first) * c.quads) + i;
    const vly_cuda_marks *marks =
        part.marks + (uint64_t)block * VLY_CUDA_MARKS(n_neurons);
    const uint64_t rank = marked_before(marks, source) - c.rest_first;
    return 4 * (c.rest_at + rank * c.rest_quads) + (i - n);
}

struct segment_words {
    uint32_t *part[VLY_CUDA_N_PARTS];
};

static __global__ void fill_segments(vly_cuda_group group, uint32_t n_neurons,
                                     uint32_t n_areas,
                                     vly_cuda_resident resident,
                                     uint32_t max_delay, segment_words words,
                                     uint32_t *count)
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
        const int32_t weight = weight_of(synapse);
        const uint32_t block = target % n_blocks;
        const uint32_t later = later_bursts(group, synapse);
        const synapse_shift shift =
            shift_of(resident, max_delay, later, synapse);
        const uint32_t n = vly_shift_words(weight, shift.rest);
        if (n == 0)
            continue;
        const uint32_t to =
            shift.at + later * resident.slice + target / n_blocks;
        const uint32_t p = resident.split == 0 || later == 0 ? VLY_CUDA_URGENT
                                                             : VLY_CUDA_LATER;
        const vly_cuda_segments &part = resident.part[p];
        const vly_cuda_class c = part.classes[block * n_areas + index];
        uint32_t *cursor =
            count + ((uint64_t)p * n_neurons + source) * n_blocks + block;
        const uint32_t first = atomicAdd(cursor, n);
        for (uint32_t i = 0; i < n; i++)
            words.part[p]
                      [place_of(part, n_neurons, block, c, source, first + i)] =
                (uint32_t)vly_shift_word(weight, shift.rest, i) << 16 | to;
    }
}

cudaError_t vly_cuda_launch_segment_count(const vly_cuda_view *view,
                                          const vly_cuda_group *group,
                                          const vly_cuda_resident *resident,
                                          uint32_t *count, cudaStream_t stream)
{
    uint32_t blocks = (view->n_neurons + THREADS / 32 - 1) / (THREADS / 32);
    count_targets<<<blocks, THREADS, 0, stream>>>(
        *group, view->n_neurons, *resident, view->max_delay, count);
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

cudaError_t vly_cuda_launch_segment_marks(const vly_cuda_view *view,
                                          uint32_t n_blocks,
                                          const vly_cuda_segments *part,
                                          const uint32_t *count,
                                          vly_cuda_marks *marks,
                                          uint32_t *ranks, cudaStream_t stream)
{
    const uint64_t n = (uint64_t)n_blocks * VLY_CUDA_MARKS(view->n_neurons);
    mark_rests<<<(uint32_t)((n + THREADS - 1) / THREADS), THREADS, 0, stream>>>(
        *view, n_blocks, part->classes, count, marks);
    sum_marks<<<n_blocks, 32, 0, stream>>>(*view, part->classes, marks, ranks);
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
        *group, view->n_neurons, view->n_areas, *resident, view->max_delay,
        words, count);
    return cudaGetLastError();
}
