/* SPDX-License-Identifier: Apache-2.0
 * Makes spikes from trains and lists, ordered by burst, then neuron. Targets of
 * one list are equal or disjoint, and they ascend: the targets of a burst are
 * walked once, and a target that occurs r times gives r spikes.
 */
#include "genome/spike_source.h"

#include <string.h>

#include "base/memory.h"
#include "base/number.h"

#define BURSTS_MAX ((uint64_t)1 << 53) /* no run is longer */

/* ---- trains ------------------------------------------------------------- */

bool vly_train_pulse(const vly_train *train, uint64_t k, uint64_t *begin)
{
    const uint64_t n = train->whole == 0 ? 1 : train->count;
    if ((n != 0 && k >= n) ||
        (train->whole != 0 && k > BURSTS_MAX / train->whole))
        return false;
    *begin = k * train->whole +
             vly_count_of(train->start + (double)k * train->part + 0.5);
    return *begin < train->stop && *begin <= BURSTS_MAX;
}

static uint64_t bursts_at(const vly_train *train, uint64_t begin)
{
    const uint64_t left = train->stop - begin;
    return train->width < left ? train->width : left;
}

uint64_t vly_train_bursts(const vly_train *train, uint64_t most)
{
    uint64_t low = 0; /* lower pulses exist */
    uint64_t high = most + 1;
    uint64_t begin = 0;
    while (low < high) {
        const uint64_t k = low + (high - low) / 2;
        if (vly_train_pulse(train, k, &begin))
            low = k + 1;
        else
            high = k;
    }
    if (low == 0 || !vly_train_pulse(train, low - 1, &begin))
        return 0;
    /* a pulse ends before the next one begins: stop cuts the last one only */
    const uint64_t last = bursts_at(train, begin);
    if (last > most || (low > 1 && train->width > most / (low - 1)))
        return most + 1;
    const uint64_t n = (low - 1) * train->width + last;
    return n > most ? most + 1 : n;
}

/* ---- counts ------------------------------------------------------------- */

void vly_spike_source_destroy(vly_spike_source *source)
{
    if (!source)
        return;
    vly_free(source->bursts);
    vly_free(source->targets);
    vly_free(source->neurons);
    vly_free(source->voxels);
    vly_free(source);
}

/* Neurons of a target. */
static uint32_t width_of(const vly_spike_source *source, const vly_area *area)
{
    return source->voxels ? area->neurons_per_voxel : 1;
}

void vly_spike_source_count(const vly_spike_source *source,
                            const vly_area *area, uint32_t n_neurons,
                            uint64_t *spikes, uint64_t *targets)
{
    const uint64_t most = UINT64_C(1) << 63;
    const uint64_t width = width_of(source, area);
    const uint64_t n =
        source->n_targets ? source->n_targets * width : n_neurons;
    const uint64_t each = source->targets ? width : n;
    *targets = n;
    *spikes = each != 0 && source->n_bursts > most / each
                  ? most
                  : source->n_bursts * each;
}

/* ---- one by one --------------------------------------------------------- */

typedef struct walk {
    const vly_spike_source *source;
    const vly_area *area;
    const vly_stimulus *stimulus;
    vly_spike_sink sink;
    void *context;
} walk;

/* First neuron of a target; a voxel has several, in a row, x outermost. */
static uint32_t first_of(const walk *w, uint32_t target)
{
    const vly_spike_source *source = w->source;
    if (source->neurons)
        return source->neurons[target];
    if (!source->voxels)
        return w->stimulus->first + target;
    const uint32_t *at = source->voxels[target];
    return ((at[0] * w->area->voxels[1] + at[1]) * w->area->voxels[2] + at[2]) *
           w->area->neurons_per_voxel;
}

static bool send(const walk *w, uint64_t burst, uint32_t target, uint64_t times)
{
    const uint32_t first = first_of(w, target);
    const uint32_t n = width_of(w->source, w->area);
    for (uint32_t i = 0; i < n; i++)
        for (uint64_t k = 0; k < times; k++)
            if (!w->sink(w->context, burst, first + i))
                return false;
    return true;
}

/* A burst for all targets. */
static bool send_all(const walk *w, uint64_t burst, uint64_t times)
{
    const vly_spike_source *source = w->source;
    const uint32_t n =
        source->n_targets ? source->n_targets : w->stimulus->n_neurons;
    uint32_t alike = 1;
    for (uint32_t i = 0; i < n; i += alike) {
        alike = 1;
        while (source->n_targets && i + alike < n &&
               first_of(w, i + alike) == first_of(w, i))
            alike++;
        if (!send(w, burst, i, times * alike))
            return false;
    }
    return true;
}

static bool walk_train(const walk *w)
{
    const vly_train *train = &w->source->train;
    uint64_t begin = 0;
    for (uint64_t k = 0; vly_train_pulse(train, k, &begin); k++)
        for (uint64_t i = 0; i < bursts_at(train, begin); i++)
            if (!send_all(w, begin + i, 1))
                return false;
    return true;
}

static bool walk_list(const walk *w)
{
    const vly_spike_source *source = w->source;
    const uint64_t *bursts = source->bursts;
    const uint32_t *targets = source->targets;
    uint64_t alike = 1;
    for (uint64_t i = 0; i < source->n_bursts; i += alike) {
        alike = 1;
        while (i + alike < source->n_bursts && bursts[i + alike] == bursts[i] &&
               (!targets || targets[i + alike] == targets[i]))
            alike++;
        if (targets ? !send(w, bursts[i], targets[i], alike)
                    : !send_all(w, bursts[i], alike))
            return false;
    }
    return true;
}

bool vly_spikes_walk(const vly_genome *genome, const vly_stimulus *stimulus,
                     vly_spike_sink sink, void *context)
{
    const walk w = {stimulus->source, &genome->areas[stimulus->to], stimulus,
                    sink, context};
    if (w.source)
        return w.source->is_train ? walk_train(&w) : walk_list(&w);
    for (uint64_t i = 0; i < stimulus->n_spikes; i++)
        if (!sink(context, stimulus->bursts[i], stimulus->neurons[i]))
            return false;
    return true;
}

/* ---- how many neurons --------------------------------------------------- */

/* Of lists a neuron or voxel: those that are not empty. */
static uint64_t count_used(const vly_spike_source *source, uint32_t n)
{
    uint64_t used = 0;
    bool *hit = vly_calloc(n, sizeof *hit);
    for (uint64_t i = 0; hit && i < source->n_bursts; i++) {
        used += !hit[source->targets[i]];
        hit[source->targets[i]] = true;
    }
    vly_free(hit);
    return hit ? used : n;
}

uint64_t vly_spikes_reach(const vly_genome *genome,
                          const vly_stimulus *stimulus)
{
    const walk w = {stimulus->source, &genome->areas[stimulus->to], stimulus,
                    NULL, NULL};
    if (!w.source || stimulus->n_spikes == 0)
        return stimulus->n_spikes ? stimulus->n_neurons : 0;
    const uint32_t n =
        w.source->n_targets ? w.source->n_targets : stimulus->n_neurons;
    uint64_t used = n;
    if (w.source->targets)
        used = count_used(w.source, n);
    else if (w.source->n_targets)
        for (uint32_t i = 1; i < n; i++)
            used -= first_of(&w, i) == first_of(&w, i - 1);
    return used * width_of(w.source, w.area);
}
