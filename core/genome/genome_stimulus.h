/* SPDX-License-Identifier: Apache-2.0
 * [[stimulus]].
 */
#ifndef VOLLEY_GENOME_GENOME_STIMULUS_H
#define VOLLEY_GENOME_GENOME_STIMULUS_H

#include "genome/genome_end.h"

/* One list of bursts of a spike stimulus. */
typedef struct vly_burst_list {
    uint64_t *bursts;
    uint32_t n;
} vly_burst_list;

/* The kinds of stimuli in a genome. pulse and pattern become lists of spikes,
 * so the compiler and the backends do not see them. In the order of
 * vly_stimulus_names; the first ones are vly_stimulus_kind. */
typedef enum vly_stimulus_form {
    VLY_STIMULUS_FORM_PULSE = VLY_STIMULUS_BERNOULLI + 1,
    VLY_STIMULUS_FORM_PATTERN
} vly_stimulus_form;

/* A time as written: for a train it is rounded only after k periods are added.
 */
typedef struct vly_moment {
    double number; /* ms, or bursts */
    bool in_ms;
} vly_moment;

/* Events in the bursts [b(k), b(k) + width) below stop, b(k) = floor((start + k
 * period) / dt + 0.5); genome_pulse.c has it to the bit. */
typedef struct vly_pulse {
    vly_moment start;
    vly_moment period; /* 0: one pulse */
    uint64_t stop;
    uint64_t width;
    uint64_t count; /* of pulses; 0: up to stop */
} vly_pulse;

/* A [[stimulus]] as given: genome->stimuli [begin, begin + to.n) are its. */
typedef struct vly_stimulus_entry {
    const vly_toml_node *node;
    const char *id;
    char *label;
    uint32_t form; /* vly_stimulus_kind or vly_stimulus_form */
    vly_stimulus_kind kind;
    vly_area_list to;
    const vly_end *ends; /* [to.n] each one part */
    bool parted;         /* not all of them are whole areas */
    uint32_t begin;
    uint32_t first;
    uint32_t n; /* 0: to the end of the area */
    uint64_t start;
    uint64_t stop;
    uint32_t *neurons; /* spikes: NULL for the whole range */
    uint32_t n_neurons;
    vly_burst_list *lists; /* spikes: one for all or one a neuron; no train's */
    uint32_t n_lists;
    bool flat; /* one list for all */
    vly_pulse pulse;
    uint32_t (*voxels)[3]; /* pattern */
    uint32_t n_voxels;
    vly_spike_source *source; /* of the genome */
} vly_stimulus_entry;

extern const char *const vly_stimulus_names[]; /* ends with NULL */

vly_status vly_stimuli_read(vly_reader *reader);
/* Lists of a spike stimulus, then its spikes onto every area
 * (genome_spikes.c). */
vly_status vly_spikes_read(vly_reader *reader, vly_stimulus_entry *entry);
/* entry->source out of lists, neurons and voxels. */
vly_status vly_spikes_source(vly_reader *reader, vly_stimulus_entry *entry);
vly_status vly_spikes_make(vly_reader *reader, const vly_stimulus_entry *entry,
                           vly_stimulus *stimulus);
/* The same for the keys of pulse and pattern (genome_pulse.c). */
vly_status vly_pulse_read(vly_reader *reader, vly_stimulus_entry *entry);
vly_status vly_pattern_read(vly_reader *reader, vly_stimulus_entry *entry);
/* times_ms or bursts, for n lists if there are several. */
vly_status vly_times_read(vly_reader *reader, vly_stimulus_entry *entry,
                          uint32_t n, const char *of);
/* A pair of keys for one time, in ms or in bursts; without either, *out is
 * unchanged. */
vly_status vly_time_read(vly_reader *reader, const vly_toml_node *table,
                         const char *ms_key, const char *burst_key,
                         uint64_t *out);

#endif
