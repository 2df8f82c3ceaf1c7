/* SPDX-License-Identifier: Apache-2.0
 * Structures in the memory of a Vulkan device, for the backend (C11) and for
 * the shaders (GLSL, std430): the members are ordered so that neither adds
 * padding. Addresses are those of the device (bufferDeviceAddress), so the
 * range of a descriptor does not limit arrays.
 *
 * Spikes go to a log, a ring of ids and gains with one record a burst; within a
 * burst they have any order (sort.comp sorts them when they are copied from the
 * device). Sums over spikes do not depend on the order.
 */
#ifndef VOLLEY_VULKAN_BURST_LAYOUT_H
#define VOLLEY_VULKAN_BURST_LAYOUT_H

#include "kernels/models/digest.h"
#include "kernels/models/model.h"
#include "kernels/models/model_lists.h"

#define VLY_VULKAN_MAX_FIELDS VLY_MODELS_MAX_FIELDS
#define VLY_VULKAN_MAX_COEFS VLY_MODELS_MAX_COEFS
#define VLY_VULKAN_THRESHOLDS 256u
/* bursts of one submission at most */
#define VLY_VULKAN_LAUNCH_BURSTS 256u

VLY_STRUCT(vly_vulkan_area)
{
    VLY_U64 field[VLY_VULKAN_MAX_FIELDS];    /* addresses of [n] words */
    VLY_U64 coef[VLY_VULKAN_MAX_COEFS];      /* addresses of 1 or [n] words */
    VLY_U32 coef_word[VLY_VULKAN_MAX_COEFS]; /* of those that are uniform */
    VLY_F32 scale[2];
    VLY_U32 first; /* global id */
    VLY_U32 n;
    VLY_U32 feagi;          /* 1: updates candidates only */
    VLY_U32 stimulus_first; /* its part of the stimuli */
    VLY_U32 n_stimuli;
    VLY_U32 coefs_vary; /* bit k: coefficient k is not uniform */
};

/* Coefficients of an area with a user's model, whose coef[0] is the address of
 * this; its fields follow each other from field[0] on. The bits of the scales
 * of its ports 2 and 3 are coef_word[0] and [1]. */
#define VLY_VULKAN_PROGRAM_COEFS 160u
VLY_STRUCT(vly_vulkan_program_coefs)
{
    VLY_U64 column[VLY_VULKAN_PROGRAM_COEFS]; /* addresses of 1 or [n] words */
    VLY_U32 word[VLY_VULKAN_PROGRAM_COEFS];   /* of those that are uniform */
    VLY_U32 vary[6]; /* a bit for each: it is not uniform; the last one is 0 */
};

/* Shaders read it as vly_stimulus of neuron_types.glsl. */
VLY_STRUCT(vly_vulkan_stimulus)
{
    VLY_U64 start;
    VLY_U64 stop;
    VLY_U32 first; /* global id */
    VLY_U32 n;
    VLY_U32 stream;
    VLY_U32 thresholds; /* index of the first */
    VLY_U32 n_thresholds;
    VLY_I32 base;
    VLY_I32 step;
    VLY_U32 port;
    VLY_U32 always;
    VLY_U32 reserved;
};

/* A synapse is two words: the target, then weight (16), delay (8) and flags
 * (8) from the low end. A synapse of port 2 or 3 is stored as one of port 0 or
 * 1 whose target is larger by twice the number of neurons, so that shaders that
 * deliver have no code for these ports. */
#define VLY_VULKAN_SYNAPSE_PORT 1u /* port 1 */
#define VLY_VULKAN_SYNAPSE_GAIN 2u /* FEAGI target */
/* How many steps of SHIFT_STEP, that of the ABI, a weight is shifted by: two
 * bits from here on. */
#define VLY_VULKAN_SHIFT_STEP 6u
#define VLY_VULKAN_SYNAPSE_SHIFT 2u

