/* SPDX-License-Identifier: Apache-2.0
 * Memory areas, one burst after the other.
 * Source: feagi-core 0.0.1-beta.18, crates/feagi-npu/plasticity (service.rs,
 * pattern_detector.rs) and the burst engine (npu.rs), there on a thread of its
 * own, which may skip bursts.
 */
#include "engine/memory_net.h"

#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "base/number.h"

/* Potential with which FEAGI injects a neuron of a memory. */
#define MEMORY_POTENTIAL 1.5

/* ---- create ------------------------------------------------------------- */

static vly_status create_areas(vly_memory_net *net, vly_error *error)
{
    const vly_connectome *connectome = net->connectome;
    const uint32_t n = connectome->n_memories;
    net->areas = vly_calloc(n, sizeof(*net->areas));
    if (!net->areas)
        return vly_fail_nomem(error, n * sizeof(*net->areas), "the memories");
    for (net->n_areas = 0; net->n_areas < n; net->n_areas++) {
        vly_memory_area *area = &net->areas[net->n_areas];
        area->memory = &connectome->memories[net->n_areas];
        area->first = connectome->areas[area->memory->area].first;
        vly_memory_table_init(&area->table,
                              connectome->areas[area->memory->area].n_neurons);
        area->frames =
            vly_calloc(area->memory->temporal_depth, sizeof(*area->frames));
        if (!area->frames)
            return vly_fail_nomem(
                error, area->memory->temporal_depth * sizeof(*area->frames),
                "the memories");
    }
    return VLY_OK;
}

static vly_status create_associations(vly_memory_net *net, vly_error *error)
{
    const vly_connectome *connectome = net->connectome;
    const uint32_t n = connectome->n_associations;
    vly_status status = VLY_OK;
    net->associations = vly_calloc(n, sizeof(*net->associations));
    if (!net->associations)
        return vly_fail_nomem(error, n * sizeof(*net->associations),
                              "the associations");
    for (uint32_t a = 0; a < n; a++) {
        net->n_associations++;
        VLY_TRY(vly_association_init(&net->associations[a],
                                     &connectome->associations[a], connectome,
                                     error));
    }
out:
    return status;
}

vly_status vly_memory_net_create(const vly_connectome *connectome,
                                 vly_memory_net **net, vly_error *error)
{
    vly_memory_net *made = NULL;
    vly_status status;
    *net = NULL;
    if (connectome->n_memories == 0 && connectome->n_associations == 0)
        return VLY_OK;
    made = vly_calloc(1, sizeof(*made));
    if (!made)
        return vly_fail_nomem(error, sizeof(*made), "the memories");
    made->connectome = connectome;
    VLY_TRY(create_areas(made, error));
    VLY_TRY(create_associations(made, error));
    *net = made;
    made = NULL;
out:
    vly_memory_net_destroy(made);
    return status;
}

void vly_memory_net_destroy(vly_memory_net *net)
{
    if (!net)
        return;
    for (uint32_t m = 0; m < net->n_areas; m++) {
        vly_memory_area *area = &net->areas[m];
        for (uint32_t i = 0; i < area->memory->temporal_depth; i++)
            vly_free(area->frames[i].words);
        vly_free(area->frames);
        vly_memory_table_deinit(&area->table);
    }
    for (uint32_t a = 0; a < net->n_associations; a++)
        vly_association_deinit(&net->associations[a]);
    vly_free(net->areas);
    vly_free(net->associations);
    vly_free(net->pattern);
    vly_free(net->known);
    vly_free(net);
}

/* ---- spikes ------------------------------------------------------------- */

typedef struct spike_range {
    uint32_t from;
    uint32_t to;
    uint32_t first; /* global id of the area's first neuron */
} spike_range;

static spike_range range_of(const vly_memory_net *net,
                            const vly_memory_spikes *spikes, uint32_t area)
{
    const vly_connectome_area *of = &net->connectome->areas[area];
    /* first + n is at most 2^31 */
    return (spike_range){
        .from = vly_memory_spikes_find(spikes, of->first),
        .to = vly_memory_spikes_find(spikes, of->first + of->n_neurons),
        .first = of->first};
}

static vly_status reserve(uint32_t **words, uint64_t *room, uint64_t wanted,
                          vly_error *error)
{
    if (wanted <= *room)
        return VLY_OK;
    uint64_t n = wanted < UINT64_MAX / 2 ? wanted + wanted / 2 : wanted;
    uint32_t *grown = vly_realloc(*words, (size_t)n, sizeof(*grown));
    if (!grown)
        return vly_fail_nomem(error, n * sizeof(*grown), "a pattern");
    *words = grown;
    *room = n;
    return VLY_OK;
}

