/* SPDX-License-Identifier: Apache-2.0
 * [[stimulus]] and [[record]].
 */
#ifndef VOLLEY_GENOME_GENOME_STIMULUS_H
#define VOLLEY_GENOME_GENOME_STIMULUS_H

#include "genome/genome_reader.h"

/* One list of bursts of a spike stimulus. */
typedef struct vly_burst_list {
    uint64_t *bursts;
    uint32_t n;
} vly_burst_list;

/* A [[stimulus]] as given: genome->stimuli [begin, begin + to.n) are its. */
typedef struct vly_stimulus_entry {
    const vly_toml_node *node;
    const char *id;
    char *label;
    vly_stimulus_kind kind;
    vly_area_list to;
    uint32_t begin;
    uint32_t first;
    uint32_t n; /* 0: to the end of the area */
    uint64_t start;
    uint64_t stop;
    uint32_t *neurons; /* spikes: NULL for the whole range */
    uint32_t n_neurons;
    vly_burst_list *lists; /* spikes: one for all or one a neuron */
    uint32_t n_lists;
    bool flat; /* one list for all */
} vly_stimulus_entry;

extern const char *const vly_stimulus_names[]; /* ends with NULL */

vly_status vly_stimuli_read(vly_reader *reader);
vly_status vly_records_read(vly_reader *reader);
/* Lists of a spike stimulus, then its spikes onto every area
 * (genome_spikes.c). */
vly_status vly_spikes_read(vly_reader *reader, vly_stimulus_entry *entry);
vly_status vly_spikes_make(vly_reader *reader, const vly_stimulus_entry *entry,
                           vly_stimulus *stimulus);
/* Suffix of the amplitude of a dc stimulus: the unit of i_e. */
const char *vly_dc_suffix(const vly_model_info *model);

#endif
