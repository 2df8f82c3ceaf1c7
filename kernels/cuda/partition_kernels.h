/* SPDX-License-Identifier: Apache-2.0
 * Plan partitioned, for many events a burst: structures on the device and
 * launchers.
 */
#ifndef VOLLEY_CUDA_PARTITION_KERNELS_H
#define VOLLEY_CUDA_PARTITION_KERNELS_H

#include "cuda_kernels.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- burst_partition.cu ------------------------------------------------- */

/* neurons of a tile that a lane updates at most */
#define VLY_CUDA_TILE_ROWS 4u
#define VLY_CUDA_PARTITION_BLOCKS 256u /* blocks at most */
#define VLY_CUDA_PARTITION_DELAY 4096u /* max_delay at most */
#define VLY_CUDA_CLUSTER 8u            /* blocks of a slice at most */
/* groups at most: more reads of a row are not worth it */
#define VLY_CUDA_PARTITION_GROUPS 8u

/* Consecutive neurons of one area that a warp updates together. Tile T belongs
 * to slice T % n_slices, where it is number T / n_slices. */
typedef struct vly_cuda_slice_tile {
    uint32_t area;
    uint32_t state; /* word of the first field of the first neuron */
    uint32_t n;     /* at most that of the partition */
    uint32_t id;    /* global id of the first neuron */
} vly_cuda_slice_tile;

/* Of a pair: no neuron has place 0, which padding words use. */
#define VLY_CUDA_PAIR_PLACE 32u

/* A span: one net on several devices, whose slices and blocks are numbered over
 * all of them. Each device has the rows, accumulators and state of its own
 * slices, and a gate and a mail of all blocks, which every block writes to on
 * all devices and reads on its own. */
#define VLY_CUDA_SPAN_DEVICES 8u
typedef struct vly_cuda_span {
    uint32_t *gate[VLY_CUDA_SPAN_DEVICES];
    uint64_t *mail[VLY_CUDA_SPAN_DEVICES]; /* [2][n_blocks][mail_room]: the
                                              number of the burst and an id */
    uint64_t log_room;  /* spikes that the log of each device can hold */
    uint64_t limit_ns;  /* of a wait for another block */
    uint32_t n;         /* devices; 0: no span */
    uint32_t device;    /* number of this one */
    uint32_t tag;       /* number of the launch's first burst, less 1 */
    uint32_t is_shared; /* 1: all are one device, which they divide */
} vly_cuda_span;

#define VLY_CUDA_INDEX_PARTS 12u  /* of a word of the index */
#define VLY_CUDA_INDEX_UNITS 255u /* of a part that it can tell */
/* Bits of a position in the index. A span with units of one synapse may have
 * more units than that: `first` then has the low bits, and a group the words of
 * the index from which on the rest is 1, 2, 3. Fewer bits for tests. */
#ifndef VLY_CUDA_INDEX_BITS
#define VLY_CUDA_INDEX_BITS 32
#endif
#define VLY_CUDA_INDEX_CARRIES 3u

/* Position of the parts of a row, in units: the first one and the length of
 * each; parts are adjacent. */
typedef struct vly_cuda_index_word {
    uint32_t first;
    uint8_t n[VLY_CUDA_INDEX_PARTS];
} vly_cuda_index_word;

/* Synapses whose delay is in [base_delay, base_delay + ring), in rows by
 * source; within a row they are ordered by slice, padded with weights of 0 to
 * units of 1, 2 or 4 synapses that are read at once. index holds their
 * positions: one read of a word gives position and length of a part. If a part
 * is too long for it, index_words is 0, and slice s has [index[s], index[s +
 * 1]) of own_slices + 1 words of 32 bits of the source, in units. Slices are
 * counted from the device's first one. A synapse is
 * one word: (delay - base_delay) * slice + place of its target (16 bits) and
 * the weight (16 bits); with sums of 16 bits vly_narrow_synapse. */
typedef struct vly_cuda_partition_group {
    const void *index; /* [n_neurons][index_words] of vly_cuda_index_word */
    const uint32_t *synapses;
    uint32_t base_delay;
    uint32_t index_words; /* own_slices / VLY_CUDA_INDEX_PARTS, rounded up */
    /* of a span with units of one synapse: words of the index, or UINT64_MAX */
    uint64_t carry[VLY_CUDA_INDEX_CARRIES];
} vly_cuda_partition_group;

