/* SPDX-License-Identifier: Apache-2.0
 * Values in 4096ths of their standard deviation, and records of them.
 */
#include "monitor/series.h"

#include <inttypes.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>

#include "base/number.h"

/* Levels of a standard deviation, of which so many are nothing; a time's floor
 * is 8 levels, so times are in eighths of them. */
enum { UNIT = 4096, FLOOR = 64, OF_TIME = 8 };
static const double level_most = 1e9;
static const double deviation_least = 1e-9;
/* What a value that never moved is measured by: this part of its size. */
static const double still_part = 0.01;
/* Values below the threshold that end an episode, and the most that a score may
 * be, as surprise.c has them. */
enum { QUIET = 16, SCORE_MOST = 64 };
/* What log2(1 + 4 far) lies over its base in the mean: 3 quarters of the range
 * that was there score 10.5, one record of 36,000, which is what plain noise
 * shows (SERIES.md). Times of a machine have another tail, the model's: there
 * 29 ranges were needed, and a spike of 100 standard deviations was never told.
 */
static const double extreme_excess = 0.32;

void vly_series_init(vly_series *series, const double *values, size_t n)
{
    double sum = 0;
    double squares = 0;
    bool moved = false;
    for (size_t i = 0; i < n; i++) {
        sum += values[i];
        moved = moved || values[i] != values[0];
    }
    const double mean = sum / (double)n;
    for (size_t i = 0; i < n; i++)
        squares += (values[i] - mean) * (values[i] - mean);
    double deviation = vly_sqrt(squares / (double)n);
    /* a value that never moved (sums round): measured by its size */
    if (!moved) {
        deviation = still_part * fabs(mean);
        if (!(deviation > deviation_least))
            deviation = deviation_least;
    }
    *series = (vly_series){
        .mean = mean, .deviation = deviation, .learn = n, .quiet = QUIET};
    vly_series_slow_init(&series->slow, values, n);
}

static int32_t level_of(const vly_series *series, double value)
{
    const double level =
        vly_floor(UNIT * (value - series->mean) / series->deviation + 0.5);
    /* NaN, of sums that are not finite, is no deviation */
    if (isnan(level))
        return 0;
    return (int32_t)(level > level_most    ? level_most
                     : level < -level_most ? -level_most
                                           : level);
}

void vly_series_make(vly_series *series, double value, vly_record *record,
                     uint8_t *text, vly_record_note *note)
{
    const int32_t level = level_of(series, value);
    const int32_t step = series->n > 0 ? level - series->before : 0;
    vly_record_note made = {.told = UINT32_MAX,
                            .raised = VLY_NO_AREA,
                            .lowered = VLY_NO_AREA,
                            .silent = VLY_NO_AREA,
                            .device = VLY_NO_AREA};
    made.level[VLY_METRIC_PACE] = (int32_t)vly_floor_divide(level, OF_TIME);
    made.level[VLY_METRIC_BURST] = -made.level[VLY_METRIC_PACE];
    made.level[VLY_METRIC_RATE] = level;
    made.level[VLY_METRIC_DISPERSION] = step;
    made.z16[VLY_METRIC_RATE] = vly_running_z16(&series->value, level, FLOOR);
    made.z16[VLY_METRIC_DISPERSION] =
        vly_running_z16(&series->step, step, FLOOR);
    text[0] = 0;
    for (uint32_t m = 0; m < VLY_METRICS; m++)
        text[1 + m] = vly_token_of(m, made.z16[m]);
    vly_running_learn(&series->value, level, FLOOR);
    vly_running_learn(&series->step, step, FLOOR);
    series->before = level;
    series->far = vly_series_shape_next(&series->shape, value, &series->kind);
    series->slow_far =
        vly_series_slow_next(&series->slow, value, &series->slow_kind);
    if (series->n < series->learn)
        series->far = series->slow_far = 0;
    series->n++;
    series->since++;
    *record = (vly_record){.burst = series->n, .bursts = 1};
    *note = made;
}

void vly_series_tails(vly_tail *tails)
{
    tails[VLY_CHANNEL_EXTREME].excess = extreme_excess;
}

void vly_series_judge(vly_series *series, vly_surprise *surprise,
                      const vly_tail *tails, const vly_record *record,
                      const vly_record_note *note, const uint8_t *text,
                      const double *nats, vly_verdict *verdict)
{
    /* Not by the tails that surprise learns: a range is small in the first
     * rows, so every series would begin with a heavy tail and keep it. */
    const vly_tail *tail = &tails[VLY_CHANNEL_EXTREME];
    vly_verdict made;
    vly_surprise_judge(surprise, record, note, text, nats, &made);
    const bool is_news = series->since > vly_series_slow_reach(&series->slow);
    series->is_slow = is_news && series->slow_far > series->far;
    const double far = series->is_slow ? series->slow_far : series->far;
    const double shape = vly_log1p(4 * far) / vly_log(2);
    const double extreme = made.values[VLY_CHANNEL_EXTREME];
    const double most = shape > extreme ? shape : extreme;
    const double over = (most - tail->base) / tail->excess;
    made.values[VLY_CHANNEL_STALL] = vly_log1p(4 * series->far) / vly_log(2);
    made.values[VLY_CHANNEL_WORK] =
        vly_log1p(4 * series->slow_far) / vly_log(2);
    if (over > made.score) {
        made.score = over < SCORE_MOST ? over : SCORE_MOST;
        made.metric = shape > extreme                   ? VLY_METRICS
                      : note->z16[VLY_METRIC_RATE] >= 0 ? VLY_METRIC_PACE
                                                        : VLY_METRIC_BURST;
    }
    made.strange = made.warm && made.score >= made.threshold;
    made.alarm = made.strange && series->quiet >= QUIET;
    if (made.strange)
        series->quiet = 0;
    else if (series->quiet < QUIET)
        series->quiet++;
    if (made.strange)
        series->since = 0;
    *verdict = made;
}

void vly_series_why(const vly_series *series, const vly_verdict *verdict,
                    char *text, size_t capacity)
{
    static const char *const slow_words[] = {
        [VLY_SLOW_CYCLE] = "its cycle is lost",
        [VLY_SLOW_ABOVE] = "its mean is far above the first rows'",
        [VLY_SLOW_BELOW] = "its mean is far below the first rows'"};
    const char *words = "not what was foretold";
    if (verdict->metric == VLY_METRIC_PACE)
        words = "above all before it";
    else if (verdict->metric == VLY_METRIC_BURST)
        words = "below all before it";
    else if (verdict->metric == VLY_METRICS && series->is_slow)
        words = slow_words[series->slow_kind];
    else if (verdict->metric == VLY_METRICS)
        words = series->kind == VLY_SHAPE_MORE ? "varies more than before"
                                               : "varies less than before";
    if (verdict->metric == VLY_METRICS && !series->is_slow &&
        series->kind == VLY_SHAPE_STILL)
        (void)snprintf(text, capacity, "the same for %" PRIu64 " rows",
                       series->shape.same);
    else
        (void)snprintf(text, capacity, "%s", words);
}

void vly_series_nats(double *nats)
{
    for (uint32_t m = 0; m < VLY_METRICS; m++)
        if (m != VLY_METRIC_RATE && m != VLY_METRIC_DISPERSION)
            nats[m] = 0;
}
