/* SPDX-License-Identifier: Apache-2.0
 * Stimuli from tables. One Philox block holds the words of four bursts, so the
 * counts of four bursts are drawn at once and kept: a quarter of the draws.
 * Nothing needs to be undone, since a word depends on key, burst and neuron
 * only.
 */
#include "cpu_net.h"

#include <string.h>

#define NOT_DRAWN UINT64_MAX /* no burst has this block */

static vly_status copy_thresholds(vly_backend_net *net,
                                  const vly_stimulus_desc *desc,
                                  uint32_t **thresholds, vly_error *error)
{
    uint32_t *copy = NULL;
    vly_status status = VLY_OK;
    VLY_TRY(vly_common_alloc(&net->heap, desc->n_thresholds, sizeof(uint32_t),
                             &copy, error));
    if (desc->n_thresholds > 0)
        memcpy(copy, desc->thresholds,
               (size_t)desc->n_thresholds * sizeof *copy);
    *thresholds = copy;
out:
    return status;
}

static vly_status create_one(vly_backend_net *net, uint32_t index,
                             vly_error *error)
{
    vly_cpu_stimulus *stimulus = &net->stimuli[index];
    stimulus->desc = *vly_common_stimulus_desc(net->desc, index);
    vly_status status =
        copy_thresholds(net, &stimulus->desc, &stimulus->thresholds, error);
    stimulus->desc.thresholds = stimulus->thresholds;
    for (uint32_t w = 0; w < 4 && status == VLY_OK; w++)
        status =
            vly_common_alloc(&net->heap, stimulus->desc.n_neurons,
                             sizeof(uint16_t), &stimulus->counts[w], error);
    if (status != VLY_OK || stimulus->desc.n_neurons == 0)
        return status;
    stimulus->area = vly_common_area_of(net->desc, stimulus->desc.first);
    vly_cpu_area *area = &net->areas[stimulus->area];
    stimulus->offset = stimulus->desc.first - area->first;
    area->stimuli[area->n_stimuli++] = index;
    return VLY_OK;
}

vly_status vly_cpu_stimulus_create(vly_backend_net *net, vly_error *error)
{
    vly_status status = vly_common_alloc(
        &net->heap, net->n_stimuli, sizeof *net->stimuli, &net->stimuli, error);
    /* Counts the stimuli of each area, to size its list. */
    for (uint32_t i = 0; i < net->n_stimuli && status == VLY_OK; i++) {
        const vly_stimulus_desc *desc = vly_common_stimulus_desc(net->desc, i);
        if (desc->n_neurons > 0)
            net->areas[vly_common_area_of(net->desc, desc->first)].n_stimuli++;
    }
    for (uint32_t i = 0; i < net->n_areas && status == VLY_OK; i++) {
        vly_cpu_area *area = &net->areas[i];
        status = vly_common_alloc(&net->heap, area->n_stimuli, sizeof(uint32_t),
                                  &area->stimuli, error);
        area->n_stimuli = 0;
    }
    for (uint32_t i = 0; i < net->n_stimuli && status == VLY_OK; i++)
        status = create_one(net, i, error);
    for (uint32_t j = 0; j < net->n_threads && status == VLY_OK; j++) {
        vly_cpu_thread *thread = &net->threads[j];
        status = vly_common_alloc(&net->heap, net->n_stimuli, sizeof(uint64_t),
                                  &thread->drawn, error);
        for (uint32_t i = 0; i < net->n_stimuli && status == VLY_OK; i++)
            thread->drawn[i] = NOT_DRAWN;
    }
    return status;
}

static bool is_active(const vly_cpu_stimulus *stimulus, uint64_t burst)
{
    return burst >= stimulus->desc.start && burst < stimulus->desc.stop;
}

/* The part of [low, high) of the area that the stimulus covers, counted from
 * its own first neuron; 0 if there is none. */
