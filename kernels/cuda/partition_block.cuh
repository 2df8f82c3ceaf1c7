/* SPDX-License-Identifier: Apache-2.0
 * What a block of the partitioned plan keeps, and how the blocks of a cluster
 * reach each other's shared memory. Where a device has no clusters, a slice
 * has one block and none of this is called.
 */
#ifndef VOLLEY_CUDA_PARTITION_BLOCK_CUH
#define VOLLEY_CUDA_PARTITION_BLOCK_CUH

#include "cuda_kernels.h"

#define THREADS VLY_CUDA_THREADS
#define WARPS (THREADS / 32)

#define SPARE_WORDS 32u

#define GATE_WARPS (VLY_CUDA_PARTITION_BLOCKS / 32)

/* What an update needs of an area and of its first stimulus, in one place:
 * registers are short here, and the way to it through pointers is long. */
struct partition_area {
    uint64_t start; /* of the stimulus */
    uint64_t stop;
    float scale;
    uint32_t first; /* global id */
    uint32_t n;
    uint32_t uniform; /* 1: coefs are those of all its neurons */
    uint32_t coefs[VLY_CUDA_MAX_COEFS];
    uint32_t model;
    uint32_t n_stimuli;
    uint32_t packed; /* 1: counts of the first stimulus are kept */
    uint32_t stimulus_first;
    uint32_t stimulus_n;
    uint32_t always;
    uint32_t base;
    uint32_t step;
};

struct partition_shared {
    /* spikes of the blocks before each in its group of 32, and of groups */
    uint32_t before[VLY_CUDA_PARTITION_BLOCKS];
    uint32_t group_sum[GATE_WARPS];
    uint32_t n_mail;  /* spikes of this block */
    uint32_t n_own;   /* of the burst before */
    uint64_t meet[2]; /* MEET_*: arrivals of the cluster's blocks */
    uint64_t head;    /* log position of the next burst */
    uint64_t held;    /* spikes that the log has to keep */
    unsigned long long digest;
    unsigned long long n_events;
    uint64_t cycles[3]; /* delivery, update, exchange, by thread 0 */
    uint32_t time;
    uint32_t turns[VLY_CUDA_PARTITION_GROUPS]; /* that warps have taken */
};

/* Dynamic shared memory: accumulators [ring][slice - once], a spare word for
 * each lane, areas [n_areas], counts [max_delay] of the last bursts. */
struct partition_block {
    partition_shared *shared;
    uint32_t *ring;
    uint32_t *spare;
    partition_area *areas;
    uint32_t *counts;
    uint32_t slice;
    uint32_t rank; /* in the cluster */
    uint32_t ring_words;
    uint32_t n_own; /* tiles that the block updates */
};

/* Where the blocks of a cluster wait for each other in every burst: all have
 * delivered; all have read each other's accumulators. */
enum { MEET_DELIVERED, MEET_READ };

/* Once a launch. */
static __device__ __forceinline__ void
cluster_sync(const vly_cuda_partition &partition)
{
    __syncthreads();
#if __CUDA_ARCH__ >= 900
    if (partition.cluster > 1) {
        asm volatile("barrier.cluster.arrive.release.aligned;" ::: "memory");
        asm volatile("barrier.cluster.wait.acquire.aligned;" ::: "memory");
    }
#else
    (void)partition;
#endif
}

static __device__ __forceinline__ void
meet_init(const vly_cuda_partition &partition, partition_shared *shared)
{
#if __CUDA_ARCH__ >= 900
    if (threadIdx.x == 0) {
        for (int i = 0; i < 2; i++)
            asm volatile(
                "mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(
                    (uint32_t)__cvta_generic_to_shared(&shared->meet[i])),
                "r"(partition.cluster)
                : "memory");
        asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
    }
#else
    (void)partition;
    (void)shared;
#endif
}

/* After __syncthreads. Relaxed, as the wait is: a release would fence all
 * memory and an acquire empty the first-level cache, twice a burst (without
 * them, and with the areas in shared memory, the update of 1 M neurons took
 * 11.6 instead of 18.0 us on an H200). What is ordered here is shared memory of
 * one multiprocessor, by the barrier of the block before the arrival, which is
 * itself an access to it, as are the reads of others that come after it. */
