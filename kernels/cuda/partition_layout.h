/* SPDX-License-Identifier: Apache-2.0
 * Layout of the shared memory of a block of the partitioned plan, its size, and
 * the place of a neuron in it. C and CUDA C++, so that sizes and places can be
 * tested without a device.
 */
#ifndef VOLLEY_CUDA_PARTITION_LAYOUT_H
#define VOLLEY_CUDA_PARTITION_LAYOUT_H

#include "narrow_sums.h"
#include "partition_kernels.h"
#include "program_kernels.h"

#define SPARE_WORDS 32u

#define GATE_WARPS (VLY_CUDA_PARTITION_BLOCKS / 32)

/* The data of an area and of its first stimulus for an update, in one place:
 * registers are scarce here, and following pointers is slow. */
typedef struct partition_area {
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
    uint32_t divisor; /* of its weights, where sums are of 16 bits; else 1 */
    uint32_t reserved;
} partition_area;

typedef struct partition_shared {
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
    uint32_t lost; /* 1 + the block of a span that was waited for too long */
    /* of a span: rows of the block's neurons, 0 if no area is packed; those
     * that warps have taken in this burst, to draw for later ones */
    uint32_t n_drawn;
    uint32_t drawn;
} partition_shared;

#if defined(__CUDACC__)
#define VLY_LAYOUT_FN static __host__ __device__ __forceinline__
#else
#define VLY_LAYOUT_FN static inline
#endif

/* Accumulators of a burst, of one set. */
VLY_LAYOUT_FN uint32_t partition_set(const vly_cuda_partition *partition)
{
    return partition->slice / partition->sets;
}

/* Words of accumulators that a block has. */
VLY_LAYOUT_FN uint32_t partition_words(const vly_cuda_partition *partition)
{
    if (partition->narrow != 0)
        return partition->slice / 2;
    return partition->ring * (partition->slice - partition->once);
}

/* Words for the spikes of all blocks of a span: of the blocks before each in
 * its group of 32, of each group, of the groups before each. */
VLY_LAYOUT_FN uint32_t
partition_span_groups(const vly_cuda_partition *partition)
{
    return (partition->n_blocks + 31) / 32;
}

VLY_LAYOUT_FN uint32_t partition_span_words(const vly_cuda_partition *partition)
{
    return partition->span.n > 0 ? 34 * partition_span_groups(partition) : 0;
}

/* Bytes of dynamic shared memory: accumulators, a spare word for each lane,
 * areas [n_areas], counts [max_delay] of the last bursts, words of a span,
 * users' models. */
VLY_LAYOUT_FN uint64_t partition_dynamic(const vly_cuda_view *view,
                                         const vly_cuda_partition *partition)
{
    const uint64_t words = (uint64_t)partition_words(partition) + SPARE_WORDS +
                           view->max_delay + partition_span_words(partition);
    return words * sizeof(uint32_t) +
           (uint64_t)view->n_areas * sizeof(partition_area) +
           vly_cuda_block_programs_bytes(view);
}

/* And of partition_shared: the compiler rounds up what it places. */
VLY_LAYOUT_FN uint64_t partition_static(void)
{
    return (sizeof(partition_shared) + 255) / 256 * 256;
}

/* Tile that a block updates as its number q. */
VLY_LAYOUT_FN uint32_t partition_tile(const vly_cuda_partition *partition,
                                      uint32_t slice, uint32_t rank, uint32_t q)
{
    return (rank + q * partition->cluster) * partition->n_slices + slice;
}

/* Where a neuron has its accumulator. */
typedef struct neuron_place {
    uint32_t slice;
    uint32_t at; /* among the places of a burst */
    uint32_t area;
    uint32_t rank;  /* of the block that updates it */
    uint32_t extra; /* word of its input from the host */
} neuron_place;

/* Neuron i of an area whose tiles begin at area_tile. */
VLY_LAYOUT_FN neuron_place place_neuron(const vly_cuda_partition *partition,
                                        uint32_t area, uint32_t i,
                                        uint32_t area_tile)
{
    const uint32_t tile = area_tile + i / partition->tile;
    const uint32_t number = tile / partition->n_slices;
    const uint32_t in_tile = i % partition->tile;
    neuron_place to;
    to.slice = tile % partition->n_slices;
    to.area = area;
    to.rank = number % partition->cluster;
    to.extra = tile * partition->tile + in_tile;
    to.at = number * partition->tile;
    if (partition->once != 0) { /* of a pair: see vly_cuda_partition */
        const uint32_t own = number / 2 * partition->tile;
        if (own >= partition->once)
            to.at -= partition->once;
        else
            to.at = own +
                    (number % 2 == 0 ? 0 : partition->slice - partition->once);
        to.at += VLY_CUDA_PAIR_PLACE;
    }
    to.at += partition->narrow != 0 ? vly_narrow_place(in_tile) : in_tile;
    return to;
}

#endif
