/* SPDX-License-Identifier: Apache-2.0
 * Plasticity, written a second time for the second simulator. It changes every
 * synapse in the burst in which one of its neurons fires, and computes all
 * traces again each time. The formulas are those of `volley doc` and of the
 * papers; a copy in double precision is kept beside the result.
 */
#ifndef VOLLEY_SECOND_LEARNING_H
#define VOLLEY_SECOND_LEARNING_H

#include <stdint.h>

#include "second_reward.h"

/* How the synapses of one projection learn, as the file has it. */
typedef struct second_learning {
    char rule[32];  /* "[synapse]": a user's */
    uint32_t flags; /* 1 negative, 2 dendritic, 4 nearest, 8 frozen,
                       16 a rule of windows */
    uint32_t most;
    uint32_t n_coefs;
    const uint32_t *coefs;
    float rate[4]; /* of x0, x1, y0, y1 */
    uint32_t bursts[4];

    uint32_t base_delay;
    uint32_t n_sources;
    uint32_t n_targets;
    uint32_t first; /* of the target area */
    const uint64_t *row;
    const uint32_t *target;
    int32_t *m;    /* [synapses] */
    double *exact; /* [synapses] the same in doubles, units of 2^-16 */
    uint64_t
        *last[2];    /* [n_sources], [n_targets] burst + 1 of the last event */
    float *after[4]; /* x0, x1 [n_sources], y0, y1 [n_targets] */
    double *smooth[4];     /* the same in doubles */
    char *frames[2];       /* of a rule of windows: 2 D + 1 bursts, a byte a
                              neuron */
    second_reward *reward; /* NULL: weights change at once */
} second_learning;

/* Initial weights are those of the file. 0, or -1 without memory. */
int second_learning_begin(second_learning *l, const int16_t *weight);
void second_learning_end(second_learning *l);
/* One burst before the neurons are updated. arrived: [n_sources] 1 where a
 * spike arrives; fired: [n_targets] 1 where the target fired `lag` bursts ago,
 * of dendritic delays only, else NULL. */
void second_learning_deliver(second_learning *l, uint64_t burst,
                             const char *arrived, const char *fired);
/* The same burst after it, with axonal delays. */
void second_learning_fire(second_learning *l, uint64_t burst,
                          const char *arrived, const char *fired);
/* What an event of synapse i adds, in units of the map. */
int64_t second_learning_weight(const second_learning *l, uint64_t i);
/* Adds the words of the snapshot at `burst` to *digest; *at: of all words. */
void second_learning_digest(const second_learning *l, uint64_t burst,
                            uint64_t *at, uint64_t *digest);
/* Largest distance of a weight to the doubles, as a share of w_max. */
double second_learning_distance(const second_learning *l);

/* second_rule.c: what a user's rule adds to a weight w; traces x0, x1, y0, y1
 */
float second_rule_change(const second_learning *l, int post, float w,
                         const float traces[4]);

/* e^x for x from -80 to 80 */
float second_exp_single(float x);
/* Adds word *at of a snapshot's weights, and counts it. */
void second_digest_word(uint64_t *at, uint64_t *digest, uint32_t word);

/* ---- second_window.c: a rule of windows --------------------------------- */

/* 0, or -1 without memory. */
int second_window_begin(second_learning *l);
/* After the neurons of a burst were updated: 1 for each that fired in it. */
void second_window_step(second_learning *l, uint64_t burst,
                        const char *sources_fired, const char *targets_fired);
/* Before `burst`: bursts since the last spike of neuron k, and how many bursts
 * in a row, up to D, had one until then; 0: none within the window. */
uint32_t second_window_run(const second_learning *l, int side, uint32_t k,
                           uint64_t burst, uint32_t *age);

#endif
