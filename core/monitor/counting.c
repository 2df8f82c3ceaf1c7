/* SPDX-License-Identifier: Apache-2.0
 * Counts of bins, and the model's surprise compared with that of the counts.
 */
#include "monitor/counting.h"

#include <math.h>

#include "base/number.h"

/* MEMORY: records over which the two are compared; a net may change, a model's
 * ignorance of a machine does not. Between 256 and 1024 nothing changed on
 * telemetry. MOST: counts of a metric, at which all are halved. */
enum { MEMORY = 1024, MOST = 512, N_TIMES = VLY_METRIC_DYNAMICS + 1 };
/* Limit of one record: a fault surprises both and is no evidence. */
static const double nats_most = 4;
static const double first = 0.5;

bool vly_counting_leads(const vly_counting *counting, uint32_t metric)
{
    return counting->behind[metric] > 0;
}

static void count(vly_counting *counting, uint32_t metric, uint32_t bin)
{
    double *seen = counting->seen[metric];
    seen[bin]++;
    counting->total[metric]++;
    if (counting->total[metric] < MOST)
        return;
    counting->total[metric] = 0;
    for (uint32_t b = 0; b < VLY_TOKEN_BINS; b++) {
        seen[b] /= 2;
        counting->total[metric] += seen[b];
    }
}

/* The evidence of a record for metrics from begin to end; NAN: none. */
static void compare(vly_counting *counting, const double *more, uint32_t begin,
                    uint32_t end)
{
    for (uint32_t m = begin; m < end; m++) {
        if (isnan(more[m]))
            continue;
        const uint64_t n = ++counting->n[m];
        counting->behind[m] +=
            (more[m] - counting->behind[m]) / (double)(n < MEMORY ? n : MEMORY);
    }
}

void vly_counting_learn(vly_counting *counting, const uint8_t *text,
                        const double *nats, uint32_t absent)
{
    double *waiting = counting->waiting[counting->next];
    const bool early = counting->n_seen < VLY_COUNTING_WAITS;
    if (early)
        counting->n_seen++;
    else if (counting->n_waiting == VLY_COUNTING_WAITS)
        compare(counting, waiting, N_TIMES, VLY_METRICS);
    else
        counting->n_waiting++;
    for (uint32_t i = 1; i < VLY_TOKENS_PER_RECORD; i++) {
        const uint32_t m = vly_token_metric(text[i]);
        waiting[m] = NAN;
        if (absent & 1u << m)
            continue;
        const uint32_t bin =
            (uint32_t)(vly_token_bin(text[i]) + VLY_TOKEN_BINS / 2);
        const double counted =
            vly_log((counting->total[m] + first * VLY_TOKEN_BINS) /
                    (counting->seen[m][bin] + first));
        double more = nats[m] - counted;
        if (!(more < nats_most)) /* a NaN too */
            more = nats_most;
        waiting[m] = more > -nats_most ? more : -nats_most;
        count(counting, m, bin);
    }
    compare(counting, waiting, 0, N_TIMES);
    if (!early)
        counting->next = (counting->next + 1) % VLY_COUNTING_WAITS;
}

void vly_counting_drop(vly_counting *counting)
{
    counting->n_waiting = counting->next = 0;
}
