/* SPDX-License-Identifier: Apache-2.0
 * Faults that a rule finds, independent of how rare a record is: the net is on
 * another backend than requested, spikes belong to no area, a device failed,
 * the wall clock jumped. Rules need no history and cost almost nothing, so they
 * check every sample from the second one of a run on.
 */
#ifndef VOLLEY_MONITOR_FACTS_H
#define VOLLEY_MONITOR_FACTS_H

#include <stddef.h>
#include <stdint.h>

#include "monitor/tokens.h"

/* In order of priority: of several facts the first is reported. */
typedef enum vly_fact {
    VLY_FACT_PLACE,
    VLY_FACT_SPIKES,
    VLY_FACT_DEVICE,
    VLY_FACT_CLOCK,
    VLY_FACTS
} vly_fact;

/* Records without a fact that end its episode. */
#define VLY_FACT_QUIET 16
/* The score of a fact, which is the maximum. */
#define VLY_SCORE_MOST 64

/* Facts in progress. Initialise with zeros. */
typedef struct vly_facts {
    uint32_t left[VLY_FACTS]; /* records until the episode is over */
} vly_facts;

/* Bits 1 << vly_fact of the facts in a record; 0: none. */
uint32_t vly_facts_of(const vly_record *record);
/* The same, of those only that begin with this record. */
uint32_t vly_facts_judge(vly_facts *facts, const vly_record *record);
/* The first fact of these bits, VLY_FACTS of none. */
vly_fact vly_fact_first(uint32_t bits);

/* The metric that it is about, VLY_METRICS of no fact. */
uint32_t vly_fact_metric(vly_fact fact);
/* Bursts done when it began, if the record has that; otherwise at its end. */
uint64_t vly_fact_burst(vly_fact fact, const vly_record *record);
/* NULL of no fact. */
const char *vly_fact_cause(vly_fact fact, const vly_record *record);
/* "burst 1200: ...", cut where it does not fit. */
void vly_fact_text(vly_fact fact, const vly_record *record, char *text,
                   size_t capacity);

#endif
