/* SPDX-License-Identifier: Apache-2.0
 * Simple detectors on the same records, as a baseline: exponentially weighted
 * mean and variance (EWMA), a Gaussian over a window, static limits learned at
 * the beginning. Each gives a score for each metric; a record's score is the
 * largest. They read levels (vly_record_note), not tokens. They are used if
 * there is no model.
 *
 * Sources: Roberts 1959, doi:10.1080/00401706.1959.10489860 (EWMA); Lavin and
 * Ahmad 2015, doi:10.1109/ICMLA.2015.141 (windowed Gaussian).
 */
#ifndef VOLLEY_MONITOR_DETECTORS_H
#define VOLLEY_MONITOR_DETECTORS_H

#include <stdint.h>

#include "monitor/tokens.h"

typedef enum vly_detector_kind {
    VLY_DETECTOR_EWMA,
    VLY_DETECTOR_GAUSSIAN,
    VLY_DETECTOR_STATIC,
    VLY_DETECTORS
} vly_detector_kind;

typedef struct vly_detector vly_detector;

/* "ewma", "gaussian", "static"; NULL if there is no such kind */
const char *vly_detector_name(uint32_t kind);

/* Errors  E_INVALID no such kind; E_NOMEM */
vly_status vly_detector_create(uint32_t kind, vly_detector **detector,
                               vly_error *error);
void vly_detector_destroy(vly_detector *detector); /* NULL is legal */

/* The score of a record, at least 0 and finite; 0 while there are fewer than
 * VLY_TOKENS_WARM. *metric: the one that scored it; may be NULL.
 * Thread  one at a time; no allocation */
double vly_detector_score(vly_detector *detector, const vly_record_note *note,
                          uint32_t *metric);
/* The net was moved to another backend: resets the detector
 * (vly_tokens_forget). */
void vly_detector_forget(vly_detector *detector);

#endif
