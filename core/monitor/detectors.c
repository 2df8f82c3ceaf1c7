/* SPDX-License-Identifier: Apache-2.0
 * The simple detectors. Each reads a metric's levels and returns the distance
 * of the newest from its prediction, in its own standard deviations, which are
 * at least the metric's floor.
 */
#include "monitor/detectors.h"

#include <math.h>

#include "base/error.h"
#include "base/memory.h"
#include "base/number.h"

/* WINDOW: records of the Gaussian. LEARN: records from which the static limits
 * are taken. */
enum { WINDOW = 128, LEARN = 64 };
static const double ewma_gain = 0.05;
static const double score_most = 1e6;

typedef struct past {
    double mean; /* EWMA */
    double variance;
    double low; /* static limits */
    double high;
    double window[WINDOW];
} past;

struct vly_detector {
    uint32_t kind;
    uint64_t n;
    past metrics[VLY_METRICS];
};

static const double floors[VLY_METRICS] = {
#define METRIC_FLOOR(NAME, name, floor, what) floor,
    VLY_METRIC_TABLE(METRIC_FLOOR)
#undef METRIC_FLOOR
};

const char *vly_detector_name(uint32_t kind)
{
    static const char *const names[VLY_DETECTORS] = {"ewma", "gaussian",
                                                     "static"};
    return kind < VLY_DETECTORS ? names[kind] : NULL;
}

vly_status vly_detector_create(uint32_t kind, vly_detector **detector,
                               vly_error *error)
{
    if (kind >= VLY_DETECTORS)
        return vly_fail(error, VLY_E_INVALID,
                        "detector %u, wanted 0 to %d (ewma, gaussian, static)",
                        kind, VLY_DETECTORS - 1);
    vly_detector *made = vly_calloc(1, sizeof *made);
    if (!made)
        return vly_fail_nomem(error, sizeof *made, "a detector");
    made->kind = kind;
    *detector = made;
    return VLY_OK;
}

void vly_detector_destroy(vly_detector *detector)
{
    vly_free(detector);
}

static double score_ewma(past *of, uint64_t n, double x, double floor)
{
    const double d = x - of->mean;
    const double sd = vly_sqrt(of->variance);
    if (n == 0) {
        of->mean = x;
        return 0;
    }
    of->mean += ewma_gain * d;
    of->variance = (1 - ewma_gain) * (of->variance + ewma_gain * d * d);
    return fabs(d) / (sd > floor ? sd : floor);
}

static double score_gaussian(past *of, uint64_t n, double x, double floor)
{
    const uint64_t have = n < WINDOW ? n : WINDOW;
    double sum = 0;
    double squares = 0;
    for (uint64_t i = 0; i < have; i++)
        sum += of->window[i];
    const double mean = have > 0 ? sum / (double)have : x;
    for (uint64_t i = 0; i < have; i++)
        squares += (of->window[i] - mean) * (of->window[i] - mean);
    const double sd = have > 1 ? vly_sqrt(squares / (double)(have - 1)) : 0;
    of->window[n % WINDOW] = x;
    return fabs(x - mean) / (sd > floor ? sd : floor);
}

static double score_static(past *of, uint64_t n, double x, double floor)
{
    if (n < LEARN) {
        of->low = n == 0 || x < of->low ? x : of->low;
        of->high = n == 0 || x > of->high ? x : of->high;
        return 0;
    }
    /* half of the range stands for two standard deviations */
    const double unit = (of->high - of->low) / 4;
    const double over = x > of->high  ? x - of->high
                        : x < of->low ? of->low - x
                                      : 0;
    return over / (unit > floor ? unit : floor);
}

double vly_detector_score(vly_detector *detector, const vly_record_note *note,
                          uint32_t *metric)
{
    double most = 0;
    uint32_t which = 0;
    for (uint32_t m = 0; m < VLY_METRICS; m++) {
        past *of = &detector->metrics[m];
        const double x = note->level[m];
        const double z = detector->kind == VLY_DETECTOR_EWMA
                             ? score_ewma(of, detector->n, x, floors[m])
                         : detector->kind == VLY_DETECTOR_GAUSSIAN
                             ? score_gaussian(of, detector->n, x, floors[m])
                             : score_static(of, detector->n, x, floors[m]);
        if (z > most) {
            most = z;
            which = m;
        }
    }
    detector->n++;
    if (metric)
        *metric = which;
    if (detector->n <= VLY_TOKENS_WARM)
        return 0;
    return most < score_most ? most : score_most;
}

void vly_detector_forget(vly_detector *detector)
{
    *detector = (vly_detector){.kind = detector->kind};
}
