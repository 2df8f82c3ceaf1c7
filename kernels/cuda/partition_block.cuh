/* SPDX-License-Identifier: Apache-2.0
 * The data of a block of the partitioned plan, and access of the blocks of a
 * cluster to each other's shared memory. On a device without clusters a slice
 * has one block and this access is not used.
 */
#ifndef VOLLEY_CUDA_PARTITION_BLOCK_CUH
#define VOLLEY_CUDA_PARTITION_BLOCK_CUH

#include "narrow_sums.h"
#include "partition_layout.h"
#if VLY_CUDA_SPLICED
#include "program_splice.cuh"
#endif

#define THREADS VLY_CUDA_THREADS
#define WARPS (THREADS / 32)

/* How a slice is kept: all of it in each block of its cluster, some of it in
 * one block of a pair only, or two accumulators in a word. */
enum { KIND_COPIES, KIND_PAIR, KIND_NARROW };

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
    /* in a span, else unused */
    uint32_t *before; /* [32 * groups] as in partition_shared */
    uint32_t *sums;   /* [groups] */
    uint32_t *firsts; /* [groups] spikes of the groups before */
#if VLY_CUDA_SPLICED
    block_programs programs;
#endif
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
 * 11.6 instead of 18.0 us on an H200). Only accesses to shared memory have to
 * be ordered here: the barrier of the block comes before the arrival, which
 * itself is an access to shared memory, as are the later reads of other blocks.
 */