/* The burst becomes the newest frame. */
static vly_status add_frame(const vly_memory_net *net, vly_memory_area *area,
                            const vly_memory_spikes *spikes, vly_error *error)
{
    const vly_memory_rule *memory = area->memory;
    const uint32_t depth = memory->temporal_depth;
    const bool full = area->n_frames == depth;
    vly_memory_frame *frame =
        &area->frames[(area->oldest + (full ? 0 : area->n_frames)) % depth];
    uint64_t n_words = 0;
    vly_status status;
    if (full)
        area->n_spikes -= frame->n_spikes;
    frame->n_spikes = 0;
    for (uint32_t s = 0; s < memory->n_sources; s++) {
        spike_range range = range_of(net, spikes, memory->sources[s].area);
        const uint32_t n = range.to - range.from;
        VLY_TRY(reserve(&frame->words, &frame->room, n_words + 1u + n, error));
        frame->words[n_words++] = n;
        for (uint32_t i = range.from; i < range.to; i++)
            frame->words[n_words++] = spikes->ids[i] - range.first;
        frame->n_spikes += n;
    }
    frame->n_words = n_words;
    area->n_spikes += frame->n_spikes;
    if (full)
        area->oldest = (area->oldest + 1u) % depth;
    else
        area->n_frames++;
out:
    return status;
}

static vly_status make_pattern(vly_memory_net *net, const vly_memory_area *area,
                               vly_memory_pattern *pattern, vly_error *error)
{
    const uint32_t depth = area->memory->temporal_depth;
    uint64_t n_words = 0;
    vly_status status;
    for (uint32_t f = 0; f < depth; f++) {
        const vly_memory_frame *frame =
            &area->frames[(area->oldest + f) % depth];
        VLY_TRY(reserve(&net->pattern, &net->pattern_room,
                        n_words + frame->n_words, error));
        memcpy(net->pattern + n_words, frame->words,
               (size_t)frame->n_words * sizeof(*frame->words));
        n_words += frame->n_words;
    }
    *pattern = (vly_memory_pattern){net->pattern, n_words};
out:
    return status;
}

/* ---- input of later bursts ---------------------------------------------- */

static double scale_of(const vly_memory_net *net, uint32_t area)
{
    return (double)net->connectome->desc.areas[area].scale[0];
}

static vly_status inject_cell(const vly_memory_net *net,
                              const vly_memory_area *area, uint32_t cell,
                              uint64_t burst, vly_pending *pending,
                              vly_error *error)
{
    const double units = MEMORY_POTENTIAL / scale_of(net, area->memory->area);
    const vly_pending_input entry = {.burst = burst,
                                     .value = (int64_t)vly_floor(units + 0.5),
                                     .neuron = area->first + cell,
                                     .port = 0};
    return vly_pending_add(pending, &entry, error);
}

/* The least number of units that reaches the threshold. */
static int64_t twin_value(const vly_memory_net *net, uint32_t area,
                          uint32_t neuron)
{
    const vly_param_column *threshold = &net->connectome->areas[area].params[0];
    const float value =
        (float)threshold->values[threshold->uniform ? 0 : neuron];
    const double units = (double)value / scale_of(net, area);
    const double most = (double)VLY_INPUT_MAX;
    const double up = -vly_floor(-units);
    return (int64_t)(up > most ? most : up < -most ? -most : up);
}

/* The frames of a pattern in the twins: the oldest one burst later. */
static vly_status replay(const vly_memory_net *net, const vly_memory_area *area,
                         const vly_memory_cell *cell, uint64_t burst,
                         vly_pending *pending, vly_error *error)
{
    const vly_memory_rule *memory = area->memory;
    const uint32_t *word = cell->words;
    vly_status status = VLY_OK;
    for (uint32_t f = 0; f < memory->temporal_depth; f++)
        for (uint32_t s = 0; s < memory->n_sources; s++) {
            const uint32_t twin = memory->sources[s].twin;
            const uint32_t n = *word++;
            for (uint32_t i = 0; twin != VLY_NO_AREA && i < n; i++) {
                const vly_pending_input entry = {
                    .burst = burst + f + 1u,
                    .value = twin_value(net, twin, word[i]),
                    .neuron = net->connectome->areas[twin].first + word[i],
                    .port = 0};
                VLY_TRY(vly_pending_add(pending, &entry, error));
            }
            word += n;
        }
out:
    return status;
}

static vly_status replay_fired(const vly_memory_net *net,
                               const vly_memory_area *area,
                               const vly_memory_spikes *spikes,
                               vly_pending *pending, vly_error *error)
{
    vly_status status = VLY_OK;
    spike_range range = range_of(net, spikes, area->memory->area);
    for (uint32_t i = range.from; i < range.to; i++) {
        const uint32_t index = spikes->ids[i] - range.first;
        if (index < area->table.n_cells && area->table.cells[index].words)
            VLY_TRY(replay(net, area, &area->table.cells[index], spikes->burst,
                           pending, error));
    }
out:
    return status;
}

/* ---- one burst ---------------------------------------------------------- */

