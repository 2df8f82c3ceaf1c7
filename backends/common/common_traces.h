/* SPDX-License-Identifier: Apache-2.0
 * What a projection that learns remembers of its sources and targets, as
 * arrays: filled from a snapshot and written to one in the same way by every
 * backend.
 *
 * Bursts are counted modulo 2^32. An event is less than 2^31 bursts ago: a
 * backend makes older ones younger (VLY_COMMON_AGE_NEVER) in time. All times
 * are those of the arrivals: a spike of a target counts `lag` bursts later.
 */
#ifndef VOLLEY_COMMON_TRACES_H
#define VOLLEY_COMMON_TRACES_H

#include "backend_common.h"

/* Spikes that a ring holds at least, beside those on their way in dendrites. */
#define VLY_COMMON_POSTS 32u
/* Every so many bursts a backend gives what is older the age NEVER, at which
 * every trace is 0. */
#define VLY_COMMON_AGE_PERIOD (UINT32_C(1) << 29)
#define VLY_COMMON_AGE_NEVER (UINT32_C(1) << 30)

/* What most synapses need of a target, in one piece. */
typedef struct vly_common_newest {
    uint32_t last;  /* burst of the newest spike */
    uint32_t prev;  /* of the one before */
    float after[2]; /* traces y after the newest */
} vly_common_newest;

typedef struct vly_common_traces {
    const vly_learning_desc *desc;
    const vly_projection_desc *projection;
    uint32_t flags; /* VLY_LEARNING_* in force */
    uint32_t lag;
    uint32_t reach; /* bursts of the longest trace of a source */
    uint32_t n_sources;
    uint32_t n_targets;
    uint32_t mask; /* entries of a ring - 1 */
    /* sources */
    uint32_t *arrived; /* [n_sources] burst of the last arrival */
    float *before[2];  /* [n_sources] trace x before it */
    /* targets */
    uint32_t *count;           /* [n_targets] spikes so far, modulo 2^32 */
    vly_common_newest *newest; /* [n_targets] */
    float *newest_before[2];   /* [n_targets] trace y before the newest */
    uint32_t *post;            /* [n_targets][mask + 1] bursts of the last */
    float *post_before[2];     /* [n_targets][mask + 1] trace y before each */
} vly_common_traces;

/* Sizes and arrays; nothing is known of any neuron. before, newest_before and
 * post_before are NULL where the rule has no such trace. */
vly_status vly_common_traces_create(vly_common_heap *heap,
                                    const vly_net_desc *desc,
                                    uint32_t projection, vly_common_traces *t,
                                    vly_error *error);
/* Entries of all rings. */
uint64_t vly_common_traces_posts(const vly_common_traces *t);
/* From the words of a snapshot at `burst` that follow the weights; returns
 * their end. Spikes in dendrites are pushed afterwards, oldest first. */
const uint32_t *vly_common_traces_load(vly_common_traces *t,
                                       const uint32_t *words, uint32_t burst);
/* Target i fired, which its synapses see in `burst`. */
void vly_common_traces_push(vly_common_traces *t, uint32_t i, uint32_t burst);
/* After a load: spikes of targets that are on their way in dendrites. */
void vly_common_traces_dendrites(vly_common_traces *t, const vly_net_desc *desc,
                                 const vly_snapshot *snapshot);
/* Source k's spike arrived in `burst`. */
void vly_common_traces_arrive(vly_common_traces *t, uint32_t k, uint32_t burst);
/* The words of a snapshot at `burst`, in which everything up to there is folded
 * into the weights; returns their end. */
uint32_t *vly_common_traces_save(const vly_common_traces *t, uint32_t burst,
                                 uint32_t *words);

#endif