/* Every slice has its accumulators in the shared memory of each block of a
 * cluster; each of them delivers a part of the spikes, and the update adds up
 * their copies. If two copies do not fit, each block of a pair has `once`
 * accumulators that the other lacks and adds to remotely: of the `slice` places
 * in synapses, which begin at VLY_CUDA_PAIR_PLACE then, the first `once` are
 * those of block 0, the last those of block 1, and those between are in both.
 *
 * Besides the ids of its spikes, a block may post the positions of their parts
 * in the rows of the group with base_delay 1: for each slice a word for each
 * spike, length in the low 8 bits, above them the distance from the row's
 * start, in units; starts of rows are in `rows`. Then slices read adjacent
 * words instead of one word of the index for each spike. In a span the blocks
 * of a device post those of its own slices, for the first `post` spikes of all
 * blocks, after the gate. */
typedef struct vly_cuda_partition {
    const vly_cuda_partition_group *groups; /* [n_groups] */
    const vly_cuda_slice_tile *tiles;       /* [n_tiles] */
    const uint32_t *area_tile;              /* [n_areas] first tile */
    /* [n_areas] neurons of the area before the first one of this rank; NULL:
     * 0 */
    const uint32_t *area_low;
    uint32_t *state;   /* of the net, as in a snapshot */
    uint32_t *at_rest; /* [own_slices][ring][slice] input in flight */
    uint32_t *draws;   /* [n_tiles * tile] of four bursts, packed; in a span [2]
                          of that */
    uint32_t *gate;    /* [2][n_blocks] tag and spikes of each block; in a span
                          [n_blocks] more: of the parts posted */
    uint32_t *mail;  /* [2][n_blocks][mail_room] their ids; unused in a span */
    uint32_t *parts; /* [2][n_slices][n_blocks][post], if any are posted; in a
                        span [own_slices][post] */
    uint32_t *rows;  /* [2][n_blocks][post]; in a span [post] of 64 bits */
    uint32_t *extra; /* [n_tiles * tile] of the host; 0 at rest */
    const uint32_t *divisor; /* [n_areas] of the weights, if narrow */
    uint32_t n_groups;
    uint32_t n_tiles;
    uint32_t tile; /* neurons of a tile: 32 times 1 to VLY_CUDA_TILE_ROWS */
    uint32_t n_slices;
    uint32_t cluster;   /* blocks of a slice: 1 to 8 */
    uint32_t ring;      /* bursts of accumulators */
    uint32_t slice;     /* accumulators of one burst, of a slice */
    uint32_t once;      /* of them, that the other block of a pair lacks */
    uint32_t mail_room; /* neurons that a block updates at most */
    uint32_t post;      /* spikes of a block whose parts are posted at most; in
                           a span, of all blocks, a multiple of 32 */
    uint32_t unit;      /* synapses read at once: 1, 2 or 4 */
    uint32_t narrow;    /* 1: two accumulators in a word (narrow_sums.h) */
    uint32_t deal;      /* turns of a warp from which on they are dealt; 0:
                           never */
    uint16_t sets; /* of accumulators, one for each class of shifts: the slice
                      of a burst has one set after the other */
    uint16_t step; /* of the shifts of sets (shift_classes.h) */
    uint32_t n_blocks;    /* n_slices * cluster */
    uint32_t first_slice; /* of this device */
    uint32_t own_slices;  /* of this device; all, if there is no span */
    uint32_t post_least;  /* in a span: bursts of fewer spikes post nothing */
    vly_cuda_span span;
} vly_cuda_partition;

/* Bytes of shared memory that a block takes. */
uint64_t vly_cuda_partition_bytes(const vly_cuda_view *view,
                                  const vly_cuda_partition *partition);
/* Clusters of its blocks with so much shared memory that run at once; 0 where
 * the device has no clusters or too little memory. Allows that much memory to
 * launches with the same view, unit and narrow, and once or none. */
cudaError_t vly_cuda_partition_clusters(const vly_cuda_view *view,
                                        const vly_cuda_partition *partition,
                                        uint64_t bytes, uint32_t *n_clusters);
/* The instance of the kernel beside unit, as in its name. */
uint32_t vly_cuda_partition_kind(const vly_cuda_partition *partition);
/* Runs bursts; records of them and the gate must be 0. spliced: the same
 * instance with users' models, compiled by the driver, or NULL. */
cudaError_t vly_cuda_launch_partition(const vly_cuda_view *view,
                                      const vly_cuda_launch *launch,
                                      const vly_cuda_partition *partition,
                                      const void *spliced, cudaStream_t stream);
