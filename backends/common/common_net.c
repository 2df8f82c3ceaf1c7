/* SPDX-License-Identifier: Apache-2.0
 * Values that a backend derives from the description of a net before it builds
 * its own structures: sizes, base delays, columns, and the order of the
 * stimuli.
 */
#include "backend_common.h"

#include <string.h>

/* ---- sizes ------------------------------------------------------------- */

uint64_t vly_common_power_of_two(uint64_t n)
{
    uint64_t p = 1;
    while (p < n)
        p *= 2;
    return p;
}

uint32_t vly_common_most_ports(const vly_net_desc *desc)
{
    uint32_t most = 1;
    for (uint32_t a = 0; a < desc->n_areas; a++) {
        uint32_t n = vly_common_area_desc(desc, a)->n_ports;
        most = n > most ? n : most;
    }
    return most;
}

uint32_t vly_common_ring(const vly_net_desc *desc)
{
    uint32_t most = 1;
    for (uint32_t i = 0; i < desc->n_projections; i++) {
        const vly_projection_desc *p = vly_common_projection_desc(desc, i);
        uint32_t ring = p->delay ? p->delay_max + 1 : 1;
        most = ring > most ? ring : most;
    }
    return most;
}

uint32_t vly_common_base_delays(const vly_net_desc *desc,
                                vly_common_delays *delays)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < desc->n_projections; i++) {
        const vly_projection_desc *p = vly_common_projection_desc(desc, i);
        uint32_t g = 0;
        while (g < n && delays[g].base != p->base_delay)
            g++;
        if (g == n)
            delays[n++] = (vly_common_delays){p->base_delay, 0};
        if (p->delay && p->delay_max > delays[g].most)
            delays[g].most = p->delay_max;
    }
    return n;
}

/* ---- columns ----------------------------------------------------------- */

uint32_t vly_common_coef_words(const vly_area_desc *area, uint32_t coef)
{
    return area->coefs[coef].uniform ? 1 : area->n_neurons;
}

uint64_t vly_common_coefs(const vly_net_desc *desc, uint32_t *words)
{
    uint64_t at = 0;
    for (uint32_t a = 0; a < desc->n_areas; a++) {
        const vly_area_desc *area = vly_common_area_desc(desc, a);
        for (uint32_t i = 0; i < area->n_coefs; i++) {
            uint32_t n = vly_common_coef_words(area, i);
            if (words && n > 0)
                memcpy(words + at, area->coefs[i].words, n * sizeof *words);
            at += n;
        }
    }
    return at;
}

/* ---- stimuli ----------------------------------------------------------- */

void vly_common_sort_stimuli(const vly_net_desc *desc, uint32_t *slot,
                             uint32_t *first)
{
    const uint32_t n_areas = desc->n_areas;
    memset(first, 0, (n_areas + (size_t)1) * sizeof *first);
    for (uint32_t i = 0; i < desc->n_stimuli; i++) {
        const vly_stimulus_desc *s = vly_common_stimulus_desc(desc, i);
        if (s->n_neurons > 0)
            first[vly_common_area_of(desc, s->first)]++;
    }
    uint32_t at = 0;
    for (uint32_t a = 0; a <= n_areas; a++) {
        uint32_t n = first[a];
        first[a] = at;
        at += n;
    }
    uint32_t rest = at; /* after all others: no neuron has it */
    for (uint32_t i = 0; i < desc->n_stimuli; i++) {
        const vly_stimulus_desc *s = vly_common_stimulus_desc(desc, i);
        slot[i] = s->n_neurons == 0
                      ? rest++
                      : first[vly_common_area_of(desc, s->first)]++;
    }
    /* each has become the next one's */
    memmove(first + 1, first, n_areas * sizeof *first);
    first[0] = 0;
}
