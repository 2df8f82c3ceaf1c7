/* SPDX-License-Identifier: Apache-2.0
 * Stillness and variation of a series.
 */
#include "monitor/series_shape.h"

#include <math.h>

#include "base/number.h"

enum { WINDOW = VLY_SHAPE_WINDOW };
/* A run of equal values shorter than this is nothing, whatever was before. */
static const double run_least = 8;
/* Units of a run: one that is four times the longest counts as 4, the least
 * that is told. Twitter's counts in the Numenta Anomaly Benchmark have sound
 * runs of three times the longest before. */
static const double run_units = 4.0 / 3;
/* Least quarter of a range, in octaves: a series whose variation never varied
 * by one octave has not shown what it can be. */
static const double quarter_least = 0.25;
static const double far_least = 4;
/* Varying less is more usual: on plain noise it was seen 5.7 out, more 2.0. */
static const double less_least = 6;

/* log2 of the mean step of a full window, NaN where nothing moves or the sum is
 * not finite. */
static double variation_of(const double *steps)
{
    double sum = 0;
    double first = 0;
    double second = 0;
    for (int i = 0; i < WINDOW; i++) {
        const double x = steps[i];
        sum += x;
        if (x > first) {
            second = first;
            first = x;
        } else if (x > second) {
            second = x;
        }
    }
    const double mean = (sum - first - second) / (WINDOW - 2);
    /* of numbers that cancel only digits are left */
    if (!(mean > 1e-9 * first) || !isfinite(mean))
        return NAN;
    return vly_log(mean) / vly_log(2);
}

static double judge_run(vly_series_shape *shape, double value)
{
    if (shape->n > 0 && value == shape->before) {
        shape->same++;
    } else {
        if (shape->n > 0 && shape->same > shape->most)
            shape->most = shape->same;
        shape->same = 1;
    }
    if (shape->most == 0) /* it never moved: nothing has stopped */
        return 0;
    const double most =
        (double)shape->most > run_least ? (double)shape->most : run_least;
    return run_units * ((double)shape->same / most - 1);
}

/* Below 0: that much less than all before. */
static double judge_variation(vly_series_shape *shape, double value)
{
    if (shape->n == 0)
        return 0;
    const uint64_t step = shape->n - 1;
    shape->steps[step % WINDOW] = fabs(value - shape->before);
    if (step + 1 < WINDOW)
        return 0;
    const double now = variation_of(shape->steps);
    double *slot = &shape->variations[step % WINDOW];
    /* the first WINDOW slots have none yet */
    const double past = step + 1 < 2 * WINDOW ? NAN : *slot;
    *slot = now;
    if (!isnan(past)) {
        if (shape->ranged++ == 0)
            shape->range = (vly_range){past, past};
        shape->range.low = past < shape->range.low ? past : shape->range.low;
        shape->range.high = past > shape->range.high ? past : shape->range.high;
    }
    if (isnan(now) || shape->ranged < WINDOW)
        return 0;
    const double quarter = (shape->range.high - shape->range.low) / 4;
    const double unit = quarter > quarter_least ? quarter : quarter_least;
    if (now > shape->range.high)
        return (now - shape->range.high) / unit;
    return now < shape->range.low ? (now - shape->range.low) / unit : 0;
}

double vly_series_shape_next(vly_series_shape *shape, double value,
                             uint32_t *kind)
{
    const double run = judge_run(shape, value);
    const double change = judge_variation(shape, value);
    const double variation = change < 0 && -change < less_least ? 0 : change;
    double far = fabs(variation);
    uint32_t which = variation > 0 ? VLY_SHAPE_MORE : VLY_SHAPE_LESS;
    if (run >= far) {
        far = run;
        which = VLY_SHAPE_STILL;
    }
    shape->before = value;
    shape->n++;
    *kind = far >= far_least ? which : VLY_SHAPE_NONE;
    return far >= far_least ? far : 0;
}
