/* SPDX-License-Identifier: Apache-2.0
 * Projections whose synapses all have one weight: the description has no
 * weights, so a row is its targets, 4 bytes a synapse, and a delay each where
 * delays differ. All events of a spike add the same value.
 */
#include "cpu_one_weight.h"

#include "backends/common/common_short_term.h"

#include "cpu_prefetch.h"

INLINE void prefetch_range(const vly_projection_desc *desc, vly_cpu_range range)
{
    const uint64_t n = vly_cpu_ahead(range);
    if (n == 0)
        return;
    vly_cpu_prefetch(desc->target + range.begin, n, sizeof(uint32_t));
    if (desc->delay) {
        PREFETCH(desc->delay + range.begin);
        PREFETCH(desc->delay + range.begin + n - 1);
    }
}

/* What each event of a spike adds. gained: as in cpu_delivery.c */
INLINE uint32_t value_of(const vly_projection_desc *desc,
                         const vly_cpu_destination *to, uint32_t gain,
                         int gained)
{
    const int32_t weight = desc->one_weight;
    if (gained == 1)
        return (uint32_t)weight * gain;
    if (gained == 0)
        return (uint32_t)weight << to->shift;
    const uint32_t value =
        (uint32_t)vly_short_term_event(weight, gain, to->shift);
    return (value ^ to->sign) - to->sign;
}

/* The events of one row. gained and delayed are constants where it is called.
 */
INLINE void deliver_row(const vly_projection_desc *desc,
                        const vly_cpu_destination *to, vly_cpu_range range,
                        uint64_t port, uint32_t value, int gained, int delayed)
{
    const uint32_t *target = desc->target;
    const uint8_t *delay = desc->delay;
    const uint32_t first = to->first;
    uint32_t *input = to->slot[0] + port;
    uint8_t *mark = gained == 1 ? to->mark[0] : NULL;
    for (uint64_t j = range.begin; j < range.end; j++) {
        const uint32_t i = target[j] - first;
        if (delayed) {
            const uint32_t d = delay[j];
            if (d < to->delay_min)
                continue;
            input = to->slot[d] + port;
            mark = gained == 1 ? to->mark[d] : NULL;
        }
        input[i] += value;
        if (gained == 1) {
            mark[i] = 1;
            mark[to->block_offset + i / VLY_CPU_SLICE] = 1;
        }
    }
}

INLINE void deliver_batch(const vly_projection_desc *desc,
                          const vly_cpu_destination *to,
                          const vly_cpu_range *ranges, const uint32_t *gains,
                          uint32_t n, int gained, int delayed)
{
    const uint64_t port = to->by_sign ? (desc->one_weight < 0 ? to->stride : 0)
                                      : to->port * to->stride;
    for (uint32_t i = 0; i < n && i < VLY_CPU_AHEAD; i++)
        prefetch_range(desc, ranges[i]);
    for (uint32_t i = 0; i < n; i++) {
        if (i + VLY_CPU_AHEAD < n)
            prefetch_range(desc, ranges[i + VLY_CPU_AHEAD]);
        deliver_row(desc, to, ranges[i], port,
                    value_of(desc, to, gains[i], gained), gained, delayed);
    }
}

void vly_cpu_one_weight_deliver(const vly_cpu_projection *projection,
                                uint32_t part, const vly_cpu_destination *to,
                                uint32_t source_first, const uint32_t *ids,
                                const uint32_t *gains, uint32_t n)
{
    const vly_projection_desc *desc = projection->desc;
    const bool gained = (desc->flags & VLY_PROJECTION_GAIN) != 0;
    const bool delayed = desc->delay && desc->delay_max > 0;
    vly_cpu_range ranges[VLY_CPU_BATCH];
    for (uint32_t at = 0; at < n; at += VLY_CPU_BATCH) {
        const uint32_t m = n - at < VLY_CPU_BATCH ? n - at : VLY_CPU_BATCH;
        const uint32_t *g = gains + at;
        for (uint32_t i = 0; i < m; i++)
            ranges[i] =
                vly_cpu_row_part(projection, ids[at + i] - source_first, part);
        if (projection->short_term && delayed)
            deliver_batch(desc, to, ranges, g, m, 2, 1);
        else if (projection->short_term)
            deliver_batch(desc, to, ranges, g, m, 2, 0);
        else if (gained && delayed)
            deliver_batch(desc, to, ranges, g, m, 1, 1);
        else if (gained)
            deliver_batch(desc, to, ranges, g, m, 1, 0);
        else if (delayed)
            deliver_batch(desc, to, ranges, g, m, 0, 1);
        else
            deliver_batch(desc, to, ranges, g, m, 0, 0);
    }
}
