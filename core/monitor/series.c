/* SPDX-License-Identifier: Apache-2.0
 * Values in 4096ths of their standard deviation, and records of them.
 */
#include "monitor/series.h"

#include <math.h>

#include "base/number.h"

/* Levels of a standard deviation, of which so many are nothing; a time's floor
 * is 8 levels, so times are in eighths of them. */
enum { UNIT = 4096, FLOOR = 64, OF_TIME = 8 };
static const double level_most = 1e9;
static const double deviation_least = 1e-9;

void vly_series_init(vly_series *series, const double *values, size_t n)
{
    double sum = 0;
    double squares = 0;
    for (size_t i = 0; i < n; i++)
        sum += values[i];
    const double mean = sum / (double)n;
    for (size_t i = 0; i < n; i++)
        squares += (values[i] - mean) * (values[i] - mean);
    double deviation = vly_sqrt(squares / (double)n);
    /* a value that never moved: what is large is measured by its size */
    if (!(deviation > 0))
        deviation = fabs(mean) > deviation_least ? fabs(mean) : deviation_least;
    *series = (vly_series){.mean = mean, .deviation = deviation};
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
    vly_record_note made = {.raised = VLY_NO_AREA,
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
    series->n++;
    *record = (vly_record){.burst = series->n, .bursts = 1};
    *note = made;
}

void vly_series_nats(double *nats)
{
    for (uint32_t m = 0; m < VLY_METRICS; m++)
        if (m != VLY_METRIC_RATE && m != VLY_METRIC_DISPERSION)
            nats[m] = 0;
}
