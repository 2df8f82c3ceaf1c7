/* SPDX-License-Identifier: Apache-2.0
 * Spikes that a file lists: comma-separated text with the columns time_ms (or
 * burst), neuron and perhaps weight, as recordings are, and SONATA spikes.
 */
#ifndef VOLLEY_GENOME_SPIKE_FILE_H
#define VOLLEY_GENOME_SPIKE_FILE_H

#include <stdio.h>

#include "base/error.h"
#include "genome/genome.h"
#include "genome/spike_area.h"

typedef struct vly_spike_file_spec {
    uint32_t n_neurons;        /* neurons count from 0 */
    const char *weight_suffix; /* of the target's port, "" without */
    const char *population;    /* or the area; NULL: the only one */
    bool own_weight;           /* the stimulus has one: the file must not */
    bool at_begin;             /* times are the begin of bursts, not the end */
    double dt_ms;
} vly_spike_file_spec;

typedef struct vly_file_spike {
    uint64_t burst;
    uint32_t neuron;
    uint32_t place; /* line or index, cut to 32 bits, for messages */
    double weight;  /* 0 if the file has none */
} vly_file_spike;

typedef struct vly_spike_list {
    vly_file_spike *spikes; /* [n] by weight, burst, neuron */
    uint64_t n;
    uint64_t capacity;
    uint64_t n_rounded; /* times that are no whole number of bursts */
    bool has_weight;
    /* that the file has: with a population those that are not it */
    vly_spike_areas areas;
} vly_spike_list;

void vly_spike_list_deinit(vly_spike_list *list);
/* name is for messages. *list is initialised before; it may be deinitialised
 * after a failure.
 * Errors  E_PARSE "name:line:column: ..."; E_NOMEM */
vly_status vly_spikes_from_text(FILE *file, const char *name,
                                const vly_spike_file_spec *spec,
                                vly_spike_list *list, vly_error *error);
/* Errors  also E_UNSUPPORTED: this build has no HDF5 */
vly_status vly_spikes_from_sonata(const char *path,
                                  const vly_spike_file_spec *spec,
                                  vly_spike_list *list, vly_error *error);
/* Columns of a program, which stand for a file. */
vly_status vly_spikes_from_columns(const vly_table *table,
                                   const vly_spike_file_spec *spec,
                                   vly_spike_list *list, vly_error *error);

#endif
