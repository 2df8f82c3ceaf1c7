/* SPDX-License-Identifier: Apache-2.0
 * A block of the resident plan: roles of its warps, its shared memory, and
 * loads before and stores after a launch.
 */
#ifndef VOLLEY_CUDA_RESIDENT_BLOCK_CUH
#define VOLLEY_CUDA_RESIDENT_BLOCK_CUH

#include "learner_kernels.h"
#include "resident_deliver.cuh"
#include "resident_update.cuh"

/* By the thread that keeps the account. */
static __device__ __forceinline__ void end_phase(resident_shared *shared,
                                                 int phase)
{
    const uint32_t now = (uint32_t)clock();
    shared->cycles[phase] += now - shared->time;
    shared->time = now;
}

/* Roles of a warp: the first warps have neurons, the last ones wait for mail;
 * all deliver. */
struct warp_roles {
    bool updates; /* the warp has neurons */
    bool sends;   /* the warp sends the mail */
    bool keeps;   /* the thread keeps the block's account */
    bool waits;   /* the thread waits for a line of mail */
};

static __device__ __forceinline__ uint32_t
neuron_threads(const vly_cuda_resident &resident, bool keep)
{
    return keep ? (resident.slice + 31) / 32 * 32 : blockDim.x;
}

static __device__ __forceinline__ warp_roles
assign_roles(const vly_cuda_resident &resident, bool keep)
{
    const uint32_t back = blockDim.x - 1 - threadIdx.x;
    return {threadIdx.x < neuron_threads(resident, keep), back < 32, back == 0,
            back < resident.lines * resident.n_blocks};
}

/* The threads that deliver what is not urgent, while others wait for mail or
 * have neurons. */
static __device__ __forceinline__ list_groups
later_groups(const vly_cuda_resident &resident, bool keep, uint32_t shift)
{
    const uint32_t waiting =
        (resident.lines * resident.n_blocks + 31) / 32 * 32;
    const uint32_t neurons = neuron_threads(resident, keep);
    uint32_t n = waiting <= blockDim.x / 2 ? blockDim.x - waiting : blockDim.x;
    uint32_t first = 0;
    if (keep && n >= neurons + 128) {
        first = neurons;
        n -= neurons;
    }
    /* wraps, so that it is too large, for the threads before the first */
    if (threadIdx.x - first >= n)
        return {shift, 0xffffffffu, 1};
    return make_groups(shift, threadIdx.x - first, n);
}

/* Spikes that are in the log because they are in flight, or not drained. */
static __device__ uint64_t sum_counts(const vly_cuda_view &view,
                                      const resident_block &block)
{
    uint64_t sum = 0;
    for (uint32_t i = threadIdx.x % 32; i < view.max_delay; i += 32)
        sum += block.counts[i];
    return warp_sum(sum);
}

/* Spikes that may be added before this must be computed again, since the log
 * would be full; fewer than the number of neurons: no burst may begin. All
 * blocks compute the same answer. */
static __device__ __forceinline__ uint32_t
log_room(const vly_cuda_view &view, const vly_cuda_launch &launch,
         const resident_block &block)
{
    __syncthreads();
    const uint64_t head = block.shared->head;
    uint64_t tail = head - sum_counts(view, block);
    if (launch.keep != 0 && tail > launch.head)
        tail = launch.head;
    uint64_t room = view.log_mask + 1 - (head - tail);
    if (room > launch.head_limit - head)
        room = launch.head_limit - head;
    return room < 0xffffffffu ? (uint32_t)room : 0xffffffffu;
}

/* Where the segments and rests of a part are. */
static __device__ void load_part(const vly_cuda_view &view,
                                 const vly_cuda_segments &part,
                                 const resident_block &block, int p)
{
    const uint4 *synapses = (const uint4 *)part.synapses;
    for (uint32_t i = threadIdx.x; i < view.n_areas; i += blockDim.x) {
        const vly_cuda_class c = part.classes[blockIdx.x * view.n_areas + i];
        block.shared->classes[p][i] = {
            synapses + c.at - (uint64_t)c.first * c.quads, c.first, c.quads};
        block.shared->rests[p][i] = {synapses + c.rest_at -
                                         (uint64_t)c.rest_first * c.rest_quads,
                                     c.rest_quads, 0};
    }
    const uint32_t n = VLY_CUDA_MARKS(view.n_neurons);
    vly_cuda_marks *marks = block_marks(block, part);
    if (part.marks != nullptr)
        for (uint32_t i = threadIdx.x; i < n; i += blockDim.x)
            marks[i] = part.marks[(uint64_t)blockIdx.x * n + i];
}

