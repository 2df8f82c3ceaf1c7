/* SPDX-License-Identifier: Apache-2.0
 * Distributions that the range of their key cuts: what is beyond it is drawn
 * again, which moves the mean.
 */
#include "genome/genome_value.h"

#include <math.h>

#include "base/number.h"

#define STEPS 4096
#define CUT_MOST 0.01 /* of the draws: what is less moves the mean little */

typedef struct moments {
    double share; /* not normalised */
    double mean;
    double deviation;
} moments;

/* By the midpoint rule from lo to hi; of a lognormal over the logarithm. */
static moments moments_of(const vly_value *value, double lo, double hi)
{
    const bool log = value->kind == VLY_VALUE_LOGNORMAL;
    double sums[3] = {0.0, 0.0, 0.0};
    if (log) {
        lo = vly_log(lo);
        hi = vly_log(hi);
    }
    const double step = (hi - lo) / STEPS;
    const double from = log ? vly_exp(value->a) : value->a;
    for (int i = 0; i < STEPS; i++) {
        const double at = lo + (i + 0.5) * step;
        const double z = (at - value->a) / value->b;
        const double density = value->kind == VLY_VALUE_EXPONENTIAL
                                   ? vly_exp(-at / value->a)
                                   : vly_exp(-0.5 * z * z);
        const double x = (log ? vly_exp(at) : at) - from;
        sums[0] += density;
        sums[1] += density * x;
        sums[2] += density * x * x;
    }
    const double mean = sums[1] / sums[0];
    return (moments){sums[0] * step, from + mean,
                     vly_sqrt(sums[2] / sums[0] - mean * mean)};
}

/* Where it begins, whatever its clip is. */
static double least_of(const vly_value *value)
{
    return value->kind == VLY_VALUE_LOGNORMAL
               ? vly_exp(value->a - VLY_CLIP_SD * value->b)
           : value->kind == VLY_VALUE_EXPONENTIAL ? 0.0
                                                  : -HUGE_VAL;
}

vly_status vly_value_note_cut(vly_reader *reader, const vly_toml_node *node,
                              const vly_value_spec *spec,
                              const vly_value *value, double lo, double hi)
{
    if (value->kind == VLY_VALUE_UNIFORM || spec->cut ||
        (lo >= value->clip_lo && hi <= value->clip_hi))
        return VLY_OK;
    const double least = least_of(value);
    const moments asked = moments_of(value, lo > least ? lo : least, hi);
    const moments drawn = moments_of(
        value, value->clip_lo > least ? value->clip_lo : least, value->clip_hi);
    const double cut = 1.0 - drawn.share / asked.share;
    char low[VLY_NUMBER_SIZE], high[VLY_NUMBER_SIZE];
    if (!(cut > CUT_MOST))
        return VLY_OK;
    return vly_reader_note(
        reader, node,
        "%s: %.3g%% of the distribution is outside its range, %s to %s, and is "
        "drawn again: mean %.4g, deviation %.3g as written, %.4g and %.3g as "
        "drawn",
        spec->what, 100.0 * cut, vly_toml_print_number(spec->lo, low),
        vly_toml_print_number(spec->hi, high), asked.mean, asked.deviation,
        drawn.mean, drawn.deviation);
}
