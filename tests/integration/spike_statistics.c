/* SPDX-License-Identifier: Apache-2.0
 * Rates and inter-spike intervals of a running net.
 */
#include "spike_statistics.h"

#include <math.h>
#include <stdlib.h>

bool spike_statistics_init(spike_statistics *s, uint32_t n_neurons,
                           uint64_t from)
{
    *s = (spike_statistics){.from = from, .n_neurons = n_neurons};
    s->neurons = calloc(n_neurons, sizeof *s->neurons);
    return s->neurons != NULL;
}

void spike_statistics_deinit(spike_statistics *s)
{
    free(s->neurons);
    s->neurons = NULL;
}

vly_status spike_statistics_add(void *arg, uint64_t burst, const uint32_t *ids,
                                uint32_t n_ids, uint64_t burst_digest)
{
    spike_statistics *s = arg;
    (void)burst_digest;
    if (burst < s->from)
        return VLY_OK;
    for (uint32_t i = 0; i < n_ids; i++) {
        neuron_statistics *neuron = &s->neurons[ids[i]];
        if (neuron->spikes++ > 0) {
            double interval = (double)(burst - neuron->last);
            neuron->sum += interval;
            neuron->square += interval * interval;
        }
        neuron->last = burst;
    }
    return VLY_OK;
}

group_statistics spike_statistics_group(const spike_statistics *s,
                                        uint32_t first, uint32_t n,
                                        uint32_t least, uint64_t bursts,
                                        double dt_ms)
{
    group_statistics g = {0};
    uint64_t spikes = 0;
    uint32_t n_silent = 0;
    for (uint32_t k = first; k < first + n; k++) {
        const neuron_statistics *neuron = &s->neurons[k];
        spikes += neuron->spikes;
        n_silent += neuron->spikes == 0;
        if (neuron->spikes < least || neuron->spikes < 3)
            continue;
        double count = neuron->spikes - 1.0;
        double mean = neuron->sum / count;
        /* of a sample: with 2 intervals the other one is half as large */
        double variance = (neuron->square - count * mean * mean) / (count - 1);
        g.cv += sqrt(variance > 0 ? variance : 0) / mean;
        g.n_cv++;
    }
    g.rate_hz = (double)spikes / n / ((double)bursts * dt_ms * 1e-3);
    g.silent = (double)n_silent / n;
    g.cv = g.n_cv > 0 ? g.cv / g.n_cv : 0;
    return g;
}
