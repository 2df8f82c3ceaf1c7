/* SPDX-License-Identifier: Apache-2.0
 * Rows by source, in parts by slice of targets, out of rows by source: count,
 * make starts, fill. The order within a part has no meaning. Also restores
 * events in flight when a net is made from a snapshot.
 */
#include "partition_deliver.cuh"

#define BUILD_THREADS 256u
#define BUILD_WARPS (BUILD_THREADS / 32)

/* Delay beyond base_delay of a synapse; not below ring if of another group. */
static __device__ __forceinline__ uint32_t beyond(const vly_cuda_group &from,
                                                  uint32_t base_delay,
                                                  uint64_t synapse)
{
    return from.base_delay + ((uint32_t)(synapse >> 48) & 0xffu) - base_delay;
}

/* A rank may have the rows of the whole net. */
static __device__ __forceinline__ bool is_own(const vly_cuda_view &view,
                                              uint64_t synapse)
{
    return (uint32_t)synapse - view.own_first < view.n_own;
}

/* The first place of the synapse's shift set among the places of a burst. */
static __device__ __forceinline__ uint32_t
set_of(const vly_cuda_partition &partition, uint64_t synapse)
{
    if (partition.sets == 1)
        return 0;
    const uint32_t shift =
        (uint32_t)(synapse >> (56 + VLY_CUDA_SYNAPSE_SHIFT) & 3) *
        VLY_CUDA_SHIFT_STEP;
    return shift / partition.step * partition_set(&partition);
}

/* Of a pair: the block that alone has a place; 2: both have. */
static __device__ __forceinline__ uint32_t
only_block(const vly_cuda_partition &partition, uint32_t at)
{
    at -= VLY_CUDA_PAIR_PLACE;
    if (at < partition.once)
        return 0;
    return at >= partition.slice - partition.once ? 1 : 2;
}

/* Units of a part of n synapses, if what only one block has is in the first
 * word of a unit, or in the last: numbers of both in the halves of away. */
static __device__ __forceinline__ uint32_t count_units(uint32_t n,
                                                       uint32_t unit,
                                                       uint32_t away)
{
    const uint32_t n_units = (n + unit - 1) / unit;
    return unit == 1 ? n_units : max(n_units, max(away & 0xffffu, away >> 16));
}

/* One warp a source. away: NULL, or [source][slice], as count_units has it. */
static __global__ void
count_parts(const __grid_constant__ vly_cuda_view view, vly_cuda_group from,
            const __grid_constant__ vly_cuda_partition partition,
            uint32_t base_delay, uint32_t *offset, uint32_t *away)
{
    const uint32_t source = (blockIdx.x * BUILD_THREADS + threadIdx.x) / 32;
    if (source >= view.n_neurons)
        return;
    uint32_t *counts =
        offset + (uint64_t)source * (partition.own_slices + 1) + 1;
    const uint64_t end = from.row[source + 1];
    for (uint64_t j = from.row[source] + threadIdx.x % 32; j < end; j += 32) {
        const uint64_t synapse = from.synapses[j];
        if (beyond(from, base_delay, synapse) >= partition.ring ||
            !is_own(view, synapse))
            continue;
        const neuron_place to = find_place(view, partition, (uint32_t)synapse);
        atomicAdd(counts + to.slice, 1u);
        const uint32_t only = only_block(partition, to.at);
        if (away != nullptr && only < 2)
            atomicAdd(away + (uint64_t)source * partition.own_slices + to.slice,
                      1u << 16 * only);
    }
}