static vly_status detect(vly_memory_net *net, vly_memory_area *area,
                         uint64_t burst, vly_pending *pending, vly_error *error)
{
    const vly_memory_rule *memory = area->memory;
    vly_memory_pattern pattern;
    vly_status status = VLY_OK;
    if (area->n_frames < memory->temporal_depth || area->n_spikes == 0)
        return VLY_OK;
    VLY_TRY(make_pattern(net, area, &pattern, error));
    uint32_t cell = vly_memory_table_find(&area->table, &pattern);
    if (cell != VLY_NO_CELL) {
        vly_memory_table_seen(&area->table, cell, memory->lifespan_growth_rate);
        area->n_seen++;
    } else {
        cell = vly_memory_table_free(&area->table);
        if (cell == VLY_NO_CELL) {
            area->n_dropped++;
            return VLY_OK;
        }
        VLY_TRY(vly_memory_table_put(&area->table, cell, &pattern,
                                     memory->init_lifespan, error));
        area->n_made++;
    }
    status = inject_cell(net, area, cell, burst + 1, pending, error);
out:
    return status;
}

/* Events of the spikes of this burst arrive in the next one. */
static vly_status inject_side(const vly_association_net *of, int s,
                              uint64_t burst, vly_pending *pending,
                              vly_error *error)
{
    vly_status status = VLY_OK;
    for (uint32_t k = 0; k < of->n_reached[s]; k++) {
        const uint32_t neuron = of->reached[s][k];
        const vly_pending_input entry = {.burst = burst,
                                         .value = of->sums[s][neuron],
                                         .neuron = of->sides[s].first + neuron,
                                         .port = 0};
        VLY_TRY(vly_pending_add(pending, &entry, error));
    }
out:
    return status;
}

/* The spikes without those of memory neurons that have no pattern. Associations
 * leave these out, or two of them would excite each other for ever. */
static vly_status known_spikes(vly_memory_net *net,
                               const vly_memory_spikes *spikes,
                               vly_memory_spikes *known, vly_error *error)
{
    const uint32_t n = spikes->n_ids;
    uint32_t k = 0;
    uint32_t i = 0;
    vly_status status;
    /* also without spikes there is an array to point into */
    VLY_TRY(reserve(&net->known, &net->known_room, 2 * (uint64_t)n + 1, error));
    for (uint32_t m = 0; m <= net->n_areas; m++) {
        const vly_memory_area *area = &net->areas[m];
        const bool last = m == net->n_areas;
        const spike_range range =
            last ? (spike_range){n, n, 0}
                 : range_of(net, spikes, area->memory->area);
        for (; i < range.to; i++) {
            const uint32_t cell = spikes->ids[i] - range.first;
            if (i >= range.from &&
                (cell >= area->table.n_cells || !area->table.cells[cell].words))
                continue;
            net->known[k] = spikes->ids[i];
            net->known[n + k++] = spikes->gains[i];
        }
    }
    *known = (vly_memory_spikes){.ids = net->known,
                                 .gains = net->known + n,
                                 .n_ids = k,
                                 .burst = spikes->burst};
out:
    return status;
}

static vly_status associate(vly_memory_net *net,
                            const vly_memory_spikes *spikes,
                            vly_pending *pending, vly_error *error)
{
    vly_memory_spikes known;
    vly_status status = VLY_OK;
    if (net->n_associations == 0)
        return VLY_OK;
    VLY_TRY(known_spikes(net, spikes, &known, error));
    for (uint32_t a = 0; a < net->n_associations; a++) {
        VLY_TRY(vly_association_step(&net->associations[a], &known, error));
        for (int s = 0; s < 2; s++)
            VLY_TRY(inject_side(&net->associations[a], s, spikes->burst + 1,
                                pending, error));
    }
out:
    return status;
}

/* A neuron loses its synapses with its pattern: the next pattern that it stands
 * for was not associated with anything. */
static void age(vly_memory_net *net, vly_memory_area *area)
{
    const vly_memory_table *table = &area->table;
    vly_memory_table_age(&area->table, area->memory->longterm_mem_threshold);
    area->n_forgotten += table->n_gone;
    for (uint32_t a = 0; a < net->n_associations && table->n_gone > 0; a++) {
        for (uint32_t i = 0; i < table->n_gone; i++)
            vly_association_forget(&net->associations[a], area->memory->area,
                                   table->gone[i]);
        vly_association_list(&net->associations[a]);
    }
}

vly_status vly_memory_net_step(vly_memory_net *net,
                               const vly_memory_spikes *spikes,
                               vly_pending *pending, vly_error *error)
{
    vly_status status = VLY_OK;
    for (uint32_t m = 0; m < net->n_areas; m++)
        VLY_TRY(replay_fired(net, &net->areas[m], spikes, pending, error));
    VLY_TRY(associate(net, spikes, pending, error));
    for (uint32_t m = 0; m < net->n_areas; m++) {
        vly_memory_area *area = &net->areas[m];
        age(net, area);
        VLY_TRY(add_frame(net, area, spikes, error));
        VLY_TRY(detect(net, area, spikes->burst, pending, error));
    }
out:
    return status;
}
