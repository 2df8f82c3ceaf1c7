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

/* ---- burst_learning.cu: the same with maps that learn ------------------ */

/* The order of kernels/rules/plasticity.def. */
enum {
#define VLY_EACH_PLASTICITY(id) VLY_CUDA_RULE_##id,
#include "kernels/rules/plasticity.def"
    VLY_CUDA_N_RULES
};
#define VLY_CUDA_RULE_COEFS 8u

/* Flags of vly_learning_desc. */
#define VLY_CUDA_LEARNING_DENDRITIC 2u
#define VLY_CUDA_LEARNING_NEAREST 4u
#define VLY_CUDA_LEARNING_FROZEN 8u
#define VLY_CUDA_LEARNING_WINDOW 16u
/* not a flag of the ABI: FEAGI targets */
#define VLY_CUDA_LEARNING_GAIN (1u << 31)
/* What is longer ago than the first gets the second as its age. */
#define VLY_CUDA_AGE_PERIOD (1u << 29)
#define VLY_CUDA_AGE_NEVER (1u << 30)

/* x k bursts after its spike is x * factor[k]: the numbers of vly_trace_at. */
#define VLY_CUDA_FACTORS (1u << 16) /* of a table at most */
typedef struct vly_cuda_trace {
    const float *factor; /* [n_factors] */
    uint32_t n_factors;  /* bursts, or FACTORS if there are more */
    float rate;
    uint32_t bursts; /* 0: the rule does not have it */
    uint32_t reserved;
} vly_cuda_trace;

/* The two words of a modulator in a snapshot. */
typedef struct vly_cuda_modulator {
    float value;
    uint32_t age;
} vly_cuda_modulator;

#define VLY_CUDA_NEWEST 12u

/* What nearly all synapses need of a target. Half of them need no more than the
 * first four bursts and the last 16 bytes. */
typedef struct vly_cuda_newest {
    uint32_t burst[VLY_CUDA_NEWEST]; /* of the last spikes, newest first */
    float after[2];                  /* traces y after the newest */
    uint32_t count;                  /* spikes so far, modulo 2^32 */
    uint32_t reserved;
} vly_cuda_newest;

/* A projection that learns; arrays as in vly_common_traces, on the device. */
typedef struct vly_cuda_learning {
    const uint64_t *row;    /* [n_sources + 1] */
    const uint32_t *target; /* global ids */
    int32_t *master;
    uint32_t *arrived;       /* [n_sources] */
    float *before[2];        /* [n_sources], or NULL */
    vly_cuda_newest *newest; /* [n_targets] */
    uint32_t *post;          /* [n_targets][mask + 1] */
    float *post_before[2];   /* or NULL */
    uint32_t *flushed;       /* [1] burst up to which all rows are up to date */
    uint32_t *full;          /* [1] burst that begins with a flush */
    /* WINDOW, of sources and targets; the arrays of spikes and traces are NULL
     */
    uint32_t *runs[2]; /* [n][2] run and last burst of each neuron */
    uint32_t *recent;  /* [2] burst of the newest spike */
    vly_cuda_trace source[2];
    vly_cuda_trace target_trace[2];
    uint32_t coefs[VLY_CUDA_RULE_COEFS];
    uint32_t rule; /* VLY_CUDA_RULE_* */
    uint32_t flags;
    uint32_t source_first;
    uint32_t n_sources;
    uint32_t target_first;
    uint32_t n_targets;
    uint32_t base_delay;
    uint32_t lag;
    uint32_t reach;
    uint32_t mask;
    uint32_t port;
    uint32_t sign; /* 1, or -1 modulo 2^32 */
    uint32_t shift;
    uint32_t most_parts; /* of a row: a warp each */
    uint32_t window;     /* D of a rule of windows */
    /* rules with an eligibility; otherwise interval is 0, pointers NULL */
    uint32_t interval; /* bursts */
    uint32_t modulator_first;
    uint32_t n_modulator;
    vly_cuda_trace modulator_trace;
    int32_t *eligibility;          /* [synapses] */
    vly_cuda_modulator *modulator; /* [1] */
} vly_cuda_learning;