static __device__ void block_load(const vly_cuda_view &view,
                                  const vly_cuda_launch &launch,
                                  const vly_cuda_resident &resident,
                                  const resident_block &block)
{
    resident_shared *shared = block.shared;
    const uint32_t *ring =
        resident.ring + (uint64_t)blockIdx.x * block.ring_words;
#pragma unroll 8
    for (uint32_t i = threadIdx.x; i < block.ring_words; i += blockDim.x)
        block.ring[i] = ring[i];
    for (uint32_t i = threadIdx.x; i < view.max_delay; i += blockDim.x) {
        /* burst i of those since launch.burst - max_delay */
        uint64_t burst = launch.burst + i;
        uint32_t n = 0;
        if (burst >= view.max_delay) {
            burst -= view.max_delay;
            n = view.records[(uint32_t)burst & view.record_mask].count;
        }
        block.counts[(launch.burst + i) % view.max_delay] = n;
    }
    for (int p = 0; p < VLY_CUDA_N_PARTS; p++)
        load_part(view, resident.part[p], block, p);
    for (uint32_t i = threadIdx.x; i < resident.lines * (LINE_CODES + 1);
         i += blockDim.x)
        block.fired[i] = NOBODY;
#if VLY_CUDA_SPLICED
    load_programs(view, block.programs);
#endif
    if (threadIdx.x == 0) {
        shared->got[0] = make_uint2(0, 0);
        shared->got[1] = make_uint2(0, 0);
        shared->n_fired = 0;
        shared->head = launch.head;
        shared->log_from = launch.head;
        for (int i = 0; i < 3; i++)
            shared->cycles[i] = 0;
    }
}

static __device__ void block_store(const vly_cuda_view &view,
                                   const vly_cuda_launch &launch,
                                   const vly_cuda_resident &resident,
                                   const resident_block &block, uint32_t k,
                                   uint64_t n_events, const warp_roles &roles)
{
    uint32_t *ring = resident.ring + (uint64_t)blockIdx.x * block.ring_words;
    for (uint32_t i = threadIdx.x; i < block.ring_words; i += blockDim.x)
        ring[i] = block.ring[i];
    n_events = warp_sum(n_events);
    if (threadIdx.x % 32 == 0 && n_events != 0)
        atomicAdd((unsigned long long *)&launch.done->n_events,
                  (unsigned long long)n_events);
    if (blockIdx.x != 0 || !roles.keeps)
        return;
    launch.done->n_candidates = (uint64_t)k * view.n_neurons;
    launch.done->head = block.shared->head;
    launch.done->n_bursts = k;
    for (int i = 0; i < 3; i++)
        launch.done->cycles[i] = block.shared->cycles[i];
}

/* Room for the codes of all neurons of a block, and for all lines. */
static __host__ __device__ __forceinline__ uint32_t
fired_lines(const vly_cuda_resident &resident)
{
    return resident.slice / LINE_CODES + 1 + VLY_CUDA_MAIL_LINES;
}

/* Words of the ring, of two counts for each burst and of a learner, rounded up
 * to 16 bytes. */
static __host__ __device__ __forceinline__ uint32_t
learner_words(uint32_t ring_words, uint32_t max_delay)
{
    return (ring_words + 2 * max_delay + VLY_CUDA_LEARNER_WORDS + 3) / 4 * 4;
}

/* Bytes from the ring to the end of a learner. */
static __host__ __device__ __forceinline__ uint64_t learner_bytes(
    const vly_cuda_resident &resident, uint32_t ring_words, uint32_t max_delay)
{
    return learner_words(ring_words, max_delay) * sizeof(uint32_t) +
           (uint64_t)resident.n_newest * (resident.near + 1) * sizeof(uint4) +
           VLY_CUDA_THREADS * sizeof(uint4) + VLY_CUDA_LEARNER_BYTES;
}

#if VLY_CUDA_SPLICED
/* Behind all else of the block: a flush between launches knows no programs. */
static __device__ __forceinline__ uint32_t *
programs_place(const vly_cuda_view &view, const vly_cuda_resident &resident,
               uint32_t *ring, uint32_t words)
{
#if RESIDENT_LEARNS
    return (uint32_t *)((uint8_t *)ring +
                        learner_bytes(resident, words, view.max_delay));
#else
    return ring + words + view.max_delay;
#endif
}
#endif

/* The structure is at an offset that is read at run time: addresses that the
 * compiler knows are recomputed at each use, from a slow register. */
static __device__ __forceinline__ resident_block
make_block(const vly_cuda_view &view, const vly_cuda_resident &resident,
           uint4 *dynamic)
{
#if RESIDENT_LEARNS
    dynamic += resident.n_factors / 4; /* tables of traces come first */
#endif
    const uint32_t words = view.max_delay * resident.slice;
    resident_shared *shared =
        (resident_shared *)(dynamic + fired_lines(resident));
    uint32_t *ring =
        (uint32_t *)((vly_cuda_marks *)(shared + 1) + resident.n_marks);
    return
    {
        shared, (uint16_t *)dynamic, ring, ring + words, words, view.n_areas,
            resident.step
#if VLY_CUDA_SPLICED
            ,
            place_programs(view, programs_place(view, resident, ring, words))
#endif
    };
}

#endif
