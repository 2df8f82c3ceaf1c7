/* SPDX-License-Identifier: Apache-2.0
 * Prediction by counting: how often each bin of a metric was seen so far in
 * this run, and whether these counts predict the metric's tokens better than
 * the model does. A model knows the nets and machines of its training. If
 * counts of this run alone predict better, the model's surprise shows its lack
 * of knowledge and not a change of the run.
 *
 * Each count begins at a half (Krichevsky and Trofimov 1981,
 * doi:10.1109/TIT.1981.1056331). tools/monitor/score.py has the same.
 */
#ifndef VOLLEY_MONITOR_COUNTING_H
#define VOLLEY_MONITOR_COUNTING_H

#include <stdbool.h>
#include <stdint.h>

#include "monitor/tokens.h"

/* Records are delayed before they count in the comparison of the two, and the
 * first records of a run, in which nets are not in their usual state, never
 * count: a fault that begins surprises the model more than the counts, which
 * have seen little, and in a short run this would silence the metric that shows
 * it. Metrics of time are excluded: they depend on the machine, and other
 * channels watch them too. */
#define VLY_COUNTING_WAITS 8

/* One for each watched net; initialise with zeros. */
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

/* Whether counting has recently predicted this metric better than the model. */
bool vly_counting_leads(const vly_counting *counting, uint32_t metric);

/* One more record.
 * text    [VLY_TOKENS_PER_RECORD]                                      (in)
 * nats    [VLY_METRICS] surprise of the model; NaN is the largest (in)
 * absent  bit m: metric m has no value, and nothing is learned of it */
void vly_counting_learn(vly_counting *counting, const uint8_t *text,
                        const double *nats, uint32_t absent);
/* A fault was reported: the delayed records may belong to it, so they are
 * dropped. */
void vly_counting_drop(vly_counting *counting);

#endif
