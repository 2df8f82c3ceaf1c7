/* SPDX-License-Identifier: Apache-2.0
 * What is wrong with a record by a rule and not by how rare it is: the net is
 * elsewhere than was asked, spikes are in no area, a device failed, the wall
 * clock jumped. Nothing has to have been seen before it, and it costs nothing,
 * so it is looked for in every sample, from the second one of a run on.
 */
#ifndef VOLLEY_MONITOR_FACTS_H
#define VOLLEY_MONITOR_FACTS_H

#include <stddef.h>
#include <stdint.h>

#include "monitor/tokens.h"

/* In the order in which one of several is told. */
typedef enum vly_fact {
    VLY_FACT_PLACE,
    VLY_FACT_SPIKES,
    VLY_FACT_DEVICE,
    VLY_FACT_CLOCK,
    VLY_FACTS
} vly_fact;

/* Records without a fact that end its episode. */
#define VLY_FACT_QUIET 16
/* What a fact scores, and the most that anything does. */
#define VLY_SCORE_MOST 64

/* Which facts go on. Begins as zeros. */
typedef struct vly_facts {
    uint32_t left[VLY_FACTS]; /* records until the episode is over */
} vly_facts;

/* Bits 1 << vly_fact of what is wrong; 0: nothing. */
uint32_t vly_facts_of(const vly_record *record);
/* The same, of those only that begin with this record. */
uint32_t vly_facts_judge(vly_facts *facts, const vly_record *record);
/* The first fact of these bits, VLY_FACTS of none. */
vly_fact vly_fact_first(uint32_t bits);

/* The metric that it is about, VLY_METRICS of no fact. */
uint32_t vly_fact_metric(vly_fact fact);
/* Bursts done when it began, as far as the record tells; else at its end. */
uint64_t vly_fact_burst(vly_fact fact, const vly_record *record);
/* NULL of no fact. */
const char *vly_fact_cause(vly_fact fact, const vly_record *record);
/* "burst 1200: ...", cut where it does not fit. */
void vly_fact_text(vly_fact fact, const vly_record *record, char *text,
                   size_t capacity);

#endif
