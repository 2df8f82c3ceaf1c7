/* SPDX-License-Identifier: Apache-2.0
 * What counting foretells: how often each bin of a metric was seen so far in
 * this run, and whether that would have said more about the metric's tokens
 * than the model did. A model knows the nets and machines that it was trained
 * on; where something that knows nothing but this run foretells better, the
 * model's surprise is its own ignorance and no news of the run.
 *
 * Each count begins at a half (Krichevsky and Trofimov 1981,
 * doi:10.1109/TIT.1981.1056331). tools/monitor/score.py has the same.
 */
#ifndef VOLLEY_MONITOR_COUNTING_H
#define VOLLEY_MONITOR_COUNTING_H

#include <stdbool.h>
#include <stdint.h>

#include "monitor/tokens.h"

/* Records that wait before they say which of the two is better, and the first
 * ones of a run, in which no net is as usual, never say it: a fault that begins
 * surprises the model more than counting, which has seen little, and would in a
 * short run silence the metric that tells of it. Not of times, which are the
 * machine's: others notice them too. */
#define VLY_COUNTING_WAITS 8

/* One for each net that is watched; begins as zeros. */
typedef struct vly_counting {
    uint64_t n[VLY_METRICS]; /* records compared so far */
    uint64_t n_seen;         /* records so far, at most VLY_COUNTING_WAITS */
    double waiting[VLY_COUNTING_WAITS]
                  [VLY_METRICS]; /* nats the model lost by */
    uint64_t n_waiting;
    uint64_t next; /* of waiting, the oldest where all are there */
    double seen[VLY_METRICS][VLY_TOKEN_BINS];
    double total[VLY_METRICS];
    double behind[VLY_METRICS]; /* nats a record that the model loses by */
} vly_counting;

/* Whether counting has foretold this metric better than the model of late. */
bool vly_counting_leads(const vly_counting *counting, uint32_t metric);

/* One more record.
 * text    [VLY_TOKENS_PER_RECORD]                                      (in)
 * nats    [VLY_METRICS] how surprising the model found it; NaN is most (in)
 * absent  bit m: metric m has no value, and nothing is learned of it */
void vly_counting_learn(vly_counting *counting, const uint8_t *text,
                        const double *nats, uint32_t absent);
/* A fault was told of: those that wait may be its. */
void vly_counting_drop(vly_counting *counting);

#endif
