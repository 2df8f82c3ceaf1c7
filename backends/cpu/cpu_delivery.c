/* SPDX-License-Identifier: Apache-2.0
 * The first half of a burst: delivery. Each thread walks the rows of all spikes
 * that are due, but reads only the part that targets its own slice: rows ascend
 * by target, so the part is a range, found in the split index.
 */
#include "backends/common/common_ranks.h"

#include "cpu_learning.h"
#include "cpu_net.h"
#include "cpu_prefetch.h"
#include "cpu_short_term.h"

/* ---- split index ------------------------------------------------------- */

typedef struct split_job {
    vly_backend_net *net;
    vly_cpu_projection *projection;
} split_job;

static void split_rows(void *arg, uint32_t task)
{
    const split_job *job = arg;
    const vly_backend_net *net = job->net;
    const vly_cpu_projection *projection = job->projection;
    const vly_projection_desc *desc = projection->desc;
    uint64_t n_sources = net->areas[desc->source_area].n;
    uint32_t first = net->areas[desc->target_area].first;
    uint64_t end = n_sources * (task + 1) / net->n_threads;
    uint32_t n_cuts = projection->n_parts - 1;
    for (uint64_t k = n_sources * task / net->n_threads; k < end; k++) {
        const uint32_t *target = desc->target + desc->row[k];
        uint64_t n = desc->row[k + 1] - desc->row[k];
        uint32_t done = 0;
        for (uint32_t i = 0; i < n_cuts; i++) {
            const vly_cpu_thread *thread =
                &net->threads[projection->first_slice + i];
            uint32_t bound = first + thread->high[desc->target_area];
            done += (uint32_t)vly_common_lower_bound(target + done, n - done,
                                                     bound);
            projection->split[k * n_cuts + i] = done;
        }
    }
}

static vly_status create_split(vly_backend_net *net,
                               vly_cpu_projection *projection, vly_error *error)
{
    uint32_t area = projection->desc->target_area;
    projection->n_parts = 0;
    for (uint32_t j = 0; j < net->n_threads; j++) {
        const vly_cpu_thread *thread = &net->threads[j];
        if (thread->low[area] >= thread->high[area])
            continue;
        if (projection->n_parts == 0)
            projection->first_slice = j;
        projection->n_parts = j + 1 - projection->first_slice;
    }
    if (projection->n_parts < 2)
        return VLY_OK;
    uint64_t n = net->areas[projection->desc->source_area].n;
    vly_status status = VLY_OK;
    VLY_TRY(vly_common_alloc(&net->heap, n * (projection->n_parts - 1),
                             sizeof(uint32_t), &projection->split, error));
    split_job job = {.net = net, .projection = projection};
    status = vly_support_host->parallel_for(vly_support_host->context,
                                            net->n_threads, split_rows, &job);
    if (status != VLY_OK)
        return vly_support_fail(
            error, status, "%u threads could not be started", net->n_threads);
out:
    return status;
}

vly_status vly_cpu_delivery_create(vly_backend_net *net, vly_error *error)
{
    vly_status status = VLY_OK;
    VLY_TRY(vly_common_alloc(&net->heap, net->n_projections,
                             sizeof *net->projections, &net->projections,
                             error));
    for (uint32_t i = 0; i < net->n_projections; i++) {
        net->projections[i].desc = vly_common_projection_desc(net->desc, i);
        VLY_TRY(create_split(net, &net->projections[i], error));
    }
out:
    return status;
}

/* ---- rows -------------------------------------------------------------- */

/* Where the events of one projection go in one burst. */
typedef struct destination {
    uint32_t *const *slot; /* [delay] inputs */
    uint8_t *const *mark;  /* [delay] */
    uint64_t block_offset;
    uint64_t stride; /* between the ports */
    uint32_t first;
    uint32_t port;      /* 0 if by_sign */
    uint32_t by_sign;   /* a weight below 0 goes to the next port */
    uint32_t delay_min; /* events of a smaller delay have been delivered */
    uint32_t shift;     /* of the weights */
    uint32_t sign;      /* of short-term plasticity: 0, or ~0 to take away */
} destination;

vly_cpu_range vly_cpu_row_part(const vly_cpu_projection *projection, uint32_t k,
                               uint32_t part)
{
    const uint64_t *row = projection->desc->row;
    vly_cpu_range range = {.begin = row[k], .end = row[k + 1]};
    if (!projection->split)
        return range;
    uint32_t n_cuts = projection->n_parts - 1;
    const uint32_t *cut = projection->split + (uint64_t)k * n_cuts;
    if (part < n_cuts)
        range.end = range.begin + cut[part];
    if (part > 0)
        range.begin += cut[part - 1];
    return range;
}