static __device__ __forceinline__ void
meet_arrive(const vly_cuda_partition &partition, partition_shared *shared,
            int meet)
{
#if __CUDA_ARCH__ >= 900
    if (threadIdx.x < partition.cluster) {
        /* what was added from afar is on its way: it must be there first */
        if (meet == MEET_DELIVERED && partition.once != 0)
            asm volatile("fence.acq_rel.cluster;" ::: "memory");
        uint32_t at = (uint32_t)__cvta_generic_to_shared(&shared->meet[meet]);
        asm volatile("mapa.shared::cluster.u32 %0, %0, %1;"
                     : "+r"(at)
                     : "r"(threadIdx.x));
        asm volatile("mbarrier.arrive.relaxed.cluster.shared::cluster.b64 _, "
                     "[%0];" ::"r"(at)
                     : "memory");
    }
#else
    (void)partition;
    (void)shared;
    (void)meet;
#endif
}

/* k: bursts of the launch before this one */
static __device__ __forceinline__ void meet_wait(partition_shared *shared,
                                                 int meet, uint32_t k)
{
#if __CUDA_ARCH__ >= 900
    const uint32_t at = (uint32_t)__cvta_generic_to_shared(&shared->meet[meet]);
    uint32_t done;
    do {
        asm volatile("{\n"
                     ".reg .pred p;\n"
                     "mbarrier.try_wait.parity.relaxed.cluster.shared::cta.b64 "
                     "p, [%1], %2;\n"
                     "selp.u32 %0, 1, 0, p;\n"
                     "}"
                     : "=r"(done)
                     : "r"(at), "r"(k & 1)
                     : "memory");
    } while (done == 0);
#else
    (void)shared;
    (void)meet;
    (void)k;
#endif
}

/* The same word of another block of the cluster. Not in its shared window:
 * the upper half of the address would be looked up for each access. */
static __device__ __forceinline__ const uint32_t *at_rank(const uint32_t *at,
                                                          uint32_t rank)
{
    const uint32_t *to = at;
#if __CUDA_ARCH__ >= 900
    asm("mapa.u64 %0, %1, %2;" : "=l"(to) : "l"(at), "r"(rank));
#else
    (void)rank;
#endif
    return to;
}

/* The words at[0], at[32], ... below n of the block `away` ranks on. */
static __device__ __forceinline__ void
add_remote(const vly_cuda_partition &partition, const partition_block &block,
           const uint32_t *at, uint32_t away, uint32_t n,
           uint32_t sum[VLY_CUDA_TILE_ROWS])
{
#if __CUDA_ARCH__ >= 900
    const uint32_t rank = (block.rank + away) & (partition.cluster - 1);
    const uint32_t *to = at_rank(at, rank);
    uint32_t v[VLY_CUDA_TILE_ROWS];
#pragma unroll
    for (uint32_t j = 0; j < VLY_CUDA_TILE_ROWS; j++) {
        v[j] = 0;
        if (32 * j < n)
            asm volatile("ld.relaxed.cluster.u32 %0, [%1];"
                         : "=r"(v[j])
                         : "l"(to + 32 * j)
                         : "memory");
    }
#pragma unroll
    for (uint32_t j = 0; j < VLY_CUDA_TILE_ROWS; j++)
        sum[j] += v[j];
#else
    (void)partition;
    (void)block;
    (void)at;
    (void)away;
    (void)n;
    (void)sum;
#endif
}

/* Accumulators at[0], at[32], ... below n over all copies. */
static __device__ __forceinline__ void
read_slice(const vly_cuda_partition &partition, const partition_block &block,
           const uint32_t *at, uint32_t n, uint32_t sum[VLY_CUDA_TILE_ROWS])
{
#pragma unroll
    for (uint32_t j = 0; j < VLY_CUDA_TILE_ROWS; j++)
        sum[j] = 32 * j < n ? at[32 * j] : 0;
    for (uint32_t c = 1; c < partition.cluster; c++)
        add_remote(partition, block, at, c, n, sum);
}

/* The same of the block's own tile q, of a pair that has some of them once: its
 * first `once` places, and then those that both have, but `once` words on in
 * the other block. The former are cleared here, by who reads them: once the
 * gate has been passed the other block may add to them. */