/* One warp a source. */
static __global__ void scan_parts(uint32_t n_neurons, uint32_t n_slices,
                                  uint32_t unit, const uint32_t *away,
                                  uint32_t *offset, uint64_t *length,
                                  uint32_t *longest)
{
    const uint32_t lane = threadIdx.x % 32;
    const uint32_t source = (blockIdx.x * BUILD_THREADS + threadIdx.x) / 32;
    if (source >= n_neurons)
        return;
    uint32_t *counts = offset + (uint64_t)source * (n_slices + 1) + 1;
    uint32_t before = 0;
    uint32_t most = 0;
    for (uint32_t low = 0; low < n_slices; low += 32) {
        uint32_t n = low + lane < n_slices ? counts[low + lane] : 0;
        const uint32_t only =
            away != nullptr && low + lane < n_slices
                ? away[(uint64_t)source * n_slices + low + lane]
                : 0;
        n = count_units(n, unit, only) * unit;
        most = n > most ? n : most;
        uint32_t sum = n;
        for (uint32_t d = 1; d < 32; d *= 2) {
            uint32_t other = __shfl_up_sync(0xffffffffu, sum, d);
            sum += lane >= d ? other : 0;
        }
        if (low + lane < n_slices)
            counts[low + lane] = before + sum - n;
        before += __shfl_sync(0xffffffffu, sum, 31);
    }
    most = __reduce_max_sync(0xffffffffu, most) / unit;
    if (lane == 0) {
        length[source] = before / unit;
        if (most > *(volatile uint32_t *)longest) /* seldom */
            atomicMax(longest, most);
    }
}

/* One warp a source. */
static __global__ void
fill_parts(const __grid_constant__ vly_cuda_view view, vly_cuda_group from,
           const __grid_constant__ vly_cuda_partition partition,
           uint32_t base_delay, const uint64_t *row, uint32_t *offset,
           uint32_t *synapses)
{
    const uint32_t source = (blockIdx.x * BUILD_THREADS + threadIdx.x) / 32;
    if (source >= view.n_neurons)
        return;
    uint32_t *cursor =
        offset + (uint64_t)source * (partition.own_slices + 1) + 1;
    uint32_t *out = synapses + row[source] * partition.unit;
    const uint64_t end = from.row[source + 1];
    for (uint64_t j = from.row[source] + threadIdx.x % 32; j < end; j += 32) {
        const uint64_t synapse = from.synapses[j];
        const uint32_t later = beyond(from, base_delay, synapse);
        if (later >= partition.ring || !is_own(view, synapse))
            continue;
        const neuron_place to = find_place(view, partition, (uint32_t)synapse);
        const uint32_t weight = (uint32_t)(synapse >> 32) & 0xffffu;
        uint32_t word = weight << 16 | (later * partition.slice +
                                        set_of(partition, synapse) + to.at);
        if (partition.narrow != 0) /* it divides all of the area's */
            word = vly_narrow_synapse((int32_t)(int16_t)weight /
                                          (int32_t)partition.divisor[to.area],
                                      to.at);
        out[atomicAdd(cursor + to.slice, 1u)] = word;
    }
}

/* Moves synapses of places of block 0 alone to the first words of units, of
 * block 1 alone to the last: the other block checks there. */
static __device__ void order_part(const vly_cuda_partition &partition,
                                  uint32_t *words, uint32_t n_units)
{
    const uint32_t unit = partition.unit;
    for (uint32_t rank = 0; rank < 2; rank++) {
        const uint32_t slot = rank == 0 ? 0 : unit - 1;
        uint32_t q = slot; /* no slot before it is free */
        for (uint32_t p = 0; p < n_units * unit; p++) {
            const uint32_t word = words[p];
            if (p % unit == slot || word >> 16 == 0 ||
                only_block(partition, word & 0xffffu) != rank)
                continue;
            while (words[q] >> 16 != 0 &&
                   only_block(partition, words[q] & 0xffffu) == rank)
                q += unit;
            words[p] = words[q];
            words[q] = word;
        }
    }
}

/* One thread a source; ends of parts become those of their units. */
static __global__ void
order_parts(uint32_t n_neurons,
            const __grid_constant__ vly_cuda_partition partition,
            const uint64_t *row, const uint32_t *away, uint32_t *offset,
            uint32_t *synapses)
{
    const uint32_t source = blockIdx.x * BUILD_THREADS + threadIdx.x;
    if (source >= n_neurons)
        return;
    const uint32_t n_slices = partition.own_slices;
    uint32_t *ends = offset + (uint64_t)source * (n_slices + 1) + 1;
    uint32_t *words = synapses + row[source] * partition.unit;
    uint32_t start = 0;
    for (uint32_t s = 0; s < n_slices; s++) {
        const uint32_t n_units =
            count_units(ends[s] - start, partition.unit,
                        away[(uint64_t)source * n_slices + s]);
        if (partition.unit > 1)
            order_part(partition, words + start, n_units);
        start += n_units * partition.unit;
        ends[s] = start;
    }
}