/* The order of kernels/rules/short_term.def. */
enum {
#define VLY_EACH_SHORT_TERM(id) VLY_CUDA_SHORT_##id,
#include "kernels/rules/short_term.def"
    VLY_CUDA_N_SHORT_RULES
};

/* A source of a map with short-term plasticity, in 16 bytes. */
typedef struct vly_cuda_source {
    float x;
    float u;
    float y;
    uint32_t last; /* burst of its last spike */
} vly_cuda_source;

/* A projection with short-term plasticity. */
typedef struct vly_cuda_short_term {
    const uint64_t *row;    /* [n_sources + 1] */
    const uint32_t *target; /* global ids */
    const int16_t *weight;
    const uint8_t *delay;  /* NULL: all 0 */
    vly_cuda_source *head; /* [n_sources] after the spikes that arrived */
    vly_cuda_source *tail; /* [n_sources] after those not under way any more */
    uint32_t coefs[VLY_CUDA_RULE_COEFS];
    uint32_t rule; /* VLY_CUDA_SHORT_* */
    uint32_t bursts;
    uint32_t source_first;
    uint32_t n_sources;
    uint32_t base_delay;
    uint32_t reach; /* base_delay and the largest further delay */
    uint32_t port;  /* 2: by sign */
    uint32_t shift;
    uint32_t most_parts; /* of a row: a warp each */
    uint32_t reserved;
} vly_cuda_short_term;

typedef struct vly_cuda_learnings {
    const vly_cuda_learning *list;         /* [n] on the device */
    const vly_cuda_short_term *short_term; /* [n_short] on the device */
    uint32_t n;
    uint32_t n_short;
} vly_cuda_learnings;

/* As vly_cuda_launch_global. */
cudaError_t vly_cuda_launch_learning(const vly_cuda_view *view,
                                     const vly_cuda_launch *launch,
                                     const vly_cuda_learnings *learnings,
                                     uint32_t n_blocks, cudaStream_t stream);
/* Brings all synapses up to date at `burst`. At least once in 2^28 bursts. */
cudaError_t vly_cuda_launch_learning_flush(const vly_cuda_learnings *learnings,
                                           uint64_t burst, uint32_t n_blocks,
                                           cudaStream_t stream);
/* short_term.cu, between launches: the head becomes the tail; the events of the
 * spikes of burst `fired` that arrive in `burst` or later are delivered (sign
 * 1) or taken away (-1), and the head goes on; ages are renewed, at least once
 * in 2^28 bursts. */
cudaError_t vly_cuda_launch_short_term_reset(const vly_cuda_short_term *s,
                                             cudaStream_t stream);
cudaError_t vly_cuda_launch_short_term_again(const vly_cuda_view *view,
                                             const vly_cuda_short_term *s,
                                             uint64_t burst, uint64_t fired,
                                             uint32_t sign,
                                             cudaStream_t stream);
cudaError_t vly_cuda_launch_short_term_renew(const vly_cuda_short_term *s,
                                             uint64_t burst,
                                             cudaStream_t stream);
/* *sum += hashes of words [0, n), which are words [at, at + n) of the weights
 * of a snapshot */
cudaError_t vly_cuda_launch_weights_digest(const uint32_t *words, uint64_t n,
                                           uint64_t at, uint64_t *sum,
                                           cudaStream_t stream);

/* ---- modulator.cu: eligibilities, between launches --------------------- */

/* A value of the host for a modulator. */
typedef struct vly_cuda_given {
    uint64_t burst;
    uint32_t number; /* of the map among those that learn */
    int32_t value;
} vly_cuda_given;

/* Weights of the maps whose interval divides the burst change; all maps are
 * flushed. */
cudaError_t vly_cuda_launch_sweep(const vly_cuda_learnings *learnings,
                                  uint64_t burst, uint32_t n_blocks,
                                  cudaStream_t stream);
