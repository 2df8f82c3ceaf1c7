/* SPDX-License-Identifier: Apache-2.0
 * Rates and inter-spike intervals of a running net, for the science tests.
 */
#ifndef VOLLEY_SPIKE_STATISTICS_H
#define VOLLEY_SPIKE_STATISTICS_H

#include <stdbool.h>
#include <stdint.h>

#include <volley/volley.h>

typedef struct neuron_statistics {
    uint32_t spikes;
    uint64_t last; /* burst of the last spike */
    double sum;    /* of the intervals, bursts */
    double square; /* of their squares */
} neuron_statistics;

/* Spikes before burst `from` are not counted. */
typedef struct spike_statistics {
    uint64_t from;
    uint32_t n_neurons;
    neuron_statistics *neurons; /* owned */
} spike_statistics;

/* Mean over the neurons [first, first + n). */
typedef struct group_statistics {
    double rate_hz;
    double cv;     /* mean over neurons with at least `least` spikes */
    uint32_t n_cv; /* their number */
    double silent; /* share of neurons without a spike */
} group_statistics;

bool spike_statistics_init(spike_statistics *s, uint32_t n_neurons,
                           uint64_t from);
void spike_statistics_deinit(spike_statistics *s);
/* Given to vly_net_on_spikes with s. */
vly_status spike_statistics_add(void *s, uint64_t burst, const uint32_t *ids,
                                uint32_t n_ids, uint64_t burst_digest);
group_statistics spike_statistics_group(const spike_statistics *s,
                                        uint32_t first, uint32_t n,
                                        uint32_t least, uint64_t bursts,
                                        double dt_ms);

#endif
