/* SPDX-License-Identifier: Apache-2.0
 * The spikes of a [[stimulus]] in their compact written form: a few characters
 * of a genome may mean 2^28 spikes. Single spikes are made where they are
 * needed: for the hash and in a connectome.
 */
#ifndef VOLLEY_GENOME_SPIKE_SOURCE_H
#define VOLLEY_GENOME_SPIKE_SOURCE_H

#include <stdbool.h>

#include "genome/genome.h"

/* Pulses as numbers of bursts; genome_pulse.c has where they begin, to the
 * bit. */
typedef struct vly_train {
    double start;
    double part;    /* of the period, below 1 */
    uint64_t whole; /* of the period; 0: one pulse */
    uint64_t width;
    uint64_t count; /* of pulses; 0: up to stop */
    uint64_t stop;  /* first burst without */
} vly_train;

/* The beginning of pulse k; false if the train has no such pulse. */
bool vly_train_pulse(const vly_train *train, uint64_t k, uint64_t *begin);
/* Number of bursts with a pulse, saturated at most + 1. Cost O(log). */
uint64_t vly_train_bursts(const vly_train *train, uint64_t most);

/* Data shared by all areas of a [[stimulus]]; owned by the genome. */
struct vly_spike_source {
    bool is_train;
    vly_train train;
    uint64_t n_bursts;
    uint64_t *bursts;      /* [n_bursts] ascending; of a train NULL */
    uint32_t *targets;     /* [n_bursts] index of its target, ascending within a
                            * burst; NULL: each burst is for all targets */
    uint32_t n_targets;    /* 0: the neurons of the stimulus */
    uint32_t *neurons;     /* [n_targets] ascending; if bursts have no targets,
                            * one may occur more than once */
    uint32_t (*voxels)[3]; /* or that, in the order of the neurons in them */
};

void vly_spike_source_destroy(vly_spike_source *source);
/* Number of spikes onto one area, saturated at 2^63, and the number of target
 * neurons there, counted with repetitions. */
void vly_spike_source_count(const vly_spike_source *source,
                            const vly_area *area, uint32_t n_neurons,
                            uint64_t *spikes, uint64_t *targets);

/* Every spike of a stimulus, bursts ascending, neurons (indexes in the area)
 * ascending within a burst. A sink that returns false ends it: false. */
typedef bool (*vly_spike_sink)(void *context, uint64_t burst, uint32_t neuron);
bool vly_spikes_walk(const vly_genome *genome, const vly_stimulus *stimulus,
                     vly_spike_sink sink, void *context);
/* How many neurons they reach. */
uint64_t vly_spikes_reach(const vly_genome *genome,
                          const vly_stimulus *stimulus);

#endif