/* After a launch that keeps its spikes: all modulators at its end. given
 * [n_given] on the device, sorted by burst. */
cudaError_t vly_cuda_launch_modulators(const vly_cuda_view *view,
                                       const vly_cuda_learnings *learnings,
                                       const vly_cuda_launch *launch,
                                       const vly_cuda_given *given,
                                       uint32_t n_given, cudaStream_t stream);

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
/* Runs bursts; records of them must be 0, and no mail may have a tag of
 * theirs, which must stay below 65536. */
cudaError_t vly_cuda_launch_resident(const vly_cuda_view *view,
                                     const vly_cuda_launch *launch,
                                     const vly_cuda_resident *resident,
                                     cudaStream_t stream);
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

/* ---- burst_partition.cu: many events a burst ---------------------------- */

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
 * words instead of one word of the index for each spike. */
typedef struct vly_cuda_partition {
    const vly_cuda_partition_group *groups; /* [n_groups] */
    const vly_cuda_slice_tile *tiles;       /* [n_tiles] */
    const uint32_t *area_tile;              /* [n_areas] first tile */
    /* [n_areas] neurons of the area before the first one of this rank; NULL:
     * 0 */
    const uint32_t *area_low;
    uint32_t *state;   /* of the net, as in a snapshot */
    uint32_t *at_rest; /* [own_slices][ring][slice] input in flight */
    uint32_t *draws;   /* [n_tiles * tile] of four bursts, packed */
    uint32_t *gate;    /* [2][n_blocks] tag and spikes of each block */
    uint32_t *mail;  /* [2][n_blocks][mail_room] their ids; unused in a span */
    uint32_t *parts; /* [2][n_slices][n_blocks][post], if any are posted */
    uint32_t *rows;  /* [2][n_blocks][post] */
    uint32_t *extra; /* [n_tiles * tile] of the host; 0 at rest */
    const uint32_t *divisor; /* [n_areas] of the weights, if narrow */
    uint32_t n_groups;
    uint32_t n_tiles;
    uint32_t tile; /* neurons of a tile: 32 times 1 to VLY_CUDA_TILE_ROWS */
    uint32_t n_slices;
    uint32_t cluster;   /* blocks of a slice: 1, 2, 4 or 8 */
    uint32_t ring;      /* bursts of accumulators */
    uint32_t slice;     /* accumulators of one burst, of a slice */
    uint32_t once;      /* of them, that the other block of a pair lacks */
    uint32_t mail_room; /* neurons that a block updates at most */
    uint32_t post;      /* spikes of a block whose parts are posted at most */
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
    uint32_t reserved;
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
/* Runs bursts; records of them and the gate must be 0. */
cudaError_t vly_cuda_launch_partition(const vly_cuda_view *view,
                                      const vly_cuda_launch *launch,
                                      const vly_cuda_partition *partition,
                                      cudaStream_t stream);
/* The same on one device of a span (burst_span.cu), whose gate stays as it is:
 * tags go on from launch to launch. All devices must be launched before any is
 * waited for. done->barrier becomes 1 + the number of a block that was waited
 * for longer than the limit; then nothing else there is valid. */
cudaError_t vly_cuda_launch_span(const vly_cuda_view *view,
                                 const vly_cuda_launch *launch,
                                 const vly_cuda_partition *partition,
                                 cudaStream_t stream);
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

/* Rows of n_sources neurons from source_first on, as one projection has them;
 * pointers to the device, row[0] is the position of the first synapse. */
typedef struct vly_cuda_part {
    const uint64_t *row;    /* [n_sources + 1] of the projection */
    const uint32_t *target; /* from row[0] on */
    const int16_t *weight;
    const uint8_t *delay;  /* or NULL */
    uint32_t source_first; /* global id */
    uint32_t n_sources;
    uint32_t port;  /* 0, 1 or VLY_PORT_BY_SIGN */
    uint32_t gain;  /* 1: FEAGI target */
    uint32_t shift; /* of the weights */
    uint32_t plane; /* to be added to targets: ports 2 and 3 */
} vly_cuda_part;

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
