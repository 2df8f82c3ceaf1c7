/* SPDX-License-Identifier: Apache-2.0
 * Delivery of the resident plan: segments of the spikes of a burst are added
 * to the block's ring of accumulators in shared memory, by groups of threads
 * that share a segment.
 */
#ifndef VOLLEY_CUDA_RESIDENT_DELIVER_CUH
#define VOLLEY_CUDA_RESIDENT_DELIVER_CUH

#include "resident_mail.cuh"

#define NARROW 4u /* threads that share a segment */
#define WIDE 16u
#define FLIGHT 2 /* segments of such a group in flight */

static __device__ __forceinline__ void add_event(const resident_block &block,
                                                 uint32_t base, uint32_t word)
{
    uint32_t weight = (uint32_t)((int32_t)word >> 16);
    if (weight == 0)
        return;
    uint32_t at = base + (word & 0xffffu);
    at = at >= block.ring_words ? at - block.ring_words : at;
    atomicAdd(block.ring + at, weight);
}

static __device__ __forceinline__ const uint4 *
find_segment(const resident_block &block, uint32_t part, uint32_t source,
             uint32_t *quads)
{
    const vly_cuda_class *classes = block.shared->classes[part];
    uint32_t low = 0;
    uint32_t high = block.n_areas;
    while (high - low > 1) {
        uint32_t middle = (low + high) / 2;
        if (classes[middle].first <= source)
            low = middle;
        else
            high = middle;
    }
    const vly_cuda_class c = classes[low];
    *quads = c.quads;
    return block.segments[part] + c.at + (uint64_t)(source - c.first) * c.quads;
}

static __device__ __forceinline__ void add_quad(const resident_block &block,
                                                uint32_t base, uint4 v)
{
    add_event(block, base, v.x);
    add_event(block, base, v.y);
    add_event(block, base, v.z);
    add_event(block, base, v.w);
}

/* The spikes of a list, by n_threads threads from first_thread on in groups of
 * SHARE; base: word of the ring for a delay of 1. */
template <uint32_t SHARE>
static __device__ __forceinline__ void
deliver_list(const resident_block &block, uint32_t part, const uint32_t *list,
             uint32_t n, uint32_t base, uint32_t first_thread,
             uint32_t n_threads)
{
    const uint32_t thread = threadIdx.x - first_thread; /* wraps: too large */
    if (thread >= n_threads || thread >= n * SHARE)
        return; /* most warps: their instructions would hold up the others */
    const uint32_t lane = thread % SHARE;
    const uint32_t stride = n_threads / SHARE;
    for (uint32_t e = thread / SHARE; e < n; e += FLIGHT * stride) {
        const uint4 *segment[FLIGHT];
        uint32_t quads[FLIGHT];
        uint32_t most = 0;
#pragma unroll
        for (int f = 0; f < FLIGHT; f++) {
            quads[f] = 0;
            segment[f] = nullptr;
            if (e + f * stride < n)
                segment[f] =
                    find_segment(block, part, list[e + f * stride], &quads[f]);
            most = quads[f] > most ? quads[f] : most;
        }
        for (uint32_t q = lane; q < most; q += SHARE) {
            uint4 v[FLIGHT];
#pragma unroll
            for (int f = 0; f < FLIGHT; f++)
                v[f] = q < quads[f] ? __ldcs(segment[f] + q)
                                    : make_uint4(0, 0, 0, 0);
#pragma unroll
            for (int f = 0; f < FLIGHT; f++)
                if (q < quads[f])
                    add_quad(block, base, v[f]);
        }
    }
}

static __device__ __forceinline__ void
deliver_part(const resident_block &block, uint32_t part, const uint32_t *list,
             uint32_t n, uint32_t base, uint32_t first_thread,
             uint32_t n_threads)
{
    if (block.wide[part])
        deliver_list<WIDE>(block, part, list, n, base, first_thread, n_threads);
    else
        deliver_list<NARROW>(block, part, list, n, base, first_thread,
                             n_threads);
}