/* The same on one device of a span (burst_span.cu), whose gate stays as it is:
 * tags go on from launch to launch. All devices must be launched before any is
 * waited for. done->barrier becomes 1 + the number of a block that was waited
 * for longer than the limit; then nothing else there is valid. */
cudaError_t vly_cuda_launch_span(const vly_cuda_view *view,
                                 const vly_cuda_launch *launch,
                                 const vly_cuda_partition *partition,
                                 const void *spliced, cudaStream_t stream);
/* As vly_cuda_partition_clusters. */
cudaError_t vly_cuda_span_clusters(const vly_cuda_view *view,
                                   const vly_cuda_partition *partition,
                                   uint64_t bytes, uint32_t *n_clusters);
/* Puts the events in flight of spikes that a group delivered `ago` bursts
 * before `burst` into at_rest. */
cudaError_t vly_cuda_launch_partition_restore(
    const vly_cuda_view *view, const vly_cuda_partition *partition,
    uint64_t burst, uint32_t group, uint32_t ago, cudaStream_t stream);

/* ---- build_partition.cu ------------------------------------------------ */

/* offset[source][slice + 1] += synapses of `from` that belong to a group; away,
 * or NULL: [source][slice], of them in its low half those that only block 0 of
 * a pair has, in the upper half those of block 1 */
cudaError_t vly_cuda_launch_partition_count(const vly_cuda_view *view,
                                            const vly_cuda_group *from,
                                            const vly_cuda_partition *partition,
                                            uint32_t base_delay,
                                            uint32_t *offset, uint32_t *away,
                                            cudaStream_t stream);
/* Counts to starts: offset[s + 1] is where slice s begins, in synapses filled
 * up to units; length[source] the whole row in units, *longest the longest
 * part. Where away is not NULL, parts have as many units as order needs. */
cudaError_t vly_cuda_launch_partition_scan(uint32_t n_neurons,
                                           const vly_cuda_partition *partition,
                                           const uint32_t *away,
                                           uint32_t *offset, uint64_t *length,
                                           uint32_t *longest,
                                           cudaStream_t stream);
/* Puts synapses in their places, which must be 0 before; offset[s + 1] moves
 * to the end of slice s. */
cudaError_t vly_cuda_launch_partition_fill(const vly_cuda_view *view,
                                           const vly_cuda_group *from,
                                           const vly_cuda_partition *partition,
                                           uint32_t base_delay,
                                           const uint64_t *row,
                                           uint32_t *offset, uint32_t *synapses,
                                           cudaStream_t stream);
/* Of a pair: moves synapses of places that only block 0 has to the first words
 * of their part's units, and those of block 1 to the last words, where the
 * other block looks for them. offset[s + 1] becomes the end of the last unit of
 * slice s. */
cudaError_t vly_cuda_launch_partition_order(
    uint32_t n_neurons, const vly_cuda_partition *partition,
    const uint64_t *row, const uint32_t *away, uint32_t *offset,
    uint32_t *synapses, cudaStream_t stream);
/* Ends of parts in synapses of their row to those in units of all rows, where
 * the first begins at 0 and the others at row[source]. */
cudaError_t vly_cuda_launch_partition_ends(uint32_t n_neurons,
                                           const vly_cuda_partition *partition,
                                           const uint64_t *row,
                                           uint32_t *offset,
                                           cudaStream_t stream);
/* The same ends, in synapses, to an index. carry, or NULL: that of a group, all
 * ~0 before. */
cudaError_t vly_cuda_launch_partition_index(
    uint32_t n_neurons, const vly_cuda_partition *partition,
    const uint64_t *row, const uint32_t *offset, uint32_t n_words,
    vly_cuda_index_word *index, uint64_t *carry, cudaStream_t stream);

/* ---- build_span.cu ------------------------------------------------------ */

/* As vly_cuda_launch_partition_count and _fill, straight from a piece of a
 * projection whose synapses have base_delay `from_delay`: a device of a span
 * has no room for all rows by source. */
cudaError_t vly_cuda_launch_span_count(const vly_cuda_view *view,
                                       const vly_cuda_part *part,
                                       const vly_cuda_partition *partition,
                                       uint32_t from_delay, uint32_t base_delay,
                                       uint32_t *offset, cudaStream_t stream);
cudaError_t vly_cuda_launch_span_fill(const vly_cuda_view *view,
                                      const vly_cuda_part *part,
                                      const vly_cuda_partition *partition,
                                      uint32_t from_delay, uint32_t base_delay,
                                      const uint64_t *row, uint32_t *offset,
                                      uint32_t *synapses, cudaStream_t stream);

#ifdef __cplusplus
}
#endif
#endif
