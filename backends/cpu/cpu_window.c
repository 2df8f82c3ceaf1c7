/* SPDX-License-Identifier: Apache-2.0
 * Projections that learn by a rule of windows (FEAGI's): once a burst, every
 * synapse of which an end fired in the last D bursts changes.
 *
 * The thread that ends a burst brings the neurons' runs and states up to date.
 * Each thread then changes the synapses onto its slice before it delivers: of
 * sources that fired in the window by row, of targets that did by column.
 */
#include "cpu_learning.h"

/* ---- create ------------------------------------------------------------- */

/* The synapses of each target, so that a burst in which few targets fired looks
 * at these only. Not made where its numbers would not fit 32 bits. */
static vly_status create_columns(vly_backend_net *net, vly_cpu_learning *l,
                                 vly_error *error)
{
    const vly_projection_desc *map = l->t.projection;
    vly_cpu_window *w = &l->window;
    uint32_t first = net->areas[map->target_area].first;
    uint64_t n = map->row[l->t.n_sources];
    vly_status status = VLY_OK;
    if (n > UINT32_MAX)
        return VLY_OK;
    VLY_TRY(vly_common_alloc(&net->heap, l->t.n_targets + UINT64_C(2),
                             sizeof *w->column, &w->column, error));
    VLY_TRY(vly_common_alloc(&net->heap, n, sizeof *w->synapse, &w->synapse,
                             error));
    VLY_TRY(
        vly_common_alloc(&net->heap, n, sizeof *w->source, &w->source, error));
    uint32_t *end = w->column + 1; /* moves from the begin of a column to it */
    for (uint64_t j = 0; j < n; j++)
        end[map->target[j] - first + 1]++;
    for (uint32_t i = 1; i <= l->t.n_targets; i++)
        end[i] += end[i - 1];
    for (uint32_t k = 0; k < l->t.n_sources; k++)
        for (uint64_t j = map->row[k]; j < map->row[k + 1]; j++) {
            uint32_t at = end[map->target[j] - first]++;
            w->synapse[at] = (uint32_t)j;
            w->source[at] = k;
        }
out:
    return status;
}

vly_status vly_cpu_window_create(vly_backend_net *net, vly_cpu_learning *l,
                                 vly_error *error)
{
    vly_cpu_window *w = &l->window;
    vly_status status = VLY_OK;
    for (int side = 0; side < 2; side++) {
        VLY_TRY(vly_common_alloc(&net->heap, l->t.window.n[side], sizeof(float),
                                 &w->state[side], error));
        VLY_TRY(vly_common_alloc(&net->heap, l->t.window.n[side],
                                 sizeof(uint32_t), &w->active[side], error));
    }
    VLY_TRY(create_columns(net, l, error));
out:
    return status;
}

void vly_cpu_window_load(vly_cpu_learning *l)
{
    for (int side = 0; side < 2; side++) {
        l->window.n_active[side] = 0;
        for (uint32_t i = 0; i < l->t.window.n[side]; i++)
            if (l->t.window.run[side][i] != 0)
                l->window.active[side][l->window.n_active[side]++] = i;
    }
}

/* ---- spikes ------------------------------------------------------------- */

/* Neuron i of a side fired in this burst. */
static void fired(vly_cpu_learning *l, int side, uint32_t i, uint32_t burst)
{
    uint32_t *run = &l->t.window.run[side][i];
    uint32_t *last = &l->t.window.last[side][i];
    if (*run == 0)
        l->window.active[side][l->window.n_active[side]++] = i;
    if (*run == 0 || *last + 1 != burst)
        *run = 1;
    else if (*run < l->t.window.bursts)
        ++*run;
    *last = burst;
}

/* The states after the burst before this one; spikes that are too long ago are
 * forgotten. */
static void renew(vly_cpu_learning *l, int side, uint32_t burst)
{
    vly_cpu_window *w = &l->window;
    uint32_t kept = 0;
    for (uint32_t n = 0; n < w->n_active[side]; n++) {
        uint32_t i = w->active[side][n];
        uint32_t age = burst - l->t.window.last[side][i];
        float state =
            vly_window_state(l->t.window.run[side][i], age, l->t.window.bursts);
        w->state[side][i] = state;
        if (state > 0.0f)
            w->active[side][kept++] = i;
        else
            l->t.window.run[side][i] = 0;
    }
    w->n_active[side] = kept;
}

void vly_cpu_windows_fired(vly_backend_net *net)
{
    const uint32_t burst = (uint32_t)net->burst; /* the one to come */
    const uint32_t *ids;
    const uint32_t *gains;
    if (net->n_learning == 0)
        return;
    const uint32_t *row = vly_cpu_history_set(net, 1, &ids, &gains);
    for (uint32_t n = 0; n < net->n_learning; n++) {
        vly_cpu_learning *l = &net->learning[n];
        if (!vly_cpu_has_window(l))
            continue;
        const uint32_t area[2] = {l->t.projection->source_area,
                                  l->t.projection->target_area};
        for (int side = 0; side < 2; side++) {
            uint32_t first = net->areas[area[side]].first;
            for (uint32_t i = row[area[side]]; i < row[area[side] + 1]; i++)
                fired(l, side, ids[i] - first, burst - 1);
            renew(l, side, burst);
        }
    }
}

