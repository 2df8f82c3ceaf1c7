/* SPDX-License-Identifier: Apache-2.0
 * How unusual a record is. Before each token, a model of telemetry gives the
 * probability of each value; the surprise of a metric is -log of the
 * probability of its token. Each metric's surprise is compared with its own
 * recent centre and spread (a net whose spikes are hard to predict is not
 * broken). Deviations that last for some records count fully, single large ones
 * in part; the most unusual metric counts, among those that the model predicts
 * better than counting in this run does (counting.h). In addition there are
 * measures that need no model: how long the run stood still beyond what its
 * bursts usually take, in the machine's time and not in the run's own (a shared
 * machine has short stalls; a burst that hung is far longer); how far times are
 * above their range so far (extremes.h); how far a burst's work (work.h) and
 * the synchrony of its spikes (unison.h) are above their recent values. Each of
 * these channels has a tail distribution from healthy runs, on idle and busy
 * machines, which gives the rarity of a value, and a share of the accepted rate
 * of false alarms; a record's score is that of the rarest.
 *
 * A tail is taken as exponential above a high quantile (peaks over threshold:
 * Pickands 1975, doi:10.1214/aos/1176343003; streams: Siffer et al. 2017,
 * doi:10.1145/3097983.3098144).
 */
#ifndef VOLLEY_MONITOR_SURPRISE_H
#define VOLLEY_MONITOR_SURPRISE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "monitor/tokens.h"

/* The tail of a number on healthy runs: a share of records is above base, by
 * `excess` on average. */
typedef struct vly_tail {
    double base;
    double share;  /* above 0, to 1 */
    double excess; /* > 0 */
} vly_tail;

/* What a record is judged by: surprise; log2(1 + t), t ms that it took longer
 * than its recent bursts did, without those that it waited for a processor;
 * log2(1 + 4 far), far of vly_extremes_judge, the larger one; vly_work_judge;
 * vly_unison_judge. */
enum {
    VLY_CHANNEL_SURPRISE,
    VLY_CHANNEL_STALL,
    VLY_CHANNEL_EXTREME,
    VLY_CHANNEL_WORK,
    VLY_CHANNEL_UNISON,
    VLY_CHANNELS
};

/* -log of the share of healthy records above x; 0 up to base. */
double vly_tail_rarity(const vly_tail *tail, double x);
/* The score that `records` healthy records reach `alarms` times over all
 * channels: the share of each channel is part of its score already. */
double vly_rarity_threshold(double alarms, double records);
/* The tails' text in a model's metadata, "BASE SHARE EXCESS" for each channel,
 * under VLY_TAILS_KEY. false: invalid. */
#define VLY_TAILS_KEY "volley.rarity"
/* The same of nets on devices. */
#define VLY_DEVICE_TAILS_KEY "volley.rarity_device"
bool vly_tails_read(const char *text, vly_tail tails[VLY_CHANNELS]);

/* -log softmax(logits)[token] in nats. n > token; logits that are not finite
 * give infinity. */
double vly_surprise_nats(const float *logits, uint32_t n, uint8_t token);

/* Surprise of a record's metrics.
 * logits  [VLY_TOKENS_PER_RECORD][VLY_TOKEN_VOCABULARY] of the token after each
 *         of its tokens (in)
 * text    [VLY_TOKENS_PER_RECORD]                       (in)
 * nats    [VLY_METRICS]                                 (out)
 * Errors  E_PARSE logits that are not numbers */
vly_status vly_record_nats(const float *logits, const uint8_t *text,
                           double *nats, vly_error *error);

/* The verdict on a record. */
typedef struct vly_verdict {
    double score; /* rarity: 10.5 is one of 36,000 records */
    double threshold;
    double values[VLY_CHANNELS];
    double nats[VLY_METRICS]; /* surprise of each metric */
    double z[VLY_METRICS];    /* against its own past, held */
    double times;             /* of what was usual, by work and unison */
    uint32_t metric;          /* the most deviating */
    uint32_t area;            /* which it is about, or VLY_NO_AREA */
    uint64_t burst;           /* at the record's end */
    bool warm;                /* there were enough records before it */
    bool model_warm;          /* and the model had read enough of them */
    const char *channel;      /* that it scored by; "rule" of a fact */
    bool fact;                /* a rule found a fact (facts.h), warm or not */
    bool strange; /* a fact; or warm, and the score at or over the threshold */
    bool alarm;   /* the first unusual record of an episode; facts have their
                   * own episodes: vly_facts_judge */
    bool moved;  /* after a move of the net: compared with the work before it */
    bool learns; /* the next record is learned from: vly_tokens_hold */
} vly_verdict;

typedef struct vly_surprise vly_surprise;

/* tails  [VLY_CHANNELS]. false_alarms_an_hour > 0. An hour has 3600 s /
 * record_s records; record_s is the time between two samples, and above 0.
 * Errors  E_INVALID; E_NOMEM */
vly_status vly_surprise_create(const vly_tail *tails,
                               double false_alarms_an_hour, double record_s,
                               vly_surprise **surprise, vly_error *error);
void vly_surprise_destroy(vly_surprise *surprise); /* NULL is legal */
/* Other tails [VLY_CHANNELS] for records of a net that is on a device. Before
 * the first record. */
void vly_surprise_devices(vly_surprise *surprise, const vly_tail *tails);

/* Judges a record from the surprise of its tokens.
 *
 * nats  [VLY_METRICS] in the order of the metrics, or NULL: the model did not
 *       read it, and only channels without a model judge it        (in)
 * note  of vly_tokens_make for the same record                     (in)
 * text  [VLY_TOKENS_PER_RECORD], likewise                          (in)
 * Thread  one at a time; no allocation */
void vly_surprise_judge(vly_surprise *surprise, const vly_record *record,
                        const vly_record_note *note, const uint8_t *text,
                        const double *nats, vly_verdict *verdict);

/* The net was moved to another backend: there is no usual state yet, as at the
 * beginning of a run (vly_tokens_forget). But the earlier work of a burst is
 * kept until the next records are warm, and a much larger one is reported once:
 * a slower backend, or not the requested one. */
void vly_surprise_forget(vly_surprise *surprise);

/* The metric to report when `metric` is unusual: if the area that fell most
 * rose, it is the area that rose most, and vice versa. */
uint32_t vly_note_metric(const vly_record_note *note, uint32_t metric);
/* The area that this metric is about, or VLY_NO_AREA. */
uint32_t vly_note_area(const vly_record_note *note, uint32_t metric);

/* A sentence: "burst 1200: spikes of a burst: 5.2 times what was usual (area
 * E)", from the verdict's metric and the numbers of the note. areas and devices
 * (of its metrics) are names, NULL leaves them out. Cut where it does not fit.
 */
void vly_verdict_text(const vly_verdict *verdict, const vly_record *record,
                      const vly_record_note *note, const char *const *areas,
                      const char *const *devices, char *text, size_t capacity);
/* The likely cause: the first row of the table of causes (RECORDS.md) that
 * fits the record; NULL if none does. */
const char *vly_verdict_cause(const vly_record *record,
                              const vly_record_note *note);
/* The same, or the cause known to the channel that found the record. */
const char *vly_verdict_likely(const vly_verdict *verdict,
                               const vly_record *record,
                               const vly_record_note *note);

#endif
