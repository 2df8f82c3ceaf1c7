/* SPDX-License-Identifier: Apache-2.0
 * The order of the numbers of projections that learn, and their start.
 */
#include "connectome/learning_layout.h"

#include <stdbool.h>

#include "base/number.h"

uint32_t vly_projection_reach(const vly_projection_desc *projection)
{
    const vly_learning_desc *learning = projection->learning;
    if (learning && (learning->flags & VLY_LEARNING_DENDRITIC))
        return 2 * projection->base_delay;
    return projection->base_delay + projection->delay_max;
}

/* Places one side's traces; returns the words up to their end. */
static uint64_t traces_place(const vly_learning_trace *traces, uint32_t n,
                             uint64_t at, uint64_t *values, uint64_t *ages)
{
    for (uint32_t k = 0; k < 2; k++) {
        bool has = traces[k].bursts > 0;
        values[k] = has ? at : VLY_NO_TRACE;
        ages[k] = has ? at + n : VLY_NO_TRACE;
        at += has ? 2 * (uint64_t)n : 0;
    }
    return at;
}

void vly_learning_layout_of(const vly_net_desc *desc, uint32_t projection,
                            vly_learning_layout *layout)
{
    const vly_projection_desc *of = &desc->projections[projection];
    const vly_learning_trace none[2] = {{0.0f, 0}, {0.0f, 0}};
    const vly_learning_desc *learning = of->learning;
    *layout = (vly_learning_layout){
        .n_sources = desc->areas[of->source_area].n_neurons,
        .n_targets = desc->areas[of->target_area].n_neurons,
    };
    for (uint32_t k = 0; k < 3; k++)
        layout->short_term[k] = VLY_NO_TRACE;
    layout->short_term_age = VLY_NO_TRACE;
    layout->n_synapses = learning ? of->row[layout->n_sources] : 0;
    bool modulated = learning && learning->modulator.bursts != 0;
    layout->e = modulated ? layout->n_synapses : VLY_NO_TRACE;
    uint64_t at = traces_place(
        learning ? learning->source : none, layout->n_sources,
        (modulated ? 2 : 1) * layout->n_synapses, layout->x, layout->x_age);
    at = traces_place(learning ? learning->target : none, layout->n_targets, at,
                      layout->y, layout->y_age);
    layout->modulator = modulated ? at : VLY_NO_TRACE;
    at += modulated ? 2 : 0;
    if (of->short_term) {
        for (uint64_t k = 0; k < 3; k++)
            layout->short_term[k] = k * layout->n_sources;
        layout->short_term_age = 3 * (uint64_t)layout->n_sources;
        at = 4 * (uint64_t)layout->n_sources;
    }
    layout->n_words = at;
}

uint64_t vly_learning_words(const vly_net_desc *desc, uint32_t projection)
{
    vly_learning_layout layout;
    vly_learning_layout_of(desc, projection, &layout);
    return layout.n_words;
}

uint64_t vly_learning_words_before(const vly_net_desc *desc,
                                   uint32_t projection)
{
    uint64_t words = 0;
    for (uint32_t p = 0; p < projection; p++)
        words += vly_learning_words(desc, p);
    return words;
}

uint64_t vly_learning_words_all(const vly_net_desc *desc)
{
    return vly_learning_words_before(desc, desc->n_projections);
}

static void traces_start(const uint64_t *values, const uint64_t *ages,
                         uint32_t n, uint32_t *words)
{
    for (uint32_t k = 0; k < 2; k++)
        for (uint32_t i = 0; values[k] != VLY_NO_TRACE && i < n; i++) {
            words[values[k] + i] = 0; /* 0.0f */
            words[ages[k] + i] = VLY_NEVER;
        }
}

static void short_term_start(const vly_connectome_learning *given,
                             const vly_learning_layout *layout, uint32_t *words)
{
    vly_short_term state = vly_short_term_start(given->info, given->params);
    const float values[3] = {state.x, state.u, state.y};
    for (uint32_t i = 0; i < layout->n_sources; i++) {
        for (uint32_t k = 0; k < 3; k++)
            words[layout->short_term[k] + i] = vly_float_bits(values[k]);
        words[layout->short_term_age + i] = state.y < 0.0f ? VLY_NEVER : 0;
    }
}

void vly_learning_start(const vly_net_desc *desc,
                        const vly_connectome_projection *projections,
                        uint32_t *words)
{
    for (uint32_t p = 0; p < desc->n_projections; p++) {
        const vly_projection_desc *projection = &desc->projections[p];
        vly_learning_layout layout;
        vly_learning_layout_of(desc, p, &layout);
        for (uint64_t i = 0; i < layout.n_synapses; i++) {
            int32_t weight = projection->weight[i];
            words[i] = (uint32_t)(weight < 0 ? -weight : weight) << 16;
        }
        for (uint64_t i = 0; layout.e != VLY_NO_TRACE && i < layout.n_synapses;
             i++)
            words[layout.e + i] = 0;
        if (layout.modulator != VLY_NO_TRACE) {
            words[layout.modulator] = 0;
            words[layout.modulator + 1] = VLY_NEVER;
        }
        traces_start(layout.x, layout.x_age, layout.n_sources, words);
        traces_start(layout.y, layout.y_age, layout.n_targets, words);
        if (projection->short_term)
            short_term_start(projections[p].short_term, &layout, words);
        words += layout.n_words;
    }
}