/* ---- synapses ----------------------------------------------------------- */

static void change_columns(const vly_cpu_learning *l,
                           const vly_cpu_window_rows *rows, uint32_t low,
                           uint32_t high, vly_cpu_window_column *change)
{
    const vly_cpu_window *w = &l->window;
    for (uint32_t n = 0; n < w->n_active[VLY_COMMON_TARGET]; n++) {
        uint32_t i = w->active[VLY_COMMON_TARGET][n];
        if (i >= low && i < high)
            change(rows, w->synapse + w->column[i], w->source + w->column[i],
                   w->column[i + 1] - w->column[i],
                   w->state[VLY_COMMON_TARGET][i]);
    }
}

static void change_rest(const vly_cpu_learning *l,
                        const vly_cpu_projection *projection, uint32_t part,
                        const vly_cpu_window_rows *rows,
                        vly_cpu_window_row *change)
{
    for (uint32_t k = 0; k < l->t.n_sources; k++)
        if (!(l->window.state[VLY_COMMON_SOURCE][k] > 0.0f))
            change(rows, vly_cpu_row_part(projection, k, part).begin,
                   vly_cpu_row_part(projection, k, part).end, 0.0f);
}

void vly_cpu_window_step(vly_backend_net *net, uint32_t thread,
                         const vly_cpu_projection *projection)
{
    vly_cpu_learning *l = projection->learning;
    const vly_cpu_window *w = &l->window;
    const vly_cpu_learning_kernels *kernels = net->kernels->learning;
    const uint32_t area = l->t.projection->target_area;
    const uint32_t part = thread - projection->first_slice;
    const uint32_t burst = (uint32_t)net->burst;
    const vly_cpu_window_rows rows = {
        .target = l->t.projection->target,
        .master = l->master,
        .coefs = l->coefs,
        .source_state = w->state[VLY_COMMON_SOURCE],
        .target_state = w->state[VLY_COMMON_TARGET],
        .first = net->areas[area].first,
    };
    if (l->flushed[thread] == burst)
        return;
    l->flushed[thread] = burst;
    if ((l->t.flags & VLY_LEARNING_FROZEN) != 0 ||
        net->burst < l->t.window.bursts)
        return;
    for (uint32_t n = 0; n < w->n_active[VLY_COMMON_SOURCE]; n++) {
        uint32_t k = w->active[VLY_COMMON_SOURCE][n];
        vly_cpu_range range = vly_cpu_row_part(projection, k, part);
        kernels->window_row[l->rule->index](&rows, range.begin, range.end,
                                            w->state[VLY_COMMON_SOURCE][k]);
    }
    if (w->n_active[VLY_COMMON_TARGET] == 0)
        return;
    if (w->column && w->n_active[VLY_COMMON_TARGET] < l->t.n_targets / 32 + 1)
        change_columns(l, &rows, net->threads[thread].low[area],
                       net->threads[thread].high[area],
                       kernels->window_column[l->rule->index]);
    else
        change_rest(l, projection, part, &rows,
                    kernels->window_row[l->rule->index]);
}

/* ---- arrivals ----------------------------------------------------------- */

static void deliver_row(const vly_cpu_learning *l, const vly_cpu_area *to,
                        vly_cpu_range range, uint32_t gain)
{
    const uint32_t *target = l->t.projection->target;
    uint32_t *input = to->slot[to->now] + l->t.projection->port * to->stride;
    uint8_t *mark = to->mark ? to->mark[to->now] : NULL;
    uint32_t sign = (l->t.flags & VLY_LEARNING_NEGATIVE) ? UINT32_MAX : 1;
    for (uint64_t j = range.begin; j < range.end; j++) {
        uint32_t i = target[j] - to->first;
        uint32_t value = (uint32_t)((l->master[j] + 0x8000) >> 16) * sign;
        input[i] += (value * gain) << l->shift;
        if (mark) {
            mark[i] = 1;
            mark[to->block_offset + i / VLY_CPU_SLICE] = 1;
        }
    }
}

void vly_cpu_window_deliver(vly_backend_net *net, const vly_cpu_thread *thread,
                            const vly_cpu_projection *projection)
{
    const vly_cpu_learning *l = projection->learning;
    const vly_projection_desc *map = l->t.projection;
    const vly_cpu_area *to = &net->areas[map->target_area];
    const uint32_t part = thread->index - projection->first_slice;
    const uint32_t first = net->areas[map->source_area].first;
    bool gained = (map->flags & VLY_PROJECTION_GAIN) != 0;
    const uint32_t *ids;
    const uint32_t *gains;
    const uint32_t *set =
        vly_cpu_history_set(net, map->base_delay, &ids, &gains);
    for (uint32_t n = set[map->source_area]; n < set[map->source_area + 1]; n++)
        deliver_row(l, to, vly_cpu_row_part(projection, ids[n] - first, part),
                    gained ? gains[n] : 1);
}
