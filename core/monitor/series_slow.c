/* SPDX-License-Identifier: Apache-2.0
 * Cycles that are lost and means that went elsewhere.
 */
#include "monitor/series_slow.h"

#include <math.h>

#include "base/number.h"

enum { LEARN_MOST = 4096, LEARN_LEAST = 128, PERIOD_LEAST = 4 };
enum { BLOCKS = 16, BLOCK_MOST = 64 };

/* Values further out than so many deviations count as that far: one of them is
 * the business of others. */
static const double cut = 3;
/* A period is plain if the series is so much like itself one later, so much two
 * later, and not at all somewhere before. */
static const double like_once = 0.7;
static const double like_twice = 0.5;
static const double unlike = 0.2;
/* Least quarter of the range of a correlation. */
static const double quarter_least = 0.1;
/* Windows with less of the variance than this count as if they had it: a cycle
 * that shrinks is still like itself until nothing is left of it. */
static const double variance_least = 0.2;
/* With more of two windows' values cut, nothing is known of a cycle. */
static const double cut_most = 0.25;
/* The means of blocks vary by at most this much of what values do, where the
 * mean stays. */
static const double stays = 0.5;
/* Deviations of such a mean that are a quarter of a range. */
static const double mean_quarter = 2;
static const double far_least = 4;
static const double far_back = 2;

static double cut_of(const vly_series_slow *slow, double value)
{
    return value > slow->high  ? slow->high
           : value < slow->low ? slow->low
                               : value;
}

/* ---- what is usual --------------------------------------------------------
 */

/* Correlation of values [lag, n) with those lag before. */
static double like_itself(const vly_series_slow *slow, const double *values,
                          size_t n, size_t lag)
{
    double both = 0;
    double now = 0;
    double then = 0;
    for (size_t i = lag; i < n; i++) {
        const double a = cut_of(slow, values[i]) - slow->middle;
        const double b = cut_of(slow, values[i - lag]) - slow->middle;
        both += a * b;
        now += a * a;
        then += b * b;
    }
    const double size = vly_sqrt(now) * vly_sqrt(then);
    return size > 0 ? both / size : 0;
}

/* The top of the first hump, behind a lag at which it is not like itself, that
 * is nearly as high as the highest; 0: none. Three of them are in n. */
static uint32_t find_period(const vly_series_slow *slow, const double *values,
                            size_t n)
{
    static const double nearly = 0.95;
    double like[VLY_SLOW_PERIOD_MAX + 1];
    const size_t most =
        n / 3 < VLY_SLOW_PERIOD_MAX ? n / 3 : VLY_SLOW_PERIOD_MAX;
    size_t behind = 1;
    double highest = 0;
    for (size_t lag = 1; lag <= most; lag++)
        like[lag] = like_itself(slow, values, n, lag);
    while (behind <= most && like[behind] > unlike)
        behind++;
    for (size_t lag = behind; lag <= most; lag++)
        highest = like[lag] > highest ? like[lag] : highest;
    if (highest < like_once)
        return 0;
    size_t top = behind > PERIOD_LEAST ? behind : PERIOD_LEAST;
    while (top <= most && like[top] < nearly * highest)
        top++;
    if (top > most)
        return 0;
    const size_t end = top + top / 8 < most ? top + top / 8 : most;
    for (size_t lag = top; lag <= end; lag++)
        top = like[lag] > like[top] ? lag : top;
    if (like_itself(slow, values, n, 2 * top) < like_twice)
        return 0;
    return (uint32_t)top;
}

/* By how much the means of blocks of the first values vary; 0 where it is no
 * less than values do. */
static double mean_unit_of(const vly_series_slow *slow, const double *values,
                           size_t n, size_t window)
{
    const size_t blocks = n / window;
    double squares = 0;
    double sum = 0;
    for (size_t b = 0; b < blocks; b++) {
        double mean = 0;
        for (size_t i = 0; i < window; i++)
            mean += cut_of(slow, values[b * window + i]) - slow->middle;
        mean /= (double)window;
        sum += mean;
        squares += mean * mean;
    }
    sum /= (double)blocks;
    const double variance = squares / (double)blocks - sum * sum;
    const double seen = variance > 0 ? vly_sqrt(variance) : 0;
    const double least = slow->deviation / vly_sqrt((double)window);
    if (!(seen <= stays * slow->deviation))
        return 0;
    return seen > least ? seen : least;
}

