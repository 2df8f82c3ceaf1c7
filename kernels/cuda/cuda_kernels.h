/* SPDX-License-Identifier: Apache-2.0
 * Interface between the CUDA backend and its kernels: structures on the device
 * and launchers. Launchers only enqueue; nothing here allocates.
 *
 * Spikes go to a log, a ring of ids and gains with one record a burst; within a
 * burst they have any order (vly_cuda_launch_sort sorts them when they are
 * copied from the device). Sums over spikes do not depend on the order.
 */
#ifndef VOLLEY_CUDA_KERNELS_H
#define VOLLEY_CUDA_KERNELS_H

#include <cuda_runtime_api.h>
#include <stdint.h>

#include "kernels/models/model_lists.h"

#ifdef __cplusplus
extern "C" {
#endif

#define VLY_CUDA_MAX_FIELDS VLY_MODELS_MAX_FIELDS
#define VLY_CUDA_MAX_COEFS VLY_MODELS_MAX_COEFS
#define VLY_CUDA_THREADS 1024u
#define VLY_CUDA_THRESHOLDS 256u
/* bursts of one launch at most: tags of 16 bits and records do not repeat */
#define VLY_CUDA_LAUNCH_BURSTS 4096u

/* The order of kernels/models/models.def. */
enum {
#define VLY_EACH_MODEL(id) VLY_CUDA_MODEL_##id,
#include "kernels/models/models.def"
    VLY_CUDA_N_MODELS
};

typedef struct vly_cuda_area {
    uint32_t first; /* global id */
    uint32_t n;
    uint32_t model; /* VLY_CUDA_MODEL_* */
    uint32_t feagi; /* 1: updates candidates only */
    float scale[2];
    uint32_t stimulus_first; /* its part of vly_cuda_view.stimuli */
    uint32_t n_stimuli;
    uint32_t *field[VLY_CUDA_MAX_FIELDS]; /* [n] */
    const uint32_t *coef[VLY_CUDA_MAX_COEFS];
    /* 0 if uniform, else ~0; of users' models the bits of the scales of ports 2
     * and 3 */
    uint32_t coef_mask[VLY_CUDA_MAX_COEFS];
    uint32_t uniform; /* 1: all of them are */
    uint32_t reserved;
} vly_cuda_area;

typedef struct vly_cuda_stimulus {
    uint64_t start;
    uint64_t stop;
    const uint32_t *thresholds;
    uint32_t first; /* global id */
    uint32_t n;
    uint32_t stream;
    uint32_t n_thresholds;
    int32_t base;
    int32_t step;
    uint32_t port;
    uint32_t always;
} vly_cuda_stimulus;

/* A synapse is one word of 64 bits: target (32), weight (16), delay (8), and
 * flags (8) from the low end. A synapse of port 2 or 3 is stored as one of port
 * 0 or 1 whose target is larger by twice the number of neurons, so that kernels
 * that deliver have no code for these ports. */
#define VLY_CUDA_SYNAPSE_PORT 1u /* port 1 */
#define VLY_CUDA_SYNAPSE_GAIN 2u /* FEAGI target */
/* How many steps of SHIFT_STEP, that of the ABI, a weight is shifted by: two
 * bits from here on. */
#define VLY_CUDA_SHIFT_STEP 6u
#define VLY_CUDA_SYNAPSE_SHIFT 2u

/* Every synapse with one base delay, in rows by source. */
typedef struct vly_cuda_group {
    const uint64_t *row; /* [n_neurons + 1] */
    const uint64_t *synapses;
    uint32_t base_delay;
    uint32_t delay_max;
} vly_cuda_group;

typedef struct vly_cuda_tile {
    uint32_t area;
    uint32_t first; /* within the area */
    uint32_t n;     /* at most VLY_CUDA_THREADS */
} vly_cuda_tile;

/* One burst of the log. */
typedef struct vly_cuda_record {
    uint64_t start; /* position of its first spike, modulo the capacity */
    uint64_t digest;
    uint32_t count;
    uint32_t reserved;
} vly_cuda_record;

/* Data that does not change within a launch. All pointers are device pointers.
 */
typedef struct vly_cuda_view {
    const vly_cuda_area *areas;
    const vly_cuda_tile *tiles;
    const vly_cuda_stimulus *stimuli;
    const vly_cuda_group *groups;
    const uint32_t *out_degree;
    uint32_t *input; /* [ring][n_ports][n_neurons] accumulators */
    uint8_t *mark;   /* [ring][n_neurons] 1: candidate; NULL without FEAGI */
    uint32_t *draws; /* [n_neurons] of four bursts, packed; plan global, NULL
                        with FEAGI areas or two ports */
    uint32_t *log_ids;
    uint32_t *log_gains;
    vly_cuda_record *records; /* [record_mask + 1] by burst */
    uint32_t *barrier;        /* [1] arrivals, 0 before a launch */
    uint64_t log_mask;
    uint32_t record_mask;
    uint32_t n_neurons;
    uint32_t n_areas;
    uint32_t n_tiles;
    uint32_t n_groups;
    uint32_t n_ports;
    uint32_t ring; /* slots of input and mark */
    uint32_t max_delay;
    uint32_t key_low; /* seed_input */
    uint32_t key_high;
    uint32_t feagi_q;
    uint32_t model; /* the one of all areas, or VLY_CUDA_N_MODELS */
    /* of a rank: the neurons that it updates; otherwise all */
    uint32_t own_first;
    uint32_t n_own;
    /* [n_areas] users' models (program_kernels.h), and the coefficients of the
     * one that has most; NULL and 0: no area has one */
    const struct vly_cuda_program *programs;
    uint32_t program_coefs;
    uint32_t reserved;
} vly_cuda_view;

/* Input of the host: vly_input without the burst. */
typedef struct vly_cuda_input {
    uint32_t neuron;
    uint32_t port;
    int32_t value;
    uint32_t feagi;
} vly_cuda_input;

#define VLY_CUDA_DONES 64u /* cleared at once, one for each launch */

/* Results of a launch. The backend clears it before. */
typedef struct vly_cuda_done {
    uint64_t head;
    uint64_t n_events;
    uint64_t n_candidates;
    uint64_t cycles[3]; /* of one block: delivery, update, waiting */
    uint64_t digest;    /* room for the state digest */
    uint32_t n_bursts;
    uint32_t barrier; /* room for vly_cuda_view.barrier */
} vly_cuda_done;

/* Results of a launch of a few bursts, written to host memory by the device. */
#define VLY_CUDA_SHORT_BURSTS 8u     /* bursts of such a launch at most */
#define VLY_CUDA_WATCHES 5u          /* ranges at most */
#define VLY_CUDA_PUBLISH_WORDS 4096u /* of all ranges */

/* Device words that the host requests, stored at words[at]. */
typedef struct vly_cuda_watch {
    const uint32_t *from;
    uint32_t n;
    uint32_t at;
} vly_cuda_watch;

typedef struct vly_cuda_watches {
    vly_cuda_watch list[VLY_CUDA_WATCHES];
    uint32_t n;
    uint32_t number; /* of the launch: published in flag when all is there */
} vly_cuda_watches;

/* Pinned memory of the host, written by the device. */
typedef struct vly_cuda_published {
    uint32_t flag;
    uint32_t reserved[3];
    vly_cuda_done done;
    vly_cuda_record records[VLY_CUDA_SHORT_BURSTS];
    uint32_t words[VLY_CUDA_PUBLISH_WORDS];
} vly_cuda_published;

/* One launch: bursts [burst, burst + n_bursts), fewer if the log is full. */
typedef struct vly_cuda_launch {
    uint64_t burst;
    uint64_t head;       /* log position of the first spike */
    uint64_t head_limit; /* no burst may begin that could pass it */
    uint32_t n_bursts;
    uint32_t keep; /* 1: spikes from head on have not been drained */
    const vly_cuda_input *inputs;
    const uint32_t *input_row; /* [n_bursts + 1], or NULL without inputs */
    vly_cuda_done *done;
} vly_cuda_launch;

/* ---- burst_global.cu: accumulators in global memory -------------------- */

/* Blocks of VLY_CUDA_THREADS that can run at once on one multiprocessor, 0 if
 * there is no code for the device. */
cudaError_t vly_cuda_global_occupancy(const vly_cuda_view *view, int *blocks);
/* Runs bursts; records of them and the barrier must be 0. */
cudaError_t vly_cuda_launch_global(const vly_cuda_view *view,
                                   const vly_cuda_launch *launch,
                                   uint32_t n_blocks, cudaStream_t stream);
/* Restores the events in flight of spikes of bursts before `burst`. */
cudaError_t vly_cuda_launch_restore(const vly_cuda_view *view, uint64_t burst,
                                    uint32_t group, uint32_t ago,
                                    cudaStream_t stream);

/* ---- burst_resident.cu: accumulators in shared memory ------------------ */

/* Sources of one area have segments of the same size in a block, and those
 * with more synapses a rest of the same size. */
typedef struct vly_cuda_class {
    uint64_t at;      /* of the first source's segment, in quads of the part */
    uint64_t rest_at; /* of the first rest */
    uint32_t first;   /* global id */
    uint32_t quads;   /* of four synapses in a segment */
    uint32_t rest_quads;
    uint32_t rest_first; /* sources of the block marked before this class */
} vly_cuda_class;

/* Bits: which of 32 sources have a rest. */
typedef struct vly_cuda_marks {
    uint32_t bits;
    uint32_t before; /* sources marked before these */
} vly_cuda_marks;
/* of a block and part; an even number */
#define VLY_CUDA_MARKS(n_neurons) (((n_neurons) / 64u + 1u) * 2u)

/* Two sets of segments: events of the next burst are urgent, the others are
 * delivered while mail is in flight. */
enum { VLY_CUDA_URGENT, VLY_CUDA_LATER, VLY_CUDA_N_PARTS };

typedef struct vly_cuda_segments {
    const uint32_t *synapses;      /* [n_quads] of four words, block by block */
    const vly_cuda_class *classes; /* [n_blocks][n_areas] */
    const vly_cuda_marks *marks;   /* [n_blocks][MARKS], or NULL: no rests */
    uint64_t n_quads;
    uint32_t quads;    /* of the longest segment with its rest */
    uint32_t shift;    /* 1 << shift threads share a segment */
    uint32_t marks_at; /* in shared memory, in marks */
    uint32_t reserved;
} vly_cuda_segments;

/* Neuron id belongs to block id % n_blocks, where it is number id / n_blocks. A
 * block keeps the accumulators of its neurons for max_delay bursts, and has a
 * segment for every source: synapses of 4 bytes, which hold (delay - 1) * slice
 * + number of the target (16 bits) and the weight (16 bits); words of 0 are
 * padding. If weights have shifts, each further max_delay * slice places are
 * the next class of shifts (shift_classes.h). If a segment has more synapses
 * than room, it continues in a rest; marks in shared memory show which sources
 * have a rest, and where, so it is read at the same time. */
typedef struct vly_cuda_resident {
    vly_cuda_segments part[VLY_CUDA_N_PARTS];
    uint32_t *ring;      /* [n_blocks][max_delay][slice] at rest */
    uint32_t *mail;      /* [2][MAIL_ROWS][n_blocks] of 16 bytes */
    uint32_t *mail_more; /* [2][n_blocks][slice] */
    uint32_t n_blocks;
    uint32_t slice;      /* neurons of a block at most */
    uint32_t lines;      /* of 16 bytes of mail that are polled */
    uint32_t split;      /* 0: everything is urgent */
    uint32_t copies;     /* of the mail */
    uint32_t line_shift; /* 1 << line_shift lines a copy, not all in use */
    uint32_t tag;        /* burst k of a launch has tag + k + 1 in its mail,
                          * different from all tags of earlier launches */
    uint32_t n_marks;    /* in the shared memory of a block, of both parts */
    uint32_t threads;    /* of a block at least: 512, 256 or 128 */
    uint32_t step;       /* of the classes of shifts; 0: there are none */
    uint32_t n_newest;   /* targets of maps that learn, of a block; 0: nothing
                          * learns (learner_kernels.h) */
    uint32_t near;       /* four times as many of their last spikes are in
                          * shared memory: 1 or 2 */
    uint32_t n_factors;  /* numbers in the tables of both traces, at the start
                          * of shared memory, for a kernel that has the rule of
                          * the only map that learns; a multiple of 4, or 0 */
    uint32_t reserved;
} vly_cuda_resident;

#define VLY_CUDA_MAIL_LINES 7u
#define VLY_CUDA_RESIDENT_THREADS 512u /* of a block at least, usually */
#define VLY_CUDA_MAIL_ROWS 32u         /* lines in all copies of the mail */
#define VLY_CUDA_MAIL_BLOCKS 256u      /* blocks at most */
#define VLY_CUDA_RESIDENT_AREAS 64u    /* areas at most */

/* Bytes of shared memory that a block takes. */
uint64_t vly_cuda_resident_bytes(const vly_cuda_view *view,
                                 const vly_cuda_resident *resident);
/* Allows that much; fails if the device has less. */
cudaError_t vly_cuda_resident_prepare(const vly_cuda_view *view,
                                      const vly_cuda_resident *resident);
/* Allows all of the shared memory to a kernel that the driver has compiled, of
 * this plan or the partitioned one. */
cudaError_t vly_cuda_spliced_prepare(const void *kernel);
/* The instance of the kernel for the next launch, by the maximum number of
 * threads of a block; 0: neurons are read and written in every burst. */
uint32_t vly_cuda_resident_threads(const vly_cuda_view *view,
                                   const vly_cuda_resident *resident);
/* Runs bursts; records of them must be 0, and no mail may have a tag of
 * theirs, which must stay below 65536. spliced: the same instance with users'
 * models, compiled by the driver, or NULL. */
cudaError_t vly_cuda_launch_resident(const vly_cuda_view *view,
                                     const vly_cuda_launch *launch,
                                     const vly_cuda_resident *resident,
                                     const void *spliced, cudaStream_t stream);
/* Puts the events in flight at `burst` of spikes of age bursts ago, 2 <= age <=
 * max_delay, into the ring. */
cudaError_t vly_cuda_launch_resident_restore(const vly_cuda_view *view,
                                             const vly_cuda_resident *resident,
                                             uint64_t burst, uint32_t age,
                                             cudaStream_t stream);

/* ---- build_segments.cu ------------------------------------------------- */

/* count[part][source][block] += synapses of one group */
cudaError_t vly_cuda_launch_segment_count(const vly_cuda_view *view,
                                          const vly_cuda_group *group,
                                          const vly_cuda_resident *resident,
                                          uint32_t *count, cudaStream_t stream);

/* How long the segments of an area are; 0 before. */
#define VLY_CUDA_SIZES 64u
typedef struct vly_cuda_sizes {
    uint64_t n[VLY_CUDA_SIZES]; /* segments of i quads; the last: or more */
    uint32_t largest[VLY_CUDA_MAIL_BLOCKS]; /* quads, by block */
} vly_cuda_sizes;

/* count[n_sources][n_blocks]: of the sources of one area */
cudaError_t vly_cuda_launch_segment_sizes(const uint32_t *count,
                                          uint32_t n_sources, uint32_t n_blocks,
                                          vly_cuda_sizes *sizes,
                                          cudaStream_t stream);
/* Marks the sources whose segments are longer than the quads of part->classes;
 * count[n_neurons][n_blocks] of the part. ranks[n_blocks][n_areas + 1]: sources
 * of the block marked before each area, and in all. */
cudaError_t vly_cuda_launch_segment_marks(const vly_cuda_view *view,
                                          uint32_t n_blocks,
                                          const vly_cuda_segments *part,
                                          const uint32_t *count,
                                          vly_cuda_marks *marks,
                                          uint32_t *ranks, cudaStream_t stream);
/* Fills segments and rests; count is the cursor of each and must be 0 before
 * the first group. */
cudaError_t vly_cuda_launch_segment_fill(const vly_cuda_view *view,
                                         const vly_cuda_group *group,
                                         const vly_cuda_resident *resident,
                                         uint32_t *const segments[2],
                                         uint32_t *count, cudaStream_t stream);

/* ---- spike_log.cu ------------------------------------------------------ */

/* Copies the spikes of n_bursts bursts to ids and gains (NULL: not wanted),
 * from the start of the first burst on, ascending within each burst. */
cudaError_t vly_cuda_launch_sort(const vly_cuda_view *view, uint64_t burst,
                                 uint32_t n_bursts, uint32_t *ids,
                                 uint32_t *gains, cudaStream_t stream);
/* counts[area] += spikes of a launch that has been enqueued before and keeps
 * the log (launch->keep). */
cudaError_t vly_cuda_launch_count_areas(const vly_cuda_view *view,
                                        const vly_cuda_launch *launch,
                                        uint64_t *counts, cudaStream_t stream);
/* Puts n spikes into the log from position `head` on, and the records of
 * n_bursts bursts in the place of theirs: what all ranks fired, after a launch
 * that fired this rank's part. All in pinned memory; gains NULL: 1 << feagi_q.
 */
cudaError_t vly_cuda_launch_take(const vly_cuda_view *view, uint64_t burst,
                                 uint32_t n_bursts,
                                 const vly_cuda_record *records, uint64_t head,
                                 uint64_t n, const uint32_t *ids,
                                 const uint32_t *gains, cudaStream_t stream);
/* Adds the digest of one field of an area to *digest. */
cudaError_t vly_cuda_launch_state_digest(const uint32_t *words, uint32_t first,
                                         uint32_t n, uint32_t field,
                                         uint64_t *digest, cudaStream_t stream);
/* Copies to larger rings: positions [from, to). */
cudaError_t vly_cuda_launch_log_move(const vly_cuda_view *view, uint64_t from,
                                     uint64_t to, uint32_t *ids,
                                     uint32_t *gains, uint64_t mask,
                                     cudaStream_t stream);

/* ---- publish.cu -------------------------------------------------------- */

/* Publishes the results of a launch that has been enqueued before: done,
 * records, ranges, then the flag. */
cudaError_t vly_cuda_launch_publish(const vly_cuda_view *view,
                                    const vly_cuda_launch *launch,
                                    const vly_cuda_watches *watches,
                                    vly_cuda_published *published,
                                    cudaStream_t stream);

/* ---- build_rows.cu ----------------------------------------------------- */

/* Rows of n_sources neurons from source_first on, as one projection has them;
 * pointers to the device, row[0] is the position of the first synapse. */
typedef struct vly_cuda_part {
    const uint64_t *row;    /* [n_sources + 1] of the projection */
    const uint32_t *target; /* from row[0] on */
    const int16_t *weight;  /* or NULL: all are one_weight */
    const uint8_t *delay;   /* or NULL */
    uint32_t source_first;  /* global id */
    uint32_t n_sources;
    uint32_t port;  /* 0, 1 or VLY_PORT_BY_SIGN */
    uint32_t gain;  /* 1: FEAGI target */
    uint32_t shift; /* of the weights */
    uint32_t plane; /* to be added to targets: ports 2 and 3 */
    int32_t one_weight;
    uint32_t reserved;
} vly_cuda_part;

/* length[source] += synapses of the part */
cudaError_t vly_cuda_launch_row_lengths(const vly_cuda_part *part,
                                        uint64_t *length, cudaStream_t stream);
/* row[i + 1] = row[1] + ... + row[i + 1] for n rows */
cudaError_t vly_cuda_launch_row_sums(uint64_t *row, uint32_t n,
                                     cudaStream_t stream);
/* Appends the part's synapses to their rows and moves cursor[source] on. */
cudaError_t vly_cuda_launch_row_fill(const vly_cuda_part *part,
                                     uint64_t *cursor, uint64_t *synapses,
                                     cudaStream_t stream);

#ifdef __cplusplus
}
#endif
#endif