static __device__ __forceinline__ void
read_pair(const vly_cuda_partition &partition, const partition_block &block,
          uint32_t q, uint32_t n, uint32_t sum[VLY_CUDA_TILE_ROWS])
{
    const uint32_t at = q * partition.tile;
    const uint32_t lane = threadIdx.x % 32;
    const bool first = block.rank == 0;
    const bool is_once = at < partition.once;
    uint32_t own = 2 * (at - partition.once) + block.rank * partition.tile +
                   (first ? partition.once : 0);
    if (is_once)
        own = at + (first ? 0 : partition.slice - 2 * partition.once);
    uint32_t *words = block.ring + own + lane;
#pragma unroll
    for (uint32_t j = 0; j < VLY_CUDA_TILE_ROWS; j++) {
        sum[j] = 32 * j < n ? words[32 * j] : 0;
        if (is_once && 32 * j < n)
            words[32 * j] = 0;
    }
    if (is_once)
        return;
    words = first ? words - partition.once : words + partition.once;
    add_remote(partition, block, words, 1, n, sum);
}

/* By thread 0. */
static __device__ __forceinline__ void end_phase(partition_shared *shared,
                                                 int phase)
{
    const uint32_t now = (uint32_t)clock();
    shared->cycles[phase] += now - shared->time;
    shared->time = now;
}

static __device__ __forceinline__ uint64_t warp_sum(uint64_t x)
{
    for (int d = 16; d > 0; d /= 2)
        x += __shfl_xor_sync(0xffffffffu, x, d);
    return x;
}

/* The tile that the block updates as its number q, or n_tiles and more. */
static __device__ __forceinline__ uint32_t
own_tile(const vly_cuda_partition &partition, const partition_block &block,
         uint32_t q)
{
    return (block.rank + q * partition.cluster) * partition.n_slices +
           block.slice;
}

/* Where a neuron has its accumulator. */
struct neuron_place {
    uint32_t slice;
    uint32_t at; /* among the places of a burst */
};

static __device__ __forceinline__ neuron_place
find_place(const vly_cuda_view &view, const vly_cuda_partition &partition,
           uint32_t neuron)
{
    uint32_t low = 0;
    uint32_t high = view.n_areas;
    while (high - low > 1) {
        uint32_t middle = (low + high) / 2;
        if (view.areas[middle].first <= neuron)
            low = middle;
        else
            high = middle;
    }
    const uint32_t i = neuron - view.areas[low].first;
    const uint32_t tile = partition.area_tile[low] + i / partition.tile;
    const uint32_t number = tile / partition.n_slices;
    uint32_t at = number * partition.tile;
    if (partition.once != 0) { /* of a pair: see vly_cuda_partition */
        const uint32_t own = number / 2 * partition.tile;
        if (own >= partition.once)
            at -= partition.once;
        else
            at = own + (number % 2 == 0 ? 0 : partition.slice - partition.once);
        at += VLY_CUDA_PAIR_PLACE;
    }
    return {tile % partition.n_slices, at + i % partition.tile};
}

/* Adds input of the host to a neuron of the slice, if this is the block of the
 * cluster that does. */
static __device__ __forceinline__ void
add_input(const vly_cuda_partition &partition, const partition_block &block,
          uint32_t base, const neuron_place &to, uint32_t value)
{
    const uint32_t at = to.at - (partition.once != 0 ? VLY_CUDA_PAIR_PLACE : 0);
    const uint32_t rank = at >= partition.slice - partition.once ? 1 : 0;
    if (to.slice == block.slice && rank == block.rank)
        atomicAdd(block.ring + base + at - rank * partition.once, value);
}

/* Ids of the spikes of a burst, by its tag: block by block, and this one's. */
static __device__ __forceinline__ uint32_t *
mail_of(const vly_cuda_partition &partition, uint32_t tag)
{
    return partition.mail +
           (uint64_t)(tag & 1) * gridDim.x * partition.mail_room;
}

/* And where their parts of rows lie, for a slice; where their rows begin. */
static __device__ __forceinline__ uint32_t *
parts_of(const vly_cuda_partition &partition, uint32_t tag, uint32_t slice)
{
    return partition.parts +
           ((uint64_t)(tag & 1) * partition.n_slices + slice) * gridDim.x *
               partition.post;
}

static __device__ __forceinline__ uint32_t *
rows_of(const vly_cuda_partition &partition, uint32_t tag)
{
    return partition.rows + (uint64_t)(tag & 1) * gridDim.x * partition.post;
}

static __device__ __forceinline__ uint32_t *
own_mail(const vly_cuda_partition &partition, uint32_t tag)
{
    return mail_of(partition, tag) + (uint64_t)blockIdx.x * partition.mail_room;
}

#endif