/* Every synapse with one base delay, in rows by source. */
VLY_STRUCT(vly_vulkan_group)
{
    VLY_U64 row;    /* address of [n_neurons] addresses of rows; plan sliced:
                       of [n_neurons] entries of the index */
    VLY_U64 degree; /* address of [n_neurons] row lengths; plan sliced, short
                       synapses: both weights, 16 bits each */
    VLY_U32 base_delay;
    VLY_U32 delay_max;
};

/* The unit of update of one work group; tiles of one model are adjacent. */
#define VLY_VULKAN_TILE_ROUNDS 8u
VLY_STRUCT(vly_vulkan_tile)
{
    VLY_U32 area;
    VLY_U32 first; /* within the area */
    VLY_U32 n;     /* at most TILE_ROUNDS times the size of a work group */
};

/* Plan sliced: neurons [s * slice_size, (s + 1) * slice_size) are slice s. The
 * synapses of a row are stored slice by slice; those of a slice are a part,
 * padded to quads of 16 bytes with synapses of weight 0. A synapse is one word,
 * from the low end: accumulator (16 bits), which is the number of the target in
 * the slice, for a port after all those of the port before it; weight (16). If
 * weights have shifts, a slice has a set of accumulators for each shift. The
 * index of a row is a quad for every ten parts: the address of the first,
 * divided by 16 (48 bits), and how many quads each has (8 bits), from the low
 * end, so that one read finds a part. */
#define VLY_VULKAN_SLICE_NEURONS 32768u
#define VLY_VULKAN_SLICE_SUMS 65536u
/* If the synapses of every group have at most two weights, a synapse may have
 * 16 bits: accumulator (15 bits), index of the weight (1); this value means no
 * synapse. */
#define VLY_VULKAN_NO_SYNAPSE 0xffffu
#define VLY_VULKAN_SHORT_SUMS 32767u
#define VLY_VULKAN_INDEX_PARTS 10u
#define VLY_VULKAN_PART_QUADS 255u

/* ---- maps that learn --------------------------------------------------- */

/* Flags of vly_learning_desc. */
#define VLY_VULKAN_LEARNING_DENDRITIC 2u
#define VLY_VULKAN_LEARNING_NEAREST 4u
#define VLY_VULKAN_LEARNING_FROZEN 8u
#define VLY_VULKAN_LEARNING_WINDOW 16u
#define VLY_VULKAN_LEARNING_GAIN 0x80000000u /* FEAGI targets */
/* What is longer ago than the first gets the second as its age. */
#define VLY_VULKAN_AGE_PERIOD 0x20000000u
#define VLY_VULKAN_AGE_NEVER 0x40000000u
#define VLY_VULKAN_RULE_COEFS 8u
/* Those of a user's rule: the bound, and the address of a 0 and the rule's own
 * coefficients. */
#define VLY_VULKAN_RULE_MOST 0u
#define VLY_VULKAN_RULE_WORDS 2u

VLY_STRUCT(vly_vulkan_trace)
{
    VLY_F32 rate;
    VLY_U32 bursts; /* 0: the rule does not have it */
};

/* What most synapses need of a target, in one read: a quad. */
VLY_STRUCT(vly_vulkan_newest)
{
    VLY_U32 last;     /* burst of the newest spike */
    VLY_U32 count;    /* spikes so far, modulo 2^32 */
    VLY_F32 after[2]; /* traces y after the newest */
};

/* Of a projection whose synapses have an eligibility. */
VLY_STRUCT(vly_vulkan_modulator)
{
    VLY_F32 value;    /* after its last change */
    VLY_U32 age;      /* as in vly_common_modulator */
    VLY_U32 n_spikes; /* of its area in the burst at hand */
    VLY_U32 reserved;
};

/* A value that the host did not give. */
#define VLY_VULKAN_NOT_GIVEN 0x80000000u

/* Rows in blocks: synapse j is number j mod 2^shift of block j >> shift. */
VLY_STRUCT(vly_vulkan_block)
{
    VLY_U64 targets; /* addresses of a word a synapse */
    VLY_U64 weights;
    VLY_U64 eligibilities; /* 0: the rule has none */
};

