/* SPDX-License-Identifier: Apache-2.0
 * Rows in parts by slice for one device of a span, out of pieces of
 * projections: synapses into slices of other devices are left out
 * (build_partition.cu has the steps between counting and filling). No order of
 * synapses within a part is wanted, since integers are added.
 */
#include "partition_deliver.cuh"

#define BUILD_THREADS 256u
#define BUILD_WARPS (BUILD_THREADS / 32)

/* A synapse of a piece, if its target is in a slice of this device and its
 * delay belongs to the group; later: its delay beyond base_delay. */
static __device__ __forceinline__ bool
find_target(const vly_cuda_view &view, const vly_cuda_part &part,
            const vly_cuda_partition &partition, uint32_t beyond, uint64_t i,
            neuron_place *to, uint32_t *later)
{
    *later = beyond + (part.delay != nullptr ? part.delay[i] : 0);
    if (*later >= partition.ring)
        return false;
    *to = find_place(view, partition, part.target[i]);
    to->slice -= partition.first_slice;
    return to->slice < partition.own_slices;
}

/* One warp a source. beyond: the piece's delay less that of the group, modulo
 * 2^32 */
static __global__ void
count_piece(const __grid_constant__ vly_cuda_view view,
            const __grid_constant__ vly_cuda_part part,
            const __grid_constant__ vly_cuda_partition partition,
            uint32_t beyond, uint32_t *offset)
{
    const uint32_t source = (blockIdx.x * BUILD_THREADS + threadIdx.x) / 32;
    if (source >= part.n_sources)
        return;
    uint32_t *counts =
        offset +
        (uint64_t)(part.source_first + source) * (partition.own_slices + 1) + 1;
    const uint64_t end = part.row[source + 1] - part.row[0];
    for (uint64_t i = part.row[source] - part.row[0] + threadIdx.x % 32;
         i < end; i += 32) {
        neuron_place to;
        uint32_t later;
        if (find_target(view, part, partition, beyond, i, &to, &later))
            atomicAdd(counts + to.slice, 1u);
    }
}

static __global__ void
fill_piece(const __grid_constant__ vly_cuda_view view,
           const __grid_constant__ vly_cuda_part part,
           const __grid_constant__ vly_cuda_partition partition,
           uint32_t beyond, const uint64_t *row, uint32_t *offset,
           uint32_t *synapses)
{
    const uint32_t source = (blockIdx.x * BUILD_THREADS + threadIdx.x) / 32;
    if (source >= part.n_sources)
        return;
    const uint64_t id = (uint64_t)part.source_first + source;
    uint32_t *cursor = offset + id * (partition.own_slices + 1) + 1;
    uint32_t *out = synapses + row[id] * partition.unit;
    const uint32_t set = partition.sets > 1 ? part.shift / partition.step *
                                                  partition_set(&partition)
                                            : 0;
    const uint64_t end = part.row[source + 1] - part.row[0];
    for (uint64_t i = part.row[source] - part.row[0] + threadIdx.x % 32;
         i < end; i += 32) {
        neuron_place to;
        uint32_t later;
        if (!find_target(view, part, partition, beyond, i, &to, &later))
            continue;
        const int32_t weight =
            part.weight != nullptr ? part.weight[i] : part.one_weight;
        uint32_t word =
            (uint32_t)weight << 16 | (later * partition.slice + set + to.at);
        if (partition.narrow != 0) /* it divides all of the area's */
            word = vly_narrow_synapse(
                weight / (int32_t)partition.divisor[to.area], to.at);
        out[atomicAdd(cursor + to.slice, 1u)] = word;
    }
}

static uint32_t n_grid(uint32_t n_sources)
{
    return (uint32_t)(((uint64_t)n_sources + BUILD_WARPS - 1) / BUILD_WARPS);
}

cudaError_t vly_cuda_launch_span_count(const vly_cuda_view *view,
                                       const vly_cuda_part *part,
                                       const vly_cuda_partition *partition,
                                       uint32_t from_delay, uint32_t base_delay,
                                       uint32_t *offset, cudaStream_t stream)
{
    count_piece<<<n_grid(part->n_sources), BUILD_THREADS, 0, stream>>>(
        *view, *part, *partition, from_delay - base_delay, offset);
    return cudaGetLastError();
}

cudaError_t vly_cuda_launch_span_fill(const vly_cuda_view *view,
                                      const vly_cuda_part *part,
                                      const vly_cuda_partition *partition,
                                      uint32_t from_delay, uint32_t base_delay,
                                      const uint64_t *row, uint32_t *offset,
                                      uint32_t *synapses, cudaStream_t stream)
{
    fill_piece<<<n_grid(part->n_sources), BUILD_THREADS, 0, stream>>>(
        *view, *part, *partition, from_delay - base_delay, row, offset,
        synapses);
    return cudaGetLastError();
}
