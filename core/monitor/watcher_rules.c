/* SPDX-License-Identifier: Apache-2.0
 * Compares each sample with the previous one. If some were overwritten in the
 * ring, the next record covers a longer time and hides nothing: a clock that
 * was set stays set, and all other values are sums. The current state of the
 * net is not queried: this thread runs late, and a swap back may be done by
 * then.
 */
#include "monitor/watcher_rules.h"

#include "base/error.h"
#include "base/memory.h"
#include "monitor/facts.h"

/* A sample and its areas. */
typedef struct point {
    vly_telemetry_sample sample;
    uint64_t *areas; /* [n_areas] */
} point;

struct vly_watcher_rules {
    vly_watcher_options options;
    double threshold;
    vly_facts facts;
    uint32_t n_areas;
    point from;
    point to;
    uint64_t *area_spikes; /* [n_areas] of the record */
    uint64_t next;         /* of the ring */
    uint64_t lost;
    uint64_t n_samples;
    uint64_t n_checked;
    uint64_t n_told;
};

vly_status vly_watcher_rules_create(const vly_watcher_options *options,
                                    double threshold, vly_watcher_rules **rules,
                                    vly_error *error)
{
    vly_watcher_rules *made = vly_calloc(1, sizeof *made);
    if (!made)
        return vly_fail_nomem(error, sizeof *made, "the monitor's rules");
    made->options = *options;
    made->threshold = threshold;
    made->n_areas = vly_telemetry_areas(options->ring);
    const size_t n = (size_t)made->n_areas + 1;
    made->from.areas = vly_calloc(n, sizeof(uint64_t));
    made->to.areas = vly_calloc(n, sizeof(uint64_t));
    made->area_spikes = vly_calloc(n, sizeof(uint64_t));
    if (!made->from.areas || !made->to.areas || !made->area_spikes) {
        vly_watcher_rules_destroy(made);
        return vly_fail_nomem(error, 24 * (uint64_t)n, "the monitor's rules");
    }
    *rules = made;
    return VLY_OK;
}

void vly_watcher_rules_destroy(vly_watcher_rules *rules)
{
    if (!rules)
        return;
    vly_free(rules->from.areas);
    vly_free(rules->to.areas);
    vly_free(rules->area_spikes);
    vly_free(rules);
}

static void tell(vly_watcher_rules *rules, vly_fact fact,
                 const vly_record *record)
{
    const vly_watcher_options *options = &rules->options;
    vly_anomaly anomaly = {
        .at_ns = rules->to.sample.at_ns,
        .unix_ns = rules->to.sample.unix_ns,
        .burst = vly_fact_burst(fact, record),
        .bursts = record->bursts,
        .score = VLY_SCORE_MOST,
        .threshold = rules->threshold,
        .metric = vly_fact_metric(fact),
        .area = VLY_NO_AREA,
        .metric_name = vly_metric_name(vly_fact_metric(fact)),
        .channel = "rule",
        .cause = vly_fact_cause(fact, record),
    };
    vly_fact_text(fact, record, anomaly.text, sizeof anomaly.text);
    rules->n_told++;
    options->on_anomaly(options->context, &anomaly);
}

/* From `from` to `to`. */
static void judge(vly_watcher_rules *rules)
{
    vly_record record;
    vly_record_between(&rules->from.sample, &rules->to.sample,
                       rules->from.areas, rules->to.areas, rules->n_areas,
                       &record, rules->area_spikes);
    const uint32_t begins = vly_facts_judge(&rules->facts, &record);
    for (uint32_t k = 0; k < VLY_FACTS; k++)
        if (begins & 1u << k)
            tell(rules, (vly_fact)k, &record);
    rules->n_checked++;
}

void vly_watcher_rules_look(vly_watcher_rules *rules)
{
    while (vly_telemetry_take(rules->options.ring, &rules->next, &rules->lost,
                              &rules->to.sample, rules->to.areas)) {
        if (rules->n_samples++ > 0)
            judge(rules);
        const point before = rules->from;
        rules->from = rules->to;
        rules->to = before;
    }
}

uint64_t vly_watcher_rules_samples(const vly_watcher_rules *rules)
{
    return rules->n_samples;
}

uint64_t vly_watcher_rules_checked(const vly_watcher_rules *rules)
{
    return rules->n_checked;
}

uint64_t vly_watcher_rules_told(const vly_watcher_rules *rules)
{
    return rules->n_told;
}
