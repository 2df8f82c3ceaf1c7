/* SPDX-License-Identifier: Apache-2.0
 * Ranges of times, as they are and smoothed. tools/monitor/score.py has the
 * same.
 */
#include "monitor/extremes.h"

/* Records before there is a range: the first ones of a run are slow. */
enum { FREE = 8 };
static const double gain_least = 0.1; /* of what is smoothed */

static const double floors[] = {
#define METRIC_FLOOR(NAME, name, floor, what) floor,
    VLY_METRIC_TABLE(METRIC_FLOOR)
#undef METRIC_FLOOR
};
_Static_assert(VLY_METRIC_PACE == 0 &&
                   VLY_METRIC_DYNAMICS == VLY_EXTREME_METRICS - 1,
               "the first metrics are times");

/* first: the range begins here. */
static double over(vly_range *range, double x, double floor, int first)
{
    if (first) {
        *range = (vly_range){x, x};
        return 0;
    }
    const double quarter = (range->high - range->low) / 4;
    const double beyond = x > range->high ? x - range->high : 0;
    range->low = x < range->low ? x : range->low;
    range->high = x > range->high ? x : range->high;
    return beyond / (quarter > floor ? quarter : floor);
}

void vly_extremes_judge(vly_extremes *extremes, const int32_t *level,
                        uint32_t told, double far[2], uint32_t metric[2])
{
    far[0] = far[1] = 0;
    metric[0] = metric[1] = 0;
    for (uint32_t m = 0; m < VLY_EXTREME_METRICS; m++) {
        if (!(told & 1u << m))
            continue;
        const uint64_t n = extremes->n[m]++;
        const double first = 1.0 / (double)(n + 1);
        const double gain = first > gain_least ? first : gain_least;
        double *smooth = &extremes->smooth[m];
        *smooth += (level[m] - *smooth) * gain;
        const double values[2] = {level[m], *smooth};
        for (int k = 0; n >= FREE && k < 2; k++) {
            const double z =
                over(&extremes->ranges[k][m], values[k], floors[m], n == FREE);
            if (z > far[k]) {
                far[k] = z;
                metric[k] = m;
            }
        }
    }
}