INLINE void prefetch_range(const vly_projection_desc *desc, vly_cpu_range range)
{
    const uint64_t n = vly_cpu_ahead(range);
    if (n == 0)
        return;
    vly_cpu_prefetch(desc->target + range.begin, n, sizeof(uint32_t));
    if (desc->weight)
        vly_cpu_prefetch(desc->weight + range.begin, n, sizeof(int16_t));
    if (desc->delay) {
        PREFETCH(desc->delay + range.begin);
        PREFETCH(desc->delay + range.begin + n - 1);
    }
}

/* The events of one row. gained, delayed, any and one are constants where it is
 * called; gained: 1 the weight times the gain, 2 short-term plasticity; any:
 * port by sign, a smallest delay and a shift; one: all weights are one, so that
 * the compiler takes out of the loop what all events add. */
INLINE void deliver_row(const vly_projection_desc *desc, const destination *at,
                        vly_cpu_range range, uint32_t gain, int gained,
                        int delayed, int any, int one)
{
    const uint32_t *target = desc->target;
    const int16_t *weight = desc->weight;
    const uint8_t *delay = desc->delay;
    const destination to = *at; /* inputs are no part of it */
    const int32_t same = desc->one_weight;
    uint32_t *input = to.slot[0] + to.port * to.stride;
    uint8_t *mark = gained == 1 ? to.mark[0] : NULL;
    for (uint64_t j = range.begin; j < range.end; j++) {
        uint32_t i = target[j] - to.first;
        const int32_t own = one ? same : weight[j];
        uint32_t value = (uint32_t)own;
        if (gained == 1)
            value *= gain;
        if (gained == 2)
            value =
                (uint32_t)vly_short_term_event(own, gain, any ? to.shift : 0);
        if (gained == 2 && any)
            value = (value ^ to.sign) - to.sign;
        else if (any)
            value <<= to.shift;
        if (delayed) {
            uint32_t d = delay[j];
            if (any && d < to.delay_min)
                continue;
            input = to.slot[d] + to.port * to.stride;
            mark = gained == 1 ? to.mark[d] : NULL;
        }
        if (any && to.by_sign)
            input = (delayed ? to.slot[delay[j]] : to.slot[0]) +
                    (own < 0 ? to.stride : 0);
        input[i] += value;
        if (gained == 1) {
            mark[i] = 1;
            mark[to.block_offset + i / VLY_CPU_SLICE] = 1;
        }
    }
}

INLINE void deliver_batch(const vly_projection_desc *desc,
                          const destination *to, const vly_cpu_range *ranges,
                          const uint32_t *gains, uint32_t n, int gained,
                          int delayed, int any, int one)
{
    for (uint32_t i = 0; i < n && i < VLY_CPU_AHEAD; i++)
        prefetch_range(desc, ranges[i]);
    for (uint32_t i = 0; i < n; i++) {
        if (i + VLY_CPU_AHEAD < n)
            prefetch_range(desc, ranges[i + VLY_CPU_AHEAD]);
        deliver_row(desc, to, ranges[i], gains[i], gained, delayed, any, one);
    }
}

/* Delivers spikes ids[n] of the projection's source area. one: a constant. */
INLINE void deliver_spikes(const vly_cpu_projection *projection, uint32_t part,
                           const destination *to, uint32_t source_first,
                           const uint32_t *ids, const uint32_t *gains,
                           uint32_t n, int one)
{
    const vly_projection_desc *desc = projection->desc;
    int gained = (desc->flags & VLY_PROJECTION_GAIN) != 0;
    int delayed = desc->delay && desc->delay_max > 0;
    int any = to->by_sign || to->delay_min > 0 || to->shift > 0;
    vly_cpu_range ranges[VLY_CPU_BATCH];
    for (uint32_t at = 0; at < n; at += VLY_CPU_BATCH) {
        uint32_t m = n - at < VLY_CPU_BATCH ? n - at : VLY_CPU_BATCH;
        for (uint32_t i = 0; i < m; i++)
            ranges[i] =
                vly_cpu_row_part(projection, ids[at + i] - source_first, part);
        const uint32_t *g = gains + at;
        if (projection->short_term && any)
            deliver_batch(desc, to, ranges, g, m, 2, delayed, 1, one);
        else if (projection->short_term && delayed)
            deliver_batch(desc, to, ranges, g, m, 2, 1, 0, one);
        else if (projection->short_term)
            deliver_batch(desc, to, ranges, g, m, 2, 0, 0, one);
        else if (any && gained)
            deliver_batch(desc, to, ranges, g, m, 1, delayed, 1, one);
        else if (any)
            deliver_batch(desc, to, ranges, g, m, 0, delayed, 1, one);
        else if (gained && delayed)
            deliver_batch(desc, to, ranges, g, m, 1, 1, 0, one);
        else if (gained)
            deliver_batch(desc, to, ranges, g, m, 1, 0, 0, one);
        else if (delayed)
            deliver_batch(desc, to, ranges, g, m, 0, 1, 0, one);
        else
            deliver_batch(desc, to, ranges, g, m, 0, 0, 0, one);
    }
}