void vly_series_slow_init(vly_series_slow *slow, const double *values, size_t n)
{
    double sum = 0;
    double squares = 0;
    n = n < LEARN_MOST ? n : LEARN_MOST;
    *slow = (vly_series_slow){.learn = n};
    for (size_t i = 0; i < n; i++)
        sum += values[i];
    slow->middle = sum / (double)n;
    for (size_t i = 0; i < n; i++)
        squares += (values[i] - slow->middle) * (values[i] - slow->middle);
    slow->deviation = vly_sqrt(squares / (double)n);
    slow->low = slow->middle - cut * slow->deviation;
    slow->high = slow->middle + cut * slow->deviation;
    /* not of what never moved, nor of sums that are not finite */
    if (n < LEARN_LEAST || !(slow->deviation > 1e-9 * fabs(slow->middle)) ||
        !isfinite(slow->deviation))
        return;
    slow->period = find_period(slow, values, n);
    slow->window = slow->period > VLY_SLOW_WINDOW_LEAST ? slow->period
                                                        : VLY_SLOW_WINDOW_LEAST;
    size_t block = n / BLOCKS < BLOCK_MOST ? n / BLOCKS : BLOCK_MOST;
    /* whole periods, or the mean would go round with them */
    if (slow->period > 0)
        block = (block + slow->period - 1) / slow->period * slow->period;
    slow->mean_unit = mean_unit_of(slow, values, n, block);
    slow->mean_window = slow->mean_unit > 0 ? (uint32_t)block : 0;
}

/* ---- a value --------------------------------------------------------------
 */

static double at(const vly_series_slow *slow, uint64_t back)
{
    return slow->ring[(slow->n - 1 - back) % VLY_SLOW_RING];
}

/* How much the last window is like the one a period before, 1 if they are the
 * same; NaN where too many values are cut. */
static double likeness(const vly_series_slow *slow)
{
    const uint32_t n = slow->window;
    double now = 0;
    double then = 0;
    double both = 0;
    double sizes = 0;
    uint32_t n_cut = 0;
    for (uint32_t i = 0; i < n; i++) {
        const double a = at(slow, i);
        const double b = at(slow, i + slow->period);
        n_cut += a == slow->low || a == slow->high;
        n_cut += b == slow->low || b == slow->high;
        now += a;
        then += b;
    }
    if (n_cut > cut_most * 2 * n)
        return NAN;
    now /= n;
    then /= n;
    for (uint32_t i = 0; i < n; i++) {
        const double a = at(slow, i) - now;
        const double b = at(slow, i + slow->period) - then;
        both += a * b;
        sizes += a * a + b * b;
    }
    const double least =
        2 * variance_least * n * slow->deviation * slow->deviation;
    return 2 * both / (sizes > least ? sizes : least);
}

static double judge_cycle(vly_series_slow *slow)
{
    if (slow->period == 0 || slow->n <= slow->window + slow->period)
        return 0;
    const double like = likeness(slow);
    if (slow->n <= slow->learn && !isnan(like)) {
        if (slow->n_learned++ == 0)
            slow->least = slow->most = like;
        slow->least = like < slow->least ? like : slow->least;
        slow->most = like > slow->most ? like : slow->most;
    }
    if (slow->n <= slow->learn || slow->n_learned == 0)
        return 0;
    const double quarter = (slow->most - slow->least) / 4;
    const double unit = quarter > quarter_least ? quarter : quarter_least;
    return (slow->least - like) / unit;
}

/* Below 0: below. */
static double judge_mean(vly_series_slow *slow, double gone)
{
    if (slow->mean_window == 0)
        return 0;
    slow->sum += slow->ring[(slow->n - 1) % VLY_SLOW_RING] - slow->middle;
    if (slow->n > slow->mean_window)
        slow->sum -= gone - slow->middle;
    if (slow->n <= slow->learn)
        return 0;
    return slow->sum / slow->mean_window / slow->mean_unit / mean_quarter;
}

/* Told once, and again when it has been back; NaN is neither. */
static double once(double far, bool *is_told)
{
    if (far < far_back)
        *is_told = false;
    if (!(far >= far_least) || *is_told)
        return 0;
    *is_told = true;
    return far;
}

double vly_series_slow_next(vly_series_slow *slow, double value, uint32_t *kind)
{
    const uint64_t first =
        (slow->n - slow->mean_window) % VLY_SLOW_RING; /* that leaves */
    const double gone = slow->ring[first];
    slow->ring[slow->n % VLY_SLOW_RING] = cut_of(slow, value);
    slow->n++;
    const double mean = judge_mean(slow, gone);
    const double lost = once(judge_cycle(slow), &slow->is_lost);
    const double away = once(fabs(mean), &slow->is_away);
    *kind = lost == 0 && away == 0 ? VLY_SLOW_NONE
            : lost >= away         ? VLY_SLOW_CYCLE
            : mean > 0             ? VLY_SLOW_ABOVE
                                   : VLY_SLOW_BELOW;
    return lost >= away ? lost : away;
}

uint64_t vly_series_slow_reach(const vly_series_slow *slow)
{
    const uint64_t cycle = slow->period > 0 ? slow->window + slow->period : 0;
    return cycle > slow->mean_window ? cycle : slow->mean_window;
}
