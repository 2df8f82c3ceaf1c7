/* SPDX-License-Identifier: Apache-2.0
 * Counts of bins, and what the model's surprise is beside theirs.
 */
#include "monitor/counting.h"

#include "base/number.h"

/* MEMORY: records over which the two are compared; a net may change, a model's
 * ignorance of a machine does not. Between 256 and 1024 nothing changed on
 * telemetry. MOST: counts of a metric, at which all are halved. */
enum { MEMORY = 1024, MOST = 512 };
/* What one record may say: a fault is surprising to both, and no evidence. */
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

void vly_counting_learn(vly_counting *counting, const uint8_t *text,
                        const double *nats)
{
    counting->n++;
    const double gain =
        1.0 / (double)(counting->n < MEMORY ? counting->n : MEMORY);
    for (uint32_t i = 1; i < VLY_TOKENS_PER_RECORD; i++) {
        const uint32_t m = vly_token_metric(text[i]);
        const uint32_t bin =
            (uint32_t)(vly_token_bin(text[i]) + VLY_TOKEN_BINS / 2);
        const double counted =
            vly_log((counting->total[m] + first * VLY_TOKEN_BINS) /
                    (counting->seen[m][bin] + first));
        double more = nats[m] - counted;
        if (!(more < nats_most)) /* a NaN too */
            more = nats_most;
        more = more > -nats_most ? more : -nats_most;
        counting->behind[m] += (more - counting->behind[m]) * gain;
        count(counting, m, bin);
    }
}