/* A projection that learns; addresses of arrays as in vly_common_traces. */
VLY_STRUCT(vly_vulkan_learning)
{
    VLY_U64 row;            /* [n_sources + 1] numbers of synapses, 64 bits */
    VLY_U64 blocks;         /* [] of vly_vulkan_block */
    VLY_U64 arrived;        /* [n_sources] */
    VLY_U64 before[2];      /* [n_sources]; 0: the rule has no such trace */
    VLY_U64 newest;         /* [n_targets] */
    VLY_U64 post;           /* [n_targets][mask + 1] */
    VLY_U64 post_before[2]; /* or 0 */
    VLY_U64 flushed;   /* burst up to which all rows are up to date, and the
                          burst that begins with a flush */
    VLY_U64 modulator; /* vly_vulkan_modulator; 0: the rule has none */
    VLY_U64 runs[2];   /* rule of windows: [n_sources] and [n_targets] pairs:
                          run and last burst of vly_common_window */
    VLY_U64 recent;    /* [2] burst of the newest spike of each side */
    vly_vulkan_trace source[2];
    vly_vulkan_trace target[2];
    vly_vulkan_trace modulator_trace;
    VLY_U32 coefs[VLY_VULKAN_RULE_COEFS];
    VLY_U32 flags;
    VLY_U32 source_first;
    VLY_U32 n_sources;
    VLY_U32 target_first;
    VLY_U32 n_targets;
    VLY_U32 base_delay;
    VLY_U32 lag;
    VLY_U32 reach;
    VLY_U32 mask;
    VLY_U32 port;
    VLY_U32 sign; /* 1, or -1 modulo 2^32 */
    VLY_U32 shift;
    VLY_U32 block_shift;
    VLY_U32 n_parts;         /* of a row at least, each by LANES invocations */
    VLY_U32 interval;        /* bursts; 0: no eligibility */
    VLY_U32 modulator_first; /* neurons whose spikes change the modulator */
    VLY_U32 n_modulator;
    VLY_U32 window; /* bursts */
};

/* ---- short-term plasticity --------------------------------------------- */

/* A source after one of its spikes: a quad. */
VLY_STRUCT(vly_vulkan_source)
{
    VLY_F32 x;
    VLY_F32 u;
    VLY_F32 y;
    VLY_U32 last; /* burst of the spike */
};

/* What a dispatch of short-term plasticity does: the burst push.k of a launch,
 * or once between launches. AGAIN: with the spikes that were delivered push.k
 * bursts before LAUNCH.burst. */
#define VLY_VULKAN_SHORT_BURST 0u
#define VLY_VULKAN_SHORT_AGAIN 1u /* rows: events are added; states: head */
#define VLY_VULKAN_SHORT_AWAY 2u  /* rows: events are taken away */
#define VLY_VULKAN_SHORT_RESET 3u /* states: the head becomes the tail */
#define VLY_VULKAN_SHORT_RENEW 4u /* states: ages stay below 31 bits */

/* A projection with short-term plasticity. The second word of a synapse is as
 * above: weight, delay and port. */
VLY_STRUCT(vly_vulkan_short)
{
    VLY_U64 row;    /* [n_sources + 1] */
    VLY_U64 blocks; /* [] of vly_vulkan_block */
    VLY_U64 head;   /* [n_sources] after the spikes that arrived */
    VLY_U64 tail;   /* [n_sources] after those without an event under way */
    VLY_U32 coefs[VLY_VULKAN_RULE_COEFS];
    VLY_U32 bursts;
    VLY_U32 source_first;
    VLY_U32 n_sources;
    VLY_U32 base_delay;
    VLY_U32 reach; /* bursts from a spike to its last event */
    VLY_U32 shift; /* of weights */
    VLY_U32 block_shift;
    VLY_U32 n_parts;
};

/* ---- bursts ------------------------------------------------------------ */