static __device__ void deliver_both(const resident_block &block, uint32_t n,
                                    uint32_t base)
{
    deliver_part(block, VLY_CUDA_URGENT, block.list, n, base, 0, blockDim.x);
    deliver_part(block, VLY_CUDA_LATER, block.list, n, base, 0, blockDim.x);
}

static __device__ void write_log(const vly_cuda_view &view,
                                 const uint32_t *list, uint64_t start,
                                 uint32_t n)
{
    for (uint32_t i = threadIdx.x; i < n; i += blockDim.x) {
        view.log_ids[(start + i) & view.log_mask] = list[i];
        view.log_gains[(start + i) & view.log_mask] = 1u << view.feagi_q;
    }
}

/* Spikes of the burst before the launch, from the log. */
static __device__ void deliver_log(const vly_cuda_view &view,
                                   const vly_cuda_launch &launch,
                                   const resident_block &block, uint32_t base)
{
    if (launch.burst == 0)
        return;
    const vly_cuda_record record =
        view.records[(uint32_t)(launch.burst - 1) & view.record_mask];
    for (uint32_t from = 0; from < record.count; from += LIST) {
        uint32_t n = record.count - from < LIST ? record.count - from : LIST;
        for (uint32_t i = threadIdx.x; i < n; i += blockDim.x)
            block.list[i] =
                view.log_ids[(record.start + from + i) & view.log_mask];
        __syncthreads();
        deliver_both(block, n, base);
        __syncthreads();
    }
}

/* Takes the spikes whose mail has come and delivers what is urgent, if there
 * is another burst. Returns how many spikes of the list are still to be
 * logged, if it is this block's turn, and to be delivered later; more than
 * the list holds are done with at once. All threads. */
static __device__ uint32_t take_spikes(const vly_cuda_view &view,
                                       const vly_cuda_resident &resident,
                                       const resident_block &block,
                                       uint32_t tag, uint64_t start,
                                       uint32_t base, uint32_t deliver,
                                       uint32_t logs)
{
    resident_shared *shared = block.shared;
    const uint32_t n_over = shared->n_over;
    const uint32_t fits = shared->n_total <= LIST;
    if (n_over != 0 && fits) {
        for (uint32_t o = 0; o < n_over; o++)
            read_more(resident, block, tag, shared->over[o], 0,
                      shared->over_n[o]);
        __syncthreads();
    }
    uint32_t n = shared->n_list;
    if (deliver)
        deliver_part(block, VLY_CUDA_URGENT, block.list, n, base, 0,
                     blockDim.x);
    if (deliver && !fits)
        deliver_part(block, VLY_CUDA_LATER, block.list, n, base, 0, blockDim.x);
    if (fits && deliver)
        return n;
    if (logs)
        write_log(view, block.list, start, n);
    if (fits)
        return 0;
    for (uint32_t o = 0; o < n_over; o++)
        for (uint32_t low = 0; low < shared->over_n[o]; low += LIST) {
            uint32_t high = shared->over_n[o];
            high = high - low < LIST ? high : low + LIST;
            start += n;
            __syncthreads();
            if (threadIdx.x == 0)
                shared->n_list = 0;
            __syncthreads();
            read_more(resident, block, tag, shared->over[o], low, high);
            __syncthreads();
            n = high - low;
            if (logs)
                write_log(view, block.list, start, n);
            if (deliver)
                deliver_both(block, n, base);
        }
    return 0;
}

static __device__ void take_inputs(const vly_cuda_launch &launch,
                                   const vly_cuda_resident &resident,
                                   const resident_block &block, uint32_t k,
                                   uint32_t base)
{
    if (launch.input_row == nullptr)
        return;
    const uint32_t end = launch.input_row[k + 1];
    for (uint32_t i = launch.input_row[k] + threadIdx.x; i < end;
         i += blockDim.x) {
        vly_cuda_input input = launch.inputs[i];
        if (input.neuron % resident.n_blocks == blockIdx.x)
            atomicAdd(block.ring + base + input.neuron / resident.n_blocks,
                      (uint32_t)input.value);
    }
}

#endif