static __global__ void make_ends(uint64_t n, uint32_t n_slices, uint32_t unit,
                                 const uint64_t *row, uint32_t *offset)
{
    const uint64_t stride = (uint64_t)gridDim.x * blockDim.x;
    for (uint64_t i = blockIdx.x * (uint64_t)blockDim.x + threadIdx.x; i < n;
         i += stride)
        offset[i] =
            (uint32_t)row[i / (n_slices + 1)] + (offset[i] + unit - 1) / unit;
}

/* carry: NULL, or where the first words are whose position needs more bits. */
static __global__ void make_index(uint64_t n, uint32_t n_words,
                                  uint32_t n_slices, uint32_t unit,
                                  const uint64_t *row, const uint32_t *offset,
                                  vly_cuda_index_word *index, uint64_t *carry)
{
    const uint64_t stride = (uint64_t)gridDim.x * blockDim.x;
    for (uint64_t i = blockIdx.x * (uint64_t)blockDim.x + threadIdx.x; i < n;
         i += stride) {
        const uint32_t source = (uint32_t)(i / n_words);
        const uint32_t slice = (uint32_t)(i % n_words) * VLY_CUDA_INDEX_PARTS;
        const uint32_t *end = offset + (uint64_t)source * (n_slices + 1);
        uint32_t at = (end[slice] + unit - 1) / unit;
        const uint64_t first = row[source] + at;
        vly_cuda_index_word word = {(uint32_t)first, {}};
        if (carry != nullptr) {
            word.first &= (uint32_t)((1ull << VLY_CUDA_INDEX_BITS) - 1);
            for (uint32_t k = 0; k < first >> VLY_CUDA_INDEX_BITS; k++)
                if (i < *(volatile uint64_t *)(carry + k)) /* seldom */
                    atomicMin((unsigned long long *)(carry + k),
                              (unsigned long long)i);
        }
        for (uint32_t p = 0; p < VLY_CUDA_INDEX_PARTS && slice + p < n_slices;
             p++) {
            const uint32_t to = (end[slice + p + 1] + unit - 1) / unit;
            word.n[p] = (uint8_t)(to - at);
            at = to;
        }
        index[i] = word;
    }
}

/* One block a slice, one warp a spike. */
static __global__ void __launch_bounds__(THREADS, 1)
    restore_slice(const __grid_constant__ vly_cuda_view view,
                  const __grid_constant__ vly_cuda_partition partition,
                  uint64_t burst, uint32_t index, uint32_t ago)
{
    const vly_cuda_partition_group group = partition.groups[index];
    const vly_cuda_record record =
        view.records[(uint32_t)(burst - ago - group.base_delay) &
                     view.record_mask];
    const part_finder finder = make_finder(blockIdx.x);
    const uint32_t words = partition.ring * partition.slice;
    const uint32_t base =
        (uint32_t)((burst - ago) % partition.ring) * partition.slice;
    uint32_t *rest = partition.at_rest + (uint64_t)blockIdx.x * words;
    for (uint32_t s = threadIdx.x / 32; s < record.count; s += WARPS) {
        const uint32_t id = view.log_ids[(record.start + s) & view.log_mask];
        const row_part<true> part =
            find_part<true>(partition, group, finder, id);
        const uint32_t n = part.n * partition.unit;
        for (uint32_t i = threadIdx.x % 32; i < n; i += 32) {
            const uint32_t word = group.synapses[part.at * partition.unit + i];
            if ((word & 0xffffu) / partition.slice < ago)
                continue; /* it arrived before this burst */
            uint32_t at = base + (word & 0xffffu);
            at = at >= words ? at - words : at;
            atomicAdd(rest + at, (uint32_t)((int32_t)word >> 16));
        }
    }
}