/* Delivers the fired set of age bursts ago: delay 0 goes to the slot given. */
static void deliver_set(const vly_backend_net *net,
                        const vly_cpu_thread *thread,
                        const vly_cpu_projection *projection, uint64_t age,
                        uint32_t slot, uint32_t delay_min, bool negate)
{
    const vly_projection_desc *desc = projection->desc;
    const vly_cpu_area *source = &net->areas[desc->source_area];
    const vly_cpu_area *target = &net->areas[desc->target_area];
    const uint32_t *ids;
    const uint32_t *gains;
    const uint32_t *row = vly_cpu_history_set(net, age, &ids, &gains);
    uint32_t from = row[desc->source_area];
    uint32_t n = row[desc->source_area + 1] - from;
    if (n == 0)
        return;
    const bool by_sign = vly_common_by_sign(net->desc, desc);
    const destination to = {
        .slot = (uint32_t *const *)target->slot + slot,
        .mark = target->mark ? (uint8_t *const *)target->mark + slot : NULL,
        .block_offset = target->block_offset,
        .stride = target->stride,
        .first = target->first,
        .port = by_sign ? 0 : desc->port,
        .by_sign = by_sign,
        .delay_min = delay_min,
        .shift = vly_common_shift(net->desc, desc),
        .sign = negate ? UINT32_MAX : 0,
    };
    gains = projection->short_term
                ? projection->short_term->gain[net->burst & 1]
                : gains + from;
    const uint32_t part = thread->index - projection->first_slice;
    if (desc->weight)
        deliver_spikes(projection, part, &to, source->first, ids + from, gains,
                       n, 0);
    else
        deliver_spikes(projection, part, &to, source->first, ids + from, gains,
                       n, 1);
}

static bool has_slice(const vly_cpu_thread *thread,
                      const vly_projection_desc *desc)
{
    return thread->low[desc->target_area] < thread->high[desc->target_area];
}

void vly_cpu_deliver(vly_backend_net *net, vly_cpu_thread *thread)
{
    for (uint32_t i = 0; i < net->n_projections; i++) {
        const vly_cpu_projection *projection = &net->projections[i];
        uint32_t area = projection->desc->target_area;
        if (!has_slice(thread, projection->desc))
            continue;
        if (projection->learning)
            vly_cpu_learning_deliver(net, thread, projection);
        else
            deliver_set(net, thread, projection, projection->desc->base_delay,
                        net->areas[area].now, 0, false);
    }
}

/* A fired set of age bursts ago was forwarded age - base_delay bursts ago, into
 * slots now - (age - base_delay) + delay; slots before now have been consumed.
 * Adding ring keeps the index in the table, which repeats. */
void vly_cpu_deliver_again(const vly_backend_net *net,
                           const vly_cpu_thread *thread,
                           const vly_cpu_projection *projection, uint32_t ago,
                           bool negate)
{
    const vly_projection_desc *desc = projection->desc;
    const vly_cpu_area *area = &net->areas[desc->target_area];
    uint64_t age = (uint64_t)desc->base_delay + ago;
    uint32_t slot =
        area->now >= ago ? area->now - ago : area->now + area->ring - ago;
    if (has_slice(thread, desc))
        deliver_set(net, thread, projection, age, slot, ago, negate);
}

void vly_cpu_deliver_restore(vly_backend_net *net, vly_cpu_thread *thread)
{
    for (uint32_t i = 0; i < net->n_projections; i++) {
        const vly_cpu_projection *projection = &net->projections[i];
        const vly_projection_desc *desc = projection->desc;
        for (uint32_t ago = 1;
             !projection->short_term && ago <= desc->delay_max; ago++)
            if ((uint64_t)desc->base_delay + ago <= net->burst)
                vly_cpu_deliver_again(net, thread, projection, ago, false);
    }
}

/* ---- input of the host ------------------------------------------------- */

void vly_cpu_deliver_inputs(vly_backend_net *net, vly_cpu_thread *thread,
                            const vly_input *inputs, uint64_t n_inputs)
{
    for (uint64_t i = 0; i < n_inputs; i++) {
        uint32_t a = vly_common_area_of(net->desc, inputs[i].neuron);
        const vly_cpu_area *area = &net->areas[a];
        uint32_t k = inputs[i].neuron - area->first;
        if (k < thread->low[a] || k >= thread->high[a])
            continue;
        uint32_t *input =
            area->slot[area->now] + inputs[i].port * area->stride + k;
        *input += (uint32_t)inputs[i].value;
        if (area->mark) {
            uint8_t *mark = area->mark[area->now];
            mark[k] = 1;
            mark[area->block_offset + k / VLY_CPU_SLICE] = 1;
        }
    }
}