static bool overlap(const vly_cpu_stimulus *stimulus, uint32_t low,
                    uint32_t high, uint32_t *from, uint32_t *to)
{
    uint32_t end = stimulus->offset + stimulus->desc.n_neurons;
    *from = low > stimulus->offset ? low - stimulus->offset : 0;
    *to = (high < end ? high : end);
    *to = *to > stimulus->offset ? *to - stimulus->offset : 0;
    return *from < *to;
}

void vly_cpu_stimulus_draw(vly_backend_net *net, vly_cpu_thread *thread,
                           const vly_cpu_area *area)
{
    uint64_t block = net->burst >> 2;
    for (uint32_t i = 0; i < area->n_stimuli; i++) {
        uint32_t index = area->stimuli[i];
        vly_cpu_stimulus *stimulus = &net->stimuli[index];
        uint32_t from;
        uint32_t to;
        if (thread->drawn[index] == block || !is_active(stimulus, net->burst))
            continue;
        thread->drawn[index] = block;
        if (!overlap(stimulus, thread->low[stimulus->area],
                     thread->high[stimulus->area], &from, &to))
            continue;
        vly_cpu_draw draw = {
            .key = net->desc->seed_input,
            .block = block,
            .id = stimulus->desc.first + from,
            .stream = stimulus->desc.stream,
            .n = to - from,
            .n_thresholds = stimulus->desc.n_thresholds,
            .thresholds = stimulus->thresholds,
        };
        for (uint32_t w = 0; w < 4; w++)
            draw.counts[w] = stimulus->counts[w] + from;
        net->kernels->draw(&draw);
    }
}

/* At FEAGI areas an event also makes its target a candidate. */
static void mark_counts(const vly_cpu_area *area, uint32_t first,
                        const uint16_t *counts, uint32_t n, uint32_t always)
{
    uint8_t *mark = area->mark[area->now];
    uint8_t *block = mark + area->block_offset;
    for (uint32_t i = 0; i < n; i++) {
        if ((counts[i] | always) == 0)
            continue;
        mark[first + i] = 1;
        block[(first + i) / VLY_CPU_SLICE] = 1;
    }
}

void vly_cpu_stimulus_add(vly_backend_net *net, const vly_cpu_area *area,
                          uint32_t low, uint32_t high)
{
    for (uint32_t i = 0; i < area->n_stimuli; i++) {
        const vly_cpu_stimulus *stimulus = &net->stimuli[area->stimuli[i]];
        uint32_t from;
        uint32_t to;
        if (!is_active(stimulus, net->burst) ||
            !overlap(stimulus, low, high, &from, &to))
            continue;
        const uint16_t *counts = stimulus->counts[net->burst & 3] + from;
        uint32_t first = stimulus->offset + from;
        uint32_t always = (stimulus->desc.flags & VLY_STIMULUS_ALWAYS) != 0;
        uint32_t *input =
            area->slot[area->now] + stimulus->desc.port * area->stride + first;
        net->kernels->add(input, counts, to - from,
                          (uint32_t)stimulus->desc.base,
                          (uint32_t)stimulus->desc.step, always);
        if (area->mark)
            mark_counts(area, first, counts, to - from, always);
    }
}

vly_status vly_cpu_stimulus_write(vly_backend_net *net, uint32_t index,
                                  const vly_stimulus_desc *desc,
                                  vly_error *error)
{
    vly_status status = VLY_OK;
    VLY_TRY(vly_common_check_stimulus_write(net->desc, index, desc, error));
    vly_cpu_stimulus *stimulus = &net->stimuli[index];
    uint32_t *thresholds = NULL;
    VLY_TRY(copy_thresholds(net, desc, &thresholds, error));
    vly_common_release(&net->heap, stimulus->thresholds);
    stimulus->desc = *desc;
    stimulus->desc.thresholds = thresholds;
    stimulus->thresholds = thresholds;
    for (uint32_t j = 0; j < net->n_threads; j++)
        net->threads[j].drawn[index] = NOT_DRAWN;
out:
    return status;
}