static __device__ __forceinline__ void
meet_arrive(const vly_cuda_partition &partition, partition_shared *shared,
            int meet)
{
#if __CUDA_ARCH__ >= 900
    if (threadIdx.x < partition.cluster) {
        /* remote additions may be in flight: they must arrive first */
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

/* Nanoseconds of a clock that goes on while a block waits. */
static __device__ __forceinline__ uint64_t time_ns()
{
    uint64_t ns;
    asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(ns));
    return ns;
}

/* In a span: ends the kernel with an error if another block of the cluster has
 * given up waiting while this one went on. */
static __device__ __forceinline__ void
check_wait(const vly_cuda_partition &partition, uint32_t *spins,
           uint64_t *begin)
{
    if (++*spins % 1024 != 0)
        return;
    const uint64_t now = time_ns();
    *begin = *begin == 0 ? now : *begin;
    if (now - *begin > 2 * partition.span.limit_ns)
        asm volatile("trap;");
}

/* k: bursts of the launch before this one */
template <bool SPAN = false>
static __device__ __forceinline__ void
meet_wait(const vly_cuda_partition &partition, partition_shared *shared,
          int meet, uint32_t k)
{
#if __CUDA_ARCH__ >= 900
    const uint32_t at = (uint32_t)__cvta_generic_to_shared(&shared->meet[meet]);
    uint32_t done;
    uint32_t spins = 0;
    uint64_t begin = 0;
    do {
        if constexpr (SPAN)
            check_wait(partition, &spins, &begin);
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
    (void)partition;
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
template <uint32_t ROWS>
static __device__ __forceinline__ void
add_remote(const vly_cuda_partition &partition, const partition_block &block,
           const uint32_t *at, uint32_t away, uint32_t n, uint32_t sum[ROWS])
{
#if __CUDA_ARCH__ >= 900
    const uint32_t on = block.rank + away;
    const uint32_t rank = on >= partition.cluster ? on - partition.cluster : on;
    const uint32_t *to = at_rank(at, rank);
    uint32_t v[ROWS];
#pragma unroll
    for (uint32_t j = 0; j < ROWS; j++) {
        v[j] = 0;
        if (32 * j < n)
            asm volatile("ld.relaxed.cluster.u32 %0, [%1];"
                         : "=r"(v[j])
                         : "l"(to + 32 * j)
                         : "memory");
    }
#pragma unroll
    for (uint32_t j = 0; j < ROWS; j++)
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
template <uint32_t ROWS>
static __device__ __forceinline__ void
read_slice(const vly_cuda_partition &partition, const partition_block &block,
           const uint32_t *at, uint32_t n, uint32_t sum[ROWS])
{
#pragma unroll
    for (uint32_t j = 0; j < ROWS; j++)
        sum[j] = 32 * j < n ? at[32 * j] : 0;
    for (uint32_t c = 1; c < partition.cluster; c++)
        add_remote<ROWS>(partition, block, at, c, n, sum);
}

/* The same of the block's own tile q, of a pair that has some of them once: its
 * first `once` places, and then those that both have, but `once` words on in
 * the other block. The former are cleared here, by their reader: once the gate
 * has been passed the other block may add to them. */
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
    add_remote<VLY_CUDA_TILE_ROWS>(partition, block, words, 1, n, sum);
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
    return partition_tile(&partition, block.slice, block.rank, q);
}

/* Counts of a tile's stimulus in the four bursts that `burst` is one of. A span
 * draws those of the next four meanwhile (draw_ahead). */
template <bool SPAN>
static __device__ __forceinline__ uint32_t *
draws_of(const vly_cuda_partition &partition, uint64_t burst, uint32_t number)
{
    if constexpr (!SPAN)
        return partition.draws + number * partition.tile;
    const uint64_t half = burst >> 2 & 1;
    return partition.draws +
           (half * partition.n_tiles + number) * partition.tile;
}

/* Where a neuron has its accumulator. */
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
    uint32_t i = neuron - view.areas[low].first;
    if (partition.area_low != nullptr)
        i -= partition.area_low[low];
    return place_neuron(&partition, low, i, partition.area_tile[low]);
}

/* Adds input of the host to a neuron of the slice, if this is the block of the
 * cluster that does. Where sums are of 16 bits, that is the one that will
 * update it, so that the block's own barrier is enough. */
template <int KIND>
static __device__ __forceinline__ void
add_input(const vly_cuda_partition &partition, const partition_block &block,
          uint32_t base, const neuron_place &to, uint32_t value)
{
    if constexpr (KIND == KIND_NARROW) {
        if (to.slice == block.slice && to.rank == block.rank)
            atomicAdd(partition.extra + to.extra, value);
        return;
    }
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
           (uint64_t)(tag & 1) * partition.n_blocks * partition.mail_room;
}

/* And the positions of their parts of rows, for a slice; the beginnings of
 * their rows. */
static __device__ __forceinline__ uint32_t *
parts_of(const vly_cuda_partition &partition, uint32_t tag, uint32_t slice)
{
    return partition.parts +
           ((uint64_t)(tag & 1) * partition.n_slices + slice) *
               partition.n_blocks * partition.post;
}

static __device__ __forceinline__ uint32_t *
rows_of(const vly_cuda_partition &partition, uint32_t tag)
{
    return partition.rows +
           (uint64_t)(tag & 1) * partition.n_blocks * partition.post;
}

static __device__ __forceinline__ uint32_t *
own_mail(const vly_cuda_partition &partition, uint32_t tag)
{
    return mail_of(partition, tag) + (uint64_t)blockIdx.x * partition.mail_room;
}

/* ---- of a span ---- */

/* Posted parts of a slice of this device, and beginnings of rows: of the spikes
 * of all blocks, in order. */
static __device__ __forceinline__ const uint32_t *
span_parts_of(const vly_cuda_partition &partition, uint32_t slice)
{
    return partition.parts +
           (uint64_t)(slice - partition.first_slice) * partition.post;
}

static __device__ __forceinline__ uint64_t *
span_rows_of(const vly_cuda_partition &partition)
{
    return (uint64_t *)partition.rows;
}

/* The block's number over all devices. */
static __device__ __forceinline__ uint32_t
span_block_number(const vly_cuda_partition &partition)
{
    return partition.first_slice * partition.cluster + blockIdx.x;
}

/* The number of a burst goes on from launch to launch: no device may clear its
 * gate or its mail when another one may have begun. */
static __device__ __forceinline__ uint32_t
span_number(const vly_cuda_partition &partition, uint32_t tag)
{
    return partition.span.tag + tag;
}

/* Where the mail of a block begins in the mail of every device. */
static __device__ __forceinline__ uint64_t
span_mail_at(const vly_cuda_partition &partition, uint32_t tag, uint32_t block)
{
    return ((uint64_t)(tag & 1) * partition.n_blocks + block) *
           partition.mail_room;
}

#endif