/* Of threads that go on to the next one of so many. */
static uint32_t n_blocks(uint64_t n)
{
    const uint64_t blocks = (n + BUILD_THREADS - 1) / BUILD_THREADS;
    return blocks < 1 ? 1 : blocks < 4096 ? (uint32_t)blocks : 4096;
}

static uint32_t n_grid(uint32_t n_neurons)
{
    return (uint32_t)(((uint64_t)n_neurons + BUILD_WARPS - 1) / BUILD_WARPS);
}

cudaError_t vly_cuda_launch_partition_count(const vly_cuda_view *view,
                                            const vly_cuda_group *from,
                                            const vly_cuda_partition *partition,
                                            uint32_t base_delay,
                                            uint32_t *offset, uint32_t *away,
                                            cudaStream_t stream)
{
    count_parts<<<n_grid(view->n_neurons), BUILD_THREADS, 0, stream>>>(
        *view, *from, *partition, base_delay, offset, away);
    return cudaGetLastError();
}

cudaError_t vly_cuda_launch_partition_scan(uint32_t n_neurons,
                                           const vly_cuda_partition *partition,
                                           const uint32_t *away,
                                           uint32_t *offset, uint64_t *length,
                                           uint32_t *longest,
                                           cudaStream_t stream)
{
    scan_parts<<<n_grid(n_neurons), BUILD_THREADS, 0, stream>>>(
        n_neurons, partition->own_slices, partition->unit, away, offset, length,
        longest);
    return cudaGetLastError();
}

cudaError_t vly_cuda_launch_partition_order(
    uint32_t n_neurons, const vly_cuda_partition *partition,
    const uint64_t *row, const uint32_t *away, uint32_t *offset,
    uint32_t *synapses, cudaStream_t stream)
{
    const uint64_t n = (uint64_t)n_neurons + BUILD_THREADS - 1;
    order_parts<<<(uint32_t)(n / BUILD_THREADS), BUILD_THREADS, 0, stream>>>(
        n_neurons, *partition, row, away, offset, synapses);
    return cudaGetLastError();
}

cudaError_t vly_cuda_launch_partition_fill(const vly_cuda_view *view,
                                           const vly_cuda_group *from,
                                           const vly_cuda_partition *partition,
                                           uint32_t base_delay,
                                           const uint64_t *row,
                                           uint32_t *offset, uint32_t *synapses,
                                           cudaStream_t stream)
{
    fill_parts<<<n_grid(view->n_neurons), BUILD_THREADS, 0, stream>>>(
        *view, *from, *partition, base_delay, row, offset, synapses);
    return cudaGetLastError();
}

cudaError_t vly_cuda_launch_partition_ends(uint32_t n_neurons,
                                           const vly_cuda_partition *partition,
                                           const uint64_t *row,
                                           uint32_t *offset,
                                           cudaStream_t stream)
{
    const uint64_t n = (uint64_t)n_neurons * (partition->own_slices + 1);
    make_ends<<<n_blocks(n), BUILD_THREADS, 0, stream>>>(
        n, partition->own_slices, partition->unit, row, offset);
    return cudaGetLastError();
}

cudaError_t vly_cuda_launch_partition_index(
    uint32_t n_neurons, const vly_cuda_partition *partition,
    const uint64_t *row, const uint32_t *offset, uint32_t n_words,
    vly_cuda_index_word *index, uint64_t *carry, cudaStream_t stream)
{
    const uint64_t n = (uint64_t)n_neurons * n_words;
    make_index<<<n_blocks(n), BUILD_THREADS, 0, stream>>>(
        n, n_words, partition->own_slices, partition->unit, row, offset, index,
        carry);
    return cudaGetLastError();
}

cudaError_t vly_cuda_launch_partition_restore(
    const vly_cuda_view *view, const vly_cuda_partition *partition,
    uint64_t burst, uint32_t group, uint32_t ago, cudaStream_t stream)
{
    restore_slice<<<partition->own_slices, THREADS, 0, stream>>>(
        *view, *partition, burst, group, ago);
    return cudaGetLastError();
}
