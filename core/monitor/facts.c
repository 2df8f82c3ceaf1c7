/* SPDX-License-Identifier: Apache-2.0
 * Rules. A lost sample is not a fact: a slow reader loses samples of a healthy
 * net.
 */
#include "monitor/facts.h"

#include <stdio.h>

/* A jump of the wall clock by at least this much means that it was set: time
 * services correct smaller offsets gradually. */
static const int64_t jump_ms = 500;

uint32_t vly_facts_of(const vly_record *record)
{
    uint32_t bits = 0;
    if (record->wrong_place > 0)
        bits |= 1u << VLY_FACT_PLACE;
    if (record->missing > 0)
        bits |= 1u << VLY_FACT_SPIKES;
    if (record->failures > 0)
        bits |= 1u << VLY_FACT_DEVICE;
    if (record->clock_ms >= jump_ms || record->clock_ms <= -jump_ms)
        bits |= 1u << VLY_FACT_CLOCK;
    return bits;
}

uint32_t vly_facts_judge(vly_facts *facts, const vly_record *record)
{
    const uint32_t bits = vly_facts_of(record);
    uint32_t begins = 0;
    for (uint32_t k = 0; k < VLY_FACTS; k++) {
        if (!(bits & 1u << k)) {
            facts->left[k] -= facts->left[k] > 0;
            continue;
        }
        if (facts->left[k] == 0)
            begins |= 1u << k;
        facts->left[k] = VLY_FACT_QUIET;
    }
    return begins;
}

vly_fact vly_fact_first(uint32_t bits)
{
    uint32_t k = 0;
    while (k < VLY_FACTS && !(bits & 1u << k))
        k++;
    return (vly_fact)k;
}

uint32_t vly_fact_metric(vly_fact fact)
{
    if (fact >= VLY_FACTS)
        return VLY_METRICS;
    return fact == VLY_FACT_CLOCK ? VLY_METRIC_CLOCK : VLY_METRIC_CHECKS;
}

uint64_t vly_fact_burst(vly_fact fact, const vly_record *record)
{
    if (fact == VLY_FACT_PLACE && record->wrong_bursts > 0)
        return record->wrong_from;
    if (fact == VLY_FACT_DEVICE && record->failures > 0)
        return record->failed_at;
    return record->burst;
}

const char *vly_fact_cause(vly_fact fact, const vly_record *record)
{
    switch (fact) {
    case VLY_FACT_PLACE:
        return "the net runs on another backend than was asked for";
    case VLY_FACT_SPIKES:
        return "records were dropped: the areas' spikes do not add up to the "
               "net's";
    case VLY_FACT_DEVICE:
        return "a device failed, and the run went on elsewhere";
    case VLY_FACT_CLOCK:
        return record->clock_ms > 0 ? "the wall clock was set forward"
                                    : "the wall clock was set back";
    default:
        return NULL;
    }
}

/* Its duration, if it did not last to the end of the record. */
static void put_place(const vly_record *record, char *text, size_t capacity)
{
    const unsigned long long n = record->wrong_bursts;
    char lasted[48] = "";
    if (n > 0 && record->wrong_from + n < record->burst)
        snprintf(lasted, sizeof lasted, ", for %llu burst%s", n,
                 n == 1 ? "" : "s");
    snprintf(
        text, capacity, "burst %llu: the backend is not the one asked for%s",
        (unsigned long long)vly_fact_burst(VLY_FACT_PLACE, record), lasted);
}

void vly_fact_text(vly_fact fact, const vly_record *record, char *text,
                   size_t capacity)
{
    const unsigned long long burst = vly_fact_burst(fact, record);
    const unsigned long long failures = record->failures;
    switch (fact) {
    case VLY_FACT_PLACE:
        put_place(record, text, capacity);
        break;
    case VLY_FACT_SPIKES:
        snprintf(text, capacity, "burst %llu: %llu spike%s in no area", burst,
                 (unsigned long long)record->missing,
                 record->missing == 1 ? " is" : "s are");
        break;
    case VLY_FACT_DEVICE:
        if (failures == 1)
            snprintf(text, capacity, "burst %llu: a device failed", burst);
        else
            snprintf(text, capacity, "burst %llu: devices failed %llu times",
                     burst, failures);
        break;
    case VLY_FACT_CLOCK:
        snprintf(text, capacity,
                 "burst %llu: wall clock against the steady clock: %lld ms "
                 "apart",
                 burst, (long long)record->clock_ms);
        break;
    default:
        snprintf(text, capacity, "burst %llu: nothing", burst);
    }
}
