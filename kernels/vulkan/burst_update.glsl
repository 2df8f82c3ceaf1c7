/* SPDX-License-Identifier: Apache-2.0
 * What shaders that update neurons share: where update_neuron.glsl finds the
 * words of an area, its stimuli, and where spikes and their sums go.
 */
#ifndef VOLLEY_VULKAN_BURST_UPDATE_GLSL
#define VOLLEY_VULKAN_BURST_UPDATE_GLSL

#include "kernels/vulkan/burst_view.glsl"

/* address of the area at hand */
uint64_t area_address;
#define AREA area_at(area_address).v

#define STATE(k, i) word_of(AREA.field[k], i).v
#define COEF(k, i) word_of(AREA.coef[k], (i) & AREA.coef_mask[k]).v
#define THRESHOLD(at) word_of(VIEW.thresholds, at).v
#define OUT_DEGREE(id) word_of(VIEW.out_degree, id).v
#include "kernels/vulkan/update_neuron.glsl"

/* 1 if any event came */
uint draw_stimuli(vly_burst burst, uint neuron, inout uint sum0,
                  inout uint sum1)
{
    uint any = 0u;
    uint s = AREA.stimulus_first;
    for (uint end = s + AREA.n_stimuli; s < end; s++)
        any |= vly_draw_stimulus(
            burst, stimulus_at(VIEW.stimuli + 56ul * uint64_t(s)).v, neuron,
            sum0, sum1);
    return any;
}

/* Spike `offset` of a burst whose first has position head. */
void write_spike(uint64_t head, uint offset, uint id, uint gain)
{
    uint at = uint((head + uint64_t(offset)) & VIEW.log_mask);
    word_of(VIEW.log_ids, at).v = id;
    word_of(VIEW.log_gains, at).v = gain;
}

/* What the spikes of one area add to sums of the burst and of the run. */
void add_sums(record_at record, uint area, uint n, uint64_t hash,
              uint64_t degree)
{
    uint64_t at = VIEW.area_spikes + 8ul * uint64_t(area);
    uint64_t count = uint64_t(n);
    ADD_LONG(record.v.digest[0], record.v.digest[1], hash);
    ADD_LONG(record.v.events[0], record.v.events[1], degree);
    ADD_LONG(word_of(at, 0u).v, word_of(at, 1u).v, count);
}

#endif