/* One burst. Sums of 64 bits are two words: the low one carries. */
VLY_STRUCT(vly_vulkan_record)
{
    VLY_U64 start; /* position of its first spike, modulo the capacity */
    VLY_U32 count;
    VLY_U32 candidates; /* of FEAGI areas */
    VLY_U32 digest[2];
    VLY_U32 events[2];
    VLY_U32 ran; /* 0: there was no room for it */
    VLY_U32 reserved;
};

/* Input of the host: vly_input without the burst. */
VLY_STRUCT(vly_vulkan_input)
{
    VLY_U32 neuron;
    VLY_U32 port;
    VLY_U32 value; /* 2's complement */
    VLY_U32 feagi;
};

/* Bursts [burst, burst + n_bursts), fewer if the log is full. */
VLY_STRUCT(vly_vulkan_launch)
{
    VLY_U64 burst;
    VLY_U64 head;         /* position of the first spike */
    VLY_U64 head_limit;   /* no burst may begin after it */
    VLY_U64 inputs;       /* address */
    VLY_U64 input_row;    /* address of [n_bursts + 1], 0 without inputs */
    VLY_U64 sorted_ids;   /* addresses: spikes in order, for the host */
    VLY_U64 sorted_gains; /* 0: not wanted */
    VLY_U64 given;        /* address of [learnings][LAUNCH_BURSTS] values for
                             modulators, or 0 */
    VLY_U32 n_bursts;
    VLY_U32 keep; /* 1: spikes from head on are still to be read */
};

/* Addresses and sizes that do not change within a submission. The launch
 * follows in memory. */
VLY_STRUCT(vly_vulkan_view)
{
    VLY_U64 areas;
    VLY_U64 tiles;
    VLY_U64 stimuli;
    VLY_U64 thresholds;
    VLY_U64 groups;
    VLY_U64 out_degree;
    VLY_U64 inputs; /* [ring][n_ports][n_neurons] accumulators; plan sliced:
                       [n_copies][n_ports][n_neurons] sums to be added up */
    VLY_U64 marks;  /* [ring][n_neurons] 1: candidate; 0 without FEAGI */
    VLY_U64 log_ids;
    VLY_U64 log_gains;
    VLY_U64 records;     /* [record_mask + 1] by burst */
    VLY_U64 area_spikes; /* [n_areas][2] low and high word */
    VLY_U64 kept;        /* [n_neurons] counts of the first stimulus of each, of
                            four bursts; 0: they are drawn in every burst */
    VLY_U64 slice_tiles; /* [n_slices + 1] first tile of each; fused only */
    VLY_U64 learnings;   /* projections that learn, by rule */
    VLY_U64 shorts;      /* those with short-term plasticity, by rule */
    VLY_U32 log_mask;
    VLY_U32 log_room; /* spikes that may lie in it when a burst begins */
    VLY_U32 record_mask;
    VLY_U32 n_neurons;
    VLY_U32 n_groups;
    VLY_U32 n_ports;
    VLY_U32 ring; /* slots of inputs and marks */
    VLY_U32 max_delay;
    VLY_U32 key_low; /* seed_input */
    VLY_U32 key_high;
    VLY_U32 feagi_q;
    VLY_U32 n_slices;
    VLY_U32 slice_size;
    VLY_U32 n_copies; /* work groups that share a slice; 0: not sliced */
    VLY_U32 n_sets;   /* of a slice's accumulators */
    VLY_U32 set_step; /* of their shifts */
};

/* Push constants of every shader. */
VLY_STRUCT(vly_vulkan_push)
{
    VLY_U64 view;  /* address */
    VLY_U32 k;     /* burst of the launch */
    VLY_U32 first; /* update: its first tile; restore: the group; learning: the
                      first projection */
    VLY_U32 count; /* update: its tiles; restore: bursts ago; learning: the
                      projections */
    VLY_U32 all;   /* flush: 1: all of them, at the first burst of the launch;
                      short-term plasticity: VLY_VULKAN_SHORT_* */
};

#endif
